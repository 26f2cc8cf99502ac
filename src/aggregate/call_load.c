/* SPDX-License-Identifier: MIT */
#include "aggregate/call_load.h"

#include "aggregate/load.h"
#include "base/hash.h"
#include "format/varint.h"

#define NOT_KNOWN 0u /* in place of a method */

int dnp_raw_calls_need(struct dnp_load *load, struct dnp_raw_event *event)
{
	if (event->calls)
		return 0;
	event->calls = calloc(1, sizeof(*event->calls));
	if (!event->calls)
		return -ENOMEM;
	dnp_rows_init(&event->calls->counts, load->profile->detail, DNP_ROWS_LIMIT);
	return 0;
}

void dnp_raw_calls_free(struct dnp_raw_calls *calls)
{
	if (!calls)
		return;
	for (size_t i = 0; i < calls->trees.n; i++)
		dnp_ids_done(&calls->trees.p[i]);
	dnp_vec_done(&calls->trees);
	dnp_ids_done(&calls->tree_ids);
	dnp_vec_done(&calls->nodes);
	dnp_rows_done(&calls->counts);
	free(calls->slots);
	free(calls);
}

static size_t slot_of(const struct dnp_raw_calls *calls, uint32_t parent, uint64_t method)
{
	size_t mask = calls->capacity - 1;
	size_t i = dnp_hash((uint64_t)parent << 32 ^ method) & mask;

	for (; calls->slots[i] != DNP_NONE; i = (i + 1) & mask) {
		const struct dnp_raw_call_node *node = &calls->nodes.p[calls->slots[i]];

		if (node->parent == parent && node->method == method)
			break;
	}
	return i;
}

static int grow(struct dnp_raw_calls *calls)
{
	size_t capacity = calls->capacity ? calls->capacity * 2 : 1024;
	uint32_t *slots = reallocarray(NULL, capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, capacity * sizeof(*slots));
	free(calls->slots);
	calls->slots = slots;
	calls->capacity = capacity;
	for (uint32_t i = 0; i < calls->nodes.n; i++)
		slots[slot_of(calls, calls->nodes.p[i].parent, calls->nodes.p[i].method)] = i;
	return 0;
}

int dnp_raw_calls_node(struct dnp_load *load, struct dnp_raw_calls *calls, uint32_t parent,
	uint64_t method, uint32_t *node)
{
	uint32_t below = parent == DNP_NONE ? DNP_ROOT : calls->nodes.p[parent].place;
	struct dnp_raw_call_node made = {.parent = parent, .method = method};
	size_t slot;

	if (calls->nodes.n >= calls->capacity / 4 * 3 && grow(calls))
		return -ENOMEM;
	slot = slot_of(calls, parent, method);
	*node = calls->slots[slot];
	if (*node != DNP_NONE)
		return 0;
	made.place = (uint32_t)load->nodes.n;
	if (load->nodes.n >= DNP_NONE - 1 ||
		dnp_vec_push(&load->nodes, (struct dnp_raw_node){below, DNP_LOST}) ||
		dnp_vec_push(&calls->nodes, made))
		return -ENOMEM;
	*node = calls->slots[slot] = (uint32_t)(calls->nodes.n - 1);
	return 0;
}

/* What a thread's own numbers of nodes stand for. NULL: no memory. */
static struct dnp_ids *tree_of(struct dnp_raw_calls *calls, uint32_t thread)
{
	uint32_t place = dnp_ids_get(&calls->tree_ids, thread);

	if (place == DNP_NONE) {
		place = (uint32_t)calls->trees.n;
		if (dnp_vec_push(&calls->trees, (struct dnp_ids){0}) ||
			dnp_ids_set(&calls->tree_ids, thread, place))
			return NULL;
	}
	return &calls->trees.p[place];
}

/* Takes the next number off the bytes. */
static bool next(struct dnp_str *bytes, uint64_t *value)
{
	const uint8_t *in = (const uint8_t *)bytes->p;
	const uint8_t *behind = dnp_varint_get(in, in + bytes->n, value);

	if (!behind)
		return false;
	bytes->n -= (size_t)(behind - in);
	bytes->p = (const char *)behind;
	return true;
}

static int add_node(struct dnp_load *load, struct dnp_raw_calls *calls, struct dnp_ids *tree,
	const uint64_t numbers[3])
{
	uint64_t number = numbers[0], below = numbers[1], method = numbers[2];
	uint32_t parent = number == below ? DNP_NONE : dnp_ids_get(tree, number - below), node;

	if (dnp_ids_get(tree, number) != DNP_NONE)
		return 0;
	/* Somebody called it, but the record that tells who is missing. */
	if (number != below && parent == DNP_NONE &&
		dnp_raw_calls_node(load, calls, DNP_NONE, NOT_KNOWN, &parent))
		return -ENOMEM;
	if (dnp_raw_calls_node(load, calls, parent, method, &node))
		return -ENOMEM;
	return dnp_ids_set(tree, number, node);
}

int dnp_raw_calls_nodes(struct dnp_load *load, struct dnp_raw_event *event, uint32_t thread,
	const struct dnp_rec_call_nodes *rec)
{
	struct dnp_ids *tree = tree_of(event->calls, thread);
	struct dnp_str bytes = rec->nodes;
	uint64_t numbers[3] = {rec->first};

	if (!tree)
		return -ENOMEM;
	for (; next(&bytes, &numbers[1]) && next(&bytes, &numbers[2]); numbers[0]++)
		if (add_node(load, event->calls, tree, numbers))
			return -ENOMEM;
	return 0;
}

/* What a node counted, as it stands in a record. */
struct count {
	uint64_t below, calls, total_ns, self_ns, min_ns, max_ns;
};

static bool next_count(struct dnp_str *bytes, struct count *count)
{
	return next(bytes, &count->below) && next(bytes, &count->calls) &&
		next(bytes, &count->total_ns) && next(bytes, &count->self_ns) &&
		next(bytes, &count->min_ns) && next(bytes, &count->max_ns);
}

static int add_count(struct dnp_raw_event *event, struct dnp_row row, uint64_t time_us,
	const struct count *count)
{
	struct dnp_raw_calls *calls = event->calls;

	if (row.node != DNP_NONE) {
		struct dnp_raw_call_node *node = &calls->nodes.p[row.node];
		struct dnp_call_span span = {count->min_ns, count->max_ns};

		node->span = dnp_call_span_join(node->span, span);
		row.node = node->place;
	} else {
		row.node = DNP_LOST;
	}
	if (count->total_ns || count->max_ns)
		calls->depth = calls->depth > DNP_CALL_TIME ? calls->depth : DNP_CALL_TIME;
	else if (count->self_ns)
		calls->sampled = true;
	row.weight = count->self_ns;
	if (dnp_rows_add(&event->rows, time_us, row))
		return -ENOMEM;
	row.weight = count->calls;
	return dnp_rows_add(&calls->counts, time_us, row);
}

int dnp_raw_calls_counts(struct dnp_load *load, struct dnp_raw_event *event, uint32_t thread,
	const struct dnp_rec_call_counts *rec)
{
	struct dnp_ids *tree = tree_of(event->calls, thread);
	uint64_t time_us = dnp_load_since_start(load, rec->time_ns) / 1000, number = 0;
	struct dnp_str bytes = rec->counts;
	struct count count;

	if (!tree)
		return -ENOMEM;
	event->calls->summed = true;
	while (next_count(&bytes, &count)) {
		struct dnp_row row = {.thread = thread};

		number += count.below;
		row.node = dnp_ids_get(tree, number);
		if (add_count(event, row, time_us, &count))
			return -ENOMEM;
	}
	return 0;
}

void dnp_raw_calls_resolve(struct dnp_load *load, struct dnp_raw_calls *calls)
{
	for (size_t i = 0; i < calls->nodes.n; i++) {
		const struct dnp_raw_call_node *node = &calls->nodes.p[i];
		uint32_t traced = dnp_ids_get(&load->traced_ids, node->method);
		uint32_t frame = DNP_NONE;

		if (traced != DNP_NONE)
			frame = dnp_ids_get(&load->frame_ids, load->traced.p[traced].frame);
		load->nodes.p[node->place].frame = frame == DNP_NONE ? DNP_LOST : frame;
	}
}
