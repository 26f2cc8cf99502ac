/* SPDX-License-Identifier: MIT */
#include "launch/capabilities.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "os/sampler.h"
#include "test.h"

#define ALL_PRIVILEGES UINT64_MAX

static struct dnp_facts facts;
static struct dnp_capability list[DNP_CAN_COUNT];

/* A machine as it should be, and root on it. */
static void start_programs(void)
{
	facts = (struct dnp_facts){
		.perf_paranoid = 2,
		.kptr_restrict = 0,
		.ptrace_scope = DNP_FACT_UNKNOWN,
		.perf_mlock_kb = 516,
		.processors = 4,
		.tick_hz = 250,
		.kernel_names = true,
		.privileges = ALL_PRIVILEGES,
		.files_max = 1024,
		.memlock_max = 8 << 20,
		.signals_max = 1024,
		.folder_path = "/tmp",
		.runtime = {.readable = true, .libc = "glibc 2.36"},
	};
}

/* A process as it should be, its user's own. */
static void look_at_process(void)
{
	start_programs();
	facts.pid = 4242;
	facts.uid = facts.caller = 1000;
	facts.privileges = 0;
	facts.perf_paranoid = 1;
	facts.threads = 20;
	facts.files = 30;
	facts.caught = UINT64_MAX;
	facts.state = 'S';
	facts.own_kind = true;
	facts.has_socket = true;
	snprintf(facts.kind, sizeof(facts.kind), "a .NET program");
	snprintf(facts.runtime.version, sizeof(facts.runtime.version), "10.0.12");
	facts.runtime.found = true;
}

static struct dnp_capability *judge(enum dnp_capability_id id)
{
	dnp_capabilities_judge(&facts, list);
	return &list[id];
}

/* The answer, with these words in why, and in the remedy if there are some. */
#define CHECK_ANSWER(id, wanted, reason, cure)                                                     \
	do {                                                                                       \
		const struct dnp_capability *can = judge(DNP_CAN_##id);                            \
                                                                                                   \
		CHECK(can->asked);                                                                 \
		CHECK_EQ(can->answer, DNP_ANSWER_##wanted);                                        \
		CHECK(strstr(can->why, reason));                                                   \
		CHECK(*(cure) ? strstr(can->remedy, cure) != NULL : !*can->remedy);                \
	} while (0)

static void fact(char *field, const char *text)
{
	strcpy(field, text);
}

TEST(capabilities_all_is_well)
{
	start_programs();
	judge(DNP_CAN_agent);
	for (unsigned i = 0; i < DNP_CAN_COUNT; i++) {
		CHECK(!list[i].asked || list[i].answer == DNP_ANSWER_YES);
		CHECK(!list[i].asked || (*list[i].why && !*list[i].remedy));
	}
	CHECK(!list[DNP_CAN_runtime].asked && !list[DNP_CAN_library].asked &&
		!list[DNP_CAN_answer].asked);
	look_at_process();
	judge(DNP_CAN_agent);
	for (unsigned i = 0; i < DNP_CAN_COUNT; i++)
		CHECK(!list[i].asked || i == DNP_CAN_trace || list[i].answer == DNP_ANSWER_YES);
	CHECK(list[DNP_CAN_runtime].asked && list[DNP_CAN_library].asked &&
		!list[DNP_CAN_answer].asked);
}

TEST(capabilities_agent)
{
	start_programs();
	fact(facts.agent_file,
		"cannot find the agent: no libdnprof.so in /x; build or install dnprof again");
	CHECK_ANSWER(agent, NO, "no libdnprof.so in /x", "build or install");
}

TEST(capabilities_rights)
{
	start_programs();
	CHECK_ANSWER(rights, YES, "all users", "");
	facts.caller = 1000;
	CHECK_ANSWER(rights, YES, "your own processes", "");
	look_at_process();
	CHECK_ANSWER(rights, YES, "uid 1000", "");
	facts.state = 'T';
	CHECK_ANSWER(rights, PARTLY, "it is stopped", "kill -CONT 4242");
	facts.runtime.readable = false;
	facts.uid = 1001;
	CHECK_ANSWER(
		rights, NO, "belongs to uid 1001, you are uid 1000", "sudo dnprof doctor 4242");
	facts.uid = 1000;
	CHECK_ANSWER(rights, NO, "lets nobody look into it", "as root");
	CHECK(!list[DNP_CAN_cpu].asked);
}

TEST(capabilities_runtime)
{
	look_at_process();
	CHECK_ANSWER(runtime, YES, "CoreCLR 10.0.12", "");
	fact(facts.runtime.version, "6.0.36");
	CHECK_ANSWER(runtime, PARTLY, "tested with 8 to 10", "try");
	fact(facts.runtime.version, "11.0.0");
	CHECK_ANSWER(runtime, PARTLY, "11.0.0", "try");
	fact(facts.runtime.version, "");
	CHECK_ANSWER(runtime, PARTLY, "does not show", "");
	facts.runtime.found = false;
	fact(facts.kind, "a script");
	CHECK_ANSWER(runtime, NO, "it is a script", "dnprof status");
	CHECK(!list[DNP_CAN_cpu].asked && !list[DNP_CAN_diagnostics].asked);
	facts.nativeaot = true;
	CHECK_ANSWER(runtime, NO, "NativeAOT", "without PublishAot");
}

TEST(capabilities_libc)
{
	look_at_process();
	fact(facts.runtime.libc, "musl");
	CHECK_ANSWER(libc, NO, "runs on musl", "an image with glibc");
	fact(facts.runtime.libc, "glibc 2.17");
	CHECK_ANSWER(libc, NO, "glibc 2.17 is older", "newer system");
	fact(facts.runtime.libc, "glibc 2.27");
	CHECK_ANSWER(libc, YES, "glibc 2.27", "");
	fact(facts.runtime.libc, "");
	CHECK_ANSWER(libc, PARTLY, "does not show", "");
	facts.own_kind = false;
	fact(facts.kind, "a 32-bit program");
	CHECK_ANSWER(libc, NO, "it is a 32-bit program", "built for it");
}

TEST(capabilities_diagnostics)
{
	start_programs();
	fact(facts.environment,
		"the environment forbids profilers: DOTNET_EnableDiagnostics is 0; run without it");
	CHECK_ANSWER(diagnostics, NO, "DOTNET_EnableDiagnostics is 0", "run without it");
	look_at_process();
	CHECK_ANSWER(diagnostics, YES, "/tmp", "");
	facts.has_socket = false;
	CHECK_ANSWER(diagnostics, NO, "not in /tmp", "start the program again");
	fact(facts.switched_off, "DOTNET_EnableDiagnostics_IPC=0");
	CHECK_ANSWER(diagnostics, NO, "DOTNET_EnableDiagnostics_IPC=0", "without that variable");
}

TEST(capabilities_folders)
{
	look_at_process();
	fact(facts.folder, "/nowhere: No such file or directory; make it, or set TMPDIR");
	CHECK_ANSWER(tmpdir, NO, "/nowhere", "set TMPDIR");
	fact(facts.place, "cannot attach: it cannot see the file; mount it there");
	CHECK_ANSWER(library, NO, "cannot see", "mount it");
	/* The program is recorded, and its socket is what is missing. */
	start_programs();
	fact(facts.folder, "/nowhere: No such file or directory; make it, or set TMPDIR");
	CHECK_ANSWER(tmpdir, PARTLY, "/nowhere", "set TMPDIR");
}

static char agent_path[] = "/x/libdnprof.so", other_path[] = "/opt/apm.so";

TEST(capabilities_agent_in_the_process)
{
	look_at_process();
	facts.runtime.agent = agent_path;
	facts.asked = true;
	facts.status = (struct dnp_status){
		.version = "0.2", .state = "recording", .events = "cpu,trace", .detachable = true};
	CHECK_ANSWER(answer, YES, "dnprof 0.2, recording", "");
	CHECK_ANSWER(trace, YES, "being recorded", "");
	CHECK(!list[DNP_CAN_library].asked && !list[DNP_CAN_diagnostics].asked);
	facts.status.detachable = false;
	fact(facts.status.reason, "calls are hooked");
	CHECK_ANSWER(answer, PARTLY, "cannot be detached: calls are hooked", "");
	facts.asked = false;
	fact(facts.no_answer, "cannot ask process 4242: no answer within 1.0 s; give it more time");
	CHECK_ANSWER(answer, NO, "no answer", "more time");
}

TEST(capabilities_other_profilers)
{
	start_programs();
	fact(facts.other, "/opt/apm.so");
	CHECK_ANSWER(profiler, PARTLY, "/opt/apm.so", "unset CORECLR_ENABLE_PROFILING");
	CHECK_ANSWER(trace, NO, "hooks need", "unset CORECLR_ENABLE_PROFILING");
	look_at_process();
	CHECK_ANSWER(trace, NO, "from a program's start only", "dnprof run -e trace");
	facts.runtime.profiler = other_path;
	CHECK_ANSWER(profiler, PARTLY, "/opt/apm.so is loaded", "without it");
}

TEST(capabilities_stacks)
{
	look_at_process();
	facts.caught = 0;
	CHECK_ANSWER(stacks, NO, "does not catch signal 34", "try again");
}

TEST(capabilities_perf_of_programs)
{
	start_programs();
	facts.privileges = 0;
	facts.perf_error = EACCES;
	CHECK_ANSWER(
		cpu, PARTLY, "kernel.perf_event_paranoid is 2", "kernel.perf_event_paranoid=1");
	CHECK(strstr(list[DNP_CAN_cpu].why, "250 times a second"));
	CHECK_ANSWER(kernel, NO, "kernel.perf_event_paranoid is 2", "kernel.perf_event_paranoid=1");
	CHECK_ANSWER(timeline, YES, "", "");
	facts.perf_paranoid = 3;
	facts.switches_error = EACCES;
	CHECK_ANSWER(timeline, PARTLY, "kernel.perf_event_paranoid is 3",
		"kernel.perf_event_paranoid=2");
	facts.privileges = ALL_PRIVILEGES;
	facts.perf_error = facts.switches_error = EPERM;
	facts.seccomp = 2;
	CHECK_ANSWER(cpu, PARTLY, "a seccomp filter is on and refuses", "--cap-add PERFMON");
	CHECK_ANSWER(kernel, NO, "a seccomp filter", "--cap-add PERFMON");
	CHECK_ANSWER(timeline, PARTLY, "a seccomp filter", "--cap-add PERFMON");
	CHECK(strstr(list[DNP_CAN_timeline].why, "a thousand times a second instead"));
	facts.seccomp = 0;
	facts.perf_error = EMFILE;
	CHECK_ANSWER(cpu, PARTLY, strerror(EMFILE), "");
	facts.perf_paranoid = DNP_FACT_UNKNOWN;
	CHECK_ANSWER(cpu, PARTLY, "CONFIG_PERF_EVENTS", "");
}

TEST(capabilities_clocks_of_threads)
{
	static const struct {
		const char *kernel;
		bool one;
	} cases[] = {{"6.18.44", true}, {"6.1.0-13-amd64", true}, {"7.0", true}, {"6.0.19", false},
		{"5.15.0", false}, {"", false}};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(cases); i++) {
		start_programs();
		snprintf(facts.kernel, sizeof(facts.kernel), "%s", cases[i].kernel);
		CHECK_ANSWER(cpu, YES,
			cases[i].one ? "one perf event for all threads (.NET 8: for each, above 250"
				     : "event for each thread (above that, or --source perf)",
			"");
		CHECK_ANSWER(kernel, YES, cases[i].one ? "" : "--source perf", "");
		/* Its threads are there already. */
		look_at_process();
		snprintf(facts.kernel, sizeof(facts.kernel), "%s", cases[i].kernel);
		CHECK_ANSWER(cpu, YES, "a perf event for each thread (--source perf)", "");
		CHECK_ANSWER(kernel, YES, "--source perf", "");
	}
}

TEST(capabilities_perf_of_a_process)
{
	look_at_process();
	CHECK_ANSWER(cpu, YES, "exact rates", "");
	facts.perf_paranoid = 2;
	CHECK_ANSWER(cpu, PARTLY, "CAP_PERFMON is missing", "kernel.perf_event_paranoid=1");
	CHECK_ANSWER(timeline, YES, "", "");
	facts.privileges = ALL_PRIVILEGES;
	CHECK_ANSWER(cpu, YES, "exact rates", "");
	facts.user_namespace = true;
	CHECK_ANSWER(cpu, PARTLY, "a user namespace", "kernel.perf_event_paranoid=1");
	facts.user_namespace = false;
	facts.seccomp = 2;
	CHECK_ANSWER(cpu, PARTLY, "may refuse perf events", "--cap-add PERFMON");
	CHECK_ANSWER(kernel, PARTLY, "may refuse perf events", "--cap-add PERFMON");
	CHECK_ANSWER(timeline, PARTLY, "may refuse perf events", "--cap-add PERFMON");
	facts.seccomp = 0;
	facts.perf_paranoid = 1;
	facts.privileges = 0;
	facts.kernel_names = false;
	facts.kptr_restrict = 2;
	CHECK_ANSWER(kernel, PARTLY, "kernel.kptr_restrict is 2", "kernel.kptr_restrict=0");
}

TEST(capabilities_limits)
{
	look_at_process();
	facts.files_max = 40;
	CHECK_ANSWER(cpu, PARTLY, "20 threads, but with --source perf descriptors for 10",
		"prlimit --pid 4242 --nofile=");
	facts.files_max = UINT64_MAX;
	CHECK_ANSWER(cpu, YES, "", "");
	facts.perf_paranoid = 2;
	facts.signals = 30;
	facts.signals_max = 30 + DNP_SAMPLER_SPARED + 5;
	CHECK_ANSWER(cpu, PARTLY, "pending signals for 5", "--sigpending=");
	look_at_process();
	facts.memlock_max = 0;
	facts.perf_mlock_kb = 30;
	CHECK_ANSWER(kernel, PARTLY, "of 10 threads of 20", "perf_event_mlock_kb=");
	facts.threads = 10;
	CHECK_ANSWER(kernel, YES, "up to 10 threads", "");
	facts.memlock_max = UINT64_MAX;
	CHECK_ANSWER(kernel, YES, "with names", "");
}
