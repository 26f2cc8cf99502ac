/* SPDX-License-Identifier: MIT */
#include "aggregate/pattern.h"

#include <stdint.h>

/* Only the last * has to be tried again at later places, so this is at worst n times m. */
static bool glob(struct dnp_str pattern, struct dnp_str name)
{
	size_t p = 0, n = 0, star = SIZE_MAX, from = 0;

	while (n < name.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			from = n;
		} else if (p < pattern.n && pattern.p[p] == name.p[n]) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			n = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

bool dnp_pattern_match(const char *pattern, struct dnp_str name)
{
	const char *arguments = NULL;

	if (name.n && !strchr(pattern, '('))
		arguments = memchr(name.p, '(', name.n);
	if (arguments && arguments != name.p)
		name.n = (size_t)(arguments - name.p);
	return glob(dnp_str(pattern), name);
}

bool dnp_pattern_any(const char *const *patterns, size_t n, struct dnp_str name)
{
	for (size_t i = 0; i < n; i++)
		if (dnp_pattern_match(patterns[i], name))
			return true;
	return false;
}
