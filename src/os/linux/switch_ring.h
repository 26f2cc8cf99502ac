/* SPDX-License-Identifier: MIT */
/*
 * One processor's ring of perf records, read in order of time, which is that of writing.
 *
 * The kernel writes forward and waits for the reader; or, where only the newest is kept, backward
 * and over what is old: then the head is the newest record, and the rest lies behind it. Such a
 * ring is copied while the kernel pauses, and its records are found from the newest to the oldest.
 */
#ifndef DNP_OS_LINUX_SWITCH_RING_H
#define DNP_OS_LINUX_SWITCH_RING_H

#include "base/vec.h"
#include "os/switches.h"

struct dnp_switch_record {
	struct dnp_switch it;
	uint64_t id; /* of the event, where records have one */
};

struct dnp_switch_ring {
	int fd; /* borrowed: the event that it belongs to */
	uint16_t cpu;
	bool newest, with_id;
	void *pages;      /* owned: a control page, then the data; NULL: not mapped */
	size_t bytes;     /* of the data, a power of two */
	char *copy;       /* owned; newest */
	uint64_t at;      /* the next record */
	uint64_t head;    /* behind the last one */
	uint64_t last_ns; /* of the last record that was read */
	struct dnp_vec_of(uint32_t) found; /* newest: where records begin, those not read yet */
	bool full; /* when it was looked at last: something may be lost, and not be told yet */
	uint64_t full_at; /* where the kernel would tell of it */
	bool have;        /* next: one that was looked at, and not taken yet */
	struct dnp_switch_record next;
};

/* Maps the ring of the event `fd`. 0 or -errno. */
int dnp_switch_ring_init(struct dnp_switch_ring *ring, size_t bytes, bool newest, bool with_id);
void dnp_switch_ring_done(struct dnp_switch_ring *ring);

/* Stops the kernel from writing, and lets it go on; nothing where it waits for the reader. */
void dnp_switch_ring_pause(struct dnp_switch_ring *ring, bool pause);

/* What is in it now will be read. Returns the time before which something may be missing. */
uint64_t dnp_switch_ring_begin(struct dnp_switch_ring *ring);

/* Whether there is a next record. */
bool dnp_switch_ring_peek(struct dnp_switch_ring *ring);

/* What has been read may be written over. */
void dnp_switch_ring_end(struct dnp_switch_ring *ring);

#endif
