/* SPDX-License-Identifier: MIT */
/* Engines that write now and then only, and a copy of the recording that is wanted in between. */
#include <stdlib.h>
#include <unistd.h>

#include "agentless.h"
#include "clr/info.h"
#include "test.h"
#include "unwind/native.h"

static HRESULT DNP_COM size_of(ICorProfilerInfo *self, ObjectID object, size_t *bytes)
{
	(void)self;
	*bytes = object;
	return 0;
}

static uint32_t class_label(uintptr_t class_id)
{
	return (uint32_t)class_id;
}

static struct dnp_walked_node some_node(unsigned event, const struct dnp_walked *walked)
{
	(void)event;
	(void)walked;
	return (struct dnp_walked_node){.node = 1};
}

static uint32_t some_frame(dnp_frame_word word, uint64_t time_ns)
{
	(void)word;
	(void)time_ns;
	return 1;
}

static const struct dnp_engine_setting *setting_of(void)
{
	static const struct ICorProfilerInfoVtbl table = {.GetObjectSize2 = size_of};
	static ICorProfilerInfo com = {&table};
	static struct dnp_info info = {.com = &com};
	static const struct dnp_agent_options options;
	static const struct dnp_engine_setting setting = {
		.options = &options,
		.info = &info,
		.runtime = 10,
		.thread = thread_of,
		.is_ours = is_ours,
		.own_id = no_id,
		.announce = announce,
		.walked = some_node,
		.frame = some_frame,
		.class_label = class_label,
	};

	return &setting;
}

static void make_object(void)
{
	dnp_engine_exact.allocated(64, 1);
}

static void call_native_code(void)
{
	dnp_engine_transition.transition(0, 1, 0);
}

static void do_nothing(void)
{
}

static uint64_t bytes_of(const struct dnp_writer *writer)
{
	return dnp_writer_written(writer) + writer->used;
}

/* By the file: what came since it was last written is there at once. */
static void check(const struct dnp_engine *engine, void (*happen)(void))
{
	char name[] = "/tmp/dnprof-test-XXXXXX";
	struct dnp_writer writer;
	struct dnp_err err;
	uint64_t before;
	int fd = mkstemp(name);

	CHECK(fd >= 0);
	unlink(name);
	dnp_threads_init(64, DNP_EVENTS_MAX);
	dnp_native_refresh();
	CHECK_EQ(dnp_writer_open(&writer, fd, 1), 0);
	CHECK_EQ(engine->start(setting_of(), 0, &err), 0);
	happen();
	engine->write(&writer, 0);
	before = bytes_of(&writer);
	happen();
	CHECK(engine->hurry != NULL);
	engine->hurry();
	engine->write(&writer, 0);
	CHECK(bytes_of(&writer) > before);
	engine->stop();
	if (engine->forget)
		engine->forget();
	CHECK_EQ(dnp_writer_close(&writer), 0);
}

TEST(copy_has_what_was_counted_of_objects)
{
	check(&dnp_engine_exact, make_object);
}

TEST(copy_has_what_was_counted_of_calls)
{
	check(&dnp_engine_transition, call_native_code);
}

TEST(copy_has_how_many_waits_there_were)
{
	check(&dnp_engine_lock, do_nothing);
	check(&dnp_engine_waithandle, do_nothing);
}
