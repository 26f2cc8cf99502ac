/* SPDX-License-Identifier: MIT */
#include "capture/budget.h"

#include "os/clock.h"
#include "os/thread.h"

#define CREDIT_NS INT64_C(5000000) /* that can be saved up */

void dnp_budget_begin(struct dnp_budget *budget, unsigned share)
{
	*budget = (struct dnp_budget){
		.time_ns = dnp_now_ns(),
		.cpu_ns = dnp_thread_cpu_ns(0),
		.credit_ns = CREDIT_NS,
		.share = share,
	};
}

void dnp_budget_reckon(struct dnp_budget *budget)
{
	uint64_t now_ns = dnp_now_ns(), cpu_ns = dnp_thread_cpu_ns(0);

	budget->credit_ns += (int64_t)((now_ns - budget->time_ns) / budget->share);
	budget->credit_ns -= (int64_t)(cpu_ns - budget->cpu_ns);
	if (budget->credit_ns > CREDIT_NS)
		budget->credit_ns = CREDIT_NS;
	budget->time_ns = now_ns;
	budget->cpu_ns = cpu_ns;
}

uint64_t dnp_budget_debt_ns(const struct dnp_budget *budget)
{
	return budget->credit_ns < 0 ? (uint64_t)-budget->credit_ns * budget->share : 0;
}
