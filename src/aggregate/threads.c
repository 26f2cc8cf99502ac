/* SPDX-License-Identifier: MIT */
#include "aggregate/threads.h"

#include "base/clean.h"

#define PATTERN_BYTES 256

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The name, cut if it is very long, with * for each number. */
static size_t make_pattern(const char *name, char out[PATTERN_BYTES])
{
	size_t n = 0;

	for (size_t i = 0; name[i] && n < PATTERN_BYTES; i++) {
		if (!is_digit(name[i]))
			out[n++] = name[i];
		else if (!i || !is_digit(name[i - 1]))
			out[n++] = '*';
	}
	return n;
}

static int row_of(struct dnp_thread_list *list, const struct dnp_tree *tree, uint32_t thread,
	struct dnp_thread_row *row)
{
	const struct dnp_thread *from = &tree->profile->threads.p[thread];
	char pattern[PATTERN_BYTES];
	size_t n = make_pattern(dnp_profile_string(tree->profile, from->name), pattern);

	*row = (struct dnp_thread_row){
		.thread = thread,
		.count = 1,
		.total = tree->thread_total[thread],
		.waiting = tree->thread_waiting[thread],
		.cpu_ns = from->cpu_ns,
		.calls = tree->thread_calls ? tree->thread_calls[thread] : 0,
	};
	return dnp_strings_add(&list->patterns, (struct dnp_str){pattern, n}, &row->pattern);
}

static void add_up(struct dnp_thread_row *row, const struct dnp_thread_row *more)
{
	row->count += more->count;
	row->total += more->total;
	row->waiting += more->waiting;
	row->cpu_ns += more->cpu_ns;
	row->calls += more->calls;
}

static int make_rows(struct dnp_thread_list *list, const struct dnp_tree *tree)
{
	for (uint32_t i = 0; i < tree->profile->threads.n; i++) {
		struct dnp_thread_row row;

		if (row_of(list, tree, i, &row) || dnp_vec_push(&list->rows, row))
			return -ENOMEM;
	}
	return 0;
}

static uint64_t group_key(const struct dnp_tree *tree, const struct dnp_thread_row *row)
{
	return (uint64_t)tree->profile->threads.p[row->thread].process << 32 | row->pattern;
}

/* Puts rows of the same key together; `first` maps a key to where it was met first. */
static int group(struct dnp_thread_list *list, const struct dnp_tree *tree, uint32_t alike,
	struct dnp_map *first)
{
	size_t n = list->rows.n, kept = 0;
	auto_free uint32_t *counts = calloc(n + 1, sizeof(*counts));
	struct dnp_thread_row *rows = list->rows.p;

	if (!counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = group_key(tree, &rows[i]);
		uint32_t at = dnp_map_get(first, key);

		if (at == DNP_NONE && dnp_map_set(first, key, at = i))
			return -ENOMEM;
		counts[at]++;
	}
	/* A group stands where its first was, so that never more rows are kept than were read. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = dnp_map_get(first, group_key(tree, &rows[i]));

		if (counts[at] >= alike && at != i) {
			add_up(&rows[at], &rows[i]);
			rows[i].count = 0;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (rows[i].count)
			rows[kept++] = rows[i];
	list->rows.n = kept;
	return 0;
}

static int by_running(const void *left, const void *right)
{
	const struct dnp_thread_row *a = left, *b = right;
	uint64_t ran_a = a->total - a->waiting, ran_b = b->total - b->waiting;

	if (ran_a != ran_b)
		return ran_a < ran_b ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	return a->thread < b->thread ? -1 : 1;
}

int dnp_thread_list_init(struct dnp_thread_list *list, const struct dnp_tree *tree, uint32_t alike)
{
	struct dnp_map first = {0};
	int status;

	*list = (struct dnp_thread_list){0};
	status = dnp_strings_init(&list->patterns);
	if (!status)
		status = make_rows(list, tree);
	if (!status && alike)
		status = group(list, tree, alike, &first);
	dnp_map_done(&first);
	if (!status && list->rows.n)
		qsort(list->rows.p, list->rows.n, sizeof(*list->rows.p), by_running);
	return status;
}

void dnp_thread_list_done(struct dnp_thread_list *list)
{
	dnp_strings_done(&list->patterns);
	dnp_vec_done(&list->rows);
}
