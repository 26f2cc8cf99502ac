/* SPDX-License-Identifier: MIT */
#include "export/slices.h"

#define FIRST_MERGED_NS 64u

void dnp_slices_init(struct dnp_slices *slices, size_t limit,
	uint32_t (*caller)(const void *arg, uint32_t node), const void *arg)
{
	*slices = (struct dnp_slices){.limit = limit, .caller = caller, .arg = arg};
}

void dnp_slices_done(struct dnp_slices *slices)
{
	dnp_vec_done(&slices->list);
	dnp_vec_done(&slices->threads);
}

int dnp_slices_thread(struct dnp_slices *slices, uint32_t thread)
{
	return dnp_vec_push(&slices->threads, (struct dnp_slice_thread){thread, slices->list.n});
}

size_t dnp_slices_count(const struct dnp_slices *slices, size_t i)
{
	size_t end = i + 1 < slices->threads.n ? slices->threads.p[i + 1].first : slices->list.n;

	return end - slices->threads.p[i].first;
}

static bool is_short(const struct dnp_slices *slices, const struct dnp_slice *slice)
{
	return slice->calls > 1 || slice->mixed ||
		slice->end_ns - slice->start_ns < slices->merged_below_ns;
}

static bool are_close(const struct dnp_slices *slices, const struct dnp_slice *before,
	const struct dnp_slice *slice)
{
	return before->depth == slice->depth && is_short(slices, before) &&
		slice->start_ns - before->end_ns < slices->merged_below_ns &&
		before->calls <= UINT32_MAX - slice->calls;
}

/* Neighbours have one caller. */
static void merge(
	const struct dnp_slices *slices, struct dnp_slice *into, const struct dnp_slice *slice)
{
	if (!into->mixed && (slice->mixed || slice->node != into->node)) {
		into->node = slices->caller(slices->arg, into->node);
		into->mixed = true;
	}
	into->end_ns = slice->end_ns;
	into->calls += slice->calls;
}

/* Puts a slice behind those of list[first..n), which has room for it; returns the new n. */
static size_t put(struct dnp_slices *slices, size_t first, size_t n, struct dnp_slice slice)
{
	struct dnp_slice *list = slices->list.p;

	if (is_short(slices, &slice)) {
		while (n > first && list[n - 1].depth > slice.depth)
			n--;
		if (n > first && are_close(slices, &list[n - 1], &slice)) {
			merge(slices, &list[n - 1], &slice);
			return n;
		}
	}
	list[n] = slice;
	return n + 1;
}

/* The same calls again, of which more are short now. */
static void coarsen(struct dnp_slices *slices)
{
	size_t out = 0;

	slices->merged_below_ns =
		slices->merged_below_ns ? slices->merged_below_ns * 2 : FIRST_MERGED_NS;
	for (size_t i = 0; i < slices->threads.n; i++) {
		struct dnp_slice_thread *thread = &slices->threads.p[i];
		size_t end = thread->first + dnp_slices_count(slices, i), first = out;

		for (size_t k = thread->first; k < end; k++)
			out = put(slices, first, out, slices->list.p[k]);
		thread->first = first;
	}
	slices->list.n = out;
}

int dnp_slices_add(struct dnp_slices *slices, struct dnp_slice slice)
{
	size_t first = slices->threads.p[slices->threads.n - 1].first;

	if (dnp_vec_reserve(&slices->list, slices->list.n + 1))
		return -ENOMEM;
	slices->list.n = put(slices, first, slices->list.n, slice);
	if (slices->list.n < slices->limit)
		return 0;
	while (slices->list.n > slices->limit / 2 && slices->merged_below_ns < UINT64_MAX / 4)
		coarsen(slices);
	return 0;
}
