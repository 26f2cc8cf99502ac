/* SPDX-License-Identifier: MIT */
/* What only this user may open, whatever a folder passes on to files in it. */
#ifndef DNP_OS_WINDOWS_PRIVATE_H
#define DNP_OS_WINDOWS_PRIVATE_H

#include <windows.h>

/* Points into itself: not to be copied. */
struct dnp_private {
	SECURITY_ATTRIBUTES attributes; /* for the functions that make something */
	SECURITY_DESCRIPTOR descriptor;
	union {
		TOKEN_USER user;
		char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
	} user;
	union {
		ACL list;
		char room[sizeof(ACL) + sizeof(ACCESS_ALLOWED_ACE) + SECURITY_MAX_SID_SIZE];
	} access;
};

/* 0 or -errno. */
int dnp_private_init(struct dnp_private *mine);

/* The same for a folder, whose files it holds for, too. */
int dnp_private_init_folder(struct dnp_private *mine);

/* Whether a folder, and no link, is this user's or the system's. 0, -EPERM or another -errno. */
int dnp_private_check_folder(const wchar_t *path);

#endif
