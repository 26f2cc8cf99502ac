/* SPDX-License-Identifier: MIT */
/*
 * The samples of one event, added up: one row for each stack of each thread in each bin of time,
 * apart by whether the thread ran.
 *
 * A bin is 2^shift microseconds wide. Without `timed` there is one bin for all of time. With it
 * bins begin at one microsecond and grow whenever there are more than `limit` rows, as long as the
 * time seen so far keeps DNP_ROWS_MIN_BINS of them or there are twice as many rows; so memory does
 * not grow with the length of a recording.
 */
#ifndef DNP_AGGREGATE_ROWS_H
#define DNP_AGGREGATE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNP_ROWS_LIMIT    ((size_t)2 << 20)
#define DNP_ROWS_MIN_BINS 16u

struct dnp_row {
	uint64_t weight; /* never 0; marks a free slot of the table */
	uint32_t bin, thread, node;
	uint32_t waiting; /* 1: the thread did not run */
};

/* Rows on their way into the table: its memory is far away, so it is fetched some rows ahead. */
#define DNP_ROWS_AHEAD 16u

struct dnp_rows {
	struct dnp_row *slots; /* owned: open addressing; after _finish just an array of n */
	size_t n, capacity;    /* capacity: a power of two */
	struct dnp_row ahead[DNP_ROWS_AHEAD]; /* a ring; weight 0: free */
	unsigned next_ahead;
	size_t limit;
	uint64_t newest_us;
	unsigned shift;
	bool timed;
};

void dnp_rows_init(struct dnp_rows *rows, bool timed, size_t limit);
void dnp_rows_done(struct dnp_rows *rows);

/* Adds a row (nothing if its weight is 0) at a time since the start; its bin is found. 0 or
 * -ENOMEM. */
int dnp_rows_add(struct dnp_rows *rows, uint64_t time_us, struct dnp_row row);

/* The middle of a bin, as a time to pass on to another dnp_rows_add. */
uint64_t dnp_rows_time_us(const struct dnp_rows *rows, const struct dnp_row *row);

/* Puts all that was added into the table, for those who look at its slots. */
void dnp_rows_settle(struct dnp_rows *rows);

/* Leaves slots[0..n), if timed by bin, thread, node, state. Nothing can be added afterwards. */
void dnp_rows_finish(struct dnp_rows *rows);

#endif
