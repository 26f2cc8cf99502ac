/* SPDX-License-Identifier: MIT */
/*
 * New nodes of the stack trie on their way into records. Those on the way from the root to a leaf
 * follow each other, so one record holds many; a stack that is too deep for one takes more.
 * The drain thread's.
 */
#ifndef DNP_STORE_CHAIN_H
#define DNP_STORE_CHAIN_H

#include <stddef.h>
#include <stdint.h>

#include "store/writer.h"

/* Of one record: some thousand nodes. A chunk holds several. */
#define DNP_CHAIN_BYTES 4096u

struct dnp_chain {
	struct dnp_writer *writer;
	uint32_t first, parent;
	size_t bytes; /* 0: nothing waits to be written */
	uint8_t frames[DNP_CHAIN_BYTES];
};

/*
 * A node is new, made for this frame on top of `parent`: the one that was added before it, or, for
 * the first, one that is in the recording.
 */
void dnp_chain_add(struct dnp_chain *chain, uint32_t parent, uint32_t node, uint32_t frame);

/* Writes what waits: before a record that refers to one of the nodes, or another chain. */
void dnp_chain_write(struct dnp_chain *chain);

#endif
