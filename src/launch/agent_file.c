/* SPDX-License-Identifier: MIT */
#include "launch/agent_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clean.h"

#define TRY_SECONDS 10

/* What the child writes when the library loads; its status may be nobody's to have (SIGCHLD). */
#define LOADS "+"

/* In the child: writes LOADS, or why the library does not load, to `out`. */
static void try_load(const char *path, int out)
{
	const char *why = LOADS;
	void *library;

	alarm(TRY_SECONDS);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		why = dlerror();
	else if (!dlsym(library, "DllGetClassObject"))
		why = "it has no DllGetClassObject, so it is not an agent";
	_exit(write(out, why, strlen(why)) < 0);
}

static size_t read_all(int fd, char *out, size_t capacity)
{
	size_t used = 0;
	ssize_t n;

	while (used < capacity - 1) {
		n = read(fd, out + used, capacity - 1 - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	out[used] = '\0';
	return used;
}

static int check_load(const char *path, struct dnp_err *err)
{
	static const char advice[] = "build or install dnprof again";
	char why[400];
	int ends[2], status = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return dnp_err(err, -errno, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		try_load(path, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return dnp_err(err, -EAGAIN, "cannot start a process: %s", strerror(errno));
	}
	read_all(ends[0], why, sizeof(why));
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!strcmp(why, LOADS))
		return 0;
	if (*why)
		return dnp_err(err, -ELIBBAD, "the agent cannot load: %s; %s", why, advice);
	return dnp_err(err, -ELIBBAD, "the agent cannot load: trying %s ended with %s; %s", path,
		WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an error", advice);
}

int dnp_agent_file_find(char path[PATH_MAX], struct dnp_err *err)
{
	static const char *const places[] = {"libdnprof.so", "../lib/dnprof/libdnprof.so"};
	char self[PATH_MAX], candidate[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n < 0 ? 0 : n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return dnp_err(
			err, -ENOENT, "cannot find the agent: /proc is not mounted; mount it");
	slash[1] = '\0';
	for (size_t i = 0; i < DNP_ARRAY_SIZE(places); i++) {
		n = snprintf(candidate, sizeof(candidate), "%s%s", self, places[i]);
		if ((size_t)n < sizeof(candidate) && realpath(candidate, path))
			return check_load(path, err);
	}
	return dnp_err(err, -ENOENT,
		"cannot find the agent: no libdnprof.so in %s or ../lib/dnprof; build or install "
		"dnprof again",
		self);
}
