/* SPDX-License-Identifier: MIT */
#include "launch/foreign.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clean.h"
#include "format/agent_options.h"
#include "launch/agent_file.h"
#include "launch/environment.h"
#include "launch/library.h"

#define TICK_MS 250

/* xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, hexadecimal. */
static bool is_guid(const char *text, size_t n)
{
	static const char form[] = "00000000-0000-0000-0000-000000000000";

	if (n != strlen(form))
		return false;
	for (size_t i = 0; i < n; i++)
		if (form[i] == '-' ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	return true;
}

/* The runtime wants braces; those who write it down often leave them away. */
static int set_clsid(struct dnp_foreign *foreign, struct dnp_err *err)
{
	const char *text = foreign->options.clsid;
	size_t n = strlen(text);
	bool braces = n >= 2 && text[0] == '{' && text[n - 1] == '}';

	if (!is_guid(text + braces, n - 2 * braces))
		return dnp_err(err, -EINVAL,
			"--profiler-clsid %s: not a GUID; write it as "
			"{DF9EDC4B-25C1-4925-A3FB-6AB8D3E1F0C5}",
			text);
	snprintf(foreign->clsid, sizeof(foreign->clsid), "{%.36s}", text + braces);
	return 0;
}

static int set_library(struct dnp_foreign *foreign, struct dnp_err *err)
{
	char why[400];
	int ret;

	/* The program may change its folder before it loads it. */
	if (!realpath(foreign->options.library, foreign->library))
		return dnp_err(err, -errno,
			"cannot read the profiler %s: %s; check --profiler-path",
			foreign->options.library, strerror(errno));
	ret = dnp_program_check_library(foreign->library, err);
	if (ret)
		return ret;
	ret = dnp_library_try(foreign->library, why, sizeof(why));
	if (ret)
		dnp_err(err, ret,
			"the profiler cannot load: %s; build it for this system, or check "
			"--profiler-path",
			why);
	return ret;
}

static int check_variables(const struct dnp_foreign *foreign, struct dnp_err *err)
{
	for (size_t i = 0; i < foreign->options.variable_count; i++) {
		const char *text = foreign->options.variables[i];

		if (strcspn(text, "=") == 0 || !strchr(text, '='))
			return dnp_err(err, -EINVAL,
				"--profiler-env %s: not a variable; write NAME=VALUE", text);
	}
	return 0;
}

static int make_news(struct dnp_foreign *foreign, struct dnp_err *err)
{
	foreign->news = memfd_create("dnprof-news", MFD_CLOEXEC);
	if (foreign->news < 0)
		return dnp_err(err, -errno, "cannot make a file in memory: %s", strerror(errno));
	return 0;
}

int dnp_foreign_open(
	struct dnp_foreign *foreign, const struct dnp_foreign_options *options, struct dnp_err *err)
{
	int ret;

	*foreign = (struct dnp_foreign){.options = *options, .news = -1};
	ret = set_clsid(foreign, err);
	if (!ret)
		ret = check_variables(foreign, err);
	if (!ret)
		ret = set_library(foreign, err);
	if (!ret)
		ret = dnp_program_find(&foreign->program, options->command[0], err);
	if (!ret && !options->children)
		ret = dnp_program_check(&foreign->program, err);
	if (!ret)
		ret = dnp_environment_check_diagnostics(err);
	if (!ret && !options->children)
		ret = dnp_agent_file_find(foreign->agent, err);
	if (!ret && !options->children)
		ret = make_news(foreign, err);
	if (ret)
		dnp_foreign_done(foreign);
	return ret;
}

/* In the child, whose id the relay is told. */
static int set_relay(const struct dnp_foreign *foreign)
{
	char text[PATH_MAX + 96];

	snprintf(text, sizeof(text), "%d:/proc/%d/fd/%d:%s", (int)getpid(), (int)getppid(),
		foreign->news, foreign->library);
	return setenv(DNP_RELAY_ENV, text, 1) ? -ENOMEM : 0;
}

static int set_variable(const char *text)
{
	size_t n = strcspn(text, "=");
	auto_free char *name = strndup(text, n);

	return !name || setenv(name, text + n + 1, 1) ? -ENOMEM : 0;
}

/* In the child. */
static int enter(void *context)
{
	const struct dnp_foreign *foreign = context;
	const struct dnp_foreign_options *options = &foreign->options;
	int ret = options->children ? 0 : set_relay(foreign);

	if (!ret)
		ret = dnp_environment_set_profiler(
			foreign->clsid, options->children ? foreign->library : foreign->agent);
	for (size_t i = 0; !ret && i < options->variable_count; i++)
		ret = set_variable(options->variables[i]);
	if (ret)
		return ret;
	execv(foreign->program.path, options->command);
	return -errno;
}

int dnp_foreign_run(struct dnp_foreign *foreign, struct dnp_err *err)
{
	int ret = dnp_child_fork(&foreign->child, enter, foreign, err);

	if (ret)
		return ret;
	ret = dnp_child_release(&foreign->child);
	if (ret)
		return dnp_err(
			err, ret, "cannot start %s: %s", foreign->program.path, strerror(-ret));
	while (!foreign->child.ended)
		dnp_child_wait(&foreign->child, TICK_MS);
	dnp_child_done(&foreign->child);
	return 0;
}

int dnp_foreign_loaded(const struct dnp_foreign *foreign, struct dnp_err *err)
{
	char text[400];
	ssize_t n;

	if (foreign->options.children)
		return 0;
	n = pread(foreign->news, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	if (!strcmp(text, DNP_RELAY_DONE))
		return 0;
	if (!*text)
		return dnp_err(err, -ENODATA,
			"the profiler was not loaded: no .NET runtime of %s asked for it; look at "
			"what it printed",
			foreign->program.path);
	return dnp_err(err, -ENODATA,
		"the profiler was not loaded: %s; see whether --profiler-clsid is its class", text);
}

void dnp_foreign_done(struct dnp_foreign *foreign)
{
	dnp_program_done(&foreign->program);
	if (foreign->news >= 0)
		close(foreign->news);
	foreign->news = -1;
}
