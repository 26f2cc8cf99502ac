/* SPDX-License-Identifier: MIT */
/* dnprof stack: what all threads of a process are doing now. */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/clean.h"
#include "cli/cli.h"
#include "cli/words.h"
#include "export/stacks.h"
#include "launch/control.h"
#include "read/symbolize.h"

#define OPT(name) DNP_OPT(stack, name)

#define MAX_TIMEOUT_NS UINT64_C(3600000000000)

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
	uint64_t pid;

	if (!argc)
		return dnp_usage("stack", "no process named; give its id");
	if (argc > 1)
		return dnp_usage("stack", "one process at a time");
	if (!dnp_parse_count(argv[0], 1, INT32_MAX, &pid))
		return dnp_usage("stack", "%s: not a process id", argv[0]);
	if (native < 0)
		return DNP_EXIT_USAGE;
	stack->pid = (pid_t)pid;
	stack->native = (enum dnp_native)native;
	if (!dnp_parse_seconds(values->text[OPT(timeout)], &stack->timeout_ns) ||
		stack->timeout_ns > MAX_TIMEOUT_NS)
		return dnp_usage("stack", "--timeout %s: not a time up to an hour",
			values->text[OPT(timeout)]);
	return DNP_EXIT_DONE;
}

/* Fetches the stacks, and the names of native functions as the process itself sees its files. */
static int fetch(struct stack *stack, struct dnp_err *err)
{
	char path[32], root[32];
	auto_close int fd = -1;
	size_t found;
	int status = dnp_control_stack(stack->pid, stack->timeout_ns, &fd, err);

	if (status)
		return status;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(root, sizeof(root), "/proc/%d/root", (int)stack->pid);
	status = dnp_input_add_file(&stack->input, path, err);
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
		status = dnp_profile_init(&stack->profile, false, &filter);
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

static unsigned terminal_columns(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

static int show(const struct stack *stack, struct dnp_err *err)
{
	const struct dnp_values *values = stack->values;
	struct dnp_sink_fd out;
	int status;

	dnp_sink_fd_init(&out, STDOUT_FILENO);
	if (values->given[OPT(json)])
		dnp_stacks_json(&stack->moment, &out.sink);
	else
		dnp_stacks_text(&stack->moment, values->given[OPT(threads)] > 0, terminal_columns(),
			&out.sink);
	status = dnp_sink_fd_flush(&out);
	if (status && status != -EPIPE)
		return dnp_err(err, status,
			"cannot write the stacks: %s; see where the output leads",
			strerror(-status));
	return 0;
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
	dnp_moment_done(&stack.moment);
	dnp_profile_done(&stack.profile);
	dnp_input_done(&stack.input);
	dnp_vec_done(&stack.names.bytes);
	dnp_words_done(&stack.only);
	return status;
}
