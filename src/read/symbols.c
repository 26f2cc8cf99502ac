/* SPDX-License-Identifier: MIT */
#include "read/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void dnp_symbols_done(struct dnp_symbols *symbols)
{
	dnp_vec_done(&symbols->names);
	dnp_vec_done(&symbols->list);
}

int dnp_symbols_add(struct dnp_symbols *symbols, struct dnp_str name, uint64_t start, uint64_t end,
	uint32_t rank)
{
	size_t at = symbols->names.n;
	struct dnp_symbol symbol = {.start = start, .end = end, .name = (uint32_t)at, .rank = rank};

	if (end < start)
		return 0;
	if (at > UINT32_MAX || dnp_vec_reserve(&symbols->names, at + name.n + 1) ||
		dnp_vec_push(&symbols->list, symbol))
		return -ENOMEM;
	if (name.n)
		memcpy(symbols->names.p + at, name.p, name.n);
	symbols->names.p[at + name.n] = '\0';
	symbols->names.n += name.n + 1;
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct dnp_symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

void dnp_symbols_sort(struct dnp_symbols *symbols)
{
	struct dnp_symbol *list = symbols->list.p;
	size_t kept = 0;

	if (!symbols->list.n)
		return;
	qsort(list, symbols->list.n, sizeof(*list), by_start);
	for (size_t i = 0; i < symbols->list.n; i++)
		if (!kept || list[kept - 1].start != list[i].start)
			list[kept++] = list[i];
	symbols->list.n = kept;
}

const char *dnp_symbols_find(const struct dnp_symbols *symbols, uint64_t address)
{
	size_t low = 0,
	       high = symbols->list.n; /* the last start at or below is in [low - 1, high) */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->list.p[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= symbols->list.p[low - 1].end)
		return NULL;
	return symbols->names.p + symbols->list.p[low - 1].name;
}
