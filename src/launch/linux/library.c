/* SPDX-License-Identifier: MIT */
#include "launch/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clean.h"

#define TRY_SECONDS 10

/* What the child writes when the library loads; its status may be nobody's to have (SIGCHLD). */
#define LOADS "+"

/* In the child: writes LOADS, or why the library does not load, to `out`. */
static _Noreturn void try_load(const char *path, int out)
{
	const char *why = LOADS;
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	void *library;

	alarm(TRY_SECONDS);
	dup2(nowhere, STDOUT_FILENO);
	dup2(nowhere, STDERR_FILENO);
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL); /* as the runtime does */
	if (!library)
		why = dlerror();
	else if (!dlsym(library, "DllGetClassObject"))
		why = "it has no DllGetClassObject, so it is no profiler";
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

int dnp_library_try(const char *path, char *out, size_t capacity)
{
	int ends[2], status = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC)) {
		snprintf(out, capacity, "no pipe: %s", strerror(errno));
		return -errno;
	}
	pid = fork();
	if (!pid)
		try_load(path, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		snprintf(out, capacity, "no process to try it in: %s", strerror(errno));
		return -EAGAIN;
	}
	read_all(ends[0], out, capacity);
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!strcmp(out, LOADS))
		return 0;
	if (!*out)
		snprintf(out, capacity, "trying %s ended with %s", path,
			WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an error");
	return -ELIBBAD;
}
