/* SPDX-License-Identifier: MIT */
#include "aggregate/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "os/mem.h"

void dnp_rows_init(struct dnp_rows *rows, enum dnp_detail detail, size_t limit)
{
	*rows = (struct dnp_rows){.detail = detail, .limit = limit};
}

void dnp_rows_done(struct dnp_rows *rows)
{
	free(rows->slots);
	rows->slots = NULL;
	rows->n = rows->capacity = 0;
	dnp_vec_done(&rows->threads);
}

static size_t home_of(const struct dnp_rows *rows, const struct dnp_row *row)
{
	uint64_t key = (uint64_t)row->thread << 32 | row->node;
	uint64_t when = (uint64_t)row->bin << 1 | row->waiting;

	return dnp_hash(key ^ when * UINT64_C(0x9e3779b97f4a7c15)) & (rows->capacity - 1);
}

static struct dnp_row *slot_of(const struct dnp_rows *rows, const struct dnp_row *row, size_t home)
{
	size_t mask = rows->capacity - 1;
	struct dnp_row *slot;

	for (size_t i = home;; i = (i + 1) & mask) {
		slot = &rows->slots[i];
		if (!slot->weight)
			return slot;
		if (slot->node == row->node && slot->thread == row->thread &&
			slot->bin == row->bin && slot->waiting == row->waiting)
			return slot;
	}
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static void put(struct dnp_rows *rows, const struct dnp_row_ahead *ahead)
{
	struct dnp_row *slot = slot_of(rows, &ahead->row, ahead->home);
	uint64_t weight = add_up(ahead->row.weight, slot->weight);
	uint32_t looks = (uint32_t)ahead->row.looks + (slot->weight ? slot->looks : 0);
	double squares = ahead->row.squares + (slot->weight ? slot->squares : 0);

	rows->n += !slot->weight;
	*slot = ahead->row;
	slot->weight = weight;
	slot->squares = squares;
	slot->looks = (looks < DNP_LOOKS_MAX ? looks : DNP_LOOKS_MAX) & DNP_LOOKS_MAX;
}

/* Fetches the row's place in the table, and puts there the row that has waited longest for its own.
 */
static void put_soon(struct dnp_rows *rows, const struct dnp_row *row)
{
	struct dnp_row_ahead *ahead = &rows->ahead[rows->next_ahead++ % DNP_ROWS_AHEAD];
	const struct dnp_row *slot;

	if (ahead->row.weight)
		put(rows, ahead);
	ahead->row = *row;
	ahead->home = home_of(rows, row);
	slot = &rows->slots[ahead->home];
	__builtin_prefetch(slot, 1);
	__builtin_prefetch(slot + 1, 1); /* it may begin in one line and end in the next */
}

void dnp_rows_settle(struct dnp_rows *rows)
{
	for (unsigned i = 0; i < DNP_ROWS_AHEAD; i++) {
		if (rows->ahead[i].row.weight)
			put(rows, &rows->ahead[i]);
		rows->ahead[i].row.weight = 0;
	}
}

/*
 * A table of free slots. Its rows are met in no order, so most of the time goes into finding pages:
 * the fewer there are, the better.
 */
static struct dnp_row *new_slots(size_t capacity)
{
	struct dnp_row *slots = calloc(capacity, sizeof(*slots));

	if (slots)
		dnp_mem_want_large_pages(slots, capacity * sizeof(*slots));
	return slots;
}

/* All rows anew in a table of `capacity`, their bins 2^coarser times as wide. */
static int rebuild(struct dnp_rows *rows, size_t capacity, unsigned coarser)
{
	struct dnp_rows old;
	struct dnp_row *slots = new_slots(capacity);

	if (!slots)
		return -ENOMEM;
	dnp_rows_settle(rows);
	old = *rows;
	rows->slots = slots;
	rows->capacity = capacity;
	rows->n = 0;
	rows->shift += coarser;
	for (size_t i = 0; i < old.capacity; i++) {
		struct dnp_row row = old.slots[i];

		row.bin >>= coarser;
		if (row.weight)
			put_soon(rows, &row);
	}
	dnp_rows_settle(rows);
	free(old.slots);
	return 0;
}

/* Whether bins can get four times as wide: while there are many, or when nothing else helps. */
static bool bins_to_spare(const struct dnp_rows *rows)
{
	uint64_t bins = rows->newest_us >> rows->shift;

	return rows->detail == DNP_BY_TIME &&
		(bins >= DNP_ROWS_MIN_BINS * 4 || (bins && rows->n >= rows->limit * 2));
}

static int make_room(struct dnp_rows *rows)
{
	/* Down to half, so that this is not to be done again soon. */
	for (size_t most = rows->limit; rows->n >= most && bins_to_spare(rows);
		most = rows->limit / 2)
		if (rebuild(rows, rows->capacity, 2))
			return -ENOMEM;
	if (rows->n < rows->capacity / 4 * 3)
		return 0;
	return rebuild(rows, rows->capacity ? rows->capacity * 2 : 1024, 0);
}

static int add_to_thread(struct dnp_rows *rows, const struct dnp_row *row)
{
	struct dnp_row *sum;

	while (rows->threads.n / 2 <= row->thread) {
		struct dnp_row none = {.thread = (uint32_t)(rows->threads.n / 2),
			.node = DNP_NONE,
			.waiting = rows->threads.n & 1};

		if (dnp_vec_push(&rows->threads, none))
			return -ENOMEM;
	}
	sum = &rows->threads.p[row->thread * (size_t)2 + row->waiting];
	sum->weight = add_up(sum->weight, row->weight);
	return 0;
}

int dnp_rows_add(struct dnp_rows *rows, uint64_t time_us, struct dnp_row row)
{
	if (!row.weight)
		return 0;
	if (rows->detail == DNP_SUMS) {
		if (row.thread != DNP_NONE && add_to_thread(rows, &row))
			return -ENOMEM;
		if (row.node == DNP_NONE)
			return 0;
		row.thread = DNP_NONE;
		row.waiting = 0;
	}
	if (time_us > rows->newest_us)
		rows->newest_us = time_us;
	if ((rows->n >= rows->capacity / 4 * 3 || rows->n >= rows->limit) && make_room(rows))
		return -ENOMEM;
	while (rows->detail == DNP_BY_TIME && time_us >> rows->shift > UINT32_MAX)
		if (rebuild(rows, rows->capacity, 1))
			return -ENOMEM;
	row.bin = rows->detail == DNP_BY_TIME ? (uint32_t)(time_us >> rows->shift) : 0;
	put_soon(rows, &row);
	return 0;
}

uint64_t dnp_rows_time_us(const struct dnp_rows *rows, const struct dnp_row *row)
{
	uint64_t begin = (uint64_t)row->bin << rows->shift;
	uint64_t end = begin + (UINT64_C(1) << rows->shift), last = rows->newest_us + 1;

	return begin + ((end < last ? end : last) - begin) / 2;
}

static int by_time(const void *left, const void *right)
{
	const struct dnp_row *a = left, *b = right;

	if (a->bin != b->bin)
		return a->bin < b->bin ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->waiting < b->waiting ? -1 : a->waiting > b->waiting;
}

void dnp_rows_finish(struct dnp_rows *rows)
{
	size_t kept = 0;

	dnp_rows_settle(rows);
	for (size_t i = 0; i < rows->capacity; i++)
		if (rows->slots[i].weight)
			rows->slots[kept++] = rows->slots[i];
	rows->capacity = 0; /* no table any more */
	if (kept && rows->detail == DNP_BY_TIME)
		qsort(rows->slots, kept, sizeof(*rows->slots), by_time);
}
