/* SPDX-License-Identifier: MIT */
/*
 * threads N SECONDS: threads that compute a little and sleep a little, each a different little, and
 * stand still at the end. Then a line for each thread: its id, its name, the kernel's count of its
 * switches, and its CPU time by the kernel's own account. They stand until the end of its input,
 * at least for a second and a half; SIGINT is ignored, so that it ends recordings only.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 2000

static pthread_barrier_t done, told;
static _Atomic size_t about_to_stand;
static int seconds;
static pid_t ids[THREADS_MAX];

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *work(void *argument)
{
	size_t number = (size_t)argument;
	double until = now(CLOCK_MONOTONIC) + seconds;
	struct timespec pause = {0, (long)(1000000 + 100000 * (number % 40))};
	char name[16];

	ids[number] = (pid_t)syscall(SYS_gettid);
	snprintf(name, sizeof(name), "w%zu", number);
	pthread_setname_np(pthread_self(), name);
	while (now(CLOCK_MONOTONIC) < until) {
		double begin = now(CLOCK_THREAD_CPUTIME_ID);

		while (now(CLOCK_THREAD_CPUTIME_ID) < begin + 5e-6 * (double)(1 + number % 20))
			;
		nanosleep(&pause, NULL);
	}
	pthread_barrier_wait(&done);
	atomic_fetch_add(&about_to_stand, 1);
	pthread_barrier_wait(&told);
	return NULL;
}

static char state(pid_t id)
{
	char path[64], line[256], letter = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)id);
	file = fopen(path, "r");
	if (file && fgets(line, sizeof(line), file) && strrchr(line, ')'))
		letter = strrchr(line, ')')[2];
	if (file)
		fclose(file);
	return letter;
}

static void wait_until_they_stand(size_t n)
{
	struct timespec moment = {0, 10000000};

	while (atomic_load(&about_to_stand) < n)
		nanosleep(&moment, NULL);
	for (size_t i = 0; i < n; i++)
		while (state(ids[i]) != 'S')
			nanosleep(&moment, NULL);
}

static long field(pid_t id, const char *name)
{
	char path[64], line[256], pattern[64];
	long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)id);
	snprintf(pattern, sizeof(pattern), "%s: %%ld", name);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, pattern, &value) == 1)
			break;
	if (file)
		fclose(file);
	return value;
}

static unsigned long long cpu_ns(pid_t id)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)id);
	file = fopen(path, "r");
	if (file && fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	if (file)
		fclose(file);
	return ns;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS_MAX];
	struct timespec rest = {1, 500000000};
	size_t n = argc > 2 ? (size_t)atoi(argv[1]) : 0;

	if (!n || n > THREADS_MAX)
		return 2;
	seconds = atoi(argv[2]);
	signal(SIGINT, SIG_IGN);
	pthread_barrier_init(&done, NULL, (unsigned)n + 1);
	pthread_barrier_init(&told, NULL, (unsigned)n + 1);
	for (size_t i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 3;
	pthread_barrier_wait(&done);
	wait_until_they_stand(n);
	for (size_t i = 0; i < n; i++)
		printf("%d w%zu %ld %llu\n", (int)ids[i], i,
			field(ids[i], "voluntary_ctxt_switches") +
				field(ids[i], "nonvoluntary_ctxt_switches"),
			cpu_ns(ids[i]));
	fflush(stdout);
	nanosleep(&rest, NULL); /* they are read once more */
	while (getchar() != EOF)
		;
	pthread_barrier_wait(&told);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
