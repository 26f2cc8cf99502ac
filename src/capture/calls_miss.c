/* SPDX-License-Identifier: MIT */
/*
 * What hooks do when the usual path ends: another child than the last one, frames that exceptions
 * left behind, the first call on a thread, no room.
 *
 * Compiled to general registers only, since those for vectors hold arguments of the method that is
 * entered. What is called outside of this file goes through stubs that keep them (elt.S).
 *
 * Children of a node that has several: the first seven are in its block. When that is full it names
 * a row of further blocks, where a method has its place by a hash, or in the next block that is not
 * full: of what a program calls mostly, no more than two cache lines are looked at. A row is three
 * quarters full at most, or becomes twice as long.
 */
#include "capture/calls.h"
#include "format/call_codec.h"
#include "os/ticks.h"

#define BLOCK_MASK (DNP_CALLS_ONE - 1)
#define FIRST_ROW  4u /* blocks */

struct dnp_calls *dnp_calls_of_thread_kept(void);
void dnp_calls_enlarge_kept(struct dnp_calls *calls);
bool dnp_calls_more_frames_kept(struct dnp_calls *calls);
bool dnp_calls_more_nodes_kept(struct dnp_calls *calls);
bool dnp_calls_more_blocks_kept(struct dnp_calls *calls, uint32_t n);
void dnp_call_events_put_kept(struct dnp_call_ring *ring, uint32_t method, enum dnp_call_kind kind);

/* Nobody else writes these, so the whole need not be one operation. */
static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void set(_Atomic uint64_t *counter, uint64_t value)
{
	atomic_store_explicit(counter, value, memory_order_relaxed);
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	set(counter, get(counter) + n);
}

/* Pairs with the acquires in calls_tell.c: what was written before is seen by who sees this. */
static void release(_Atomic uint64_t *value, uint64_t to)
{
	atomic_store_explicit(value, to, memory_order_release);
}

/* ---- Children */

/* The one that the hook looks into first (elt.S). */
static struct dnp_call_block *home_of(
	const struct dnp_calls *calls, const struct dnp_call_block *head, uint32_t method)
{
	uint32_t hash = method * UINT32_C(0x9e3779b1);

	return &calls->blocks[head->first + (uint32_t)((uint64_t)hash * head->n >> 32)];
}

static struct dnp_call_block *next_in_row(const struct dnp_calls *calls,
	const struct dnp_call_block *head, struct dnp_call_block *block)
{
	struct dnp_call_block *row = &calls->blocks[head->first];

	return ++block < row + head->n ? block : row;
}

/* A child in a block; 0: it is not there. */
static uint32_t node_in(const struct dnp_call_block *block, uint32_t method)
{
	for (uint32_t i = 0; i < DNP_CALLS_PLACES; i++)
		if (block->method[i] == method)
			return block->node[i];
	return 0;
}

static bool is_full(const struct dnp_call_block *block)
{
	return block->method[DNP_CALLS_PLACES - 1];
}

static void put_in(struct dnp_call_block *block, uint32_t method, uint32_t node)
{
	uint32_t i = 0;

	while (block->method[i])
		i++;
	block->method[i] = method;
	block->node[i] = node;
}

/* Rows have free places, so there is an end. */
static uint32_t node_in_row(
	const struct dnp_calls *calls, const struct dnp_call_block *head, uint32_t method)
{
	struct dnp_call_block *block = home_of(calls, head, method);
	uint32_t node = node_in(block, method);

	while (!node && is_full(block)) {
		block = next_in_row(calls, head, block);
		node = node_in(block, method);
	}
	return node;
}

static void put_in_row(
	struct dnp_calls *calls, const struct dnp_call_block *head, uint32_t method, uint32_t node)
{
	struct dnp_call_block *block = home_of(calls, head, method);

	while (is_full(block))
		block = next_in_row(calls, head, block);
	put_in(block, method, node);
	calls->blocks[head->first].n++;
}

/* 2^i blocks in a row, empty. 0: no memory. */
static uint32_t take_blocks(struct dnp_calls *calls, uint32_t i)
{
	uint32_t first = calls->unused_blocks[i], n = 1u << i;

	if (first) {
		calls->unused_blocks[i] = calls->blocks[first].first;
		calls->blocks[first].first = 0;
		return first;
	}
	first = calls->n_blocks;
	if (n > calls->ready_blocks - first && !dnp_calls_more_blocks_kept(calls, n))
		return 0;
	calls->n_blocks += n;
	return first;
}

static void give_blocks_back(struct dnp_calls *calls, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++)
		calls->blocks[i] = (struct dnp_call_block){0};
	n = (uint32_t)__builtin_ctz(n);
	calls->blocks[first].first = calls->unused_blocks[n];
	calls->unused_blocks[n] = first;
}

/* Gives the children that are not in the block itself a row twice as long as the one they have. */
static bool lengthen(struct dnp_calls *calls, struct dnp_call_block *head)
{
	struct dnp_call_block old = *head;
	uint32_t n = old.n ? 2 * old.n : FIRST_ROW;
	uint32_t first = take_blocks(calls, (uint32_t)__builtin_ctz(n));

	if (!first)
		return false;
	head->first = first;
	head->n = n;
	for (uint32_t i = 0; i < old.n; i++) {
		const struct dnp_call_block *block = &calls->blocks[old.first + i];

		for (uint32_t k = 0; k < DNP_CALLS_PLACES && block->method[k]; k++)
			put_in_row(calls, head, block->method[k], block->node[k]);
	}
	if (old.n)
		give_blocks_back(calls, old.first, old.n);
	return true;
}

static uint32_t block_of(const struct dnp_call_node *node)
{
	return get(&node->word) & BLOCK_MASK;
}

/* A block for a node that has had one child so far. */
static bool give_block(struct dnp_calls *calls, struct dnp_call_node *node)
{
	uint32_t block = take_blocks(calls, 0);

	if (!block)
		return false;
	put_in(&calls->blocks[block], node->child_method, node->child);
	count(&node->word, block);
	return true;
}

/* A place for one more child. */
static bool has_room(struct dnp_calls *calls, struct dnp_call_node *node)
{
	struct dnp_call_block *head;

	if (!node->child)
		return true;
	if (!block_of(node))
		return give_block(calls, node);
	head = &calls->blocks[block_of(node)];
	if (!is_full(head))
		return true;
	if (head->n && calls->blocks[head->first].n < head->n * DNP_CALLS_PLACES / 4 * 3)
		return true;
	return lengthen(calls, head);
}

static struct dnp_call_timed_node *timed_node(struct dnp_call_node *node)
{
	return (struct dnp_call_timed_node *)(void *)node;
}

/* The next node. 0: no memory. */
static uint32_t new_node(struct dnp_calls *calls, uint32_t parent, uint32_t method)
{
	uint32_t index = atomic_load_explicit(&calls->n_nodes, memory_order_relaxed);

	if (index == calls->ready_nodes && !dnp_calls_more_nodes_kept(calls))
		return 0;
	if (index == DNP_CALLS_LARGE)
		dnp_calls_enlarge_kept(calls);
	calls->origins[index] = (struct dnp_call_origin){.method = method, .parent = parent};
	if (calls->node_bytes > sizeof(struct dnp_call_node))
		set(&timed_node(dnp_call_node_at(calls, index))->shortest, UINT64_MAX);
	/* Pairs with the recorder, which reads nodes below it. */
	atomic_store_explicit(&calls->n_nodes, index + 1, memory_order_release);
	return index;
}

/* 0: it is not among them. */
static uint32_t find(
	const struct dnp_calls *calls, const struct dnp_call_node *parent, uint32_t method)
{
	const struct dnp_call_block *head = &calls->blocks[block_of(parent)];
	uint32_t node;

	if (block_of(parent) == 0)
		return 0;
	node = node_in(head, method);
	return node || !head->n ? node : node_in_row(calls, head, method);
}

/* A further child. 0: no memory. */
static uint32_t add_child(struct dnp_calls *calls, struct dnp_call_node *parent, uint32_t method)
{
	struct dnp_call_block *head;
	uint32_t index = 0;

	if (has_room(calls, parent))
		index = new_node(calls, dnp_call_index_of(calls, parent), method);
	if (!index || !parent->child)
		return index;
	head = &calls->blocks[block_of(parent)];
	if (is_full(head))
		put_in_row(calls, head, method, index);
	else
		put_in(head, method, index);
	return index;
}

static struct dnp_call_node *child_of(
	struct dnp_calls *calls, struct dnp_call_node *parent, uint32_t method)
{
	uint32_t index;

	if (parent->child_method == method)
		return dnp_call_node_at(calls, parent->child);
	index = find(calls, parent, method);
	if (!index)
		index = add_child(calls, parent, method);
	if (!index)
		return NULL;
	parent->child = index;
	parent->child_method = method;
	return dnp_call_node_at(calls, index);
}

/* ---- Calls */

static struct dnp_call_timed_frame *timed(struct dnp_call_frame *frame)
{
	return (struct dnp_call_timed_frame *)(void *)frame;
}

static bool is_timed(const struct dnp_calls *calls)
{
	return calls->frame_bytes > sizeof(struct dnp_call_frame);
}

static struct dnp_call_node *load_node(const struct dnp_call_frame *frame)
{
	return atomic_load_explicit(&frame->node, memory_order_relaxed);
}

static bool has_tree(const struct dnp_calls *calls)
{
	return calls->node_bytes;
}

static const struct dnp_call_method *method_of(
	const struct dnp_calls *calls, const struct dnp_call_frame *frame)
{
	if (!has_tree(calls))
		return frame->method;
	return dnp_call_method_of(calls, dnp_call_index_of(calls, load_node(frame)));
}

static struct dnp_call_frame *top_of(const struct dnp_calls *calls)
{
	return atomic_load_explicit(&calls->top, memory_order_relaxed);
}

static void add_time(
	struct dnp_call_timed_frame *frame, struct dnp_call_timed_frame *below, uint64_t now)
{
	struct dnp_call_timed_node *node = timed_node(load_node(&frame->frame));
	uint64_t took = now - get(&frame->begin);

	release(&node->total, get(&node->total) + took);
	release(&node->self, get(&node->self) + took - get(&frame->children));
	if (took < get(&node->shortest))
		set(&node->shortest, took);
	if (took > get(&node->longest))
		set(&node->longest, took);
	release(&below->children, get(&below->children) + took);
}

static _Atomic uint64_t *ends(struct dnp_calls *calls, enum dnp_call_kind kind)
{
	switch (kind) {
	case DNP_CALL_LEAVE: return &calls->leaves;
	case DNP_CALL_TAILCALL: return &calls->tailcalls;
	default: return &calls->unwinds;
	}
}

static void pop(struct dnp_calls *calls, uint64_t now, enum dnp_call_kind kind)
{
	struct dnp_call_frame *top = top_of(calls);
	struct dnp_call_frame *below = dnp_call_below(calls, top);

	count(ends(calls, kind), 1);
	/* First: who sees its time in its node sees that it is open no more. */
	atomic_store_explicit(&calls->top, below, memory_order_relaxed);
	if (is_timed(calls))
		add_time(timed(top), timed(below), now);
	if (calls->ring)
		dnp_call_events_put_kept(calls->ring, top->method->number, kind);
}

/* Calls made at stack pointers below that one have ended. */
static void drop(struct dnp_calls *calls, uintptr_t sp, uint64_t now)
{
	while (top_of(calls)->sp < sp)
		pop(calls, now, DNP_CALL_UNWOUND);
}

static uint64_t now_of(const struct dnp_calls *calls)
{
	return is_timed(calls) ? dnp_ticks() : 0;
}

static bool has_room_for_frame(struct dnp_calls *calls)
{
	return top_of(calls) < calls->end || dnp_calls_more_frames_kept(calls);
}

static struct dnp_call_frame *above(const struct dnp_calls *calls, struct dnp_call_frame *top)
{
	return (struct dnp_call_frame *)(void *)((char *)top + calls->frame_bytes);
}

/* The event, and what tells its end from others'. */
static void push_event(struct dnp_calls *calls, const struct dnp_call_method *method, uintptr_t sp)
{
	struct dnp_call_frame *frame = above(calls, top_of(calls));

	frame->sp = sp;
	frame->method = method;
	atomic_store_explicit(&calls->top, frame, memory_order_release);
	if (calls->ring)
		dnp_call_events_put_kept(calls->ring, method->number, DNP_CALL_ENTER);
}

static void push_node(struct dnp_calls *calls, const struct dnp_call_method *method, uintptr_t sp)
{
	struct dnp_call_frame *top = top_of(calls), *frame;
	struct dnp_call_node *node = child_of(calls, load_node(top), (uint32_t)(uintptr_t)method);

	if (!node) {
		count(&calls->lost, 1);
		return;
	}
	count(&node->word, DNP_CALLS_ONE);
	frame = above(calls, top);
	frame->sp = sp;
	atomic_store_explicit(&frame->node, node, memory_order_relaxed);
	if (is_timed(calls)) {
		release(&timed(frame)->begin, dnp_ticks());
		release(&timed(frame)->children, 0);
	}
	atomic_store_explicit(&calls->top, frame, memory_order_release);
}

/* Nobody could tell whose caller one is that is not on the stack, nor when it ends: it is lost. */
static void push(struct dnp_calls *calls, const struct dnp_call_method *method, uintptr_t sp)
{
	if (!has_room_for_frame(calls))
		count(&calls->lost, 1);
	else if (has_tree(calls))
		push_node(calls, method, sp);
	else
		push_event(calls, method, sp);
}

/* NULL: this call is not recorded. */
static struct dnp_calls *recording(void)
{
	struct dnp_calls *calls = dnp_calls_own;

	if (!calls)
		calls = dnp_calls_of_thread_kept();
	return calls;
}

static bool is_over(const struct dnp_calls *calls)
{
	return !atomic_load_explicit(&calls->limit, memory_order_relaxed);
}

void dnp_calls_enter_miss(const struct dnp_call_method *method, uintptr_t sp)
{
	struct dnp_calls *calls = recording();

	if (!calls)
		return;
	dnp_calls_tell_held(calls);
	drop(calls, sp + 1, now_of(calls));
	if (!is_over(calls))
		push(calls, method, sp);
}

/* A call whose caller's stack pointer is sp ends, by a return or a tail call. */
static void leave(uintptr_t sp, uint64_t now, enum dnp_call_kind kind)
{
	struct dnp_calls *calls = dnp_calls_own;

	drop(calls, sp, now);
	/* Else it began when calls were not recorded, or is lost. */
	if (top_of(calls)->sp == sp)
		pop(calls, now, kind);
}

void dnp_calls_leave_miss(uintptr_t sp)
{
	leave(sp, 0, DNP_CALL_LEAVE);
}

void dnp_calls_tailcall_miss(uintptr_t sp)
{
	leave(sp, 0, DNP_CALL_TAILCALL);
}

void dnp_calls_leave_timed_miss(uintptr_t sp, uint64_t now)
{
	leave(sp, now, DNP_CALL_LEAVE);
}

void dnp_calls_tailcall_timed_miss(uintptr_t sp, uint64_t now)
{
	leave(sp, now, DNP_CALL_TAILCALL);
}

/* Stack pointers are even; that of a call to native code is made up, see native_enter. */
static bool is_native(const struct dnp_call_frame *frame)
{
	return frame->sp % 8 && frame->sp != UINTPTR_MAX;
}

static struct dnp_call_frame *innermost(const struct dnp_calls *calls)
{
	struct dnp_call_frame *frame = top_of(calls);

	while (is_native(frame))
		frame = dnp_call_below(calls, frame);
	return frame;
}

uintptr_t dnp_calls_innermost(const struct dnp_calls *calls)
{
	return innermost(calls)->sp;
}

void dnp_calls_unwound(struct dnp_calls *calls, uintptr_t function, uintptr_t within)
{
	/* Nobody tells of native calls that an exception ends. */
	struct dnp_call_frame *frame = innermost(calls);

	while (frame != calls->base && method_of(calls, frame)->function != function) {
		frame = dnp_call_below(calls, frame);
		if (frame->sp >= within)
			return;
	}
	if (frame == calls->base)
		return;
	drop(calls, frame->sp, now_of(calls));
	pop(calls, now_of(calls), DNP_CALL_UNWOUND);
}

/* Hooks come here with each call from now on: the limit is where they do. */
void dnp_calls_hold(struct dnp_calls *calls, struct dnp_call_unwinding frame)
{
	struct dnp_call_frame *end = calls->end;

	calls->held = frame;
	atomic_compare_exchange_strong(&calls->limit, &end, calls->base);
}

void dnp_calls_forget_held(struct dnp_calls *calls)
{
	struct dnp_call_frame *base = calls->base;

	calls->held.function = 0;
	/* Else recording is over. */
	atomic_compare_exchange_strong(&calls->limit, &base, calls->end);
}

void dnp_calls_tell_held(struct dnp_calls *calls)
{
	struct dnp_call_unwinding held = calls->held;

	if (!held.function)
		return;
	dnp_calls_forget_held(calls);
	if (held.sp == dnp_calls_innermost(calls))
		dnp_calls_unwound(calls, held.function, 0);
}

void dnp_calls_back(struct dnp_calls *calls, uintptr_t sp)
{
	drop(calls, sp, now_of(calls));
}

/*
 * It is called from the frame of the innermost call, so all that it calls itself is further down
 * than the stack pointer of that one's caller less one. Of calls to native code one within the
 * other all have that: less by one more for each it would soon look like a managed one's.
 */
void dnp_calls_native_enter(const struct dnp_call_method *method)
{
	struct dnp_calls *calls = recording();
	const struct dnp_call_frame *top;

	if (!calls || is_over(calls))
		return;
	top = top_of(calls);
	push(calls, method, is_native(top) ? top->sp : top->sp - 1);
}

void dnp_calls_native_leave(const struct dnp_call_method *method)
{
	struct dnp_calls *calls = dnp_calls_own;
	struct dnp_call_frame *frame;
	uint64_t now;

	if (!calls)
		return;
	now = now_of(calls);
	frame = top_of(calls);
	while (frame != calls->base && !(is_native(frame) && method_of(calls, frame) == method))
		frame = dnp_call_below(calls, frame);
	if (frame == calls->base)
		return;
	while (top_of(calls) != frame)
		pop(calls, now, DNP_CALL_UNWOUND);
	pop(calls, now, DNP_CALL_LEAVE);
}
