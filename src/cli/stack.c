/* SPDX-License-Identifier: MIT */
/* dnprof stack: what all threads of a process are doing now. */
#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "cli/cli.h"
#include "cli/loaded.h"
#include "cli/output.h"
#include "cli/words.h"
#include "export/stacks.h"
#include "launch/interrupt.h"
#include "launch/remote.h"
#include "os/console.h"
#include "read/symbolize.h"

#define OPT(name) DNP_OPT(stack, name)

struct stack {
	const struct dnp_values *values;
	pid_t pid;
	uint64_t timeout_ns;
	enum dnp_native native;
	struct dnp_words only;
	struct dnp_input input;
	struct dnp_sink_memory names; /* chunks with the names of native functions */
	struct dnp_profile profile;
	struct dnp_moment moment;
};

static int parse_options(struct stack *stack, int argc, char **argv)
{
	static const char *const natives[] = {"all", "leaf", "none", NULL};
	const struct dnp_values *values = stack->values;
	int native = dnp_choose("stack", "native", values->text[OPT(native)], natives);
	int status = dnp_take_pid("stack", argc, argv, &stack->pid);

	if (status)
		return status;
	if (native < 0)
		return DNP_EXIT_USAGE;
	stack->native = (enum dnp_native)native;
	return dnp_take_timeout(values, &stack->timeout_ns);
}

/* An agent that was brought for this does not stay where it is interrupted. */
static int ask(const struct stack *stack, int *fd, struct dnp_err *err)
{
	struct dnp_interrupt interrupt;
	int status = dnp_interrupt_take(&interrupt, err);

	if (status)
		return status;
	status = dnp_remote_stack(stack->pid, stack->timeout_ns, interrupt.fd, fd, err);
	if (status == -EINTR)
		dnp_failed(err);
	dnp_interrupt_give_back(&interrupt);
	return status;
}

/* Fetches the stacks, and the names of native functions as the process itself sees its files. */
static int fetch(struct stack *stack, struct dnp_err *err)
{
	char root[32];
	auto_close int fd = -1;
	size_t found;
	int status = ask(stack, &fd, err);

	if (status)
		return status;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)stack->pid);
	status = dnp_input_add_open(&stack->input, "the stacks", fd, err);
	if (!status)
		status = dnp_input_finish(&stack->input, err);
	if (!status &&
		dnp_symbolize_in(&stack->input.recordings.p[0], root, &stack->names.sink, &found))
		status = dnp_err(err, -ENOMEM, "cannot show stacks: out of memory; free some");
	if (!status && stack->names.bytes.n)
		status = dnp_input_add_bytes(&stack->input, "names of functions",
			stack->names.bytes.p, stack->names.bytes.n, err);
	return status ? status : dnp_input_finish(&stack->input, err);
}

static int read_in(struct stack *stack, struct dnp_err *err)
{
	int status = dnp_words_split(&stack->only, stack->values->text[OPT(thread)]);
	struct dnp_filter filter = {
		.native = stack->native,
		.threads = stack->only.list.p,
		.thread_count = stack->only.list.n,
	};

	if (!status)
		status = dnp_profile_init(&stack->profile, DNP_BY_THREAD, &filter);
	if (!status)
		status = dnp_profile_add(&stack->profile, &stack->input, err);
	if (!status) {
		dnp_profile_finish(&stack->profile);
		status = dnp_moment_init(
			&stack->moment, &stack->profile, &stack->input.recordings.p[0]);
	}
	if (status == -ENOMEM)
		dnp_err(err, status, "cannot show stacks: out of memory; free some");
	return status;
}

static int show(const struct stack *stack, struct dnp_err *err)
{
	const struct dnp_values *values = stack->values;
	struct dnp_sink_fd out;

	dnp_output_begin(&out);
	if (values->given[OPT(json)])
		dnp_stacks_json(&stack->moment, &out.sink);
	else
		dnp_stacks_text(&stack->moment, values->given[OPT(threads)] > 0,
			dnp_console_columns(), &out.sink);
	return dnp_output_end(&out, "the stacks", "see where the output leads", err);
}

int dnp_cmd_stack(const struct dnp_values *values, int argc, char **argv)
{
	struct stack stack = {.values = values};
	struct dnp_err err = {0};
	int status = parse_options(&stack, argc, argv);

	if (status)
		return status;
	dnp_input_init(&stack.input);
	dnp_sink_memory_init(&stack.names);
	if (fetch(&stack, &err) || read_in(&stack, &err) || show(&stack, &err))
		status = dnp_failed(&err);
	else
		status = dnp_said_absent(&stack.profile);
	dnp_moment_done(&stack.moment);
	dnp_profile_done(&stack.profile);
	dnp_input_done(&stack.input);
	dnp_vec_done(&stack.names.bytes);
	dnp_words_done(&stack.only);
	return status;
}
