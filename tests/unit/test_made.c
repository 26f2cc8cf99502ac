/* SPDX-License-Identifier: MIT */
#include "unwind/made.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

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

/* A page without rights, of which some ways to read tell nevertheless. */
TEST(made_pages_that_nobody_may_touch)
{
	char *page = one_page(), byte;

	CHECK(dnp_made_read((uintptr_t)page, &byte, 1));
	CHECK_EQ(mprotect(page, PAGE, PROT_NONE), 0);
	dnp_generation_bump();
	for (int i = 0; i < 3; i++)
		CHECK(!dnp_made_read((uintptr_t)page, &byte, 1));
	dnp_mem_unmap(page, PAGE);
}

static void refuse_reads(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = 4, .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		SKIP("no seccomp filters here");
}

/* Where process_vm_readv is refused, the memory file is asked each time: it shows such pages. */
TEST(made_where_a_sandbox_refuses)
{
	char *page = one_page(), byte = 0;

	refuse_reads();
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(mprotect(page, PAGE, i == 1 ? PROT_NONE : PROT_READ | PROT_WRITE), 0);
		CHECK(dnp_made_read((uintptr_t)page, &byte, 1) && byte == 'x');
	}
	dnp_mem_unmap(page, PAGE);
}
