/* SPDX-License-Identifier: MIT */
#include "capture/calls_tell.h"

#include "capture/call_times.h"
#include "format/varint.h"
#include "os/clock.h"

#define FIELDS_MAX  6 /* of a node */
#define PIECE_BYTES 16384

/* A record's list of nodes as it grows. */
struct piece {
	const struct dnp_calls_teller *teller;
	struct dnp_calls *calls;
	uint64_t time_ns;
	uint32_t first, last; /* node */
	uint8_t *at;
	uint8_t bytes[PIECE_BYTES];
};

static struct piece piece; /* the recorder's, too large for its stack */

static void begin(const struct dnp_calls_teller *teller, struct dnp_calls *calls)
{
	piece.teller = teller;
	piece.calls = calls;
	piece.time_ns = dnp_now_ns();
	piece.at = piece.bytes;
	piece.last = 0;
}

static struct dnp_str written(void)
{
	return (struct dnp_str){(const char *)piece.bytes, (size_t)(piece.at - piece.bytes)};
}

static bool is_full(void)
{
	return written().n > PIECE_BYTES - FIELDS_MAX * DNP_VARINT_MAX;
}

static void put(uint64_t value)
{
	piece.at = dnp_varint_put(piece.at, value);
}

static void end_nodes(void)
{
	if (written().n)
		dnp_write_call_nodes(piece.teller->writer,
			&(struct dnp_rec_call_nodes){
				.event = piece.teller->event,
				.thread = piece.calls->thread,
				.first = piece.first,
				.nodes = written(),
			});
	piece.at = piece.bytes;
}

static void tell_nodes(const struct dnp_calls_teller *teller, struct dnp_calls *calls)
{
	/* Pairs with new_node: what is below is whole. */
	uint32_t n = atomic_load_explicit(&calls->n_nodes, memory_order_acquire);
	uint32_t i = calls->told_nodes ? calls->told_nodes : 1;

	begin(teller, calls);
	for (; i < n; i++) {
		if (is_full())
			end_nodes();
		if (!written().n)
			piece.first = i;
		put(i - calls->origins[i].parent);
		put(dnp_call_method_of(calls, i)->number);
	}
	end_nodes();
	calls->told_nodes = n;
}

static void end_counts(void)
{
	if (written().n)
		dnp_write_call_counts(piece.teller->writer,
			&(struct dnp_rec_call_counts){
				.event = piece.teller->event,
				.thread = piece.calls->thread,
				.time_ns = piece.time_ns,
				.counts = written(),
			});
	piece.at = piece.bytes;
	piece.last = 0;
}

static uint64_t get(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

/* How far something has grown beyond what was told of it, which never shrinks. */
static uint64_t advance(uint64_t *told, uint64_t now)
{
	uint64_t grown = now > *told ? now - *told : 0;

	*told += grown;
	return grown;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* In a node as it is now beyond those that were told. */
static uint64_t calls_since(struct dnp_call_told *told, const struct dnp_call_node *node)
{
	uint64_t since = (dnp_call_count_of(node) - told->calls) & DNP_CALLS_COUNTED;

	told->calls += since;
	return since;
}

struct news {
	uint64_t calls, total_ns, self_ns, shortest_ns, longest_ns;
};

static void read_times(const struct dnp_call_node *node, struct dnp_call_told *told,
	const struct dnp_ticks_clock *ticks, struct news *news)
{
	const struct dnp_call_timed_node *timed = (const struct dnp_call_timed_node *)node;
	uint64_t longest = get(&timed->longest);

	news->total_ns = dnp_ticks_span_ns(
		ticks, advance(&told->total, larger(get(&timed->total), told->noted_total)));
	news->self_ns = dnp_ticks_span_ns(
		ticks, advance(&told->self, larger(get(&timed->self), told->noted_self)));
	if (!longest) /* none has ended yet */
		return;
	news->shortest_ns = dnp_ticks_span_ns(ticks, get(&timed->shortest));
	news->longest_ns = dnp_ticks_span_ns(ticks, longest);
}

static void tell_count(uint32_t index)
{
	const struct dnp_call_node *node = dnp_call_node_at(piece.calls, index);
	struct dnp_call_told *told = dnp_call_told_of(piece.calls, index);
	struct news news = {.calls = calls_since(told, node)};

	piece.calls->told_calls += news.calls;
	if (piece.teller->ticks) {
		read_times(node, told, piece.teller->ticks, &news);
	} else if (piece.calls->pending) {
		news.self_ns = told->pending;
		told->pending = 0;
	}
	if (!news.calls && !news.total_ns && !news.self_ns)
		return;
	if (is_full())
		end_counts();
	put(index - piece.last);
	piece.last = index;
	put(news.calls);
	put(news.total_ns);
	put(news.self_ns);
	put(news.shortest_ns);
	put(news.longest_ns);
}

static struct dnp_call_frame *top_of(const struct dnp_calls *calls)
{
	return atomic_load_explicit(&calls->top, memory_order_acquire);
}

/* One that others rely on: what was written before it is seen as well. */
static uint64_t acquire(const _Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_acquire);
}

/*
 * The call of a frame as it was at `now`, when `inner` of its time was in a call of its own that
 * was open. Returns how long it took.
 *
 * Its thread goes on meanwhile. A call is taken off the stack before its time is added to what the
 * node has (calls_miss.c, elt.S): if it is there still, the sums read before are without it. If the
 * frame is another's by then, that one has begun after `now`, and took nothing. Of the time of its
 * callees some may be taken off twice. So what is noted is not too much, but for a call that has
 * read the clock for its end at `now` and is not off the stack: by what is in between, which makes
 * the next ones smaller (advance).
 */
static uint64_t note(
	const struct dnp_calls *calls, struct dnp_call_frame *frame, uint64_t now, uint64_t inner)
{
	const struct dnp_call_timed_frame *timed = (const struct dnp_call_timed_frame *)frame;
	const struct dnp_call_node *node = atomic_load_explicit(&frame->node, memory_order_relaxed);
	struct dnp_call_told *told = dnp_call_told_of(calls, dnp_call_index_of(calls, node));
	const struct dnp_call_timed_node *sums = (const struct dnp_call_timed_node *)node;
	uint64_t total = acquire(&sums->total), self = acquire(&sums->self);
	bool open = top_of(calls) >= frame;
	uint64_t children = acquire(&timed->children) + inner, begin_ticks = acquire(&timed->begin);
	uint64_t took = now > begin_ticks ? now - begin_ticks : 0;

	if (open) {
		told->noted_total = total + took;
		told->noted_self = self + (took > children ? took - children : 0);
	}
	return took;
}

/* The time that calls which are open have taken so far. */
static void note_open(const struct dnp_calls *calls)
{
	uint64_t end = atomic_load(&calls->end_ticks), now = end ? end : dnp_ticks(), inner = 0;
	struct dnp_call_frame *frame = top_of(calls);

	for (; frame > calls->base; frame = dnp_call_below(calls, frame))
		inner = note(calls, frame, now, inner);
}

void dnp_calls_tell(const struct dnp_calls_teller *teller, struct dnp_calls *calls, bool all)
{
	uint64_t moves = dnp_calls_moves(calls);

	tell_nodes(teller, calls);
	if (moves == calls->told_moves && !calls->pending && !(all && teller->ticks))
		return;
	begin(teller, calls);
	if (teller->ticks)
		note_open(calls);
	for (uint32_t i = 1; i < calls->told_nodes; i++)
		tell_count(i);
	end_counts();
	calls->told_moves = moves;
	calls->pending = false;
}
