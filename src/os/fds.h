/* SPDX-License-Identifier: MIT */
/* Descriptors that we open in somebody's process. */
#ifndef DNP_OS_FDS_H
#define DNP_OS_FDS_H

#include <fcntl.h>
#include <unistd.h>

/* Programs that use select(), or count their descriptors from 0, do not meet ours above this. */
#define DNP_FD_LOW 1024

/* The same file above DNP_FD_LOW; where there is no room it stays where it is. */
static inline int dnp_fd_move_up(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, DNP_FD_LOW);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

#endif
