/* SPDX-License-Identifier: MIT */
/* What becomes of addresses that no code is known at. */
#include "test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/frames.h"
#include "clr/codemap.h"
#include "clr/hresult.h"
#include "os/clock.h"
#include "os/library.h"
#include "os/modules.h"
#include "store/writer.h"
#include "unwind/managed.h"
#include "unwind/walk.h"

#define CODE_BYTES 4096

static const uint8_t *asked; /* the last address that the runtime was asked for */

static HRESULT DNP_COM find_nothing(
	ICorProfilerInfo *self, const uint8_t *ip, FunctionID *function, ReJITID *rejit)
{
	(void)self, (void)function, (void)rejit;
	asked = ip;
	return E_FAIL;
}

static struct ICorProfilerInfoVtbl knows_no_method = {.GetFunctionFromIP3 = find_nothing};

static unsigned nature_of(
	struct dnp_frames *frames, const void *address, dnp_frame_word exact, uint64_t time_ns)
{
	dnp_frame_word word = (uint64_t)DNP_WALK_UNKNOWN << DNP_FRAME_SHIFT |
		(dnp_frame_word)(uintptr_t)address | exact;
	unsigned nature = 0;

	asked = NULL;
	CHECK(dnp_frames_of(frames, word, time_ns, 0, &nature) > 0);
	return nature;
}

TEST(generated_code_of_no_method_is_a_stub_where_a_thread_runs_in_it)
{
	static ICorProfilerInfo info = {.vtbl = &knows_no_method};
	static const char file_code[] = "no generated code";
	int rights = PROT_READ | PROT_EXEC;
	char *code = mmap(NULL, CODE_BYTES, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dnp_writer writer;
	struct dnp_frames *frames;

	CHECK(code != MAP_FAILED);
	CHECK_EQ(dnp_writer_open(&writer, memfd_create("recording", MFD_CLOEXEC), 1), 0);
	dnp_agent.info.com = &info;
	frames = dnp_frames_new(&writer, DNP_FRAMES_DUMP);
	CHECK(frames != NULL);

	CHECK_EQ(nature_of(frames, code + 64, DNP_FRAME_EXACT, 1), 0);
	CHECK(asked == (const uint8_t *)code + 64);
	/* What a call returns to is code that calls, which stubs do not. */
	CHECK_EQ(nature_of(frames, code + 64, 0, 1), DNP_NATURE_UNKNOWN);
	CHECK(asked != NULL);
	/* It is not asked for what cannot have been generated. */
	CHECK_EQ(nature_of(frames, file_code, DNP_FRAME_EXACT, 1), DNP_NATURE_UNKNOWN);
	CHECK(asked == NULL);
	/* Twice only for samples from before what is known now. */
	nature_of(frames, code + 64, DNP_FRAME_EXACT, dnp_now_ns());
	CHECK(asked != NULL);
	nature_of(frames, code + 64, DNP_FRAME_EXACT, dnp_now_ns());
	CHECK(asked == NULL);

	dnp_frames_free(frames);
	dnp_writer_close(&writer);
	dnp_agent.info.com = NULL;
	munmap(code, CODE_BYTES);
}

/* Samples of before and after wait for the recorder together. */
TEST(address_of_code_that_has_gone_is_named_by_the_time_of_its_sample)
{
	static const struct dnp_code code = {.begin = 0x10000, .bytes = 64, .born_ns = 10};
	dnp_frame_word word = (uint64_t)DNP_WALK_JIT << DNP_FRAME_SHIFT | (code.begin + 8);
	struct dnp_writer writer;
	struct dnp_frames *frames;
	uint32_t then, now;
	unsigned nature = 0;

	CHECK_EQ(dnp_writer_open(&writer, memfd_create("recording", MFD_CLOEXEC), 1), 0);
	frames = dnp_frames_new(&writer, DNP_FRAMES_RECORDING);
	CHECK(frames != NULL);
	CHECK_EQ(dnp_codemap_add(dnp_walk_codemap(), &code, 1), 0);
	CHECK_EQ(dnp_codemap_retire(dnp_walk_codemap(), code.begin, code.begin + 64, 20), 1);

	then = dnp_frames_of(frames, word, 15, 0, &nature);
	now = dnp_frames_of(frames, word, 25, 0, &nature);
	CHECK(now != then); /* [unloaded], and [unknown] */
	CHECK_EQ(dnp_frames_of(frames, word, 15, 0, &nature), then);

	dnp_frames_free(frames);
	dnp_writer_close(&writer);
	dnp_walk_codemap_done();
}

/* ---- Libraries that come */

static unsigned nature_of_native(struct dnp_frames *frames, uintptr_t code, uint64_t time_ns)
{
	unsigned nature = 0;

	CHECK(dnp_frames_of(frames, (uint64_t)DNP_WALK_NATIVE << DNP_FRAME_SHIFT | code, time_ns, 0,
		      &nature) > 0);
	return nature;
}

static void *load(uintptr_t *code)
{
	void *library = dnp_library_open(NEW_LIBRARY);

	CHECK(library);
	*code = (uintptr_t)dnp_library_function(library, "say_again");
	CHECK(*code);
	return library;
}

static struct dnp_frames *frames_of_the_program(struct dnp_writer *writer)
{
	struct dnp_frames *frames;

	CHECK_EQ(dnp_writer_open(writer, memfd_create("recording", MFD_CLOEXEC), 1), 0);
	frames = dnp_frames_new(writer, DNP_FRAMES_RECORDING);
	CHECK(frames != NULL);
	dnp_frames_list();
	dnp_frames_build(NULL);
	return frames;
}

TEST(address_in_a_library_that_is_not_listed_yet_is_named_by_it)
{
	struct dnp_writer writer;
	struct dnp_frames *frames = frames_of_the_program(&writer);
	uintptr_t code;
	void *library = load(&code);

	CHECK_EQ(nature_of_native(frames, code, dnp_now_ns()), 0);
	CHECK(dnp_module_find(code));

	dnp_library_close(library);
	dnp_frames_free(frames);
	dnp_writer_close(&writer);
	dnp_modules_done(NULL);
}

/* What was not known once need not stay so. */
TEST(address_that_had_no_library_is_looked_up_again)
{
	struct dnp_writer writer;
	struct dnp_frames *frames = frames_of_the_program(&writer);
	uintptr_t code, again;
	void *library = load(&code);

	dnp_library_close(library);
	CHECK_EQ(nature_of_native(frames, code, dnp_now_ns()), DNP_NATURE_UNKNOWN);
	/* The first was from before what is known now. */
	CHECK_EQ(nature_of_native(frames, code, dnp_now_ns()), DNP_NATURE_UNKNOWN);
	library = load(&again);
	if (again != code)
		SKIP("the library was loaded at another address");
	CHECK_EQ(nature_of_native(frames, code, dnp_now_ns()), 0);

	dnp_library_close(library);
	dnp_frames_free(frames);
	dnp_writer_close(&writer);
	dnp_modules_done(NULL);
}

static struct {
	struct dnp_frames *frames;
	void *library;
	unsigned nature;
} coming = {.nature = DNP_NATURE_UNKNOWN};

static void name_one_that_comes(void)
{
	uintptr_t code;

	if (coming.library)
		return;
	coming.library = load(&code);
	coming.nature = nature_of_native(coming.frames, code, dnp_now_ns());
}

/* Samples are named while tables are built, too. */
TEST(address_in_a_library_that_comes_while_tables_are_built)
{
	struct dnp_writer writer;

	CHECK_EQ(dnp_writer_open(&writer, memfd_create("recording", MFD_CLOEXEC), 1), 0);
	coming.frames = dnp_frames_new(&writer, DNP_FRAMES_RECORDING);
	CHECK(coming.frames != NULL);
	dnp_frames_list();
	dnp_frames_build(name_one_that_comes);
	CHECK(coming.library != NULL);
	CHECK_EQ(coming.nature, 0);

	dnp_library_close(coming.library);
	dnp_frames_free(coming.frames);
	dnp_writer_close(&writer);
	dnp_modules_done(NULL);
}
