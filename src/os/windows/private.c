/* SPDX-License-Identifier: MIT */
#include "os/windows/private.h"

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
