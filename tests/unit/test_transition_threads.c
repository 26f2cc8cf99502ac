/* SPDX-License-Identifier: MIT */
/* Transitions of a thread that has the number of one whose end was not noticed yet. */
#include <stdlib.h>
#include <unistd.h>

#include "agentless.h"
#include "os/clock.h"
#include "os/thread.h"
#include "test.h"

static uint64_t lacking;

static uint32_t some_frame(dnp_frame_word word, uint64_t time_ns)
{
	(void)word;
	(void)time_ns;
	return 1;
}

static void count_all(unsigned event, const char *reason, uint64_t count)
{
	(void)event;
	(void)reason;
	lacking += count;
}

static uint64_t bytes_of(const struct dnp_writer *writer)
{
	return dnp_writer_written(writer) + writer->used;
}

/* It took the record of the one that has gone, and is in native code when that is noticed. */
TEST(thread_that_took_the_record_of_one_that_has_gone_counts_on)
{
	static const struct dnp_agent_options options = {.transition_ns = UINT64_C(1) << 40};
	static const struct dnp_engine_setting setting = {
		.options = &options,
		.runtime = 10,
		.thread = thread_of,
		.is_ours = is_ours,
		.own_id = no_id,
		.announce = announce,
		.frame = some_frame,
	};
	const struct dnp_engine *engine = &dnp_engine_transition;
	char name[] = "/tmp/dnprof-test-XXXXXX";
	struct dnp_thread *thread;
	struct dnp_writer writer;
	struct dnp_err err;
	uint64_t before;
	int fd = mkstemp(name);

	CHECK(fd >= 0);
	unlink(name);
	dnp_threads_init(64, DNP_EVENTS_MAX);
	CHECK_EQ(dnp_writer_open(&writer, fd, 1), 0);
	CHECK_EQ(engine->start(&setting, 0, &err), 0);
	engine->write(&writer, 0);
	thread = thread_of(dnp_thread_id(), 0);
	thread->gone_ns = dnp_now_ns();
	engine->transition(0, 1, 0);
	engine->thread_end(thread);
	engine->transition(0, 0, 1);
	engine->failures(0, count_all);
	CHECK_EQ(lacking, 0);
	before = bytes_of(&writer);
	thread->gone_ns = UINT64_MAX;
	engine->thread_end(thread);
	CHECK(bytes_of(&writer) > before);
	engine->stop();
	CHECK_EQ(dnp_writer_close(&writer), 0);
}
