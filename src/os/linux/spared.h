/* SPDX-License-Identifier: MIT */
/*
 * Pending signals that are left to others.
 *
 * A timer takes one of the signals that may be pending for all processes of a user
 * (RLIMIT_SIGPENDING), for as long as it is there. Where none is left, the program can neither make
 * timers nor queue signals, and the runtime cannot stop threads of its own that run managed code,
 * which it sends a queued signal: collections would have to wait. So DNP_SAMPLER_SPARED of them are
 * held from the first timer on, by timers that do nothing, and given back when one is refused; from
 * then on none is taken.
 *
 * Any thread; not in handlers.
 */
#ifndef DNP_OS_LINUX_SPARED_H
#define DNP_OS_LINUX_SPARED_H

#include <stdbool.h>

/* Whether one more may be taken, as far as is known. */
bool dnp_spared_has_more(void);
/* It was refused. */
void dnp_spared_give_back(void);
/* All timers have gone: what is held goes, too, and the next one is the first again. */
void dnp_spared_end(void);

#endif
