/* SPDX-License-Identifier: MIT */
/* dnprof run: a program from its start to its end, and what it spent its CPU time on. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clean.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "export/export.h"
#include "launch/launch.h"
#include "os/sampling_signal.h"
#include "read/packed.h"
#include "read/symbolize.h"

#define OPT(name) DNP_OPT(run, name)

/* More samples lost than this share of all: the result is called incomplete. */
#define MAX_LOST_SHARE 0.01

struct run {
	const struct dnp_values *values;
	const struct dnp_exporter *exporter; /* NULL: the recording itself */
	enum dnp_native native;
	struct dnp_launch launch;
	struct dnp_profile profile;
};

/* Samples more often than this cost more than they tell. */
#define MIN_INTERVAL_NS 10000
#define MAX_INTERVAL_NS UINT64_C(60000000000)

/* The snapshot engine stops all threads for each round: its rate, and the highest without a word.
 */
#define SNAPSHOT_INTERVAL_NS     (UINT64_C(1000000000) / 97)
#define SNAPSHOT_MIN_INTERVAL_NS UINT64_C(10000000)

static int parse_rate(
	const struct dnp_values *values, enum dnp_engine_choice engine, uint64_t *interval_ns)
{
	const char *hz = values->text[OPT(frequency)], *interval = values->text[OPT(interval)];

	if (interval && values->given[OPT(frequency)])
		return dnp_usage("run", "-F and -i say the same; give one of them");
	if (interval && !dnp_parse_interval(interval, interval_ns))
		return dnp_usage("run", "-i %s: not a time with its unit, as 10ms", interval);
	if (!interval && !dnp_parse_hz(hz, interval_ns))
		return dnp_usage("run", "-F %s: not a rate in Hz", hz);
	if (engine == DNP_ENGINE_SNAPSHOT && !interval && !values->given[OPT(frequency)])
		*interval_ns = SNAPSHOT_INTERVAL_NS;
	if (*interval_ns < MIN_INTERVAL_NS || *interval_ns > MAX_INTERVAL_NS)
		return dnp_usage("run", "%s %s: out of range; 10us to 60s (100000 Hz to 0.017 Hz)",
			interval ? "-i" : "-F", interval ? interval : hz);
	if (engine == DNP_ENGINE_SNAPSHOT && *interval_ns < SNAPSHOT_MIN_INTERVAL_NS)
		dnp_say("--engine snapshot stops the whole program for each sample, more than 100 "
			"times a second at this rate; leave -F away, or use --engine signal");
	return DNP_EXIT_DONE;
}

/* What this version can record. */
static const char *const event_names[] = {"cpu", "wall", NULL};

/* A list of events, each at most once. */
static int parse_events(const char *text)
{
	struct dnp_str rest = dnp_str(text), event;
	unsigned seen = 0;

	if (!rest.n || rest.p[rest.n - 1] == ',')
		return dnp_usage("run", "-e %s: an event is missing", text);
	while (dnp_str_cut(&rest, ',', &event)) {
		unsigned i = 0;

		while (event_names[i] && !dnp_str_eq(event, dnp_str(event_names[i])))
			i++;
		if (!event_names[i])
			return dnp_usage("run",
				"-e %.*s: cannot be recorded; this version records cpu, wall",
				(int)event.n, event.p);
		if (seen & 1u << i)
			return dnp_usage("run", "-e %s: %s is named twice", text, event_names[i]);
		seen |= 1u << i;
	}
	return DNP_EXIT_DONE;
}

static int parse_agent(const struct dnp_values *values, struct dnp_agent_options *agent)
{
	static const char *const sources[] = {"auto", "perf", "timer", NULL};
	static const char *const engines[] = {"signal", "snapshot", NULL};
	const char *events = values->text[OPT(event)], *depth = values->text[OPT(depth)];
	uint64_t frames;
	int status = parse_events(events);
	int source, engine;

	dnp_agent_options_init(agent);
	if (status)
		return status;
	if (!dnp_parse_count(depth, 1, 65536, &frames))
		return dnp_usage("run", "--depth %s: not a number from 1 to 65536", depth);
	source = dnp_choose("run", "source", values->text[OPT(source)], sources);
	engine = source < 0 ? -1 : dnp_choose("run", "engine", values->text[OPT(engine)], engines);
	if (engine < 0)
		return DNP_EXIT_USAGE;
	agent->source = (enum dnp_source_choice)source;
	agent->engine = (enum dnp_engine_choice)engine;
	snprintf(agent->event, sizeof(agent->event), "%s", events);
	agent->depth = (uint32_t)frames;
	agent->verbose = values->given[OPT(verbose)] > 0;
	return parse_rate(values, agent->engine, &agent->interval_ns);
}

static bool ends_with(const char *text, const char *ending)
{
	size_t n = strlen(text), m = strlen(ending);

	return n >= m && !strcmp(text + n - m, ending);
}

/* What -o can end with, as ".dnp .txt …". */
static void list_endings(char *out, size_t capacity)
{
	size_t used = (size_t)snprintf(out, capacity, ".dnp");

	for (size_t i = 0; dnp_exporters[i] && used < capacity; i++)
		used += (size_t)snprintf(
			out + used, capacity - used, " %s", dnp_exporters[i]->extensions);
}

static int refuse_output(const char *output)
{
	char endings[128];
	struct stat st;

	if (!stat(output, &st) && S_ISDIR(st.st_mode))
		return dnp_usage("run", "-o %s: it is a folder; give a file's name", output);
	list_endings(endings, sizeof(endings));
	return dnp_usage(
		"run", "-o %s: no format is known by that ending; known: %s", output, endings);
}

static int parse_options(struct run *run, struct dnp_launch_options *options)
{
	const struct dnp_values *values = run->values;
	const char *output = values->text[OPT(output)], *duration = values->text[OPT(duration)];
	static const char *const natives[] = {"all", "leaf", "none", NULL};
	int native;

	options->output = output;
	options->raw = ends_with(output, ".dnp");
	options->children = values->given[OPT(children)] > 0;
	if (!options->raw)
		run->exporter = dnp_exporter_for(output);
	if (!options->raw && !run->exporter)
		return refuse_output(output);
	if (duration && !dnp_parse_seconds(duration, &options->duration_ns))
		return dnp_usage("run", "-d %s: not a time in seconds", duration);
	native = dnp_choose("run", "native", values->text[OPT(native)], natives);
	if (native < 0)
		return DNP_EXIT_USAGE;
	run->native = (enum dnp_native)native;
	return parse_agent(values, &options->agent);
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void show_progress(void *context, const struct dnp_launch *launch)
{
	static uint64_t next_ns;

	(void)context;
	if (launch->elapsed_ns < next_ns)
		return;
	next_ns = launch->elapsed_ns + 500000000;
	if (!launch->sum.processes)
		dnp_progress_show("dnprof: %.0f s, the runtime has not started yet",
			seconds(launch->elapsed_ns));
	else
		dnp_progress_show("dnprof: %.0f s, %'llu samples, lost %'llu, CPU %.1f s%s",
			seconds(launch->elapsed_ns), (unsigned long long)launch->sum.samples,
			(unsigned long long)launch->sum.lost, seconds(launch->cpu_ns),
			launch->stopped ? ", recording ended" : "");
}

static int load_profile(struct run *run, struct dnp_input *input, struct dnp_err *err)
{
	bool chooses = !run->exporter || run->exporter->chooses;
	struct dnp_filter filter = {.native = chooses ? DNP_NATIVE_ALL : run->native};
	int ret;

	ret = dnp_input_add_file(input, run->launch.recording, err);
	if (!ret)
		ret = dnp_input_finish(input, err);
	if (!ret)
		ret = dnp_profile_init(
			&run->profile, run->exporter && run->exporter->timed, &filter);
	if (!ret)
		ret = dnp_profile_add(&run->profile, input, err);
	if (!ret)
		dnp_profile_finish(&run->profile);
	return ret;
}

static int export(struct run *run, struct dnp_err *err)
{
	struct dnp_export_options options = {
		.native = run->native,
		.top = run->exporter == &dnp_export_text ? 20 : 0,
		.min_percent = run->exporter == &dnp_export_text ? 1 : 0,
		.methods = true,
		.threads = true,
		.tree = true,
	};

	if (!run->profile.events.n)
		return dnp_err(
			err, -ENODATA, "the recording has no samples; let the program run longer");
	return dnp_export_file(
		run->exporter, &run->profile, &options, run->launch.output.path, err);
}

/* 0, or DNP_EXIT_INCOMPLETE after a line that says what is missing. */
static int judge(const struct run *run)
{
	const struct dnp_profile *profile = &run->profile;
	char reason[DNP_SESSION_REASON];
	uint64_t samples = 0, lost = 0;

	for (size_t i = 0; i < profile->events.n; i++) {
		samples += profile->events.p[i].samples;
		lost += profile->events.p[i].lost;
	}
	/* The agent knows why; the recording shows only that something is missing. */
	if (dnp_launch_failure(&run->launch, reason))
		dnp_say("%s", reason);
	else if (profile->incomplete)
		dnp_say("the recording is incomplete: %s",
			dnp_profile_string(profile, profile->missing));
	else if ((double)lost > MAX_LOST_SHARE * (double)(samples + lost))
		dnp_say("the recording is incomplete: %llu samples of %llu were lost; sample less "
			"often, with a lower -F",
			(unsigned long long)lost, (unsigned long long)(samples + lost));
	else
		return DNP_EXIT_DONE;
	return DNP_EXIT_INCOMPLETE;
}

/* On a terminal, or when the user cannot know the file's name otherwise. */
static bool wants_summary(const struct run *run)
{
	const struct dnp_values *values = run->values;

	if (values->given[OPT(quiet)])
		return false;
	return isatty(STDERR_FILENO) || values->given[OPT(verbose)] || !values->given[OPT(output)];
}

static void summarize(const struct run *run)
{
	const struct dnp_profile *profile = &run->profile;
	const struct dnp_launch *launch = &run->launch;
	uint64_t samples = 0, lost = 0;

	for (size_t i = 0; i < profile->events.n; i++) {
		samples += profile->events.p[i].samples;
		lost += profile->events.p[i].lost;
	}
	dnp_say("%s: %llu samples in %.1f s, lost %llu%s%s", launch->output.path,
		(unsigned long long)samples, seconds(launch->elapsed_ns), (unsigned long long)lost,
		run->exporter ? "" : "; to read it: dnprof report ",
		run->exporter ? "" : launch->output.path);
}

static int read_and_export(struct run *run, struct dnp_input *input)
{
	struct dnp_err err = {0};
	int ret = load_profile(run, input, &err);

	if (!ret && run->exporter) {
		ret = export(run, &err);
		if (!ret)
			unlink(run->launch.recording);
	}
	if (!ret) {
		if (wants_summary(run))
			summarize(run);
		return judge(run);
	}
	dnp_failed(&err);
	if (run->exporter)
		dnp_say("the recording is kept: %s", run->launch.recording);
	return DNP_EXIT_FAILED;
}

/* After a second ctrl-C: what is there is kept as it is. */
static int leave(const struct run *run)
{
	dnp_say("interrupted: the recording is kept as it is: %s; read it with 'dnprof report'",
		run->launch.recording);
	return DNP_EXIT_INCOMPLETE;
}

static bool has_recording(const struct dnp_launch *launch)
{
	struct dnp_err ignored;
	struct dnp_input input;
	int ret;

	dnp_input_init(&input);
	ret = dnp_input_add_file(&input, launch->recording, &ignored);
	dnp_input_done(&input);
	return !ret;
}

/* What became of the recording, as an exit status. */
static int conclude(struct run *run)
{
	struct dnp_launch *launch = &run->launch;
	struct dnp_err err = {0};
	struct dnp_input input;
	int status;

	if (!has_recording(launch)) {
		dnp_launch_explain(launch, &err);
		return dnp_failed(&err);
	}
	/* Before what takes time: ctrl-C there ends dnprof at once and leaves just the recording.
	 */
	if (dnp_launch_keep(launch, &err))
		return dnp_failed(&err);
	if (dnp_launch_in_hurry(launch))
		return leave(run);
	/* Where there is no room for the names, a report looks them up itself. */
	if (dnp_symbolize_file(launch->recording, &err) || dnp_pack_file(launch->recording, &err))
		dnp_failed(&err);
	dnp_input_init(&input);
	status = read_and_export(run, &input);
	dnp_profile_done(&run->profile);
	dnp_input_done(&input);
	if (launch->sum.recording) {
		dnp_say("the recording is incomplete: %u processes that the program left running "
			"did not "
			"end theirs in time; end them ('dotnet build-server shutdown') or use "
			"'--disable-build-servers'",
			launch->sum.recording);
		status = status ? status : DNP_EXIT_INCOMPLETE;
	}
	return status;
}

/* The program's own status goes first. */
static int exit_status(int program, int own)
{
	if (WIFSIGNALED(program))
		return 128 + WTERMSIG(program);
	return WEXITSTATUS(program) ? WEXITSTATUS(program) : own;
}

static int run_program(struct run *run)
{
	struct dnp_launch *launch = &run->launch;
	struct dnp_err err = {0};
	int ret = dnp_launch_run(launch, &err);
	int status;

	dnp_progress_clear();
	if (ret && !launch->child.ended)
		return dnp_failed(&err);
	status = ret ? dnp_failed(&err) : conclude(run);
	if (WIFSIGNALED(launch->child.status) &&
		WTERMSIG(launch->child.status) == dnp_signal_number())
		dnp_say("signal %d, by which samples come, ended the program: it replaced itself "
			"by "
			"another one (execve) while it was sampled; use --source timer",
			dnp_signal_number());
	return exit_status(launch->child.status, status);
}

int dnp_cmd_run(const struct dnp_values *values, int argc, char **argv)
{
	struct dnp_launch_options options = {.command = argv};
	struct run run = {.values = values};
	struct dnp_err err = {0};
	int status = parse_options(&run, &options);

	if (status)
		return status;
	if (!argc)
		return dnp_usage("run", "the command to run is missing");
	if (!values->given[OPT(quiet)] && dnp_progress_possible())
		options.progress = show_progress;
	if (dnp_launch_open(&run.launch, &options, &err))
		return dnp_failed(&err);
	if (values->given[OPT(verbose)])
		dnp_say("starting %s with the agent %s", run.launch.program.path, run.launch.agent);
	status = run_program(&run);
	dnp_launch_done(&run.launch);
	return status;
}
