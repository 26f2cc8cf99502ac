/* SPDX-License-Identifier: MIT */
#include "agent/forget.h"

#include <stdint.h>

#include "agent/agent.h"
#include "agent/methods.h"
#include "agent/thread_names.h"
#include "clr/lifetime.h"
#include "clr/r2r.h"
#include "os/forks.h"
#include "os/mark_gates.h"
#include "os/library.h"
#include "os/leave.h"
#include "os/mem.h"
#include "os/thread.h"
#include "os/watch.h"
#include "store/threads.h"
#include "unwind/managed.h"
#include "unwind/native.h"

/* The runtime waits for us meanwhile, but for nothing that the program does. */
#define PATIENCE_NS UINT64_C(5000000000)

static void forget_session(void)
{
	if (dnp_agent.session)
		dnp_mem_unshare(dnp_agent.session, DNP_SESSION_BYTES);
	dnp_agent.session = NULL;
	dnp_agent.slot = NULL;
}

void dnp_agent_forget(void)
{
	/*
	 * A thread that comes back to code that is not there any more ends the program: one that
	 * is in the handler, at a fork, or in a gate, or one of ours that the runtime keeps
	 * (capture/snapshot.c).
	 */
	if (dnp_own_thread_count() || !dnp_signal_left(PATIENCE_NS) || !dnp_forks_over() ||
		!dnp_mark_gates_close()) {
		dnp_library_keep();
		return;
	}
	dnp_threads_unmap();
	dnp_watch_close();
	dnp_thread_names_done();
	dnp_methods_done();
	dnp_lifetime_forget();
	dnp_walk_codemap_done();
	dnp_r2r_done();
	dnp_native_done();
	forget_session();
	dnp_info_close(&dnp_agent.info);
}
