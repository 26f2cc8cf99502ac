/* SPDX-License-Identifier: MIT */
/* What walks of this thread, of another and of all have in common. */
#ifndef DNP_WALKER_WALKS_H
#define DNP_WALKER_WALKS_H

#include <pthread.h>

#include "base/clean.h"
#include "os/x86_64/regs.h"
#include "unwind/dss.h"
#include "walker/walker.h"

/* ---- wish.c */

/* What the host asks for. */
struct dnp_wish {
	uint32_t flags;
	enum dnprof_native native;
	bool seeded;
	struct dnp_regs seed;
};

/* E_INVALIDARG where it makes no sense, or walker or callback is missing. Sets teller->native. */
HRESULT dnp_wish_read(const struct dnprof_walker *walker, const struct dnprof_walk_options *given,
	struct dnp_wish *wish, struct dnp_teller *teller);

/*
 * Whether pc is in managed code that can be read: the map may have code that is gone, where a host
 * does not forward what is unloaded. While gathering.
 */
bool dnp_walker_in_managed_code(uintptr_t pc);

/* Whether a walk may begin there. While gathering. */
HRESULT dnp_wish_check_seed(const struct dnp_regs *seed, const struct dnp_stack_range *stack);

/* ---- by_runtime.c */

/* Room for what the runtime reports of one thread. */
HRESULT dnp_walker_dss_open(struct dnprof_walker *walker, struct dnp_dss *dss);
void dnp_walker_dss_close(struct dnp_dss *dss);

/* Puts a walk of the runtime's, holes filled, behind what is gathered so far. While gathering. */
STOPPED HRESULT dnp_walker_dss_fill(const struct dnp_dss *dss, enum dnprof_native native,
	const struct dnp_dss_place *place, struct dnp_gathered *gathered);

/* ---- walk_self.c */

/* Where this thread is, in a function of ours that `caller` has called: its stack pointer then. */
struct dnp_here {
	struct dnp_regs regs;
	uintptr_t caller;
};

/* A macro, for it has to be in the function that the host calls. */
#define DNP_HERE()                                                                                 \
	(struct dnp_here)                                                                          \
	{                                                                                          \
		dnp_regs_here(), (uintptr_t)__builtin_dwarf_cfa()                                  \
	}

/* Walks the calling thread, and tells. */
HRESULT dnp_walk_here(struct dnprof_walker *walker, const struct dnp_wish *wish,
	const struct dnp_here *here, const struct dnp_teller *teller);

/* ---- walk_thread.c */

/* Walks of others, and of all, take turns. */
extern pthread_mutex_t dnp_walks_of_others;

#endif
