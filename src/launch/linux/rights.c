/* SPDX-License-Identifier: MIT */
#include "launch/rights.h"

#include <grp.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clean.h"

void dnp_rights_take(struct dnp_rights *rights, int fd)
{
	struct stat st;

	rights->taken = false;
	if (geteuid() || fstat(fd, &st) || !st.st_uid)
		return;
	rights->n_groups = getgroups(DNP_ARRAY_SIZE(rights->groups), rights->groups);
	/* Where groups must not be left (user namespaces) root's are of no use to the user either.
	 */
	if (rights->n_groups > 0 && setgroups(0, NULL))
		rights->n_groups = 0;
	setfsgid(st.st_gid);
	setfsuid(st.st_uid);
	rights->taken = true;
}

void dnp_rights_give_back(struct dnp_rights *rights)
{
	if (!rights->taken)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	if (rights->n_groups > 0 && setgroups((size_t)rights->n_groups, rights->groups))
		rights->n_groups = 0; /* they were this process's a moment ago */
	rights->taken = false;
}
