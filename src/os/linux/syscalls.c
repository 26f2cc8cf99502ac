/* SPDX-License-Identifier: MIT */
#include "os/syscalls.h"

#include <stddef.h>
#include <sys/syscall.h>

#include "base/clean.h"

struct entry {
	int number;
	const char *name;
};

/* One entry for each that waits, by the name in the manual; not all processors have all of them. */
static const struct entry entries[] = {
	{SYS_futex, "futex"},
	{SYS_epoll_pwait, "epoll_pwait"},
	{SYS_ppoll, "ppoll"},
	{SYS_pselect6, "pselect6"},
	{SYS_read, "read"},
	{SYS_readv, "readv"},
	{SYS_pread64, "pread64"},
	{SYS_write, "write"},
	{SYS_writev, "writev"},
	{SYS_pwrite64, "pwrite64"},
	{SYS_recvfrom, "recvfrom"},
	{SYS_recvmsg, "recvmsg"},
	{SYS_recvmmsg, "recvmmsg"},
	{SYS_sendto, "sendto"},
	{SYS_sendmsg, "sendmsg"},
	{SYS_sendmmsg, "sendmmsg"},
	{SYS_sendfile, "sendfile"},
	{SYS_splice, "splice"},
	{SYS_accept, "accept"},
	{SYS_accept4, "accept4"},
	{SYS_connect, "connect"},
	{SYS_nanosleep, "nanosleep"},
	{SYS_clock_nanosleep, "clock_nanosleep"},
	{SYS_wait4, "wait4"},
	{SYS_waitid, "waitid"},
	{SYS_rt_sigtimedwait, "rt_sigtimedwait"},
	{SYS_rt_sigsuspend, "rt_sigsuspend"},
	{SYS_flock, "flock"},
	{SYS_fcntl, "fcntl"},
	{SYS_fsync, "fsync"},
	{SYS_fdatasync, "fdatasync"},
	{SYS_openat, "openat"},
	{SYS_close, "close"},
	{SYS_ioctl, "ioctl"},
	{SYS_getdents64, "getdents64"},
	{SYS_msgrcv, "msgrcv"},
	{SYS_msgsnd, "msgsnd"},
	{SYS_semtimedop, "semtimedop"},
	{SYS_mq_timedreceive, "mq_timedreceive"},
	{SYS_mq_timedsend, "mq_timedsend"},
	{SYS_io_getevents, "io_getevents"},
	{SYS_io_uring_enter, "io_uring_enter"},
	{SYS_restart_syscall, "restart_syscall"},
	{SYS_sched_yield, "sched_yield"},
	{SYS_membarrier, "membarrier"},
	{SYS_mmap, "mmap"},
	{SYS_munmap, "munmap"},
	{SYS_mprotect, "mprotect"},
	{SYS_madvise, "madvise"},
	{SYS_clone, "clone"},
	{SYS_exit, "exit"},
#ifdef SYS_poll
	{SYS_poll, "poll"},
	{SYS_select, "select"},
	{SYS_epoll_wait, "epoll_wait"},
	{SYS_pause, "pause"},
	{SYS_open, "open"},
#endif
#ifdef SYS_epoll_pwait2
	{SYS_epoll_pwait2, "epoll_pwait2"},
#endif
#ifdef SYS_futex_waitv
	{SYS_futex_waitv, "futex_waitv"},
#endif
};

const char *dnp_syscall_name(int number)
{
	for (size_t i = 0; i < DNP_ARRAY_SIZE(entries); i++)
		if (entries[i].number == number)
			return entries[i].name;
	return NULL;
}
