/* SPDX-License-Identifier: MIT */
#include "export/text_thrown.h"

#include "export/share.h"
#include "export/text_threads.h"

/* So many of messages and of who catches, for so many rows of a list. */
static size_t examples(size_t top)
{
	return top ? (top + 3) / 4 : 0;
}

static void put_count(uint64_t count, struct dnp_line *line)
{
	dnp_line_right(line, dnp_format_count(count).text, 12);
	dnp_line_puts(line, "   ");
}

static void put_catcher(const char *name, struct dnp_line *line)
{
	dnp_line_puts(line, "caught in ");
	dnp_line_name(line, name);
}

static void put_message(const char *text, struct dnp_line *line)
{
	dnp_line_puts(line, "“");
	dnp_line_text(line, text);
	dnp_line_puts(line, "”");
}

static void put_tallies(const struct dnp_profile *profile, const struct dnp_tallies *tallies,
	size_t top, void (*put)(const char *, struct dnp_line *), struct dnp_line *line)
{
	uint64_t others = 0;

	for (size_t i = 0; i < tallies->n; i++) {
		if (top && i >= top) {
			others += tallies->p[i].count;
			continue;
		}
		put_count(tallies->p[i].count, line);
		put(dnp_profile_string(profile, tallies->p[i].name), line);
		dnp_line_end(line);
	}
	if (!others)
		return;
	put_count(others, line);
	dnp_line_printf(line, "%s of %zu others",
		put == put_message ? "messages" : "caught in methods", tallies->n - top);
	dnp_line_end(line);
}

static void put_end(uint64_t count, const char *how, struct dnp_line *line)
{
	if (!count)
		return;
	put_count(count, line);
	dnp_line_puts(line, how);
	dnp_line_end(line);
}

static void put_type(const struct dnp_profile *profile, const struct dnp_label *label, size_t top,
	struct dnp_line *line)
{
	const struct dnp_thrown *thrown = label->thrown;

	dnp_line_puts(line, "  ");
	dnp_line_name(line, dnp_profile_string(profile, label->name));
	dnp_line_printf(line, ": search %s in all,", dnp_format_ns(thrown->search_ns).text);
	dnp_line_printf(line, " %s the longest", dnp_format_ns(thrown->longest_search_ns).text);
	dnp_line_end(line);
	put_tallies(profile, &thrown->catchers, top, put_catcher, line);
	put_end(thrown->ended[DNP_EXCEPTION_IN_FILTER], "ended in a filter", line);
	put_end(thrown->ended[DNP_EXCEPTION_NOT_CAUGHT], "not caught", line);
	put_tallies(profile, &thrown->messages, top, put_message, line);
}

void dnp_text_thrown(const struct dnp_tree *tree, size_t top, struct dnp_line *line)
{
	const struct dnp_event *event = tree->event;
	size_t shown = 0, known = 0;

	for (size_t i = 0; i < event->labels.n; i++)
		known += event->labels.p[i].thrown != NULL;
	if (!known)
		return;
	dnp_text_heading("What became of them", top && top < known ? top : known, known, line);
	for (size_t i = 0; i < event->labels.n && (!top || shown < top); i++)
		if (event->labels.p[i].thrown) {
			shown++;
			put_type(tree->profile, &event->labels.p[i], examples(top), line);
		}
}
