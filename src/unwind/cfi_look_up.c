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

SIGSAFE static bool read_hdr_entries(
	uintptr_t hdr, uint32_t first, uint32_t n, struct hdr_entry *entries)
{
	return !dnp_mem_read(
		hdr + HDR_BYTES + first * sizeof(*entries), entries, n * sizeof(*entries));
}

/* Each read is a system call: the last steps of a search are taken in so many entries at once. */
#define ENTRIES_AT_ONCE 64

/*
 * *fde is where the entry of the last function is that begins at or before pc; 0: there is none.
 * Reads what linkers write: a pointer of four bytes, the number of entries, the entries.
 */
SIGSAFE static bool find_fde(uintptr_t hdr, uintptr_t pc, uintptr_t *fde)
{
	struct hdr_entry entries[ENTRIES_AT_ONCE];
	uint8_t head[HDR_BYTES];
	uint32_t low = 0, high;

	*fde = 0;
	if (dnp_mem_read(hdr, head, sizeof(head)) || head[0] != 1 || (head[1] & 3) != 3 ||
		head[2] != HDR_COUNT_UDATA4 || head[3] != HDR_TABLE_DATAREL_SDATA4)
		return false;
	memcpy(&high, head + 8, sizeof(high));
	while (high - low > ENTRIES_AT_ONCE) {
		uint32_t middle = low + (high - low) / 2;

		if (!read_hdr_entries(hdr, middle, 1, entries))
			return false;
		if (hdr + (uintptr_t)(intptr_t)entries[0].function <= pc)
			low = middle;
		else
			high = middle;
	}
	if (!read_hdr_entries(hdr, low, high - low, entries))
		return false;
	for (uint32_t i = 0; i < high - low; i++)
		if (hdr + (uintptr_t)(intptr_t)entries[i].function <= pc)
			*fde = hdr + (uintptr_t)(intptr_t)entries[i].fde;
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

/* A function, as its module describes it. */
struct found {
	struct dnp_cfi_input of_cie, of_fde;
	struct dnp_cfi_reader reader;
	uint8_t cie[CIE_BYTES], bytes[FDE_BYTES];
	struct dnp_cfi_fde fde; /* .end 0: there is none */
	bool cut;               /* of its instructions there are more than were copied */
};

/* The last one that begins at or before pc; false: that cannot be told. */
SIGSAFE static bool find_function(
	struct found *f, uintptr_t hdr, uintptr_t low, uintptr_t high, uintptr_t pc)
{
	struct dnp_cfi_cursor c, ignored;
	uintptr_t at, back;

	f->of_cie = f->of_fde = (struct dnp_cfi_input){.hdr = hdr, .low = low, .high = high};
	f->reader = (struct dnp_cfi_reader){.in = &f->of_cie};
	f->fde = (struct dnp_cfi_fde){0};
	if (!find_fde(hdr, pc, &at))
		return false;
	if (!at)
		return true;
	if (!copy_entry(&f->of_fde, at, f->bytes, sizeof(f->bytes), &c))
		return false;
	f->cut = c.bad;
	c.bad = false;
	back = (uintptr_t)dnp_cfi_take(&c, 4);
	if (!copy_entry(&f->of_cie, at + 4 - back, f->cie, sizeof(f->cie), &ignored) ||
		!dnp_cfi_read_cie(&f->reader, 0, &f->reader.cie))
		return false;
	f->reader.in = &f->of_fde;
	return dnp_cfi_read_function(&f->reader, c, &f->fde);
}

SIGSAFE bool dnp_cfi_look_up(
	uintptr_t hdr, uintptr_t low, uintptr_t high, uintptr_t pc, struct dnp_rule *rule)
{
	struct dnp_cfi_run run;
	struct found f;

	*rule = (struct dnp_rule){0};
	if (!find_function(&f, hdr, low, high, pc))
		return false;
	if (pc - low >= f.fde.end)
		return true;
	dnp_cfi_begin(&run, &f.reader, &f.fde, pc - low);
	if ((!dnp_cfi_run(&run, f.fde.code) || f.cut) && !run.over)
		return false;
	*rule = dnp_cfi_rule_of(&run.state, f.reader.cie.signal);
	return true;
}

SIGSAFE bool dnp_cfi_look_up_function(
	uintptr_t hdr, uintptr_t low, uintptr_t high, uintptr_t pc, uint32_t *start)
{
	struct found f;

	if (!find_function(&f, hdr, low, high, pc) || pc - low >= f.fde.end)
		return false;
	*start = f.fde.start;
	return true;
}
