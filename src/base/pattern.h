/* SPDX-License-Identifier: MIT */
/*
 * Patterns on names: Namespace.Type.Method, where * stands for any run of characters. Several are
 * listed with commas between them; commas inside of brackets belong to the pattern.
 *
 * Allocates nothing, locks nothing: any thread.
 */
#ifndef DNP_BASE_PATTERN_H
#define DNP_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/*
 * A name's argument list, "(…)" at its end, with what may stand behind it ("f(int) const"); empty:
 * it has none. Brackets of the name itself, as F# allows them, are no part of it, nor are those
 * behind a blank ("gen 0 (allocation)").
 */
struct dnp_str dnp_name_arguments(struct dnp_str name);

/* The name without that. */
static inline struct dnp_str dnp_name_bare(struct dnp_str name)
{
	return (struct dnp_str){name.p, name.n - dnp_name_arguments(name).n};
}

/* Matches the name without its argument list, or, with a "(" in it, the whole. */
bool dnp_pattern_match(struct dnp_str pattern, struct dnp_str name);

/* Whether any of n patterns does. */
bool dnp_pattern_any(const char *const *patterns, size_t n, struct dnp_str name);

/* Takes the first pattern off *list, without the blanks around it: false when there is none left.
 */
bool dnp_pattern_cut(struct dnp_str *list, struct dnp_str *pattern);

/* Whether any pattern of a list does; none of an empty list. */
bool dnp_pattern_list(struct dnp_str list, struct dnp_str name);

/*
 * Why a list cannot have been meant so, as in "…: a bracket is not closed": it has a pattern that
 * matches no name, or with `managed` none of a managed method. *pattern is that one. NULL: all are
 * well.
 */
const char *dnp_pattern_wrong(struct dnp_str list, bool managed, struct dnp_str *pattern);

#endif
