/* SPDX-License-Identifier: MIT */
/*
 * The runtime's own stack walk (ICorProfilerInfo2::DoStackSnapshot), and mixed stacks made of it:
 * the runtime says which managed frames there are, our walker what native frames lie between them.
 *
 * Whose stacks: the calling thread's, inside a callback; any thread's while the runtime is
 * suspended by the profiler (ICorProfilerInfo10::SuspendRuntime). Another thread's without that is
 * E_NOTIMPL on Linux, by the runtime's design. Never in a signal handler: there it hangs.
 */
#ifndef DNP_UNWIND_DSS_H
#define DNP_UNWIND_DSS_H

#include <stdbool.h>
#include <stddef.h>

#include "clr/info.h"
#include "unwind/walk.h"

/* As the runtime reports it. */
struct dnp_dss_frame {
	FunctionID function; /* 0: a run of native frames, which called the frame before this one */
	uintptr_t ip;        /* of such a run: of the frame next to the managed one */
	struct dnp_regs regs; /* zeros without COR_PRF_SNAPSHOT_REGISTER_CONTEXT */
};

/* One walk, leaf first. */
struct dnp_dss {
	struct dnp_dss_frame *frames; /* borrowed: the caller's, room for max */
	size_t max;

	size_t n;
	bool full;      /* the walk was ended because there was no more room */
	bool seeded;    /* it began at a seed: the first frame is an instruction, not a call */
	HRESULT result; /* as the runtime gave it; a full one's is STACKSNAPSHOT_ABORTED */
};

/* Of a CONTEXT, as the runtime and Windows give it (clr/context.h), what walks need. */
STOPPED struct dnp_regs dnp_dss_registers(const uint8_t *context);

/*
 * Walks `thread` (0: the calling one) and stores its frames in dss->frames. `flags` is
 * COR_PRF_SNAPSHOT_DEFAULT or COR_PRF_SNAPSHOT_REGISTER_CONTEXT. `seed`, NULL or registers of a
 * managed frame of the thread, says where to begin; the runtime ignores it where the thread is in
 * native code as far as the runtime knows, and refuses one that is not in managed code with
 * CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX. A seed is only a hint: wrong ones have to be kept from
 * here, since the runtime trusts them.
 *
 * Returns dss->result. E_FAIL: the thread has no managed frame. S_OK with no frame: it is none of
 * the runtime's. Needs COR_PRF_ENABLE_STACK_SNAPSHOT in the event mask (else
 * CORPROF_E_INCONSISTENT_WITH_FLAGS). Allocates nothing; on a thread that never walked before the
 * runtime may.
 */
HRESULT dnp_dss_walk(const struct dnp_info *info, ThreadID thread, uint32_t flags,
	const struct dnp_regs *seed, struct dnp_dss *dss);

/* Which runs of native frames are replaced by their frames. */
enum dnp_native_mode {
	DNP_NATIVE_NONE, /* none: each run is one frame, DNP_FRAME_HOLE */
	DNP_NATIVE_LEAF, /* the one at the leaf */
	DNP_NATIVE_ALL,  /* each, to the thread's start */
};

/* A run of native frames, or what is left of it where our walker could not go on. */
#define DNP_FRAME_HOLE                                                                             \
	((dnp_frame_word)DNP_WALK_NATIVE << DNP_FRAME_SHIFT | DNP_FRAME_EXACT) /* at address 0 */

/* A mixed stack, leaf first; three arrays side by side. */
struct dnp_mixed {
	dnp_frame_word *frames;     /* borrowed: the caller's, room for max each */
	struct dnp_regs *registers; /* of each frame; zeros where they are not known */
	FunctionID *functions; /* managed frames: as the runtime has it, else 0; NULL: unwanted */
	size_t max;

	size_t n;
	/* DNP_STOP_END: the runs that were walked are whole. Else why the first is not. */
	enum dnp_walk_stop stop;
	bool unknown; /* one that was asked for could not be walked, and is a hole */
};

/* What the runtime does not say of a walk. */
struct dnp_dss_place {
	/*
	 * The thread is in native code, so that a run stands at the leaf. The runtime does not
	 * report that one. In a callback it is always so.
	 */
	bool native;
	const struct dnp_regs *leaf;  /* where the thread is then; NULL: not known */
	struct dnp_stack_range stack; /* of the thread; high 0: not known */
	bool stands;                  /* it was stopped amid anything (see struct dnp_stacks) */
};

/*
 * Fills the native runs of a walk that was made with registers; one of which not enough is known
 * stays a hole. Managed frames are those of the
 * walk, whatever ours sees: what the runtime hides (its exception handling in managed code, stubs
 * with IL, dynamic methods) is not in the result. Reads the stack between the walk's frames, so
 * the thread must not have moved in them: it is the calling one, or suspended.
 */
SIGSAFE void dnp_dss_fill(const struct dnp_dss *dss, enum dnp_native_mode mode,
	const struct dnp_dss_place *place, struct dnp_mixed *mixed);

#endif
