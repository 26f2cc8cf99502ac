/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/wait_kind.h"
#include "os/mem.h"

static enum dnp_wait_kind kind_of_descriptor(uint64_t fd)
{
	struct stat st; /* read by system call: libc's fstat is newer than the oldest libc */

	if (syscall(SYS_fstat, (int)fd, &st))
		return DNP_WAIT_OTHER;
	if (S_ISSOCK(st.st_mode))
		return DNP_WAIT_SOCKET;
	if (S_ISFIFO(st.st_mode))
		return DNP_WAIT_PIPE;
	return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode) ? DNP_WAIT_FILE
										 : DNP_WAIT_OTHER;
}

/* Of several that it waits for: of the first one. */
static enum dnp_wait_kind kind_of_first(uint64_t array)
{
	struct pollfd first;

	if (dnp_mem_read((uintptr_t)array, &first, sizeof(first)))
		return DNP_WAIT_OTHER;
	return kind_of_descriptor((uint64_t)first.fd);
}

enum dnp_wait_kind dnp_wait_kind_of_call(long number, uint64_t argument)
{
	switch (number) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep: return DNP_WAIT_SLEEP;
	case SYS_wait4:
	case SYS_waitid: return DNP_WAIT_PROCESS;
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect: return DNP_WAIT_SOCKET;
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_sendfile:
	case SYS_splice: return kind_of_descriptor(argument);
	case SYS_poll:
	case SYS_ppoll: return kind_of_first(argument);
	case SYS_epoll_wait:
	case SYS_epoll_pwait: return DNP_WAIT_SOCKET;
	case SYS_flock:
	case SYS_fcntl:
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_openat:
	case SYS_getdents64: return DNP_WAIT_FILE;
	default: return DNP_WAIT_OTHER;
	}
}
