/* SPDX-License-Identifier: MIT */
#include "aggregate/collections.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/join.h"
#include "aggregate/load.h"
#include "format/varint.h"

/* ---- From the recording */

int dnp_load_collection(struct dnp_load *load, const struct dnp_rec_collection *rec)
{
	uint64_t at_ns = dnp_load_since_start(load, rec->begin_ns);

	if (!dnp_filter_has_time(&load->profile->filter, at_ns))
		return 0;
	return dnp_vec_push(&load->collections, *rec);
}

/* False: it is cut off. */
static bool read_sizes(struct dnp_str sizes, struct dnp_heap_part *heap)
{
	const uint8_t *at = (const uint8_t *)sizes.p, *end = at + sizes.n;

	for (unsigned i = 0; i < DNP_HEAP_PARTS && at; i++) {
		at = dnp_varint_get(at, end, &heap[i].before);
		at = at ? dnp_varint_get(at, end, &heap[i].after) : NULL;
		at = at ? dnp_varint_get(at, end, &heap[i].survived) : NULL;
	}
	return at != NULL;
}

static uint64_t since_profile(const struct dnp_load *load, uint64_t time_ns)
{
	return dnp_load_since_start(load, time_ns) + load->start_ns;
}

/* By its sample, which is of the thread that caused it. */
static bool is_wanted(const struct dnp_load *load, const struct dnp_rec_collection *rec)
{
	return !load->requests.chosen ||
		dnp_map_get(&load->requests.collections,
			dnp_requests_collection(rec->event, rec->number)) != DNP_NONE;
}

int dnp_join_collections(struct dnp_join *join)
{
	const struct dnp_load *load = join->load;
	struct dnp_profile *profile = join->profile;

	for (size_t i = 0; i < load->collections.n; i++) {
		const struct dnp_rec_collection *rec = &load->collections.p[i];
		struct dnp_collection one = {
			.process = load->process,
			.number = rec->number,
			.generation = rec->generation,
			.reason = rec->reason,
			.kind = rec->kind,
			.compacting = rec->compacting,
			.ended = rec->end_ns != 0,
			.begin_ns = since_profile(load, rec->begin_ns),
			.end_ns = rec->end_ns
				? since_profile(load, rec->end_ns)
				: dnp_process_end_ns(&profile->processes.p[load->process]),
			.pauses = rec->pauses,
			.suspend_ns = rec->suspend_ns,
			.pause_ns = rec->pause_ns,
			.longest_ns = rec->longest_ns,
		};

		if (!is_wanted(load, rec))
			continue;
		one.sized = rec->sizes.n && read_sizes(rec->sizes, one.heap);
		if (dnp_vec_push(&profile->collections, one))
			return -ENOMEM;
	}
	return 0;
}

/* ---- Sums */

static int by_pause(const void *a, const void *b)
{
	const struct dnp_collection *x = *(const struct dnp_collection *const *)a;
	const struct dnp_collection *y = *(const struct dnp_collection *const *)b;

	if (x->longest_ns != y->longest_ns)
		return x->longest_ns < y->longest_ns ? 1 : -1;
	return (x > y) - (x < y);
}

static void add(struct dnp_collection_sum *sum, const struct dnp_collection *one)
{
	sum->count++;
	sum->background += one->kind == DNP_COLLECTION_BACKGROUND;
	sum->pauses += one->pauses;
	sum->suspend_ns += one->suspend_ns;
	sum->pause_ns += one->pause_ns;
	if (!sum->longest_ns)
		sum->longest_ns = one->longest_ns;
	for (unsigned i = 0; i < DNP_HEAP_PARTS; i++)
		sum->survived += one->heap[i].survived;
}

/* Of those that count in a sum, in which the longest come first. `generation` DNP_GENERATIONS: all.
 */
static void add_ranks(
	const struct dnp_collection_sums *sums, unsigned generation, struct dnp_collection_sum *sum)
{
	uint64_t median = sum->count - (sum->count + 1) / 2;
	uint64_t p99 = sum->count - (sum->count * 99 + 99) / 100;
	uint64_t rank = 0;

	for (size_t i = 0; i < sums->longest.n; i++) {
		const struct dnp_collection *one = sums->longest.p[i];

		if (generation < DNP_GENERATIONS && one->generation != generation)
			continue;
		if (rank == median)
			sum->median_ns = one->longest_ns;
		if (rank == p99)
			sum->p99_ns = one->longest_ns;
		rank++;
	}
}

static void add_heap(struct dnp_collection_sums *sums, const struct dnp_collection *last)
{
	if (!last)
		return;
	sums->heaps++;
	for (unsigned i = 0; i < DNP_HEAP_PARTS; i++)
		sums->heaps_after[i] += last->heap[i].after;
}

/* Those of a process stand together. */
static void add_heaps(struct dnp_collection_sums *sums, const struct dnp_collections *collections)
{
	const struct dnp_collection *last = NULL;

	for (size_t i = 0; i < collections->n; i++) {
		const struct dnp_collection *one = &collections->p[i];

		if (last && last->process != one->process) {
			add_heap(sums, last);
			last = NULL;
		}
		if (one->sized && (!last || last->end_ns < one->end_ns))
			last = one;
	}
	add_heap(sums, last);
}

int dnp_collection_sums_init(
	struct dnp_collection_sums *sums, const struct dnp_collections *collections)
{
	*sums = (struct dnp_collection_sums){0};
	for (size_t i = 0; i < collections->n; i++)
		if (dnp_vec_push(&sums->longest, &collections->p[i]))
			return -ENOMEM;
	add_heaps(sums, collections);
	if (sums->longest.n)
		qsort(sums->longest.p, sums->longest.n, sizeof(*sums->longest.p), by_pause);
	for (size_t i = 0; i < sums->longest.n; i++) {
		const struct dnp_collection *one = sums->longest.p[i];

		add(&sums->all, one);
		if (one->generation < DNP_GENERATIONS)
			add(&sums->generations[one->generation], one);
	}
	for (unsigned i = 0; i < DNP_GENERATIONS; i++)
		add_ranks(sums, i, &sums->generations[i]);
	add_ranks(sums, DNP_GENERATIONS, &sums->all);
	return 0;
}

void dnp_collection_sums_done(struct dnp_collection_sums *sums)
{
	dnp_vec_done(&sums->longest);
}

const char *dnp_collection_kind_name(uint64_t kind)
{
	static const char *const names[DNP_COLLECTION_KINDS] = {
		[DNP_COLLECTION_BLOCKING] = "blocking",
		[DNP_COLLECTION_BACKGROUND] = "background",
		[DNP_COLLECTION_FOREGROUND] = "foreground",
	};

	return kind < DNP_COLLECTION_KINDS ? names[kind] : "unknown";
}

uint64_t dnp_collection_before(const struct dnp_collection *collection)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < DNP_HEAP_PARTS; i++)
		bytes += collection->heap[i].before;
	return bytes;
}

uint64_t dnp_collection_after(const struct dnp_collection *collection)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < DNP_HEAP_PARTS; i++)
		bytes += collection->heap[i].after;
	return bytes;
}
