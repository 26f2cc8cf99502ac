/* SPDX-License-Identifier: MIT */
#include "store/threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/mem.h"
#include "os/process.h"
#include "os/tasks.h"
#include "os/thread.h"

#define BUCKETS 1024u

/* For handlers: four places for each record, of which a thread's is one of the first ones from its
 * number on. */
#define PLACES     (4 * DNP_THREADS_MAX)
#define PLACES_MAX 16

/* A thread that has gone was listed so long, at most, before the time the kernel says it began. */
#define LISTED_NS UINT64_C(1000000)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_thread *buckets[BUCKETS]; /* live records, by tid */
static struct dnp_thread *unused;           /* records of threads that have gone */

/* All records that are mapped, live or not; they stay in their places. */
static _Atomic(struct dnp_thread *) all[DNP_THREADS_MAX];
static uint32_t room[DNP_THREADS_MAX]; /* frames that each has memory for */

/* A thread's number in the upper half, the place of its record, from 1, in the lower; 0: free. */
static _Atomic uint64_t by_number[PLACES];

static uint32_t n_all;
static uint32_t n_tried; /* of them, those that this recording has used or found too small */
static uint32_t next_index;
static _Atomic uint32_t lacking[DNP_THREADS_LACKS];

#define TOLD_WORDS 1024u
/* Threads that were refused a record: a bit for each number, of those that are not far apart. */
static uint64_t told[TOLD_WORDS];
static uint32_t max_depth;
static unsigned max_events;

/* The moment that dnp_threads_quiet_since waits for, and the last that is sure. */
static uint64_t sought_ns, quiet_ns;

void dnp_threads_init(uint32_t depth, unsigned n_events)
{
	pthread_mutex_lock(&lock);
	max_depth = depth;
	max_events = n_events;
	pthread_mutex_unlock(&lock);
}

uint32_t dnp_threads_depth(void)
{
	return max_depth;
}

void dnp_threads_lack(enum dnp_threads_lack what)
{
	atomic_fetch_add_explicit(&lacking[what], 1, memory_order_relaxed);
}

uint32_t dnp_threads_lacking(enum dnp_threads_lack what)
{
	return atomic_load_explicit(&lacking[what], memory_order_relaxed);
}

SIGSAFE struct dnp_thread *dnp_thread_at(uintptr_t place)
{
	/* Pairs with map_record. */
	return place < DNP_THREADS_MAX ? atomic_load_explicit(&all[place], memory_order_acquire)
				       : NULL;
}

SIGSAFE bool dnp_thread_collects(const struct dnp_thread *thread)
{
	/* sigsafe: reads two short texts */
	if (!strcmp(thread->name, ".NET BGC"))
		return true;
	/* sigsafe: the same */
	if (!strcmp(thread->name, ".NET Server GC"))
		return true;
	return atomic_load_explicit(&thread->collecting, memory_order_relaxed);
}

static SIGSAFE _Atomic uint64_t *place_of(int tid, unsigned i)
{
	return &by_number[((unsigned)tid + i) % PLACES];
}

SIGSAFE struct dnp_thread *dnp_thread_own(void)
{
	int tid = dnp_thread_id();

	for (unsigned i = 0; i < PLACES_MAX; i++) {
		/* Pairs with enter. Sequentially consistent with leave. */
		uint64_t entry = atomic_load(place_of(tid, i));

		if (entry >> 32 == (uint64_t)tid)
			return dnp_thread_at((uint32_t)entry - 1);
	}
	return NULL;
}

/* With the lock, as the next ones. False: there is no room among its places. */
static bool enter(int tid, uint32_t place)
{
	for (unsigned i = 0; i < PLACES_MAX; i++) {
		uint64_t none = 0;

		/* Pairs with dnp_thread_own. */
		if (atomic_compare_exchange_strong(
			    place_of(tid, i), &none, (uint64_t)tid << 32 | (place + 1)))
			return true;
	}
	return false;
}

/* A handler that finds it from now on finds nothing. */
static void leave(int tid)
{
	for (unsigned i = 0; i < PLACES_MAX; i++)
		if (atomic_load(place_of(tid, i)) >> 32 == (uint64_t)tid)
			atomic_store(place_of(tid, i), 0);
}

static struct dnp_thread *record_at(uint32_t place)
{
	return atomic_load_explicit(&all[place], memory_order_relaxed);
}

static size_t own_words(uint32_t depth)
{
	return dnp_feed_words(depth, DNP_RING_WORDS);
}

static size_t outside_words(uint32_t depth)
{
	return dnp_feed_words(depth, DNP_RING_WORDS_OUTSIDE);
}

static size_t record_bytes(uint32_t depth)
{
	size_t bytes = sizeof(struct dnp_thread) + dnp_feed_bytes(depth, own_words(depth)) +
		dnp_feed_bytes(depth, outside_words(depth));

	return (bytes + 4095) & ~(size_t)4095;
}

/* One mapping holds all of a record; pages count only once they are touched. */
static struct dnp_thread *map_record(void)
{
	void *memory;

	if (n_all == DNP_THREADS_MAX)
		return NULL;
	memory = dnp_mem_map(record_bytes(max_depth));
	if (!memory)
		return NULL;
	room[n_all] = max_depth;
	/* Pairs with dnp_thread_at. */
	atomic_store_explicit(&all[n_all], memory, memory_order_release);
	n_all++;
	return memory;
}

/* One that this recording has not used: of one before, or a new one. */
static struct dnp_thread *fresh_record(void)
{
	struct dnp_thread *thread;

	/* Too small ones wait for a recording of less deep stacks. */
	while (n_tried < n_all && room[n_tried] < max_depth)
		n_tried++;
	thread = n_tried < n_all ? record_at(n_tried) : map_record();
	if (!thread)
		return NULL;
	/* A callback that was late may have written to it. */
	memset(thread, 0, sizeof(*thread));
	thread->place = n_tried++;
	dnp_feed_init(&thread->own, thread + 1, max_depth, own_words(max_depth));
	dnp_feed_init(&thread->outside,
		(char *)(thread + 1) + dnp_feed_bytes(max_depth, own_words(max_depth)), max_depth,
		outside_words(max_depth));
	return thread;
}

#define BEHIND_FEEDS (offsetof(struct dnp_thread, outside) + sizeof(struct dnp_feed))

_Static_assert(offsetof(struct dnp_thread, own) + sizeof(struct dnp_feed) ==
		offsetof(struct dnp_thread, outside),
	"feeds stand side by side");

/*
 * Fresh as a new mapping, but for the memory it owns. The thread that begins waits for this: most
 * of a record are counts of events that there are not.
 */
static void clear_record(struct dnp_thread *thread)
{
	uint32_t place = thread->place;
	char *begin = (char *)thread;

	dnp_feed_clear(&thread->own, max_events);
	dnp_feed_clear(&thread->outside, max_events);
	memset(begin, 0, offsetof(struct dnp_thread, own));
	memset(begin + BEHIND_FEEDS, 0, sizeof(*thread) - BEHIND_FEEDS);
	thread->place = place;
}

static struct dnp_thread **bucket_of(int tid)
{
	return &buckets[(unsigned)tid % BUCKETS];
}

static struct dnp_thread *find(int tid)
{
	struct dnp_thread *thread = *bucket_of(tid);

	while (thread && thread->tid != tid)
		thread = thread->next;
	return thread;
}

static struct dnp_thread *begin(int tid)
{
	struct dnp_thread *thread = unused;

	if (thread) {
		unused = thread->next;
		clear_record(thread);
	} else {
		thread = fresh_record();
		if (!thread)
			return NULL;
	}
	thread->tid = tid;
	thread->index = next_index++;
	thread->start_ns = dnp_now_ns();
	thread->start_cpu_ns = dnp_thread_cpu_ns(tid);
	thread->next = *bucket_of(tid);
	*bucket_of(tid) = thread;
	if (!enter(tid, thread->place))
		dnp_threads_lack(DNP_THREADS_REFUSED);
	return thread;
}

/* Those that have no record are met at each look, and counted once; with the lock. */
static bool is_told(int tid)
{
	uint64_t *word = &told[(unsigned)tid / 64 % TOLD_WORDS];
	uint64_t bit = UINT64_C(1) << (unsigned)tid % 64;
	bool was = *word & bit;

	*word |= bit;
	return was;
}

struct dnp_thread *dnp_thread_begin(int tid, int *is_new)
{
	struct dnp_thread *thread;

	pthread_mutex_lock(&lock);
	thread = find(tid);
	*is_new = !thread;
	if (!thread)
		thread = begin(tid);
	if (!thread && !is_told(tid))
		dnp_threads_lack(DNP_THREADS_REFUSED);
	pthread_mutex_unlock(&lock);
	return thread;
}

struct dnp_thread *dnp_thread_find(int tid)
{
	struct dnp_thread *thread;

	pthread_mutex_lock(&lock);
	thread = find(tid);
	pthread_mutex_unlock(&lock);
	return thread;
}

/*
 * A thread is listed before the kernel takes the time of its word, and whoever begins it may have
 * to wait for a processor in between. So one that lives is asked itself when it began; what is
 * known of that is early, by a tick at most.
 */
static bool was_listed_first(const struct dnp_thread *thread, uint64_t begun_ns)
{
	uint64_t ticks = dnp_task_start_ticks(dnp_process_id(), thread->tid);

	return ticks ? dnp_ticks_begin_ns(ticks) <= thread->start_ns
		     : begun_ns <= thread->start_ns + LISTED_NS;
}

bool dnp_thread_begun_at(struct dnp_thread *thread, uint64_t begun_ns)
{
	if (begun_ns <= thread->begun_ns)
		return true;
	/* One that is known to have begun before is another's. */
	if (begun_ns > thread->start_ns &&
		(thread->begun_ns || !was_listed_first(thread, begun_ns)))
		return false;
	thread->begun_ns = begun_ns;
	return true;
}

#define AT_ONCE 64u /* records that are looked at for the lock taken once */

/* Bit i: the record that is i places on, before n, is live. Only the caller ends records. */
static uint64_t live_from(uint32_t place, uint32_t n)
{
	uint64_t live = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < AT_ONCE && place + i < n; i++)
		if (record_at(place + i)->tid)
			live |= UINT64_C(1) << i;
	pthread_mutex_unlock(&lock);
	return live;
}

void dnp_threads_each(void (*visit)(struct dnp_thread *thread, void *context), void *context)
{
	/* Records only become more while there is a recording: the array can be walked without
	 * the lock. */
	uint32_t n;

	pthread_mutex_lock(&lock);
	n = n_tried;
	pthread_mutex_unlock(&lock);
	for (uint32_t i = 0; i < n; i += AT_ONCE)
		for (uint64_t live = live_from(i, n); live; live &= live - 1)
			visit(record_at(i + (uint32_t)__builtin_ctzll(live)), context);
}

struct quiet {
	int busy;
};

static void look_if_busy(struct dnp_thread *thread, void *context)
{
	struct quiet *quiet = context;
	uint32_t then = thread->handling_then;

	/* Pairs with the release at the handler's end. */
	if ((then & 1) && atomic_load_explicit(&thread->handling, memory_order_acquire) == then)
		quiet->busy = 1;
}

static void note_handling(struct dnp_thread *thread, void *context)
{
	(void)context;
	thread->handling_then = atomic_load(&thread->handling);
}

uint64_t dnp_threads_quiet_since(void)
{
	struct quiet quiet = {0};

	dnp_threads_each(look_if_busy, &quiet);
	if (quiet.busy)
		return quiet_ns;
	quiet_ns = sought_ns;
	sought_ns = dnp_now_ns();
	dnp_threads_each(note_handling, NULL);
	return quiet_ns;
}

void dnp_thread_set_stack(struct dnp_thread *thread, uintptr_t low, uintptr_t high)
{
	/* A handler may come between any two of these: it finds both bounds or neither. */
	thread->stack.high = 0;
	atomic_signal_fence(memory_order_seq_cst);
	thread->stack.low = low;
	atomic_signal_fence(memory_order_seq_cst);
	thread->stack.high = high;
	atomic_store_explicit(&thread->told_low, low, memory_order_relaxed);
	/* Pairs with dnp_thread_told_stack. */
	atomic_store_explicit(&thread->told_high, high, memory_order_release);
}

struct dnp_stack_range dnp_thread_told_stack(const struct dnp_thread *thread)
{
	uintptr_t high = atomic_load_explicit(&thread->told_high, memory_order_acquire);

	return (struct dnp_stack_range){
		atomic_load_explicit(&thread->told_low, memory_order_relaxed), high};
}

void dnp_thread_rename(struct dnp_thread *thread, char *name)
{
	free(atomic_exchange(&thread->new_name, name));
}

const char *dnp_thread_given_name(struct dnp_thread *thread)
{
	char *name = atomic_exchange(&thread->new_name, NULL);

	if (name) {
		free(thread->given_name);
		thread->given_name = name;
		thread->name_told = 0;
	}
	return thread->given_name;
}

/* One may be at work on a thread that has got the number of the one that has gone. */
static void wait_for_handler(const struct dnp_thread *thread)
{
	uint32_t seen = atomic_load(&thread->handling);

	while ((seen & 1) && atomic_load(&thread->handling) == seen &&
		dnp_thread_exists(thread->tid))
		dnp_sleep_until_ns(dnp_now_ns() + 50000);
}

void dnp_thread_leave(struct dnp_thread *thread)
{
	pthread_mutex_lock(&lock);
	leave(thread->tid);
	pthread_mutex_unlock(&lock);
	wait_for_handler(thread);
}

void dnp_thread_release(struct dnp_thread *thread)
{
	struct dnp_thread **link;

	free(atomic_exchange(&thread->new_name, NULL));
	free(thread->given_name);
	thread->given_name = NULL;
	dnp_thread_leave(thread);
	pthread_mutex_lock(&lock);
	for (link = bucket_of(thread->tid); *link != thread; link = &(*link)->next)
		;
	*link = thread->next;
	thread->tid = 0;
	thread->next = unused;
	unused = thread;
	pthread_mutex_unlock(&lock);
}

size_t dnp_threads_bytes(void)
{
	/* The ring of its own, and the first page of the other pieces. */
	size_t touched = sizeof(struct dnp_thread) + sizeof(uint64_t) * DNP_RING_WORDS + 4 * 4096;
	size_t bytes;

	pthread_mutex_lock(&lock);
	bytes = n_tried * touched;
	pthread_mutex_unlock(&lock);
	return bytes;
}

/* With the lock: no thread is known any more. */
static void forget_all(void)
{
	memset(buckets, 0, sizeof(buckets));
	unused = NULL;
	n_tried = next_index = 0;
	sought_ns = quiet_ns = 0;
	for (unsigned what = 0; what < DNP_THREADS_LACKS; what++)
		atomic_store(&lacking[what], 0);
	memset(told, 0, sizeof(told));
}

void dnp_threads_done(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < n_tried; i++) {
		struct dnp_thread *thread = record_at(i);

		free(atomic_exchange(&thread->new_name, NULL));
		free(thread->given_name);
		if (thread->tid)
			leave(thread->tid);
		dnp_mem_clear(thread, record_bytes(room[i]));
	}
	forget_all();
	pthread_mutex_unlock(&lock);
}

void dnp_threads_unmap(void)
{
	dnp_threads_done();
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < n_all; i++) {
		struct dnp_thread *thread = record_at(i);

		atomic_store(&all[i], NULL);
		dnp_mem_unmap(thread, record_bytes(room[i]));
	}
	n_all = 0;
	pthread_mutex_unlock(&lock);
}
