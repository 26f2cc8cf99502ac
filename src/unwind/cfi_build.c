/* SPDX-License-Identifier: MIT */
/*
 * Built in two passes: list the functions (frame description entries) and sort them by address,
 * then run each one's instructions in that order, so that rows come out sorted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/mem.h"
#include "unwind/cfi.h"
#include "unwind/cfi_run.h"

static void add_function(
	const struct dnp_cfi_reader *r, struct dnp_cfi_rows *rows, const struct dnp_cfi_fde *fde)
{
	struct dnp_cfi_run run;

	dnp_cfi_begin(&run, r, fde, fde->end);
	run.out = rows;
	dnp_cfi_put_function(rows, fde->start);
	if (!dnp_cfi_run(&run, fde->code))
		run.state.unknown_expression = true; /* no rule from here on */
	if (run.offset < fde->end)
		dnp_cfi_advance(&run, fde->end);
	dnp_cfi_put_end(rows, fde->end);
}

struct function {
	uint32_t start;
	uint32_t at; /* of its entry in the input */
};

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->at > y->at) - (x->at < y->at);
}

/* Calls to fill `list` up; with NULL it counts. */
static size_t list_functions(struct dnp_cfi_reader *r, struct function *list)
{
	struct dnp_cfi_cursor body;
	struct dnp_cfi_fde fde;
	size_t n = 0;

	for (size_t at = 0; dnp_cfi_entry_at(r, at, &body);
		at = (size_t)(body.end - r->in->bytes)) {
		if (!dnp_cfi_read_fde(r, at, &fde))
			continue;
		if (list)
			list[n] = (struct function){fde.start, (uint32_t)at};
		n++;
	}
	return n;
}

static void fill_rows(const struct dnp_cfi_rows *rows, uint32_t *offsets, uint16_t *ids)
{
	for (size_t i = 0; i < rows->n; i++) {
		offsets[i] = rows->all[i].offset;
		ids[i] = rows->all[i].id;
	}
}

static void fill_starts(uint32_t *starts, size_t pieces, const uint32_t *offsets, size_t n)
{
	for (size_t i = 0, piece = 0; piece <= pieces; piece++) {
		while (i < n && (size_t)offsets[i] >> DNP_CFI_PIECE_BITS < piece)
			i++;
		starts[piece] = (uint32_t)i;
	}
}

static uint32_t count_without_rule(const struct dnp_cfi_rows *rows)
{
	uint32_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		n += (rows->all[i].id & ~DNP_CFI_FUNCTION) == DNP_CFI_NO_RULE;
	return n;
}

static int finish(const struct dnp_cfi_rows *rows, struct dnp_cfi **out)
{
	size_t rules_bytes = rows->n_rules * sizeof(struct dnp_rule);
	size_t pieces = ((size_t)rows->all[rows->n - 1].offset >> DNP_CFI_PIECE_BITS) + 1;
	size_t bytes = sizeof(struct dnp_cfi) + rules_bytes + (pieces + 1) * 4 + rows->n * (4 + 2);
	struct dnp_cfi *table = dnp_mem_map(bytes);
	struct dnp_rule *rules;
	uint32_t *starts, *offsets;
	uint16_t *ids;

	if (!table)
		return -ENOMEM;
	rules = (struct dnp_rule *)(table + 1);
	starts = (uint32_t *)(rules + rows->n_rules);
	offsets = starts + pieces + 1;
	ids = (uint16_t *)(offsets + rows->n);
	memcpy(rules, rows->rules, rules_bytes);
	fill_rows(rows, offsets, ids);
	fill_starts(starts, pieces, offsets, rows->n);
	*table = (struct dnp_cfi){
		.mapped_bytes = bytes,
		.rows = (uint32_t)rows->n,
		.pieces = (uint32_t)pieces,
		.starts = starts,
		.offsets = offsets,
		.ids = ids,
		.rules = rules,
		.stats =
			{
				.functions = rows->functions,
				.rows = (uint32_t)rows->n,
				.rules = rows->n_rules,
				.without_rule = count_without_rule(rows),
				.bytes = bytes,
			},
	};
	*out = table;
	return 0;
}

#define AT_ONCE 1024 /* functions between two calls of `meanwhile`: less than a millisecond */

static int build_rows(
	struct dnp_cfi_reader *r, struct dnp_cfi_rows *rows, const struct function *list, size_t n)
{
	struct dnp_cfi_fde fde;

	for (size_t i = 0; i < n; i++) {
		if (i % AT_ONCE == 0 && r->in->meanwhile)
			r->in->meanwhile();
		if (i && list[i].start == list[i - 1].start)
			continue; /* the same function twice */
		if (dnp_cfi_read_fde(r, list[i].at, &fde))
			add_function(r, rows, &fde);
	}
	return rows->n ? 0 : -ENOENT;
}

static int build(struct dnp_cfi_reader *r, struct dnp_cfi_rows *rows, struct function *list,
	size_t n, struct dnp_cfi **table)
{
	int result;

	list_functions(r, list);
	qsort(list, n, sizeof(*list), by_start);
	result = build_rows(r, rows, list, n);
	return result ? result : finish(rows, table);
}

int dnp_cfi_build(const struct dnp_cfi_input *input, struct dnp_cfi **table)
{
	struct dnp_cfi_reader r = {.in = input, .cie_at = SIZE_MAX};
	struct dnp_cfi_rows rows;
	struct function *list;
	size_t n;
	int result;

	if (input->n > UINT32_MAX)
		return -ENOENT;
	n = list_functions(&r, NULL);
	if (!n)
		return -ENOENT;
	list = dnp_mem_map(n * sizeof(*list));
	/* Each row but two of a function takes at least one byte of instructions. */
	result = dnp_cfi_rows_open(&rows, input->n + 2 * n);
	if (!list)
		result = -ENOMEM;
	if (result == 0)
		result = build(&r, &rows, list, n, table);
	dnp_mem_unmap(list, n * sizeof(*list));
	dnp_cfi_rows_close(&rows);
	return result;
}
