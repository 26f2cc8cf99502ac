/* SPDX-License-Identifier: MIT */
#include "os/word.h"

#include "os/clock.h"

bool dnp_word_wait_change(_Atomic uint32_t *word, uint32_t value, uint64_t patience_ns)
{
	uint64_t until_ns = dnp_now_ns() + patience_ns, now_ns;

	/* Pairs with the release of who changes it. */
	while (atomic_load_explicit(word, memory_order_acquire) == value) {
		now_ns = dnp_now_ns();
		if (now_ns >= until_ns || !dnp_word_wait(word, value, until_ns - now_ns))
			return atomic_load_explicit(word, memory_order_acquire) != value;
	}
	return true;
}
