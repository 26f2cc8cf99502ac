/* SPDX-License-Identifier: MIT */
/* The time line's library on Windows, where it looks at clocks: of live threads that know what they
 * did. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

#include <dnprof/timeline.h>

#include "test.h"

#define MS      UINT64_C(1000000)
#define STEP_NS (16 * MS) /* of a thread's clock */

static struct dnprof_timeline_error error = {.struct_size = sizeof(error)};
static struct dnprof_picture picture = {.struct_size = sizeof(picture)};

static dnprof_timeline *open_with(struct dnprof_timeline_options options)
{
	dnprof_timeline *timeline;

	options.struct_size = sizeof(options);
	if (dnprof_timeline_open(&options, &timeline, &error))
		FAIL("open: %s", error.text);
	return timeline;
}

static void start(dnprof_timeline *timeline)
{
	if (dnprof_timeline_start(timeline, &error))
		FAIL("start: %s", error.text);
}

static void snapshot(dnprof_timeline *timeline)
{
	if (dnprof_timeline_snapshot(timeline, &picture, &error))
		FAIL("snapshot: %s", error.text);
}

static bool find(dnprof_timeline *timeline, DWORD tid, struct dnprof_thread *thread)
{
	struct dnprof_thread next = {.struct_size = sizeof(next)};

	for (uint64_t id = 0; !dnprof_timeline_next_thread(timeline, id, &next); id = next.id)
		if ((DWORD)next.tid == tid) {
			*thread = next;
			return true;
		}
	return false;
}

static struct dnprof_thread_time time_of(
	dnprof_timeline *timeline, uint64_t id, uint64_t from_ns, uint64_t until_ns)
{
	struct dnprof_thread_time time = {.struct_size = sizeof(time)};

	CHECK_EQ(dnprof_timeline_thread_time(timeline, id, from_ns, until_ns, &time), 0);
	return time;
}

static uint64_t cpu_now(void)
{
	FILETIME begin, end, kernel, user;

	GetThreadTimes(GetCurrentThread(), &begin, &end, &kernel, &user);
	return ((uint64_t)kernel.dwLowDateTime + user.dwLowDateTime) * 100;
}

static void compute(uint64_t ns)
{
	uint64_t end = cpu_now() + ns;

	while (cpu_now() < end)
		for (volatile unsigned i = 0; i < 200000; i++)
			;
}

struct worker {
	dnprof_timeline *timeline;
	HANDLE handle, go_on;
	DWORD tid;
	uint64_t begin_ns, end_ns, cpu_ns;
};

static DWORD WINAPI work(void *context)
{
	struct worker *worker = context;

	CHECK_EQ(dnprof_timeline_set_thread_name(worker->timeline, 0, "worker"), 0);
	worker->begin_ns = dnprof_timeline_now();
	compute(100 * MS);
	worker->end_ns = dnprof_timeline_now();
	worker->cpu_ns = cpu_now();
	CHECK_EQ(dnprof_timeline_checkpoint(worker->timeline), 0);
	WaitForSingleObject(worker->go_on, INFINITE);
	return 0;
}

static void begin(struct worker *worker, dnprof_timeline *timeline)
{
	worker->timeline = timeline;
	worker->go_on = CreateEventW(NULL, TRUE, FALSE, NULL);
	worker->handle = CreateThread(NULL, 0, work, worker, 0, &worker->tid);
	CHECK(worker->handle);
}

/* Until it has computed, and stands. */
static void await_rest(struct worker *worker)
{
	struct dnprof_thread thread;

	do {
		Sleep(20);
		snapshot(worker->timeline);
	} while (!worker->cpu_ns || !find(worker->timeline, worker->tid, &thread));
}

static void end(struct worker *worker)
{
	SetEvent(worker->go_on);
	WaitForSingleObject(worker->handle, INFINITE);
}

TEST(clock_and_shape_of_a_thread)
{
	dnprof_timeline *timeline = open_with((struct dnprof_timeline_options){0});
	struct dnprof_thread_time time;
	struct dnprof_span spans[32];
	struct dnprof_thread thread;
	struct worker worker = {0};
	int n;

	start(timeline);
	begin(&worker, timeline);
	await_rest(&worker);
	CHECK(find(timeline, worker.tid, &thread));
	CHECK_STR(thread.name, "worker");
	time = time_of(timeline, thread.id, picture.from_ns, picture.until_ns);
	CHECK(time.cpu_ns + STEP_NS >= worker.cpu_ns && time.cpu_ns <= worker.cpu_ns + STEP_NS);
	CHECK_EQ(time.on_cpu_ns, 0); /* it is not known */
	n = dnprof_timeline_spans(
		timeline, thread.id, worker.begin_ns - 20 * MS, worker.end_ns, 64, spans);
	CHECK(n > 0 && n <= 32);
	end(&worker);
	dnprof_timeline_close(timeline);
}

TEST(thread_that_has_ended_is_not_found_again_by_its_handle)
{
	dnprof_timeline *timeline = open_with((struct dnprof_timeline_options){0});
	struct dnprof_thread thread;
	struct worker worker = {0};

	start(timeline);
	begin(&worker, timeline);
	await_rest(&worker);
	end(&worker);
	do {
		Sleep(20);
		snapshot(timeline);
		CHECK(find(timeline, worker.tid, &thread));
	} while (!thread.end_ns);
	Sleep(60);
	snapshot(timeline);
	CHECK(find(timeline, worker.tid, &thread));
	CHECK(thread.end_ns >= worker.end_ns);
	CHECK_EQ(dnprof_timeline_set_thread_name(timeline, (int)worker.tid, "late"), -ESRCH);
	dnprof_timeline_close(timeline);
}

TEST(marks_and_names)
{
	dnprof_timeline *timeline = open_with((struct dnprof_timeline_options){0});
	struct dnprof_mark mark = {.struct_size = sizeof(mark)};
	char name[64];

	CHECK_EQ(dnprof_timeline_mark(timeline, "early"), -ENODATA);
	start(timeline);
	CHECK_EQ(dnprof_timeline_mark(timeline, "here"), 0);
	CHECK_EQ(dnprof_timeline_set_thread_name(timeline, 0, "the first \xc3\xa9"), 0);
	CHECK_EQ(dnprof_timeline_thread_name(timeline, 0, name, sizeof(name)), 0);
	CHECK_STR(name, "the first \xc3\xa9");
	snapshot(timeline);
	CHECK_EQ(dnprof_timeline_next_mark(timeline, 0, &mark), 0);
	CHECK_STR(mark.text, "here");
	CHECK_EQ((DWORD)mark.tid, GetCurrentThreadId());
	dnprof_timeline_close(timeline);
}

TEST(the_process_has_the_name_of_its_file)
{
	dnprof_timeline *timeline = open_with((struct dnprof_timeline_options){0});
	struct dnprof_process process = {.struct_size = sizeof(process)};

	start(timeline);
	snapshot(timeline);
	CHECK_EQ(dnprof_timeline_next_process(timeline, 0, &process), 0);
	CHECK_EQ(process.pid, GetCurrentProcessId());
	CHECK_STR(process.name, "unit-timeline.e"); /* 15 bytes of it */
	dnprof_timeline_close(timeline);
}

TEST(what_is_not_there_is_said)
{
	struct dnprof_timeline_options options = {.struct_size = sizeof(options)};
	struct dnprof_timeline_info info = {.struct_size = sizeof(info)};
	dnprof_timeline *timeline;

	options.backend = DNPROF_TIMELINE_SWITCHES;
	CHECK_EQ(dnprof_timeline_open(&options, &timeline, &error), -ENOSYS);
	CHECK(strstr(error.text, "administrators"));
	options.backend = DNPROF_TIMELINE_CPUS;
	CHECK_EQ(dnprof_timeline_open(&options, &timeline, &error), -ENOSYS);
	options.backend = 0;
	options.pid = 0x7ffffff0;
	CHECK_EQ(dnprof_timeline_open(&options, &timeline, &error), -ESRCH);
	CHECK(strstr(error.text, "there is no process"));
	timeline = open_with((struct dnprof_timeline_options){0});
	CHECK_EQ(dnprof_timeline_info(timeline, &info), 0);
	CHECK_EQ(info.backend, DNPROF_TIMELINE_POLL);
	CHECK(strstr(info.reason, "sampled") && strstr(info.reason, "Windows"));
	CHECK_EQ(dnprof_timeline_snapshot(timeline, &picture, &error), -ENODATA);
	start(timeline);
	CHECK_EQ(dnprof_timeline_start(timeline, &error), -EALREADY);
	CHECK_EQ(dnprof_timeline_stop(timeline, &error), 0);
	CHECK_EQ(dnprof_timeline_stop(timeline, &error), -ENODATA);
	dnprof_timeline_close(timeline);
}

/* A thread that lived on when it was closed: its id is anybody's once it has ended. */
TEST(handles_go_with_the_time_line)
{
	dnprof_timeline *timeline = open_with((struct dnprof_timeline_options){0});
	struct worker worker = {0};
	HANDLE again;

	start(timeline);
	begin(&worker, timeline);
	await_rest(&worker);
	again = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, worker.tid);
	CHECK(again);
	CloseHandle(again);
	dnprof_timeline_close(timeline);
	end(&worker);
	CloseHandle(worker.handle);
	CHECK(!OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, worker.tid));
}
