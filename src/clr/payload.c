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

/* `[]`, `[,]` and `[*]` are arrays; else a bracket holds the arguments of a generic type. */
static bool is_array(const char *at)
{
	return at[1] == ']' || at[1] == ',' || at[1] == '*';
}

static const char *skip_arity(const char *at)
{
	const char *end = at + 1;

	while (*end >= '0' && *end <= '9')
		end++;
	return end;
}

static void put_name(const char *name, struct dnp_text *out)
{
	unsigned arrays = 0, open = 0; /* brackets */

	while (*name) {
		const char *from = name;
		const char *as = NULL;
		size_t plain = strcspn(name, "`[],");

		if (plain) {
			dnp_text_put(out, (struct dnp_str){name, plain});
			name += plain;
			continue;
		}
		if (*name == '`' && name[1] >= '0' && name[1] <= '9') {
			name = skip_arity(name);
			continue;
		}
		name++;
		if (*from == '[' && is_array(from))
			arrays++;
		else if (*from == '[')
			as = "<", open++;
		else if (*from == ']' && arrays)
			arrays--;
		else if (*from == ']' && open)
			as = ">", open--;
		else if (*from == ',' && !arrays && open)
			as = ", ";
		if (as)
			dnp_text_puts(out, as);
		else
			dnp_text_put(out, (struct dnp_str){from, 1});
	}
}

void dnp_payload_type(struct dnp_payload *payload, struct dnp_text *out)
{
	char buffer[1024];
	struct dnp_text raw;

	dnp_text_init(&raw, buffer, sizeof(buffer));
	dnp_payload_text(payload, &raw);
	put_name(raw.p, out);
}
