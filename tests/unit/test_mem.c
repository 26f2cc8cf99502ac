/* SPDX-License-Identifier: MIT */
/* Memory of ours that is used again. */
#include "os/mem.h"

#include <string.h>
#include <sys/mman.h>

#include "test.h"

#define BYTES 8192

static void check_cleared(char *pages)
{
	memset(pages, 1, BYTES);
	dnp_mem_clear(pages, BYTES);
	for (size_t i = 0; i < BYTES; i++)
		CHECK_EQ(pages[i], 0);
}

/* As all of it is where the program locks what will be mapped (mlockall). */
TEST(memory_that_is_locked_is_cleared)
{
	char *pages = dnp_mem_map(BYTES);

	CHECK(pages != NULL);
	check_cleared(pages);
	if (mlock(pages, BYTES))
		SKIP("memory may not be locked here");
	check_cleared(pages);
	dnp_mem_unmap(pages, BYTES);
}
