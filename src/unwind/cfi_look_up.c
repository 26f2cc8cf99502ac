/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "os/mem.h"
#include "unwind/cfi.h"
#include "unwind/cfi_run.h"

enum { HDR_COUNT_UDATA4 = 0x03, HDR_TABLE_DATAREL_SDATA4 = 0x3b, HDR_BYTES = 12 };

/* Of .eh_frame_hdr: one for each function, by ascending address, both relative to the header. */
struct hdr_entry {
	int32_t function, fde;
};

SIGSAFE static bool read_hdr_entry(uintptr_t hdr, uint32_t i, struct hdr_entry *entry)
{
	return !dnp_mem_read(hdr + HDR_BYTES + i * sizeof(*entry), entry, sizeof(*entry));
}

/*
 * *fde is where the entry of the last function is that begins at or before pc; 0: there is none.
 * Reads what linkers write: a pointer of four bytes, the number of entries, the entries.
 */
SIGSAFE static bool find_fde(uintptr_t hdr, uintptr_t pc, uintptr_t *fde)
{
	struct hdr_entry entry;
	uint8_t head[HDR_BYTES];
	uint32_t low = 0, high;

	*fde = 0;
	if (dnp_mem_read(hdr, head, sizeof(head)) || head[0] != 1 || (head[1] & 3) != 3 ||
		head[2] != HDR_COUNT_UDATA4 || head[3] != HDR_TABLE_DATAREL_SDATA4)
		return false;
	memcpy(&high, head + 8, sizeof(high));
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (!read_hdr_entry(hdr, middle, &entry))
			return false;
		if (hdr + (uintptr_t)(intptr_t)entry.function <= pc) {
			*fde = hdr + (uintptr_t)(intptr_t)entry.fde;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return true;
}

/* Enough for nearly all; of a longer one the beginning, which may do. */
enum { CIE_BYTES = 64, FDE_BYTES = 512 };

/* Copies the entry at an address, or its beginning: *c is what follows its length. */
SIGSAFE static bool copy_entry(struct dnp_cfi_input *in, uintptr_t address, uint8_t *copy,
	size_t room, struct dnp_cfi_cursor *c)
{
	uint32_t length;

	in->address = address;
	in->bytes = copy;
	in->n = dnp_mem_read_some(address, copy, room);
	if (in->n < 8)
		return false;
	memcpy(&length, copy, sizeof(length));
	*c = (struct dnp_cfi_cursor){copy + 4, copy + in->n, length > in->n - 4};
	if (!c->bad)
		c->end = c->at + length;
	return true;
}

SIGSAFE bool dnp_cfi_look_up(
	uintptr_t hdr, uintptr_t low, uintptr_t high, uintptr_t pc, struct dnp_rule *rule)
{
	struct dnp_cfi_input of_cie = {.hdr = hdr, .low = low, .high = high}, of_fde = of_cie;
	struct dnp_cfi_reader r = {.in = &of_cie};
	uint8_t cie[CIE_BYTES], bytes[FDE_BYTES];
	struct dnp_cfi_cursor c, ignored;
	uintptr_t at, back;
	struct dnp_cfi_fde fde;
	struct dnp_cfi_run run;
	bool cut;

	*rule = (struct dnp_rule){0};
	if (!find_fde(hdr, pc, &at))
		return false;
	if (!at)
		return true;
	if (!copy_entry(&of_fde, at, bytes, sizeof(bytes), &c))
		return false;
	cut = c.bad;
	c.bad = false;
	back = (uintptr_t)dnp_cfi_take(&c, 4);
	if (!copy_entry(&of_cie, at + 4 - back, cie, sizeof(cie), &ignored) ||
		!dnp_cfi_read_cie(&r, 0, &r.cie))
		return false;
	r.in = &of_fde;
	if (!dnp_cfi_read_function(&r, c, &fde))
		return false;
	if (pc - low >= fde.end)
		return true;
	dnp_cfi_begin(&run, &r, &fde, pc - low);
	if ((!dnp_cfi_run(&run, fde.code) || cut) && !run.over)
		return false;
	*rule = dnp_cfi_rule_of(&run.state, r.cie.signal);
	return true;
}
