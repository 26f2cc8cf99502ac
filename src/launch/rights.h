/* SPDX-License-Identifier: MIT */
/*
 * Root's work on files of other users, with their rights: who may rename folders on the way to a
 * file leads root's names wherever he likes, and can be led himself only where he may go.
 */
#ifndef DNP_LAUNCH_RIGHTS_H
#define DNP_LAUNCH_RIGHTS_H

#include <stdbool.h>

struct dnp_rights {
	bool taken;
};

/*
 * Files are opened, made and renamed with the rights of whom the open file `fd` belongs to, until
 * dnp_rights_give_back; those to look into processes stay the caller's. Nothing changes for who is
 * not root, nor for a file of root's. One at a time, in a process of one thread.
 */
void dnp_rights_take(struct dnp_rights *rights, int fd);
void dnp_rights_give_back(struct dnp_rights *rights);

#endif
