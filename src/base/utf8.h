/* SPDX-License-Identifier: MIT */
/* Text of unknown origin: decoding, columns on a terminal, and making it safe to show. */
#ifndef DNP_BASE_UTF8_H
#define DNP_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define DNP_UTF8_BAD UINT32_C(0xfffd) /* stands for every byte that is not UTF-8 */

/* The code point at *at (which is below str.n); *at advances past it. */
uint32_t dnp_utf8_next(struct dnp_str str, size_t *at);

/*
 * Whether a code point must not reach a terminal or a page as it is: control characters, line and
 * paragraph separators, and those that turn the direction of the text around them.
 */
int dnp_utf8_unsafe(uint32_t code);

/* Columns that a code point takes: 0 (combining), 1, or 2 (East Asian wide, emoji). */
unsigned dnp_utf8_width(uint32_t code);

/* Columns of a whole text, unsafe code points counted as one. */
size_t dnp_utf8_columns(struct dnp_str str);

/* How many of its bytes there is room for, in whole characters. */
size_t dnp_utf8_fit(struct dnp_str str, size_t room);

/* Writes 1 to 4 bytes and returns their number. */
size_t dnp_utf8_put(char out[4], uint32_t code);

#endif
