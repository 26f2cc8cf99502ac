/* SPDX-License-Identifier: MIT */
/* perf_event_open(2), which the C library does not have. */
#ifndef DNP_OS_LINUX_PERF_H
#define DNP_OS_LINUX_PERF_H

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/fds.h"

/*
 * Of events that only tell (of threads, code, switches): without a period it interrupts nobody.
 * PERF_COUNT_SW_DUMMY would do, too, but is of another PMU than what samples (cpu-clock): at each
 * switch of a thread the kernel goes through all PMUs that the thread has events of, and a second
 * one was seen to cost as much as the first.
 */
#define DNP_PERF_TELLS PERF_COUNT_SW_CPU_CLOCK

/* PERF_RECORD_FORK, of events without sample_id_all. */
struct dnp_fork_record {
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
};

/*
 * An event of a thread (0: this one, -1: all) on a processor (-1: any). Returns its descriptor,
 * above those of the program, or -errno.
 */
static inline int dnp_perf_open(struct perf_event_attr *attr, int tid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : dnp_fd_move_up(fd);
}

/* Whether it is there: the program may have closed it, and have another file in its place. */
static inline bool dnp_perf_is_there(int fd)
{
	uint64_t id;

	return !ioctl(fd, PERF_EVENT_IOC_ID, &id);
}

static inline void dnp_perf_close(int fd)
{
	if (dnp_perf_is_there(fd))
		close(fd);
}

#define DNP_PERF_FIRST_PID_NAMESPACE "pid:[4026531836]" /* linux/proc_ns.h: PROC_PID_INIT_INO */

/*
 * Whether ids of processes and threads are the system's here. In a container with its own, trace
 * points tell the system's all the same, and switches tell none of who is outside of it.
 */
static inline bool dnp_perf_has_system_ids(void)
{
	char name[32] = "";

	return readlink("/proc/self/ns/pid", name, sizeof(name) - 1) < 0 ||
		!strcmp(name, DNP_PERF_FIRST_PID_NAMESPACE);
}

#endif
