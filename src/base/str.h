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

#endif
