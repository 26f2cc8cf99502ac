/* SPDX-License-Identifier: MIT */
/* dnprof doctor: what works here, why not, and what to do. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/output.h"
#include "launch/capabilities.h"

#define OPT(name) DNP_OPT(doctor, name)

#define INDENT  20 /* of what stands behind a capability's name */
#define COLUMNS 100

static const char *const answers[] = {
	[DNP_ANSWER_NO] = "no",
	[DNP_ANSWER_PARTLY] = "partly",
	[DNP_ANSWER_YES] = "yes",
};

static void print_facts(const struct dnp_facts *facts, struct dnp_sink *out)
{
	if (facts->pid)
		dnp_sink_printf(out, "What can be done with process %d", (int)facts->pid);
	else
		dnp_sink_puts(out, "What can be done with programs that you start");
	dnp_sink_puts(out, ", by dnprof " DNP_VERSION " on ");
	dnp_doctor_system(facts, out);
	dnp_sink_puts(out, "\n");
	dnp_doctor_line(facts, out);
	dnp_sink_puts(out, "\n");
}

/* From column INDENT on, broken at blanks. */
static void print_wrapped(const char *text, struct dnp_sink *out)
{
	size_t at = INDENT;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (at > INDENT && at + 1 + word > COLUMNS) {
			dnp_sink_printf(out, "\n%*s", INDENT, "");
			at = INDENT;
		} else if (at > INDENT) {
			dnp_sink_puts(out, " ");
			at++;
		}
		dnp_sink_write(out, text, word);
		at += word;
		text += word;
		text += strspn(text, " ");
	}
	dnp_sink_puts(out, "\n");
}

static void print_capability(const struct dnp_capability *can, struct dnp_sink *out)
{
	char text[sizeof(can->why) + sizeof(can->remedy)];

	dnp_sink_printf(out, "%-7s %-11s ", answers[can->answer], can->name);
	snprintf(text, sizeof(text), "%s: %s", can->title, can->why);
	print_wrapped(text, out);
	if (*can->remedy) {
		dnp_sink_printf(out, "%*s", INDENT, "");
		snprintf(text, sizeof(text), "-> %s", can->remedy);
		print_wrapped(text, out);
	}
}

static void print_text(
	const struct dnp_facts *facts, const struct dnp_capability *list, struct dnp_sink *out)
{
	print_facts(facts, out);
	for (unsigned i = 0; i < DNP_CAN_COUNT; i++)
		if (list[i].asked)
			print_capability(&list[i], out);
}

static void print_json(
	const struct dnp_facts *facts, const struct dnp_capability *list, struct dnp_sink *out)
{
	struct dnp_json json = {.sink = out};

	dnp_json_open(&json, NULL, '{');
	dnp_json_u64(&json, "version", 1);
	dnp_json_text(&json, "dnprof", DNP_VERSION);
	if (facts->pid)
		dnp_json_u64(&json, "pid", (uint64_t)facts->pid);
	dnp_doctor_json(&json, facts);
	dnp_json_open(&json, "capabilities", '[');
	for (unsigned i = 0; i < DNP_CAN_COUNT; i++) {
		if (!list[i].asked)
			continue;
		dnp_json_open(&json, NULL, '{');
		dnp_json_text(&json, "name", list[i].name);
		dnp_json_text(&json, "title", list[i].title);
		dnp_json_text(&json, "answer", answers[list[i].answer]);
		dnp_json_bool(&json, "needed", list[i].needed);
		dnp_json_text(&json, "why", list[i].why);
		if (*list[i].remedy)
			dnp_json_text(&json, "remedy", list[i].remedy);
		dnp_json_close(&json, '}');
	}
	dnp_json_close(&json, ']');
	dnp_json_close(&json, '}');
	dnp_sink_puts(out, "\n");
}

/* Says what hinders any recording, if something does. */
static int verdict(const struct dnp_capability *list)
{
	char names[200] = "";

	for (unsigned i = 0; i < DNP_CAN_COUNT; i++)
		if (list[i].asked && list[i].needed && list[i].answer == DNP_ANSWER_NO)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				*names ? ", " : "", list[i].name);
	if (!*names)
		return DNP_EXIT_DONE;
	dnp_say("nothing can be recorded: %s; see there what to do", names);
	return DNP_EXIT_INCOMPLETE;
}

static int show(const struct dnp_facts *facts, const struct dnp_capability *list, bool as_json,
	struct dnp_err *err)
{
	struct dnp_sink_fd out;

	dnp_output_begin(&out);
	if (as_json)
		print_json(facts, list, &out.sink);
	else
		print_text(facts, list, &out.sink);
	return dnp_output_end(&out, "the findings", "see where the output leads", err);
}

int dnp_cmd_doctor(const struct dnp_values *values, int argc, char **argv)
{
	struct dnp_capability list[DNP_CAN_COUNT];
	struct dnp_facts facts;
	struct dnp_err err = {0};
	uint64_t patience_ns;
	pid_t pid = 0;
	int status = argc ? dnp_take_pid("doctor", argc, argv, &pid) : 0;

	if (!status)
		status = dnp_take_timeout(values, &patience_ns);
	if (status)
		return status;
	if (dnp_facts_read(&facts, pid, patience_ns, &err))
		return dnp_failed(&err);
	dnp_capabilities_judge(&facts, list);
	dnp_facts_done(&facts);
	if (show(&facts, list, values->given[OPT(json)], &err))
		return dnp_failed(&err);
	return verdict(list);
}
