/* SPDX-License-Identifier: MIT */
/*
 * What bench/timeline runs and asks; each prints a line of JSON.
 *
 *   switching pipes ROUNDS [library]
 *	two threads on one processor hand a byte to each other: CPU ns a round, which is two
 *	switches. Prints `ready` and waits for a line before it begins; `library`: its own time line
 *	is open
 *   switching saturate SECONDS
 *	such a pair on each processor: rounds of all
 *   switching idle THREADS
 *	threads that wait until the input ends; prints `ready`
 *   switching attach PID TIMES
 *	opens a time line of a process: ms until it is open
 *   switching edges WAITS
 *	waits between stamps of its own, by sleeping and for another thread: how far the slices'
 *	edges are from them, ns; and what it takes to arm a timer
 *   switching churn PER_SECOND SECONDS
 *	threads that come and go: when each lived, CLOCK_REALTIME
 */
#include <dnprof/timeline.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MS     1000000
#define SECOND 1000000000

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / SECOND), (long)(ns % SECOND)};

	nanosleep(&t, NULL);
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("sched_setaffinity");
}

static pthread_t begin(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		fail("pthread_create");
	return thread;
}

static dnprof_timeline *open_timeline(int pid)
{
	struct dnprof_timeline_options options = {.struct_size = sizeof(options),
		.pid = pid,
		.backend = DNPROF_TIMELINE_SWITCHES,
		.memory_bytes = 1 << 30};
	struct dnprof_timeline_error error = {.struct_size = sizeof(error)};
	dnprof_timeline *timeline;

	if (dnprof_timeline_open(&options, &timeline, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	return timeline;
}

static void wait_for_a_line(void)
{
	printf("ready\n");
	fflush(stdout);
	while (getchar() != '\n')
		if (feof(stdin))
			break;
}

/* ---- Pairs of threads */

struct pair {
	int there[2], back[2], cpu;
	uint64_t rounds, until_ns; /* rounds 0: until then */
	uint64_t done, cpu_ns;     /* of both */
	pthread_barrier_t *begins; /* NULL: at once */
};

static void *echo(void *arg)
{
	struct pair *pair = arg;
	char c;

	stay_on(pair->cpu);
	while (read(pair->there[0], &c, 1) == 1 && c && write(pair->back[1], &c, 1) == 1)
		;
	pair->cpu_ns += now(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static void *call(void *arg)
{
	struct pair *pair = arg;
	uint64_t begin_ns;
	pthread_t other;
	char c = 1;

	stay_on(pair->cpu);
	if (pipe(pair->there) || pipe(pair->back))
		fail("pipe");
	other = begin(echo, pair);
	if (pair->begins)
		pthread_barrier_wait(pair->begins);
	begin_ns = now(CLOCK_THREAD_CPUTIME_ID);
	while (pair->rounds ? pair->done < pair->rounds
			    : pair->done % 64 || now(CLOCK_MONOTONIC) < pair->until_ns) {
		if (write(pair->there[1], &c, 1) != 1 || read(pair->back[0], &c, 1) != 1)
			fail("pipe");
		pair->done++;
	}
	begin_ns = now(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	c = 0;
	if (write(pair->there[1], &c, 1) != 1)
		fail("pipe");
	pthread_join(other, NULL);
	pair->cpu_ns += begin_ns;
	return NULL;
}

static int pipes(uint64_t rounds, bool library)
{
	dnprof_timeline *timeline = library ? open_timeline(0) : NULL;
	pthread_barrier_t begins;
	struct pair pair = {.rounds = rounds, .cpu = 0, .begins = &begins};
	pthread_t thread;

	if (timeline && dnprof_timeline_start(timeline, NULL))
		fail("timeline");
	pthread_barrier_init(&begins, NULL, 2);
	thread = begin(call, &pair);
	wait_for_a_line();
	pthread_barrier_wait(&begins);
	pthread_join(thread, NULL);
	dnprof_timeline_close(timeline);
	printf("{\"ns\":%.1f}\n", (double)pair.cpu_ns / (double)rounds);
	return 0;
}

static int saturate(double seconds)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct pair *pairs = calloc((size_t)cpus, sizeof(*pairs));
	pthread_t *threads = calloc((size_t)cpus, sizeof(*threads));
	uint64_t rounds = 0;

	if (!pairs || !threads)
		fail("memory");
	for (int i = 0; i < cpus; i++) {
		pairs[i].cpu = i;
		pairs[i].until_ns = now(CLOCK_MONOTONIC) + (uint64_t)(seconds * SECOND);
		threads[i] = begin(call, &pairs[i]);
	}
	for (int i = 0; i < cpus; i++) {
		pthread_join(threads[i], NULL);
		rounds += pairs[i].done;
	}
	printf("{\"rounds\":%llu}\n", (unsigned long long)rounds);
	return 0;
}

/* ---- Attaching */

static pthread_barrier_t over;

static void *stand(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&over);
	return NULL;
}

static int idle(int threads)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	pthread_barrier_init(&over, NULL, (unsigned)threads);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread, &attr, stand, NULL))
			fail("pthread_create");
	wait_for_a_line();
	return 0;
}

static int attach(int pid, int times)
{
	printf("{\"ms\":[");
	for (int i = 0; i < times; i++) {
		uint64_t begin_ns = now(CLOCK_MONOTONIC), end_ns;
		dnprof_timeline *timeline = open_timeline(pid);

		if (dnprof_timeline_start(timeline, NULL))
			fail("timeline");
		end_ns = now(CLOCK_MONOTONIC);
		dnprof_timeline_close(timeline);
		printf("%s%.3f", i ? "," : "", (double)(end_ns - begin_ns) / MS);
	}
	printf("]}\n");
	return 0;
}

/* ---- Edges */

struct edge {
	uint64_t before_ns, after_ns;
};

struct waits {
	struct edge *edges;
	int n;
	int bell[2]; /* a byte for each wait that is not a sleep */
	int tid;
	_Atomic int asked;
};

/* Rings a while after it was asked to. */
static void *ring(void *arg)
{
	struct waits *waits = arg;
	int rung = 0;

	while (rung < waits->n) {
		uint64_t until_ns;

		if (atomic_load(&waits->asked) == rung)
			continue;
		until_ns = now(CLOCK_MONOTONIC) + 20000;
		while (now(CLOCK_MONOTONIC) < until_ns)
			;
		if (write(waits->bell[1], "x", 1) != 1)
			fail("pipe");
		rung++;
	}
	return NULL;
}

enum how { SLEEP, SLEEP_ARMED, FOR_ANOTHER };

/*
 * A sleep arms the machine's timer unless another one fires sooner: that takes its time (see
 * measure_timer) between the stamp and the thread's leaving, and is no part of the edge.
 */
static void arm_sooner(int timer)
{
	const struct itimerspec soon = {.it_value = {0, 15000}};

	if (timerfd_settime(timer, 0, &soon, NULL))
		fail("timer");
}

static void wait_many(struct waits *waits, enum how how)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	char c;

	waits->tid = (int)syscall(SYS_gettid);
	for (int i = 0; i < waits->n; i++) {
		uint64_t pause_ns = now(CLOCK_MONOTONIC) + 5000;

		if (how == SLEEP_ARMED)
			arm_sooner(timer);
		waits->edges[i].before_ns = dnprof_timeline_now();
		if (how != FOR_ANOTHER) {
			sleep_ns(20000);
		} else {
			atomic_store(&waits->asked, i + 1);
			if (read(waits->bell[0], &c, 1) != 1)
				fail("pipe");
		}
		waits->edges[i].after_ns = dnprof_timeline_now();
		while (now(CLOCK_MONOTONIC) < pause_ns)
			;
	}
	close(timer);
}

static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void print_spread(const char *name, uint64_t *values, int n)
{
	if (!n)
		return;
	qsort(values, (size_t)n, sizeof(*values), compare);
	printf(",\"%s\":{\"p50\":%llu,\"p95\":%llu,\"p99\":%llu}", name,
		(unsigned long long)values[n / 2], (unsigned long long)values[n * 95LL / 100],
		(unsigned long long)values[n * 99LL / 100]);
}

/* The wait within the two stamps: the end of one slice, and the beginning of the next one. */
static void judge(dnprof_timeline *timeline, const struct waits *waits)
{
	struct dnprof_thread thread = {.struct_size = sizeof(thread)};
	size_t room = 1 << 20;
	struct dnprof_slice *slices = calloc(room, sizeof(*slices));
	uint64_t *out = calloc((size_t)waits->n, sizeof(*out));
	uint64_t *in = calloc((size_t)waits->n, sizeof(*in));
	int found = 0, awake = 0;
	int64_t n, at = 0;

	if (!slices || !out || !in)
		fail("memory");
	do
		if (dnprof_timeline_next_thread(timeline, thread.id, &thread))
			fail("no such thread");
	while (thread.tid != waits->tid);
	n = dnprof_timeline_slices(timeline, thread.id, 0, UINT64_MAX, slices, room);
	for (int i = 0; i < waits->n; i++) {
		const struct edge *edge = &waits->edges[i];
		int64_t k;

		while (at < n && slices[at].end_ns < edge->before_ns)
			at++;
		for (k = at; k + 1 < n && slices[k].how != DNPROF_SLICE_WAITS; k++)
			;
		if (k + 1 >= n || slices[k].end_ns > edge->after_ns) {
			awake++; /* it was over before it had to wait */
			continue;
		}
		if (slices[k + 1].start_ns > edge->after_ns)
			continue;
		out[found] = slices[k].end_ns - edge->before_ns;
		in[found++] = edge->after_ns - slices[k + 1].start_ns;
	}
	printf("\"waits\":%d,\"awake\":%d,\"bracketed\":%d", waits->n, awake, found);
	print_spread("out", out, found);
	print_spread("in", in, found);
	free(slices);
	free(out);
	free(in);
}

static void measure_edges(const char *name, int n, enum how how)
{
	dnprof_timeline *timeline = open_timeline(0);
	struct waits waits = {.edges = calloc((size_t)n, sizeof(*waits.edges)), .n = n};
	pthread_t thread;

	if (!waits.edges || pipe(waits.bell) || dnprof_timeline_start(timeline, NULL))
		fail("edges");
	if (how == FOR_ANOTHER)
		thread = begin(ring, &waits);
	wait_many(&waits, how);
	if (how == FOR_ANOTHER)
		pthread_join(thread, NULL);
	if (dnprof_timeline_stop(timeline, NULL))
		fail("stop");
	printf("\"%s\":{", name);
	judge(timeline, &waits);
	printf("}");
	dnprof_timeline_close(timeline);
	free(waits.edges);
}

/*
 * What a sleep does between the first stamp and giving its processor back: it arms a timer that is
 * the next one to fire. One that fires long after others have is only put into a queue.
 */
static void measure_timer(const char *name, int n, uint64_t ns)
{
	uint64_t *took = calloc((size_t)n, sizeof(*took));
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	const struct itimerspec none = {0};
	const struct itimerspec when = {.it_value = {(time_t)(ns / SECOND), (long)(ns % SECOND)}};

	if (!took || fd < 0)
		fail("timer");
	for (int i = 0; i < n; i++) {
		took[i] = now(CLOCK_MONOTONIC);
		if (timerfd_settime(fd, 0, &when, NULL))
			fail("timer");
		took[i] = now(CLOCK_MONOTONIC) - took[i];
		timerfd_settime(fd, 0, &none, NULL);
	}
	print_spread(name, took, n);
	close(fd);
	free(took);
}

static int edges(int n)
{
	printf("{");
	measure_edges("sleep", n, SLEEP);
	printf(",");
	measure_edges("armed", n, SLEEP_ARMED);
	printf(",");
	measure_edges("pipe", n, FOR_ANOTHER);
	measure_timer("next_timer", n, 20000);
	measure_timer("far_timer", n, UINT64_C(3600) * SECOND);
	printf("}\n");
	return 0;
}

/* ---- Threads that come and go */

struct life {
	int tid;
	uint64_t begin_ns, end_ns;
};

static _Atomic int living;

static void *live(void *arg)
{
	struct life *life = arg;

	life->tid = (int)syscall(SYS_gettid);
	life->begin_ns = now(CLOCK_REALTIME);
	sleep_ns(200000);
	life->end_ns = now(CLOCK_REALTIME);
	atomic_fetch_sub(&living, 1);
	return NULL;
}

static int churn(int per_second, int seconds)
{
	int n = per_second * seconds, made = 0;
	struct life *lives = calloc((size_t)n, sizeof(*lives));
	uint64_t begin_ns = now(CLOCK_MONOTONIC);
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	while (made < n) {
		uint64_t due = (now(CLOCK_MONOTONIC) - begin_ns) * (uint64_t)per_second / SECOND;

		for (; made < n && (uint64_t)made < due; made++) {
			atomic_fetch_add(&living, 1);
			if (pthread_create(&thread, &attr, live, &lives[made]))
				fail("pthread_create");
		}
		sleep_ns(MS);
	}
	while (atomic_load(&living))
		sleep_ns(MS);
	printf("{\"ns\":%llu,\"lives\":[", (unsigned long long)(now(CLOCK_MONOTONIC) - begin_ns));
	for (int i = 0; i < n; i++)
		printf("%s[%d,%llu,%llu]", i ? "," : "", lives[i].tid,
			(unsigned long long)lives[i].begin_ns, (unsigned long long)lives[i].end_ns);
	printf("]}\n");
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	const char *more = argc > 3 ? argv[3] : "";

	if (!strcmp(what, "pipes"))
		return pipes(strtoull(argv[2], NULL, 10), !strcmp(more, "library"));
	if (!strcmp(what, "saturate"))
		return saturate(atof(argv[2]));
	if (!strcmp(what, "idle"))
		return idle(atoi(argv[2]));
	if (!strcmp(what, "attach") && argc > 3)
		return attach(atoi(argv[2]), atoi(more));
	if (!strcmp(what, "edges"))
		return edges(atoi(argv[2]));
	if (!strcmp(what, "churn") && argc > 3)
		return churn(atoi(argv[2]), atoi(more));
	fprintf(stderr, "usage: switching pipes | saturate | idle | attach | edges | churn …\n");
	return 2;
}
