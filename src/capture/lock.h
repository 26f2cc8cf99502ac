/* SPDX-License-Identifier: MIT */
/* What the two halves of lock.c and lock_owner.c tell each other. */
#ifndef DNP_CAPTURE_LOCK_H
#define DNP_CAPTURE_LOCK_H

#include <stdint.h>

/* How many waits were samples of lock so far. */
uint64_t dnp_lock_kept(void);

/* A wait has begun at `since_ns`: its owner may have to be looked at. Any thread. */
void dnp_lock_owner_await(uint64_t since_ns);

/* A wait that was long enough is over, and nobody looked at its owner: why. */
enum dnp_lock_missed {
	DNP_LOCK_NOT_TOLD, /* the runtime did not say who the owner was */
	DNP_LOCK_MANY,     /* too many waits at once */
	DNP_LOCK_BEFORE,   /* the wait began before the recording */
	DNP_LOCK_SHORT,    /* over before its turn came, or the lock had changed hands */
	DNP_LOCK_GONE,     /* the owner had gone, or was none of the program's threads */
	DNP_LOCK_MOVED,    /* it did not keep still */
	DNP_LOCK_NO_STACK,
	DNP_LOCK_NO_ROOM,
	DNP_LOCK_MISSED
};

void dnp_lock_owner_missed(enum dnp_lock_missed why);

#endif
