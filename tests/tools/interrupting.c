/* SPDX-License-Identifier: MIT */
/*
 * For LD_PRELOAD: ctrl-C comes at the worst moment, when what was recorded is about to get its
 * place.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
	kill(getpid(), SIGINT);
	return (int)syscall(SYS_rename, from, to);
}
