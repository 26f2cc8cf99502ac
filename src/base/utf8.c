/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include "base/clean.h"

static int is_tail(struct dnp_str str, size_t at)
{
	return at < str.n && ((uint8_t)str.p[at] & 0xc0) == 0x80;
}

uint32_t dnp_utf8_next(struct dnp_str str, size_t *at)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	uint8_t lead = (uint8_t)str.p[(*at)++];
	unsigned tails = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
	uint32_t code = lead & (0x3fu >> tails);

	if (lead < 0x80)
		return lead;
	if (lead < 0xc2 || lead > 0xf4)
		return DNP_UTF8_BAD;
	for (unsigned i = 0; i < tails; i++) {
		if (!is_tail(str, *at + i))
			return DNP_UTF8_BAD;
		code = code << 6 | ((uint8_t)str.p[*at + i] & 0x3f);
	}
	if (code < least[tails] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return DNP_UTF8_BAD;
	*at += tails;
	return code;
}

int dnp_utf8_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
		(code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
		code == 0x61c || code == 0xfeff;
}

struct range {
	uint32_t first, last;
};

static int in_ranges(uint32_t code, const struct range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return 1;
	return 0;
}

unsigned dnp_utf8_width(uint32_t code)
{
	static const struct range none[] = {{0x300, 0x36f}, {0x483, 0x489}, {0x591, 0x5bd},
		{0x610, 0x61a}, {0x64b, 0x65f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
		{0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
	static const struct range wide[] = {{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf},
		{0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60},
		{0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
		{0x20000, 0x3fffd}};

	if (code < 0x300)
		return 1;
	if (in_ranges(code, none, DNP_ARRAY_SIZE(none)))
		return 0;
	return in_ranges(code, wide, DNP_ARRAY_SIZE(wide)) ? 2 : 1;
}

size_t dnp_utf8_columns(struct dnp_str str)
{
	size_t columns = 0;

	for (size_t at = 0; at < str.n;) {
		uint32_t code = dnp_utf8_next(str, &at);

		columns += dnp_utf8_unsafe(code) ? 1 : dnp_utf8_width(code);
	}
	return columns;
}

size_t dnp_utf8_fit(struct dnp_str str, size_t room)
{
	if (str.n <= room)
		return str.n;
	while (room && is_tail(str, room))
		room--;
	return room;
}

size_t dnp_utf8_put(char out[4], uint32_t code)
{
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (size_t i = n; i-- > 1; code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(lead[n] | code);
	return n;
}
