/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include "base/utf8.h"

static const char ellipsis[] = "…";

#define ELLIPSIS_BYTES (sizeof(ellipsis) - 1)

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

void dnp_text_init(struct dnp_text *text, char *buffer, size_t cap)
{
	*text = (struct dnp_text){buffer, cap, 0, false};
	buffer[0] = '\0';
}

/* Makes room for the ellipsis by dropping whole characters, and puts it there if it fits at all. */
static void cut(struct dnp_text *text)
{
	text->cut = true;
	if (text->cap <= ELLIPSIS_BYTES)
		return;
	if (text->n > text->cap - 1 - ELLIPSIS_BYTES) {
		text->n = text->cap - 1 - ELLIPSIS_BYTES;
		while (text->n && is_continuation(text->p[text->n]))
			text->n--;
	}
	memcpy(text->p + text->n, ellipsis, ELLIPSIS_BYTES + 1);
	text->n += ELLIPSIS_BYTES;
}

void dnp_text_put(struct dnp_text *text, struct dnp_str str)
{
	size_t n = dnp_utf8_fit(str, text->cap - 1 - text->n);

	if (text->cut || !str.n)
		return;
	memcpy(text->p + text->n, str.p, n);
	text->n += n;
	text->p[text->n] = '\0';
	if (n < str.n)
		cut(text);
}

void dnp_text_puts(struct dnp_text *text, const char *str)
{
	dnp_text_put(text, dnp_str(str));
}

void dnp_text_put16(struct dnp_text *text, const uint16_t *units, size_t n)
{
	for (size_t i = 0; i < n && !text->cut; i++) {
		uint32_t c = units[i];
		char bytes[4];

		if (c < 0x80 && c && text->n + 1 < text->cap) {
			text->p[text->n++] = (char)c;
			text->p[text->n] = '\0';
			continue;
		}

		if (c >= 0xd800 && c < 0xdc00 && i + 1 < n && (units[i + 1] & 0xfc00) == 0xdc00)
			c = 0x10000 + ((c & 0x3ff) << 10) + (units[++i] & 0x3ff);
		else if (c >= 0xd800 && c < 0xe000)
			c = 0xfffd;
		dnp_text_put(text, (struct dnp_str){bytes, dnp_utf8_put(bytes, c)});
	}
}

void dnp_text_rewind(struct dnp_text *text, size_t n)
{
	if (text->cut || n > text->n)
		return;
	text->n = n;
	text->p[n] = '\0';
}
