/* SPDX-License-Identifier: MIT */
/* Patterns on names: Namespace.Type.Method, where * stands for any run of characters. */
#ifndef DNP_AGGREGATE_PATTERN_H
#define DNP_AGGREGATE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Matches the whole name; one without "(" is compared without the name's argument list. */
bool dnp_pattern_match(const char *pattern, struct dnp_str name);

/* Whether any of n patterns does. */
bool dnp_pattern_any(const char *const *patterns, size_t n, struct dnp_str name);

#endif
