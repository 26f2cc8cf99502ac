/* SPDX-License-Identifier: MIT */
#include "os/word.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool dnp_word_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	struct timespec t = {
		(time_t)(ns / UINT64_C(1000000000)), (long)(ns % UINT64_C(1000000000))};

	return !syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0) ||
		errno != ETIMEDOUT;
}

void dnp_word_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
