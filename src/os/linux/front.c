/* SPDX-License-Identifier: MIT */
#include "os/linux/front.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/clean.h"

/*
 * All that does not tell of a fault, which would end the program were it kept off. The C library's
 * own two as well, which sigfillset leaves out: a thread that is cancelled amid our handler would
 * leave it without a return, or, with glibc 2.41 and newer, sleep on in a call that is made again.
 */
static void keep_off_all(sigset_t *mask)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

	memset(mask, 0xff, sizeof(*mask));
	for (size_t i = 0; i < DNP_ARRAY_SIZE(faults); i++)
		sigdelset(mask, faults[i]);
}

int dnp_front_install(struct dnp_front *front, const struct sigaction *now, int flags, bool alone)
{
	struct sigaction ours = *now;

	if (front->installed)
		return 0;
	/* A thread may still be in the handler from before, and read what is the same. */
	if (now->sa_sigaction != front->previous.sa_sigaction)
		front->previous = *now;
	dnp_departure_done(&front->departure);
	ours.sa_sigaction = front->handler;
	ours.sa_flags |= flags;
	if (alone)
		keep_off_all(&ours.sa_mask);
	/* What is written above is there for who counts in: pairs with the acquire of handlers. */
	atomic_fetch_add_explicit(&front->inside, 0, memory_order_release);
	if (sigaction(front->signo, &ours, NULL))
		return -errno;
	front->installed = front->entered = true;
	return 0;
}

static bool is_ours(const struct dnp_front *front, const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == front->handler;
}

/* CoreCLR 8 takes all handlers away when it aborts: then there is nothing to put back, or to reach.
 */
static bool is_none(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

bool dnp_front_is_on_top(const struct dnp_front *front)
{
	struct sigaction now;

	return !sigaction(front->signo, NULL, &now) && is_ours(front, &now);
}

bool dnp_front_is_reached(const struct dnp_front *front)
{
	struct sigaction now;

	return front->installed && !sigaction(front->signo, NULL, &now) && !is_none(&now) &&
		now.sa_handler != SIG_IGN;
}

int dnp_front_put_back(struct dnp_front *front)
{
	struct sigaction now;

	if (!front->installed)
		return 0;
	if (sigaction(front->signo, NULL, &now))
		return -errno;
	if (is_ours(front, &now)) {
		if (sigaction(front->signo, &front->previous, &now))
			return -errno;
		/* Somebody came between. */
		if (!is_ours(front, &now) && sigaction(front->signo, &now, NULL))
			return -errno;
	}
	if (!is_ours(front, &now) && !is_none(&now))
		return -EBUSY;
	front->installed = false;
	return 0;
}

bool dnp_front_left(struct dnp_front *front, uint64_t deadline_ns)
{
	if (front->entered && !dnp_front_put_back(front))
		front->entered = !dnp_departure_wait(
			&front->departure, front->signo, &front->inside, deadline_ns);
	return !front->entered;
}
