/* SPDX-License-Identifier: MIT */
/*
 * Values of arguments and results as bytes in a recording, and as text.
 *
 * A value is a tag and what the tag says follows:
 *
 *   NULL, TRUE, FALSE, VOID, OUT, UNKNOWN, MORE   nothing
 *   CHAR, UINT, POINTER                           a number (LEB128)
 *   INT                                           a number (zigzag LEB128)
 *   FLOAT, DOUBLE, DECIMAL, GUID                  4, 8, 16, 16 bytes, as they lie in memory
 *   DATE, SPAN                                    8 bytes: ticks of 100 ns (DATE: with its kind)
 *   STRING                                        a number: twice its bytes, plus one if it was
 * cut; then UTF-8 OBJECT                                        a number: its type ENUM its type,
 * then its value: an INT or UINT STRUCT                                        its type, how many
 * fields; then they as values REF                                           the value that it
 * refers to
 *
 * MORE ends the values: there was no room for the others. Types are indices of `call_type` records,
 * 0: not known.
 */
#ifndef DNP_FORMAT_VALUES_H
#define DNP_FORMAT_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/text.h"

enum dnp_value_tag {
	DNP_VALUE_NULL = 1,
	DNP_VALUE_TRUE = 2,
	DNP_VALUE_FALSE = 3,
	DNP_VALUE_VOID = 4,    /* a method that returns nothing */
	DNP_VALUE_OUT = 5,     /* an argument that the method has yet to set */
	DNP_VALUE_UNKNOWN = 6, /* memory that cannot be read, or a type that is not known */
	DNP_VALUE_MORE = 7,
	DNP_VALUE_CHAR = 8,
	DNP_VALUE_INT = 9,
	DNP_VALUE_UINT = 10,
	DNP_VALUE_POINTER = 11,
	DNP_VALUE_FLOAT = 12,
	DNP_VALUE_DOUBLE = 13,
	DNP_VALUE_DECIMAL = 14,
	DNP_VALUE_GUID = 15,
	DNP_VALUE_DATE = 16,
	DNP_VALUE_SPAN = 17,
	DNP_VALUE_STRING = 18,
	DNP_VALUE_OBJECT = 19,
	DNP_VALUE_ENUM = 20,
	DNP_VALUE_STRUCT = 21,
	DNP_VALUE_REF = 22,
};

enum { DNP_VALUES_MAX_DEPTH = 8 }; /* of values within values */

/* Values while they are written, in the caller's buffer of at least one byte. */
struct dnp_values {
	uint8_t *p; /* borrowed */
	size_t n, cap;
	bool full; /* something did not fit: MORE stands at the end */
};

SIGSAFE void dnp_values_init(struct dnp_values *values, uint8_t *buffer, size_t cap);

/* One of those that nothing follows, or REF. */
SIGSAFE void dnp_values_put(struct dnp_values *values, enum dnp_value_tag tag);
/* CHAR, INT (made unsigned by dnp_zigzag), UINT, POINTER, OBJECT; ENUM, whose value follows. */
SIGSAFE void dnp_values_put_number(
	struct dnp_values *values, enum dnp_value_tag tag, uint64_t number);
/* FLOAT, DOUBLE, DECIMAL, GUID, DATE, SPAN: exactly their bytes. */
SIGSAFE void dnp_values_put_bytes(
	struct dnp_values *values, enum dnp_value_tag tag, const void *bytes, size_t n);
/* The first `n` units of a string of UTF-16; `cut`: it has more. */
SIGSAFE void dnp_values_put_string(
	struct dnp_values *values, const uint16_t *units, size_t n, bool cut);
/* As many values have to follow. */
SIGSAFE void dnp_values_put_struct(struct dnp_values *values, uint32_t type, uint32_t n_fields);

/* The name of a type; empty: not known. */
typedef struct dnp_str (*dnp_value_type_name)(void *context, uint32_t type);

/*
 * Writes values as C# writes them, with ", " between them: `1, "abc", null, <Shop.Order>`. Returns
 * 0, or -EBADMSG where they are damaged; the text then ends with "?". Any bytes may be given.
 */
int dnp_values_text(const uint8_t *values, size_t n, dnp_value_type_name name, void *context,
	struct dnp_text *out);

#endif
