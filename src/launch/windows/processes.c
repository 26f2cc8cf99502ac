/* SPDX-License-Identifier: MIT */
#include "launch/processes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

#include "base/clean.h"
#include "launch/process.h"
#include "os/process.h"
#include "os/windows/wide.h"

#define COMMAND_BYTES 32768u

static void name_sid(struct dnp_seen *seen, PSID sid)
{
	wchar_t name[256], domain[256];
	DWORD name_units = DNP_ARRAY_SIZE(name), domain_units = DNP_ARRAY_SIZE(domain);
	SID_NAME_USE use;
	char *narrow;

	if (!LookupAccountSidW(NULL, sid, name, &name_units, domain, &domain_units, &use))
		return;
	narrow = dnp_narrow(name);
	if (narrow)
		snprintf(seen->user, sizeof(seen->user), "%.32s", narrow);
	free(narrow);
}

static void name_user(struct dnp_seen *seen)
{
	HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)seen->pid);
	union {
		TOKEN_USER user;
		char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
	} owner;
	HANDLE token = NULL;
	DWORD n;

	snprintf(seen->user, sizeof(seen->user), "?");
	if (process && OpenProcessToken(process, TOKEN_QUERY, &token)) {
		if (GetTokenInformation(token, TokenUser, &owner, sizeof(owner), &n))
			name_sid(seen, owner.user.User.Sid);
		CloseHandle(token);
	}
	if (process)
		CloseHandle(process);
}

int dnp_seen_read(struct dnp_seen *seen)
{
	struct dnp_process process;

	seen->uid = -1;
	name_user(seen);
	/* Of others nobody may know when they began. */
	if (seen->runtime.readable && dnp_process_read(&process, seen->pid))
		return -ESRCH;
	seen->state = 'R';
	seen->command = malloc(COMMAND_BYTES);
	if (seen->command)
		seen->command_bytes =
			dnp_process_command((int)seen->pid, seen->command, COMMAND_BYTES);
	return 0;
}

const char *dnp_seen_unreadable(const struct dnp_seen *seen)
{
	(void)seen;
	return "it belongs to another user; ask as an administrator";
}
