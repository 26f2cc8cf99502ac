/* SPDX-License-Identifier: MIT */
/* Shares, counts and times as people read them. */
#ifndef DNP_EXPORT_SHARE_H
#define DNP_EXPORT_SHARE_H

#include "aggregate/tree.h"

/* Enough for every dnp_format_*. */
struct dnp_number {
	char text[48];
};

/*
 * The total from which on a node has min_percent of the samples; at least 1, unless all nodes are
 * wanted of an event whose nodes may have no time at all.
 */
uint64_t dnp_share_least(const struct dnp_tree *tree, double min_percent);

/* Whether its samples are of moments that stand for more or less time each. */
bool dnp_event_has_looks(const struct dnp_event *event);

double dnp_percent(uint64_t part, uint64_t whole);
struct dnp_number dnp_format_count(uint64_t count); /* 1,234,567 */
/* How many a sum stands for; ~1,234 where that is estimated. */
struct dnp_number dnp_format_estimate(const struct dnp_label_sum *sum);
struct dnp_number dnp_format_duration(uint64_t ns); /* 12 µs, 250 ms, 10.3 s, 3 min 20 s */
struct dnp_number dnp_format_ns(uint64_t ns);       /* three digits: 950 ns, 1.25 µs, 12.5 ms */
struct dnp_number dnp_format_bytes(uint64_t bytes); /* 950 B, 12.5 KiB, 1.25 GiB */
/* What samples weigh. */
struct dnp_number dnp_format_weight(const struct dnp_event *event, uint64_t weight);
/* … and of what was lost: of samples what they would have weighed, of calls how many. */
struct dnp_number dnp_format_lost(const struct dnp_event *event, uint64_t lost);
struct dnp_number dnp_format_time(uint64_t unix_ns); /* 2026-11-21 12:44:01 UTC; 0: not known */

#endif
