/* SPDX-License-Identifier: MIT */
/*
 * What enter and leave hooks keep of a thread: its tree of calls with a count in each node, and the
 * shadow stack of the calls that are open. Where each event is recorded there is no tree; then the
 * shadow stack is there to know which calls exceptions have ended.
 *
 * A node is a path of methods from the thread's start. Looked for is the child that its parent
 * called last, of which the parent knows the method, so that memory of a node is reached only to
 * count the call; then, where there are several, the parent's block, a cache line with the methods
 * of the first seven; further ones are in blocks of their own, by a hash of the method. What is
 * reached at each call is kept apart from what a node is. A call on the shadow stack is known by
 * the stack pointer of its caller: who enters or leaves at a higher one finds those below gone,
 * ended by an exception that nobody told of.
 *
 * Nodes and stacks lie in address space that is reserved once a thread, and is memory where it was
 * used. Only the thread itself writes them, from hooks; a hook asks the system for nothing but
 * memory, twice as much each time, and for large pages, and locks then. Others read without a lock:
 * a counter may be a call behind, and a node stays where it is for ever. States are never given
 * back to the system, since code that was compiled with hooks goes on calling them.
 */
#ifndef DNP_CAPTURE_CALLS_H
#define DNP_CAPTURE_CALLS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/agent_options.h"
#include "os/thread_word.h"
#include "store/threads.h"

/*
 * A method whose calls are recorded. Its address is what hooks are given (r14 or rdi). All of them
 * lie in one array of less than 4 GiB, so that the lower half of the address tells them apart.
 */
struct dnp_call_method {
	uint32_t number; /* of the agent: 1 … 2^20 - 1, never used again */
	uint32_t unused;
	uintptr_t function; /* its FunctionID */
};

/* The methods' array: entry `number`. Mapped by dnp_calls_open; NULL before. */
extern struct dnp_call_method *dnp_call_methods;

/*
 * A node of a tree, as far as each call reaches it. Nodes are named by their index, as in the
 * recording: the root is 0, the others follow in the order they were made.
 */
struct dnp_call_node {
	_Atomic uint64_t word; /* calls, modulo 2^40, above the block of its children, 0: none */
	uint32_t child;        /* that was called last, 0: none yet */
	uint32_t child_method;
};

#define DNP_CALLS_BLOCK_BITS 24u
#define DNP_CALLS_ONE        (UINT64_C(1) << DNP_CALLS_BLOCK_BITS) /* call, in a node's word */
#define DNP_CALLS_COUNTED    (UINT64_MAX >> DNP_CALLS_BLOCK_BITS)

/* The same where each call is timed; in ticks (os/ticks.h). */
struct dnp_call_timed_node {
	struct dnp_call_node node;
	_Atomic uint64_t total, self;
	_Atomic uint64_t shortest, longest; /* UINT64_MAX and 0 before the first has ended */
};

/* What a node is. Never changes. */
struct dnp_call_origin {
	uint32_t method; /* lower half of its record's address; the root: 0 */
	uint32_t parent; /* its index */
};

/* Children of one node that has several; a free place has method 0. See calls_miss.c. */
#define DNP_CALLS_PLACES 7u
struct dnp_call_block {
	uint32_t method[DNP_CALLS_PLACES];
	uint32_t first; /* of the blocks with further ones */
	uint32_t node[DNP_CALLS_PLACES];
	uint32_t n; /* of these blocks; in the first of them: how many children they have */
};

/* An open call. */
struct dnp_call_frame {
	uintptr_t sp; /* of the caller; UINT64_MAX: the thread's start */
	union {
		struct dnp_call_node *_Atomic node;
		const struct dnp_call_method *method; /* of depth events, which has no tree */
	};
};

struct dnp_call_timed_frame {
	struct dnp_call_frame frame;
	_Atomic uint64_t begin;    /* ticks */
	_Atomic uint64_t children; /* ticks spent in calls that it made and that have ended */
};

/* What the recording knows of a node, and what of its time is still to be told. */
struct dnp_call_told {
	uint64_t calls;
	union {
		uint64_t pending; /* CPU time that the sampler found, ns */
		struct {          /* of timed ones, in ticks */
			uint64_t total, self;
			/* With the call that was open when that was last looked at. */
			uint64_t noted_total, noted_self;
		};
	};
};

#define DNP_CALLS_UNWINDING 64u
#define DNP_CALLS_FILTERS   8u

/* A frame that an exception ends: of that function, amid that innermost call. */
struct dnp_call_unwinding {
	uintptr_t function, sp;
	uintptr_t at; /* on the stack: where the runtime told of it */
};

/* A filter that is asked about an exception. */
struct dnp_call_filter {
	uintptr_t function, sp, at; /* as above */
	uint32_t n_unwinding;       /* before */
};

struct dnp_call_values;

/* Of one thread. The offsets of what hooks use are asserted in calls.c and stand in elt.S. */
struct dnp_calls {
	struct dnp_call_ring *ring; /* where each event is stored; NULL in the other depths */
	/* The thread's own: the innermost open call, and where there is no room for one more. */
	struct dnp_call_frame *_Atomic top;
	struct dnp_call_frame *_Atomic
		limit; /* NULL: no further call is recorded; the base: see dnp_calls_hold */
	_Atomic uint64_t leaves, tailcalls;
	char *nodes; /* struct dnp_call_node, or the timed ones */
	struct dnp_call_block *blocks;

	/* The thread's own, off the usual path. */
	_Atomic uint64_t unwinds;
	_Atomic uint64_t lost; /* calls for which there was no memory, or that were too deep */
	struct dnp_call_frame *base; /* of the shadow stack: the thread's start */
	struct dnp_call_frame
		*end; /* what limit is when calls are recorded: the last that is memory */
	uint32_t frame_bytes, node_bytes, told_bytes; /* node_bytes 0: there is no tree */
	uint32_t max_frames, max_nodes, max_blocks;   /* for which there is address space */
	uint32_t ready_nodes, ready_blocks;           /* that are memory */
	struct dnp_call_origin *origins;
	uint32_t n_blocks; /* ever used, the unused one 0 included */
	/* Blocks that are not used any more: the first one of 2^i in a row, 0: none. */
	uint32_t unused_blocks[DNP_CALLS_BLOCK_BITS];
	/* Functions that exceptions are ending, the last ones. */
	struct dnp_call_unwinding unwinding[DNP_CALLS_UNWINDING];
	uint32_t n_unwinding;
	bool passing; /* an exception was thrown, or ended a frame, since the last one was caught */
	struct dnp_call_filter filters[DNP_CALLS_FILTERS];
	uint32_t n_filters;
	/* One that an exception has ended, or a filter of it; function 0: none. */
	struct dnp_call_unwinding held;

	/* Written by the thread, read by others. */
	_Atomic uint32_t n_nodes; /* the root included */

	/* Who it is; under the list's lock. */
	_Atomic int tid;            /* 0: nobody's, to be used again */
	_Atomic bool gone;          /* another thread has that number now; this was not told yet */
	uint32_t thread;            /* thread index */
	uint64_t since_ns;          /* when the thread took it */
	struct dnp_calls *listed;   /* the next of all that there are */
	_Atomic uint64_t end_ticks; /* when the runtime told of its end, 0: it has not */

	/* The recorder's and the sampler's, under their lock (call_times.h). */
	char *told; /* of node i: see dnp_call_told_of */
	uint32_t told_nodes;
	uint64_t told_moves; /* dnp_calls_moves, when it was last told */
	uint64_t told_calls; /* in all nodes, ever */
	bool pending;        /* there is time to be told */
	uint64_t seen_moves; /* when the sampler looked last */
	uint64_t seen_cpu_ns;
	uint32_t seen_idle; /* looks since the thread was last seen to run */
	struct dnp_call_values
		*values;    /* owned, the thread's: of hooks with information (call_info.c) */
	uint64_t open_ever; /* calls that were open when threads that had this state before ended */
};

/* The calling thread's, NULL before its first hook. The agent's one word for each thread. */
#define dnp_calls_own (*(struct dnp_calls **)(void *)dnp_thread_word_place())

/* 1: calls are recorded; 0: not yet, or not any more. Hooks of new threads ask. */
extern _Atomic uint32_t dnp_calls_on;

#define DNP_CALLS_NO_THREAD UINT32_MAX

/*
 * Prepares for hooks of that depth. Once, before the first can run. `index_of` gives a thread's
 * index by its id, DNP_CALLS_NO_THREAD: it is not to be recorded; called in hooks. 0 or -errno.
 */
int dnp_calls_open(enum dnp_calls_choice depth, uint32_t (*index_of)(int tid));

/*
 * The calling thread's state, made when there is none. In a hook, too (it locks and maps memory,
 * but calls nothing of the runtime's). NULL: no memory, or nothing is recorded.
 */
struct dnp_calls *dnp_calls_of_thread(void);

/*
 * A thread that has so many nodes reaches them at random: they, and all that follow, get large
 * pages. In hooks.
 */
#define DNP_CALLS_LARGE (1u << 16)
void dnp_calls_enlarge(struct dnp_calls *calls);

/*
 * More of that is memory: at least one frame or node more, `n` blocks more. False: there is none.
 * In hooks; may lock.
 */
bool dnp_calls_more_frames(struct dnp_calls *calls);
bool dnp_calls_more_nodes(struct dnp_calls *calls);
bool dnp_calls_more_blocks(struct dnp_calls *calls, uint32_t n);

/* All states, also those that are nobody's: follow `listed`. Any thread. */
struct dnp_calls *dnp_calls_first(void);

/*
 * All is told of a thread that has gone: its state may be another's. Not if it was taken at
 * `gone_ns` or later (struct dnp_thread): then it is that of one that lives and has the same
 * number. With the lock of call_times.h.
 */
void dnp_calls_release(struct dnp_calls *calls, uint64_t gone_ns);

/* Lets hooks record, or not; calls that are open are followed to their ends. Any thread. */
void dnp_calls_switch(bool on);

/*
 * This is a child that the program has forked: hooks begin nothing any more, and ask for no lock,
 * which a thread may have that is not here. On the only one that is.
 */
void dnp_calls_forked(void);

/* calls_miss.c: what hooks do that is not the usual; also for those who are no hooks. */
void dnp_calls_enter_miss(const struct dnp_call_method *method, uintptr_t sp);
void dnp_calls_leave_miss(uintptr_t sp);
void dnp_calls_tailcall_miss(uintptr_t sp);
void dnp_calls_leave_timed_miss(uintptr_t sp, uint64_t now);
void dnp_calls_tailcall_timed_miss(uintptr_t sp, uint64_t now);

/*
 * The innermost open call is ended by an exception: only if it is one of that function's. Else one
 * further out that is, with all that it called, if it was made at a stack pointer below `within`.
 */
void dnp_calls_unwound(struct dnp_calls *calls, uintptr_t function, uintptr_t within);

/*
 * The same, but it may not have ended: it is told of later, with dnp_calls_tell_held, and at the
 * next call that begins at the latest.
 */
void dnp_calls_hold(struct dnp_calls *calls, struct dnp_call_unwinding frame);
void dnp_calls_tell_held(struct dnp_calls *calls);
/* It has not ended. */
void dnp_calls_forget_held(struct dnp_calls *calls);

/* What tells the innermost managed call from others: its caller's stack pointer. */
uintptr_t dnp_calls_innermost(const struct dnp_calls *calls);

/* An exception has ended all calls that were made at stack pointers below that one. */
void dnp_calls_back(struct dnp_calls *calls, uintptr_t sp);

/*
 * A call to native code, of which no hook tells, and its end. It is known by being the innermost
 * one when it is made.
 */
void dnp_calls_native_enter(const struct dnp_call_method *method);
void dnp_calls_native_leave(const struct dnp_call_method *method);

/* The frame below one. */
static inline struct dnp_call_frame *dnp_call_below(
	const struct dnp_calls *calls, struct dnp_call_frame *frame)
{
	return (struct dnp_call_frame *)(void *)((char *)frame - calls->frame_bytes);
}

/* Open calls. Any thread. */
static inline uint64_t dnp_calls_open_now(const struct dnp_calls *calls)
{
	const struct dnp_call_frame *top = atomic_load_explicit(&calls->top, memory_order_relaxed);

	return (uint64_t)((const char *)top - (const char *)calls->base) / calls->frame_bytes;
}

/* Calls that ended, and those that are open: moves with each call that begins. Any thread. */
static inline uint64_t dnp_calls_moves(const struct dnp_calls *calls)
{
	return atomic_load_explicit(&calls->leaves, memory_order_relaxed) +
		atomic_load_explicit(&calls->tailcalls, memory_order_relaxed) +
		atomic_load_explicit(&calls->unwinds, memory_order_relaxed) +
		dnp_calls_open_now(calls);
}

/* A node that is there (below n_nodes, read with acquire). */
static inline struct dnp_call_node *dnp_call_node_at(const struct dnp_calls *calls, uint32_t index)
{
	char *node = calls->nodes + (size_t)index * calls->node_bytes;

	return (struct dnp_call_node *)(void *)node;
}

static inline struct dnp_call_told *dnp_call_told_of(const struct dnp_calls *calls, uint32_t index)
{
	return (struct dnp_call_told *)(void *)(calls->told + (size_t)index * calls->told_bytes);
}

static inline uint32_t dnp_call_index_of(
	const struct dnp_calls *calls, const struct dnp_call_node *node)
{
	return (uint32_t)((size_t)((const char *)node - calls->nodes) / calls->node_bytes);
}

/* Which is modulo 2^40, more than a thread calls between two looks. */
static inline uint64_t dnp_call_count_of(const struct dnp_call_node *node)
{
	return atomic_load_explicit(&node->word, memory_order_relaxed) >> DNP_CALLS_BLOCK_BITS;
}

/* The method of a node that is not the root. */
static inline const struct dnp_call_method *dnp_call_method_of(
	const struct dnp_calls *calls, uint32_t index)
{
	uint32_t bytes = calls->origins[index].method - (uint32_t)(uintptr_t)dnp_call_methods;

	return &dnp_call_methods[bytes / sizeof(struct dnp_call_method)];
}

#endif
