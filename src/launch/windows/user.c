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

struct owner {
	union {
		TOKEN_USER user;
		char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
	};
};

static bool ask_owner(HANDLE process, struct owner *owner)
{
	HANDLE token;
	DWORD n;
	bool known;

	if (!process || !OpenProcessToken(process, TOKEN_QUERY, &token))
		return false;
	known = GetTokenInformation(token, TokenUser, owner, sizeof(*owner), &n);
	CloseHandle(token);
	return known;
}

static bool find_owner(pid_t pid, struct owner *owner)
{
	HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
	bool known = ask_owner(process, owner);

	if (process)
		CloseHandle(process);
	return known;
}

void dnp_user_name(pid_t pid, char name[DNP_USER_NAME])
{
	struct owner owner;

	snprintf(name, DNP_USER_NAME, "?");
	if (find_owner(pid, &owner))
		name_sid(owner.user.User.Sid, name);
}

bool dnp_user_is_own(pid_t pid)
{
	struct owner own, other;

	return !ask_owner(GetCurrentProcess(), &own) || !find_owner(pid, &other) ||
		EqualSid(own.user.User.Sid, other.user.User.Sid);
}
