/* SPDX-License-Identifier: MIT */
#include "launch/launch.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clean.h"
#include "launch/agent_file.h"
#include "launch/environment.h"
#include "launch/nothing.h"
#include "launch/process.h"
#include "launch/record.h"
#include "launch/stale.h"
#include "os/sampling_signal.h"
#include "os/clock.h"

#define SECOND_NS     UINT64_C(1000000000)
#define TICK_MS       250
#define FIRST_TICK_MS 20              /* until the agent is there */
#define FIRST_NS      (5 * SECOND_NS) /* how long that is waited for so closely */
#define OUTLIVING_NS                                                                               \
	(3 * SECOND_NS) /* how long processes that outlive the program may end theirs */

static const char session_name[] = "session";
static const char folder_name[] = "processes";

static int make_files(struct dnp_launch *launch, struct dnp_err *err)
{
	auto_free char *session = dnp_output_work(&launch->output, session_name);
	auto_free char *folder = dnp_output_work(&launch->output, folder_name);
	int ret;

	if (!session || !folder)
		return -ENOMEM;
	ret = dnp_session_new(&launch->session, session, err);
	if (ret)
		return ret;
	launch->fd = dnp_output_make_recording(&launch->output, &launch->recording, err);
	if (launch->fd < 0)
		return launch->fd;
	if (launch->options.children && mkdir(folder, 0700))
		return dnp_err(err, -errno, "cannot make %s: %s; choose another place with -o",
			folder, strerror(errno));
	return 0;
}

/* Calls, and transitions, a profiler of all rights only is told of. */
static bool traces(const struct dnp_launch_options *options)
{
	struct dnp_str rest = dnp_str(options->agent.event), event;

	while (dnp_str_cut(&rest, ',', &event))
		if (dnp_str_eq(event, dnp_str("trace")) || dnp_str_eq(event, dnp_str("transition")))
			return true;
	return false;
}

int dnp_launch_open(
	struct dnp_launch *launch, const struct dnp_launch_options *options, struct dnp_err *err)
{
	int ret;

	*launch = (struct dnp_launch){.options = *options, .fd = -1, .child.signals = -1};
	ret = dnp_program_find(&launch->program, options->command[0], err);
	if (!ret && !options->children)
		ret = dnp_program_check(&launch->program, err);
	if (!ret)
		ret = dnp_environment_check(traces(options), err);
	if (!ret)
		ret = dnp_agent_file_find(launch->agent, err);
	if (!ret)
		ret = dnp_output_open(&launch->output, options->output, err);
	if (!ret && options->log)
		ret = dnp_output_log(&launch->output, options->log, err);
	if (!ret)
		ret = make_files(launch, err);
	if (ret)
		dnp_launch_done(launch);
	return ret;
}

/* Fills in where the recording goes. In the child, whose id it names. */
static int tell_agent(const struct dnp_launch *launch, char *text, size_t capacity)
{
	struct dnp_agent_options agent = launch->options.agent;
	auto_free char *session = dnp_output_work(&launch->output, session_name);
	auto_free char *folder = dnp_output_work(&launch->output, folder_name);
	struct stat st;

	if (!session || !folder)
		return -ENOMEM;
	/* Whom the file system names, which need not be this user (NFS, FAT). */
	if (stat(session, &st))
		return -errno;
	agent.owner = st.st_uid;
	snprintf(agent.session, sizeof(agent.session), "%s", session);
	if (launch->options.children) {
		snprintf(agent.dir, sizeof(agent.dir), "%s", folder);
	} else {
		if (fstat(launch->fd, &st) || fcntl(launch->fd, F_SETFD, 0))
			return -errno;
		agent.fd = launch->fd;
		agent.dev = st.st_dev;
		agent.ino = st.st_ino;
		agent.pid = getpid();
	}
	return dnp_agent_options_write(&agent, text, capacity);
}

/* In the child: what it executes gets the agent. */
static int enter(void *context)
{
	const struct dnp_launch *launch = context;
	static char text[DNP_OPTIONS_MAX + 1];
	int ret = tell_agent(launch, text, sizeof(text));

	if (ret >= 0)
		ret = dnp_environment_set(launch->agent, text);
	if (ret < 0)
		return ret;
	/*
	 * CoreCLR 8 gives its signals back to whom they belonged before it aborts: the sample that
	 * comes between must find that they are ignored, or the program would die of it.
	 */
	signal(dnp_signal_number(), SIG_IGN);
	execv(launch->program.path, launch->options.command);
	return -errno;
}

static int start(struct dnp_launch *launch, struct dnp_err *err)
{
	int ret = dnp_child_fork(&launch->child, enter, launch, err);

	if (ret)
		return ret;
	ret = dnp_output_name(&launch->output, launch->child.pid, err);
	if (ret) {
		dnp_child_abandon(&launch->child);
		launch->child.ended = false; /* nothing of the program has run */
		return ret;
	}
	launch->start_ns = dnp_now_ns();
	ret = dnp_child_release(&launch->child);
	if (ret) {
		launch->child.ended = false;
		return dnp_err(
			err, ret, "cannot start %s: %s", launch->program.path, strerror(-ret));
	}
	close(launch->fd);
	launch->fd = -1;
	return 0;
}

/* Moves the recording out of the private folder. */
static int place(struct dnp_launch *launch, struct dnp_err *err)
{
	int ret = dnp_output_place_recording(
		&launch->output, launch->options.raw, &launch->recording, err);

	launch->placed = !ret;
	return ret;
}

static bool is_empty(const char *path)
{
	struct stat st;

	return stat(path, &st) || !st.st_size;
}

/* As soon as something is recorded the recording gets its name: it survives dnprof then. An agent
 * that is there need not come to that. */
static void place_early(struct dnp_launch *launch)
{
	struct dnp_err ignored; /* tried again at the end, and told then */

	if (!launch->placed && launch->options.raw && !launch->options.children &&
		!is_empty(launch->recording))
		place(launch, &ignored);
}

static void stop(struct dnp_launch *launch)
{
	if (!launch->stopped)
		dnp_session_stop(launch->session);
	launch->stopped = true;
}

static void look(struct dnp_launch *launch)
{
	struct dnp_process process;

	launch->elapsed_ns = dnp_now_ns() - launch->start_ns;
	dnp_session_sum(launch->session, &launch->sum);
	if (!dnp_process_read(&process, launch->child.pid))
		launch->cpu_ns = process.cpu_ns;
	if (!launch->sum.processes && !launch->saw_runtime && launch->elapsed_ns < FIRST_NS)
		launch->saw_runtime = dnp_process_has_runtime(launch->child.pid);
	place_early(launch);
	if (launch->child.interrupts ||
		(launch->options.duration_ns && launch->elapsed_ns >= launch->options.duration_ns))
		stop(launch);
}

static int tick_ms(const struct dnp_launch *launch)
{
	uint64_t left_ms;
	int tick = TICK_MS;

	if (!launch->sum.processes && launch->elapsed_ns < FIRST_NS)
		tick = FIRST_TICK_MS;
	if (launch->options.duration_ns > launch->elapsed_ns && !launch->stopped) {
		left_ms = (launch->options.duration_ns - launch->elapsed_ns) / 1000000 + 1;
		if (left_ms < (uint64_t)tick)
			tick = (int)left_ms;
	}
	return tick;
}

static void follow(struct dnp_launch *launch)
{
	while (!launch->child.ended) {
		dnp_child_wait(&launch->child, tick_ms(launch));
		if (launch->child.ended)
			break;
		look(launch);
		if (launch->options.progress)
			launch->options.progress(launch->options.context, launch);
	}
	launch->elapsed_ns = dnp_now_ns() - launch->start_ns;
}

/* Servers that the program started and left running: their recordings end with it. */
static void end_outliving(struct dnp_launch *launch)
{
	uint64_t deadline_ns = dnp_now_ns() + OUTLIVING_NS;
	unsigned before = launch->child.interrupts;

	dnp_session_sum(launch->session, &launch->sum);
	launch->outliving = launch->sum.recording;
	stop(launch);
	while (launch->sum.recording && dnp_now_ns() < deadline_ns &&
		launch->child.interrupts == before) {
		dnp_child_wait(&launch->child, FIRST_TICK_MS);
		dnp_session_sum(launch->session, &launch->sum);
	}
}

static int gather(struct dnp_launch *launch, struct dnp_err *err)
{
	auto_free char *folder = dnp_output_work(&launch->output, folder_name);
	int ret = 0;

	if (!folder)
		return -ENOMEM;
	if (launch->options.children)
		ret = dnp_record_gather(launch->recording, folder, err);
	return ret;
}

int dnp_launch_keep(struct dnp_launch *launch, struct dnp_err *err)
{
	int ret = launch->placed ? 0 : place(launch, err);

	if (ret)
		return ret;
	dnp_output_clean(&launch->output);
	dnp_child_done(&launch->child);
	return 0;
}

/* What processes that were killed could not remove themselves, wherever their TMPDIR led. */
static void remove_sockets(const struct dnp_launch *launch)
{
	dnp_stale_follow(launch->output.work);
}

char *dnp_launch_leave(struct dnp_launch *launch)
{
	auto_free char *session = dnp_output_work(&launch->output, session_name);

	if (launch->placed || (is_empty(launch->recording) && !launch->options.children))
		return NULL;
	if (session)
		unlink(session);
	remove_sockets(launch);
	return dnp_output_leave(&launch->output);
}

static int finish(struct dnp_launch *launch, struct dnp_err *err)
{
	int ret;

	end_outliving(launch);
	remove_sockets(launch);
	ret = gather(launch, err);
	if (ret || is_empty(launch->recording))
		return ret;
	ret = dnp_record_exit(
		launch->recording, launch->child.pid, dnp_child_ended(&launch->child), err);
	return ret == -ENODATA ? 0 : ret;
}

int dnp_launch_run(struct dnp_launch *launch, struct dnp_err *err)
{
	int ret = start(launch, err);

	if (ret)
		return ret;
	follow(launch);
	return finish(launch, err);
}

bool dnp_launch_failure(const struct dnp_launch *launch, char reason[DNP_SESSION_REASON])
{
	return dnp_session_failure(launch->session, reason);
}

int dnp_launch_explain(const struct dnp_launch *launch, struct dnp_err *err)
{
	const struct dnp_nothing nothing = {
		.session = launch->session,
		.program = launch->program.path,
		.pid = launch->child.pid,
		.children = launch->options.children,
		.saw_runtime = launch->saw_runtime,
	};

	return dnp_nothing_explain(&nothing, err);
}

void dnp_launch_done(struct dnp_launch *launch)
{
	if (launch->fd >= 0)
		close(launch->fd);
	dnp_session_free(launch->session);
	dnp_output_done(&launch->output);
	dnp_program_done(&launch->program);
	free(launch->recording);
	dnp_child_done(&launch->child);
	*launch = (struct dnp_launch){.fd = -1, .child.signals = -1};
}
