/* SPDX-License-Identifier: MIT */
#include "export/line.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/pattern.h"
#include "base/utf8.h"

#define LEAST_NAME 20u /* columns that a name gets even on a narrow terminal */

/* Writes what of `str` fits in `columns`, made safe. */
static void put_safe(struct dnp_line *line, struct dnp_str str, size_t columns)
{
	size_t used = 0;

	for (size_t at = 0; at < str.n;) {
		char out[4];
		uint32_t code = dnp_utf8_next(str, &at);
		unsigned width;

		if (dnp_utf8_unsafe(code))
			code = DNP_UTF8_BAD;
		width = dnp_utf8_width(code);
		if (used + width > columns)
			break;
		dnp_sink_write(line->sink, out, dnp_utf8_put(out, code));
		used += width;
	}
	line->used += used;
}

/* Columns left on the line, never fewer than `least`. */
static size_t room(const struct dnp_line *line, size_t least)
{
	if (!line->columns)
		return SIZE_MAX;
	if (line->columns < line->used + least)
		return least;
	return line->columns - line->used;
}

/* One word, in a new line where it does not fit any more. */
static void put_word(struct dnp_line *line, struct dnp_str word)
{
	size_t columns = dnp_utf8_columns(word) + line->space;

	if (line->used > line->wrap && columns > room(line, 0)) {
		dnp_sink_puts(line->sink, "\n");
		dnp_sink_repeat(line->sink, " ", line->wrap);
		line->used = line->wrap;
	} else if (line->space) {
		dnp_sink_puts(line->sink, " ");
		line->used++;
	}
	line->space = false;
	put_safe(line, word, SIZE_MAX);
}

static void put_words(struct dnp_line *line, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, " ");

		if (n)
			put_word(line, (struct dnp_str){text, n});
		text += n;
		line->space |= *text == ' ';
		text += strspn(text, " ");
	}
}

void dnp_line_puts(struct dnp_line *line, const char *text)
{
	if (line->wrap)
		put_words(line, text);
	else
		put_safe(line, dnp_str(text), SIZE_MAX);
}

void dnp_line_printf(struct dnp_line *line, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dnp_line_puts(line, text);
}

void dnp_line_right(struct dnp_line *line, const char *text, size_t width)
{
	for (size_t n = dnp_utf8_columns(dnp_str(text)); n < width; n++)
		dnp_line_puts(line, " ");
	dnp_line_puts(line, text);
}

void dnp_line_text(struct dnp_line *line, const char *text)
{
	struct dnp_str str = dnp_str(text);
	size_t columns = room(line, 0);

	if (line->wrap) {
		put_words(line, text);
	} else if (dnp_utf8_columns(str) <= columns) {
		put_safe(line, str, columns);
	} else if (columns) {
		put_safe(line, str, columns - 1);
		dnp_line_puts(line, "…");
	}
}

/* The end of `str` that fits in `columns`. */
static struct dnp_str tail(struct dnp_str str, size_t columns)
{
	size_t excess = dnp_utf8_columns(str);
	size_t at = 0;

	while (excess > columns && at < str.n) {
		uint32_t code = dnp_utf8_next(str, &at);

		excess -= dnp_utf8_unsafe(code) ? 1 : dnp_utf8_width(code);
	}
	return (struct dnp_str){str.p + at, str.n - at};
}

void dnp_line_name(struct dnp_line *line, const char *name)
{
	static const char dots[] = "(…)";
	struct dnp_str str = dnp_str(name);
	size_t columns = room(line, LEAST_NAME);
	struct dnp_str bare = dnp_name_bare(str);
	bool cut = false;

	if (dnp_utf8_columns(str) > columns && bare.n < str.n) {
		str = bare;
		columns = columns == SIZE_MAX ? columns : columns - 3;
		cut = true;
	}
	if (dnp_utf8_columns(str) > columns) {
		dnp_line_puts(line, "…");
		str = tail(str, columns - 1);
	}
	put_safe(line, str, columns);
	if (cut)
		dnp_line_puts(line, dots);
}

void dnp_line_end(struct dnp_line *line)
{
	dnp_sink_puts(line->sink, "\n");
	line->used = 0;
	line->wrap = 0;
	line->space = false;
}
