/* SPDX-License-Identifier: MIT */
/* Waits at words that end when their time is over, whatever comes meanwhile. */
#include "test.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "os/word.h"

#define MS UINT64_C(1000000)

static _Atomic uint32_t word;
static volatile sig_atomic_t ticks, last_tick;

static void on_tick(int signo)
{
	(void)signo;
	if (++ticks == last_tick)
		atomic_store(&word, 1);
}

/* Each cuts a wait short, which is long in comparison. */
static void tick(void)
{
	struct itimerval often = {.it_interval.tv_usec = 5000, .it_value.tv_usec = 5000};
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};

	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
}

TEST(wait_for_a_change_is_over_in_time_where_signals_come_all_the_time)
{
	tick();
	CHECK(!dnp_word_wait_change(&word, 0, 100 * MS));
	CHECK(ticks);
}

TEST(wait_for_a_change_goes_on_until_it_comes_where_signals_do)
{
	last_tick = 10;
	tick();
	CHECK(dnp_word_wait_change(&word, 0, TEST_HANG_S * 1000 * MS));
	CHECK(ticks >= 10);
}
