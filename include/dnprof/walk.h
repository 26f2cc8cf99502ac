/* SPDX-License-Identifier: MIT */
/*
 * Stacks of .NET threads for native profilers: any thread, at any moment, managed and native frames
 * in their true order. C99; link with libdnprof-walk.so, which needs libc alone.
 *
 * For whom: a profiler of its own (the "host") that CoreCLR 8 to 10 has loaded, on Linux x86-64. It
 * opens a walker on the ICorProfilerInfo that Initialize gave it, forwards what the runtime tells
 * it (methods compiled, modules, threads), and asks for stacks. What a host does not forward costs
 * frames, never a crash. docs/walk.md has a whole profiler as an example.
 *
 * The contract is that of ICorProfilerInfo2::DoStackSnapshot, without its limits: frames come leaf
 * first, one callback each; a callback's nonzero return ends the walk; a seed is a hint; results
 * are HRESULTs of the CLR by number, see DNPROF_E_* and dnprof_result_name. Sources: Microsoft
 * Learn, "ICorProfilerInfo2::DoStackSnapshot method" and "StackSnapshotCallback function"; D.
 * Broman, "Profiler stack walking: basics and beyond".
 *
 * When callbacks run. Frames are gathered first: while a thread is stopped, or the runtime
 * suspended, nothing is allocated, locked or asked of the CLR. Callbacks run after it goes on, so
 * they may do what they like: allocate, lock, call the CLR, walk. The other side of it: what they
 * are told was true a moment ago. See `function` in struct dnprof_frame.
 *
 * Threads. Every function may be called on any thread that is not in a signal handler, where not
 * said otherwise; none may be called in a signal handler. Calls on one walker may overlap, only
 * dnprof_walker_close may not.
 *
 * Versions. Structures begin with struct_size: set it to sizeof the structure that you were
 * compiled with. A newer library then knows what an older host does not have, and fills no more
 * than that.
 */
#ifndef DNPROF_WALK_H
#define DNPROF_WALK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DNPROF_API __attribute__((visibility("default")))
#else
#define DNPROF_API
#endif

/* ---- Results: HRESULTs, negative ones are failures */

#define DNPROF_S_OK ((int32_t)0) /* the whole stack, from the leaf to the thread's start */
#define DNPROF_S_FALSE                                                                             \
	((int32_t)1) /* the leaf's end of it: frames towards the root are missing                  \
		      */

#define DNPROF_E_NOTIMPL     ((int32_t)0x80004001) /* not by this runtime */
#define DNPROF_E_FAIL        ((int32_t)0x80004005) /* no frame of those that were asked for */
#define DNPROF_E_UNEXPECTED  ((int32_t)0x8000ffff)
#define DNPROF_E_OUTOFMEMORY ((int32_t)0x8007000e)
#define DNPROF_E_INVALIDARG  ((int32_t)0x80070057)

/* No such thread: it was never told of, or it has been destroyed. */
#define DNPROF_CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD ((int32_t)0x8013135e)
/* The seed is in native code, or in none. Walk from one in managed code. */
#define DNPROF_CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX ((int32_t)0x8013135f)
/* Not at this moment: the thread could be neither read nor stopped. Try again later. */
#define DNPROF_CORPROF_E_STACKSNAPSHOT_UNSAFE ((int32_t)0x80131360)
/* A callback ended the walk. */
#define DNPROF_CORPROF_E_STACKSNAPSHOT_ABORTED ((int32_t)0x80131361)
/* From a thread that the runtime knows: only one that never ran managed code may walk others. */
#define DNPROF_CORPROF_E_UNSUPPORTED_CALL_SEQUENCE ((int32_t)0x80131363)
/* There is an open walker in this process already. */
#define DNPROF_CORPROF_E_PROFILER_ALREADY_ACTIVE ((int32_t)0x8013136a)
/* The host's event mask lacks COR_PRF_ENABLE_STACK_SNAPSHOT, which the runtime's walk needs. */
#define DNPROF_CORPROF_E_INCONSISTENT_WITH_FLAGS ((int32_t)0x80131374)
/* Somebody else, a garbage collection mostly, had the runtime suspended each time we tried. */
#define DNPROF_CORPROF_E_SUSPENSION_IN_PROGRESS ((int32_t)0x80131388)

/*
 * The CLR's name of a result ("CORPROF_E_STACKSNAPSHOT_UNSAFE"), NULL for one that is not known,
 * and what it means in a sentence, never NULL. Static text. Also in signal handlers.
 */
DNPROF_API const char *dnprof_result_name(int32_t result);
DNPROF_API const char *dnprof_result_text(int32_t result);

/* ---- Frames */

/*
 * Registers of one frame, x86-64: those that the way on from there needs. pc of a leaf is the
 * instruction that comes next; of every other frame, where its call returns to.
 */
struct dnprof_registers {
	size_t struct_size;
	uint64_t pc;  /* RIP */
	uint64_t sp;  /* RSP */
	uint64_t bp;  /* RBP */
	uint64_t bx;  /* RBX: 0 where it is not known; few frames need it */
	uint64_t r10; /* of leaves; a prolog that aligns its stack needs it */
};

enum dnprof_frame_kind {
	DNPROF_FRAME_UNKNOWN = 0,     /* an address in no code that is known */
	DNPROF_FRAME_MANAGED = 1,     /* compiled at run time */
	DNPROF_FRAME_READYTORUN = 2,  /* compiled ahead of time */
	DNPROF_FRAME_DYNAMIC = 3,     /* a dynamic method, or a stub that the runtime wrote in IL */
	DNPROF_FRAME_NATIVE = 4,      /* one native function */
	DNPROF_FRAME_STUB = 5,        /* machine code that the runtime wrote */
	DNPROF_FRAME_NATIVE_RUN = 16, /* native frames, stubs and what is unknown, left out */
};

struct dnprof_frame {
	size_t struct_size;
	/*
	 * FunctionID; 0 where there is none, and where the method was unloaded since the walk. A
	 * method that can be unloaded (collectible or dynamic) may be at any moment, and the CLR
	 * crashes on the FunctionID of one that is gone: a host that asks the CLR about it holds up
	 * its own ModuleUnloadStarted and DynamicMethodUnloaded callbacks meanwhile.
	 */
	uint64_t function;
	uint64_t ip;     /* 0 of DNPROF_FRAME_NATIVE_RUN; else registers->pc */
	uint64_t thread; /* ThreadID; 0: the walk was of this thread, and the runtime does not know
			    it */
	const struct dnprof_registers *registers; /* during the callback; NULL: not known */
	uint32_t kind;  /* enum dnprof_frame_kind; newer libraries may have others */
	uint32_t exact; /* 1: ip is the very instruction; 0: it is behind a call, look up ip - 1 */
	uint32_t native_frames; /* of DNPROF_FRAME_NATIVE_RUN: how many, 0: not known */
};

/*
 * One frame, leaf first. The frame is the library's and lasts as long as the call. Nonzero ends the
 * walk, which then returns DNPROF_CORPROF_E_STACKSNAPSHOT_ABORTED. On the thread that asked for the
 * walk, with nothing stopped and no lock of the library held. Do not leave it by longjmp or an
 * exception.
 */
typedef int dnprof_frame_callback(const struct dnprof_frame *frame, void *context);

/* ---- The walker */

typedef struct dnprof_walker dnprof_walker;

struct dnprof_walker_options {
	size_t struct_size;
	uint32_t depth_max; /* most frames of one walk, 16 to 65536; 0: 2048 */
};

/*
 * Opens the process's one walker. `info`: what ICorProfilerCallback::Initialize was given (IUnknown
 * or any ICorProfilerInfo); one reference is held until close. `options` NULL: all zero.
 *
 * For frames of methods that the runtime compiles, the host's event mask has
 * COR_PRF_MONITOR_JIT_COMPILATION, _MODULE_LOADS and _THREADS; COR_PRF_ENABLE_STACK_SNAPSHOT for
 * walks by the runtime; COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS where dynamic methods come
 * and go. The library sets no mask itself.
 *
 * Best in Initialize: it also reads the unwind tables of all native libraries, 10 to 60 ms.
 * DNPROF_E_INVALIDARG; E_NOTIMPL or E_NOINTERFACE: the runtime is older than CoreCLR 3.0;
 * E_OUTOFMEMORY; CORPROF_E_PROFILER_ALREADY_ACTIVE.
 */
DNPROF_API int32_t dnprof_walker_open(
	void *info, const struct dnprof_walker_options *options, dnprof_walker **walker);

/*
 * Gives everything back. No other call on the walker may be going on or come later, and no callback
 * of the runtime may forward anything any more. NULL is allowed.
 */
DNPROF_API void dnprof_walker_close(dnprof_walker *walker);

/*
 * Takes over what was there before the walker: methods, modules, threads. For a host that attached
 * (in ProfilerAttachComplete), or that opens its walker later than in Initialize. Twice is
 * harmless. DNPROF_S_OK; S_FALSE: the runtime refused a part (it does so outside of callbacks on
 * threads that run managed code), and frames of what it did not tell are missing.
 */
DNPROF_API int32_t dnprof_walker_catch_up(dnprof_walker *walker);

/*
 * Reads the unwind tables of native libraries that were loaded since the last time, and frees those
 * of libraries that have gone. Walks of other threads do it by themselves; walks of one's own
 * thread do not, since it takes milliseconds: they see what came and went, and look up each frame
 * in a library that was not read yet anew. So a host that walks in callbacks only calls it now and
 * then from a thread of its own. About 1 µs if nothing is new.
 */
DNPROF_API void dnprof_walker_refresh(dnprof_walker *walker);

/* ---- What the host hears, handed on from the runtime's callbacks, on the same thread */

/*
 * JITCompilationFinished and ReJITCompilationFinished (dynamic 0), and
 * DynamicMethodJITCompilationFinished (dynamic 1), when hrStatus is a success. Once for each call:
 * a method may be compiled many times. Walks of one's own thread ask the runtime about code that
 * they meet and nobody has told of; others end there.
 */
DNPROF_API void dnprof_walker_method_compiled(
	dnprof_walker *walker, uint64_t function, int dynamic);

/* ModuleLoadFinished, when hrStatus is a success. */
DNPROF_API void dnprof_walker_module_loaded(dnprof_walker *walker, uint64_t module);

/*
 * DynamicMethodUnloaded and ModuleUnloadStarted. When they return, no walk reads that code any
 * more: they wait for walks that are gathering frames, microseconds to milliseconds, and never for
 * a callback. Not forwarding them is the one omission that leaves code behind that is gone: frames
 * of what is compiled in the same place later may get the name of the old method until it is told.
 */
DNPROF_API void dnprof_walker_dynamic_method_unloaded(dnprof_walker *walker, uint64_t function);
DNPROF_API void dnprof_walker_module_unloading(dnprof_walker *walker, uint64_t module);

/* ThreadAssignedToOSThread; best on that thread, where CoreCLR calls it. */
DNPROF_API void dnprof_walker_thread_assigned(
	dnprof_walker *walker, uint64_t thread, uint32_t os_thread);

/*
 * ThreadDestroyed. Waits while that very thread is being walked, and for no other; never for a
 * callback. Afterwards the thread cannot be walked any more.
 */
DNPROF_API void dnprof_walker_thread_destroyed(dnprof_walker *walker, uint64_t thread);

/* ---- Walks */

/* What is shown of native frames, and stubs and unknown addresses with them. */
enum dnprof_native {
	DNPROF_NATIVE_ALL = 0,  /* each frame */
	DNPROF_NATIVE_LEAF = 1, /* those above the topmost managed one each, others as runs */
	DNPROF_NATIVE_NONE = 2, /* as runs only, the way DoStackSnapshot shows them */
};

enum dnprof_walk_flags {
	/*
	 * By the runtime's own walk, its holes filled by ours: frames as the CLR sees them (logical
	 * in exceptions; neither dynamic methods nor IL stubs). Without a seed. Own threads any
	 * time; others only by dnprof_walk_all (E_NOTIMPL from dnprof_walk_thread on Linux).
	 */
	DNPROF_WALK_BY_RUNTIME = 1,
};

struct dnprof_walk_options {
	size_t struct_size;
	uint32_t flags;  /* enum dnprof_walk_flags */
	uint32_t native; /* enum dnprof_native */
	/*
	 * Where to begin, NULL: at the leaf. A hint: pc in managed code (else UNMANAGED_CTX), sp on
	 * the stack of the thread that is walked (else E_INVALIDARG); if it was not true, frames
	 * are wrong or missing and nothing worse. pc is taken for an exact instruction. Borrowed.
	 */
	const struct dnprof_registers *seed;
};

/*
 * Walks the calling thread: in a callback of the runtime, in a hook, anywhere. The first frame is
 * the caller of this function, or the seed's. Threads that the runtime does not know can be walked
 * too. `options` NULL: all zero.
 *
 * S_OK, S_FALSE; STACKSNAPSHOT_ABORTED; STACKSNAPSHOT_UNMANAGED_CTX; STACKSNAPSHOT_UNSAFE: by the
 * runtime, before it has started or in an exception's second pass; INCONSISTENT_WITH_FLAGS;
 * E_FAIL; E_INVALIDARG; E_OUTOFMEMORY.
 */
DNPROF_API int32_t dnprof_walk_self(dnprof_walker *walker,
	const struct dnprof_walk_options *options, dnprof_frame_callback *frame, void *context);

/*
 * Walks another thread that was told of (dnprof_walker_thread_assigned, or catch-up). One that
 * sleeps is read from outside and does not notice; one that runs is stopped for some microseconds
 * by the runtime's own activation signal. `thread` of the caller is the same as dnprof_walk_self.
 *
 * From a thread that never ran managed code, best one of the host's own; from others it returns
 * UNSUPPORTED_CALL_SEQUENCE, for they would stop the thread that they wait for. One such walk runs
 * at a time, others wait.
 *
 * As dnprof_walk_self, and: STACKSNAPSHOT_INVALID_TGT_THREAD; STACKSNAPSHOT_UNSAFE: the thread
 * could not be stopped (it blocks signals or gets no processor), or moved while it was read, or
 * libraries went all the time.
 */
DNPROF_API int32_t dnprof_walk_thread(dnprof_walker *walker, uint64_t thread,
	const struct dnprof_walk_options *options, dnprof_frame_callback *frame, void *context);

/* What dnprof_walk_all did. */
struct dnprof_snapshot {
	size_t struct_size;
	uint64_t suspended_ns; /* how long the runtime stood still, CLOCK_MONOTONIC */
	uint32_t threads;      /* that were walked, with or without a frame */
	uint32_t failed;       /* of these, with a failure */
	uint32_t refused;      /* attempts that met CORPROF_E_SUSPENSION_IN_PROGRESS */
};

/* The frames of `thread` have all been told, or none: `result` is its walk's own. Nonzero ends all.
 */
typedef int dnprof_thread_callback(uint64_t thread, int32_t result, void *context);

/*
 * Walks all managed threads at one moment: suspends the runtime (ICorProfilerInfo10), has it walk
 * each, and lets it go on. All threads stand at safepoints then: such stacks are biased, so they
 * are for pictures of one moment and not for profiles. Threads of the host and of native libraries
 * go on.
 *
 * `thread` (may be NULL) is called behind the frames of each thread. `snapshot` (may be NULL) is
 * filled in any case, up to its struct_size. A seed is E_INVALIDARG. From a thread that never ran
 * managed code, as above. CORPROF_E_SUSPENSION_IN_PROGRESS after some 100 ms of attempts;
 * E_NOTIMPL: the runtime is older than CoreCLR 3.0; INCONSISTENT_WITH_FLAGS; ABORTED;
 * E_OUTOFMEMORY.
 */
DNPROF_API int32_t dnprof_walk_all(dnprof_walker *walker, const struct dnprof_walk_options *options,
	dnprof_frame_callback *frame, dnprof_thread_callback *thread, void *context,
	struct dnprof_snapshot *snapshot);

#ifdef __cplusplus
}
#endif

#endif
