/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <inttypes.h>

#include "base/utf8.h"

static bool must_escape(uint32_t code)
{
	return code == '"' || code == '\\' || code == '<' || code == '>' || code == '&' ||
		dnp_utf8_unsafe(code);
}

static void put_escaped(struct dnp_sink *sink, uint32_t code)
{
	if (code == '"' || code == '\\')
		dnp_sink_printf(sink, "\\%c", (int)code);
	else
		dnp_sink_printf(sink, "\\u%04x", code);
}

static void put_string(struct dnp_sink *sink, struct dnp_str str)
{
	size_t from = 0; /* runs of bytes that need nothing are written at once */

	dnp_sink_puts(sink, "\"");
	for (size_t at = 0; at < str.n;) {
		size_t before = at;
		uint32_t code = dnp_utf8_next(str, &at);
		bool bad = code == DNP_UTF8_BAD && at - before == 1;

		if (!bad && !must_escape(code))
			continue;
		dnp_sink_write(sink, str.p + from, before - from);
		if (bad)
			dnp_sink_puts(sink, "\xef\xbf\xbd");
		else
			put_escaped(sink, code);
		from = at;
	}
	dnp_sink_write(sink, str.p + from, str.n - from);
	dnp_sink_puts(sink, "\"");
}

static void begin_value(struct dnp_json *json, const char *key)
{
	if (json->comma)
		dnp_sink_puts(json->sink, ",");
	json->comma = true;
	if (key) {
		put_string(json->sink, dnp_str(key));
		dnp_sink_puts(json->sink, ":");
	}
}

void dnp_json_open(struct dnp_json *json, const char *key, char open)
{
	begin_value(json, key);
	dnp_sink_write(json->sink, &open, 1);
	json->comma = false;
}

void dnp_json_close(struct dnp_json *json, char close)
{
	dnp_sink_write(json->sink, &close, 1);
	json->comma = true;
}

void dnp_json_str(struct dnp_json *json, const char *key, struct dnp_str value)
{
	begin_value(json, key);
	put_string(json->sink, value);
}

void dnp_json_text(struct dnp_json *json, const char *key, const char *value)
{
	dnp_json_str(json, key, dnp_str(value));
}

void dnp_json_u64(struct dnp_json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	dnp_sink_printf(json->sink, "%" PRIu64, value);
}

void dnp_json_i64(struct dnp_json *json, const char *key, int64_t value)
{
	begin_value(json, key);
	dnp_sink_printf(json->sink, "%" PRId64, value);
}

void dnp_json_bool(struct dnp_json *json, const char *key, bool value)
{
	begin_value(json, key);
	dnp_sink_puts(json->sink, value ? "true" : "false");
}
