/* SPDX-License-Identifier: MIT */
/*
 * What the launcher tells the agent: the environment variable DNPROF_OPTIONS, `key=value` pairs
 * joined by `;`. In values every byte but letters, digits and `/._-+:,@` is written as %XX.
 *
 *   DNPROF_OPTIONS='fd=9;dev=2049;ino=1234;pid=4711;event=cpu;interval_ns=5025125;session=/tmp/x'
 *
 * Exactly one of `fd` and `dir` says where the recording goes:
 *   fd    an inherited descriptor, open for writing. Use it only when getpid() is `pid` and fstat
 *         gives `dev` and `ino`: a child that inherits the variable without being meant, or finds
 *         the number used for something else, records nothing and says nothing. The agent sets
 *         FD_CLOEXEC on it.
 *   dir   a private folder (mode 0700): each process makes its own file there, named
 *         PID-STARTTIME.dnp (decimal; field 22 of /proc/self/stat), O_CREAT|O_EXCL|O_NOFOLLOW,
 * 0600. A missing folder means that the launcher has ended: record nothing, say nothing.
 *
 * The keys, their types and defaults: agent_options.def. Unknown keys are errors: launcher and
 * agent are of one version.
 *
 * Parser and writer use no memory but the caller's. Any thread; the parser may run in the target.
 */
#ifndef DNP_FORMAT_AGENT_OPTIONS_H
#define DNP_FORMAT_AGENT_OPTIONS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define DNP_OPTIONS_ENV "DNPROF_OPTIONS"

/*
 * How code is written by a runtime whose events are asked for, where that matters: see
 * launch/start.h. No other says it in two digits, by which the agent knows that it is not the
 * program's own.
 */
#define DNP_IN_PLACE_ENV   "DOTNET_EnableWriteXorExecute"
#define DNP_IN_PLACE_VALUE "00"

/* In place of options, over a diagnostic port: nothing is recorded until somebody asks for it. */
#define DNP_OPTIONS_IDLE "idle"

/*
 * PID:NEWS:LIBRARY. The agent, asked for a class that is not its own in process PID, hands the
 * request on to that library, and writes what became of it to the file NEWS: DNP_RELAY_DONE, or a
 * sentence. In other processes it refuses.
 */
#define DNP_RELAY_ENV  "DNPROF_RELAY"
#define DNP_RELAY_DONE "+"

/* The agent's class; clr/guid.h has the same as bytes. */
#define DNP_AGENT_CLSID "{7A88F714-C4C5-43BA-9AE1-C7C008C0DDC7}"

/* The same agent as a profiler that is only notified, which may stand beside another one. */
#define DNP_AGENT_NOTIFY_CLSID "{2CBAF7A9-3706-408D-B14C-7315FB3110BD}"

/* Bytes of the longest string that the parser takes, its zero not counted. */
#define DNP_OPTIONS_MAX (8 * PATH_MAX)

/* Of the deepest stack that can be kept whole: counters of samples in rings have 16 bits. */
#define DNP_FRAMES_MAX 32768

enum dnp_source_choice {
	DNP_SOURCE_AUTO = 0, /* perf, and where the system refuses it timer */
	DNP_SOURCE_PERF = 1,
	DNP_SOURCE_TIMER = 2,
};

/* How stacks are taken. */
enum dnp_engine_choice {
	DNP_ENGINE_SIGNAL = 0,   /* by each thread itself, in a signal handler */
	DNP_ENGINE_SNAPSHOT = 1, /* by the runtime, while it or the thread is suspended */
	DNP_ENGINE_SUSPEND = 2,  /* by us, while the thread is suspended (Windows) */
};

/* What is recorded of each call (trace). */
enum dnp_calls_choice {
	DNP_CALLS_TREE = 0,   /* how often, by path; times by sampling */
	DNP_CALLS_TIME = 1,   /* and how long */
	DNP_CALLS_EVENTS = 2, /* each begin and end with its time */
};

struct dnp_agent_options {
#define DNP_NUMBER(name, type, min, max, initial, doc) type name;
#define DNP_CHOICE(name, type, words, initial, doc)    enum type name;
#define DNP_STRING(name, size, doc)                    char name[size];
#include "format/agent_options.def"
};

/* All fields at their defaults. */
void dnp_agent_options_init(struct dnp_agent_options *options);

/*
 * Reads `text` into *options (initialised first). 0, or -EINVAL for a malformed pair, an unknown or
 * repeated key, a value out of range, none or both of fd and dir, -E2BIG for a string or a value
 * that is too long; err says which.
 */
int dnp_agent_options_parse(
	struct dnp_agent_options *options, const char *text, struct dnp_err *err);

/*
 * The same for what comes by the control socket (format/control.h): says neither where the
 * recording goes nor what session it belongs to. err speaks of "the request".
 */
int dnp_agent_options_parse_request(
	struct dnp_agent_options *options, struct dnp_str text, struct dnp_err *err);

/*
 * The same for the client data of an attach: `dir`, `leave_ms`, or nothing at all, which leaves all
 * fields at their defaults; without `dir` no recording is asked for. err speaks of "the client
 * data".
 */
int dnp_agent_options_parse_client(
	struct dnp_agent_options *options, struct dnp_str text, struct dnp_err *err);

/*
 * Writes what differs from the defaults into out[capacity], zero-terminated. Returns the length, or
 * -E2BIG.
 */
int dnp_agent_options_write(const struct dnp_agent_options *options, char *out, size_t capacity);

#endif
