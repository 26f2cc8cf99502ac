/* SPDX-License-Identifier: MIT */
/* Samples for which the queue of signals has no place left. */
#include "test.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/sampler.h"
#include "os/sampling_signal.h"
#include "os/thread.h"

#define INTERVAL_NS UINT64_C(1000000)

static struct dnp_sampler sampler;
static _Atomic int samples, lost;

static void on_activation(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
}

static int on_signal(const struct dnp_signal_info *info, void *context)
{
	(void)context;
	switch (dnp_signal_is_nothing(info)) {
	case DNP_SIGNAL_NO_PLACE:
		lost++;
		dnp_sampler_rearm_lost(&sampler);
		return 0;
	case DNP_SIGNAL_CAME:
		samples++;
		dnp_sampler_weight(&sampler, info);
		dnp_sampler_rearm(&sampler, 0);
		return 1;
	default: return 0;
	}
}

static void share(void)
{
	struct sigaction activation = {.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO};
	struct dnp_err err;

	signal(SIGSEGV, SIG_DFL);
	CHECK(sigaction(dnp_signal_number(), &activation, NULL) == 0);
	if (dnp_signal_share(on_signal, &err))
		FAIL("%s", err.text);
}

static void unshare(void)
{
	CHECK_EQ(dnp_signal_unshare(on_signal), 0);
	CHECK(dnp_signal_left(TEST_HANG_NS));
}

static struct sigaction handler_of_sigio(void)
{
	struct sigaction now;

	CHECK_EQ(sigaction(SIGIO, NULL, &now), 0);
	return now;
}

static void run_until(const _Atomic int *count, int many)
{
	uint64_t deadline_ns = dnp_now_ns() + TEST_HANG_NS;

	while (*count < many)
		CHECK(dnp_now_ns() < deadline_ns);
}

TEST(thread_goes_on_without_samples_that_have_no_place)
{
	struct rlimit none = {0}, before;
	struct dnp_err err;
	int kernel;

#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer runs handlers only where a thread calls into a library");
#endif
	if (dnp_sampler_probe(DNP_SAMPLER_PERF, &kernel, &err) != DNP_SAMPLER_PERF)
		SKIP("perf events are not allowed here, and timers have a place of their own");
	share();
	CHECK_EQ(getrlimit(RLIMIT_SIGPENDING, &before), 0);
	none.rlim_max = before.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
	CHECK_EQ(dnp_sampler_start(&sampler, DNP_SAMPLER_PERF, kernel, dnp_thread_id(),
			 dnp_signal_number(), INTERVAL_NS, INTERVAL_NS, &sampler),
		0);
	run_until(&lost, 10);
	CHECK_EQ(samples, 0);
	/* Once there are places again, samples come. */
	CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &before), 0);
	run_until(&samples, 10);
	dnp_sampler_pause(&sampler);
	dnp_sampler_stop(&sampler);
	unshare();
	CHECK(handler_of_sigio().sa_handler == SIG_DFL);
}

TEST(sigio_that_somebody_sends_ends_the_program)
{
	int status;
	pid_t pid;

	share();
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		kill(getpid(), SIGIO);
		test_end_child(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGIO);
	CHECK_EQ(lost, 0);
	unshare();
}

static void on_io(int signo)
{
	(void)signo;
}

TEST(programs_own_handler_of_sigio_stays)
{
	CHECK(signal(SIGIO, on_io) != SIG_ERR);
	share();
	CHECK(handler_of_sigio().sa_handler == on_io);
	unshare();
	CHECK(handler_of_sigio().sa_handler == on_io);
}
