/* SPDX-License-Identifier: MIT */
#include "clr/payload.h"

#include <string.h>

static void take(struct dnp_payload *payload, void *to, size_t n)
{
	memset(to, 0, n);
	if (n > (size_t)(payload->end - payload->p)) {
		payload->bad = true;
		payload->p = payload->end;
		return;
	}
	memcpy(to, payload->p, n);
	payload->p += n;
}

#define GETTER(name, type)                                                                         \
	type dnp_payload_##name(struct dnp_payload *payload)                                       \
	{                                                                                          \
		type value;                                                                        \
                                                                                                   \
		take(payload, &value, sizeof(value));                                              \
		return value;                                                                      \
	}

GETTER(u8, uint8_t)
GETTER(u16, uint16_t)
GETTER(u32, uint32_t)
GETTER(u64, uint64_t)
GETTER(pointer, uintptr_t)

void dnp_payload_text(struct dnp_payload *payload, struct dnp_text *out)
{
	uint16_t units[64];
	size_t n = 0;
	bool more = true;

	while (more) {
		uint16_t unit = dnp_payload_u16(payload);

		more = unit != 0;
		/* Not between the halves of a pair. */
		if (!more || (n >= 63 && (unit & 0xfc00) != 0xdc00)) {
			dnp_text_put16(out, units, n);
			n = 0;
		}
		if (n < 64)
			units[n++] = unit;
	}
}

void dnp_payload_skip_text(struct dnp_payload *payload)
{
	while (payload->end - payload->p >= 2 && (payload->p[0] || payload->p[1]))
		payload->p += 2;
	dnp_payload_u16(payload);
}

/* ---- Names of types */

enum {
	MAX_TYPE_ARGS = 32, /* of one type; the rest are left out */
	MAX_DEPTH = 8,      /* types within types by type arguments; deeper ones as they stand */
};

/* The arguments of a type's name, which all stand at its end: `Outer`1+Inner`1[A,B]`. */
struct arguments {
	unsigned n, next;
	const char *at[MAX_TYPE_ARGS]; /* borrowed */
};

static const char *put_type(const char *at, unsigned depth, struct dnp_text *out);

/* `[]`, `[,]` and `[*]` are arrays; else a bracket holds the arguments of a generic type. */
static bool is_array(const char *at)
{
	return at[1] == ']' || at[1] == ',' || at[1] == '*';
}

/* One character of a name; a backslash says that the next one has no meaning of its own. */
static const char *next(const char *at)
{
	return at + (at[0] == '\\' && at[1] ? 2 : 1);
}

static const char *put_next(const char *at, struct dnp_text *out)
{
	const char *end = next(at);

	dnp_text_put(out, (struct dnp_str){end - 1, 1});
	return end;
}

static const char *end_of_name(const char *at)
{
	while (*at && !strchr("[],", *at))
		at = next(at);
	return at;
}

/* Where the type ends that begins there: before a comma or bracket that is not its own. */
static const char *end_of_type(const char *at)
{
	unsigned open = 0;

	for (; *at && (open || (*at != ',' && *at != ']')); at = next(at)) {
		if (*at == '[')
			open++;
		else if (*at == ']')
			open--;
	}
	return at;
}

/* From the bracket on. Returns what comes after them. */
static const char *read_arguments(const char *at, struct arguments *arguments)
{
	do {
		if (arguments->n < MAX_TYPE_ARGS)
			arguments->at[arguments->n++] = ++at;
		else
			at++;
		at = end_of_type(at);
	} while (*at == ',');
	return *at ? at + 1 : at;
}

static void put_arguments(
	struct arguments *arguments, unsigned n, unsigned depth, struct dnp_text *out)
{
	unsigned first = arguments->next;

	if (n > arguments->n - first)
		n = arguments->n - first;
	if (!n)
		return;
	arguments->next += n;
	dnp_text_puts(out, "<");
	for (unsigned i = 0; i < n; i++) {
		if (i)
			dnp_text_puts(out, ", ");
		put_type(arguments->at[first + i], depth + 1, out);
	}
	dnp_text_puts(out, ">");
}

/* Each type of a name takes as many of the arguments as it has parameters. */
static void put_name(const char *at, const char *end, struct arguments *arguments, unsigned depth,
	struct dnp_text *out)
{
	while (at < end) {
		unsigned arity = 0;

		if (at[0] != '`' || at[1] < '0' || at[1] > '9') {
			at = put_next(at, out);
			continue;
		}
		for (at++; *at >= '0' && *at <= '9'; at++)
			arity = arity < MAX_TYPE_ARGS ? arity * 10 + (unsigned)(*at - '0') : arity;
		put_arguments(arguments, arity, depth, out);
	}
	put_arguments(arguments, arguments->n, depth, out);
}

/* Returns where it ends. */
static const char *put_type(const char *at, unsigned depth, struct dnp_text *out)
{
	struct arguments arguments = {0};
	const char *name_end = end_of_name(at), *end = end_of_type(at);
	const char *rest = name_end;

	if (*name_end == '[' && !is_array(name_end) && depth < MAX_DEPTH)
		rest = read_arguments(name_end, &arguments);
	put_name(at, name_end, &arguments, depth, out);
	while (rest < end)
		rest = put_next(rest, out);
	return end;
}

static void put_types(const char *at, struct dnp_text *out)
{
	while (*at) {
		at = put_type(at, 0, out);
		/* It belongs to nothing. */
		if (*at)
			at = put_next(at, out);
	}
}

void dnp_payload_type(struct dnp_payload *payload, struct dnp_text *out)
{
	char buffer[1024];
	struct dnp_text raw;

	dnp_text_init(&raw, buffer, sizeof(buffer));
	dnp_payload_text(payload, &raw);
	put_types(raw.p, out);
}
