/* SPDX-License-Identifier: MIT */
#include "launch/status.h"

#include <stddef.h>
#include <string.h>

#include "base/clean.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | ' ');
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes that would end a value stand as % and two digits. */
static void take_text(char *out, size_t room, struct dnp_str value)
{
	size_t n = 0;

	for (size_t i = 0; i < value.n && n < room - 1; i++) {
		bool escaped = value.p[i] == '%' && i + 2 < value.n &&
			hex_digit(value.p[i + 1]) >= 0 && hex_digit(value.p[i + 2]) >= 0;

		out[n] = value.p[i];
		if (escaped) {
			out[n] = (char)(hex_digit(value.p[i + 1]) << 4 | hex_digit(value.p[i + 2]));
			i += 2;
		}
		n++;
	}
	out[n] = '\0';
}

static uint64_t take_number(struct dnp_str value)
{
	uint64_t number = 0;

	for (size_t i = 0; i < value.n && value.p[i] >= '0' && value.p[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(value.p[i] - '0');
	return number;
}

static const struct field {
	const char *key;
	size_t at, room; /* room 0: a number */
} fields[] = {
#define TEXT(name)                                                                                 \
	{                                                                                          \
#name, offsetof(struct dnp_status, name), sizeof(((struct dnp_status *)0)->name)   \
	}
#define NUMBER(name)                                                                               \
	{                                                                                          \
#name, offsetof(struct dnp_status, name), 0                                        \
	}
	TEXT(version),
	TEXT(runtime),
	TEXT(state),
	TEXT(slot),
	TEXT(how),
	TEXT(events),
	TEXT(lost_weights),
	TEXT(reason),
	TEXT(failure),
	NUMBER(since_unix_ns),
	NUMBER(samples),
	NUMBER(lost),
	NUMBER(bytes),
	NUMBER(threads),
	NUMBER(client),
};

static void take(struct dnp_status *status, struct dnp_str key, struct dnp_str value)
{
	if (dnp_str_eq(key, dnp_str("detachable")))
		status->detachable = dnp_str_eq(value, dnp_str("yes"));
	if (dnp_str_eq(key, dnp_str("held")))
		status->held = dnp_str_eq(value, dnp_str("yes"));
	if (dnp_str_eq(key, dnp_str("awaited")))
		status->awaited = dnp_str_eq(value, dnp_str("yes"));
	for (size_t i = 0; i < DNP_ARRAY_SIZE(fields); i++) {
		char *field = (char *)status + fields[i].at;
		uint64_t number = take_number(value);

		if (!dnp_str_eq(key, dnp_str(fields[i].key)))
			continue;
		if (fields[i].room)
			take_text(field, fields[i].room, value);
		else
			memcpy(field, &number, sizeof(number));
	}
}

void dnp_status_parse(struct dnp_status *status, struct dnp_str text)
{
	struct dnp_str pair, key;

	*status = (struct dnp_status){0};
	while (dnp_str_cut(&text, ' ', &pair))
		if (dnp_str_cut(&pair, '=', &key))
			take(status, key, pair);
}

bool dnp_lost_weight_next(struct dnp_str *left, struct dnp_lost_weight *next)
{
	struct dnp_str one;

	if (!dnp_str_cut(left, ',', &one) || !dnp_str_cut(&one, ':', &next->event) ||
		!dnp_str_cut(&one, ':', &next->unit))
		return false;
	next->lost = take_number(one);
	return true;
}
