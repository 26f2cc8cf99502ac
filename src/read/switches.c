/* SPDX-License-Identifier: MIT */
#include "read/switches.h"

#include "read/visit.h"

/* ---- The index */

/* The place of a thread, that may be defined later; DNP_NONE: no memory. */
static uint32_t place_of(struct dnp_switches *switches, uint64_t index)
{
	uint32_t place = dnp_map_get(&switches->places, index);
	struct dnp_switch_thread thread = {
		.index = index, .first = DNP_NONE, .last = DNP_NONE, .wanted = true};

	if (place != DNP_NONE)
		return place;
	place = (uint32_t)switches->threads.n;
	if (dnp_vec_push(&switches->threads, thread) ||
		dnp_map_set(&switches->places, index, place))
		return DNP_NONE;
	return place;
}

static int on_event(void *arg, const struct dnp_rec_event *rec, uint64_t time_ns)
{
	struct dnp_switches *switches = arg;

	(void)time_ns;
	if (dnp_str_eq(rec->name, dnp_str("switch")))
		switches->interval_ns = rec->interval_ns;
	return 0;
}

static int on_thread(void *arg, const struct dnp_rec_thread *rec, uint64_t time_ns)
{
	struct dnp_switches *switches = arg;
	uint32_t place = place_of(switches, rec->index);
	struct dnp_switch_thread *thread;

	(void)time_ns;
	if (place == DNP_NONE)
		return -ENOMEM;
	thread = &switches->threads.p[place];
	thread->tid = rec->tid;
	thread->flags = rec->flags;
	thread->start_ns = rec->start_ns;
	thread->name = rec->name;
	return 0;
}

static int on_thread_name(void *arg, const struct dnp_rec_thread_name *rec, uint64_t time_ns)
{
	struct dnp_switches *switches = arg;
	uint32_t place = dnp_map_get(&switches->places, rec->thread);

	(void)time_ns;
	if (place != DNP_NONE)
		switches->threads.p[place].name = rec->name;
	return 0;
}

static int on_thread_end(void *arg, const struct dnp_rec_thread_end *rec, uint64_t time_ns)
{
	struct dnp_switches *switches = arg;
	uint32_t place = dnp_map_get(&switches->places, rec->thread);

	(void)time_ns;
	if (place != DNP_NONE)
		switches->threads.p[place].end_ns = rec->time_ns;
	return 0;
}

static int on_slices(void *arg, const struct dnp_rec_slices *rec, uint64_t time_ns)
{
	struct dnp_switches *switches = arg;
	uint32_t place = place_of(switches, rec->thread), number = (uint32_t)switches->records.n;
	struct dnp_switch_record record = {.slices = (const uint8_t *)rec->slices.p,
		.bytes = (uint32_t)rec->slices.n,
		.next = DNP_NONE,
		.time_ns = rec->time_ns};
	struct dnp_switch_thread *thread;

	(void)time_ns;
	if (place == DNP_NONE)
		return -ENOMEM;
	if (!rec->slices.n) /* it says that there was none */
		return 0;
	if (number == DNP_NONE || dnp_vec_push(&switches->records, record))
		return -ENOMEM;
	thread = &switches->threads.p[place];
	if (thread->last == DNP_NONE)
		thread->first = number;
	else
		switches->records.p[thread->last].next = number;
	thread->last = number;
	return 0;
}

static int on_switch_loss(void *arg, const struct dnp_rec_switch_loss *rec, uint64_t time_ns)
{
	struct dnp_switches *switches = arg;

	(void)time_ns;
	return dnp_vec_push(&switches->losses, *rec);
}

static int on_end(void *arg, const struct dnp_rec_end *rec, uint64_t time_ns)
{
	struct dnp_switches *switches = arg;

	(void)time_ns;
	switches->end_ns = rec->time_ns;
	return 0;
}

static const struct dnp_visitor visitor = {
	.event = on_event,
	.thread = on_thread,
	.thread_name = on_thread_name,
	.thread_end = on_thread_end,
	.slices = on_slices,
	.switch_loss = on_switch_loss,
	.end = on_end,
};

int dnp_switches_init(struct dnp_switches *switches, const struct dnp_recording *recording)
{
	*switches = (struct dnp_switches){.recording = recording};
	return dnp_recording_visit(recording, &visitor, switches, &switches->damaged);
}

void dnp_switches_done(struct dnp_switches *switches)
{
	dnp_vec_done(&switches->threads);
	dnp_vec_done(&switches->records);
	dnp_vec_done(&switches->losses);
	dnp_vec_done(&switches->heap);
	dnp_map_done(&switches->places);
}

/* ---- All threads in the order of time */

/* One that begins before the slice before it has ended is damaged: it has none. */
static void open_record(struct dnp_switches *switches, struct dnp_switch_thread *thread)
{
	const struct dnp_switch_record *record = &switches->records.p[thread->at];
	struct dnp_rec_slices rec = {.time_ns = record->time_ns,
		.slices = {(const char *)record->slices, record->bytes}};

	if (record->time_ns < thread->slice.end_ns) {
		switches->damaged += rec.slices.n;
		rec.slices.n = 0;
	}
	dnp_slice_reader_init(&thread->reader, &rec);
	switches->read_bytes += record->bytes;
}

/* Moves a thread to its next slice; false: it has none. */
static bool advance(struct dnp_switches *switches, struct dnp_switch_thread *thread)
{
	while (thread->at != DNP_NONE) {
		int status = dnp_slice_next(&thread->reader, &thread->slice);

		if (status > 0)
			return true;
		if (status < 0)
			switches->damaged += (uint64_t)(thread->reader.end - thread->reader.in);
		thread->at = switches->records.p[thread->at].next;
		if (thread->at != DNP_NONE)
			open_record(switches, thread);
	}
	return false;
}

static bool is_before(const struct dnp_switches *switches, uint32_t a, uint32_t b)
{
	uint64_t a_ns = switches->threads.p[a].slice.start_ns;
	uint64_t b_ns = switches->threads.p[b].slice.start_ns;

	return a_ns < b_ns || (a_ns == b_ns && a < b);
}

/* Puts heap[i] where it belongs among those below it. */
static void sink(struct dnp_switches *switches, size_t i)
{
	uint32_t *heap = switches->heap.p, moved = heap[i];

	for (size_t child; (child = 2 * i + 1) < switches->heap.n; i = child) {
		if (child + 1 < switches->heap.n &&
			is_before(switches, heap[child + 1], heap[child]))
			child++;
		if (!is_before(switches, heap[child], moved))
			break;
		heap[i] = heap[child];
	}
	heap[i] = moved;
}

static int begin(struct dnp_switches *switches)
{
	switches->begun = true;
	for (uint32_t i = 0; i < switches->threads.n; i++) {
		struct dnp_switch_thread *thread = &switches->threads.p[i];

		thread->at = thread->wanted ? thread->first : DNP_NONE;
		if (thread->at != DNP_NONE)
			open_record(switches, thread);
		if (advance(switches, thread) && dnp_vec_push(&switches->heap, i))
			return -ENOMEM;
	}
	for (size_t i = switches->heap.n / 2; i-- > 0;)
		sink(switches, i);
	return 0;
}

int dnp_switches_next(struct dnp_switches *switches, uint32_t *thread, struct dnp_slice_at *slice)
{
	struct dnp_switch_thread *first;

	if (!switches->begun && begin(switches))
		return -ENOMEM;
	if (!switches->heap.n)
		return 0;
	*thread = switches->heap.p[0];
	first = &switches->threads.p[*thread];
	*slice = first->slice;
	if (!advance(switches, first))
		switches->heap.p[0] = switches->heap.p[--switches->heap.n];
	if (switches->heap.n)
		sink(switches, 0);
	if (switches->read_bytes > DNP_DROP_BYTES) {
		dnp_chunks_drop(switches->recording->chunks, switches->recording->n);
		switches->read_bytes = 0;
	}
	return 1;
}
