/* SPDX-License-Identifier: MIT */
/* Which library an address was in, and when that is known. */
#include <stdio.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/file_sink.h"
#include "os/library.h"
#include "os/modules.h"

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
static const char *copy(void)
{
	static const char path[] = "./another-new-marks.so";
	struct dnp_file_bytes bytes;
	struct dnp_sink_file file;

	CHECK_EQ(dnp_file_load(NEW_LIBRARY, &bytes), 0);
	CHECK_EQ(dnp_sink_file_open(&file, path, NULL), 0);
	dnp_sink_write(&file.out.sink, bytes.p, bytes.n);
	CHECK_EQ(dnp_sink_file_commit(&file, NULL), 0);
	dnp_file_unmap(bytes.p, bytes.n);
	return path;
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
	const char *name = dnp_path_base(NEW_LIBRARY), *path = copy();
	struct loaded first = load(NEW_LIBRARY), second;

	CHECK(dnp_modules_refresh() > 0);
	first_ns = dnp_now_ns();
	dnp_modules_refresh();
	between_ns = dnp_now_ns();
	dnp_library_close(first.library);
	CHECK_EQ(dnp_modules_refresh(), 1);
	none_ns = dnp_now_ns();
	dnp_modules_refresh();
	second = load(path);
	dnp_file_remove(path);
	if (second.code != first.code)
		SKIP("the second library was loaded at another address");
	unlisted_ns = dnp_now_ns();
	CHECK_EQ(dnp_modules_refresh(), 1);
	second_ns = dnp_now_ns();

	check_at(first.code, first_ns, name);
	check_at(first.code, between_ns, name);
	CHECK(!dnp_module_find_at(first.code, none_ns));
	check_at(first.code, unlisted_ns, dnp_path_base(path));
	check_at(first.code, second_ns, dnp_path_base(path));
	dnp_library_close(second.library);
	dnp_modules_done(NULL);
}

/* In between it may have been the one or the other; where a look had it, it was that one. */
TEST(address_where_one_library_took_the_place_of_another_between_two_looks)
{
	const char *name = dnp_path_base(NEW_LIBRARY), *path = copy();
	struct loaded first = load(NEW_LIBRARY), second;
	uint64_t first_ns, between_ns;

	CHECK(dnp_modules_refresh() > 0);
	first_ns = dnp_now_ns();
	dnp_modules_refresh();
	dnp_library_close(first.library);
	second = load(path);
	dnp_file_remove(path);
	if (second.code != first.code)
		SKIP("the second library was loaded at another address");
	between_ns = dnp_now_ns();
	CHECK_EQ(dnp_modules_refresh(), 2);

	check_at(first.code, first_ns, name);
	CHECK(!dnp_module_find_at(first.code, between_ns));
	check_at(first.code, dnp_now_ns(), dnp_path_base(path));
	dnp_library_close(second.library);
	dnp_modules_done(NULL);
}
