/* SPDX-License-Identifier: MIT */
#include "os/linux/no_place.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/linux/front.h"
#include "os/sampling_signal.h"

static SIGSAFE void on_signal(int signo, siginfo_t *info, void *context);

static struct dnp_front front = {.signo = SIGIO, .handler = on_signal};

/* Written before the handler is installed. */
static dnp_no_place_handler lost;

/* Somebody has sent it, on purpose: it does what it did, once this handler has returned. */
static SIGSAFE void end_program(void)
{
	const struct sigaction none = {.sa_handler = SIG_DFL};

	sigaction(SIGIO, &none, NULL);
	syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGIO);
}

static SIGSAFE void on_signal(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)signo;
	atomic_fetch_add_explicit(&front.inside, 1, memory_order_acquire);
	if (info->si_code == SI_KERNEL) {
		/* sigsafe: by its contract */
		lost(info);
		dnp_signal_restart_syscall(context);
	} else {
		end_program();
	}
	errno = saved;
	/* Pairs with dnp_departure_wait. */
	atomic_fetch_sub_explicit(&front.inside, 1, memory_order_release);
}

int dnp_no_place_watch(dnp_no_place_handler handler)
{
	struct sigaction now;

	if (front.installed)
		return 0;
	if (sigaction(SIGIO, NULL, &now))
		return -errno;
	if ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)
		return 0;
	lost = handler;
	return dnp_front_install(&front, &now, SA_SIGINFO | SA_RESTART, true);
}

int dnp_no_place_leave(void)
{
	return dnp_front_put_back(&front);
}

bool dnp_no_place_left(uint64_t deadline_ns)
{
	return dnp_front_left(&front, deadline_ns);
}
