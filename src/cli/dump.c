/* SPDX-License-Identifier: MIT */
/* dnprof dump: what a recording holds now. */
#include <errno.h>
#include <string.h>

#include "base/clean.h"
#include "cli/result.h"
#include "launch/control.h"
#include "launch/copy.h"
#include "launch/interrupt.h"

/* A copy in its place would leave the recording, which goes on, without a name. */
static int spare(const struct dnp_copy *copy, int recording, struct dnp_err *err)
{
	auto_free char *original = dnp_copy_original(recording);

	if (!original || strcmp(original, copy->output.path) != 0)
		return 0;
	return dnp_err(err, -EEXIST,
		"cannot write to %s: it is the recording itself, which goes on; choose another "
		"name with -o",
		original);
}

static int fetch(struct dnp_copy *copy, const struct dnp_choice *choice, pid_t pid,
	uint64_t patience_ns, int interrupt, struct dnp_err *err)
{
	struct dnp_control *control;
	auto_close int fd = -1;
	int ret = dnp_copy_open(copy, choice->output, pid, err);

	if (ret)
		return ret;
	ret = dnp_control_open(&control, pid, patience_ns, err);
	if (!ret) {
		dnp_control_interrupt_by(control, interrupt);
		ret = dnp_control_flush(control, &fd, err);
		dnp_control_close(control);
	}
	if (!ret)
		ret = spare(copy, fd, err);
	return ret ? ret : dnp_copy_take(copy, fd, !choice->exporter, true, err);
}

static int dump(const struct dnp_choice *choice, pid_t pid, uint64_t patience_ns)
{
	struct dnp_interrupt interrupt;
	struct dnp_copy copy;
	struct dnp_err err = {0};
	int status;

	if (dnp_interrupt_take(&interrupt, &err))
		return dnp_failed(&err);
	if (fetch(&copy, choice, pid, patience_ns, interrupt.fd, &err)) {
		status = dnp_failed(&err);
	} else {
		dnp_interrupt_give_back(&interrupt);
		status = dnp_result_of_process(
			&(struct dnp_result){
				.choice = choice,
				.recording = copy.recording,
				.path = copy.output.path,
			},
			pid);
	}
	dnp_copy_done(&copy);
	dnp_interrupt_give_back(&interrupt);
	return status;
}

int dnp_cmd_dump(const struct dnp_values *values, int argc, char **argv)
{
	struct dnp_choice choice;
	uint64_t patience_ns;
	pid_t pid;
	int status = dnp_take_pid("dump", argc, argv, &pid);

	if (!status)
		status = dnp_take_timeout(values, &patience_ns);
	if (status)
		return status;
	status = dnp_choice_parse(&choice, values);
	choice.tells = true;
	if (!status)
		status = dump(&choice, pid, patience_ns);
	dnp_choice_done(&choice);
	return status;
}
