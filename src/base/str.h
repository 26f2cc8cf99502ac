/* SPDX-License-Identifier: MIT */
/* A borrowed run of bytes: not terminated, may hold any byte. */
#ifndef DNP_BASE_STR_H
#define DNP_BASE_STR_H

#include <stddef.h>
#include <string.h>

struct dnp_str {
	const char *p; /* borrowed */
	size_t n;      /* bytes */
};

static inline struct dnp_str dnp_str(const char *text)
{
	return (struct dnp_str){text, text ? strlen(text) : 0};
}

static inline int dnp_str_eq(struct dnp_str a, struct dnp_str b)
{
	return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

/* Takes the part up to the next separator off *rest: 0 when there is none left. */
static inline int dnp_str_cut(struct dnp_str *rest, char separator, struct dnp_str *part)
{
	const char *end = rest->n ? (const char *)memchr(rest->p, separator, rest->n) : NULL;

	*part = *rest;
	if (!rest->n)
		return 0;
	part->n = end ? (size_t)(end - rest->p) : rest->n;
	rest->p += part->n + (end != NULL);
	rest->n -= part->n + (end != NULL);
	return 1;
}

#endif
