/* SPDX-License-Identifier: MIT */
#include "aggregate/calls.h"

void dnp_calls_init(struct dnp_calls *calls, enum dnp_detail detail)
{
	*calls = (struct dnp_calls){0};
	dnp_rows_init(&calls->counts, detail, DNP_ROWS_LIMIT);
}

void dnp_calls_done(struct dnp_calls *calls)
{
	dnp_rows_done(&calls->counts);
	dnp_vec_done(&calls->spans);
}

struct dnp_call_span dnp_call_span_join(struct dnp_call_span a, struct dnp_call_span b)
{
	if (!a.max_ns)
		return b;
	if (!b.max_ns)
		return a;
	return (struct dnp_call_span){
		.min_ns = a.min_ns < b.min_ns ? a.min_ns : b.min_ns,
		.max_ns = a.max_ns > b.max_ns ? a.max_ns : b.max_ns,
	};
}
