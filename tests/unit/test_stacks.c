/* SPDX-License-Identifier: MIT */
/* The stacks of one moment: who does the same, and how they are written. */
#include "export/stacks.h"

#include "profiled.h"

static void thread(struct recording *rec, uint64_t index, const char *name, uint64_t state,
	const char *call, int64_t number, const char *missing)
{
	RECORD(rec, thread, .index = index, .tid = 100 + index, .name = dnp_str(name));
	RECORD(rec, thread_state, .thread = index, .state = state, .call = dnp_str(call),
		.call_number = number, .missing = dnp_str(missing));
}

static void sample(struct recording *rec, uint64_t index, uint64_t node)
{
	RECORD(rec, sample, .thread = index, .node = node, .weight = 1,
		.flags = DNP_SAMPLE_WAITING);
}

/*
 * Process 7 at one moment: "main" and "worker 1", "worker 2" wait, these two in the same stack; one
 * runs, whose stack is cut; one could not be stopped; one waits in a call without a name.
 */
static void moment_recording(struct recording *rec)
{
	static const uint64_t main_frames[] = {1, 2, 3}, worker_frames[] = {4, 3};

	RECORD(rec, process, .pid = 7, .start_unix_ns = 1700000000000000000,
		.command = {"/bin/app\0x\0", 11}, .runtime = dnp_str("10.0.12"));
	RECORD(rec, event, .name = dnp_str("stack"), .unit = dnp_str("samples"));
	RECORD(rec, module, .index = 1, .kind = DNP_MODULE_MANAGED, .path = dnp_str("/app/app.dll"),
		.name = dnp_str("app.dll"));
	RECORD(rec, module, .index = 2, .kind = DNP_MODULE_NATIVE, .path = dnp_str("/lib/libc.so"),
		.name = dnp_str("libc.so"));
	RECORD(rec, frame, .index = 1, .kind = DNP_FRAME_MANAGED, .module = 1,
		.name = dnp_str("App.Program.Main()"));
	RECORD(rec, frame, .index = 2, .kind = DNP_FRAME_MANAGED, .module = 1,
		.name = dnp_str("App.Program.Wait(object)"));
	RECORD(rec, frame, .index = 3, .kind = DNP_FRAME_NATIVE, .module = 2, .function = 16);
	RECORD(rec, frame, .index = 4, .kind = DNP_FRAME_MANAGED, .module = 1,
		.name = dnp_str("App.Worker.Run()"));
	RECORD(rec, symbol, .module = 2, .function = 16, .name = dnp_str("futex_wait"));
	recording_stack(rec, 1, 0, main_frames, 3);
	recording_stack(rec, 4, 0, worker_frames, 2);
	thread(rec, 0, "main", DNP_THREAD_WAITING, "futex", 202, "");
	thread(rec, 1, "worker 1", DNP_THREAD_WAITING, "futex", 202, "");
	thread(rec, 2, "busy\033[2J", DNP_THREAD_RUNNING, "", -1, "code without a rule");
	thread(rec, 3, "worker 2", DNP_THREAD_WAITING, "futex", 202, "");
	thread(rec, 4, "", DNP_THREAD_UNSEEN, "", -1, "it could not be stopped");
	thread(rec, 5, "odd", DNP_THREAD_WAITING, "", 999, "");
	sample(rec, 0, 3);
	sample(rec, 1, 5);
	sample(rec, 2, 4);
	sample(rec, 3, 5);
	sample(rec, 5, 5);
	RECORD(rec, end, .time_ns = 1);
	recording_flush(rec);
}

/* What is written of it; `json`, else text. */
static const char *show(bool json, bool each, const struct dnp_filter *filter)
{
	static struct dnp_sink_memory written;
	struct recording rec = recording_new(1);
	struct dnp_profile profile;
	struct dnp_moment moment;
	struct dnp_input input;

	moment_recording(&rec);
	dnp_sink_memory_init(&written);
	profile_recording(&profile, &input, &rec, filter, DNP_BY_THREAD);
	CHECK_EQ(dnp_moment_init(&moment, &profile, &input.recordings.p[0]), 0);
	if (json)
		dnp_stacks_json(&moment, &written.sink);
	else
		dnp_stacks_text(&moment, each, 0, &written.sink);
	CHECK_EQ(written.sink.error, 0);
	dnp_sink_write(&written.sink, "", 1);
	dnp_moment_done(&moment);
	dnp_profile_done(&profile);
	dnp_input_done(&input);
	recording_done(&rec);
	return written.bytes.p;
}

TEST(stacks_text)
{
	CHECK_STR(show(false, false, NULL),
		"app: /bin/app x\n"
		"  pid 7, .NET 10.0.12, 6 threads: 1 running, 4 waiting, 1 not known; "
		"2023-11-14 22:13:20 UTC\n"
		"\n"
		"Thread 100 \"main\", waiting in futex\n"
		"  libc.so!futex_wait\n"
		"  App.Program.Wait(object)  app.dll\n"
		"  App.Program.Main()  app.dll\n"
		"\n"
		"×2 threads, waiting in futex: 101 \"worker 1\", 103 \"worker 2\"\n"
		"  libc.so!futex_wait\n"
		"  App.Worker.Run()  app.dll\n"
		"\n"
		"Thread 102 \"busy\xef\xbf\xbd[2J\", running\n"
		"  App.Worker.Run()  app.dll\n"
		"  the rest is missing: code without a rule\n"
		"\n"
		"Thread 104, state not known\n"
		"  no stack: it could not be stopped\n"
		"\n"
		"Thread 105 \"odd\", waiting in system call 999\n"
		"  libc.so!futex_wait\n"
		"  App.Worker.Run()  app.dll\n");
}

TEST(stacks_each_by_itself)
{
	const char *text = show(false, true, NULL);

	CHECK(!strstr(text, "×"));
	CHECK(strstr(text, "\nThread 101 \"worker 1\", waiting in futex\n") != NULL);
	CHECK(strstr(text, "\nThread 103 \"worker 2\", waiting in futex\n") != NULL);
}

TEST(stacks_of_some_threads)
{
	static const char *const wanted[] = {"worker*"};
	const struct dnp_filter filter = {
		.threads = wanted, .thread_count = 1, .native = DNP_NATIVE_NONE};

	CHECK_STR(strchr(show(false, false, &filter), '\n'),
		"\n  pid 7, .NET 10.0.12, 2 threads: 0 running, 2 waiting; 2023-11-14 22:13:20 "
		"UTC\n"
		"\n"
		"×2 threads, waiting in futex: 101 \"worker 1\", 103 \"worker 2\"\n"
		"  App.Worker.Run()  app.dll\n");
}

TEST(stacks_json)
{
	const char *json = show(true, false, NULL);

	CHECK(!strncmp(json, "{\"version\":1,\"command\":[\"/bin/app\",\"x\"],\"pid\":7,", 48));
	CHECK(strstr(json,
		      "{\"tid\":102,\"name\":\"busy\\u001b[2J\",\"state\":\"running\",\"call\":"
		      "\"\","
		      "\"missing\":\"code without a "
		      "rule\",\"frames\":[{\"name\":\"App.Worker.Run()\","
		      "\"module\":\"app.dll\",\"kind\":\"managed\"}]}") != NULL);
	CHECK(strstr(json,
		      "\"state\":\"unknown\",\"call\":\"\",\"missing\":"
		      "\"it could not be stopped\",\"frames\":[]}") != NULL);
	CHECK(strstr(json, "\"call\":\"system call 999\"") != NULL);
}
