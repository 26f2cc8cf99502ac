/* SPDX-License-Identifier: MIT */
/*
 * How much a happening has to stand for, so that of very many no more are kept than what their
 * stacks cost is worth: a bucket of stacks that fills at a rate, and what is in it may be used up
 * within a quarter of a second. A program that runs shortly, or has much of it now and then, so is
 * seen as closely as was asked for.
 *
 * It depends on what was kept before and never on the happening that is chosen, so sums have no
 * bias. One thread at a time.
 */
#ifndef DNP_CAPTURE_THROTTLE_H
#define DNP_CAPTURE_THROTTLE_H

#include <stdint.h>

#define DNP_THROTTLE_SAVED   4000.0 /* stacks that the bucket holds, and has at first */
#define DNP_THROTTLE_HASTE   4.0    /* of what is in it may be used up in a second */
#define DNP_THROTTLE_LOOK_NS UINT64_C(50000000)
#define DNP_THROTTLE_MOST    (UINT64_C(1) << 40)

struct dnp_throttle {
	double per_s; /* 0: there is none */
	double saved; /* stacks; less than none: that many too many */
	uint64_t looked_ns, kept;
};

static inline struct dnp_throttle dnp_throttle(uint32_t per_s, uint64_t now_ns)
{
	return (struct dnp_throttle){
		.per_s = per_s, .saved = DNP_THROTTLE_SAVED, .looked_ns = now_ns};
}

/*
 * What is to be wanted from now on (dnp_thin), at least `asked`, where `wanted` was until now and
 * `kept` have been kept so far.
 */
static inline uint64_t dnp_throttle_wanted(struct dnp_throttle *throttle, uint64_t asked,
	uint64_t wanted, uint64_t kept, uint64_t now_ns)
{
	double s = (double)(now_ns - throttle->looked_ns) / 1e9, came, allowed, next;

	if (throttle->per_s <= 0 || now_ns - throttle->looked_ns < DNP_THROTTLE_LOOK_NS)
		return wanted;
	came = (double)(kept - throttle->kept);
	throttle->kept = kept;
	throttle->looked_ns = now_ns;
	throttle->saved += throttle->per_s * s - came;
	if (throttle->saved > DNP_THROTTLE_SAVED)
		throttle->saved = DNP_THROTTLE_SAVED;
	if (throttle->saved < -throttle->per_s / 2)
		throttle->saved = -throttle->per_s / 2;
	allowed = throttle->per_s;
	allowed += throttle->saved > 0 ? throttle->saved * DNP_THROTTLE_HASTE : throttle->saved;
	next = came > allowed * s / 2 ? came / (allowed * s) : 0.5;
	next *= (double)wanted;
	if (next > (double)DNP_THROTTLE_MOST)
		next = (double)DNP_THROTTLE_MOST;
	return next > (double)asked ? (uint64_t)next : asked;
}

#endif
