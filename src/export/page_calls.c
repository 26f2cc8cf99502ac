/* SPDX-License-Identifier: MIT */
#include "export/page_calls.h"

/* The same rows in wider bins, if there are too many. */
static int fewer_rows(struct dnp_rows *fewer, const struct dnp_rows *rows)
{
	int status = 0;

	dnp_rows_init(fewer, rows->detail, DNP_PAGE_ROWS);
	dnp_rows_widen(fewer, rows);
	for (size_t i = 0; i < rows->n && !status; i++)
		status = dnp_rows_add(
			fewer, dnp_rows_time_us(rows, &rows->slots[i]), rows->slots[i]);
	dnp_rows_finish(fewer);
	return status;
}

/* A page's columns have 32 bits: a row that counts more becomes several, added up there. */
static size_t pieces_of(const struct dnp_row *row)
{
	return (size_t)((row->weight - 1) / UINT32_MAX) + 1;
}

#define PIECES_MAX 65536u /* more than these come of a damaged file alone, and are left out */

static int split_rows(struct dnp_rows *rows)
{
	struct dnp_row *slots;
	size_t more = 0, n = 0;

	for (size_t i = 0; i < rows->n && more < PIECES_MAX; i++)
		more += pieces_of(&rows->slots[i]) - 1;
	if (!more)
		return 0;
	more = more < PIECES_MAX ? more : PIECES_MAX;
	slots = reallocarray(NULL, rows->n + more, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < rows->n; i++) {
		struct dnp_row row = rows->slots[i], piece = row;

		for (piece.weight = UINT32_MAX; row.weight > UINT32_MAX && more; more--) {
			slots[n++] = piece;
			row.weight -= UINT32_MAX;
		}
		slots[n++] = row;
	}
	free(rows->slots);
	rows->slots = slots;
	rows->n = n;
	return 0;
}

unsigned dnp_page_weight_shift(const struct dnp_rows *rows)
{
	uint64_t greatest = 0;
	unsigned shift = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (rows->slots[i].weight > greatest)
			greatest = rows->slots[i].weight;
	while (greatest >> shift > UINT32_MAX)
		shift++;
	return shift;
}

static int put_slice(
	struct dnp_page_calls *calls, const struct dnp_slice *slice, const struct dnp_slice *before)
{
	if (dnp_bytes_put(&calls->end, slice->end_ns - before->end_ns) ||
		dnp_bytes_put(&calls->length, slice->end_ns - slice->start_ns) ||
		dnp_bytes_put(&calls->node, dnp_zigzag((int64_t)slice->node - before->node)))
		return -ENOMEM;
	return dnp_bytes_put(&calls->calls, (uint64_t)slice->calls << 1 | slice->mixed);
}

static int pack_thread(struct dnp_page_calls *calls, size_t i)
{
	const struct dnp_slices *slices = &calls->lanes.slices;
	const struct dnp_slice_thread *thread = &slices->threads.p[i];
	struct dnp_slice none = {0};
	const struct dnp_slice *before = &none;
	size_t n = dnp_slices_count(slices, i);

	if (!n)
		return 0;
	if (dnp_vec_push(&calls->threads, thread->thread) ||
		dnp_vec_push(&calls->threads, (uint32_t)n))
		return -ENOMEM;
	for (size_t k = thread->first; k < thread->first + n; k++) {
		if (put_slice(calls, &slices->list.p[k], before))
			return -ENOMEM;
		before = &slices->list.p[k];
	}
	return 0;
}

/* The slices themselves are not needed afterwards. */
static int pack_slices(struct dnp_page_calls *calls)
{
	int status = 0;

	for (size_t i = 0; i < calls->lanes.slices.threads.n && !status; i++)
		status = pack_thread(calls, i);
	dnp_slices_done(&calls->lanes.slices);
	return status;
}

int dnp_page_calls_init(struct dnp_page_calls *calls, const struct dnp_profile *profile,
	uint32_t event, const struct dnp_input *input)
{
	const struct dnp_event *of = &profile->events.p[event];
	int status;

	*calls = (struct dnp_page_calls){0};
	calls->single = input && of->calls->depth == DNP_CALL_EVENTS;
	if (calls->single) {
		status = dnp_lanes_init(
			&calls->lanes, profile, event, input, DNP_SLICES_LIMIT, DNP_PAGE_ROWS);
	} else {
		status = fewer_rows(&calls->lanes.time, &of->rows);
		if (!status)
			status = fewer_rows(&calls->lanes.counts, &of->calls->counts);
	}
	calls->weight_shift = dnp_page_weight_shift(&calls->lanes.time);
	if (!status)
		status = split_rows(&calls->lanes.counts);
	if (!status)
		status = split_rows(&calls->lanes.durations);
	return status ? status : pack_slices(calls);
}

void dnp_page_calls_done(struct dnp_page_calls *calls)
{
	dnp_lanes_done(&calls->lanes);
	dnp_vec_done(&calls->threads);
	dnp_vec_done(&calls->end);
	dnp_vec_done(&calls->length);
	dnp_vec_done(&calls->node);
	dnp_vec_done(&calls->calls);
}

uint64_t dnp_page_calls_step_ns(const struct dnp_page_calls *calls)
{
	unsigned time = dnp_rows_known_shift(&calls->lanes.time);
	unsigned counts = dnp_rows_known_shift(&calls->lanes.counts);

	return UINT64_C(1000) << (time > counts ? time : counts);
}

uint64_t dnp_page_calls_bin_ns(const struct dnp_page_calls *calls)
{
	return calls->single ? UINT64_C(1000) << calls->lanes.time.shift : 0;
}
