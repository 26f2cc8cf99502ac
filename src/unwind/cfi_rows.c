/* SPDX-License-Identifier: MIT */
#include "unwind/cfi_rows.h"

#include <errno.h>
#include <string.h>

#include "os/mem.h"
#include "unwind/cfi.h"

#define RULES_MAX  0x7fffU /* ids have 15 bits */
#define HASH_SLOTS 0x10000U

int dnp_cfi_rows_open(struct dnp_cfi_rows *rows, size_t room)
{
	*rows = (struct dnp_cfi_rows){.room = room, .n_rules = DNP_CFI_NO_RULE + 1};
	rows->all = dnp_mem_map(room * sizeof(*rows->all));
	rows->rules = dnp_mem_map(RULES_MAX * sizeof(*rows->rules));
	rows->hash = dnp_mem_map(HASH_SLOTS * sizeof(*rows->hash));
	return rows->all && rows->rules && rows->hash ? 0 : -ENOMEM;
}

void dnp_cfi_rows_close(struct dnp_cfi_rows *rows)
{
	dnp_mem_unmap(rows->all, rows->room * sizeof(*rows->all));
	dnp_mem_unmap(rows->rules, RULES_MAX * sizeof(*rows->rules));
	dnp_mem_unmap(rows->hash, HASH_SLOTS * sizeof(*rows->hash));
}

SIGSAFE static uint16_t rule_id(struct dnp_cfi_rows *rows, struct dnp_rule rule)
{
	uint64_t bits;
	uint32_t slot;

	if (rule.cfa == DNP_CFA_NONE)
		return DNP_CFI_NO_RULE;
	memcpy(&bits, &rule, sizeof(bits));
	slot = (uint32_t)(bits * UINT64_C(0x9E3779B97F4A7C15) >> 48);
	for (;; slot = (slot + 1) % HASH_SLOTS) {
		if (!rows->hash[slot]) {
			if (rows->n_rules == RULES_MAX)
				return DNP_CFI_NO_RULE;
			rows->rules[rows->n_rules] = rule;
			rows->hash[slot] = (uint16_t)rows->n_rules;
			return (uint16_t)rows->n_rules++;
		}
		if (dnp_rule_same(rows->rules[rows->hash[slot]], rule))
			return rows->hash[slot];
	}
}

SIGSAFE static void put(struct dnp_cfi_rows *rows, uint32_t offset, uint16_t id)
{
	struct dnp_cfi_row *last = rows->n ? &rows->all[rows->n - 1] : NULL;

	if (last && offset < last->offset)
		return; /* functions that overlap: the first one keeps its rows */
	if (last && offset == last->offset) {
		last->id = (uint16_t)(id | (last->id & DNP_CFI_FUNCTION));
		return;
	}
	if (last && (last->id & ~DNP_CFI_FUNCTION) == id)
		return;
	if (rows->n < rows->room)
		rows->all[rows->n++] = (struct dnp_cfi_row){offset, id};
}

SIGSAFE void dnp_cfi_put_row(struct dnp_cfi_rows *rows, uint32_t offset, struct dnp_rule rule)
{
	put(rows, offset, rule_id(rows, rule));
}

void dnp_cfi_put_end(struct dnp_cfi_rows *rows, uint32_t offset)
{
	put(rows, offset, DNP_CFI_OUTSIDE);
}

#define PADDING_MAX 16 /* between two functions; not worth a row of its own */

void dnp_cfi_put_function(struct dnp_cfi_rows *rows, uint32_t start)
{
	if (rows->n && rows->all[rows->n - 1].id == DNP_CFI_OUTSIDE &&
		start - rows->all[rows->n - 1].offset < PADDING_MAX)
		rows->n--;
	if (rows->n && start < rows->all[rows->n - 1].offset)
		return; /* begins inside of another one */
	if (!rows->n || start > rows->all[rows->n - 1].offset) {
		if (rows->n == rows->room)
			return;
		rows->all[rows->n++].offset = start;
	}
	rows->all[rows->n - 1].id = DNP_CFI_FUNCTION | DNP_CFI_NO_RULE;
	rows->functions++;
}
