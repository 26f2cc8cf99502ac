/* SPDX-License-Identifier: MIT */
#include "launch/session_file.h"

#include <string.h>

#include "base/clean.h"
#include "os/file.h"
#include "os/mem.h"
#include "os/process.h"

int dnp_session_new(struct dnp_session **out, const char *path, struct dnp_err *err)
{
	static const char zeros[DNP_SESSION_BYTES];
	auto_close int fd = dnp_file_create_new(path);
	struct dnp_session *session;
	int failed;

	if (fd < 0)
		return dnp_err(err, fd, "cannot make %s: %s", path, strerror(-fd));
	/* Written, not only made longer: a full disk has to show now, not as a fault later. */
	failed = dnp_file_write_all(fd, zeros, sizeof(zeros));
	if (failed)
		return dnp_err(err, failed, "cannot write to %s: %s; %s", path, strerror(-failed),
			failed == -EFBIG ? "raise the limit (ulimit -f)"
					 : "make room, or choose another place with -o");
	session = dnp_mem_share(path, DNP_SESSION_BYTES);
	if (!session)
		return dnp_err(err, -errno, "cannot map %s: %s; choose another place with -o", path,
			strerror(errno));
	session->magic = DNP_SESSION_MAGIC;
	session->version = DNP_SESSION_VERSION;
	session->launcher_pid = dnp_process_id();
	session->launcher_start_ticks = dnp_process_start_ticks(dnp_process_id());
	*out = session;
	return 0;
}

void dnp_session_free(struct dnp_session *session)
{
	if (session)
		dnp_mem_unshare(session, DNP_SESSION_BYTES);
}

void dnp_session_stop(struct dnp_session *session)
{
	atomic_store_explicit(&session->stop, 1, memory_order_release);
}

/* Whether the process that took the slot still runs: its id may have been given to another. */
static bool is_alive(const struct dnp_session_slot *slot)
{
	return dnp_process_is_alive(slot->pid) &&
		(!slot->start_ticks || slot->start_ticks == dnp_process_start_ticks(slot->pid));
}

void dnp_session_sum(const struct dnp_session *session, struct dnp_session_sum *sum)
{
	*sum = (struct dnp_session_sum){
		.samples = session->past_samples, .lost = session->past_lost};
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

const struct dnp_session_slot *dnp_session_failed(const struct dnp_session *session)
{
	for (unsigned i = 0; i < DNP_SESSION_SLOTS; i++) {
		if (dnp_session_slot_state(&session->slots[i]) == DNP_SLOT_FAILED)
			return &session->slots[i];
	}
	return NULL;
}

bool dnp_session_failure(const struct dnp_session *session, char reason[DNP_SESSION_REASON])
{
	const struct dnp_session_slot *slot = dnp_session_failed(session);

	if (slot)
		dnp_session_reason(slot, reason);
	return slot && *reason;
}

void dnp_session_reason(const struct dnp_session_slot *slot, char out[DNP_SESSION_REASON])
{
	/* Looked at where nobody else writes. */
	memcpy(out, slot->reason, DNP_SESSION_REASON);
	out[DNP_SESSION_REASON - 1] = '\0';
	for (char *c = out; *c; c++)
		*c = (unsigned char)*c < ' ' ? ' ' : *c;
}
