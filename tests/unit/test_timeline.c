/* SPDX-License-Identifier: MIT */
/* The time line of live threads, whose switches the kernel counts as well, and who read their own
 * clocks. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dnprof/timeline.h>

#include "os/thread.h"
#include "test.h"

#define MS UINT64_C(1000000)

/* ---- A time line */

static struct dnprof_timeline_error error = {.struct_size = sizeof(error)};
static struct dnprof_picture picture = {.struct_size = sizeof(picture)};

static dnprof_timeline *open_with(struct dnprof_timeline_options options)
{
	dnprof_timeline *timeline;

	options.struct_size = sizeof(options);
	if (dnprof_timeline_open(&options, &timeline, &error))
		FAIL("open: %s", error.text);
	return timeline;
}

static struct dnprof_timeline_info info_of(dnprof_timeline *timeline)
{
	struct dnprof_timeline_info info = {.struct_size = sizeof(info)};

	CHECK_EQ(dnprof_timeline_info(timeline, &info), 0);
	return info;
}

/* Where perf events are not allowed at all these tests have nothing to look at. */
static dnprof_timeline *open_switches(struct dnprof_timeline_options options)
{
	dnprof_timeline *timeline = open_with(options);

	if (info_of(timeline).backend == DNPROF_TIMELINE_POLL) {
		dnprof_timeline_close(timeline);
		SKIP("perf events are not allowed here");
	}
	return timeline;
}

static void start(dnprof_timeline *timeline)
{
	if (dnprof_timeline_start(timeline, &error))
		FAIL("start: %s", error.text);
}

static void snapshot(dnprof_timeline *timeline)
{
	if (dnprof_timeline_snapshot(timeline, &picture, &error))
		FAIL("snapshot: %s", error.text);
}

static void stop(dnprof_timeline *timeline)
{
	snapshot(timeline);
	if (dnprof_timeline_stop(timeline, &error))
		FAIL("stop: %s", error.text);
}

/* The newest thread with that id. */
static bool find(dnprof_timeline *timeline, int tid, struct dnprof_thread *thread)
{
	struct dnprof_thread next = {.struct_size = sizeof(next)};
	bool found = false;

	for (uint64_t id = 0; !dnprof_timeline_next_thread(timeline, id, &next); id = next.id)
		if (next.tid == tid) {
			*thread = next;
			found = true;
		}
	return found;
}

static struct dnprof_thread get(dnprof_timeline *timeline, int tid)
{
	struct dnprof_thread thread;

	if (!find(timeline, tid, &thread))
		FAIL("the picture has no thread %d", tid);
	return thread;
}

static struct dnprof_thread_time time_of(dnprof_timeline *timeline, uint64_t id)
{
	struct dnprof_thread_time time = {.struct_size = sizeof(time)};

	CHECK_EQ(dnprof_timeline_thread_time(timeline, id, 0, UINT64_MAX, &time), 0);
	return time;
}

/* ---- Threads that know what they did */

static uint64_t cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / (1000 * MS)), (long)(ns % (1000 * MS))};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void burn(uint64_t ns)
{
	uint64_t until = cpu_now() + ns;

	while (cpu_now() < until)
		;
}

struct worker {
	pthread_t thread;
	unsigned seed;
	uint64_t sleep_ns; /* at most, at a time */
	int tid;
	uint64_t begin_ns, end_ns; /* of what follows */
	long voluntary, involuntary;
	uint64_t cpu_ns;
};

/* What the kernel has counted up to a moment, returned: no switch is between the two. */
static uint64_t count_switches(struct rusage *usage)
{
	struct rusage before;
	uint64_t now_ns;

	do {
		getrusage(RUSAGE_THREAD, &before);
		now_ns = dnprof_timeline_now();
		getrusage(RUSAGE_THREAD, usage);
	} while (before.ru_nvcsw + before.ru_nivcsw != usage->ru_nvcsw + usage->ru_nivcsw);
	return now_ns;
}

/* Until the system is through with a thread, and has told of its end; who joins it comes earlier.
 */
static void wait_until_gone(int tid)
{
	while (dnp_thread_exists(tid))
		sleep_ns(100000);
}

/* All of them, and the test: they begin together, have all worked, and may leave. */
static pthread_barrier_t ready, done, leave;
static _Atomic bool halt;

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct rusage before, after;
	uint64_t cpu;

	worker->tid = dnp_thread_id();
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&ready);
	worker->begin_ns = count_switches(&before);
	cpu = cpu_now();
	while (!atomic_load(&halt)) {
		burn(20000 + (uint64_t)rand_r(&worker->seed) % 200000);
		if (rand_r(&worker->seed) % 8 == 0)
			sched_yield();
		sleep_ns((uint64_t)rand_r(&worker->seed) % worker->sleep_ns);
	}
	worker->cpu_ns = cpu_now() - cpu;
	worker->end_ns = count_switches(&after);
	worker->voluntary = after.ru_nvcsw - before.ru_nvcsw;
	worker->involuntary = after.ru_nivcsw - before.ru_nivcsw;
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&leave);
	return NULL;
}

static struct worker *begin_workers(int n)
{
	struct worker *workers = calloc((size_t)n, sizeof(*workers));
	pthread_attr_t attr;

	CHECK(workers);
	pthread_barrier_init(&ready, NULL, (unsigned)n + 1);
	pthread_barrier_init(&done, NULL, (unsigned)n + 1);
	pthread_barrier_init(&leave, NULL, (unsigned)n + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 * 1024);
	for (int i = 0; i < n; i++) {
		workers[i].seed = (unsigned)i + 1;
		workers[i].sleep_ns = (uint64_t)n * 120000; /* two processors for all of them */
		CHECK_EQ(pthread_create(&workers[i].thread, &attr, work, &workers[i]), 0);
	}
	pthread_barrier_wait(&ready);
	return workers;
}

static void run_workers(uint64_t ns)
{
	pthread_barrier_wait(&ready);
	sleep_ns(ns);
	atomic_store(&halt, true);
	pthread_barrier_wait(&done);
}

static void end_workers(struct worker *workers, int n)
{
	pthread_barrier_wait(&leave);
	for (int i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	free(workers);
}

/* ---- Switches */

/*
 * A processor that the machine below takes away between a record's time and its place in the ring
 * tells it too late, which is counted, as losses are. How often that is depends on the machine; but
 * there is less than a microsecond for it, so that of a hundred records it cannot be one.
 */
static bool in_order(uint64_t switches)
{
	return picture.lost || picture.disordered <= 3 + switches / 100;
}

/* Slices are in order and disjoint, and, if nothing is lost, each has its end. */
static void check_slices(dnprof_timeline *timeline, uint64_t id, bool all)
{
	int64_t n = dnprof_timeline_slices(timeline, id, 0, UINT64_MAX, NULL, 0);
	struct dnprof_slice *slices = calloc((size_t)n + 1, sizeof(*slices));

	CHECK(slices);
	CHECK_EQ(dnprof_timeline_slices(timeline, id, 0, UINT64_MAX, slices, (size_t)n), n);
	for (int64_t i = 0; i < n; i++) {
		CHECK(slices[i].start_ns <= slices[i].end_ns);
		CHECK(!i || slices[i - 1].end_ns <= slices[i].start_ns);
		CHECK(!all || slices[i].how <= DNPROF_SLICE_PREEMPTED || i == n - 1);
	}
	free(slices);
}

/* Records that a machine that is too busy has lost, or has told too late. Whatever it was: what is
 * not in the picture is one of these. */
static uint64_t untold(void)
{
	return picture.lost + picture.disordered;
}

/* How many switches of a thread are not there; none is made up. */
static uint64_t missing(const struct worker *worker, const char *what, uint64_t told, long counted)
{
	if ((long)told > counted + 1 || (!untold() && (long)told < counted - 1))
		FAIL("thread %d: %ld switches%s are recorded, the kernel counts %ld", worker->tid,
			(long)told, what, counted);
	return (long)told < counted - 1 ? (uint64_t)(counted - 1) - told : 0;
}

struct sums {
	uint64_t cpu_ns, on_cpu_ns;
	uint64_t counted, missing; /* switches */
};

/* What the recording has of a worker, against what the kernel has counted while it worked. */
static void check_worker(dnprof_timeline *timeline, const struct worker *worker, struct sums *sums)
{
	struct dnprof_thread_time time = {.struct_size = sizeof(time)};
	struct dnprof_thread thread = get(timeline, worker->tid);

	CHECK_EQ(dnprof_timeline_thread_time(
			 timeline, thread.id, worker->begin_ns, worker->end_ns, &time),
		0);
	sums->missing += missing(worker, "", time.voluntary + time.involuntary,
		worker->voluntary + worker->involuntary);
	missing(worker, " against its will", time.involuntary, worker->involuntary);
	sums->counted += (uint64_t)(worker->voluntary + worker->involuntary);
	sums->cpu_ns += worker->cpu_ns;
	sums->on_cpu_ns += time.on_cpu_ns;
	if (untold())
		return;
	check_slices(timeline, thread.id, true);
	CHECK_EQ(time.on_cpu_ns + time.preempted_ns + time.blocked_ns,
		worker->end_ns - worker->begin_ns);
}

static void check_counts(int n, uint64_t ns, struct dnprof_timeline_options options, bool early)
{
	dnprof_timeline *timeline = early ? open_switches(options) : NULL;
	struct worker *workers = begin_workers(n);
	struct sums sums = {0};

	if (!timeline)
		timeline = open_switches(options);
	start(timeline);
	run_workers(ns);
	stop(timeline);
	for (int i = 0; i < n; i++)
		check_worker(timeline, &workers[i], &sums);
	CHECK(in_order(sums.counted));
	printf("# %d threads: %.3f ms on-CPU by switches, %.3f ms by their clocks; %llu records "
	       "lost or late, %llu switches missing\n",
		n, (double)sums.on_cpu_ns / 1e6, (double)sums.cpu_ns / 1e6,
		(unsigned long long)untold(), (unsigned long long)sums.missing);
	CHECK(sums.missing <= untold());
	dnprof_timeline_close(timeline);
	end_workers(workers, n);
}

TEST(switches_of_2_threads_are_those_the_kernel_counts)
{
	check_counts(2, 700 * MS, (struct dnprof_timeline_options){0}, true);
}

TEST(switches_of_50_threads_are_those_the_kernel_counts)
{
	check_counts(50, 700 * MS, (struct dnprof_timeline_options){0}, true);
}

TEST(switches_of_500_threads_are_those_the_kernel_counts)
{
	check_counts(500, 1000 * MS, (struct dnprof_timeline_options){.ring_bytes = 1 << 20}, true);
}

/* Opened when they are all there: each is attached. */
TEST(switches_of_50_threads_that_were_there_before)
{
	check_counts(50, 500 * MS, (struct dnprof_timeline_options){0}, false);
}

TEST(switches_of_all_processors)
{
	struct dnprof_timeline_options options = {
		.struct_size = sizeof(options), .backend = DNPROF_TIMELINE_CPUS};
	dnprof_timeline *timeline;

	if (dnprof_timeline_open(&options, &timeline, &error))
		SKIP("perf events of all processes are not allowed here");
	dnprof_timeline_close(timeline);
	check_counts(20, 500 * MS, options, true);
}

/* A flight recorder that is large enough, and is looked at only when all is over. */
TEST(switches_in_a_ring)
{
	struct dnprof_timeline_options options = {
		.mode = DNPROF_TIMELINE_RING, .ring_bytes = 4 << 20};

	check_counts(10, 300 * MS, options, true);
}

/* ---- CPU time */

TEST(cpu_time_at_a_checkpoint_is_that_of_the_thread)
{
	dnprof_timeline *timeline = open_switches((struct dnprof_timeline_options){0});
	struct dnprof_thread thread;
	uint64_t before, after;

	start(timeline);
	burn(20 * MS);
	before = cpu_now();
	CHECK_EQ(dnprof_timeline_checkpoint(timeline), 0);
	after = cpu_now();
	sleep_ns(5 * MS);
	/* What the library reads itself is later than that; this one is by the thread. */
	snapshot(timeline);
	thread = get(timeline, dnp_thread_id());
	CHECK(thread.cpu_ns >= after);
	CHECK(thread.cpu_ns <= cpu_now());
	CHECK(time_of(timeline, thread.id).cpu_ns >= 20 * MS);
	CHECK(time_of(timeline, thread.id).cpu_ns <= cpu_now());
	CHECK(after - before < 20 * MS);
	dnprof_timeline_close(timeline);
}

/* Whatever the library has read itself since then; when it has stopped, too. */
static void check_own_reading(enum dnprof_timeline_backend backend)
{
	dnprof_timeline *timeline = open_with((struct dnprof_timeline_options){.backend = backend});
	struct dnprof_thread_time time = {.struct_size = sizeof(time)};
	uint64_t before_ns, after_ns;

	start(timeline);
	burn(20 * MS);
	before_ns = dnprof_timeline_now();
	CHECK_EQ(dnprof_timeline_checkpoint(timeline), 0);
	after_ns = dnprof_timeline_now();
	burn(20 * MS);
	if (dnprof_timeline_stop(timeline, &error))
		FAIL("stop: %s", error.text);
	CHECK_EQ(dnprof_timeline_thread_time(
			 timeline, get(timeline, dnp_thread_id()).id, 0, after_ns, &time),
		0);
	CHECK(time.checkpoint_until_ns >= before_ns && time.checkpoint_until_ns <= after_ns);
	CHECK(time.cpu_ns >= 19 * MS);
	dnprof_timeline_close(timeline);
}

TEST(readings_of_a_threads_own_are_there_after_the_stop)
{
	dnprof_timeline_close(open_switches((struct dnprof_timeline_options){0}));
	check_own_reading(DNPROF_TIMELINE_SWITCHES);
}

TEST(readings_of_a_threads_own_are_there_after_the_stop_by_looks)
{
	check_own_reading(DNPROF_TIMELINE_POLL);
}

static dnprof_timeline *the_timeline;

struct last_words {
	int tid;
	uint64_t before_ns, after_ns; /* CPU time */
};

static void *run_shortly(void *arg)
{
	struct last_words *words = arg;

	words->tid = dnp_thread_id();
	burn(3 * MS);
	words->before_ns = cpu_now();
	CHECK_EQ(dnprof_timeline_checkpoint(the_timeline), 0);
	words->after_ns = cpu_now();
	return NULL;
}

/* Nobody can ask for the clock of a thread that has ended; it has told before. */
TEST(cpu_time_of_threads_that_have_ended)
{
	struct last_words words[20];
	uint64_t sum = 0;

	the_timeline = open_switches((struct dnprof_timeline_options){0});
	start(the_timeline);
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, run_shortly, &words[i]), 0);
		pthread_join(thread, NULL);
		wait_until_gone(words[i].tid);
	}
	stop(the_timeline);
	for (int i = 0; i < 20; i++) {
		struct dnprof_thread thread = get(the_timeline, words[i].tid);
		struct dnprof_thread_time time = time_of(the_timeline, thread.id);

		CHECK(thread.begin_ns && thread.end_ns);
		CHECK(thread.cpu_ns >= words[i].before_ns && thread.cpu_ns <= words[i].after_ns);
		CHECK_EQ(time.cpu_ns, thread.cpu_ns); /* from its begin, where it is 0 */
		CHECK_EQ(time.checkpoint_from_ns, thread.begin_ns);
		CHECK(time.on_cpu_ns && time.on_cpu_ns < thread.end_ns - thread.begin_ns);
		sum += thread.cpu_ns;
	}
	CHECK(picture.cpu_ns >= sum);
	dnprof_timeline_close(the_timeline);
}

static _Atomic bool has_told, may_end;

static void *run_until_told(void *arg)
{
	run_shortly(arg);
	atomic_store(&has_told, true);
	while (!atomic_load(&may_end))
		sleep_ns(MS);
	return NULL;
}

/* The last look at the clocks comes before all is heard that has happened until then. */
TEST(cpu_time_of_a_thread_that_began_just_before_the_stop)
{
	struct dnprof_thread_time time;
	struct last_words words = {0};
	pthread_t thread;

	/* A ring is not read before. */
	the_timeline = open_switches((struct dnprof_timeline_options){
		.mode = DNPROF_TIMELINE_RING, .ring_bytes = 1 << 20});
	start(the_timeline);
	atomic_store(&has_told, false);
	atomic_store(&may_end, false);
	CHECK_EQ(pthread_create(&thread, NULL, run_until_told, &words), 0);
	while (!atomic_load(&has_told))
		sleep_ns(MS);
	CHECK_EQ(dnprof_timeline_stop(the_timeline, &error), 0);
	time = time_of(the_timeline, get(the_timeline, words.tid).id);
	CHECK(time.cpu_ns >= words.before_ns);
	CHECK_EQ(time.checkpoint_from_ns, get(the_timeline, words.tid).begin_ns);
	atomic_store(&may_end, true);
	pthread_join(thread, NULL);
	dnprof_timeline_close(the_timeline);
}

static void *run_at_once(void *arg)
{
	struct last_words *words = arg;

	words->tid = dnp_thread_id();
	CHECK_EQ(dnprof_timeline_checkpoint(the_timeline), 0);
	return NULL;
}

/* What it says of itself may come before anybody tells of it. */
static void check_last_words(struct dnprof_timeline_options options)
{
	the_timeline = open_with(options);
	start(the_timeline);
	for (int i = 0; i < 50; i++) {
		struct last_words words = {0};
		struct dnprof_thread found;
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, run_at_once, &words), 0);
		pthread_join(thread, NULL);
		snapshot(the_timeline);
		wait_until_gone(words.tid);
		sleep_ns(2 * MS); /* what is newer than 1 ms is not told yet (LATE_NS) */
		snapshot(the_timeline);
		found = get(the_timeline, words.tid);
		CHECK(found.begin_ns && found.cpu_ns);
		CHECK_EQ(time_of(the_timeline, found.id).cpu_ns, found.cpu_ns);
	}
	dnprof_timeline_close(the_timeline);
}

TEST(cpu_time_of_threads_that_end_at_once)
{
	check_last_words((struct dnprof_timeline_options){0});
}

TEST(cpu_time_of_threads_that_end_at_once_by_looks)
{
	check_last_words((struct dnprof_timeline_options){.backend = DNPROF_TIMELINE_POLL});
}

/* A thread that never gives its processor back leaves no switch for a long time. */
TEST(a_thread_that_runs_all_the_time)
{
	dnprof_timeline *timeline = open_switches((struct dnprof_timeline_options){0});
	struct dnprof_thread_time time;

	start(timeline);
	burn(50 * MS);
	snapshot(timeline);
	burn(5 * MS);
	snapshot(timeline);
	time = time_of(timeline, get(timeline, dnp_thread_id()).id);
	CHECK(time.on_cpu_ns > 40 * MS);
	CHECK(time.on_cpu_ns + time.preempted_ns + time.blocked_ns <=
		picture.until_ns - picture.from_ns);
	dnprof_timeline_close(timeline);
}

/* ---- Edges */

struct edge {
	uint64_t before_ns, after_ns; /* stamps around a sleep */
	long waits;                   /* in between, as the kernel counts: hardly ever 0 */
};

static long count_waits(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

TEST(sleeps_lie_between_the_programs_own_stamps)
{
	enum { SLEEPS = 2000 };
	static struct edge edges[SLEEPS];
	static struct dnprof_slice slices[20 * SLEEPS];
	dnprof_timeline *timeline = open_switches((struct dnprof_timeline_options){0});
	struct dnprof_thread thread;
	int64_t n, at = 0;
	int wrong = 0;

	start(timeline);
	for (int i = 0; i < SLEEPS; i++) {
		edges[i].waits = -count_waits();
		edges[i].before_ns = dnprof_timeline_now();
		sleep_ns(20000);
		edges[i].after_ns = dnprof_timeline_now();
		edges[i].waits += count_waits();
	}
	stop(timeline);
	CHECK(in_order(SLEEPS));
	thread = get(timeline, dnp_thread_id());
	n = dnprof_timeline_slices(
		timeline, thread.id, 0, UINT64_MAX, slices, sizeof(slices) / sizeof(*slices));
	for (int i = 0; i < SLEEPS; i++) {
		/* The processor is given back, and got again, within the stamps. */
		long waits = 0;

		while (at < n && slices[at].end_ns < edges[i].before_ns)
			at++;
		for (int64_t k = at; k + 1 < n && slices[k].end_ns < edges[i].after_ns; k++)
			waits += slices[k].how == DNPROF_SLICE_WAITS &&
				slices[k + 1].start_ns < edges[i].after_ns;
		wrong += waits != edges[i].waits;
	}
	CHECK(!wrong || picture.lost || picture.disordered);
	dnprof_timeline_close(timeline);
}

/* ---- Names and marks */

static _Atomic int named_tid;

static void *be_named(void *arg)
{
	atomic_store(&named_tid, dnp_thread_id());
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	return NULL;
}

TEST(the_librarys_own_thread_is_told_as_such)
{
	dnprof_timeline *timeline =
		open_with((struct dnprof_timeline_options){.backend = DNPROF_TIMELINE_POLL});
	struct dnprof_thread thread = {.struct_size = sizeof(thread)};
	int own = 0;

	start(timeline);
	if (dnprof_timeline_stop(timeline, &error))
		FAIL("stop: %s", error.text);
	while (!dnprof_timeline_next_thread(timeline, thread.id, &thread))
		own += thread.flags & DNPROF_THREAD_OWN && !strcmp(thread.name, "dnprof-timeline");
	CHECK_EQ(own, 1);
	dnprof_timeline_close(timeline);
}

/* ---- Looked at so seldom that all is between two looks */

static dnprof_timeline *start_seldom(void)
{
	dnprof_timeline *timeline = open_with((struct dnprof_timeline_options){
		.backend = DNPROF_TIMELINE_POLL, .interval_us = 1000000});

	start(timeline);
	return timeline;
}

static void stop_at_once(dnprof_timeline *timeline)
{
	if (dnprof_timeline_stop(timeline, &error))
		FAIL("stop: %s", error.text);
}

TEST(what_was_since_the_last_look_is_there_when_it_stops)
{
	struct dnprof_slice slices[50];
	uint64_t begin, ran_ns = 0;
	dnprof_timeline *timeline = start_seldom();
	int n;

	begin = dnprof_timeline_now();
	burn(100 * MS);
	stop_at_once(timeline);
	n = (int)dnprof_timeline_slices(timeline, get(timeline, dnp_thread_id()).id, begin,
		dnprof_timeline_now(), slices, 50);
	CHECK(n >= 1 && n <= 50);
	for (int i = 0; i < n; i++)
		ran_ns += slices[i].end_ns - slices[i].start_ns;
	CHECK(ran_ns >= 99 * MS);
	dnprof_timeline_close(timeline);
}

struct late {
	dnprof_timeline *timeline; /* NULL: it gives itself no name */
	pthread_barrier_t barrier;
	int tid;
};

static void *come_late(void *arg)
{
	struct late *late = arg;

	late->tid = dnp_thread_id();
	burn(15 * MS);
	if (late->timeline)
		CHECK_EQ(dnprof_timeline_set_thread_name(late->timeline, 0, "late"), 0);
	burn(15 * MS);
	pthread_barrier_wait(&late->barrier);
	pthread_barrier_wait(&late->barrier);
	return NULL;
}

/* Its time, from its beginning on, though nobody looked at it before the end. */
static void check_late(bool named)
{
	dnprof_timeline *timeline = start_seldom();
	uint64_t begin = dnprof_timeline_now();
	struct late late = {.timeline = named ? timeline : NULL};
	struct dnprof_thread thread;
	pthread_t made;

	pthread_barrier_init(&late.barrier, NULL, 2);
	CHECK_EQ(pthread_create(&made, NULL, come_late, &late), 0);
	pthread_barrier_wait(&late.barrier);
	stop_at_once(timeline);
	thread = get(timeline, late.tid);
	CHECK(thread.begin_ns > begin - 1000 * MS && thread.begin_ns != 0);
	CHECK(time_of(timeline, thread.id).cpu_ns >= 30 * MS);
	pthread_barrier_wait(&late.barrier);
	pthread_join(made, NULL);
	dnprof_timeline_close(timeline);
}

TEST(thread_that_was_not_listed_is_there_when_it_stops)
{
	check_late(false);
}

TEST(thread_that_names_itself_has_the_time_since_it_began)
{
	check_late(true);
}

TEST(names_are_those_that_were_given)
{
	dnprof_timeline *timeline = open_with((struct dnprof_timeline_options){0});
	pthread_barrier_t barrier;
	pthread_t thread;
	char name[64], system[16];

	pthread_barrier_init(&barrier, NULL, 2);
	CHECK_EQ(pthread_create(&thread, NULL, be_named, &barrier), 0);
	pthread_barrier_wait(&barrier);
	start(timeline);
	CHECK_EQ(dnprof_timeline_set_thread_name(timeline, 0, "the one that draws the picture"), 0);
	CHECK_EQ(pthread_getname_np(pthread_self(), system, sizeof(system)), 0);
	CHECK_STR(system, "the one that dr");
	CHECK_EQ(pthread_setname_np(thread, "other"), 0);
	snapshot(timeline);
	CHECK_EQ(dnprof_timeline_thread_name(timeline, 0, name, sizeof(name)), 0);
	CHECK_STR(name, "the one that draws the picture");
	CHECK_STR(get(timeline, dnp_thread_id()).name, "the one that draws the picture");
	for (struct dnprof_thread t = {.struct_size = sizeof(t)};
		!dnprof_timeline_next_thread(timeline, t.id, &t);) {
		CHECK_EQ(dnprof_timeline_thread_name(timeline, t.tid, name, sizeof(name)), 0);
		CHECK(t.tid != atomic_load(&named_tid) || !strcmp(name, "other"));
		CHECK(!(t.flags & DNPROF_THREAD_OWN) || !strcmp(name, "dnprof-timeline"));
	}
	CHECK_EQ(dnprof_timeline_thread_name(timeline, 1 << 30, name, sizeof(name)), -ESRCH);
	CHECK_EQ(dnprof_timeline_set_thread_name(timeline, 1 << 30, "x"), -ESRCH);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	dnprof_timeline_close(timeline);
}

static void check_name(dnprof_timeline *timeline, const char *expected)
{
	char name[64];

	CHECK_EQ(dnprof_timeline_thread_name(timeline, 0, name, sizeof(name)), 0);
	CHECK_STR(name, expected);
}

TEST(names_are_those_of_the_next_recording_too)
{
	dnprof_timeline *timeline = open_with((struct dnprof_timeline_options){0});
	struct dnprof_thread next = {.struct_size = sizeof(next)};
	int same = 0;

	CHECK_EQ(dnprof_timeline_set_thread_name(timeline, 0, "named before the first one"), 0);
	start(timeline);
	check_name(timeline, "named before the first one");
	stop(timeline);
	CHECK_STR(get(timeline, dnp_thread_id()).name, "named before the first one");
	CHECK_EQ(dnprof_timeline_set_thread_name(timeline, 0, "named between two of them"), 0);
	start(timeline);
	stop(timeline);
	CHECK_STR(get(timeline, dnp_thread_id()).name, "named between two of them");
	check_name(timeline, "named between two of them");
	while (!dnprof_timeline_next_thread(timeline, next.id, &next))
		same += next.tid == dnp_thread_id();
	CHECK_EQ(same, 1);
	dnprof_timeline_close(timeline);
}

static void mark_in_handler(int signo)
{
	(void)signo;
	dnprof_timeline_mark(the_timeline, "in a handler");
}

TEST(marks_are_told_in_order)
{
	struct dnprof_mark mark = {.struct_size = sizeof(mark)};
	uint64_t before, last = 0;
	int n = 0;

	the_timeline = open_with((struct dnprof_timeline_options){0});
	CHECK_EQ(dnprof_timeline_mark(the_timeline, "too early"), -ENODATA);
	start(the_timeline);
	before = dnprof_timeline_now();
	for (int i = 0; i < 100; i++)
		CHECK_EQ(dnprof_timeline_mark(the_timeline, i ? "frame" : "first"), 0);
	signal(SIGUSR1, mark_in_handler);
	raise(SIGUSR1);
	snapshot(the_timeline);
	CHECK_EQ(picture.lost_marks, 0);
	while (!dnprof_timeline_next_mark(the_timeline, mark.id, &mark)) {
		CHECK_EQ(mark.tid, dnp_thread_id());
		CHECK(mark.time_ns >= before && mark.time_ns >= last);
		last = mark.time_ns;
		CHECK_STR(mark.text, n == 100 ? "in a handler" : n ? "frame" : "first");
		n++;
	}
	CHECK_EQ(n, 101);
	CHECK_EQ(dnprof_timeline_stop(the_timeline, NULL), 0);
	CHECK_EQ(dnprof_timeline_mark(the_timeline, "too late"), -ENODATA);
	dnprof_timeline_close(the_timeline);
}

/* ---- Other processes */

struct child {
	int pid;
	int to, from; /* a pipe each way */
};

/* A process that runs `work` until its standard input is closed. */
static struct child begin_child(void (*run)(int from_parent, int to_parent))
{
	int down[2], up[2];
	struct child child;

	CHECK(!pipe(down) && !pipe(up));
	child.pid = fork();
	CHECK(child.pid >= 0);
	if (!child.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(down[1]);
		close(up[0]);
		run(down[0], up[1]);
		_exit(0);
	}
	close(down[0]);
	close(up[1]);
	child.to = down[1];
	child.from = up[0];
	return child;
}

static void end_child(struct child *child)
{
	close(child->to);
	CHECK_EQ(waitpid(child->pid, NULL, 0), child->pid);
	close(child->from);
}

/* ---- Threads that come and go: each makes the next one, and tells when it lived */

struct life {
	int tid;
	uint64_t begin_ns, end_ns;
};

enum { LINES = 30, LIVES_MAX = 200000 };
static struct life *lives;
static _Atomic int n_lives, n_alive;

static void begin_life(void);

static void *live(void *arg)
{
	int i = atomic_fetch_add(&n_lives, 1);
	unsigned seed = (unsigned)i;

	(void)arg;
	if (i < LIVES_MAX) {
		lives[i].tid = dnp_thread_id();
		lives[i].begin_ns = dnprof_timeline_now();
		sleep_ns(200000 + (uint64_t)rand_r(&seed) % 15000000);
		if (!atomic_load(&halt))
			begin_life();
		lives[i].end_ns = dnprof_timeline_now();
	}
	atomic_fetch_sub(&n_alive, 1);
	return NULL;
}

static void begin_life(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	atomic_fetch_add(&n_alive, 1);
	if (pthread_create(&thread, &attr, live, NULL))
		atomic_fetch_sub(&n_alive, 1);
	pthread_attr_destroy(&attr);
}

/* Until so many more have begun, and lived: each line's threads but its last have ended. */
static void wait_for_lives(int more)
{
	int until = atomic_load(&n_lives) + more;

	while (atomic_load(&n_lives) < until)
		sleep_ns(MS);
}

/* Says so when some have lived; and, when it has read a byte, after many more. Then it tells of
 * all. */
static void come_and_go(int from_parent, int to_parent)
{
	int n;
	char c;

	lives = calloc(LIVES_MAX, sizeof(*lives));
	for (int i = 0; i < LINES; i++)
		begin_life();
	wait_for_lives(2 * LINES);
	if (write(to_parent, "x", 1) != 1 || read(from_parent, &c, 1) != 1)
		_exit(1);
	wait_for_lives(50 * LINES);
	if (write(to_parent, "x", 1) != 1)
		_exit(1);
	if (read(from_parent, &c, 1) == 1) {
		atomic_store(&halt, true);
		while (atomic_load(&n_alive))
			sleep_ns(MS);
		n = atomic_load(&n_lives);
		for (size_t at = 0, all = (size_t)n * sizeof(*lives); at < all;) {
			ssize_t wrote = write(to_parent, (char *)lives + at, all - at);

			if (wrote <= 0)
				_exit(1);
			at += (size_t)wrote;
		}
	}
}

/* Threads of the picture with that tid, that lived at that time. */
static int count_at(const struct dnprof_thread *threads, size_t n, const struct life *life)
{
	uint64_t middle = life->begin_ns + (life->end_ns - life->begin_ns) / 2;
	int found = 0;

	for (size_t i = 0; i < n; i++)
		found += threads[i].tid == life->tid && threads[i].begin_ns < middle &&
			(!threads[i].end_ns || threads[i].end_ns > middle);
	return found;
}

static size_t list_threads(dnprof_timeline *timeline, struct dnprof_thread **out)
{
	struct dnprof_thread *threads = calloc(LIVES_MAX, sizeof(*threads));
	size_t n = 0;

	CHECK(threads);
	for (uint64_t id = 0; n < LIVES_MAX; id = threads[n++].id) {
		threads[n].struct_size = sizeof(threads[n]);
		if (dnprof_timeline_next_thread(timeline, id, &threads[n]))
			break;
	}
	*out = threads;
	return n;
}

TEST(threads_that_come_and_go_are_each_told_once)
{
	struct child child = begin_child(come_and_go);
	struct dnprof_timeline_options options = {.pid = child.pid, .ring_bytes = 1 << 20};
	dnprof_timeline *timeline;
	struct dnprof_thread *threads;
	uint64_t opened_ns, began_ns;
	int missed = 0, doubled = 0, seen = 0;
	struct life life;
	size_t n;
	char c;

	CHECK_EQ(read(child.from, &c, 1), 1);
	opened_ns = dnprof_timeline_now();
	timeline = open_switches(options);
	began_ns = dnprof_timeline_now();
	start(timeline);
	CHECK_EQ(write(child.to, "x", 1), 1);
	CHECK_EQ(read(child.from, &c, 1), 1);
	stop(timeline);
	n = list_threads(timeline, &threads);
	CHECK_EQ(write(child.to, "x", 1), 1);
	while (read(child.from, &life, sizeof(life)) == sizeof(life)) {
		int found;

		/* Those whose life lies in the recording, if only its end does. */
		if (life.end_ns < picture.from_ns || life.begin_ns > picture.until_ns - 10 * MS ||
			life.begin_ns + (life.end_ns - life.begin_ns) / 2 < picture.from_ns)
			continue;
		found = count_at(threads, n, &life);
		missed += !found;
		if (found != 1)
			printf("# thread %d, %.3f to %.3f ms, is told %d times\n", life.tid,
				((double)life.begin_ns - (double)picture.from_ns) / 1e6,
				((double)life.end_ns - (double)picture.from_ns) / 1e6, found);
		doubled += found > 1;
		seen++;
	}
	printf("# %d threads, attached in %.2f ms, lost %llu\n", seen,
		(double)(began_ns - opened_ns) / 1e6, (unsigned long long)picture.lost);
	CHECK(seen > 20);
	CHECK(in_order((uint64_t)seen));
	CHECK((uint64_t)missed <= untold());
	CHECK_EQ(doubled, 0);
	free(threads);
	dnprof_timeline_close(timeline);
	end_child(&child);
}

static void *be_nobody(void *arg)
{
	return arg;
}

/* So many threads, one after the other, for each byte that it reads. */
static void make_many(int from_parent, int to_parent)
{
	char c;

	while (read(from_parent, &c, 1) == 1) {
		for (int i = 0; i < TEST_ROUNDS(10000); i++) {
			pthread_t thread;

			if (pthread_create(&thread, NULL, be_nobody, NULL))
				_exit(1);
			pthread_join(thread, NULL);
		}
		if (write(to_parent, "x", 1) != 1)
			_exit(1);
	}
}

/* Attached, so that what each tells is told apart by its source; the time line keeps a megabyte. */
TEST(memory_does_not_grow_with_threads_that_have_ended)
{
	struct child child = begin_child(make_many);
	struct dnprof_timeline_options options = {
		.pid = child.pid, .ring_bytes = 1 << 20, .memory_bytes = 1 << 20};
	dnprof_timeline *timeline = open_switches(options);
	size_t bytes = 0;
	char c;

	start(timeline);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(write(child.to, "x", 1), 1);
		CHECK_EQ(read(child.from, &c, 1), 1);
		snapshot(timeline);
		bytes = mallinfo2().uordblks + mallinfo2().hblkhd;
	}
	stop(timeline);
	printf("# %zu KiB, lost %llu\n", bytes >> 10, (unsigned long long)picture.lost);
	CHECK(bytes < (size_t)options.memory_bytes * 5 / 2);
	dnprof_timeline_close(timeline);
	end_child(&child);
}

/* ---- The system gives ids again, sooner or later; here at once */

/* Whether the next thread gets that id, if it is free. */
static bool choose_next(int tid)
{
	char text[16];
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC), n;
	bool chosen;

	if (fd < 0)
		return false;
	n = snprintf(text, sizeof(text), "%d", tid - 1);
	chosen = write(fd, text, (size_t)n) == n;
	close(fd);
	return chosen;
}

static void *live_shortly(void *arg)
{
	struct life *life = arg;

	life->tid = dnp_thread_id();
	life->begin_ns = dnprof_timeline_now();
	burn(50000);
	sleep_ns(100000);
	life->end_ns = dnprof_timeline_now();
	return NULL;
}

static void live_one_life(struct life *life)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, live_shortly, life), 0);
	pthread_join(thread, NULL);
	wait_until_gone(life->tid);
}

TEST(ids_that_come_again_are_threads_of_their_own)
{
	enum { TIMES = 100 };
	struct life each[TIMES];
	struct dnprof_thread *threads;
	dnprof_timeline *timeline;
	size_t n, same = 0, told = 0;
	bool chosen = true;

	timeline = open_switches((struct dnprof_timeline_options){.ring_bytes = 1 << 20});
	start(timeline);
	live_one_life(&each[0]);
	for (int i = 1; i < TIMES && chosen; i++) {
		chosen = choose_next(each[0].tid);
		live_one_life(&each[i]);
	}
	stop(timeline);
	n = list_threads(timeline, &threads);
	for (int i = 0; i < TIMES && chosen; i++) {
		same += each[i].tid == each[0].tid;
		if (!picture.lost)
			CHECK_EQ(count_at(threads, n, &each[i]), 1);
	}
	for (size_t i = 0; i < n; i++)
		told += threads[i].tid == each[0].tid;
	printf("# thread %d lived %zu times\n", each[0].tid, same);
	CHECK(!chosen || picture.lost || told == same);
	free(threads);
	dnprof_timeline_close(timeline);
	if (!chosen || same < 2)
		SKIP("the system lets nobody choose the ids of threads here");
}

/* Makes a thread when told to, which sleeps again and again until it is told to end. */
struct maker {
	pthread_t thread, made;
	pthread_barrier_t turn; /* with the test */
	int tid;
	_Atomic int naps;
	_Atomic bool enough;
};

static void *nap(void *arg)
{
	struct maker *maker = arg;

	maker->tid = dnp_thread_id();
	while (!atomic_load(&maker->enough)) {
		sleep_ns(100000);
		atomic_fetch_add(&maker->naps, 1);
	}
	return NULL;
}

static void *make_one(void *arg)
{
	struct maker *maker = arg;

	pthread_barrier_wait(&maker->turn);
	CHECK_EQ(pthread_create(&maker->made, NULL, nap, maker), 0);
	pthread_join(maker->made, NULL);
	pthread_barrier_wait(&maker->turn);
	return NULL;
}

static void wait_for_naps(struct maker *maker)
{
	int until = atomic_load(&maker->naps) + 20;

	while (atomic_load(&maker->naps) < until)
		sleep_ns(MS);
}

static void end_made(struct maker *maker)
{
	atomic_store(&maker->enough, true);
	pthread_barrier_wait(&maker->turn);
	pthread_join(maker->thread, NULL);
	wait_until_gone(maker->tid);
}

static void make_other(struct maker *maker)
{
	pthread_barrier_wait(&maker->turn);
	wait_for_naps(maker);
}

/* The calling thread and all that it makes. */
static void stay_here(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((size_t)sched_getcpu(), &here);
	CHECK_EQ(sched_setaffinity(0, sizeof(here), &here), 0);
}

/*
 * With the id of one that another thread made, of which alone it was heard before; on the same
 * processor, for that is by processor.
 */
TEST(ids_that_come_again_between_recordings_are_heard)
{
	enum { MAKERS = 20 };
	struct maker makers[MAKERS] = {0}, *last;
	dnprof_timeline *timeline;
	int n = 1;

	stay_here();
	for (int i = 0; i < MAKERS; i++) {
		pthread_barrier_init(&makers[i].turn, NULL, 2);
		CHECK_EQ(pthread_create(&makers[i].thread, NULL, make_one, &makers[i]), 0);
	}
	timeline = open_switches((struct dnprof_timeline_options){0});
	start(timeline);
	make_other(&makers[0]);
	stop(timeline);
	CHECK(time_of(timeline, get(timeline, makers[0].tid).id).voluntary > 0);
	end_made(&makers[0]);
	/* Somebody else may get it, or the system be at it still. */
	do {
		last = &makers[n++];
		choose_next(makers[0].tid);
		make_other(last);
	} while (last->tid != makers[0].tid && n < MAKERS);
	start(timeline);
	wait_for_naps(last);
	stop(timeline);
	CHECK(time_of(timeline, get(timeline, last->tid).id).voluntary > 0);
	for (int i = 1; i < MAKERS; i++) {
		if (i >= n)
			make_other(&makers[i]);
		end_made(&makers[i]);
	}
	dnprof_timeline_close(timeline);
	if (last->tid != makers[0].tid)
		SKIP("the system lets nobody choose the ids of threads here");
}

static void spin(int from_parent, int to_parent)
{
	char c;

	burn(30 * MS);
	if (write(to_parent, "x", 1) == 1 && read(from_parent, &c, 1) == 1)
		burn(30 * MS);
}

TEST(the_end_of_the_process_ends_the_recording)
{
	for (uint32_t backend = 0; backend <= DNPROF_TIMELINE_POLL;
		backend += DNPROF_TIMELINE_POLL) {
		struct child child = begin_child(spin);
		struct dnprof_timeline_options options = {.pid = child.pid, .backend = backend};
		dnprof_timeline *timeline = open_with(options);
		struct dnprof_thread thread;
		char c;

		start(timeline);
		CHECK_EQ(read(child.from, &c, 1), 1);
		snapshot(timeline);
		CHECK_EQ(picture.ended_ns, 0);
		CHECK_EQ(get(timeline, child.pid).end_ns, 0);
		CHECK_EQ(write(child.to, "x", 1), 1);
		/* It ends, and nobody waits for it yet. */
		for (int i = 0; i < 10000 && !picture.ended_ns; i++) {
			sleep_ns(10 * MS);
			snapshot(timeline);
		}
		CHECK(picture.ended_ns);
		sleep_ns(50 * MS);
		snapshot(timeline);
		thread = get(timeline, child.pid);
		CHECK(thread.end_ns && thread.end_ns <= picture.ended_ns);
		CHECK(picture.until_ns <= picture.ended_ns);
		CHECK(thread.cpu_ns >= 20 * MS);
		CHECK_EQ(dnprof_timeline_stop(timeline, &error), 0);
		CHECK_EQ(dnprof_timeline_start(timeline, &error), -ESRCH);
		dnprof_timeline_close(timeline);
		end_child(&child);
		options.struct_size = sizeof(options);
		CHECK_EQ(dnprof_timeline_open(&options, &timeline, &error), -ESRCH);
		CHECK(!timeline);
		CHECK(strstr(error.text, "there is no process"));
	}
}

/* Until its input ends. */
static void *go_on(void *arg)
{
	struct pollfd told = {.fd = ((int *)arg)[0], .events = POLLIN};

	CHECK_EQ(write(((int *)arg)[1], "x", 1), 1);
	while (!poll(&told, 1, 0))
		sleep_ns(500000);
	_exit(0);
}

/* The first thread ends, the process does not. */
static void end_first(int from_parent, int to_parent)
{
	static int pipes[2];
	pthread_t thread;

	pipes[0] = from_parent;
	pipes[1] = to_parent;
	CHECK_EQ(pthread_create(&thread, NULL, go_on, pipes), 0);
	pthread_exit(NULL);
}

TEST(a_process_without_its_first_thread)
{
	struct child child = begin_child(end_first);
	struct dnprof_thread next = {.struct_size = sizeof(next)};
	dnprof_timeline *timeline;
	uint64_t switches = 0;
	char c;

	CHECK_EQ(read(child.from, &c, 1), 1);
	sleep_ns(20 * MS);
	timeline = open_switches((struct dnprof_timeline_options){.pid = child.pid});
	start(timeline);
	for (int i = 0; i < 1000 && switches < 10; i++) {
		sleep_ns(30 * MS);
		snapshot(timeline);
		CHECK_EQ(picture.ended_ns, 0);
		switches = 0;
		next.id = 0;
		while (!dnprof_timeline_next_thread(timeline, next.id, &next))
			switches += time_of(timeline, next.id).voluntary;
	}
	CHECK(switches >= 10);
	dnprof_timeline_close(timeline);
	end_child(&child);
}

/* ---- Losses */

static int ping[2], pong[2];

static void *echo(void *arg)
{
	char c;

	(void)arg;
	while (read(ping[0], &c, 1) == 1 && write(pong[1], &c, 1) == 1)
		;
	return NULL;
}

TEST(what_does_not_fit_is_counted)
{
	struct dnprof_timeline_options options = {.ring_bytes = 4096};
	struct dnprof_loss loss = {.struct_size = sizeof(loss)};
	dnprof_timeline *timeline = open_switches(options);
	struct dnprof_thread thread;
	uint64_t lost = 0, before;
	pthread_t other;
	char c = 'x';

	CHECK(!pipe(ping) && !pipe(pong));
	CHECK_EQ(pthread_create(&other, NULL, echo, NULL), 0);
	start(timeline);
	/* Some hundred records fit, and are read when there is time for it. */
	for (int round = 0; !lost && round < 20; round++) {
		for (int i = 0; i < 20000; i++)
			CHECK(write(ping[1], &c, 1) == 1 && read(pong[0], &c, 1) == 1);
		snapshot(timeline);
		lost = picture.lost;
	}
	stop(timeline);
	if (!lost)
		SKIP("the library was fast enough for a ring of 4 KiB");
	lost = 0;
	before = 0;
	while (!dnprof_timeline_next_loss(timeline, loss.id, &loss)) {
		CHECK(loss.from_ns <= loss.until_ns && loss.records && loss.id > before);
		before = loss.id;
		lost += loss.records;
	}
	CHECK(lost >= picture.lost);
	/* Slices are in order all the same. */
	thread = get(timeline, dnp_thread_id());
	check_slices(timeline, thread.id, false);
	close(ping[1]);
	pthread_join(other, NULL);
	close(ping[0]);
	close(pong[0]);
	close(pong[1]);
	dnprof_timeline_close(timeline);
}

/* ---- Many at once */

static void *ask_all(void *arg)
{
	dnprof_timeline *timeline = arg;

	while (!atomic_load(&halt)) {
		struct dnprof_thread next = {.struct_size = sizeof(next)};
		struct dnprof_span spans[50];

		CHECK_EQ(dnprof_timeline_mark(timeline, "turn"), 0);
		CHECK_EQ(dnprof_timeline_checkpoint(timeline), 0);
		CHECK_EQ(dnprof_timeline_snapshot(timeline, NULL, NULL), 0);
		while (!dnprof_timeline_next_thread(timeline, next.id, &next)) {
			int n = dnprof_timeline_spans(timeline, next.id, 0, UINT64_MAX, 99, spans);

			CHECK(n >= 0 || n == -ENOENT); /* it may have been forgotten */
		}
		sleep_ns(MS);
	}
	return NULL;
}

TEST(many_threads_may_ask_at_once)
{
	struct dnprof_timeline_options options = {.memory_bytes = 1 << 20};
	dnprof_timeline *timeline = open_with(options);
	pthread_t threads[4];

	lives = calloc(LIVES_MAX, sizeof(*lives));
	start(timeline);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, ask_all, timeline), 0);
	for (int i = 0; i < LINES; i++)
		begin_life();
	sleep_ns(300 * MS);
	atomic_store(&halt, true);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	while (atomic_load(&n_alive))
		sleep_ns(MS);
	stop(timeline);
	CHECK(in_order((uint64_t)atomic_load(&n_lives)));
	dnprof_timeline_close(timeline);
	free(lives);
}

/* ---- Who ran instead */

TEST(others_are_a_row_where_that_is_allowed)
{
	struct dnprof_timeline_options options = {.others = 1};
	struct dnprof_process process = {.struct_size = sizeof(process)};
	struct dnprof_span spans[100];
	dnprof_timeline *timeline = open_with(options);
	struct dnprof_thread_time time;
	struct dnprof_thread thread;
	struct child child;
	bool found = false;
	char c;
	int n;

	if (info_of(timeline).backend != DNPROF_TIMELINE_CPUS) {
		dnprof_timeline_close(timeline);
		SKIP("perf events of all processes are not allowed here");
	}
	start(timeline);
	child = begin_child(spin);
	CHECK_EQ(read(child.from, &c, 1), 1); /* it has run for 30 ms */
	sleep_ns(5 * MS);
	snapshot(timeline);
	time = time_of(timeline, DNPROF_OTHERS);
	CHECK(time.on_cpu_ns >= 25 * MS);
	n = dnprof_timeline_spans(
		timeline, DNPROF_OTHERS, picture.from_ns, picture.until_ns, 199, spans);
	CHECK(n >= 1 && n <= 100);
	while (!dnprof_timeline_next_process(timeline, process.pid, &process))
		found |= process.pid == child.pid && process.threads == 1;
	CHECK(found);
	/* It has a row of its own as well, and ours is told apart. */
	thread = get(timeline, child.pid);
	CHECK_EQ(thread.pid, child.pid);
	CHECK(time_of(timeline, thread.id).on_cpu_ns <= time.on_cpu_ns);
	CHECK_EQ(get(timeline, dnp_thread_id()).pid, getpid());
	CHECK(picture.all_switches_per_s >= picture.switches_per_s);
	dnprof_timeline_close(timeline);
	end_child(&child);
}

/* ---- The flight recorder */

TEST(a_ring_keeps_the_newest)
{
	enum { SLEEPS = 3000 };
	struct dnprof_timeline_options options = {.mode = DNPROF_TIMELINE_RING, .ring_bytes = 8192};
	dnprof_timeline *timeline = open_switches(options);
	struct dnprof_thread thread;
	struct dnprof_thread_time time;
	uint64_t began, last, id;

	start(timeline);
	began = dnprof_timeline_now();
	for (int i = 0; i < SLEEPS; i++)
		sleep_ns(1000);
	last = dnprof_timeline_now();
	sleep_ns(20 * MS);
	snapshot(timeline);
	CHECK(picture.from_ns > began && picture.from_ns < last);
	CHECK(picture.until_ns > last);
	CHECK(in_order(SLEEPS));
	thread = get(timeline, dnp_thread_id());
	id = thread.id;
	check_slices(timeline, id, !untold());
	time = time_of(timeline, id);
	CHECK(time.voluntary > 50 && time.voluntary < 400);
	/* Pictures that follow soon go on where the last one ended. */
	began = picture.from_ns;
	for (int i = 0; i < 10; i++) {
		sleep_ns(2 * MS);
		snapshot(timeline);
	}
	CHECK_EQ(picture.from_ns, began);
	CHECK_EQ(get(timeline, dnp_thread_id()).id, id);
	CHECK(time_of(timeline, id).voluntary >= time.voluntary + 9);
	check_slices(timeline, id, !untold());
	CHECK(!info_of(timeline).sampled);
	dnprof_timeline_close(timeline);
}

/* ---- What is not allowed */

static void forbid_perf_events(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST(where_perf_events_are_forbidden_clocks_are_looked_at)
{
	struct dnprof_timeline_options named = {
		.struct_size = sizeof(named), .backend = DNPROF_TIMELINE_SWITCHES};
	dnprof_timeline *timeline;
	struct dnprof_timeline_info info;
	struct dnprof_thread_time time;
	struct dnprof_slice slices[50];
	struct dnprof_span spans[50];
	uint64_t begin, middle, end, cpu;
	struct dnprof_thread thread;
	int n;

	forbid_perf_events();
	CHECK_EQ(dnprof_timeline_open(&named, &timeline, &error), -EPERM);
	CHECK(strstr(error.text, "perf events are forbidden here"));
	timeline = open_with((struct dnprof_timeline_options){0});
	info = info_of(timeline);
	CHECK_EQ(info.backend, DNPROF_TIMELINE_POLL);
	CHECK_EQ(info.sampled, 1);
	CHECK(info.interval_ns >= MS);
	CHECK(strstr(info.reason, "perf events are forbidden here"));
	start(timeline);
	begin = dnprof_timeline_now();
	cpu = cpu_now();
	burn(100 * MS);
	cpu = cpu_now() - cpu;
	middle = dnprof_timeline_now();
	sleep_ns(100 * MS);
	end = dnprof_timeline_now();
	snapshot(timeline);
	thread = get(timeline, dnp_thread_id());
	time = time_of(timeline, thread.id);
	CHECK_EQ(time.on_cpu_ns, 0); /* it is not known */
	CHECK(time.cpu_ns >= cpu && time.cpu_ns <= cpu_now());
	/* It ran in the first half, and not in the second. */
	n = dnprof_timeline_spans(timeline, thread.id, begin, middle, 100, spans);
	CHECK(n >= 1);
	n = (int)dnprof_timeline_slices(timeline, thread.id, middle, end, slices, 50);
	CHECK(n >= 0 && n <= 50);
	for (int i = 0; i < n; i++) {
		CHECK_EQ(slices[i].how, DNPROF_SLICE_SAMPLED);
		/* An interval that reaches into the sleep has a part before or behind it. */
		CHECK(slices[i].start_ns <= middle || slices[i].end_ns >= end);
	}
	time.struct_size = sizeof(time);
	CHECK_EQ(dnprof_timeline_thread_time(timeline, thread.id, begin, middle, &time), 0);
	CHECK(time.cpu_ns > 20 * MS && time.cpu_ns <= cpu + MS);
	dnprof_timeline_close(timeline);
}

/* Looked at from outside, with threads that come and go. */
TEST(polling_finds_threads_that_are_new)
{
	struct child child = begin_child(come_and_go);
	struct dnprof_timeline_options options = {
		.pid = child.pid, .backend = DNPROF_TIMELINE_POLL};
	dnprof_timeline *timeline;
	struct dnprof_thread *threads = NULL;
	int begun = 0, ended = 0;
	size_t n = 0;
	char c;

	CHECK_EQ(read(child.from, &c, 1), 1);
	timeline = open_with(options);
	start(timeline);
	for (int round = 0; round < 200 && (begun <= 50 || ended <= 50); round++) {
		free(threads);
		sleep_ns(300 * MS);
		snapshot(timeline);
		begun = ended = 0;
		n = list_threads(timeline, &threads);
		for (size_t i = 0; i < n; i++) {
			begun += threads[i].begin_ns != 0;
			ended += threads[i].end_ns != 0;
		}
	}
	stop(timeline);
	CHECK(begun > 50 && ended > 50);
	CHECK(n - (size_t)ended >= 1 && n - (size_t)ended < 3 * LINES);
	free(threads);
	dnprof_timeline_close(timeline);
	end_child(&child);
}

static void become_ordinary(void)
{
	struct rlimit none = {0, 0};

	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	if (!geteuid() && (setgid(65534) || setuid(65534)))
		SKIP("this user cannot become another one");
	prctl(PR_SET_DUMPABLE, 1);
}

/* The system's allowance is for all recordings of a user. */
TEST(memory_for_rings_that_is_refused)
{
	dnprof_timeline *all[64];
	struct dnprof_timeline_info info;
	uint64_t last = UINT64_MAX;
	int n = 0;

	become_ordinary();
	do {
		all[n] = open_with((struct dnprof_timeline_options){.ring_bytes = 4 << 20});
		info = info_of(all[n++]);
		if (n == 1 && info.backend == DNPROF_TIMELINE_POLL)
			SKIP("perf events are not allowed here");
		CHECK(info.ring_bytes <= last && info.ring_bytes < 4 << 20);
		last = info.ring_bytes;
	} while (info.backend == DNPROF_TIMELINE_SWITCHES && n < 64);
	CHECK_EQ(info.backend, DNPROF_TIMELINE_POLL);
	CHECK(strstr(info.reason, "the kernel gives no memory for records of switches"));
	/* Both kinds work. */
	for (int i = 0; i < n; i += n - 1) {
		start(all[i]);
		burn(20 * MS);
		snapshot(all[i]);
		CHECK(get(all[i], dnp_thread_id()).cpu_ns >= 20 * MS);
	}
	while (n--)
		dnprof_timeline_close(all[n]);
}

TEST(an_ordinary_user_may_not_look_at_others)
{
	struct dnprof_timeline_options options = {.struct_size = sizeof(options), .others = 1};
	dnprof_timeline *timeline;
	struct dnprof_timeline_info info;

	if (geteuid())
		SKIP("only root has processes that this test may not look at");
	become_ordinary();
	/* His own, with what he asks for besides left out and said so. */
	CHECK_EQ(dnprof_timeline_open(&options, &timeline, &error), 0);
	info = info_of(timeline);
	CHECK(info.backend != DNPROF_TIMELINE_CPUS);
	CHECK(strstr(info.reason, "those of others are not told") || info.sampled);
	dnprof_timeline_close(timeline);
	options.backend = DNPROF_TIMELINE_CPUS;
	CHECK_EQ(dnprof_timeline_open(&options, &timeline, &error), -EACCES);
	CHECK(strstr(error.text, "CAP_PERFMON"));
	/* Another user's: as far as anybody may see. */
	options.backend = DNPROF_TIMELINE_SWITCHES;
	options.pid = 1;
	CHECK_EQ(dnprof_timeline_open(&options, &timeline, &error), -EACCES);
	CHECK(strstr(error.text, "perf events of process 1 are not allowed"));
}

/* ---- Wrong calls */

TEST(wrong_calls_have_their_errors)
{
	static const struct dnprof_timeline_options wrong[] = {
		{.struct_size = 3},
		{.struct_size = sizeof(*wrong), .pid = -5},
		{.struct_size = sizeof(*wrong), .mode = 2},
		{.struct_size = sizeof(*wrong), .backend = 4},
		{.struct_size = sizeof(*wrong), .others = 2},
		{.struct_size = sizeof(*wrong), .ring_bytes = 100},
		{.struct_size = sizeof(*wrong), .interval_us = 3},
		{.struct_size = sizeof(*wrong), .memory_bytes = 1000},
	};
	struct dnprof_thread thread = {.struct_size = sizeof(thread)};
	struct dnprof_thread_time time = {.struct_size = sizeof(time)};
	struct dnprof_picture unset = {0};
	struct dnprof_timeline_error small = {
		.struct_size = offsetof(struct dnprof_timeline_error, text)};
	struct dnprof_span span;
	dnprof_timeline *timeline;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		CHECK_EQ(dnprof_timeline_open(&wrong[i], &timeline, &error), -EINVAL);
		CHECK_EQ(error.code, -EINVAL);
		CHECK(strstr(error.text, "is out of range") && !timeline);
	}
	CHECK_EQ(dnprof_timeline_open(NULL, NULL, NULL), -EINVAL);
	CHECK_EQ(dnprof_timeline_start(NULL, NULL), -EINVAL);
	CHECK_EQ(dnprof_timeline_snapshot(NULL, NULL, NULL), -EINVAL);
	CHECK_EQ(dnprof_timeline_mark(NULL, "x"), -EINVAL);
	dnprof_timeline_close(NULL);
	CHECK_EQ(dnprof_timeline_open(NULL, &timeline, NULL), 0);
	/* Before the start. */
	CHECK_EQ(dnprof_timeline_snapshot(timeline, &picture, &error), -ENODATA);
	CHECK_STR(error.text, "the time line has not been started");
	CHECK_EQ(dnprof_timeline_stop(timeline, &small), -ENODATA);
	CHECK_EQ(small.code, -ENODATA);
	CHECK_EQ(small.text[0], 0);
	CHECK_EQ(dnprof_timeline_next_thread(timeline, 0, &thread), -ENODATA);
	CHECK_EQ(dnprof_timeline_thread_time(timeline, 1, 0, 1, &time), -ENODATA);
	CHECK_EQ(dnprof_timeline_spans(timeline, 1, 0, 1, 1, &span), -ENODATA);
	start(timeline);
	CHECK_EQ(dnprof_timeline_next_thread(timeline, 0, &thread), -ENODATA); /* no picture */
	CHECK_EQ(dnprof_timeline_start(timeline, &error), -EALREADY);
	CHECK_EQ(dnprof_timeline_snapshot(timeline, &unset, &error), -EINVAL);
	CHECK_EQ(dnprof_timeline_snapshot(timeline, NULL, NULL), 0);
	CHECK_EQ(dnprof_timeline_next_thread(timeline, UINT64_MAX, &thread), -ENOENT);
	CHECK_EQ(dnprof_timeline_stop(timeline, NULL), 0);
	/* After it: the picture is there, and no new one. */
	CHECK_EQ(dnprof_timeline_snapshot(timeline, &picture, &error), -ENODATA);
	CHECK_STR(error.text, "the time line has been stopped");
	CHECK_EQ(dnprof_timeline_stop(timeline, NULL), -ENODATA);
	CHECK_EQ(dnprof_timeline_next_thread(timeline, 0, &thread), 0);
	/* And again. */
	start(timeline);
	CHECK_EQ(dnprof_timeline_next_thread(timeline, 0, &thread), -ENODATA);
	snapshot(timeline);
	CHECK_EQ(get(timeline, dnp_thread_id()).tid, dnp_thread_id());
	dnprof_timeline_close(timeline);
}
