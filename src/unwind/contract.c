/* SPDX-License-Identifier: MIT */
#include "unwind/contract.h"

#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "os/library.h"
#include "os/mem.h"

/* ---- The text: only what the runtime's build writes, no blanks, {"name":{"field":offset,...}} */

/* Behind the first `"name":` in [p, end), or NULL. */
static const char *find_key(const char *p, const char *end, const char *name)
{
	size_t n = strlen(name);

	while (p < end && (p = memchr(p, '"', (size_t)(end - p)))) {
		p++;
		if ((size_t)(end - p) > n + 2 && memcmp(p, name, n) == 0 && p[n] == '"' &&
			p[n + 1] == ':')
			return p + n + 2;
	}
	return NULL;
}

/* A number, or a pair of a number and a type's name. */
static bool read_offset(const char *p, const char *end, uint32_t *offset)
{
	uint32_t value = 0, digits = 0;

	if (p < end && *p == '[')
		p++;
	for (; p < end && *p >= '0' && *p <= '9' && digits < 6; p++, digits++)
		value = value * 10 + (uint32_t)(*p - '0');
	*offset = value;
	return digits > 0;
}

bool dnp_contract_parse(const char *json, size_t n, struct dnp_code_header_layout *layout)
{
	const char *end = json + n, *type = find_key(json, end, "RealCodeHeader");
	const char *field;

	if (!type || *type != '{')
		return false;
	end = memchr(type, '}', (size_t)(end - type));
	if (!end)
		return false;
	field = find_key(type, end, "MethodDesc");
	if (!field || !read_offset(field, end, &layout->method))
		return false;
	field = find_key(type, end, "NumUnwindInfos");
	if (!field || !read_offset(field, end, &layout->n_unwind_infos))
		return false;
	field = find_key(type, end, "UnwindInfos");
	return field && read_offset(field, end, &layout->unwind_infos);
}

/* ---- The runtime */

struct descriptor {
	char magic[8];
	uint32_t flags, json_bytes;
	uintptr_t json;
};

#define MAGIC            "DNCCDAC" /* and a zero */
#define JSON_BYTES_MAX   (1U << 20)
#define LAYOUT_BYTES_MAX 256 /* of the part of a header that is read */

static uintptr_t find_descriptor(void)
{
	return (uintptr_t)dnp_library_symbol("coreclr", "DotNetRuntimeContractDescriptor");
}

static bool read_contract(struct dnp_code_header_layout *layout)
{
	uintptr_t at = find_descriptor();
	struct descriptor d;
	auto_free char *json = NULL;

	if (!at || dnp_mem_read(at, &d, sizeof(d)) < 0 || memcmp(d.magic, MAGIC, 8) != 0 ||
		!d.json_bytes || d.json_bytes > JSON_BYTES_MAX)
		return false;
	json = malloc(d.json_bytes);
	return json && dnp_mem_read(d.json, json, d.json_bytes) == 0 &&
		dnp_contract_parse(json, d.json_bytes, layout) &&
		layout->method <= LAYOUT_BYTES_MAX - 8 &&
		layout->n_unwind_infos <= LAYOUT_BYTES_MAX - 8 &&
		layout->unwind_infos <= LAYOUT_BYTES_MAX - 8;
}

void dnp_contract_read(struct dnp_code_header_layout *layout)
{
	if (read_contract(layout))
		layout->contract = true;
	else /* dotnet/runtime, codeman.h, struct _hpRealCodeHdr */
		*layout = (struct dnp_code_header_layout){24, 32, 36, false};
}
