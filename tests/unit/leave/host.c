/* SPDX-License-Identifier: MIT */
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECONDS    2
#define KINDS      8
#define HEAP_SLACK 8192
#define PF_EXITING 4 /* the kernel's */

#define WAITING_MAX 1000 /* signals */

/* ---- The program, which stands for the runtime */

_Atomic uint64_t activations;
_Atomic bool hold;
_Atomic int held;

void rest_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / (1000 * MS_NS)), (long)(ns % (1000 * MS_NS))};

	nanosleep(&t, NULL);
}

static void on_activation(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)signo;
	(void)context;
	/* As the runtime: a sample that comes when the sampler's own handler has gone is not its.
	 */
	if (info->si_pid != getpid())
		return;
	atomic_fetch_add(&activations, 1);
	atomic_fetch_add(&held, 1);
	while (atomic_load(&hold))
		rest_ns(MS_NS);
	atomic_fetch_sub(&held, 1);
	errno = saved;
}

void act_as_the_runtime(void)
{
	struct sigaction runtime = {
		.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO | SA_RESTART};

	signal(SIGSEGV, SIG_DFL);
	CHECK(sigaction(SIGNAL, &runtime, NULL) == 0);
}

/* ---- Its threads */

static _Atomic bool end;
static pthread_t threads[THREADS_MAX];
static _Atomic int tids[THREADS_MAX];

static void *spin(_Atomic int *tid)
{
	uint64_t x = (uint64_t)(uintptr_t)tid;

	while (!atomic_load_explicit(&end, memory_order_relaxed))
		for (int i = 0; i < 1000; i++)
			x = x * UINT64_C(6364136223846793005) + 1;
	return (void *)(uintptr_t)(x & 1);
}

static void *doze(_Atomic int *tid)
{
	(void)tid;
	while (!atomic_load(&end))
		rest_ns(MS_NS / 10);
	return NULL;
}

/* As the runtime's, which keeps the signal away at times. */
static void *block_at_times(_Atomic int *tid)
{
	sigset_t set;

	(void)tid;
	sigemptyset(&set);
	sigaddset(&set, SIGNAL);
	while (!atomic_load(&end)) {
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		for (volatile int i = 0; i < 20000; i++)
			;
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	}
	return NULL;
}

/*
 * The runtime stops its threads for a collection. As there no more signals wait than threads could
 * take: where the limit of pending ones is reached the kernel sends SIGIO for a sample.
 */
static void *activate(_Atomic int *tid)
{
	uint64_t sent = atomic_load(&activations);

	(void)tid;
	while (!atomic_load(&end)) {
		for (unsigned i = 0; i < THREADS_MAX; i++)
			if (atomic_load(&tids[i]) && sent < atomic_load(&activations) + WAITING_MAX)
				sent += !syscall(
					SYS_tgkill, getpid(), atomic_load(&tids[i]), SIGNAL);
		rest_ns(MS_NS / 2);
	}
	return NULL;
}

static void *short_lived(void *context)
{
	for (volatile int i = 0; i < 100000; i++)
		;
	return context;
}

static void *make_threads(_Atomic int *tid)
{
	pthread_t thread;

	(void)tid;
	while (!atomic_load(&end)) {
		if (!pthread_create(&thread, NULL, short_lived, NULL))
			pthread_join(thread, NULL);
		rest_ns(MS_NS / 5);
	}
	return NULL;
}

static void *live(void *context)
{
	static void *(*const ways[KINDS])(_Atomic int *) = {
		spin, spin, block_at_times, doze, activate, spin, make_threads, spin};
	_Atomic int *tid = context;
	size_t i = (size_t)(tid - tids);

	atomic_store(tid, (int)syscall(SYS_gettid));
	return ways[i % KINDS](tid);
}

void begin_threads(unsigned n)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 * 1024);
	for (unsigned i = 0; i < n; i++)
		CHECK(pthread_create(&threads[i], &attr, live, &tids[i]) == 0);
	for (unsigned i = 0; i < n; i++)
		while (!atomic_load(&tids[i]))
			rest_ns(MS_NS / 10);
}

void end_threads(unsigned n)
{
	atomic_store(&end, true);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

int first_thread(void)
{
	return atomic_load(&tids[0]);
}

/* ---- What can be seen of the process */

static int count_entries(const char *folder)
{
	DIR *dir = opendir(folder);
	int n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/*
 * Whether the system is about to take a thread away. It is for a while after somebody has joined
 * it, and longer where others have the processors.
 */
static bool is_ending(const char *tid)
{
	char path[300], text[512], *at;
	unsigned flags = 0;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%s/stat", tid);
	file = fopen(path, "r");
	if (!file)
		return true;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	at = strrchr(text, ')');
	/* State, parent, group, session, terminal, its group, flags. */
	if (at)
		sscanf(at, ") %*c %*d %*d %*d %*d %*d %u", &flags);
	return !n || (flags & PF_EXITING);
}

static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	int n = 0;

	CHECK(dir);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.' && !is_ending(entry->d_name);
	closedir(dir);
	return n;
}

static void read_maps(struct trace *trace, const char *library)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[4096];

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		unsigned long low, high;

		CHECK(sscanf(line, "%lx-%lx", &low, &high) == 2);
		trace->mappings++;
		trace->of_library += strstr(line, library) != NULL;
		/* What the program's heap has grown by is not ours to give back. */
		if (!strstr(line, "[heap]"))
			trace->bytes += (long)(high - low);
	}
	fclose(file);
}

struct trace look(const char *library)
{
	struct trace trace = {.fds = count_entries("/proc/self/fd"), .tasks = count_threads()};
	FILE *file = fopen("/proc/self/status", "r");
	char line[4096];

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "SigCgt: %llx", &trace.caught);
		sscanf(line, "SigBlk: %llx", &trace.blocked);
	}
	fclose(file);
	read_maps(&trace, library);
	trace.heap = (long)mallinfo2().uordblks;
	return trace;
}

void check_same(const struct trace *before, const struct trace *after)
{
	struct sigaction now;

	CHECK_EQ(after->fds, before->fds);
	CHECK_EQ(after->tasks, before->tasks);
	CHECK_EQ(after->caught, before->caught);
	CHECK_EQ(after->blocked, before->blocked);
	CHECK_EQ(after->of_library, before->of_library);
	/* The C library keeps some of what was freed, and counts it. */
	CHECK(after->heap - before->heap < HEAP_SLACK);
	/* A sanitizer maps memory of its own, for each library and thread there was. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	CHECK_EQ(after->bytes, before->bytes);
	CHECK_EQ(after->mappings, before->mappings);
#endif
	CHECK(sigaction(SIGNAL, NULL, &now) == 0);
	CHECK(now.sa_sigaction == on_activation);
}

time_t seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

time_t seconds_wanted(void)
{
	const char *text = getenv("LEAVE_SECONDS");

	if (!text)
		return SECONDS;
	alarm(0);
	return atoi(text);
}

unsigned threads_wanted(void)
{
	return getenv("LEAVE_SECONDS") ? THREADS_MAX : 2 * KINDS;
}
