/* SPDX-License-Identifier: MIT */
/*
 * The native modules of this process: ELF (executable, libraries, vdso) or PE.
 *
 * The list is brought up to date outside of handlers and published as a sorted array that is never
 * changed, so that handlers search it without a lock. What is replaced or unloaded stays readable
 * until dnp_modules_reclaim is told that no handler and no sample can need it any more.
 *
 * One list per process. Functions lock among themselves unless marked SIGSAFE.
 */
#ifndef DNP_OS_MODULES_H
#define DNP_OS_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"

#define DNP_BUILD_ID_MAX 32

struct dnp_elf_module {
	uintptr_t low, high;    /* from the first to the last executable byte */
	uintptr_t bias;         /* address in memory = bias + address in the file */
	uintptr_t eh_frame_hdr; /* in memory, 0: none */
	uintptr_t readable_end; /* of the segment that eh_frame_hdr is in */
	uintptr_t functions;    /* of PE: the table of functions, 0: none … */
	uint32_t functions_bytes;
	uint32_t image_bytes;   /* … and of the whole, from `bias` on */
	uintptr_t thread_start; /* of PE: what threads begin in, but those of fibers, 0: not here */
	/* Looks: the last that did not have it yet began at unseen_ns (0: there was none), the
	 * first that had it was over at seen_ns. Of one that is gone: the last that had it began at
	 * kept_ns, the first that did not was over at gone_ns. gone_ns 0: loaded. */
	uint64_t unseen_ns, seen_ns, kept_ns, gone_ns;
	uint32_t id; /* from 1 upwards, never used again */
	uint32_t build_id_bytes;
	uint8_t build_id[DNP_BUILD_ID_MAX];
	_Atomic(void *) unwind; /* owned by unwind/: its table of rules, or NULL */
	bool tried;             /* unwind/ has been here */
	char path[];            /* "[vdso]" for that one */
};

/*
 * Compares with what the dynamic linker knows and takes over what changed: code in that is known.
 * To be called at the start and then again and again: by a helper thread, and where a library is
 * about to be used (the JIT compiler is loaded after the profiler). When nothing changed it costs
 * about a microsecond. Returns the number of modules that came or went, or -errno. Waits while
 * another thread changes the dynamic linker's list; the first time, while one is inside dlopen. Not
 * for handlers.
 */
int dnp_modules_refresh(void);

/* How many have gone, as far as refreshes saw. Any thread. */
uint64_t dnp_modules_gone(void);

/* The loaded module whose code is at pc, or NULL. Valid as long as the calling walk runs. */
SIGSAFE struct dnp_elf_module *dnp_module_find(uintptr_t pc);

/* Where code is that the system knows to be of a module. */
struct dnp_module_code {
	uintptr_t low, high; /* of the whole module */
	uintptr_t eh_frame_hdr;
	uintptr_t
		functions; /* of PE, whose image begins at `low`: the table of functions, 0: none */
	uintptr_t thread_start; /* what threads begin in, but those of fibers, 0: not here */
	uint32_t functions_bytes;
};

/*
 * The same for a module that the list does not have yet, since it has just been loaded: as the
 * dynamic linker has it, where that can be asked in a handler (glibc 2.35); as the system maps it,
 * on Windows. False: nothing is known. Nothing about it may be kept.
 */
SIGSAFE bool dnp_module_find_new(uintptr_t pc, struct dnp_module_code *code);

/*
 * The module that a sample of that time was in, of which it is known that it was in one: among
 * unloaded ones too, and those that came between two looks. NULL: none of the list, or it may have
 * been the one or the other. For the thread that reclaims.
 */
struct dnp_elf_module *dnp_module_find_at(uintptr_t pc, uint64_t time_ns);

/* Loaded modules in the order of their addresses; i from 0 until NULL. For the refreshing thread.
 */
struct dnp_elf_module *dnp_module_get(size_t i);

/*
 * Frees what is unused since before `before_ns` (dnp_now_ns): the caller read the clock first, and
 * then saw each thread outside of a walk, or in a later one; and every sample taken before then is
 * stored. A walk announces itself with a sequentially consistent write before it reads the list.
 * `release` is called with the
 * `unwind` of each module that is freed, if not NULL.
 */
void dnp_modules_reclaim(uint64_t before_ns, void (*release)(void *unwind));

/* Frees everything; no handler may run any more. */
void dnp_modules_done(void (*release)(void *unwind));

#endif
