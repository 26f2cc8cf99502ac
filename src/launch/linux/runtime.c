/* SPDX-License-Identifier: MIT */
#include "launch/runtime.h"

#include <ctype.h>
#include <string.h>

#include "base/clean.h"
#include "launch/process.h"
#include "launch/program.h"

#define RUNTIME_FILE   "libcoreclr.so"
#define VERSION_MARK   "@(#)Version "
#define GLIBC_MARK     "stable release version "
#define PROFILER_ENTRY "DllGetClassObject"

/* Points at the last component of a path. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool dnp_runtime_folder_version(const char *library, char out[32])
{
	static const char folder[] = "/Microsoft.NETCore.App/";
	const char *at = strstr(library, folder);
	const char *version = at ? at + strlen(folder) : "";
	size_t n = strcspn(version, "/");

	if (!isdigit((unsigned char)*version) || n >= 32 || version + n + 1 != base_name(library))
		return false;
	snprintf(out, 32, "%.*s", (int)n, version);
	return true;
}

/* Calls visit with each file that is mapped executable; -EACCES: nobody lets us look. */
static int each_library(pid_t pid, int (*visit)(const char *path, void *context), void *context)
{
	char path[32];
	auto_fclose FILE *file = NULL;
	auto_free char *line = NULL;
	size_t room = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -EACCES;
	errno = 0;
	while ((n = getline(&line, &room, file)) > 0) {
		const char *name = strchr(line, '/');
		const char *rights = strchr(line, ' ');
		int status;

		line[n - 1] = '\0';
		if (!name || !rights || rights[3] != 'x')
			continue;
		status = visit(name, context);
		if (status)
			return status;
	}
	return ferror(file) ? (errno == ESRCH ? -ESRCH : -EACCES) : 0;
}

/* Where the file of that name in the process's view lies for us. NULL: no memory. */
static char *outside_path(pid_t pid, const char *path)
{
	char *outside;

	return asprintf(&outside, "/proc/%d/root%s", (int)pid, path) < 0 ? NULL : outside;
}

static int keep(char **field, const char *path)
{
	if (!*field)
		*field = strdup(path);
	return *field ? 0 : -ENOMEM;
}

struct look {
	struct dnp_runtime *runtime;
	pid_t pid;
	char *last; /* owned: a file has several mappings, one behind the other */
};

/* Of the C library: the words that stand in each glibc, and the name of musl's only file. */
static void see_libc(struct look *look, const char *path)
{
	char *libc = look->runtime->libc;
	size_t room = sizeof(look->runtime->libc);
	const char *name = base_name(path);

	if (!strncmp(name, "ld-musl-", 8) || !strncmp(name, "libc.musl-", 10)) {
		snprintf(libc, room, "musl");
	} else if (!*libc && !strncmp(name, "libc.so.6", 9)) {
		auto_free char *outside = outside_path(look->pid, path);
		char version[16] = "";

		if (outside)
			dnp_program_text(outside, GLIBC_MARK, version, sizeof(version));
		version[strspn(version, "0123456789.")] = '\0';
		if (*version && version[strlen(version) - 1] == '.')
			version[strlen(version) - 1] = '\0';
		snprintf(libc, room, "glibc%s%s", *version ? " " : "", version);
	}
}

/* The runtime's own libraries for debuggers have a profiler's entry, too. */
static bool is_runtimes(const char *name)
{
	return !strncmp(name, "libmscor", 8) || !strncmp(name, "libclr", 6);
}

static int see_library(const char *path, void *context)
{
	struct look *look = context;
	struct dnp_runtime *runtime = look->runtime;
	const char *name = base_name(path);
	auto_free char *outside = NULL;

	if (look->last && !strcmp(look->last, path))
		return 0;
	free(look->last);
	look->last = strdup(path);
	if (!look->last)
		return -ENOMEM;
	see_libc(look, path);
	if (!strncmp(name, "libdnprof.so", 12))
		return keep(&runtime->agent, path);
	if (!strncmp(name, RUNTIME_FILE, strlen(RUNTIME_FILE)))
		return keep(&runtime->library, path);
	if (is_runtimes(name) || runtime->profiler || !strstr(name, ".so"))
		return 0;
	outside = outside_path(look->pid, path);
	if (!outside)
		return -ENOMEM;
	return dnp_program_names(outside, PROFILER_ENTRY) ? keep(&runtime->profiler, path) : 0;
}

/* A program in one file has the runtime in itself. */
static int see_single_file(struct look *look)
{
	char link[32], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)look->pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return 0;
	path[n] = '\0';
	return keep(&look->runtime->library, path);
}

static void find_version(struct dnp_runtime *runtime, pid_t pid)
{
	auto_free char *outside = outside_path(pid, runtime->library);
	char number[32];

	if (dnp_runtime_folder_version(runtime->library, runtime->version) || !outside)
		return;
	dnp_program_text(outside, VERSION_MARK, number, sizeof(number));
	dnp_runtime_version(number, runtime->version);
}

int dnp_runtime_look(struct dnp_runtime *runtime, pid_t pid)
{
	struct look look = {.runtime = runtime, .pid = pid};
	int status;

	*runtime = (struct dnp_runtime){0};
	status = each_library(pid, see_library, &look);
	runtime->readable = !status;
	runtime->found = runtime->library || dnp_process_has_runtime_thread(pid);
	if (!status && runtime->found && !runtime->library)
		status = see_single_file(&look);
	if (!status && runtime->library)
		find_version(runtime, pid);
	free(look.last);
	if (status && status != -EACCES) {
		dnp_runtime_done(runtime);
		return status;
	}
	return 0;
}
