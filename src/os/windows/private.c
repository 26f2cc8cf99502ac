/* SPDX-License-Identifier: MIT */
#include "os/windows/private.h"

#include <errno.h>
#include <stdbool.h>

#include "os/windows/error.h"

static int ask_user(struct dnp_private *mine)
{
	HANDLE token;
	DWORD n;
	int status = 0;

	if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
		return dnp_windows_error();
	if (!GetTokenInformation(token, TokenUser, &mine->user, sizeof(mine->user), &n))
		status = dnp_windows_error();
	CloseHandle(token);
	return status;
}

/* Who may change whatever there is anyway: nobody has to be protected from him. */
static bool is_system(PSID sid)
{
	return IsWellKnownSid(sid, WinBuiltinAdministratorsSid) ||
		IsWellKnownSid(sid, WinLocalSystemSid);
}

/* By its list of access nobody else can put anything into it, which its owner alone can change. */
int dnp_private_check_folder(const wchar_t *path)
{
	union {
		SECURITY_DESCRIPTOR descriptor;
		char room[4096];
	} asked;
	DWORD attributes = GetFileAttributesW(path), n;
	struct dnp_private mine;
	BOOL defaulted;
	PSID owner;
	int status = ask_user(&mine);

	if (status)
		return status;
	if (attributes == INVALID_FILE_ATTRIBUTES)
		return dnp_windows_error();
	if (!(attributes & FILE_ATTRIBUTE_DIRECTORY) || attributes & FILE_ATTRIBUTE_REPARSE_POINT)
		return -ENOTDIR;
	if (!GetFileSecurityW(path, OWNER_SECURITY_INFORMATION, &asked, sizeof(asked), &n) ||
		!GetSecurityDescriptorOwner(&asked, &owner, &defaulted) || !owner)
		return dnp_windows_error();
	return EqualSid(owner, mine.user.user.User.Sid) || is_system(owner) ? 0 : -EPERM;
}

static int init(struct dnp_private *mine, DWORD inheritance)
{
	int status = ask_user(mine);

	if (status)
		return status;
	if (!InitializeAcl(&mine->access.list, sizeof(mine->access), ACL_REVISION) ||
		!AddAccessAllowedAceEx(&mine->access.list, ACL_REVISION, inheritance, GENERIC_ALL,
			mine->user.user.User.Sid) ||
		!InitializeSecurityDescriptor(&mine->descriptor, SECURITY_DESCRIPTOR_REVISION) ||
		!SetSecurityDescriptorDacl(&mine->descriptor, TRUE, &mine->access.list, FALSE) ||
		!SetSecurityDescriptorControl(
			&mine->descriptor, SE_DACL_PROTECTED, SE_DACL_PROTECTED))
		return dnp_windows_error();
	mine->attributes = (SECURITY_ATTRIBUTES){
		.nLength = sizeof(mine->attributes),
		.lpSecurityDescriptor = &mine->descriptor,
	};
	return 0;
}

int dnp_private_init(struct dnp_private *mine)
{
	return init(mine, 0);
}

int dnp_private_init_folder(struct dnp_private *mine)
{
	return init(mine, OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE);
}
