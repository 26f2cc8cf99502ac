/* SPDX-License-Identifier: MIT */
/*
 * Text of bounded length in the caller's buffer: always terminated, always whole UTF-8 characters.
 * What does not fit is left out and the text ends with "…"; everything put after that is ignored.
 *
 * Allocates nothing, locks nothing: any thread, signal handlers too.
 */
#ifndef DNP_BASE_TEXT_H
#define DNP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct dnp_text {
	char *p;    /* borrowed; p[n] is 0 */
	size_t cap; /* bytes of the buffer, at least 1 */
	size_t n;   /* bytes of text */
	bool cut;   /* something did not fit */
};

void dnp_text_init(struct dnp_text *text, char *buffer, size_t cap);

void dnp_text_put(struct dnp_text *text, struct dnp_str str);
void dnp_text_puts(struct dnp_text *text, const char *str);

/* UTF-16 in the machine's byte order; a lone half of a surrogate pair becomes U+FFFD. */
void dnp_text_put16(struct dnp_text *text, const uint16_t *units, size_t n);

/* Takes back what was put since the text had n bytes; not if it was cut. */
void dnp_text_rewind(struct dnp_text *text, size_t n);

/* The text from byte `from` on; borrowed. */
static inline struct dnp_str dnp_text_since(const struct dnp_text *text, size_t from)
{
	return (struct dnp_str){text->p + from, text->n - from};
}

#endif
