/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON to a sink, commas and quotes included, any depth.
 *
 * Text of unknown origin is made valid: bytes that are not UTF-8 become U+FFFD; control
 * characters, < > & and the line separators are escaped, so that the result can stand inside a
 * <script> element.
 */
#ifndef DNP_BASE_JSON_H
#define DNP_BASE_JSON_H

#include <stdbool.h>

#include "base/sink.h"

struct dnp_json {
	struct dnp_sink *sink; /* borrowed */
	bool comma;            /* a value has been written at this depth */
};

/* open is '{' or '[', close its partner. key is NULL in arrays and at the top. */
void dnp_json_open(struct dnp_json *json, const char *key, char open);
void dnp_json_close(struct dnp_json *json, char close);
void dnp_json_str(struct dnp_json *json, const char *key, struct dnp_str value);
void dnp_json_text(struct dnp_json *json, const char *key, const char *value);
void dnp_json_u64(struct dnp_json *json, const char *key, uint64_t value);
void dnp_json_i64(struct dnp_json *json, const char *key, int64_t value);
void dnp_json_bool(struct dnp_json *json, const char *key, bool value);

#endif
