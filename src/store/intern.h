/* SPDX-License-Identifier: MIT */
/*
 * The stack trie as the drain thread knows it: (parent node, frame) → node.
 *
 * Node numbers count up for ever. When the table is full it is emptied: nodes met again get new
 * numbers, which costs bytes in the recording and nothing else. So memory is bounded whatever the
 * program does. One thread at a time.
 */
#ifndef DNP_STORE_INTERN_H
#define DNP_STORE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct dnp_intern {
	struct dnp_intern_slot *slots; /* owned, mapped */
	uint32_t capacity;             /* a power of two */
	uint32_t used;
	uint32_t next;       /* the next node's number; 0 is the root */
	uint32_t generation; /* how often the table was emptied */
};

/* 0 or -ENOMEM. `capacity` is a power of two; a slot takes 12 bytes, touched as they fill. */
int dnp_intern_init(struct dnp_intern *intern, uint32_t capacity);
void dnp_intern_done(struct dnp_intern *intern);

/* The node of `frame` below `parent`; *is_new tells that it was made by this call. */
uint32_t dnp_intern_node(struct dnp_intern *intern, uint32_t parent, uint32_t frame, int *is_new);

/*
 * Forgets all nodes if fewer than `room` can be added. Returns 1 when it did: node numbers that the
 * caller holds stay valid in the recording, but are not found again.
 */
int dnp_intern_make_room(struct dnp_intern *intern, uint32_t room);

size_t dnp_intern_bytes(const struct dnp_intern *intern);

#endif
