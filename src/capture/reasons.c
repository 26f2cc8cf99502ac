/* SPDX-License-Identifier: MIT */
#include "capture/reasons.h"

#include <stdatomic.h>

SIGSAFE void dnp_reasons_count(struct dnp_reasons *reasons, HRESULT hr)
{
	for (size_t i = 0; i < DNP_REASONS_MAX; i++) {
		struct dnp_reason *reason = &reasons->each[i];
		HRESULT known = 0;

		if (!atomic_compare_exchange_strong(&reason->result, &known, hr) && known != hr &&
			i + 1 < DNP_REASONS_MAX)
			continue;
		atomic_fetch_add_explicit(&reason->count, 1, memory_order_release);
		return;
	}
}

void dnp_reasons_tell(struct dnp_reasons *reasons, unsigned event, dnp_failure_tell tell)
{
	for (size_t i = 0; i < DNP_REASONS_MAX; i++) {
		struct dnp_reason *reason = &reasons->each[i];
		uint64_t n = atomic_load_explicit(&reason->count, memory_order_acquire);
		const char *name = dnp_hresult_name(
			atomic_load_explicit(&reason->result, memory_order_relaxed));

		if (n)
			tell(event, name ? name : "an unknown HRESULT", n);
	}
}
