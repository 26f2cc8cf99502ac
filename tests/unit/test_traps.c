/* SPDX-License-Identifier: MIT */
/* One clock for all threads. */
#include <pthread.h>
#include <setjmp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/sampler.h"
#include "os/sampling_signal.h"
#include "os/thread.h"
#include "os/traps.h"
#include "os/x86_64/context.h"
#include "test.h"

#define INTERVAL_NS UINT64_C(1000000)
#define THREADS     4

/* Of one thread; a handler finds its own by the thread's number. */
struct account {
	_Atomic int tid;
	struct dnp_sampler sampler;
	_Atomic uint64_t traps, late, weights, in_kernel;
	_Atomic uint64_t moments_max, oldest_frames; /* of those that one trap knew */
	_Atomic uint64_t wrong;                      /* traps of which the account was not exact */
};

static struct account accounts[THREADS + 1];
static uint64_t interval_ns = INTERVAL_NS;
static _Atomic int others;       /* signals of that number that are no traps */
static _Atomic bool others_mask; /* what was kept off when the last one came was right */
static sigjmp_buf out;
static _Atomic bool jumps;

static struct account *own(void)
{
	int tid = dnp_thread_id();

	for (size_t i = 0; i < DNP_ARRAY_SIZE(accounts); i++)
		if (accounts[i].tid == tid)
			return &accounts[i];
	return NULL;
}

static void note_kernel(struct account *account, uintptr_t pc)
{
	unsigned moments = dnp_sampler_kernel_moments(&account->sampler, pc);
	uint64_t frames[64];

	account->in_kernel += dnp_sampler_kernel_frames(&account->sampler, pc, 0, frames, 64) > 0;
	if (moments <= account->moments_max)
		return;
	account->moments_max = moments;
	account->oldest_frames =
		dnp_sampler_kernel_frames(&account->sampler, pc, moments - 1, frames, 64);
}

/* How much more than the handler's time a trap may set its thread's account on, see sampler.c. */
#define DELIVERY_MAX_NS UINT64_C(10000)

/* As many intervals as the thread's clock says, and none of them twice or never. */
static uint32_t weigh(struct account *account, const struct dnp_signal_info *info)
{
	struct dnp_sampler *sampler = &account->sampler;
	uint64_t due_ns = sampler->expected_ns, begun_ns, next_ns;
	uint32_t weight = dnp_sampler_weight(sampler, info);

	begun_ns = sampler->begun_ns;
	next_ns = sampler->expected_ns;
	account->wrong += next_ns != due_ns + weight * interval_ns || begun_ns >= next_ns ||
		(weight && begun_ns < next_ns - interval_ns);
	return weight;
}

/* What the handler itself has used is nobody's interval. */
static void rearm(struct account *account)
{
	struct dnp_sampler *sampler = &account->sampler;
	uint64_t due_ns = sampler->expected_ns, least_ns, most_ns, added_ns;

	least_ns = dnp_thread_cpu_ns(0) - sampler->begun_ns;
	dnp_sampler_rearm(sampler, 0);
	most_ns = dnp_thread_cpu_ns(0) - sampler->begun_ns + DELIVERY_MAX_NS;
	added_ns = sampler->expected_ns - due_ns;
	account->wrong += added_ns < least_ns || added_ns > most_ns;
}

static int on_signal(const struct dnp_signal_info *info, void *context)
{
	struct account *account = own();

	if (!dnp_trap_is(info) && !dnp_trap_is_late(info))
		return 0;
	if (!account)
		return 1;
	account->traps++;
	account->late += dnp_trap_is_late(info);
	account->weights += weigh(account, info);
	note_kernel(account, dnp_regs_of(context).pc);
	rearm(account);
	return 1;
}

static void on_other(int signo, siginfo_t *info, void *context)
{
	sigset_t mask;

	(void)info;
	(void)context;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	others_mask = sigismember(&mask, signo) && sigismember(&mask, SIGUSR1) &&
		!sigismember(&mask, SIGUSR2);
	others++;
	if (jumps)
		siglongjmp(out, 1);
}

static void on_activation(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
}

static void follow(struct account *account)
{
	dnp_sampler_follow(&account->sampler, dnp_thread_cpu_ns(0), interval_ns / 2, interval_ns);
	account->tid = dnp_thread_id();
}

static void begin(void)
{
	struct sigaction activation = {.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO};
	struct sigaction other = {.sa_sigaction = on_other, .sa_flags = SA_SIGINFO};
	struct dnp_err err;
	int kernel, failed;

#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer runs handlers only where a thread calls into a library");
#endif
	if (dnp_sampler_probe(DNP_SAMPLER_PERF, &kernel, &err) != DNP_SAMPLER_PERF)
		SKIP("perf events are not allowed here");
	signal(SIGSEGV, SIG_DFL);
	sigaddset(&other.sa_mask, SIGUSR1);
	CHECK(sigaction(dnp_signal_number(), &activation, NULL) == 0);
	CHECK(sigaction(SIGTRAP, &other, NULL) == 0);
	if (dnp_signal_share(on_signal, &err))
		FAIL("%s", err.text);
	failed = dnp_traps_open(interval_ns, on_signal);
	if (failed == -ENOSYS)
		SKIP("the kernel is too old");
	CHECK_EQ(failed, 0);
}

static void end(void)
{
	dnp_traps_off();
	dnp_traps_close();
	CHECK_EQ(dnp_signal_unshare(on_signal), 0);
	CHECK(dnp_signal_left(TEST_HANG_NS));
}

static void burn(uint64_t ns)
{
	uint64_t end_ns = dnp_thread_cpu_ns(0) + ns;

	while (dnp_thread_cpu_ns(0) < end_ns)
		;
}

/* Half is a wide bound: the time of the interrupts is the thread's, and not in the weights. */
static void check_weights(const struct account *account, uint64_t spent_ns)
{
	CHECK(account->traps > 0);
	CHECK_EQ(account->wrong, 0);
	CHECK(account->weights * INTERVAL_NS > spent_ns / 2);
	CHECK(account->weights * INTERVAL_NS <= spent_ns + INTERVAL_NS);
}

static void *compute(void *argument)
{
	struct account *account = argument;

	follow(account);
	burn(UINT64_C(50000000) * (uint64_t)(1 + (account - accounts)));
	account->tid = 0;
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, compute, &accounts[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

TEST(traps_come_to_threads_that_begin_later)
{
	begin();
	dnp_traps_vary(INTERVAL_NS * 3 / 4);
	run_threads();
	end();
	for (int i = 0; i < THREADS; i++)
		check_weights(&accounts[i], UINT64_C(50000000) * (uint64_t)(1 + i));
}

/* Threads that were told of, in the order in which they began. */
#define TOLD_MAX 2048
static int told[TOLD_MAX];
static unsigned n_told;
static uint64_t told_ns;

static void tell(int tid, uint64_t begun_ns)
{
	CHECK(begun_ns <= dnp_now_ns());
	told_ns = begun_ns;
	if (n_told < TOLD_MAX)
		told[n_told++] = tid;
}

static void *note_number(void *argument)
{
	*(int *)argument = dnp_thread_id();
	return NULL;
}

/* One after the other, on one processor, in whose ring all are then. */
static void begin_threads(int *numbers, unsigned n)
{
	cpu_set_t before, one;
	pthread_t thread;
	int number;

	CPU_ZERO(&one);
	CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	for (size_t cpu = 0; !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &before))
			CPU_SET(cpu, &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	for (unsigned i = 0; i < n; i++) {
		CHECK_EQ(pthread_create(&thread, NULL, note_number, &number), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		if (numbers)
			numbers[i] = number;
	}
	CHECK_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(threads_that_begin_are_told_of_once)
{
	uint64_t before_ns;
	int numbers[40];

	begin();
	before_ns = dnp_now_ns();
	begin_threads(numbers, 40);
	CHECK(dnp_traps_read(tell));
	CHECK_EQ(n_told, 40);
	CHECK(!memcmp(told, numbers, sizeof(numbers)));
	CHECK(told_ns > before_ns);
	CHECK(dnp_traps_read(tell));
	CHECK_EQ(n_told, 40);
	end();
}

/* More than there is room for: that is said, those that are told are right, and it goes on from
 * there. */
TEST(threads_that_nobody_could_read_of_are_said_to_be_missed)
{
	int numbers[TOLD_MAX];

	begin();
	begin_threads(numbers, TOLD_MAX);
	CHECK(!dnp_traps_read(tell));
	CHECK(n_told > 400 && n_told < TOLD_MAX);
	CHECK(!memcmp(told, numbers + TOLD_MAX - n_told, n_told * sizeof(*numbers)));
	n_told = 0;
	begin_threads(numbers, 3);
	CHECK(dnp_traps_read(tell));
	CHECK_EQ(n_told, 3);
	CHECK(!memcmp(told, numbers, 3 * sizeof(*numbers)));
	end();
}

/* So many that one of a thousand that is forgotten is among them. */
TEST(no_trap_of_thousands_is_forgotten)
{
	struct account *account = &accounts[0];

	interval_ns = INTERVAL_NS / 10;
	begin();
	follow(account);
	while (account->traps < 3000)
		burn(interval_ns);
	account->tid = 0;
	end();
	CHECK_EQ(account->wrong, 0);
}

static _Atomic bool may_compute;

static void *compute_when_told(void *argument)
{
	while (!may_compute)
		dnp_sleep_until_ns(dnp_now_ns() + INTERVAL_NS);
	return compute(argument);
}

static _Atomic int waiting_tid;

static void *tell_and_compute(void *argument)
{
	waiting_tid = dnp_thread_id();
	return compute_when_told(argument);
}

TEST(traps_come_to_a_thread_that_was_there)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, tell_and_compute, &accounts[0]), 0);
	while (!waiting_tid)
		dnp_sleep_until_ns(dnp_now_ns() + INTERVAL_NS);
	begin();
	CHECK_EQ(dnp_traps_add(waiting_tid), 0);
	may_compute = true;
	pthread_join(thread, NULL);
	end();
	check_weights(&accounts[0], UINT64_C(50000000));
}

/* In the kernel: newer C libraries make some themselves. */
static void get_random(void *bytes, size_t n)
{
	CHECK_EQ(syscall(SYS_getrandom, bytes, n, 0), n);
}

TEST(traps_in_the_kernel_have_its_frames)
{
	static char bytes[1 << 20];
	struct account *account = &accounts[0];

	begin();
	follow(account);
	while (account->traps < 50)
		get_random(bytes, sizeof(bytes));
	account->tid = 0;
	end();
	/* All but those that came between two calls. */
	CHECK(account->in_kernel > account->traps / 2);
}

/* One system call of some hundred intervals: one trap, and in the ring the moments of the last
 * ones. */
/* Each processor has its own records: what a thread did before it was moved is in another's. */
TEST(trap_after_a_long_call_knows_several_moments)
{
	static char bytes[64 << 20];
	struct account *account = &accounts[0];
	cpu_set_t before, one;

	begin();
	CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	follow(account);
	get_random(bytes, sizeof(bytes));
	account->tid = 0;
	end();
	CHECK_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
	CHECK_EQ(account->wrong, 0);
	CHECK(account->weights > 8);
	CHECK(account->moments_max > 8);
	CHECK(account->oldest_frames > 0);
}

TEST(traps_that_are_kept_off_come_once_for_all)
{
	struct account *account = &accounts[0];
	uint64_t traps, before_ns;
	sigset_t sampling;

	begin();
	sigemptyset(&sampling);
	sigaddset(&sampling, dnp_signal_number());
	sigprocmask(SIG_BLOCK, &sampling, NULL);
	follow(account);
	before_ns = dnp_thread_cpu_ns(0);
	burn(100 * INTERVAL_NS);
	CHECK_EQ(account->traps, 0);
	sigprocmask(SIG_UNBLOCK, &sampling, NULL);
	traps = account->traps;
	/* Another one where a trap came while the first was at work, which keeps it off, too. */
	CHECK(account->late == 1 || account->late == 2);
	CHECK_EQ(account->wrong, 0);
	CHECK(account->weights >= 100);
	CHECK(account->weights <= 1 + (dnp_thread_cpu_ns(0) - before_ns) / INTERVAL_NS);
	burn(20 * INTERVAL_NS);
	CHECK(account->traps > traps);
	account->tid = 0;
	end();
}

TEST(other_signals_go_to_whom_they_went)
{
	begin();
	CHECK_EQ(raise(SIGTRAP), 0);
	CHECK_EQ(others, 1);
	CHECK(others_mask);
#ifdef __x86_64__
	__asm__ volatile("int3");
	CHECK_EQ(others, 2);
#endif
	/* A handler that never returns is not counted as one of ours. */
	jumps = true;
	if (!sigsetjmp(out, 1))
		raise(SIGTRAP);
	CHECK(others_mask);
	end();
}

static void send_trap(void)
{
	siginfo_t info = {.si_code = 6};

	CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), dnp_thread_id(), SIGTRAP, &info), 0);
}

TEST(trap_that_comes_when_all_has_gone_does_nothing)
{
	begin();
	end();
	send_trap();
	CHECK_EQ(others, 0);
	CHECK_EQ(raise(SIGTRAP), 0);
	CHECK_EQ(others, 1);
	/* And once more from the start. */
	begin();
	follow(&accounts[0]);
	burn(20 * INTERVAL_NS);
	accounts[0].tid = 0;
	end();
	CHECK(accounts[0].traps > 0);
	send_trap();
	CHECK_EQ(raise(SIGTRAP), 0);
	CHECK_EQ(others, 2);
}

TEST(handler_that_is_put_over_ours_is_seen)
{
	struct sigaction over = {.sa_sigaction = on_other, .sa_flags = SA_SIGINFO}, ours;

	begin();
	CHECK_EQ(dnp_traps_state(), 0);
	dnp_traps_off();
	CHECK_EQ(sigaction(SIGTRAP, &over, &ours), 0);
	CHECK_EQ(dnp_traps_state(), -EBUSY);
	CHECK_EQ(sigaction(SIGTRAP, &ours, NULL), 0);
	CHECK_EQ(dnp_traps_state(), 0);
	end();
}

TEST(forked_child_is_not_sampled)
{
	int status;
	pid_t pid;

	begin();
	pid = fork();
	if (!pid) {
		follow(&accounts[0]);
		burn(50 * INTERVAL_NS);
		test_end_child(accounts[0].traps != 0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	end();
}

TEST(nobody_who_handles_the_signal_means_no_traps)
{
	int failed;

#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer takes traps for faults");
#endif
	signal(SIGTRAP, SIG_DFL);
	failed = dnp_traps_open(INTERVAL_NS, on_signal);
	if (failed == -ENOSYS)
		SKIP("the kernel is too old");
	CHECK_EQ(failed, -ENOTSUP);
}
