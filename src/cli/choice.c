/* SPDX-License-Identifier: MIT */
#include "cli/choice.h"

#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "base/pattern.h"
#include "os/file.h"
#include "os/library.h"

/* Samples more often than this cost more than they tell. */
#define MIN_INTERVAL_NS 10000
#define MAX_INTERVAL_NS UINT64_C(60000000000)

/* So many bytes the runtime tells of one object at least, and the most that the agent takes. */
#define MIN_ALLOC_BYTES 102400
#define MAX_ALLOC_BYTES (UINT64_C(1) << 40)

/* Shorter waits are too many to read the stack of each. */
#define MIN_WAIT_NS 1000000

/* What is shorter, a wait for a lock say, is over before anybody has looked. */
#define MIN_LEAST_NS 1000

/* The snapshot engine stops all threads for each round: its rate, and the highest without a word.
 */
#define SNAPSHOT_INTERVAL_NS     (UINT64_C(1000000000) / 97)
#define SNAPSHOT_MIN_INTERVAL_NS UINT64_C(10000000)

static const char *value(const struct dnp_choice *choice, const char *option)
{
	return dnp_value(choice->values, option);
}

static bool given(const struct dnp_choice *choice, const char *option)
{
	return dnp_given(choice->values, option);
}

/* Which of the words an option's text is; -1 after saying that it is none. */
static int choose(const struct dnp_choice *choice, const char *option, const char *const words[])
{
	return dnp_choose(choice->command, option, value(choice, option), words);
}

static int parse_rate(struct dnp_choice *choice)
{
	const char *hz = value(choice, "frequency"), *interval = value(choice, "interval");
	bool snapshot = dnp_choice_snapshot_stops && choice->agent.engine == DNP_ENGINE_SNAPSHOT;
	uint64_t *interval_ns = &choice->agent.interval_ns;

	if (interval && given(choice, "frequency"))
		return dnp_usage(choice->command, "-F and -i say the same; give one of them");
	if (interval && !dnp_parse_interval(interval, interval_ns))
		return dnp_usage(
			choice->command, "-i %s: not a time with its unit, as 10ms", interval);
	if (!interval && !dnp_parse_hz(hz, interval_ns))
		return dnp_usage(choice->command, "-F %s: not a rate in Hz", hz);
	if (snapshot && !interval && !given(choice, "frequency"))
		*interval_ns = SNAPSHOT_INTERVAL_NS;
	if (*interval_ns < MIN_INTERVAL_NS || *interval_ns > MAX_INTERVAL_NS)
		return dnp_usage(choice->command,
			"%s %s: out of range; 10us to 60s (100000 Hz to 0.017 Hz)",
			interval ? "-i" : "-F", interval ? interval : hz);
	if (snapshot && *interval_ns < SNAPSHOT_MIN_INTERVAL_NS)
		dnp_say("--engine snapshot stops the whole program for each sample, more than 100 "
			"times a second at this rate; leave -F away, or use --engine signal");
	return DNP_EXIT_DONE;
}

/* alloc=SIZE. */
static int parse_alloc(struct dnp_choice *choice, const char *size)
{
	uint64_t *bytes = &choice->agent.alloc_bytes;

	choice->agent.alloc_stacks = 0;
	if (!strcmp(size, "exact")) {
		choice->agent.alloc_exact = 1;
		return DNP_EXIT_DONE;
	}
	if (!dnp_parse_bytes(size, bytes))
		return dnp_usage(
			choice->command, "-e alloc=%s: not a size, as 512k, nor exact", size);
	if (*bytes < MIN_ALLOC_BYTES)
		return dnp_usage(choice->command,
			"-e alloc=%s: the runtime tells of no more than one object in 100k; ask "
			"for alloc=100k or more",
			size);
	if (*bytes > MAX_ALLOC_BYTES)
		return dnp_usage(choice->command, "-e alloc=%s: out of range; 100k to 1024g", size);
	return DNP_EXIT_DONE;
}

/* NAME=TIME. */
static int parse_least(
	const struct dnp_choice *choice, const char *name, const char *time, uint64_t *ns)
{
	if (!dnp_parse_interval(time, ns) && strtod(time, NULL) == 0 && *time == '0')
		*ns = 0;
	else if (!dnp_parse_interval(time, ns))
		return dnp_usage(
			choice->command, "-e %s=%s: not a time with its unit, as 1ms", name, time);
	if (*ns < MIN_LEAST_NS || *ns > MAX_INTERVAL_NS)
		return dnp_usage(choice->command, "-e %s=%s: out of range; 1us to 60s", name, time);
	return DNP_EXIT_DONE;
}

/* lock=TIME. */
static int parse_lock(struct dnp_choice *choice, const char *time)
{
	return parse_least(choice, "lock", time, &choice->agent.lock_ns);
}

/* waithandle=TIME. */
static int parse_waithandle(struct dnp_choice *choice, const char *time)
{
	return parse_least(choice, "waithandle", time, &choice->agent.waithandle_ns);
}

/* transition=TIME. */
static int parse_transition(struct dnp_choice *choice, const char *time)
{
	return parse_least(choice, "transition", time, &choice->agent.transition_ns);
}

/* What can be recorded. */
enum {
	CPU,
	WALL,
	TRACE,
	SWITCH,
	ALLOC,
	EXCEPTION,
	JIT,
	LOAD,
	LOCK,
	WAITHANDLE,
	GC,
	MARK,
	REQUEST,
	SAFEPOINT,
	TRANSITION,
	KINDS
};

static const struct kind {
	const char *name;
	/* What may stand behind it, as NAME=VALUE; NULL: nothing. An exit status. */
	int (*parse)(struct dnp_choice *choice, const char *text);
} kinds[KINDS] = {
	[CPU] = {.name = "cpu"},
	[WALL] = {.name = "wall"},
	[TRACE] = {.name = "trace"},
	[SWITCH] = {.name = "switch"},
	[ALLOC] = {.name = "alloc", .parse = parse_alloc},
	[EXCEPTION] = {.name = "exception"},
	[JIT] = {.name = "jit"},
	[LOAD] = {.name = "load"},
	[LOCK] = {.name = "lock", .parse = parse_lock},
	[WAITHANDLE] = {.name = "waithandle", .parse = parse_waithandle},
	[GC] = {.name = "gc"},
	[MARK] = {.name = "mark"},
	[REQUEST] = {.name = "request"},
	[SAFEPOINT] = {.name = "safepoint"},
	[TRANSITION] = {.name = "transition", .parse = parse_transition},
};

#define BIT(kind) (1u << (kind))

/* Of time, at a rate. */
#define TIMED (BIT(CPU) | BIT(WALL))

/* What has no stacks. */
#define SAID (BIT(MARK) | BIT(REQUEST))

/* Hooks into calls, and transitions, are there from a program's start or not at all. */
static bool can_trace(const struct dnp_choice *choice)
{
	return value(choice, "depth");
}

static int refuse_event(const struct dnp_choice *choice, struct dnp_str event)
{
	char known[160];
	size_t n = 0;

	for (unsigned i = 0; i < KINDS; i++)
		if (can_trace(choice) || !(BIT(i) & (BIT(TRACE) | BIT(TRANSITION))))
			n += (size_t)snprintf(
				known + n, sizeof(known) - n, "%s%s", n ? ", " : "", kinds[i].name);
	return dnp_usage(choice->command, "-e %.*s: cannot be recorded; this version records %s",
		(int)event.n, event.p, known);
}

/* What stands behind the name of an event. */
static int parse_value(struct dnp_choice *choice, const struct kind *kind, struct dnp_str text)
{
	auto_free char *copy = strndup(text.p, text.n);

	if (!copy) {
		dnp_say("cannot %s: out of memory; free some", choice->command);
		return DNP_EXIT_FAILED;
	}
	if (!kind->parse)
		return dnp_usage(choice->command, "-e %s=%s: %s takes no value", kind->name, copy,
			kind->name);
	return kind->parse(choice, copy);
}

/* With --live the objects of alloc are an event of its own, which is shown rather than that. */
static const char *agent_event(const struct dnp_choice *choice, unsigned i)
{
	return i == ALLOC && given(choice, "live") ? "live,alloc" : kinds[i].name;
}

/* One of a list, NAME or NAME=VALUE; its name goes to those that the agent is told. */
static int parse_event(struct dnp_choice *choice, struct dnp_str event, unsigned *seen)
{
	struct dnp_str behind = event, name;
	size_t used = strlen(choice->agent.event);
	bool valued;
	unsigned i = 0;

	dnp_str_cut(&behind, '=', &name);
	valued = name.n < event.n;
	while (i < KINDS && !dnp_str_eq(name, dnp_str(kinds[i].name)))
		i++;
	if (i == KINDS)
		return refuse_event(choice, name);
	if (*seen & BIT(i))
		return dnp_usage(choice->command, "-e %s: %s is named twice",
			dnp_value(choice->values, "event"), kinds[i].name);
	*seen |= BIT(i);
	snprintf(choice->agent.event + used, sizeof(choice->agent.event) - used, "%s%s",
		used ? "," : "", agent_event(choice, i));
	return valued ? parse_value(choice, &kinds[i], behind) : DNP_EXIT_DONE;
}

/* A list of events, each at most once: a bit for each of kinds. */
static int parse_events(struct dnp_choice *choice, unsigned *events)
{
	const char *text = value(choice, "event");
	struct dnp_str rest = dnp_str(text), event;
	unsigned seen = 0;

	if (!rest.n || rest.p[0] == ',' || rest.p[rest.n - 1] == ',' || strstr(text, ",,"))
		return dnp_usage(choice->command, "-e %s: an event is missing", text);
	while (dnp_str_cut(&rest, ',', &event)) {
		int status = parse_event(choice, event, &seen);

		if (status)
			return status;
	}
	if (seen & BIT(TRANSITION) && !can_trace(choice))
		return dnp_usage(choice->command,
			"-e %s: the runtime tells of transitions from a program's start only; "
			"start "
			"it with 'dnprof run -e %s -- COMMAND'",
			text, text);
	if (seen & BIT(TRACE) && !can_trace(choice))
		return dnp_usage(choice->command,
			"-e %s: the runtime lets calls be traced from a program's start only; "
			"start it with 'dnprof run -e %s -- COMMAND'",
			text, text);
	if (choice->agent.alloc_exact && !can_trace(choice))
		return dnp_usage(choice->command,
			"-e %s: the runtime tells of every object from a program's start only; "
			"start it with 'dnprof run -e %s -- COMMAND'",
			text, text);
	if (choice->agent.alloc_exact && given(choice, "live"))
		return dnp_usage(choice->command,
			"--live watches some objects of many, and alloc=exact counts all; give "
			"alloc a size, or none");
	if (given(choice, "live") && !(seen & BIT(ALLOC)))
		return dnp_usage(choice->command,
			"--live is about allocations, and they are not recorded; add alloc to -e");
	/* Objects that stay are few, and have a bound of their own. */
	if (given(choice, "live"))
		choice->agent.alloc_stacks = 0;
	if (given(choice, "no_messages") && !(seen & (BIT(EXCEPTION) | BIT(REQUEST))))
		return dnp_usage(choice->command,
			"--no-messages is about exceptions and requests, and neither are recorded; "
			"add exception or request to -e");
	*events = seen;
	return DNP_EXIT_DONE;
}

/* Options that say how one kind of events is recorded mean nothing without it. */
static int check_kinds(const struct dnp_choice *choice)
{
	static const struct {
		const char *option, *shown;
	} of_trace[] =
		{
			{"depth", "--depth"},
			{"framework", "--framework"},
			{"no_inline", "--no-inline"},
			{"no_tiering", "--no-tiering"},
			{"args", "--args"},
			{"transitions", "--transitions"},
			{"log", "--log"},
		},
	  of_samples[] = {
		  {"frequency", "-F"},
		  {"interval", "-i"},
		  {"engine", "--engine"},
		  {"source", "--source"},
	  };

	if (given(choice, "wait") && !choice->switches)
		return dnp_usage(choice->command,
			"--wait is about switches, and they are not recorded; add switch to -e");
	for (size_t i = 0; !choice->trace && i < DNP_ARRAY_SIZE(of_trace); i++)
		if (given(choice, of_trace[i].option))
			return dnp_usage(choice->command,
				"%s is about calls, and they are not recorded; add trace to -e",
				of_trace[i].shown);
	if (given(choice, "frames") && !choice->stacks)
		return dnp_usage(choice->command,
			"--frames is about stacks, and none are taken; add cpu or wall to -e");
	for (size_t i = 0; !choice->samples && i < DNP_ARRAY_SIZE(of_samples); i++)
		if (given(choice, of_samples[i].option))
			return dnp_usage(choice->command,
				"%s is about samples, and they are not taken; add cpu or wall to "
				"-e",
				of_samples[i].shown);
	return DNP_EXIT_DONE;
}

/* All patterns that were given with an option, as one list. */
static int join_patterns(
	const struct dnp_choice *choice, const char *option, char *out, size_t capacity)
{
	const struct dnp_values *values = choice->values;
	struct dnp_str pattern;
	const char *why;
	size_t used = 0;

	for (size_t i = 0; i < values->each_count; i++) {
		const struct dnp_value *one = &values->each[i];

		if (strcmp(values->command->options[one->option].name, option))
			continue;
		why = dnp_pattern_wrong(dnp_str(one->text), choice->trace, &pattern);
		if (why)
			return dnp_usage(choice->command, "--%s '%s': no name matches '%.*s': %s",
				option, one->text, (int)pattern.n, pattern.p, why);
		used += (size_t)snprintf(
			out + used, capacity - used, "%s%s", used ? "," : "", one->text);
		if (used >= capacity)
			return dnp_usage(choice->command,
				"--%s: the patterns are longer than %zu bytes", option,
				capacity - 1);
	}
	return DNP_EXIT_DONE;
}

static int parse_patterns(struct dnp_choice *choice)
{
	struct dnp_agent_options *agent = &choice->agent;
	int status = join_patterns(choice, "include", agent->include, sizeof(agent->include));

	if (!status)
		status = join_patterns(choice, "exclude", agent->exclude, sizeof(agent->exclude));
	if (status)
		return status;
	/* Nobody expects what he left out in what he asked for. */
	if (!choice->trace && !choice->exporter && (*agent->include || *agent->exclude))
		return dnp_usage(choice->command,
			"%s: a .dnp keeps all samples; give it to 'dnprof report', or write "
			"something "
			"else with -o",
			*agent->include ? "--include" : "--exclude");
	if (!choice->trace && choice->exporter && choice->exporter->switches &&
		(*agent->include || *agent->exclude))
		return dnp_usage(choice->command,
			"%s chooses stacks, and %s shows switches of threads; leave it away, or "
			"write a .dnp",
			*agent->include ? "--include" : "--exclude", choice->exporter->name);
	if (dnp_words_split(&choice->include, *agent->include ? agent->include : NULL) ||
		dnp_words_split(&choice->exclude, *agent->exclude ? agent->exclude : NULL)) {
		dnp_say("cannot %s: out of memory; free some", choice->command);
		return DNP_EXIT_FAILED;
	}
	if (!choice->trace)
		*agent->include = *agent->exclude = '\0';
	return DNP_EXIT_DONE;
}

const char *dnp_choice_log_path(void)
{
	const char *path = getenv("LOG_FILENAME");

	return path && *path ? path : "ICorProfilerCallback Log.log";
}

/* Before anything runs, since it is written last. A link is replaced, so it may lead anywhere. */
static int check_log(void)
{
	const char *path = dnp_choice_log_path();
	size_t n = dnp_path_base_at(path, strlen(path));
	auto_free char *folder = n ? strndup(path, n) : strdup(".");
	int failed = folder ? dnp_folder_check(folder) : -ENOMEM;
	enum dnp_file_kind kind = dnp_file_kind(path);
	const char *why = NULL;

	if (failed)
		why = strerror(-failed);
	else if (kind == DNP_FILE_FOLDER)
		why = "it is a folder";
	else if (kind == DNP_FILE_SPECIAL)
		why = "it is not a regular file";
	if (!why)
		return DNP_EXIT_DONE;
	dnp_say("cannot write the log to %s: %s; name another file with LOG_FILENAME", path, why);
	return DNP_EXIT_FAILED;
}

static int parse_trace(struct dnp_choice *choice)
{
	static const char *const depths[] = {"tree", "time", "events", NULL};
	struct dnp_agent_options *agent = &choice->agent;
	int depth;

	if (!can_trace(choice))
		return DNP_EXIT_DONE;
	choice->log = given(choice, "log");
	depth = choose(choice, "depth", depths);
	if (depth < 0)
		return DNP_EXIT_USAGE;
	if (choice->log && given(choice, "depth") && depth != DNP_CALLS_EVENTS)
		return dnp_usage(choice->command,
			"--log shows each call in its order, and --depth %s does not record them "
			"so; leave "
			"--depth away",
			depths[depth]);
	if (choice->log && check_log())
		return DNP_EXIT_FAILED;
	agent->calls = choice->log ? DNP_CALLS_EVENTS : (enum dnp_calls_choice)depth;
	choice->framework = given(choice, "framework");
	agent->framework = choice->framework;
	agent->no_inline = given(choice, "no_inline");
	agent->no_tiering = given(choice, "no_tiering");
	agent->args = given(choice, "args");
	agent->transitions = given(choice, "transitions");
	return DNP_EXIT_DONE;
}

static int parse_wait(struct dnp_choice *choice)
{
	const char *text = value(choice, "wait");

	if (!dnp_choice_tells_waits || !strcmp(text, "0"))
		choice->agent.wait_ns = 0;
	else if (!dnp_parse_interval(text, &choice->agent.wait_ns))
		return dnp_usage(
			choice->command, "--wait %s: not a time with its unit, as 5ms", text);
	if (choice->agent.wait_ns &&
		(choice->agent.wait_ns < MIN_WAIT_NS || choice->agent.wait_ns > MAX_INTERVAL_NS))
		return dnp_usage(choice->command, "--wait %s: out of range; 1ms to 60s", text);
	return DNP_EXIT_DONE;
}

static int parse_samples(struct dnp_choice *choice)
{
	static const char *const sources[] = {"auto", "perf", "timer", NULL};
	static const char *const engines[] = {"signal", "snapshot", NULL};
	const char *depth = value(choice, "frames");
	int source, engine;
	uint64_t frames;

	if (!dnp_parse_count(depth, 1, DNP_FRAMES_MAX, &frames))
		return dnp_usage(choice->command, "--frames %s: not a number from 1 to %d", depth,
			DNP_FRAMES_MAX);
	source = choose(choice, "source", sources);
	engine = source < 0 ? -1 : choose(choice, "engine", engines);
	if (engine < 0)
		return DNP_EXIT_USAGE;
	choice->agent.source = (enum dnp_source_choice)source;
	choice->agent.engine = (enum dnp_engine_choice)engine;
	choice->agent.depth = (uint32_t)frames;
	return parse_rate(choice);
}

static int no_stacks(const struct dnp_choice *choice, const char *what)
{
	return dnp_usage(choice->command,
		"-o %s: that shows stacks, and %s have none; write a .html, .dnp or .txt",
		choice->output, what);
}

static int no_switches(const struct dnp_choice *choice)
{
	return dnp_usage(choice->command,
		"-o %s: that shows switches of threads; add switch to -e, or write a .html",
		choice->output);
}

/* How it is recorded. */
static int parse_recording(struct dnp_choice *choice)
{
	struct dnp_agent_options *agent = &choice->agent;
	const char *duration = value(choice, "duration");
	unsigned events = 0;
	int status = parse_events(choice, &events);

	if (status)
		return status;
	choice->trace = events & BIT(TRACE);
	choice->switches = events & BIT(SWITCH);
	choice->samples = events & TIMED;
	choice->stacks = events & ~(BIT(TRACE) | BIT(SWITCH) | SAID);
	agent->verbose = choice->verbose;
	agent->no_messages = given(choice, "no_messages");
	if (duration && !dnp_parse_seconds(duration, &choice->duration_ns))
		return dnp_usage(choice->command, "-d %s: not a time in seconds", duration);
	status = check_kinds(choice);
	if (!status)
		status = parse_wait(choice);
	if (!status && choice->exporter && choice->exporter->stacks &&
		!(events & ~(BIT(SWITCH) | SAID)) && !(choice->switches && agent->wait_ns))
		status = no_stacks(choice,
			choice->switches             ? "switches"
				: events & BIT(MARK) ? "marks"
						     : "requests");
	if (!status && choice->exporter && choice->exporter->switches && !choice->switches)
		status = no_switches(choice);
	if (!status)
		status = parse_samples(choice);
	if (!status)
		status = parse_trace(choice);
	if (!status && choice->trace && agent->engine == DNP_ENGINE_SNAPSHOT)
		status = dnp_usage(choice->command,
			"--engine snapshot stops the whole program for each sample, and the calls "
			"that "
			"trace times with it; record one after the other");
	return status;
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
		if (*dnp_exporters[i]->extensions)
			used += (size_t)snprintf(
				out + used, capacity - used, " %s", dnp_exporters[i]->extensions);
}

static int refuse_output(const struct dnp_choice *choice)
{
	char endings[128];
	auto_free char *there = NULL; /* behind links */

	there = dnp_file_full(choice->output);
	if (there && dnp_file_kind(there) == DNP_FILE_FOLDER)
		return dnp_usage(choice->command, "-o %s: it is a folder; give a file's name",
			choice->output);
	list_endings(endings, sizeof(endings));
	return dnp_usage(choice->command, "-o %s: no format is known by that ending; known: %s",
		choice->output, endings);
}

/* What is made of it. */
static int parse_result(struct dnp_choice *choice)
{
	static const char *const natives[] = {"all", "leaf", "none", NULL};
	bool stacks = value(choice, "native"), switches = !value(choice, "event") && !stacks;
	bool converts = stacks || switches; /* else the result is the recording itself */
	int native = stacks ? choose(choice, "native", natives) : 0;

	if (native < 0)
		return DNP_EXIT_USAGE;
	choice->native = (enum dnp_native)native;
	choice->output = value(choice, "output");
	if (!choice->output || ends_with(choice->output, ".dnp"))
		return DNP_EXIT_DONE;
	choice->exporter = dnp_exporter_for(choice->output);
	if (!choice->exporter)
		return refuse_output(choice);
	if (!converts)
		return dnp_usage(choice->command,
			"-o %s: here the recording itself is written, as .dnp; give that name to "
			"'dnprof stop -o' or 'dnprof dump -o'",
			choice->output);
	if (switches && choice->exporter->stacks)
		return no_stacks(choice, "switches");
	return DNP_EXIT_DONE;
}

/* What the system has not is told before what does not go together. */
static int record_by_system(struct dnp_choice *choice)
{
	int status = dnp_choice_before(choice);

	if (!status)
		status = parse_recording(choice);
	return status ? status : dnp_choice_suit(choice);
}

int dnp_choice_parse(struct dnp_choice *choice, const struct dnp_values *values)
{
	int status;

	*choice = (struct dnp_choice){.values = values, .command = values->command->name};
	choice->quiet = given(choice, "quiet");
	choice->verbose = given(choice, "verbose");
	dnp_agent_options_init(&choice->agent);
	status = parse_result(choice);
	if (!status && value(choice, "event"))
		status = record_by_system(choice);
	return status ? status : parse_patterns(choice);
}

void dnp_choice_done(struct dnp_choice *choice)
{
	dnp_words_done(&choice->include);
	dnp_words_done(&choice->exclude);
}
