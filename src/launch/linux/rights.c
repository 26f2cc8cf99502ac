/* SPDX-License-Identifier: MIT */
#include "launch/rights.h"

#include <grp.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clean.h"

/* The caller's others, meanwhile. */
static gid_t groups[64];
static int n_groups;

void dnp_rights_take(struct dnp_rights *rights, int fd)
{
	struct stat st;

	rights->taken = false;
	if (geteuid() || fstat(fd, &st) || !st.st_uid)
		return;
	n_groups = getgroups(DNP_ARRAY_SIZE(groups), groups);
	/* Where groups must not be left (user namespaces) root's are of no use to the user either.
	 */
	if (n_groups > 0 && setgroups(0, NULL))
		n_groups = 0;
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
	if (n_groups > 0 && setgroups((size_t)n_groups, groups))
		n_groups = 0; /* they were this process's a moment ago */
	rights->taken = false;
}
