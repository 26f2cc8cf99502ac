/* SPDX-License-Identifier: MIT */
#include "base/hresult.h"

#include <stddef.h>

static const struct entry {
	HRESULT value;
	const char *name;
	const char *text;
} entries[] = {
#define DNP_HRESULT(name, value, meaning)       {name, #name, meaning},
#define DNP_HRESULT_WIN32(name, error, meaning) {HRESULT_##name, #name, meaning},
#include "base/hresult.def"
};

static const struct entry *find(HRESULT hr)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i].value == hr)
			return &entries[i];
	return NULL;
}

const char *dnp_hresult_name(HRESULT hr)
{
	const struct entry *entry = find(hr);

	return entry ? entry->name : NULL;
}

const char *dnp_hresult_text(HRESULT hr)
{
	const struct entry *entry = find(hr);

	if (entry)
		return entry->text;
	return hr < 0 ? "The call failed with a result that is not documented."
		      : "It worked, with a result that is not documented.";
}
