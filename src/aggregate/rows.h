/* SPDX-License-Identifier: MIT */
/*
 * The samples of one event, added up: one row for each stack of each thread in each bin of time,
 * apart by whether the thread ran.
 *
 * A bin is 2^shift microseconds wide. Bins begin at one microsecond and grow whenever there are
 * more than `limit` rows, as long as the time seen so far keeps DNP_ROWS_MIN_BINS of them or there
 * are twice as many rows; so memory does not grow with the length of a recording. With less detail
 * than time there is one bin for all of it. Sums have no more than a row for each stack, with
 * DNP_NONE as its thread, and a row for each thread, with DNP_NONE as its stack.
 */
#ifndef DNP_AGGREGATE_ROWS_H
#define DNP_AGGREGATE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define DNP_ROWS_LIMIT    ((size_t)2 << 20)
#define DNP_ROWS_MIN_BINS 16u
#define DNP_LOOKS_MAX     0x7fffffffu

/* What samples are told apart by. */
enum dnp_detail {
	DNP_SUMS,      /* stack; and by thread, but not which stack is of which thread */
	DNP_BY_THREAD, /* stack and thread */
	DNP_BY_TIME,   /* these, and when they were taken */
};

struct dnp_row {
	uint64_t weight; /* never 0; marks a free slot of the table */
	double squares;  /* of what these samples weigh each */
	uint32_t bin, thread, node;
	uint32_t waiting : 1; /* the thread did not run */
	uint32_t looks : 31;  /* how many samples it is the sum of, as far as that was told */
};

/* Rows on their way into the table: its memory is far away, so it is fetched some rows ahead. */
#define DNP_ROWS_AHEAD 16u

struct dnp_row_ahead {
	struct dnp_row row; /* weight 0: free */
	size_t home;        /* the slot where its search begins */
};

struct dnp_rows {
	struct dnp_row *slots; /* owned: open addressing; after _finish just an array of n */
	size_t n, capacity;    /* capacity: a power of two */
	struct dnp_row_ahead ahead[DNP_ROWS_AHEAD]; /* a ring */
	unsigned next_ahead;
	size_t limit;
	uint64_t newest_us;
	unsigned shift;
	unsigned widest; /* shift of the widest bins that what was added had stood in before */
	enum dnp_detail detail;
	struct dnp_vec_of(struct dnp_row) threads; /* of sums: that ran, that waited, of each */
};

void dnp_rows_init(struct dnp_rows *rows, enum dnp_detail detail, size_t limit);
void dnp_rows_done(struct dnp_rows *rows);

/* How exactly it is known when a row was: to 2^that microseconds. */
static inline unsigned dnp_rows_known_shift(const struct dnp_rows *rows)
{
	return rows->shift > rows->widest ? rows->shift : rows->widest;
}

/* Rows of `from` are about to be added, of which it is known no more exactly. */
static inline void dnp_rows_widen(struct dnp_rows *rows, const struct dnp_rows *from)
{
	unsigned known = dnp_rows_known_shift(from);

	rows->widest = known > rows->widest ? known : rows->widest;
}

/*
 * Adds a row (nothing if its weight is 0) at a time since the start; its bin is found. To sums it
 * may be one of sums. 0 or -ENOMEM.
 */
int dnp_rows_add(struct dnp_rows *rows, uint64_t time_us, struct dnp_row row);

/* The middle of a bin, as a time to pass on to another dnp_rows_add. */
uint64_t dnp_rows_time_us(const struct dnp_rows *rows, const struct dnp_row *row);

/* Puts all that was added into the table, for those who look at its slots. */
void dnp_rows_settle(struct dnp_rows *rows);

/* Leaves slots[0..n), those of time by bin, thread, node, state. Nothing can be added afterwards.
 */
void dnp_rows_finish(struct dnp_rows *rows);

#endif
