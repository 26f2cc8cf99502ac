/* SPDX-License-Identifier: MIT */
/*
 * Where one event of all threads can be had (os/traps.h) it interrupts them: at the program's start
 * alone. Else a timer for each thread, or an event for each: that is exact at any rate, and tells
 * the kernel's frames, but where threads hand work to each other the kernel sets a clock at each
 * switch, which makes them several times slower. So a program that runs already, and that somebody
 * may depend on, has events only where they are asked for; one that is started, at rates that no
 * timer has.
 */
#include "capture/running.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/random.h"
#include "capture/self.h"
#include "format/rec.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/sampler.h"
#include "os/sampling_signal.h"
#include "os/thread.h"
#include "os/traps.h"
#include "os/watch.h"

#define SECOND_NS UINT64_C(1000000000)
#define LOOK_NS                                                                                    \
	UINT64_C(15000000) /* at least between two looks: each reads files of the kernel's */

/* Written in start, before the first sample can come. */
static struct {
	/* Of threads that begin; traps come to an end when somebody else wants the signal. */
	enum dnp_sampler_source source;
	int kernel;
	_Atomic bool without_trap; /* a thread is: those that it makes are, too, and nobody tells */
	enum dnp_threads_lack lack; /* of each thread since traps were left; LACKS: of none */
	bool events_instead;        /* where no timer is left, an event will do, if it is allowed */
	uint64_t random;            /* the recorder's … */
	uint64_t look_ns;           /* … and when it looks at the source again */
	uint64_t missed_ns; /* when the kernel last told of threads what nobody could read */
	dnp_watch_begun begun;
	_Atomic uint64_t phases;
	uint64_t interval_ns, since_ns;
	char note[sizeof(((struct dnp_err *)0)->text)];
} running;

/*
 * Bit e: event e gets samples. Handlers read it; it changes under begin_lock. And those that got
 * any since samples began.
 */
static _Atomic uint32_t wanted;
static uint32_t told;

/* Held while a thread's sampler starts, so that none starts once stop has begun. A leaf lock. */
static pthread_mutex_t begin_lock = PTHREAD_MUTEX_INITIALIZER;

/* Takes the first one off; there must be one. */
static SIGSAFE uint8_t next_event(uint32_t *events)
{
	uint8_t event = (uint8_t)__builtin_ctz(*events);

	*events &= *events - 1;
	return event;
}

static SIGSAFE void take(
	struct dnp_thread *thread, const struct dnp_signal_info *info, const void *context)
{
	uint64_t begin_ns = dnp_now_ns();
	uint32_t weight = dnp_sampler_weight(&thread->sampler, info);
	uint32_t events = atomic_load(&wanted);
	struct dnp_sample sample = {.time_ns = begin_ns, .weight = weight};

	if (weight && events) {
		sample.event = next_event(&events);
		dnp_self_sample(thread, &sample, events, running.kernel, context);
	}
	dnp_sampler_rearm(&thread->sampler, dnp_now_ns() - begin_ns);
}

/* The thread takes its own stack, for another event. */
static SIGSAFE void take_late(struct dnp_thread *thread, const struct dnp_signal_info *info)
{
	uint32_t events = atomic_load(&wanted), weight;

	if (!events)
		return;
	weight = dnp_sampler_weight(&thread->sampler, info);
	while (weight && events)
		dnp_self_late(thread, next_event(&events), weight);
	dnp_sampler_rearm(&thread->sampler, 0);
}

/* A sampler's owner is the place of its thread's record, from 1. */
static SIGSAFE void *owner_at(uint32_t place)
{
	return (void *)((uintptr_t)place + 1); /* NOLINT(performance-no-int-to-ptr) */
}

/*
 * NULL: the signal is of a sampler that there is no more, perhaps of another thread's. It may be of
 * a recording before, and its record somebody's who is just being made known.
 */
static SIGSAFE struct dnp_thread *owner_of(const struct dnp_signal_info *info)
{
	struct dnp_thread *thread = dnp_thread_own();

	return thread && dnp_sampler_owner(info) == owner_at(thread->place) ? thread : NULL;
}

/* A sample perhaps, with what it would have told of; and the next ones have to come. */
static SIGSAFE void lose(enum dnp_loss_reason why)
{
	uint32_t events = atomic_load(&wanted);
	struct dnp_thread *thread = events ? dnp_thread_own() : NULL;
	uint32_t units = thread ? dnp_sampler_rearm_lost(&thread->sampler) : 0;

	while (units && events)
		dnp_self_lose(thread, next_event(&events), why, units);
}

/*
 * It interrupts every thread, also one that has no record yet or none any more: its time is told
 * when it gets one (first_interval). While its account is looked at the record must not become
 * another's.
 */
static SIGSAFE void on_trap(const struct dnp_signal_info *info, void *context)
{
	struct dnp_thread *thread = dnp_thread_own();

	if (!thread)
		dnp_watch_call(); /* the kernel has told of it */
	if (!thread || thread->sampler.source != DNP_SAMPLER_TRAPS)
		return;
	if (!dnp_self_enter(thread)) {
		if (atomic_load_explicit(&thread->busy, memory_order_relaxed))
			take_late(thread, info);
		return;
	}
	if (dnp_thread_own() == thread && atomic_load(&wanted))
		take(thread, info, context);
	dnp_self_leave(thread);
}

static SIGSAFE int on_signal(const struct dnp_signal_info *info, void *context)
{
	struct dnp_thread *thread;

	switch (dnp_signal_is_nothing(info)) {
	case DNP_SIGNAL_NO_ROOM: lose(DNP_LOSS_STACK); return 0;
	case DNP_SIGNAL_NO_PLACE: lose(DNP_LOSS_QUEUE); return 0;
	case DNP_SIGNAL_CAME: break;
	}
	if (dnp_trap_is(info) || dnp_trap_is_late(info)) {
		on_trap(info, context);
		return 1;
	}
	if (!dnp_sampler_is_ours(info))
		return 0;
	thread = owner_of(info);
	if (!thread)
		return 1;
	if (!dnp_self_enter(thread)) {
		take_late(thread, info);
		return 1;
	}
	if (atomic_load(&wanted))
		take(thread, info, context);
	dnp_self_leave(thread);
	return 1;
}

/* CoreCLR 8 gives its signals back before it aborts: a trap would end the program then. */
#define RUNTIME_WITH_TRAPS 9

/* Whether there may be one event for all threads. */
static bool may_have_traps(const struct dnp_engine_setting *setting)
{
	return setting->at_startup && setting->runtime >= RUNTIME_WITH_TRAPS &&
		setting->options->source == DNP_SOURCE_AUTO;
}

/* Whether CPU time is an event of its own, so that exact rates are worth what they cost. */
static bool shows_cpu(const char *events)
{
	struct dnp_str rest = dnp_str(events), event;

	while (dnp_str_cut(&rest, ',', &event))
		if (dnp_str_eq(event, dnp_str("cpu")))
			return true;
	return false;
}

/* Whether an event for each thread is not worth what it may cost. */
static bool timers_do(const struct dnp_engine_setting *setting)
{
	return !setting->at_startup || setting->options->interval_ns >= dnp_sampler_tick_ns() ||
		!shows_cpu(setting->options->event);
}

/* What single threads are sampled by; AUTO: an event, or the timer where that is not allowed. */
static enum dnp_sampler_source single_source(const struct dnp_engine_setting *setting)
{
	switch (setting->options->source) {
	case DNP_SOURCE_PERF: return DNP_SAMPLER_PERF;
	case DNP_SOURCE_TIMER: return DNP_SAMPLER_TIMER;
	default:
		return !may_have_traps(setting) && timers_do(setting) ? DNP_SAMPLER_TIMER
								      : DNP_SAMPLER_AUTO;
	}
}

static void want(unsigned event)
{
	pthread_mutex_lock(&begin_lock);
	told |= UINT32_C(1) << event;
	atomic_fetch_or(&wanted, UINT32_C(1) << event);
	pthread_mutex_unlock(&begin_lock);
}

/* Whether samples are taken still, for another one. */
static bool want_no_more(unsigned event)
{
	bool others;

	pthread_mutex_lock(&begin_lock);
	others = atomic_fetch_and(&wanted, ~(UINT32_C(1) << event)) & ~(UINT32_C(1) << event);
	pthread_mutex_unlock(&begin_lock);
	return others;
}

/* An event for each thread is allowed: is there better? */
static void choose(const struct dnp_engine_setting *setting)
{
	if (may_have_traps(setting) && !dnp_traps_open(running.interval_ns, on_signal)) {
		running.source = DNP_SAMPLER_TRAPS;
	} else if (setting->options->source == DNP_SOURCE_AUTO && timers_do(setting)) {
		running.source = DNP_SAMPLER_TIMER;
		running.kernel = 0;
	}
}

static void tell_timers(void)
{
	snprintf(running.note, sizeof(running.note),
		"by timers: no kernel frames, and %" PRIu64
		" samples a second of a thread at most; see --source",
		SECOND_NS / dnp_sampler_tick_ns());
}

/* What the reader has to know of the source; `why` no event is allowed, if none is. */
static void tell_why(const struct dnp_agent_options *options, const struct dnp_err *why)
{
	bool chosen = running.source == DNP_SAMPLER_TIMER && options->source == DNP_SOURCE_AUTO &&
		shows_cpu(options->event);

	if (why->text[0] || !chosen)
		snprintf(running.note, sizeof(running.note), "%s", why->text);
	else
		tell_timers();
}

static int start(const struct dnp_engine_setting *setting, unsigned event, struct dnp_err *err)
{
	const struct dnp_agent_options *options = setting->options;
	enum dnp_sampler_source source = single_source(setting);
	struct dnp_err why = {0};
	int failed;

	running.interval_ns = options->interval_ns;
	running.since_ns = dnp_now_ns();
	running.events_instead = options->source == DNP_SOURCE_AUTO;
	running.random = dnp_now_ns() | 1;
	running.missed_ns = 0;
	atomic_store(&running.without_trap, false);
	running.lack = DNP_THREADS_LACKS;
	running.begun = setting->begun;
	atomic_store(&running.phases, dnp_random_number());
	running.source = dnp_sampler_probe(source, &running.kernel, &why);
	if (running.source == DNP_SAMPLER_AUTO)
		return dnp_err(err, why.code, "%s", why.text);
	/* Not before samples are source, and not after: see on_signal. */
	told = 0;
	want(event);
	failed = dnp_signal_share(on_signal, err);
	if (failed)
		want_no_more(event);
	else if (running.source == DNP_SAMPLER_PERF)
		choose(setting);
	tell_why(options, &why);
	return failed;
}

int dnp_running_start(const struct dnp_engine_setting *setting, unsigned event, struct dnp_err *err)
{
	if (!atomic_load(&wanted))
		return start(setting, event, err);
	want(event);
	return 0;
}

const char *dnp_running_source(void)
{
	switch (running.source) {
	case DNP_SAMPLER_TRAPS: return "perf cpu-clock of all threads";
	case DNP_SAMPLER_PERF: return "perf cpu-clock";
	default: return "timer";
	}
}

const char *dnp_running_note(void)
{
	return running.note;
}

/*
 * A number in [0, interval). Those of one thread after the other are spread evenly, as multiples of
 * the golden ratio are, wherever one looks: so the samples of many short threads have the right sum
 * as if they were one thread, with next to no scatter (Weyl's sequence).
 */
static uint64_t next_phase(void)
{
	uint64_t x = atomic_fetch_add(&running.phases, UINT64_C(0x9E3779B97F4A7C15));

	return (x >> 40) * running.interval_ns >> 24;
}

/*
 * When its first sample is due: at any moment in the first interval of its CPU time. Where
 * that has passed, and with it perhaps more intervals, they are missed.
 */
static uint64_t first_interval(struct dnp_thread *thread)
{
	int before = atomic_load(&thread->flags) & DNP_THREAD_LATE;
	uint64_t phase = next_phase(), used = before ? 0 : thread->start_cpu_ns;

	/* One that was there before the recording, and was met late: it is not of this time. */
	if (used > dnp_now_ns() - running.since_ns)
		used = 0;
	if (phase >= used)
		return phase - used;
	thread->missed_events = told;
	/* Pairs with dnp_drain_announce: by now another engine may have told of the thread. */
	atomic_store_explicit(&thread->missed, 1 + (uint32_t)((used - phase) / running.interval_ns),
		memory_order_release);
	return running.interval_ns - (used - phase) % running.interval_ns;
}

static int start_by(
	struct dnp_thread *thread, enum dnp_sampler_source source, int kernel, uint64_t first_ns)
{
	return dnp_sampler_start(&thread->sampler, source, kernel, thread->tid, dnp_signal_number(),
		first_ns, running.interval_ns, owner_at(thread->place));
}

/*
 * By the other source where that is not to be had, and counts it where none is. Once traps were
 * left it counts what each thread lacks for that.
 */
static void start_single(
	struct dnp_thread *thread, enum dnp_sampler_source source, uint64_t first_ns)
{
	int failed = start_by(thread, source, running.kernel, first_ns);

	if (failed == -ESRCH) /* it ends, and has no samples to come: a timer could still be had */
		return;
	/* Out of descriptors, say: a tick-bound thread is better than an unseen one. */
	if (failed && source == DNP_SAMPLER_PERF)
		failed = start_by(thread, DNP_SAMPLER_TIMER, 0, first_ns);
	else if (failed && running.events_instead)
		failed = start_by(thread, DNP_SAMPLER_PERF, 0, first_ns);
	if (!failed && source == DNP_SAMPLER_PERF && running.kernel &&
		!dnp_sampler_tells_kernel(&thread->sampler))
		dnp_threads_lack(DNP_THREADS_NO_KERNEL);
	if (!failed && running.lack != DNP_THREADS_LACKS)
		dnp_threads_lack(running.lack);
	if (failed && dnp_thread_exists(thread->tid))
		dnp_threads_lack(DNP_THREADS_REFUSED);
}

/* Those that are there already have not inherited it, but for the one that has opened it. */
static bool has_trap(const struct dnp_thread *thread)
{
	int failed;

	if (!(atomic_load(&thread->flags) & DNP_THREAD_LATE) || thread->tid == dnp_thread_id())
		return true;
	failed = dnp_traps_add(thread->tid);
	if (failed && failed != -ESRCH) /* else it has gone, and makes none */
		atomic_store(&running.without_trap, true);
	return !failed;
}

static void start_sampler(struct dnp_thread *thread)
{
	uint64_t first_ns = first_interval(thread);

	if (running.source != DNP_SAMPLER_TRAPS)
		start_single(thread, running.source, first_ns);
	else if (has_trap(thread))
		dnp_sampler_follow(
			&thread->sampler, thread->start_cpu_ns, first_ns, running.interval_ns);
	else
		start_single(thread, DNP_SAMPLER_PERF, first_ns);
}

bool dnp_running_at_once(void)
{
	return running.source != DNP_SAMPLER_TRAPS;
}

/* A while longer than there is between two looks for threads. */
#define MISSED_NS UINT64_C(200000000)

bool dnp_running_tells_threads(void)
{
	return running.source == DNP_SAMPLER_TRAPS && running.begun &&
		dnp_now_ns() - running.missed_ns > MISSED_NS;
}

/* What is to be done once is done for the first of the events. */
static bool is_first(unsigned event)
{
	uint32_t events = atomic_load(&wanted);

	return events && next_event(&events) == event;
}

void dnp_running_thread_begin(struct dnp_thread *thread, unsigned event)
{
	pthread_mutex_lock(&begin_lock);
	/* Where the first event has just been stopped, it has one already. */
	if (is_first(event) && thread->sampler.source == DNP_SAMPLER_AUTO)
		start_sampler(thread);
	pthread_mutex_unlock(&begin_lock);
}

/* Its next sample is due as if nothing had been. */
static void start_instead(struct dnp_thread *thread, void *context)
{
	uint64_t used_ns = dnp_thread_cpu_ns(thread->tid), due_ns = thread->sampler.expected_ns;

	(void)context;
	if (thread->sampler.source != DNP_SAMPLER_TRAPS)
		return;
	dnp_self_wait(thread);
	start_single(thread, DNP_SAMPLER_TIMER, due_ns > used_ns ? due_ns - used_ns : 1);
}

/* Each thread gets a timer, also those that begin later; what it lacks is told. */
static void leave_traps(enum dnp_threads_lack lack)
{
	dnp_traps_off();
	pthread_mutex_lock(&begin_lock);
	if (atomic_load(&wanted)) {
		running.source = DNP_SAMPLER_TIMER;
		running.lack = lack;
		tell_timers();
	}
	pthread_mutex_unlock(&begin_lock);
	dnp_threads_each(start_instead, NULL);
}

/* On the recorder's thread. */
void dnp_running_look(unsigned event)
{
	uint64_t now = dnp_now_ns();

	if (!is_first(event) || running.source != DNP_SAMPLER_TRAPS)
		return;
	if (running.begun && !dnp_traps_read(running.begun))
		running.missed_ns = now;
	if (now < running.look_ns)
		return;
	running.look_ns = now + LOOK_NS;
	if (dnp_traps_state())
		leave_traps(DNP_THREADS_NO_TRAP);
	else if (atomic_load(&running.without_trap))
		leave_traps(DNP_THREADS_NO_KERNEL);
	else
		dnp_traps_vary(running.interval_ns / 2 +
			dnp_random_below(&running.random, running.interval_ns));
}

/* What it has used since its last sample. On the recorder's thread; no handler is at work on it. */
static void tell_rest(struct dnp_thread *thread, uint64_t used_ns)
{
	uint32_t units = dnp_sampler_unseen(&thread->sampler, used_ns);

	if (!units)
		return;
	thread->missed_events = told;
	/* Pairs with dnp_drain_announce. */
	atomic_store_explicit(&thread->rest, units, memory_order_release);
}

void dnp_running_thread_end(struct dnp_thread *thread, unsigned event)
{
	if (is_first(event))
		tell_rest(thread, thread->end_cpu_ns);
}

static void pause_thread(struct dnp_thread *thread, void *context)
{
	(void)context;
	dnp_sampler_pause(&thread->sampler);
}

static void stop_thread(struct dnp_thread *thread, void *context)
{
	uint64_t used_ns = dnp_thread_cpu_ns(thread->tid);

	(void)context;
	dnp_self_wait(thread);
	tell_rest(thread, used_ns ? used_ns : thread->end_cpu_ns);
	dnp_sampler_stop(&thread->sampler);
}

/* What is under way still goes to the runtime's handler, which takes no notice of it. */
void dnp_running_stop(unsigned event)
{
	if (want_no_more(event))
		return;
	dnp_traps_off();
	dnp_threads_each(pause_thread, NULL);
	dnp_threads_each(stop_thread, NULL);
	dnp_sampler_end();
	dnp_traps_close();
	dnp_signal_unshare(on_signal);
}
