/* SPDX-License-Identifier: MIT */
/* What facts of Windows mean, also those that Wine does not have. */
#include <stdio.h>
#include <string.h>

#include "launch/capabilities.h"
#include "test.h"

static struct dnp_facts facts;
static struct dnp_capability list[DNP_CAN_COUNT];

static void start_programs(void)
{
	facts = (struct dnp_facts){
		.step_ns = 15625000,
		.folder_path = "C:\\Temp\\",
		.user = "ann",
		.caller_user = "ann",
		.runtime = {.readable = true},
	};
}

/* A process as it should be, its user's own. */
static void look_at_process(void)
{
	start_programs();
	facts.pid = 4242;
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

static void check_is_well(void)
{
	dnp_capabilities_judge(&facts, list);
	for (unsigned i = 0; i < DNP_CAN_COUNT; i++)
		if (list[i].asked && list[i].needed)
			CHECK_EQ(list[i].answer, DNP_ANSWER_YES);
}

TEST(capabilities_all_is_well)
{
	start_programs();
	check_is_well();
	CHECK(!list[DNP_CAN_runtime].asked && !list[DNP_CAN_events].asked);
	look_at_process();
	check_is_well();
	CHECK(list[DNP_CAN_events].asked && list[DNP_CAN_stacks].asked);
}

TEST(capabilities_has_nothing_of_linux)
{
	look_at_process();
	dnp_capabilities_judge(&facts, list);
	CHECK(!list[DNP_CAN_libc].asked && !list[DNP_CAN_tmpdir].asked);
	CHECK(!list[DNP_CAN_library].asked && !list[DNP_CAN_kernel].asked);
}

TEST(capabilities_rights)
{
	look_at_process();
	CHECK_ANSWER(rights, YES, "user ann", "");
	strcpy(facts.user, "bob");
	CHECK_ANSWER(rights, NO, "belongs to user bob, you are user ann", "console of that user");
	strcpy(facts.user, "ann");
	facts.runtime.readable = false;
	CHECK_ANSWER(rights, NO, "rights that you have not", "console of an administrator");
	strcpy(facts.user, "bob");
	CHECK_ANSWER(rights, NO, "belongs to user bob, you are user ann", "console of that user");
	strcpy(facts.user, "?");
	CHECK_ANSWER(rights, NO, "another user", "administrator");
	CHECK(!judge(DNP_CAN_cpu)->asked);
}

TEST(capabilities_runtime)
{
	look_at_process();
	CHECK_ANSWER(runtime, YES, "CoreCLR 10.0.12", "");
	strcpy(facts.runtime.version, "9.0.1");
	CHECK_ANSWER(runtime, PARTLY, "dnprof is tested with 10", "try");
	strcpy(facts.kind, "a 32-bit program");
	facts.own_kind = false;
	CHECK_ANSWER(runtime, NO, "it is a 32-bit program", "run one of these");
	facts.own_kind = true;
	facts.runtime.found = false;
	facts.nativeaot = true;
	CHECK_ANSWER(runtime, NO, "NativeAOT", "PublishAot");
}

TEST(capabilities_pipe)
{
	look_at_process();
	facts.has_socket = false;
	CHECK_ANSWER(diagnostics, NO, "no pipe", "without that");
	strcpy(facts.switched_off, "DOTNET_EnableDiagnostics=0");
	CHECK_ANSWER(diagnostics, NO, "DOTNET_EnableDiagnostics=0", "without that variable");
}

/* Where none can be started beside another, nothing can be recorded of programs that are started.
 */
TEST(capabilities_other_profiler)
{
	start_programs();
	strcpy(facts.other, "C:\\apm.dll");
	CHECK_ANSWER(profiler, NO, "C:\\apm.dll", "CORECLR_ENABLE_PROFILING");
	CHECK(judge(DNP_CAN_profiler)->needed);
	look_at_process();
	strcpy(facts.other, "C:\\apm.dll");
	CHECK_ANSWER(profiler, PARTLY, "C:\\apm.dll", "without it");
	CHECK(!judge(DNP_CAN_profiler)->needed);
}

TEST(capabilities_clocks)
{
	start_programs();
	CHECK_ANSWER(cpu, YES, "steps of 15.6 ms", "");
	CHECK_ANSWER(timeline, PARTLY, "steps of 15.6 ms", "");
	facts.step_ns = 0;
	CHECK(!strstr(judge(DNP_CAN_cpu)->why, "steps"));
	strcpy(facts.threads_shut, "they may not be looked at; ask as another");
	CHECK_ANSWER(timeline, NO, "may not", "ask as another");
}

TEST(capabilities_what_would_end_the_program)
{
	look_at_process();
	CHECK_ANSWER(events, YES, "listened to", "");
	facts.low_code = true;
	CHECK_ANSWER(events, NO, "would end the program", "DOTNET_EnableWriteXorExecute=0");
}

TEST(capabilities_temp)
{
	start_programs();
	CHECK_ANSWER(temp, YES, "C:\\Temp", "");
	strcpy(facts.folder, "cannot make a temporary file: no; set TEMP");
	CHECK_ANSWER(temp, NO, "temporary file", "set TEMP");
	CHECK(!judge(DNP_CAN_temp)->needed);
}
