/* SPDX-License-Identifier: MIT */
/*
 * What a thread of ours may use of a processor, a percent or less: time passes, which gives it
 * some, and it works, which takes it. What it does not use is kept for a moment with much to do.
 *
 *   dnp_budget_begin(&budget, 100);
 *   while (…) { rest for dnp_budget_debt_ns(&budget) at least; work; dnp_budget_reckon(&budget); }
 */
#ifndef DNP_CAPTURE_BUDGET_H
#define DNP_CAPTURE_BUDGET_H

#include <stdint.h>

struct dnp_budget {
	uint64_t time_ns, cpu_ns; /* at the last reckoning; the thread's own clock */
	int64_t credit_ns;
	unsigned share; /* one part in so many of a processor's time */
};

/* All on the thread itself. */
void dnp_budget_begin(struct dnp_budget *budget, unsigned share);
void dnp_budget_reckon(struct dnp_budget *budget);

/* So long it has to rest for what it has used too much. */
uint64_t dnp_budget_debt_ns(const struct dnp_budget *budget);

#endif
