/* SPDX-License-Identifier: MIT */
#include "capture/calls.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "capture/call_events.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/thread.h"

#define METHODS      (1u << 20)
#define STACK_FRAMES (1u << 20) /* more than fit on the largest usual stack */
#define NODES        (1u << 24)
#define LEAST        (1u << 12) /* of both, where address space is short */
#define FIRST        (1u << 12) /* of both that are memory from the start; as many bytes of blocks */

/* What elt.S knows. */
_Static_assert(offsetof(struct dnp_calls, top) == 8, "CALLS_TOP");
_Static_assert(offsetof(struct dnp_calls, limit) == 16, "CALLS_LIMIT");
_Static_assert(offsetof(struct dnp_calls, leaves) == 24, "CALLS_LEAVES");
_Static_assert(offsetof(struct dnp_calls, tailcalls) == 32, "CALLS_TAILCALLS");
_Static_assert(offsetof(struct dnp_calls, nodes) == 40, "CALLS_NODES");
_Static_assert(offsetof(struct dnp_calls, blocks) == 48, "CALLS_BLOCKS");
_Static_assert(offsetof(struct dnp_call_frame, sp) == 0, "FRAME_SP");
_Static_assert(offsetof(struct dnp_call_frame, node) == 8, "FRAME_NODE");
_Static_assert(offsetof(struct dnp_call_timed_frame, begin) == 16, "FRAME_BEGIN");
_Static_assert(offsetof(struct dnp_call_timed_frame, children) == 24, "FRAME_CHILDREN");
_Static_assert(sizeof(struct dnp_call_frame) == 16, "FRAME_BYTES");
_Static_assert(sizeof(struct dnp_call_timed_frame) == 32, "TIMED_FRAME_BYTES");
_Static_assert(offsetof(struct dnp_call_node, word) == 0, "NODE_WORD");
_Static_assert(offsetof(struct dnp_call_node, child) == 8, "NODE_CHILD");
_Static_assert(offsetof(struct dnp_call_node, child_method) == 12, "NODE_CHILD_METHOD");
_Static_assert(sizeof(struct dnp_call_node) == 16, "NODE_AT");
_Static_assert(DNP_CALLS_ONE == 1 << 24, "ONE_CALL, BLOCK_MASK");
_Static_assert(offsetof(struct dnp_call_block, first) == 28, "BLOCK_FIRST");
_Static_assert(offsetof(struct dnp_call_block, node) == 32, "BLOCK_NODE");
_Static_assert(offsetof(struct dnp_call_block, n) == 60, "BLOCK_N");
_Static_assert(sizeof(struct dnp_call_block) == 64, "BLOCK_SHIFT");
_Static_assert(DNP_CALLS_PLACES == 7, "PLACES_MASK");
_Static_assert(offsetof(struct dnp_call_timed_node, total) == 16, "NODE_TOTAL");
_Static_assert(offsetof(struct dnp_call_timed_node, self) == 24, "NODE_SELF");
_Static_assert(offsetof(struct dnp_call_timed_node, shortest) == 32, "NODE_SHORTEST");
_Static_assert(offsetof(struct dnp_call_timed_node, longest) == 40, "NODE_LONGEST");
_Static_assert(sizeof(struct dnp_call_timed_node) == 48, "TIMED_NODE_AT");

_Atomic uint32_t dnp_calls_on;
struct dnp_call_method *dnp_call_methods;

static uint32_t frame_bytes, node_bytes, told_bytes;
static bool events;
static uint32_t (*index_of_thread)(int tid);

/*
 * Held while a thread's state is made, enlarged or given away, and while all are switched. A leaf
 * lock.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_calls *_Atomic first;

/* No record's address has a lower half of 0, which in nodes says that there is none. */
static struct dnp_call_method *map_methods(void)
{
	const size_t bytes = METHODS * sizeof(struct dnp_call_method);
	char *low = dnp_mem_reserve(2 * bytes), *high = low + bytes, *chosen;

	if (!low)
		return NULL;
	/* Of two that touch, at most one has a multiple of 4 GiB behind its first record. */
	chosen = (uintptr_t)low >> 32 == (uintptr_t)(high - 1) >> 32 ? low : high;
	if (!dnp_mem_commit(chosen, bytes))
		return (void *)chosen;
	dnp_mem_unmap(low, 2 * bytes);
	return NULL;
}

int dnp_calls_open(enum dnp_calls_choice depth, uint32_t (*index_of)(int tid))
{
	bool timed = depth == DNP_CALLS_TIME;

	events = depth == DNP_CALLS_EVENTS;
	index_of_thread = index_of;
	frame_bytes = timed ? sizeof(struct dnp_call_timed_frame) : sizeof(struct dnp_call_frame);
	node_bytes = timed ? sizeof(struct dnp_call_timed_node) : sizeof(struct dnp_call_node);
	if (events)
		node_bytes = 0;
	told_bytes = timed ? sizeof(struct dnp_call_told) : 2 * sizeof(uint64_t);
	dnp_call_methods = map_methods();
	return dnp_call_methods ? dnp_thread_word_open() : -ENOMEM;
}

/* ---- Memory */

static struct dnp_call_frame *frame_at(const struct dnp_calls *calls, size_t i)
{
	return (void *)((char *)calls->base + i * calls->frame_bytes);
}

/* Twice as many as there are, or as many as there can be. */
static uint32_t twice(uint32_t now, uint32_t most)
{
	return now < most / 2 ? 2 * now : most;
}

/* Array members from … to. */
static bool commit(void *array, size_t bytes, size_t from, size_t to)
{
	return !dnp_mem_commit((char *)array + from * bytes, (to - from) * bytes);
}

bool dnp_calls_more_frames(struct dnp_calls *calls)
{
	size_t now = (size_t)((char *)calls->end - (char *)calls->base) / calls->frame_bytes + 1;
	size_t next = twice((uint32_t)now, calls->max_frames);

	if (next == now || !commit(calls->base, calls->frame_bytes, now, next))
		return false;
	/* Recording may be switched by another thread. */
	pthread_mutex_lock(&lock);
	calls->end = frame_at(calls, next - 1);
	if (atomic_load(&calls->limit))
		atomic_store(&calls->limit, calls->end);
	pthread_mutex_unlock(&lock);
	return true;
}

static bool ready_nodes(struct dnp_calls *calls, uint32_t from, uint32_t to)
{
	return commit(calls->nodes, calls->node_bytes, from, to) &&
		commit(calls->origins, sizeof(*calls->origins), from, to) &&
		commit(calls->told, calls->told_bytes, from, to);
}

bool dnp_calls_more_nodes(struct dnp_calls *calls)
{
	uint32_t now = calls->ready_nodes, next = twice(now, calls->max_nodes);

	if (next == now || !ready_nodes(calls, now, next))
		return false;
	calls->ready_nodes = next;
	return true;
}

bool dnp_calls_more_blocks(struct dnp_calls *calls, uint32_t n)
{
	uint32_t now = calls->ready_blocks, next = twice(now, calls->max_blocks);

	while (next < calls->max_blocks && next - now < n)
		next = twice(next, calls->max_blocks);
	if (next - now < n || !commit(calls->blocks, sizeof(*calls->blocks), now, next))
		return false;
	calls->ready_blocks = next;
	return true;
}

/* What each thread has at least. */
static bool ready_first(struct dnp_calls *calls)
{
	uint32_t blocks = FIRST / sizeof(*calls->blocks);

	if (!commit(calls->base, calls->frame_bytes, 0, FIRST))
		return false;
	calls->end = frame_at(calls, FIRST - 1);
	if (events)
		return true;
	if (!ready_nodes(calls, 0, FIRST) ||
		!commit(calls->blocks, sizeof(*calls->blocks), 0, blocks))
		return false;
	calls->ready_nodes = FIRST;
	calls->ready_blocks = blocks;
	return true;
}

void dnp_calls_enlarge(struct dnp_calls *calls)
{
	uint32_t n = atomic_load(&calls->n_nodes);
	char *end = calls->told + (size_t)calls->max_nodes * calls->told_bytes;

	dnp_mem_want_large_pages(calls->blocks, (size_t)(end - (char *)calls->blocks));
	dnp_mem_make_pages_large(calls->blocks, calls->blocks + calls->n_blocks);
	dnp_mem_make_pages_large(calls->nodes, dnp_call_node_at(calls, n));
	dnp_mem_make_pages_large(calls->origins, calls->origins + n);
}

/*
 * With the lock. The state of a thread that had this id and this record, and has gone without our
 * notice, or none's. One that had another record is left to be told of as that one.
 */
static struct dnp_calls *find(int tid, uint32_t thread)
{
	struct dnp_calls *unused = NULL;

	for (struct dnp_calls *calls = dnp_calls_first(); calls; calls = calls->listed) {
		int whose = atomic_load(&calls->tid);

		if (whose == tid && calls->thread == thread)
			return calls;
		if (!whose)
			unused = calls;
	}
	return unused;
}

/* At most every second node has several children. */
static size_t blocks_of(size_t nodes)
{
	return nodes / 2;
}

static size_t spaces_bytes(size_t frames, size_t nodes)
{
	return frames * frame_bytes + blocks_of(nodes) * sizeof(struct dnp_call_block) +
		nodes * (node_bytes + sizeof(struct dnp_call_origin) + told_bytes);
}

/* Address space for the stack, the nodes and their times; where it is short, less. */
static int get_spaces(struct dnp_calls *calls)
{
	size_t frames = STACK_FRAMES, nodes = events ? 0 : NODES;
	char *space = dnp_mem_reserve(spaces_bytes(frames, nodes));

	while (!space && frames > LEAST) {
		frames /= 4;
		nodes /= 16;
		if (nodes < LEAST && !events)
			nodes = LEAST;
		space = dnp_mem_reserve(spaces_bytes(frames, nodes));
	}
	if (!space)
		return -ENOMEM;
	/* A thread that calls little is not to have megabytes for it. */
	dnp_mem_want_small_pages(space, spaces_bytes(frames, nodes));
	calls->max_frames = (uint32_t)frames;
	calls->max_nodes = (uint32_t)nodes;
	calls->max_blocks = (uint32_t)blocks_of(nodes);
	calls->base = (void *)space;
	calls->blocks = (void *)(space + frames * frame_bytes);
	calls->nodes = (char *)(calls->blocks + calls->max_blocks);
	calls->origins = (void *)(calls->nodes + nodes * node_bytes);
	calls->told = (char *)(calls->origins + nodes);
	atomic_store(&calls->top, calls->base);
	return 0;
}

static struct dnp_calls *make(void)
{
	struct dnp_calls *calls = dnp_mem_map(sizeof(*calls));

	if (!calls)
		return NULL;
	calls->frame_bytes = frame_bytes;
	calls->node_bytes = node_bytes;
	calls->told_bytes = told_bytes;
	if (get_spaces(calls)) {
		dnp_mem_unmap(calls, sizeof(*calls));
		return NULL;
	}
	calls->listed = dnp_calls_first();
	atomic_store_explicit(&first, calls, memory_order_release);
	return calls;
}

/* An empty tree, which is its root, and an empty stack. False: no memory. */
static bool plant(struct dnp_calls *calls)
{
	if (!ready_first(calls))
		return false;
	calls->n_blocks = 1;
	calls->base->sp = UINTPTR_MAX;
	if (!events)
		atomic_store(&calls->base->node, dnp_call_node_at(calls, 0));
	atomic_store(&calls->n_nodes, 1);
	return true;
}

/* With the lock: the thread has gone; calls that are open never end. */
static void end(struct dnp_calls *calls)
{
	calls->open_ever += dnp_calls_open_now(calls);
	calls->n_unwinding = 0;
	calls->passing = false;
	calls->n_filters = 0;
	calls->held.function = 0;
	atomic_store(&calls->end_ticks, 0);
	atomic_store(&calls->limit, NULL);
	atomic_store(&calls->top, calls->base);
	if (calls->ring)
		dnp_call_events_thread_end(calls->ring);
	calls->ring = NULL;
}

/*
 * With the lock: a thread takes that state. Others with its number are of those that had it before,
 * and whose end nobody has noticed.
 */
static void mark_gone(const struct dnp_calls *own, int tid)
{
	for (struct dnp_calls *calls = dnp_calls_first(); calls; calls = calls->listed)
		if (calls != own && atomic_load(&calls->tid) == tid)
			atomic_store(&calls->gone, true);
}

/* With the lock. */
static struct dnp_calls *take(int tid, uint32_t thread)
{
	struct dnp_calls *calls = find(tid, thread);

	if (!calls)
		calls = make();
	if (!calls)
		return NULL;
	if (!atomic_load(&calls->n_nodes) && !plant(calls))
		return NULL;
	if (atomic_load(&calls->tid))
		end(calls);
	mark_gone(calls, tid);
	atomic_store(&calls->gone, false);
	if (events)
		calls->ring = dnp_call_events_thread_begin(thread);
	atomic_store(&calls->limit, atomic_load(&dnp_calls_on) ? calls->end : NULL);
	calls->thread = thread;
	calls->since_ns = dnp_now_ns();
	calls->seen_cpu_ns = dnp_thread_cpu_ns(0);
	/* Last: the sampler looks at states that are somebody's. */
	atomic_store(&calls->tid, tid);
	return calls;
}

struct dnp_calls *dnp_calls_of_thread(void)
{
	struct dnp_calls *calls;
	uint32_t thread;
	int tid;

	/* Hooks stay: whoever calls behind the recording's end comes here each time. */
	if (dnp_calls_own || !atomic_load(&dnp_calls_on))
		return dnp_calls_own;
	tid = dnp_thread_id();
	thread = index_of_thread(tid);
	if (thread == DNP_CALLS_NO_THREAD)
		return NULL;
	pthread_mutex_lock(&lock);
	calls = take(tid, thread);
	pthread_mutex_unlock(&lock);
	if (calls)
		dnp_thread_word_set(calls);
	return calls;
}

struct dnp_calls *dnp_calls_first(void)
{
	/* Pairs with make: what a state is made of is there when it is listed. */
	return atomic_load_explicit(&first, memory_order_acquire);
}

/* Forgets all that was called, and gives its memory back. */
static void clear_spaces(struct dnp_calls *calls)
{
	dnp_mem_decommit(calls->base, spaces_bytes(calls->max_frames, calls->max_nodes));
	memset(calls->unused_blocks, 0, sizeof(calls->unused_blocks));
	atomic_store(&calls->n_nodes, 0);
	calls->told_nodes = 0;
	calls->told_moves = 0;
	calls->seen_moves = 0;
	calls->seen_idle = 0;
}

/* With the lock. */
static void release(struct dnp_calls *calls)
{
	end(calls);
	if (atomic_load(&calls->n_nodes))
		clear_spaces(calls);
	atomic_store(&calls->tid, 0);
}

void dnp_calls_release(struct dnp_calls *calls, uint64_t gone_ns)
{
	pthread_mutex_lock(&lock);
	if (calls->since_ns < gone_ns)
		release(calls);
	pthread_mutex_unlock(&lock);
}

void dnp_calls_switch(bool on)
{
	pthread_mutex_lock(&lock);
	atomic_store(&dnp_calls_on, on);
	for (struct dnp_calls *calls = dnp_calls_first(); calls; calls = calls->listed)
		atomic_store(&calls->limit, on ? calls->end : NULL);
	pthread_mutex_unlock(&lock);
}

void dnp_calls_forked(void)
{
	atomic_store(&dnp_calls_on, 0);
	if (dnp_calls_own)
		atomic_store(&dnp_calls_own->limit, NULL);
}
