/* SPDX-License-Identifier: MIT */
#include "launch/windows/user.h"

#include <stdio.h>
#include <windows.h>

#include "base/clean.h"
#include "os/windows/wide.h"

static void name_sid(PSID sid, char name[DNP_USER_NAME])
{
	wchar_t wide[256], domain[256];
	DWORD units = DNP_ARRAY_SIZE(wide), domain_units = DNP_ARRAY_SIZE(domain);
	SID_NAME_USE use;
	auto_free char *narrow = NULL;

	if (!LookupAccountSidW(NULL, sid, wide, &units, domain, &domain_units, &use))
		return;
	narrow = dnp_narrow(wide);
	if (narrow)
		snprintf(name, DNP_USER_NAME, "%.32s", narrow);
}

void dnp_user_name(pid_t pid, char name[DNP_USER_NAME])
{
	HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
	union {
		TOKEN_USER user;
		char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
	} owner;
	HANDLE token = NULL;
	DWORD n;

	snprintf(name, DNP_USER_NAME, "?");
	if (process && OpenProcessToken(process, TOKEN_QUERY, &token)) {
		if (GetTokenInformation(token, TokenUser, &owner, sizeof(owner), &n))
			name_sid(owner.user.User.Sid, name);
		CloseHandle(token);
	}
	if (process)
		CloseHandle(process);
}
