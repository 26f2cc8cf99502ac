/* SPDX-License-Identifier: MIT */
/*
 * Collapsed stacks: a line "root;…;leaf count" for each distinct stack, as flamegraph.pl reads. The
 * event's note, if it has one, stands above them behind a #. Of an event that counts calls the
 * count is nanoseconds, or calls where no time was seen at all.
 */
#include <inttypes.h>

#include "aggregate/tree.h"
#include "base/utf8.h"
#include "export/export.h"

/* A name without what separates frames and lines. */
static void put_name(struct dnp_sink *sink, const char *name)
{
	struct dnp_str str = dnp_str(name);

	for (size_t at = 0; at < str.n;) {
		char out[4];
		uint32_t code = dnp_utf8_next(str, &at);

		if (code == ';')
			code = ':';
		else if (dnp_utf8_unsafe(code))
			code = ' ';
		dnp_sink_write(sink, out, dnp_utf8_put(out, code));
	}
}

static void put_stack(const struct dnp_profile *profile, const uint32_t *stack, size_t n,
	uint64_t count, struct dnp_sink *sink)
{
	for (size_t i = 0; i < n; i++) {
		const struct dnp_frame *frame =
			&profile->frames.p[profile->nodes.p[stack[i]].frame];

		if (i)
			dnp_sink_puts(sink, ";");
		put_name(sink, dnp_profile_string(profile, frame->name));
	}
	dnp_sink_printf(sink, " %" PRIu64 "\n", count);
}

/* Not a stack: it does not end with a count. */
static void put_note(const struct dnp_tree *tree, struct dnp_sink *sink)
{
	const char *note = dnp_profile_string(tree->profile, tree->event->note);

	if (!*note)
		return;
	dnp_sink_puts(sink, "# ");
	put_name(sink, note);
	dnp_sink_puts(sink, " (");
	put_name(sink, dnp_profile_string(tree->profile, tree->event->name));
	dnp_sink_puts(sink, ")\n");
}

static int write_collapsed(const struct dnp_profile *profile,
	const struct dnp_export_options *options, struct dnp_sink *sink, struct dnp_err *err)
{
	struct dnp_vec_of(uint32_t) stack = {0}; /* from below the root to the node */
	struct dnp_tree tree;
	struct dnp_tree_walk walk;
	const uint64_t *counts;
	int status = dnp_tree_init(&tree, profile, options->event);

	if (!status)
		put_note(&tree, sink);
	counts = tree.calls && !tree.total[0] ? tree.calls : tree.self;
	walk = dnp_tree_walk(&tree, tree.calls ? 0 : 1);
	while (!status && !sink->error && dnp_tree_walk_next(&walk)) {
		if (!walk.depth)
			continue;
		stack.n = walk.depth - 1;
		status = dnp_vec_push(&stack, walk.node);
		if (!status && counts[walk.node])
			put_stack(profile, stack.p, stack.n, counts[walk.node], sink);
	}
	dnp_vec_done(&stack);
	dnp_tree_done(&tree);
	if (status)
		dnp_err(err, status,
			"cannot write the stacks: out of memory; report part of the time");
	return status;
}

const struct dnp_exporter dnp_export_collapsed = {
	.name = "collapsed",
	.extensions = ".collapsed .folded",
	.stacks = true,
	.single = true,
	.write = write_collapsed,
};
