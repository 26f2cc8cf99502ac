/* SPDX-License-Identifier: MIT */
/* What struct dnp_signal_info is here. */
#ifndef DNP_OS_LINUX_SIGNAL_INFO_H
#define DNP_OS_LINUX_SIGNAL_INFO_H

#include <signal.h>

#include "os/sampling_signal.h"

struct dnp_signal_info {
	siginfo_t system;
};

/* What is sent by this copy of the code, and by no other in the process. */
SIGSAFE void dnp_signal_make(struct dnp_signal_info *info, enum dnp_signal_kind kind);

static inline SIGSAFE const struct dnp_signal_info *dnp_signal_info_of(const siginfo_t *system)
{
	return (const struct dnp_signal_info *)system;
}

#endif
