/* SPDX-License-Identifier: MIT */
#include "aggregate/run_times.h"

#include "format/slice_codec.h"

/* Time without a processor, by how the slice before it ended. */
static void add_gap(struct dnp_run_times *times, uint64_t how, uint64_t length_ns)
{
	switch (how) {
	case DNP_SLICE_WAITS: times->blocked_ns += length_ns; break;
	case DNP_SLICE_PREEMPTED: times->preempted_ns += length_ns; break;
	case DNP_SLICE_SAMPLED: break;
	default: times->unknown_ns += length_ns; break;
	}
}

static void add_slice(struct dnp_run_times *times, const struct dnp_slice_at *slice)
{
	if (slice->how == DNP_SLICE_SAMPLED) /* it says that it ran, not how long */
		return;
	times->on_cpu_ns += slice->end_ns - slice->start_ns;
	times->voluntary += slice->how == DNP_SLICE_WAITS;
	times->involuntary += slice->how == DNP_SLICE_PREEMPTED;
}

bool dnp_run_times_slices(
	struct dnp_run_times *times, const struct dnp_rec_slices *rec, uint64_t *until_ns)
{
	uint64_t end_ns = rec->time_ns, how = rec->before;
	struct dnp_slice_reader reader;
	struct dnp_slice_at slice;
	int status;

	times->seen = true;
	add_gap(times, how, rec->gap_ns);
	dnp_slice_reader_init(&reader, rec);
	while ((status = dnp_slice_next(&reader, &slice)) > 0) {
		add_gap(times, how, slice.start_ns - end_ns);
		add_slice(times, &slice);
		end_ns = slice.end_ns;
		how = slice.how;
	}
	*until_ns = end_ns;
	return !status;
}

void dnp_run_times_clock(struct dnp_run_times *times, const struct dnp_rec_thread_clock *rec)
{
	struct dnp_run_clock clock = {rec->time_ns, rec->cpu_ns, rec->ready_ns};

	times->seen = true;
	if (!times->first.time_ns || clock.time_ns < times->first.time_ns)
		times->first = clock;
	if (clock.time_ns > times->last.time_ns)
		times->last = clock;
}

static void add_wait(struct dnp_run_times *times, uint64_t kind, uint64_t length_ns)
{
	dnp_wait_sum_add(&times->waits[kind < DNP_WAIT_KINDS ? kind : DNP_WAIT_OTHER], length_ns);
}

void dnp_wait_sum_add(struct dnp_wait_sum *sum, uint64_t length_ns)
{
	sum->count++;
	sum->ns += length_ns;
	if (length_ns > sum->longest_ns)
		sum->longest_ns = length_ns;
}

void dnp_run_times_wait(struct dnp_run_times *times, const struct dnp_rec_wait *rec)
{
	times->seen = true;
	if (rec->until_ns > rec->since_ns) {
		add_wait(times, rec->kind, rec->until_ns - rec->since_ns);
	} else if (!rec->until_ns) {
		times->open_since_ns = rec->since_ns;
		times->open_kind = rec->kind;
	}
}

void dnp_run_times_end(struct dnp_run_times *times, uint64_t time_ns)
{
	if (times->open_since_ns && time_ns > times->open_since_ns)
		add_wait(times, times->open_kind, time_ns - times->open_since_ns);
	times->open_since_ns = 0;
}
