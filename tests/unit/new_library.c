/* SPDX-License-Identifier: MIT */
/* A library that asks for a sample while it is being loaded; see test_walk.c. */
#include <signal.h>

static volatile int sink;

__attribute__((noipa)) static void deep(int n)
{
	if (n)
		deep(n - 1);
	else
		raise(SIGUSR1);
	sink++;
}

__attribute__((constructor)) static void begin(void)
{
	deep(20);
	sink++;
}
