/* SPDX-License-Identifier: MIT */
/*
 * The runtime's finalizer thread. It alone unloads code, and tells of that only whom it knows when
 * it begins: who is attached meanwhile has to wait until it is done.
 */
#ifndef DNP_AGENT_FINALIZER_H
#define DNP_AGENT_FINALIZER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Waits until that thread was seen to have nothing to do, but not longer than patience_ns. True
 * also where there is no thread of that name. Not for threads of the runtime.
 */
bool dnp_finalizer_rests(uint64_t patience_ns);

#endif
