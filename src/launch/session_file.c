/* SPDX-License-Identifier: MIT */
#include "launch/session_file.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/clean.h"
#include "launch/process.h"

int dnp_session_new(struct dnp_session **out, const char *path, struct dnp_err *err)
{
	auto_close int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct dnp_session *session;
	struct dnp_process self;

	if (fd < 0)
		return dnp_err(err, -errno, "cannot make %s: %s", path, strerror(errno));
	/* Written, not only made longer: a full disk has to show now, not as a fault later. */
	if ((errno = posix_fallocate(fd, 0, DNP_SESSION_BYTES)))
		return dnp_err(err, -errno,
			"cannot write to %s: %s; make room, or choose another place with -o", path,
			strerror(errno));
	session = mmap(NULL, DNP_SESSION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (session == MAP_FAILED)
		return dnp_err(err, -errno, "cannot map %s: %s; choose another place with -o", path,
			strerror(errno));
	session->magic = DNP_SESSION_MAGIC;
	session->version = DNP_SESSION_VERSION;
	session->launcher_pid = getpid();
	if (!dnp_process_read(&self, getpid()))
		session->launcher_start_ticks = self.start_ticks;
	*out = session;
	return 0;
}

void dnp_session_free(struct dnp_session *session)
{
	if (session)
		munmap(session, DNP_SESSION_BYTES);
}

void dnp_session_stop(struct dnp_session *session)
{
	atomic_store_explicit(&session->stop, 1, memory_order_release);
	syscall(SYS_futex, &session->stop, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Whether the process that took the slot still runs: its id may have been given to another. */
static bool is_alive(const struct dnp_session_slot *slot)
{
	struct dnp_process process;

	if (dnp_process_read(&process, slot->pid) || process.state == 'Z')
		return false;
	return !slot->start_ticks || slot->start_ticks == process.start_ticks;
}

void dnp_session_sum(const struct dnp_session *session, struct dnp_session_sum *sum)
{
	*sum = (struct dnp_session_sum){0};
	for (unsigned i = 0; i < DNP_SESSION_SLOTS; i++) {
		const struct dnp_session_slot *slot = &session->slots[i];

		if (!slot->pid)
			continue;
		sum->processes++;
		sum->samples += atomic_load_explicit(&slot->samples, memory_order_relaxed);
		sum->lost += atomic_load_explicit(&slot->lost, memory_order_relaxed);
		switch (dnp_session_slot_state(slot)) {
		case DNP_SLOT_ENDED: sum->ended++; break;
		case DNP_SLOT_FAILED: sum->failed++; break;
		default:
			if (is_alive(slot))
				sum->recording++;
			else
				sum->cut++;
		}
	}
}

const struct dnp_session_slot *dnp_session_find(const struct dnp_session *session, pid_t pid)
{
	for (unsigned i = 0; i < DNP_SESSION_SLOTS; i++) {
		if (session->slots[i].pid == pid)
			return &session->slots[i];
	}
	return NULL;
}

void dnp_session_reason(const struct dnp_session_slot *slot, char out[DNP_SESSION_REASON])
{
	size_t i;

	for (i = 0; i < DNP_SESSION_REASON - 1 && slot->reason[i]; i++)
		out[i] = (unsigned char)slot->reason[i] < ' ' ? ' ' : slot->reason[i];
	out[i] = '\0';
}
