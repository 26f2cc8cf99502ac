/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/linux/signal_info.h"
#include "os/linux/trap_signal.h"
#include "os/sampler.h"
#include "os/thread.h"
#include "test.h"

#define INTERVAL_NS UINT64_C(100000)
#define SLOW_MAX    2000 /* handlers that are slow: then they let the thread go on */

static struct dnp_sampler sampler;
static _Atomic uint64_t signals, weights;
static uint64_t handler_ns; /* CPU time that a handler takes */

static void burn(uint64_t ns)
{
	uint64_t end_ns = dnp_thread_cpu_ns(0) + ns;

	while (dnp_thread_cpu_ns(0) < end_ns)
		;
}

static void on_signal(int signo, siginfo_t *info, void *context)
{
	const struct dnp_signal_info *told = dnp_signal_info_of(info);
	uint64_t begin_ns = dnp_now_ns();

	(void)signo;
	(void)context;
	if (dnp_sampler_owner(told) != &sampler)
		return;
	signals++;
	weights += dnp_sampler_weight(&sampler, told);
	if (signals < SLOW_MAX)
		burn(handler_ns);
	dnp_sampler_rearm(&sampler, dnp_now_ns() - begin_ns);
}

static void begin(enum dnp_sampler_source wanted)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct dnp_err err = {0};
	int kernel;

#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer runs handlers only where a thread calls into a library");
#endif
	if (dnp_sampler_probe(wanted, &kernel, &err) != wanted)
		SKIP("this source of samples is not allowed here");
	sigaction(SIGRTMIN, &action, NULL);
	CHECK_EQ(dnp_sampler_start(&sampler, wanted, kernel, dnp_thread_id(), SIGRTMIN, INTERVAL_NS,
			 INTERVAL_NS, &sampler),
		0);
}

static void check_weights_are_the_time(enum dnp_sampler_source source)
{
	uint64_t before_ns = dnp_thread_cpu_ns(0), spent_ns;

	begin(source);
	burn(UINT64_C(300000000));
	dnp_sampler_pause(&sampler);
	spent_ns = dnp_thread_cpu_ns(0) - before_ns;
	dnp_sampler_stop(&sampler);
	/* The time of signals is in spent_ns and not in the weights: half is a wide bound. */
	CHECK(weights * INTERVAL_NS > spent_ns / 4);
	CHECK(weights * INTERVAL_NS < spent_ns + spent_ns / 8);
}

TEST(weights_of_perf_are_the_cpu_time)
{
	check_weights_are_the_time(DNP_SAMPLER_PERF);
}

TEST(weights_of_the_timer_are_the_cpu_time)
{
	check_weights_are_the_time(DNP_SAMPLER_TIMER);
}

/* A program may close what is not its own, and have a file of that number then. */
TEST(what_takes_the_place_of_an_event_stays_open)
{
	int ends[2], event;

	begin(DNP_SAMPLER_PERF);
	dnp_sampler_pause(&sampler);
	event = sampler.fd;
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(dup2(ends[1], event), event);
	dnp_sampler_stop(&sampler);
	CHECK_EQ(write(event, "", 1), 1);
	CHECK(!close(ends[0]) && !close(ends[1]) && !close(event));
}

/* What the thread does between its samples, in ns of CPU time, for each of them. */
static uint64_t progress_beside_a_slow_handler(void)
{
	uint64_t all_ns = UINT64_C(600000000), before_ns = dnp_thread_cpu_ns(0), spent_ns;

	handler_ns = 10 * INTERVAL_NS;
	while ((spent_ns = dnp_thread_cpu_ns(0) - before_ns) < all_ns)
		;
	dnp_sampler_pause(&sampler);
	dnp_sampler_stop(&sampler);
	CHECK(signals > 20 && signals < SLOW_MAX);
	return (spent_ns - signals * handler_ns) / signals;
}

TEST(signals_do_not_pile_up_behind_a_slow_handler)
{
	begin(DNP_SAMPLER_PERF);
	CHECK(progress_beside_a_slow_handler() > INTERVAL_NS / 4);
}

TEST(what_no_signal_came_of_is_due_by_the_clock)
{
	static const struct {
		uint64_t used_ns;
		uint32_t units;
	} cases[] = {{0, 0}, {102, 0}, {103, 1}, {112, 1}, {113, 2}, {1103, 101},
		{UINT64_C(1) << 60, UINT32_MAX}};
	struct dnp_sampler one = {0};

	CHECK_EQ(dnp_sampler_unseen(&one, 1000), 0);
	dnp_sampler_follow(&one, 100, 3, 10);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(cases); i++)
		CHECK_EQ(dnp_sampler_unseen(&one, cases[i].used_ns), cases[i].units);
	one.source = DNP_SAMPLER_PERF;
	CHECK_EQ(dnp_sampler_unseen(&one, 1000), 0);
}

/* What is lost is lost once: no other signal tells of it as well. */
TEST(what_a_trap_loses_is_not_due_any_more)
{
	struct dnp_sampler one = {0};
	uint64_t used_ns = INTERVAL_NS * 1000000;
	uint32_t all, lost;

	dnp_sampler_follow(&one, 0, 1, 1000);
	burn(INTERVAL_NS);
	all = dnp_sampler_unseen(&one, used_ns);
	lost = dnp_sampler_rearm_lost(&one);
	CHECK(lost >= INTERVAL_NS / 1000);
	CHECK_EQ(lost + dnp_sampler_unseen(&one, used_ns), all);
	one = (struct dnp_sampler){0};
	dnp_sampler_follow(&one, used_ns, 1, 1000);
	CHECK_EQ(dnp_sampler_rearm_lost(&one), 0);
	CHECK_EQ(dnp_sampler_unseen(&one, used_ns + 1), 1);
}

/* Each interval is in a signal's weight, or is left: also of those that no handler was told of. */
/* TRAP_PERF and POLL_HUP are one number: a trap must not be taken for the last signal of perf's. */
TEST(a_trap_finds_a_sampler_that_has_been_stopped)
{
	siginfo_t trap = {.si_code = DNP_TRAP_PERF};
	struct dnp_sampler one = {0}, as_it_was = {0};

	CHECK_EQ(DNP_TRAP_PERF, POLL_HUP);
	dnp_sampler_follow(&one, 100, 3, 10);
	dnp_sampler_stop(&one);
	CHECK_EQ(dnp_sampler_weight(&one, dnp_signal_info_of(&trap)), 0);
	dnp_sampler_rearm(&one, 5);
	CHECK(memcmp(&one, &as_it_was, sizeof(one)) == 0);
	CHECK_EQ(dnp_sampler_unseen(&one, 1000), 0);
}

TEST(what_the_timer_tells_and_what_is_left_are_the_cpu_time)
{
	uint64_t before_ns = dnp_thread_cpu_ns(0), begun_ns, used_ns, all;

	begin(DNP_SAMPLER_TIMER);
	begun_ns = dnp_thread_cpu_ns(0);
	burn(UINT64_C(50500000));
	dnp_sampler_pause(&sampler);
	used_ns = dnp_thread_cpu_ns(0);
	all = weights + dnp_sampler_unseen(&sampler, used_ns);
	dnp_sampler_stop(&sampler);
	CHECK(all >= (used_ns - begun_ns) / INTERVAL_NS);
	CHECK(all <= (used_ns - before_ns) / INTERVAL_NS);
}

#define ALLOWED   100   /* pending signals */
#define UNUSED_ID 64321 /* of a user: what others of the same use would count */

static int start_timer(struct dnp_sampler *one)
{
	return dnp_sampler_start(one, DNP_SAMPLER_TIMER, 0, dnp_thread_id(), SIGRTMIN,
		UINT64_C(1000000000), UINT64_C(1000000000), one);
}

/* The runtime stops its threads by a queued signal, and programs make timers of their own. */
TEST(timers_leave_pending_signals_to_others)
{
	static struct dnp_sampler samplers[ALLOWED + 2];
	struct rlimit limit = {ALLOWED, ALLOWED};
	struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
	int failed = 0, timers[ALLOWED + 2];
	unsigned n = 0, others = 0;

	if (setuid(UNUSED_ID))
		SKIP("only root may be another user");
	CHECK(!setrlimit(RLIMIT_SIGPENDING, &limit));
	while (n < ALLOWED + 2 && !failed)
		failed = start_timer(&samplers[n++]);
	CHECK_EQ(failed, -EAGAIN);
	n--;
	CHECK(n >= ALLOWED - DNP_SAMPLER_SPARED && n <= ALLOWED - DNP_SAMPLER_SPARED + 1);
	while (others <= ALLOWED &&
		!syscall(SYS_timer_create, CLOCK_MONOTONIC, &nothing, &timers[others]))
		others++;
	CHECK(others >= DNP_SAMPLER_SPARED);
	/* When one has gone, none is taken in its place: until all have. */
	dnp_sampler_stop(&samplers[--n]);
	CHECK_EQ(start_timer(&samplers[n]), -EAGAIN);
	while (n)
		dnp_sampler_stop(&samplers[--n]);
	dnp_sampler_end();
	while (others)
		syscall(SYS_timer_delete, timers[--others]);
	CHECK_EQ(start_timer(&samplers[0]), 0);
	dnp_sampler_stop(&samplers[0]);
	dnp_sampler_end();
}

TEST(memory_that_is_gone_is_not_readable)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 100 * page;
	uintptr_t low = (uintptr_t)dnp_mem_map(n);

	CHECK(low);
	CHECK_EQ(dnp_mem_is_readable(low, low + n), 1);
	CHECK_EQ(dnp_mem_is_readable(low + 5, low + n - 5), 1);
	CHECK_EQ(dnp_mem_is_readable(low, low), 1);
	dnp_mem_unmap((void *)(low + 70 * page), page);
	CHECK_EQ(dnp_mem_is_readable(low, low + n), 0);
	CHECK_EQ(dnp_mem_is_readable(low, low + 70 * page), 1);
	CHECK_EQ(dnp_mem_is_readable(low + 69 * page + 8, low + 70 * page + 1), 0);
	CHECK_EQ(dnp_mem_is_readable(low + 71 * page, low + n), 1);
	dnp_mem_unmap((void *)low, 70 * page);
	dnp_mem_unmap((void *)(low + 71 * page), 29 * page);
}
