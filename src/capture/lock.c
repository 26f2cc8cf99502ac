/* SPDX-License-Identifier: MIT */
/*
 * Which locks threads waited for that others had, where and for how long. The runtime says on the
 * thread that waits when that begins, and when it is over; the thread then takes its own stack, if
 * it has waited long enough. Who had the lock meanwhile, and where that one was: lock_owner.c.
 */
#include "capture/lock.h"

#include <errno.h>
#include <stdatomic.h>

#include "capture/engine.h"
#include "capture/happened.h"
#include "capture/lock_waits.h"
#include "clr/contention.h"
#include "clr/prf.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/thread.h"

#define STATS_EVERY_NS UINT64_C(1000000000)

/* The last one whose Monitor is known to tell of its object as contention.h says. */
#define LAST_RUNTIME 10u

/* From this one on there are locks of managed code. */
#define FIRST_WITH_LOCK 9u

/* What a thread waits for. Written by the thread; or by the recorder, when that has gone. */
struct begun {
	uint64_t lock;
	uint32_t label;
	enum { NOT_TOLD, KEPT, NO_ROOM } how; /* among those whose owners are looked at */
};

/* Written in start, before the first event can come. */
static const struct dnp_engine_setting *setting;
static unsigned event;
static uint64_t least_ns;
static struct begun *begun; /* owned; by the threads' places */

#define BEGUN_BYTES (DNP_THREADS_MAX * sizeof(*begun))

static _Atomic uint64_t waits, waited_ns, kept;
static _Atomic uint64_t not_understood; /* events */
static _Atomic bool lock_came;          /* a System.Threading.Lock */
static uint64_t told_ns;                /* when the recorder last wrote them */

uint64_t dnp_lock_kept(void)
{
	return atomic_load_explicit(&kept, memory_order_relaxed);
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static bool is_monitor(const struct dnp_contention *contention)
{
	uint64_t word;

	return dnp_contention_is_monitor(contention) &&
		!dnp_mem_read(contention->lock, &word, sizeof(word));
}

/*
 * The first word of an object is its type, which is there as long as somebody waits for the object:
 * it is asked for now, since any unloading makes it unsure whether it may be asked for later.
 */
static uint32_t label_of(const struct dnp_contention *contention)
{
	uintptr_t class_id = 0;

	if (!is_monitor(contention)) {
		atomic_store_explicit(&lock_came, true, memory_order_relaxed);
		return dnp_label(dnp_str("System.Threading.Lock"));
	}
	if (setting->runtime > LAST_RUNTIME ||
		dnp_mem_read(contention->object, &class_id, sizeof(class_id)) || !class_id)
		return dnp_label(dnp_str("[unknown type]"));
	return setting->class_label(class_id);
}

static void begin(const struct dnp_delivered *delivered, struct begun *own)
{
	struct dnp_lock_wait wait = {.since_ns = dnp_now_ns(), .tid = dnp_thread_id()};
	struct dnp_contention contention;

	if (dnp_contention_start(
		    delivered->data, delivered->bytes, delivered->version, &contention)) {
		count(&not_understood, 1);
		return;
	}
	wait.lock = contention.lock;
	wait.owner = contention.owner;
	wait.label = label_of(&contention);
	own->lock = wait.lock;
	own->label = wait.label;
	own->how = dnp_lock_waits_begin(&wait) ? KEPT : NO_ROOM;
	if (own->how == KEPT)
		dnp_lock_owner_await(wait.since_ns);
}

static void store(const struct begun *wait, uint64_t now_ns, uint64_t ns)
{
	count(&kept, 1);
	dnp_happened(setting,
		&(struct dnp_happening){
			.event = event,
			.label = wait->label,
			.time_ns = now_ns,
			.weight = ns,
			.value = wait->lock,
		});
}

static void tell_missed(const struct begun *wait, bool looked_at)
{
	if (wait->how == NOT_TOLD)
		dnp_lock_owner_missed(DNP_LOCK_BEFORE);
	else if (wait->how == NO_ROOM)
		dnp_lock_owner_missed(DNP_LOCK_MANY);
	else if (!looked_at)
		dnp_lock_owner_missed(DNP_LOCK_SHORT);
}

static void end(const struct dnp_delivered *delivered, struct begun *own)
{
	struct dnp_lock_wait wait = {0};
	struct begun was = *own;
	uint64_t now_ns = dnp_now_ns(), ns;

	if (dnp_contention_stop(delivered->data, delivered->bytes, delivered->version, &ns)) {
		count(&not_understood, 1);
		return;
	}
	own->how = NOT_TOLD;
	dnp_lock_waits_end(dnp_thread_id(), now_ns, ns, &wait);
	count(&waits, 1);
	count(&waited_ns, ns);
	if (ns < least_ns)
		return;
	if (was.how == NOT_TOLD)
		was = (struct begun){
			.label = dnp_label(dnp_str("[waited for since before the recording]"))};
	tell_missed(&was, wait.looked_at);
	store(&was, now_ns, ns);
}

/* The calling thread's record, which most have already: without a lock then. */
static const struct dnp_thread *own_thread(void)
{
	const struct dnp_thread *thread = dnp_thread_own();

	return thread ? thread : dnp_happened_on(setting);
}

static bool is_of_lock(const struct dnp_delivered *delivered)
{
	return delivered->provider == DNP_PROVIDER_RUNTIME &&
		(delivered->id == DNP_EVENT_CONTENTION_START ||
			delivered->id == DNP_EVENT_CONTENTION_STOP);
}

static void lock_delivered(const struct dnp_delivered *delivered)
{
	struct begun nowhere = {.how = NOT_TOLD}; /* there is no room for the thread */
	const struct dnp_thread *thread;
	struct begun *own;

	if (!is_of_lock(delivered))
		return;
	thread = own_thread();
	own = thread ? &begun[thread->place] : &nowhere;
	if (delivered->id == DNP_EVENT_CONTENTION_START)
		begin(delivered, own);
	else
		end(delivered, own);
}

static void tell_none(struct dnp_writer *writer)
{
	if (setting->runtime >= FIRST_WITH_LOCK &&
		!atomic_load_explicit(&lock_came, memory_order_relaxed))
		dnp_engine_note(&dnp_engine_lock, event, writer,
			"no wait for a System.Threading.Lock came; these are told only "
			"where " DNP_EVENT_SOURCE_SWITCH " is not false");
}

/* All of them, so that sums are of short ones, too. */
static void lock_write(struct dnp_writer *writer, int last)
{
	uint64_t now_ns = dnp_now_ns();

	if (!last && now_ns - told_ns < STATS_EVERY_NS)
		return;
	told_ns = now_ns;
	dnp_write_wait_stats(writer,
		&(struct dnp_rec_wait_stats){
			.event = event,
			.time_ns = now_ns,
			.least_ns = least_ns,
			.waits = atomic_load_explicit(&waits, memory_order_relaxed),
			.seen = dnp_lock_kept(),
			.waited_ns = atomic_load_explicit(&waited_ns, memory_order_relaxed),
			.endless = dnp_lock_waits_endless(),
		});
	if (last)
		tell_none(writer);
}

static void lock_hurry(void)
{
	told_ns = 0;
}

static void lock_wishes(struct dnp_provider_wish *wishes)
{
	dnp_wish(&wishes[DNP_PROVIDER_RUNTIME], DNP_KEYWORD_CONTENTION,
		COR_PRF_EVENTPIPE_INFORMATIONAL);
}

static void forget(void)
{
	if (begun)
		dnp_mem_unmap(begun, BEGUN_BYTES);
	begun = NULL;
}

static int lock_start(const struct dnp_engine_setting *given, unsigned index, struct dnp_err *err)
{
	forget(); /* of a recording that was never begun */
	begun = dnp_mem_map(BEGUN_BYTES);
	if (!begun)
		return dnp_err(err, -ENOMEM, "no memory for threads that wait; free some");
	setting = given;
	event = index;
	least_ns = given->options->lock_ns;
	told_ns = 0;
	atomic_store(&waits, 0);
	atomic_store(&waited_ns, 0);
	atomic_store(&kept, 0);
	atomic_store(&not_understood, 0);
	atomic_store(&lock_came, false);
	dnp_lock_waits_clear();
	return 0;
}

static void lock_thread_end(struct dnp_thread *thread)
{
	dnp_lock_waits_leave(thread->tid, dnp_now_ns());
	if (begun)
		begun[thread->place].how = NOT_TOLD;
}

/* No event is delivered by now. */
static void lock_stop(void)
{
	forget();
}

static const char *lock_source(void)
{
	return "ContentionStart, ContentionStop";
}

static void lock_failures(unsigned index, dnp_failure_tell tell)
{
	tell(index, "event of an unknown layout",
		atomic_load_explicit(&not_understood, memory_order_relaxed));
}

const struct dnp_engine dnp_engine_lock = {
	.event = "lock",
	.unit = "ns",
	.walks = true,
	.happens = true,
	.companion = &dnp_engine_lock_owner,
	.wishes = lock_wishes,
	.delivered = lock_delivered,
	.start = lock_start,
	.source = lock_source,
	.thread_end = lock_thread_end,
	.stop = lock_stop,
	.write = lock_write,
	.writes_seldom = true,
	.hurry = lock_hurry,
	.failures = lock_failures,
};
