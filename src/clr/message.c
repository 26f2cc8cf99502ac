/* SPDX-License-Identifier: MIT */
#include "clr/message.h"

#include <uchar.h>

#include "clr/find.h"
#include "clr/hresult.h"
#include "os/mem.h"

enum {
	FIELDS = 64,     /* of one class; System.Exception has some 15 */
	DERIVED = 64,    /* classes from an exception's to System.Exception */
	UNITS_MAX = 512, /* that are read of a message */
};

static const WCHAR *const field_name = (const WCHAR *)u"_message";

/* The class below System.Object. */
static ClassID find_base(ICorProfilerInfo *info, ClassID class_id, ModuleID *module, mdToken *type)
{
	for (unsigned i = 0; i < DERIVED; i++) {
		ClassID parent = 0, above = 0;
		ModuleID other;
		mdToken token;
		uint32_t n = 0;

		if (FAILED(dnp_com(
			    info, GetClassIDInfo2, class_id, module, type, &parent, 0, &n, NULL)) ||
			!parent ||
			FAILED(dnp_com(info, GetClassIDInfo2, parent, &other, &token, &above, 0, &n,
				NULL)))
			return 0;
		if (!above)
			return class_id;
		class_id = parent;
	}
	return 0;
}

static mdFieldDef find_field(ICorProfilerInfo *info, ModuleID module, mdToken type)
{
	IMetaDataImport *import = dnp_import_open(info, module);
	mdFieldDef field = 0;

	if (import && FAILED(dnp_com(import, FindField, type, field_name, NULL, 0, &field)))
		field = 0;
	if (import)
		dnp_com(import, Release);
	return field;
}

static bool find_offset(ICorProfilerInfo *info, ClassID class_id, mdFieldDef field, uint32_t *at)
{
	COR_FIELD_OFFSET fields[FIELDS];
	uint32_t n = 0, bytes;

	if (FAILED(dnp_com(info, GetClassLayout, class_id, fields, FIELDS, &n, &bytes)))
		return false;
	for (uint32_t i = 0; i < n && i < FIELDS; i++)
		if (fields[i].ridOfField == field) {
			*at = fields[i].ulOffset;
			return true;
		}
	return false;
}

bool dnp_message_find(const struct dnp_info *info, ClassID class_id, struct dnp_message_place *at)
{
	ModuleID module = 0;
	mdToken type = 0;
	ClassID base = find_base(info->com, class_id, &module, &type);
	mdFieldDef field = base ? find_field(info->com, module, type) : 0;

	return field && find_offset(info->com, base, field, &at->message) &&
		SUCCEEDED(dnp_com(info->com, GetStringLayout2, &at->length, &at->chars));
}

/* Of a character that takes two. */
static bool is_first_half(uint16_t unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

bool dnp_message_read(
	const struct dnp_message_place *at, ObjectID object, uint32_t max, struct dnp_text *text)
{
	uint16_t units[UNITS_MAX];
	uintptr_t string = 0;
	uint32_t length = 0, n;

	if (dnp_mem_read(object + at->message, &string, sizeof(string)) || !string ||
		dnp_mem_read(string + at->length, &length, sizeof(length)))
		return false;
	n = length < max ? length : max;
	n = n < UNITS_MAX ? n : UNITS_MAX;
	if (dnp_mem_read(string + at->chars, units, n * sizeof(*units)))
		return false;
	if (n && n < length && is_first_half(units[n - 1]))
		n--;
	dnp_text_put16(text, units, n);
	if (n < length)
		dnp_text_puts(text, "…");
	return true;
}
