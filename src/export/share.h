/* SPDX-License-Identifier: MIT */
/* Shares, counts and times as people read them. */
#ifndef DNP_EXPORT_SHARE_H
#define DNP_EXPORT_SHARE_H

#include "aggregate/tree.h"

/* Enough for every dnp_format_*. */
struct dnp_number {
	char text[48];
};

/* The total from which on a node has min_percent of the samples; at least 1. */
uint64_t dnp_share_least(const struct dnp_tree *tree, double min_percent);

double dnp_percent(uint64_t part, uint64_t whole);
struct dnp_number dnp_format_count(uint64_t count);  /* 1,234,567 */
struct dnp_number dnp_format_duration(uint64_t ns);  /* 12 µs, 250 ms, 10.3 s, 3 min 20 s */
struct dnp_number dnp_format_time(uint64_t unix_ns); /* 2026-11-21 12:44:01 UTC */

#endif
