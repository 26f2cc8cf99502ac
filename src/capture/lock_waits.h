/* SPDX-License-Identifier: MIT */
/*
 * The waits for locks that go on now, and who has the lock meanwhile: whom the runtime named when
 * the last wait for it began, or who has stopped waiting for it since, and so got it. (Or has given
 * up: the runtime does not say. He is taken for the owner until somebody else begins to wait.)
 *
 * Of a wait that Thread.Interrupt ends nothing more is told, nor of one for a
 * System.Threading.Lock that gives up: it is over, nobody knows since when, when its thread begins
 * the next one, or has gone.
 *
 * Shared by those who wait, the thread of ours that looks at owners, and the recorder; a leaf lock,
 * held while the waits are gone through, of which there are DNP_LOCK_WAITS_MAX at most.
 */
#ifndef DNP_CAPTURE_LOCK_WAITS_H
#define DNP_CAPTURE_LOCK_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#define DNP_LOCK_WAITS_MAX 1024u

struct dnp_lock_wait {
	uint64_t number; /* no other wait's; given by begin */
	uint64_t lock;   /* the runtime's number of it */
	uint64_t since_ns;
	uint64_t until_ns; /* 0: it goes on */
	uint64_t ns;       /* how long it was, by the runtime's clock; 0: that is not told */
	int tid;           /* who waits */
	int owner;         /* who has the lock; 0: not known */
	uint32_t label;    /* what is locked (store/labels.h), for the sample of its owner */
	bool looked_at;    /* its time to have its owner looked at has come */
	bool seen;         /* its owner's stack is known */
};

/* No wait goes on. */
void dnp_lock_waits_clear(void);

/* A wait begins, on its thread; false: there are too many, and this one is not among them. */
bool dnp_lock_waits_begin(const struct dnp_lock_wait *wait);

/*
 * Whoever had that number before `gone_ns` (struct dnp_thread) has gone; one that began to wait at
 * that time or later is another thread.
 */
void dnp_lock_waits_leave(int tid, uint64_t gone_ns);

/*
 * The thread's wait is over, after `ns`. *wait: what there was; false: it is not known. One whose
 * owner was seen is kept for dnp_lock_waits_take.
 */
bool dnp_lock_waits_end(int tid, uint64_t now_ns, uint64_t ns, struct dnp_lock_wait *wait);

/* Waits that go on, or are over without a word. */
uint64_t dnp_lock_waits_endless(void);

/* When the first of those began that were not looked at yet; UINT64_MAX: there are none. */
uint64_t dnp_lock_waits_first(void);

/* The first of them, if it began by then; it counts as looked at. */
bool dnp_lock_waits_next(uint64_t since_ns, struct dnp_lock_wait *wait);

/*
 * Its owner's stack was taken. False: the wait is over, or somebody else has the lock by now; else
 * it counts as seen.
 */
bool dnp_lock_waits_saw(const struct dnp_lock_wait *wait);

/* One that is over and whose owner was seen; it is forgotten then. */
bool dnp_lock_waits_take(struct dnp_lock_wait *wait);

#endif
