/* SPDX-License-Identifier: MIT */
/*
 * One stack, whatever is on it: managed code (compiled at run time or ahead of time), stubs, native
 * code and signal frames in their true order, from an instruction to the thread's start.
 *
 * A step's rule is a pure function of the program counter ("where is the frame's canonical address,
 * where is RBP saved"), found in the code map (managed) or in call frame information (native) and
 * kept in a small shared cache. Only pc, sp, bp (and what the rules need besides) are tracked.
 */
#ifndef DNP_UNWIND_WALK_H
#define DNP_UNWIND_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "os/x86_64/regs.h"
#include "os/x86_64/rule.h"

/* A frame as walked: the address in the low 56 bits, its kind above. */
typedef uint64_t dnp_frame_word;

enum dnp_walk_kind {
	DNP_WALK_UNKNOWN = 0, /* no code known there */
	DNP_WALK_JIT = 1,
	DNP_WALK_R2R = 2,
	DNP_WALK_DYNAMIC = 3,
	DNP_WALK_NATIVE = 4,
	DNP_WALK_STUB = 5,    /* a stub of the runtime, stepped over by rule */
	DNP_WALK_KERNEL = 6,  /* never by the walker: put on top by the sampler */
	DNP_WALK_NOT_YET = 7, /* never by the walker: a thread before its sampling began */
	DNP_WALK_LABEL = 8,   /* never by the walker: what an event is about, by its number */
	DNP_WALK_READY = 9,   /* never by the walker: a thread that waits for a processor */
};

#define DNP_FRAME_SHIFT      56
#define DNP_FRAME_KIND(word) ((enum dnp_walk_kind)((word) >> DNP_FRAME_SHIFT & 0xf))
#define DNP_FRAME_EXACT                                                                            \
	(UINT64_C(1) << 63) /* the address is an instruction, not a return address */
#define DNP_FRAME_ADDR(word) ((uintptr_t)((word) & ((UINT64_C(1) << DNP_FRAME_SHIFT) - 1)))

/* Whether the frame is of managed code. */
SIGSAFE static inline bool dnp_frame_is_managed(dnp_frame_word word)
{
	enum dnp_walk_kind kind = DNP_FRAME_KIND(word);

	return kind == DNP_WALK_JIT || kind == DNP_WALK_R2R || kind == DNP_WALK_DYNAMIC;
}

/*
 * Whether the frame is of code that was not known: a stub's is one that a step as from a stub has
 * left.
 */
SIGSAFE static inline bool dnp_frame_is_unknown(dnp_frame_word word)
{
	enum dnp_walk_kind kind = DNP_FRAME_KIND(word);

	return kind == DNP_WALK_UNKNOWN || kind == DNP_WALK_STUB;
}

enum dnp_walk_stop {
	DNP_STOP_END = 0,   /* reached the thread's start */
	DNP_STOP_DEPTH,     /* the caller's array is full */
	DNP_STOP_BAD_STACK, /* a canonical address outside of the stack or not above the last one */
	DNP_STOP_NO_RULE,   /* code without unwind information */
	DNP_STOP_UNKNOWN,   /* an address in no code that is known */
	DNP_STOP_NOT_WALKED, /* never by the walker: the engine says why it could not be asked */
	DNP_STOP_COUNT
};

struct dnp_stack_range {
	uintptr_t low, high;
};

struct dnp_stack_copy;

/* All reads stay inside these. */
struct dnp_stacks {
	struct dnp_stack_range now;   /* where the stack pointer is */
	struct dnp_stack_range below; /* where a signal frame may lead back to; high 0: nowhere */
	/*
	 * The runtime's object of the thread (its ThreadID), which says where a method returns to
	 * whose return address the runtime has taken away; 0: not known. It is read so that nothing
	 * can fault.
	 */
	uintptr_t runtime_thread;
	/*
	 * NULL: the stacks are the calling thread's, and read where they are. Else another
	 * thread's: they are read through this copy (borrowed), and code bytes so that nothing can
	 * fault either.
	 */
	struct dnp_stack_copy *copy;
	/*
	 * Another thread's that stands still: its stacks are read where they are, and code bytes
	 * so that nothing can fault.
	 */
	bool stands;
};

struct dnp_codemap;

/*
 * Where walks look managed code up (NULL: nowhere; native and ReadyToRun code is found without).
 * The map must outlive every walk; call it before the first one.
 */
void dnp_walk_use(struct dnp_codemap *map);

/*
 * Walks from *regs (taken at an exact instruction, as in a signal handler) and stores up to `max`
 * frames, leaf first. Returns their number; *stop says why it ended. Reads code bytes only of code
 * that is known, and the stacks only inside their ranges. Async-signal-safe, any thread, no locks.
 */
SIGSAFE size_t dnp_walk(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, size_t max, enum dnp_walk_stop *stop);

/*
 * The same walk, with the registers that each frame goes on with in registers[max]: what a walk
 * that begins at that frame needs. Of a frame that is not exact, pc is where its call returns to.
 */
SIGSAFE size_t dnp_walk_registers(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, struct dnp_regs *registers, size_t max, enum dnp_walk_stop *stop);

/* The same, from a frame that has called another: regs->pc is where the call returns to. */
SIGSAFE size_t dnp_walk_caller(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, struct dnp_regs *registers, size_t max, enum dnp_walk_stop *stop);

/* Whether there is the end of a call instruction, so that an address may be what it returns to. */
SIGSAFE bool dnp_walk_is_behind_call(uintptr_t address);

/*
 * Whether a managed function begins at pc. That is no return address, for behind a call that does
 * not return compilers put another instruction: a thread was stopped there, and what ends before it
 * has perhaps never run.
 */
SIGSAFE bool dnp_walk_begins(uintptr_t pc);

/* One frame: the kind of code at pc. `exact`: pc is its instruction, not a return address. */
SIGSAFE dnp_frame_word dnp_walk_frame(uintptr_t pc, bool exact);

/* ---- For unwind/ itself: walks that are helped over a frame */

/* Where a walk is. */
struct dnp_walk {
	struct dnp_regs regs;
	struct dnp_stacks stacks;
	bool exact; /* pc is an instruction, not where a call returns to */
};

/*
 * Walks on from *walk and leaves there where it ended: at the last frame stored, or behind it when
 * the array is full. `registers` may be NULL.
 */
SIGSAFE size_t dnp_walk_on(struct dnp_walk *walk, dnp_frame_word *frames,
	struct dnp_regs *registers, size_t max, enum dnp_walk_stop *stop);

/* The rule that *walk would take its next step by. */
SIGSAFE struct dnp_rule dnp_walk_rule(const struct dnp_walk *walk);

/* A word of the stack that *walk is on; false: it is not there. */
SIGSAFE bool dnp_walk_load(const struct dnp_walk *walk, uintptr_t address, uintptr_t *value);

/* Whether a call may return to the address: it is in known code and behind a call, or a handler's.
 */
SIGSAFE bool dnp_walk_returns_to(const struct dnp_walk *walk, uintptr_t address);

#endif
