/* SPDX-License-Identifier: MIT */
/*
 * The session file: shared memory between the launcher and the agents of the processes it started.
 *
 * The launcher makes it (DNP_SESSION_BYTES, mode 0600, in its private folder) before the program
 * starts, and removes it at the end. Each agent maps it, takes a slot and keeps it up to date, so
 * that the launcher can show progress, learn why an agent could not start, and ask for the end.
 *
 * For the agent:
 *   - map the file shared, check magic and version, dnp_session_slot_take(); without a file, or
 * when the slots are out, go on without one
 *   - as soon as there is a socket (format/control.h), make a link of its name beside the session
 *     file that leads to its folder: who is killed cannot remove the socket, the launcher can
 *   - fill `start_ticks`, then set `state` LOADED (the library runs in the process), RECORDING (the
 *     first sample may come), ENDED (the recording is whole and closed) or FAILED; write `reason`
 *     before FAILED. Transitions only go forward.
 *   - update `samples` and `lost` from the drain thread, at least four times a second
 *   - end the recording well (DNP_END_STOP) when `stop` is not 0, or (DNP_END_LAUNCHER) when the
 *     launcher's process is gone. Both within 300 ms: it is looked for that often.
 *
 * Neither side trusts the other's bytes: indices and texts are bounded where they are read.
 * All accesses are lock-free; the functions here are async-signal-safe.
 */
#ifndef DNP_FORMAT_SESSION_H
#define DNP_FORMAT_SESSION_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define DNP_SESSION_MAGIC   UINT32_C(0x53504e44) /* "DNPS" */
#define DNP_SESSION_VERSION 4u
#define DNP_SESSION_BYTES   65536
#define DNP_SESSION_SLOTS   255
#define DNP_SESSION_REASON  208

enum dnp_slot_state {
	DNP_SLOT_FREE = 0,
	DNP_SLOT_LOADED = 1,
	DNP_SLOT_RECORDING = 2,
	DNP_SLOT_ENDED = 3,
	DNP_SLOT_FAILED = 4,
};

struct dnp_session_slot {
	_Atomic uint32_t state;   /* enum dnp_slot_state; agent releases, launcher acquires */
	_Atomic int32_t pid;      /* 0: not taken */
	uint64_t start_ticks;     /* when the process began: field 22 of /proc/PID/stat */
	_Atomic uint64_t samples; /* of all events, relaxed */
	_Atomic uint64_t lost;    /* but for bytes and time; relaxed */
	_Atomic uint64_t bytes;   /* of the recording, relaxed */
	char reason[DNP_SESSION_REASON]; /* why it failed: "what: why; what to do", zero-terminated
					  */
};

struct dnp_session {
	uint32_t magic;
	uint32_t version;
	int32_t launcher_pid;
	_Atomic uint32_t stop; /* 1: end the recording well. Launcher releases, agents acquire */
	uint64_t launcher_start_ticks;
	_Atomic uint32_t refused; /* agents that found no slot */
	int32_t program; /* whose agent alone records (the option `alone`); 0: all of them */
	_Atomic uint64_t past_samples, past_lost; /* of those whose slots others have now */
	uint32_t reserved_too[52];
	struct dnp_session_slot slots[DNP_SESSION_SLOTS];
};

_Static_assert(sizeof(struct dnp_session_slot) == 248, "a slot is 248 bytes in every process");
_Static_assert(offsetof(struct dnp_session, slots) == 256, "slots follow the header");
_Static_assert(sizeof(struct dnp_session) <= DNP_SESSION_BYTES, "the session fits its file");

/* Whether the slot, of a process that has ended well, is the caller's now, as if it were new. */
static inline int dnp_session_slot_inherit(
	struct dnp_session *session, struct dnp_session_slot *slot)
{
	uint32_t ended = DNP_SLOT_ENDED;

	if (!atomic_compare_exchange_strong_explicit(&slot->state, &ended, DNP_SLOT_FREE,
		    memory_order_acquire, memory_order_relaxed))
		return 0;
	atomic_fetch_add_explicit(&session->past_samples, slot->samples, memory_order_relaxed);
	atomic_fetch_add_explicit(&session->past_lost, slot->lost, memory_order_relaxed);
	slot->start_ticks = 0;
	slot->samples = slot->lost = slot->bytes = 0;
	slot->reason[0] = '\0';
	return 1;
}

/*
 * Takes a slot for process `pid`: a free one, or that of one that has ended well; NULL when they
 * are out (counted in `refused`). Agent.
 */
static inline struct dnp_session_slot *dnp_session_slot_take(
	struct dnp_session *session, int32_t pid)
{
	for (unsigned i = 0; i < DNP_SESSION_SLOTS; i++) {
		int32_t none = 0;

		if (atomic_compare_exchange_strong_explicit(&session->slots[i].pid, &none, pid,
			    memory_order_relaxed, memory_order_relaxed))
			return &session->slots[i];
	}
	for (unsigned i = 0; i < DNP_SESSION_SLOTS; i++) {
		if (dnp_session_slot_inherit(session, &session->slots[i])) {
			atomic_store_explicit(&session->slots[i].pid, pid, memory_order_relaxed);
			return &session->slots[i];
		}
	}
	atomic_fetch_add_explicit(&session->refused, 1, memory_order_relaxed);
	return NULL;
}

/* Publishes what was written to the slot before. Pairs with dnp_session_slot_state. Agent. */
static inline void dnp_session_slot_set(struct dnp_session_slot *slot, enum dnp_slot_state state)
{
	atomic_store_explicit(&slot->state, (uint32_t)state, memory_order_release);
}

/* Pairs with dnp_session_slot_set. Launcher. */
static inline enum dnp_slot_state dnp_session_slot_state(const struct dnp_session_slot *slot)
{
	return (enum dnp_slot_state)atomic_load_explicit(&slot->state, memory_order_acquire);
}

#endif
