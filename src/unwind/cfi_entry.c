/* SPDX-License-Identifier: MIT */
#include "unwind/cfi_entry.h"

#include <string.h>

enum { PE_FORMAT = 0x0f, PE_BASE = 0x70, PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_OMIT = 0xff };

SIGSAFE static uint64_t take_value(struct dnp_cfi_cursor *c, unsigned encoding)
{
	switch (encoding & PE_FORMAT) {
	case 0x0: /* absolute */
	case 0x4:
	case 0xc: return dnp_cfi_take(c, 8);
	case 0x1: return dnp_cfi_take_uleb(c);
	case 0x2: return dnp_cfi_take(c, 2);
	case 0x3: return dnp_cfi_take(c, 4);
	case 0x9: return (uint64_t)dnp_cfi_take_sleb(c);
	case 0xa: return (uint64_t)(int16_t)dnp_cfi_take(c, 2);
	case 0xb: return (uint64_t)(int32_t)dnp_cfi_take(c, 4);
	default: c->bad = true; return 0;
	}
}

SIGSAFE uint64_t dnp_cfi_take_pointer(
	const struct dnp_cfi_reader *r, struct dnp_cfi_cursor *c, unsigned encoding)
{
	uintptr_t here = r->in->address + (uintptr_t)(c->at - r->in->bytes);
	uint64_t value = take_value(c, encoding);

	switch (encoding & PE_BASE) {
	case 0: return value;
	case PE_PCREL: return value + here;
	case PE_DATAREL: return value + r->in->hdr;
	default: c->bad = true; return 0;
	}
}

SIGSAFE bool dnp_cfi_entry_at(
	const struct dnp_cfi_reader *r, size_t at, struct dnp_cfi_cursor *body)
{
	uint32_t length;

	if (r->in->n - at < 8)
		return false;
	memcpy(&length, r->in->bytes + at, 4);
	if (length < 4 || length > r->in->n - at - 4)
		return false; /* the terminator, 64 bit lengths (nobody writes them), or nonsense */
	*body = (struct dnp_cfi_cursor){
		r->in->bytes + at + 4, r->in->bytes + at + 4 + length, false};
	return true;
}

SIGSAFE static bool read_augmentation(const struct dnp_cfi_reader *r, struct dnp_cfi_cursor *c,
	const char *letters, struct dnp_cfi_cie *cie)
{
	uint64_t bytes = dnp_cfi_take_uleb(c);
	struct dnp_cfi_cursor data = *c;

	dnp_cfi_skip(c, bytes);
	if (c->bad)
		return false;
	data.end = c->at;
	for (; *letters && !data.bad; letters++) {
		switch (*letters) {
		case 'R': cie->pointer_encoding = (unsigned)dnp_cfi_take(&data, 1); break;
		case 'L': dnp_cfi_take(&data, 1); break;
		case 'P': {
			unsigned encoding = (unsigned)dnp_cfi_take(&data, 1);

			if (encoding != PE_OMIT)
				dnp_cfi_take_pointer(r, &data, encoding);
			break;
		}
		case 'S': cie->signal = true; break;
		case 'B': break;
		default: return true; /* later letters may need data we cannot skip */
		}
	}
	return !data.bad;
}

SIGSAFE bool dnp_cfi_read_cie(const struct dnp_cfi_reader *r, size_t at, struct dnp_cfi_cie *cie)
{
	struct dnp_cfi_cursor c;
	const char *letters;
	unsigned version;

	if (!dnp_cfi_entry_at(r, at, &c) || dnp_cfi_take(&c, 4) != 0)
		return false;
	memset(cie, 0, sizeof(*cie));
	version = (unsigned)dnp_cfi_take(&c, 1);
	letters = (const char *)c.at;
	while (dnp_cfi_take(&c, 1) && !c.bad)
		;
	if (c.bad || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4)
		dnp_cfi_skip(&c, 2); /* sizes of an address and of a segment selector */
	cie->code_factor = dnp_cfi_take_uleb(&c);
	cie->data_factor = dnp_cfi_take_sleb(&c);
	if ((version == 1 ? dnp_cfi_take(&c, 1) : dnp_cfi_take_uleb(&c)) != 16)
		return false; /* the return address lives in column 16 */
	if (letters[0] == 'z') {
		cie->augmented = true;
		if (!read_augmentation(r, &c, letters + 1, cie))
			return false;
	} else if (letters[0]) {
		return false;
	}
	cie->begin = c.at;
	cie->end = c.end;
	return !c.bad;
}

SIGSAFE bool dnp_cfi_read_function(
	const struct dnp_cfi_reader *r, struct dnp_cfi_cursor c, struct dnp_cfi_fde *fde)
{
	uint64_t start = dnp_cfi_take_pointer(r, &c, r->cie.pointer_encoding);
	uint64_t size = take_value(&c, r->cie.pointer_encoding);

	if (r->cie.augmented)
		dnp_cfi_skip(&c, dnp_cfi_take_uleb(&c));
	if (c.bad || start < r->in->low || start >= r->in->high || !size ||
		size > r->in->high - start || start - r->in->low + size > UINT32_MAX)
		return false;
	fde->start = (uint32_t)(start - r->in->low);
	fde->end = (uint32_t)(start - r->in->low + size);
	fde->code = c;
	return true;
}

SIGSAFE bool dnp_cfi_read_fde(struct dnp_cfi_reader *r, size_t at, struct dnp_cfi_fde *fde)
{
	struct dnp_cfi_cursor c;
	uint64_t back;
	size_t cie_at;

	if (!dnp_cfi_entry_at(r, at, &c))
		return false;
	back = dnp_cfi_take(&c, 4);
	if (!back || back > at + 4)
		return false;
	cie_at = at + 4 - (size_t)back;
	if (cie_at != r->cie_at) {
		r->cie_at = SIZE_MAX;
		if (!dnp_cfi_read_cie(r, cie_at, &r->cie))
			return false;
		r->cie_at = cie_at;
	}
	return dnp_cfi_read_function(r, c, fde);
}
