/* SPDX-License-Identifier: MIT */
#include "unwind/made.h"

#include <string.h>

#include "os/generation.h"
#include "os/mem.h"
#include "test.h"

#define PAGE ((size_t)4096)

/* Two pages, the second of which is taken away. */
static char *one_page(void)
{
	char *pages = dnp_mem_map(2 * PAGE);

	CHECK(pages);
	memset(pages, 'x', 2 * PAGE);
	dnp_mem_unmap(pages + PAGE, PAGE);
	return pages;
}

TEST(made_pages_are_read_until_code_goes_away)
{
	char *page = one_page(), byte = 0;

	for (int i = 0; i < 3; i++)
		CHECK(dnp_made_read((uintptr_t)page + 8, &byte, 1) && byte == 'x');
	page[8] = 'y';
	CHECK(dnp_made_read((uintptr_t)page + 8, &byte, 1) && byte == 'y');
	dnp_generation_bump();
	dnp_mem_unmap(page, PAGE);
	CHECK(!dnp_made_read((uintptr_t)page + 8, &byte, 1));
	CHECK_EQ(dnp_made_read_some((uintptr_t)page + 8, &byte, 1), 0);
}

TEST(made_is_read_up_to_what_cannot_be)
{
	char *page = one_page(), bytes[64];

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(dnp_made_read_some((uintptr_t)page + PAGE - 16, bytes, sizeof(bytes)), 16);
		CHECK(!dnp_made_read((uintptr_t)page + PAGE - 16, bytes, sizeof(bytes)));
		CHECK(dnp_made_read((uintptr_t)page + PAGE - 16, bytes, 16));
	}
	CHECK(!dnp_made_read(UINTPTR_MAX - 3, bytes, 8));
	CHECK_EQ(dnp_made_read_some(UINTPTR_MAX - 3, bytes, 8), 0);
	CHECK(!dnp_made_read(8, bytes, 8));
	dnp_mem_unmap(page, PAGE);
}

TEST(made_pages_that_share_a_place)
{
	enum { PAGES = 600 };
	char *pages = dnp_mem_map(PAGES * PAGE), byte;

	CHECK(pages);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < PAGES; i++) {
			pages[i * PAGE] = (char)(i % 100);
			CHECK(dnp_made_read((uintptr_t)(pages + i * PAGE), &byte, 1) &&
				byte == (char)(i % 100));
		}
	dnp_mem_unmap(pages, PAGES * PAGE);
}
