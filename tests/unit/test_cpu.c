/* SPDX-License-Identifier: MIT */
/* Threads that the engine of CPU time is told of when they have all but gone. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agentless.h"
#include "capture/engine.h"
#include "os/clock.h"
#include "os/sampler.h"
#include "os/sampling_signal.h"
#include "os/thread.h"
#include "store/sample.h"
#include "test.h"
#include "unwind/native.h"

static const struct dnp_agent_options options = {
	.source = DNP_SOURCE_PERF, .interval_ns = UINT64_C(1000000)};
static const struct dnp_engine_setting setting = {
	.options = &options, .thread = thread_of, .is_ours = is_ours, .announce = announce};

static void on_activation(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
}

/* Of a thread that has ended and is still there: the first is, as long as another runs. */
static bool has_ended(int tid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	CHECK(file);
	CHECK_EQ(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state == 'Z';
}

static void *start_when_ended(void *unused)
{
	uint64_t deadline_ns = dnp_now_ns() + TEST_HANG_NS;
	struct dnp_thread *thread;
	struct dnp_err err;
	int is_new;

	while (!has_ended(getpid()))
		CHECK(dnp_now_ns() < deadline_ns);
	if (dnp_engine_cpu.start(&setting, 0, &err))
		FAIL("%s", err.text);
	thread = dnp_thread_begin(getpid(), &is_new);
	CHECK(thread && is_new);
	dnp_engine_cpu.thread_begin(thread);
	CHECK_EQ(dnp_threads_lacking(DNP_THREADS_NO_KERNEL), 0);
	CHECK_EQ(dnp_threads_lacking(DNP_THREADS_REFUSED), 0);
	dnp_engine_cpu.stop();
	test_end_child(0);
	return unused;
}

/* A timer's signal that stands for so many besides, as the thread finds it after a long system
 * call. */
static void send_signal(uint32_t place, int overrun)
{
	siginfo_t info = {.si_code = SI_TIMER};

	info.si_overrun = overrun;
	info.si_value.sival_ptr = (void *)((uintptr_t)place + 1);
	CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), dnp_thread_id(), dnp_signal_number(),
			 &info),
		0);
}

static uint64_t weight_stored(struct dnp_feed *feed)
{
	uint64_t head[DNP_SAMPLE_WORDS_MAX], at;
	struct dnp_sample sample;

	CHECK(dnp_ring_readable(&feed->ring, &at) > DNP_SAMPLE_WORDS_MAX);
	dnp_ring_read(&feed->ring, at, head, DNP_SAMPLE_WORDS_MAX);
	sample = dnp_sample_unpack(head);
	return sample.flags & DNP_SAMPLE_WIDE ? head[DNP_SAMPLE_WORDS] : sample.weight;
}

TEST(sample_weighs_all_intervals_that_its_signal_stands_for)
{
	static const struct dnp_agent_options rare = {
		.event = "cpu", .source = DNP_SOURCE_TIMER, .interval_ns = UINT64_C(1) << 40};
	static const struct dnp_engine_setting by_timer = {
		.options = &rare, .thread = thread_of, .is_ours = is_ours, .announce = announce};
	struct sigaction activation = {.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO};
	struct dnp_thread *thread;
	uintptr_t low, high;
	uint64_t before;
	struct dnp_err err;
	int is_new;

#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer calls handlers later, from a frame of its own");
#endif
	signal(SIGSEGV, SIG_DFL);
	CHECK(sigaction(dnp_signal_number(), &activation, NULL) == 0);
	CHECK(dnp_native_refresh() >= 0);
	dnp_threads_init(256, DNP_EVENTS_MAX);
	if (dnp_engine_cpu.start(&by_timer, 0, &err))
		FAIL("%s", err.text);
	thread = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(thread && is_new && !dnp_thread_stack(&low, &high));
	dnp_thread_set_stack(thread, low, high);
	dnp_engine_cpu.thread_begin(thread);
	dnp_sampler_pause(&thread->sampler); /* from here on no signal comes but ours */
	dnp_ring_release(&thread->own.ring, thread->own.ring.head);
	before = thread->own.counts[0].samples;
	send_signal(thread->place, 200000);
	CHECK_EQ(thread->own.counts[0].samples, before + 1);
	CHECK_EQ(weight_stored(&thread->own), 200001);
	dnp_engine_cpu.stop();
}

TEST(thread_that_ends_lacks_nothing)
{
	struct sigaction activation = {.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO};
	struct dnp_err err;
	pthread_t thread;
	int kernel;

	if (dnp_sampler_probe(DNP_SAMPLER_PERF, &kernel, &err) != DNP_SAMPLER_PERF)
		SKIP("perf events are not allowed here, and timers tell nothing of the kernel");
	signal(SIGSEGV, SIG_DFL);
	CHECK(sigaction(dnp_signal_number(), &activation, NULL) == 0);
	dnp_threads_init(16, DNP_EVENTS_MAX);
	CHECK_EQ(pthread_create(&thread, NULL, start_when_ended, NULL), 0);
	syscall(SYS_exit, 0);
}

/* ---- One clock for all threads, and one of them to which it cannot be given */

static int ends[2];

static void *sleep_on(void *context)
{
	_Atomic int *tid = context;
	char end;

	atomic_store(tid, dnp_thread_id());
	CHECK_EQ(read(ends[0], &end, 1), 0);
	return NULL;
}

static struct dnp_thread *make_thread(pthread_t *thread, uint32_t flags)
{
	_Atomic int tid = 0;
	struct dnp_thread *record;
	int is_new;

	CHECK(!pthread_create(thread, NULL, sleep_on, &tid));
	while (!atomic_load(&tid))
		dnp_sleep_until_ns(dnp_now_ns() + 1000000);
	record = dnp_thread_begin(tid, &is_new);
	CHECK(record && is_new);
	atomic_store(&record->flags, flags);
	return record;
}

static void begin_by_traps(void)
{
	static const struct dnp_agent_options by_any = {
		.event = "cpu", .interval_ns = UINT64_C(1000000)};
	static const struct dnp_engine_setting at_startup = {.options = &by_any,
		.thread = thread_of,
		.is_ours = is_ours,
		.announce = announce,
		.at_startup = true,
		.runtime = 10};
	struct sigaction activation = {.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO};
	struct dnp_err err;

	signal(SIGSEGV, SIG_DFL);
	CHECK(sigaction(dnp_signal_number(), &activation, NULL) == 0);
	CHECK(sigaction(SIGTRAP, &activation, NULL) == 0);
	dnp_threads_init(16, DNP_EVENTS_MAX);
	if (dnp_engine_cpu.start(&at_startup, 0, &err))
		FAIL("%s", err.text);
	if (!strcmp(dnp_engine_cpu.source(), "perf cpu-clock of all threads"))
		return;
	dnp_engine_cpu.stop();
	SKIP("traps are not to be had here");
}

/* What a thread without traps makes has none either, and is taken to have: so nobody keeps them. */
TEST(where_a_thread_cannot_be_given_traps_all_get_timers)
{
	struct dnp_thread *there, *made, *later;
	struct rlimit before, none;
	pthread_t threads[3];

	CHECK(!pipe(ends));
	begin_by_traps();
	there = make_thread(&threads[0], DNP_THREAD_LATE);
	made = make_thread(&threads[1], 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_max = before.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	dnp_engine_cpu.thread_begin(there);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	dnp_engine_cpu.thread_begin(made);
	CHECK_EQ(there->sampler.source, DNP_SAMPLER_TIMER);
	CHECK_EQ(made->sampler.source, DNP_SAMPLER_TRAPS);
	CHECK(!dnp_engine_cpu.changed());
	CHECK_STR(dnp_engine_cpu.note(), "");
	dnp_engine_cpu.look();
	CHECK_EQ(made->sampler.source, DNP_SAMPLER_TIMER);
	CHECK_EQ(dnp_threads_lacking(DNP_THREADS_NO_KERNEL), 2);
	later = make_thread(&threads[2], 0);
	dnp_engine_cpu.thread_begin(later);
	CHECK_EQ(later->sampler.source, DNP_SAMPLER_TIMER);
	CHECK_EQ(dnp_threads_lacking(DNP_THREADS_NO_TRAP), 0);
	CHECK_EQ(dnp_threads_lacking(DNP_THREADS_NO_KERNEL), 3);
	CHECK_EQ(dnp_threads_lacking(DNP_THREADS_REFUSED), 0);
	CHECK(dnp_engine_cpu.changed());
	CHECK_STR(dnp_engine_cpu.source(), "timer");
	CHECK(strstr(dnp_engine_cpu.note(), "by timers: no kernel frames"));
	CHECK(!dnp_engine_cpu.changed());
	dnp_engine_cpu.stop();
	CHECK(!close(ends[1]));
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(!close(ends[0]));
}
