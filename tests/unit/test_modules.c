/* SPDX-License-Identifier: MIT */
/* Which library an address was in, and when that is known. */
#include <stdio.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/file_sink.h"
#include "os/library.h"
#include "os/modules.h"
#include "os/process.h"

#include "test.h"

struct loaded {
	void *library;
	uintptr_t code;
};

static struct loaded load(const char *path)
{
	struct loaded it = {.library = dnp_library_open(path)};

	CHECK(it.library);
	it.code = (uintptr_t)dnp_library_function(it.library, "say_again");
	CHECK(it.code);
	return it;
}

/* The same library by another name. */
static char copied[64];

static void copy(void)
{
	struct dnp_file_bytes bytes;
	struct dnp_sink_file file;

	snprintf(copied, sizeof(copied), "./new-marks-%d.so", dnp_process_id());
	CHECK_EQ(dnp_file_load(NEW_LIBRARY, &bytes), 0);
	CHECK_EQ(dnp_sink_file_open(&file, copied, NULL), 0);
	dnp_sink_write(&file.out.sink, bytes.p, bytes.n);
	CHECK_EQ(dnp_sink_file_commit(&file, NULL), 0);
	dnp_file_unmap(bytes.p, bytes.n);
}

static void drop(struct loaded it)
{
	dnp_library_close(it.library);
	dnp_file_remove(copied);
	dnp_modules_done(NULL);
}

/* Where the other one was. */
static struct loaded load_copy_at(uintptr_t code)
{
	struct loaded it = load(copied);

	if (it.code == code)
		return it;
	drop(it);
	SKIP("the second library was loaded at another address");
}

static void check_at(uintptr_t code, uint64_t time_ns, const char *name)
{
	const struct dnp_elf_module *found = dnp_module_find_at(code, time_ns);

	CHECK(found);
	CHECK_STR(dnp_path_base(found->path), name);
}

TEST(address_in_a_library_that_came_between_two_looks)
{
	const char *name = dnp_path_base(NEW_LIBRARY);
	uint64_t before_ns, between_ns;
	struct loaded it;

	before_ns = dnp_now_ns();
	CHECK(dnp_modules_refresh() > 0);
	it = load(NEW_LIBRARY);
	between_ns = dnp_now_ns();
	CHECK(!dnp_module_find_at(it.code, between_ns));
	CHECK_EQ(dnp_modules_refresh(), 1);
	check_at(it.code, between_ns, name);
	check_at(it.code, dnp_now_ns(), name);
	CHECK(!dnp_module_find_at(it.code, before_ns - 1));
	dnp_library_close(it.library);
	dnp_modules_done(NULL);
}

TEST(address_where_one_library_was_and_then_another)
{
	uint64_t first_ns, between_ns, none_ns, unlisted_ns, second_ns;
	const char *name = dnp_path_base(NEW_LIBRARY);
	struct loaded first = load(NEW_LIBRARY), second;

	copy();
	CHECK(dnp_modules_refresh() > 0);
	first_ns = dnp_now_ns();
	dnp_modules_refresh();
	between_ns = dnp_now_ns();
	dnp_library_close(first.library);
	CHECK_EQ(dnp_modules_refresh(), 1);
	dnp_modules_refresh();
	none_ns = dnp_now_ns();
	dnp_modules_refresh();
	second = load_copy_at(first.code);
	unlisted_ns = dnp_now_ns();
	CHECK_EQ(dnp_modules_refresh(), 1);
	second_ns = dnp_now_ns();

	check_at(first.code, first_ns, name);
	check_at(first.code, between_ns, name);
	CHECK(!dnp_module_find_at(first.code, none_ns));
	check_at(first.code, unlisted_ns, dnp_path_base(copied));
	check_at(first.code, second_ns, dnp_path_base(copied));
	drop(second);
}

/* In between it may have been the one or the other; where a look had it, it was that one. */
TEST(address_where_one_library_took_the_place_of_another_between_two_looks)
{
	const char *name = dnp_path_base(NEW_LIBRARY);
	struct loaded first = load(NEW_LIBRARY), second;
	uint64_t first_ns, between_ns;

	copy();
	CHECK(dnp_modules_refresh() > 0);
	first_ns = dnp_now_ns();
	dnp_modules_refresh();
	dnp_library_close(first.library);
	second = load_copy_at(first.code);
	between_ns = dnp_now_ns();
	CHECK_EQ(dnp_modules_refresh(), 2);

	check_at(first.code, first_ns, name);
	CHECK(!dnp_module_find_at(first.code, between_ns));
	check_at(first.code, dnp_now_ns(), dnp_path_base(copied));
	drop(second);
}
