/* SPDX-License-Identifier: MIT */
/*
 * fake-host STEP…
 *
 * Looks like a host of .NET (it holds the word hostfxr), loads the profiler that the environment
 * names as CoreCLR would, and then does the steps:
 *
 *   no-profiler    (first) does not load the profiler
 *   env            prints its variables that concern profilers, with what stands before `=` only
 *   copy           copies its input to its output
 *   exit N         ends so
 *   kill N         sends signal N to itself
 *   sleep MS
 *   signals        from now on prints the number of each signal that comes
 *   await          waits until one has come, a minute at most
 *   server MS      leaves a process behind that loads the profiler, too, and lives for MS
 *   run COMMAND…   executes a command in a process of its own and waits for it
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

const char fake_host_mark[] = "hostfxr";

static void load_profiler(void)
{
	const char *enabled = getenv("CORECLR_ENABLE_PROFILING");
	const char *path = getenv("CORECLR_PROFILER_PATH");
	int (*get_class)(const void *, const void *, void **);
	void *library, *factory;

	if (!enabled || strcmp(enabled, "1") || !path)
		return;
	library = dlopen(path, RTLD_NOW);
	if (!library)
		return;
	*(void **)&get_class = dlsym(library, "DllGetClassObject");
	if (get_class)
		get_class("", "", &factory);
}

static void print_environment(void)
{
	for (char **p = environ; *p; p++) {
		if (!strncmp(*p, "CORECLR_", 8) || !strncmp(*p, "DNPROF", 6))
			printf("%.*s\n", (int)strcspn(*p, "="), *p);
	}
}

static void copy(void)
{
	char buffer[4096];
	size_t n;

	while ((n = fread(buffer, 1, sizeof(buffer), stdin)) > 0)
		fwrite(buffer, 1, n, stdout);
}

static void sleep_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left))
		;
}

/* Those that nobody has awaited yet. */
static _Atomic int signals_came;

static void on_signal(int signal)
{
	char text[] = "signal 00\n";

	text[7] = (char)('0' + signal / 10);
	text[8] = (char)('0' + signal % 10);
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	signals_came++;
}

static void await_signal(void)
{
	for (int i = 0; i < 6000 && !signals_came; i++)
		sleep_ms(10);
	if (signals_came)
		signals_came--;
}

static void catch_signals(void)
{
	static const int all[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};
	struct sigaction action = {.sa_handler = on_signal};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		sigaction(all[i], &action, NULL);
	printf("ready\n");
}

static void leave_server(char *ms)
{
	if (fork())
		return;
	setsid();
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	execl("/proc/self/exe", "fake-host", "sleep", ms, (char *)NULL);
	_exit(1);
}

static void run(char **command)
{
	pid_t pid = fork();

	if (!pid) {
		execvp(command[0], command);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	int i = 1;

	if (argc > 1 && !strcmp(argv[1], "no-profiler"))
		i++;
	else
		load_profiler();
	for (; i < argc; i++) {
		char *step = argv[i], *value = argv[i + 1];

		if (!strcmp(step, "env"))
			print_environment();
		else if (!strcmp(step, "copy"))
			copy();
		else if (!strcmp(step, "signals"))
			catch_signals();
		else if (!strcmp(step, "await"))
			fflush(stdout), await_signal();
		else if (!strcmp(step, "exit"))
			exit(atoi(value));
		else if (!strcmp(step, "run"))
			run(argv + i + 1), exit(0);
		else if (!strcmp(step, "kill"))
			fflush(stdout), raise(atoi(value)), i++;
		else if (!strcmp(step, "sleep"))
			fflush(stdout), sleep_ms(atol(value)), i++;
		else if (!strcmp(step, "server"))
			leave_server(value), i++;
		fflush(stdout);
	}
	return 0;
}
