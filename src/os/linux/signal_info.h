/* SPDX-License-Identifier: MIT */
/* What struct dnp_signal_info is here. */
#ifndef DNP_OS_LINUX_SIGNAL_INFO_H
#define DNP_OS_LINUX_SIGNAL_INFO_H

#include <signal.h>

#include "os/sampling_signal.h"

struct dnp_signal_info {
	siginfo_t system;
};

static inline SIGSAFE const struct dnp_signal_info *dnp_signal_info_of(const siginfo_t *system)
{
	return (const struct dnp_signal_info *)system;
}

#endif
