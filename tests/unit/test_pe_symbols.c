/* SPDX-License-Identifier: MIT */
/* Names out of PE files: of one that is made here, byte for byte, and of what damage makes of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clean.h"
#include "read/pe_symbols.h"

#include "test.h"

enum {
	HEADER = 0x40,
	OPTIONAL = HEADER + 24,
	SECTIONS = OPTIONAL + 240,
	TEXT = 0x200, /* in the file; in the image at 0x1000 … */
	EXPORTS = 0x400,
	FUNCTIONS = 0x600,
	SYMBOLS = 0x680,
	TEXT_RVA = 0x1000,
	EXPORTS_RVA = 0x2000,
	FUNCTIONS_RVA = 0x3000,
	BYTES = 0x800,
};

static uint8_t file[BYTES];
static unsigned n_sections, n_functions, n_symbols, texts;

static void put(size_t at, uint64_t value, size_t n)
{
	memcpy(file + at, &value, n);
}

static void section(uint32_t rva, uint32_t at, uint32_t bytes, uint32_t flags)
{
	size_t to = SECTIONS + 40 * n_sections++;

	put(to + 8, bytes, 4);
	put(to + 12, rva, 4);
	put(to + 16, bytes, 4);
	put(to + 20, at, 4);
	put(to + 36, flags, 4);
}

static void function(uint32_t begin, uint32_t end)
{
	size_t to = FUNCTIONS + 12 * n_functions++;

	put(to, begin, 4);
	put(to + 4, end, 4);
}

/* The table of functions is at 0x28 of the exports, those of names and which they are of behind. */
static void export(unsigned i, uint32_t rva)
{
	put(EXPORTS + 0x28 + 4 * i, rva, 4);
}

static void export_name(unsigned i, uint32_t which, uint32_t at, const char *name)
{
	put(EXPORTS + 0x60 + 4 * i, EXPORTS_RVA + at, 4);
	put(EXPORTS + 0x90 + 2 * i, which, 2);
	memcpy(file + EXPORTS + at, name, strlen(name));
}

static void symbol(const char *name, uint32_t value, unsigned sec, unsigned type, unsigned class)
{
	size_t to = SYMBOLS + 18 * n_symbols++, n = strlen(name), text = SYMBOLS + 18 * 8;

	if (n <= 8) {
		memcpy(file + to, name, n);
	} else {
		put(to + 4, texts, 4);
		memcpy(file + text + texts, name, n);
		texts += (unsigned)n + 1;
	}
	put(to + 8, value, 4);
	put(to + 12, sec, 2);
	put(to + 14, type, 2);
	put(to + 16, class, 1);
}

static void make_header(void)
{
	memset(file, 0, sizeof(file));
	n_sections = n_functions = n_symbols = 0;
	texts = 4;
	put(0, 0x5a4d, 2);
	put(0x3c, HEADER, 4);
	put(HEADER, 0x4550, 4);
	put(HEADER + 4, 0x8664, 2);
	put(HEADER + 6, 3, 2);
	put(HEADER + 8, 0x12345678, 4);
	put(HEADER + 12, SYMBOLS, 4);
	put(HEADER + 16, 8, 4);
	put(HEADER + 20, 240, 2);
	put(OPTIONAL, 0x20b, 2);
	put(OPTIONAL + 56, 0x4000, 4);
	put(OPTIONAL + 64, 0x1234, 4);
	put(OPTIONAL + 108, 16, 4);
	put(OPTIONAL + 112, EXPORTS_RVA, 4);
	put(OPTIONAL + 116, 0x200, 4);
	put(OPTIONAL + 112 + 8 * 3, FUNCTIONS_RVA, 4);
	put(OPTIONAL + 116 + 8 * 3, 12 * 6, 4);
	section(TEXT_RVA, TEXT, 0x200, 0x60000020);
	section(EXPORTS_RVA, EXPORTS, 0x200, 0x40000040);
	section(FUNCTIONS_RVA, FUNCTIONS, 0x80, 0x40000040);
}

static void make_exports(void)
{
	put(EXPORTS + 16, 5, 4); /* the first one's number */
	put(EXPORTS + 20, 9, 4);
	put(EXPORTS + 24, 7, 4);
	put(EXPORTS + 28, EXPORTS_RVA + 0x28, 4);
	put(EXPORTS + 32, EXPORTS_RVA + 0x60, 4);
	put(EXPORTS + 36, EXPORTS_RVA + 0x90, 4);
	export(0, 0x1000);
	export(1, 0x1080);
	export(2, 0x10a0); /* without a name */
	export(3, EXPORTS_RVA + 0x100);
	export(4, FUNCTIONS_RVA);
	export(5, 0x1130);
	export(6, 0x1140);
	export(8, 0x1000);
	memcpy(file + EXPORTS + 0x100, "NTDLL.Other", 11);
	export_name(0, 0, 0xa8, "First");
	export_name(1, 1, 0xb0, "Leaf");
	export_name(2, 3, 0xb8, "Passed");
	export_name(3, 4, 0xc0, "Data");
	export_name(4, 5, 0xc8, "Early");
	export_name(5, 6, 0xd0, "Last");
	export_name(6, 8, 0xd8, "_first");
}

static void make(void)
{
	make_header();
	make_exports();
	function(0x1100, 0x1120); /* in no order */
	function(0x1000, 0x1040);
	function(0x1040, 0x1080);
	function(0x10a0, 0x10c0);
	function(0x10c0, 0x1100);
	function(0x1138, 0x1140);
	memset(file + TEXT, 0x90, 0x200);
	memset(file + TEXT + 0x8e, 0xcc, 2); /* between functions without a frame */
	symbol(".text", 0x40, 1, 0, 3);
	symbol("first_inside", 0, 1, 0x20, 2);
	symbol("the_name_of_a_function", 0xc0, 1, 0x20, 2);
	symbol("label", 0x1050, 1, 0, 3);
	symbol("local", 0x100, 1, 0x20, 3);
	symbol("data", 0, 2, 0, 2);
	symbol("outside", 0x200, 1, 0x20, 2);
	symbol("nowhere", 0, 0, 0x20, 2);
	put(SYMBOLS + 18 * n_symbols, texts, 4);
}

static void look_up(struct dnp_symbols *symbols)
{
	*symbols = (struct dnp_symbols){0};
	CHECK_EQ(dnp_symbols_add_pe(symbols, file, sizeof(file), (struct dnp_str){0}), 0);
}

TEST(pe_exports_are_names)
{
	struct dnp_symbols symbols;

	make();
	look_up(&symbols);
	CHECK_STR(dnp_symbols_find(&symbols, 0x1000), "First");
	CHECK_STR(dnp_symbols_find(&symbols, 0x103f), "First");
	CHECK_STR(dnp_symbols_find(&symbols, 0x1080), "Leaf");
	CHECK_STR(dnp_symbols_find(&symbols, 0x108d), "Leaf");
	CHECK_STR(dnp_symbols_find(&symbols, 0x10a0), "Ordinal7");
	CHECK_STR(dnp_symbols_find(&symbols, 0x1130), "Early");
	CHECK_STR(dnp_symbols_find(&symbols, 0x11ff), "Last");
	dnp_symbols_done(&symbols);
}

/* An export that lies below is the name of nothing that begins behind it. */
TEST(pe_names_go_no_further_than_their_functions)
{
	struct dnp_symbols symbols;

	make();
	look_up(&symbols);
	CHECK(!dnp_symbols_find(&symbols, 0xfff));
	CHECK(!dnp_symbols_find(&symbols, 0x1040)); /* a function of its own */
	CHECK(!dnp_symbols_find(&symbols, 0x1050));
	CHECK(!dnp_symbols_find(&symbols, 0x1090)); /* behind the padding */
	CHECK(!dnp_symbols_find(
		&symbols, 0x1138)); /* a function's, right behind one without a frame */
	CHECK(!dnp_symbols_find(&symbols, 0x1120));
	CHECK(!dnp_symbols_find(&symbols, 0x1200));
	CHECK(!dnp_symbols_find(&symbols, 0x2100)); /* the name of another file's */
	CHECK(!dnp_symbols_find(&symbols, 0x3000)); /* no code */
	CHECK(!dnp_symbols_find(&symbols, UINT64_MAX));
	dnp_symbols_done(&symbols);
}

TEST(pe_symbols_are_names)
{
	struct dnp_symbols symbols;

	make();
	look_up(&symbols);
	CHECK_STR(dnp_symbols_find(&symbols, 0x10c0), "the_name_of_a_function");
	CHECK_STR(dnp_symbols_find(&symbols, 0x10ff), "the_name_of_a_function");
	CHECK_STR(dnp_symbols_find(&symbols, 0x1100), "local");
	dnp_symbols_done(&symbols);
}

TEST(pe_of_another_build)
{
	static const uint32_t mine[] = {0x12345678, 0x4000, 0x1234};
	uint32_t other[] = {0x12345678, 0x4000, 0x1235};
	struct dnp_symbols symbols = {0};

	make();
	CHECK_EQ(dnp_symbols_add_pe(&symbols, file, sizeof(file),
			 (struct dnp_str){(const char *)other, sizeof(other)}),
		-EBADMSG);
	CHECK_EQ(dnp_symbols_add_pe(&symbols, file, sizeof(file), dnp_str("short")), -EBADMSG);
	CHECK_EQ(symbols.list.n, 0);
	CHECK_EQ(dnp_symbols_add_pe(&symbols, file, sizeof(file),
			 (struct dnp_str){(const char *)mine, sizeof(mine)}),
		0);
	CHECK(symbols.list.n);
	dnp_symbols_done(&symbols);
}

TEST(pe_that_is_none)
{
	struct dnp_symbols symbols = {0};

	make();
	file[HEADER + 4] = 0x4c; /* another processor's */
	CHECK_EQ(dnp_symbols_add_pe(&symbols, file, sizeof(file), dnp_str("")), -ENOEXEC);
	CHECK_EQ(dnp_symbols_add_pe(&symbols,
			 (const uint8_t *)"\x7f"
					  "ELF",
			 4, dnp_str("")),
		-ENOEXEC);
	CHECK_EQ(dnp_symbols_add_pe(&symbols, file, 0, dnp_str("")), -ENOEXEC);
	dnp_symbols_done(&symbols);
}

/* In memory that ends where the bytes do. */
static void try_it(const uint8_t *bytes, size_t n)
{
	struct dnp_symbols symbols = {0};
	auto_free uint8_t *copy = malloc(n ? n : 1);

	CHECK(copy);
	memcpy(copy, bytes, n);
	dnp_symbols_add_pe(&symbols, copy, n, (struct dnp_str){0});
	for (size_t i = 0; i < symbols.list.n; i++) {
		const struct dnp_symbol *symbol = &symbols.list.p[i];
		const char *name = dnp_symbols_find(&symbols, symbol->start);

		CHECK(symbol->start <= symbol->end);
		CHECK(!name || *name);
		CHECK(i + 1 == symbols.list.n || symbol->end <= symbol[1].start);
	}
	CHECK(symbols.names.n <= 16 * n);
	dnp_symbols_done(&symbols);
}

TEST(pe_cut_anywhere)
{
	make();
	for (size_t n = 0; n <= sizeof(file); n++)
		try_it(file, n);
}

TEST(pe_with_any_number_anywhere)
{
	static const uint32_t numbers[] = {0, 1, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(numbers); i++)
		for (size_t at = 0; at + 4 <= sizeof(file); at++) {
			make();
			put(at, numbers[i], 4);
			try_it(file, sizeof(file));
		}
}

/* All of them the same long one, and no end of it. */
TEST(pe_with_more_names_than_bytes)
{
	static uint8_t large[1 << 20];

	make();
	memcpy(large, file, sizeof(file));
	memset(large + EXPORTS + 0x28, 'n', sizeof(large) - EXPORTS - 0x28);
	for (int i = 0; i < 2; i++) { /* without a zero, then with one */
		uint32_t at = EXPORTS_RVA + 0x20000, n = 0x6000, bytes = sizeof(large) - EXPORTS;

		memcpy(large + SECTIONS + 40 + 8, &bytes, 4);
		memcpy(large + SECTIONS + 40 + 16, &bytes, 4);
		memcpy(large + EXPORTS + 24, &n, 4);
		memcpy(large + EXPORTS + 28, &(uint32_t){EXPORTS_RVA + 0x28}, 4);
		memcpy(large + EXPORTS + 0x28, &(uint32_t){0x1000}, 4);
		memcpy(large + EXPORTS + 36, &(uint32_t){EXPORTS_RVA + 0x80000}, 4);
		memset(large + EXPORTS + 0x80000, 0, 2 * n);
		for (uint32_t k = 0; k < n; k++)
			memcpy(large + EXPORTS + 0x60 + 4 * (size_t)k, &at, 4);
		memcpy(large + EXPORTS + 32, &(uint32_t){EXPORTS_RVA + 0x60}, 4);
		large[EXPORTS + 0x20000 + 4000] = (uint8_t)(i ? 0 : 'n');
		try_it(large, sizeof(large));
	}
}
