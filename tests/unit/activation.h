/* SPDX-License-Identifier: MIT */
/* A test program that stands for the runtime. */
#ifndef DNP_ACTIVATION_H
#define DNP_ACTIVATION_H

#include "test.h"

#include <signal.h>

#include "os/sampling_signal.h"
#include "os/stop.h"

static void on_activation(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
}

/*
 * Has a handler of the activation signal, as the runtime has at its start, and none of SIGSEGV that
 * would not keep that signal away (the address sanitizer's does not). Threads can be stopped then.
 */
static void act_as_the_runtime(void)
{
	struct sigaction runtime = {.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO};
	struct dnp_err err;

	signal(SIGSEGV, SIG_DFL);
	CHECK(sigaction(dnp_signal_number(), &runtime, NULL) == 0);
	if (dnp_stop_open(&err))
		FAIL("%s", err.text);
}

#endif
