/* SPDX-License-Identifier: MIT */
/*
 * Where a thread puts what happens to its calls, and the writer (call_events.c) takes it from:
 * a ring of events of 8 bytes, made by the hooks in x86_64/elt_events.S, which includes this file.
 *
 * A ring belongs to one thread at a time. That thread alone writes `head` and all above `tail`,
 * the writer alone what is below. Where events had to be dropped there are three words instead:
 * one of method 0, then how many, then what became of the depth meanwhile.
 */
#ifndef DNP_CAPTURE_CALL_RING_H
#define DNP_CAPTURE_CALL_RING_H

/* Offsets, for hooks. */
#define DNP_CALLS_RING         0 /* `ring`, `top` and `limit` in struct dnp_calls (calls.h) */
#define DNP_CALLS_TOP          8
#define DNP_CALLS_LIMIT        16
#define DNP_CALL_METHOD_NUMBER 0 /* `number` in struct dnp_call_method (calls.h) */
#define DNP_CALL_RING_HEAD     0
#define DNP_CALL_RING_LIMIT    8
#define DNP_CALL_RING_MASK     16
#define DNP_CALL_RING_EVENTS   192

#ifndef __ASSEMBLER__
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dnp_call_carry;

struct dnp_call_ring {
	/* The thread's. */
	_Atomic uint64_t head; /* events put so far; released to the writer */
	uint64_t limit;        /* of head: from there on hooks ask dnp_call_events_put */
	uint64_t mask;         /* events that it holds, less one; a power of two less one */
	_Atomic uint64_t lost; /* events dropped since there was room, not told in the ring yet */
	int64_t fell, rose;    /* depth since then: at its lowest, and now; both against before */
	_Atomic uint64_t waits;

	/* The writer's. */
	_Alignas(64) _Atomic uint64_t tail; /* events taken; released to the thread */
	uint32_t thread;                    /* thread index in the recording */
	uint64_t depth;                     /* calls open after the events taken */
	uint64_t last_ns;                   /* when the last event that was written happened */
	uint64_t since_ns;            /* since when events are there that are not taken, 0: none */
	uint64_t told_lost;           /* before the next event */
	uint64_t told_kept;           /* of the calls open, how many were before those */
	struct dnp_call_carry *carry; /* what is known of the open calls */
	struct dnp_call_ring *next;   /* of all rings */
	_Atomic int state;            /* see call_events.c */

	_Alignas(64) uint64_t events[];
};

_Static_assert(offsetof(struct dnp_call_ring, head) == DNP_CALL_RING_HEAD, "as the hooks have it");
_Static_assert(
	offsetof(struct dnp_call_ring, limit) == DNP_CALL_RING_LIMIT, "as the hooks have it");
_Static_assert(offsetof(struct dnp_call_ring, mask) == DNP_CALL_RING_MASK, "as the hooks have it");
_Static_assert(
	offsetof(struct dnp_call_ring, events) == DNP_CALL_RING_EVENTS, "as the hooks have it");
#endif
#endif
