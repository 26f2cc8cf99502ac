/* SPDX-License-Identifier: MIT */
/*
 * Rings are in a list that only grows; one whose thread has ended and that is empty is FREE, its
 * pages are given back, and the next thread takes it. `head` and `tail` count for ever.
 *
 * An event has the lower bits of its time alone: since the writer sees it hours before these are
 * all used up, its own clock tells the rest.
 */
#include "capture/call_events.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "os/clock.h"
#include "os/mem.h"
#include "os/thread.h"
#include "os/ticks.h"
#include "os/word.h"

/*
 * What a thread with a full ring is held up at most: longer than a busy machine keeps the writer
 * from running (100 ms and more were seen), or a disk from writing.
 */
#define WAIT_NS  UINT64_C(500000000)
#define SPIN_NS  UINT64_C(20000)   /* of this without giving the processor away */
#define YIELD_NS UINT64_C(1000000) /* … without sleeping */
#define PAUSE_NS 200000            /* that it sleeps then */

#define BLOCK_SHARE 8                   /* parts of a ring: one that is full is worth a block */
#define MUCH_SHARE  4                   /* … is worth another look at once */
#define OLD_NS      UINT64_C(100000000) /* events that are so old are written */
#define NAP_NS      UINT64_C(1000000)   /* between two looks at all rings */
#define SLEEP_NS    UINT64_C(10000000)  /* when nothing has happened for OLD_NS */
#define SKEW_UNITS  (UINT64_C(1) << 28) /* that an event may seem to be in the future */

#define PAGE 4096

/* A ring that is FREE becomes some thread's; from MADE to LIVE, that one's alone. */
enum ring_state { RING_FREE, RING_MADE, RING_LIVE, RING_ENDED };

/* The first so many rings have that many events each: memory grows slower than threads. */
static const struct {
	uint32_t rings, events;
} ring_sizes[] = {{32, 131072}, {128, 32768}, {UINT32_MAX, 8192}};

_Atomic uint32_t dnp_call_events_off = 1;

static struct {
	unsigned event;
	void (*also)(struct dnp_writer *writer, unsigned event); /* NULL: nothing */
	_Atomic(struct dnp_call_ring *) rings;                   /* all that there are */
	_Atomic uint32_t n_rings;
	_Atomic size_t bytes;
	_Atomic uint64_t waits; /* of rings that are FREE */
	struct dnp_ticks_clock clock;

	/* The writer thread's, the recorder's before it starts and after it has ended. */
	struct dnp_own_thread thread;
	struct dnp_writer writer;
	int joined;           /* there is a writer */
	uint64_t flushed_ns;  /* when its chunk was last empty */
	uint64_t happened_ns; /* when there were events last */
	_Atomic uint32_t ending, sleeping;
	_Atomic uint64_t written[DNP_CALL_KINDS], open, lost;
} events;

/* Of threads for which there is no memory: has no room, ever. */
static struct dnp_call_ring no_ring;

static struct dnp_call_encoder encoder;

static void add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t value(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- The thread's side */

static uint64_t ring_events(const struct dnp_call_ring *ring)
{
	return ring->mask + 1;
}

static void wake_writer(void)
{
	if (!atomic_exchange(&events.sleeping, 0))
		return;
	dnp_word_wake(&events.sleeping);
}

static uint64_t taken(const struct dnp_call_ring *ring)
{
	/* Pairs with the release in take: what was there has been read. */
	return atomic_load_explicit(&ring->tail, memory_order_acquire);
}

/* Lets others run, the more the longer it has been waited. */
static void give_way(uint64_t passed)
{
	if (passed < SPIN_NS)
		return;
	wake_writer();
	if (passed < YIELD_NS)
		sched_yield();
	else
		dnp_sleep_until_ns(dnp_now_ns() + PAUSE_NS);
}

/* Waits until an event fits. False: it took too long. */
static bool wait_for_room(struct dnp_call_ring *ring, uint64_t head)
{
	uint64_t start = dnp_now_ns(), passed;

	add(&ring->waits, 1);
	do {
		for (int i = 0; i < 32; i++) {
			if (head - taken(ring) < ring_events(ring))
				return true;
			__builtin_ia32_pause();
		}
		if (atomic_load_explicit(&dnp_call_events_off, memory_order_relaxed))
			return false;
		passed = dnp_now_ns() - start;
		give_way(passed);
	} while (passed < WAIT_NS);
	return false;
}

/* Up to where hooks need not ask: the end of the room, and half-way to see to the writer. */
static void set_limit(struct dnp_call_ring *ring, uint64_t head)
{
	uint64_t half = ring_events(ring) / 2, full = taken(ring) + ring_events(ring);
	uint64_t next = (head / half + 1) * half;

	ring->limit = next < full ? next : full;
}

static void store(struct dnp_call_ring *ring, uint64_t head, uint64_t word)
{
	ring->events[head & ring->mask] = word;
	/* The writer that acquires it sees the event. */
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

static void drop(struct dnp_call_ring *ring, enum dnp_call_kind kind)
{
	add(&ring->lost, 1);
	if (ring == &no_ring)
		return;
	ring->limit = 0;
	ring->rose += kind == DNP_CALL_ENTER ? 1 : -1;
	if (ring->rose < ring->fell)
		ring->fell = ring->rose;
}

static uint64_t at_most_32_bits(int64_t n)
{
	return n < UINT32_MAX ? (uint64_t)n : UINT32_MAX;
}

#define GAP_WORDS 3

/* Tells what was dropped, if half of the ring is free again. */
static bool close_gap(struct dnp_call_ring *ring, uint64_t head)
{
	uint64_t words[GAP_WORDS] = {
		dnp_call_word(0, DNP_CALL_ENTER, dnp_ticks()),
		value(&ring->lost),
		at_most_32_bits(-ring->fell) << 32 | at_most_32_bits(ring->rose - ring->fell),
	};

	if (head - taken(ring) > ring_events(ring) / 2)
		return false;
	for (unsigned i = 0; i < GAP_WORDS; i++)
		ring->events[(head + i) & ring->mask] = words[i];
	atomic_store_explicit(&ring->lost, 0, memory_order_relaxed);
	ring->fell = ring->rose = 0;
	atomic_store_explicit(&ring->head, head + GAP_WORDS, memory_order_release);
	return true;
}

static void put(struct dnp_call_ring *ring, uint32_t method, enum dnp_call_kind kind)
{
	uint64_t head = value(&ring->head);

	if (ring == &no_ring || (value(&ring->lost) && !close_gap(ring, head))) {
		drop(ring, kind);
		return;
	}
	head = value(&ring->head);
	if (head >= ring->limit) {
		if (head - taken(ring) >= ring_events(ring) / 2)
			wake_writer();
		if (head - taken(ring) >= ring_events(ring) && !wait_for_room(ring, head)) {
			drop(ring, kind);
			return;
		}
		set_limit(ring, head);
	}
	store(ring, head, dnp_call_word(method, kind, dnp_ticks()));
}

void dnp_call_events_put(struct dnp_call_ring *ring, uint32_t method, enum dnp_call_kind kind)
{
	int saved = errno;

	if (!atomic_load_explicit(&dnp_call_events_off, memory_order_relaxed))
		put(ring, method, kind);
	errno = saved;
}

/* ---- Rings */

static size_t ring_bytes(uint64_t n)
{
	return sizeof(struct dnp_call_ring) + n * sizeof(uint64_t) + sizeof(struct dnp_call_carry);
}

static struct dnp_call_ring *reuse_ring(void)
{
	struct dnp_call_ring *ring = atomic_load(&events.rings);

	for (; ring; ring = ring->next) {
		int state = RING_FREE;

		/* Not LIVE yet: the writer leaves it alone until it is as it should be. */
		if (atomic_compare_exchange_strong(&ring->state, &state, RING_MADE))
			return ring;
	}
	return NULL;
}

static struct dnp_call_ring *make_ring(void)
{
	uint32_t number = atomic_fetch_add(&events.n_rings, 1), size = 0;
	struct dnp_call_ring *ring;

	while (number >= ring_sizes[size].rings)
		size++;
	ring = dnp_mem_map(ring_bytes(ring_sizes[size].events));
	if (!ring)
		return NULL;
	ring->mask = ring_sizes[size].events - 1;
	ring->carry = (struct dnp_call_carry *)(void *)&ring->events[ring_sizes[size].events];
	atomic_init(&ring->state, RING_MADE);
	ring->next = atomic_load(&events.rings);
	while (!atomic_compare_exchange_weak(&events.rings, &ring->next, ring))
		;
	return ring;
}

struct dnp_call_ring *dnp_call_events_thread_begin(uint32_t thread)
{
	struct dnp_call_ring *ring = reuse_ring();

	if (!ring)
		ring = make_ring();
	if (!ring)
		return &no_ring;
	ring->thread = thread;
	ring->fell = ring->rose = 0;
	ring->depth = ring->last_ns = ring->since_ns = ring->told_lost = 0;
	ring->carry->n = 0;
	set_limit(ring, value(&ring->head));
	add(&events.bytes, ring_bytes(ring_events(ring)));
	atomic_store_explicit(&ring->state, RING_LIVE, memory_order_release);
	return ring;
}

void dnp_call_events_thread_end(struct dnp_call_ring *ring)
{
	if (ring != &no_ring)
		atomic_store_explicit(&ring->state, RING_ENDED, memory_order_release);
}

/* ---- The writer's side */

/* When an event was, in ticks. */
static uint64_t ticks_of(uint64_t word)
{
	uint64_t limit = dnp_ticks() / DNP_CALL_TIME_TICKS + SKEW_UNITS;

	return (limit - ((limit - dnp_call_word_time(word)) & DNP_CALL_TIME_MASK)) *
		DNP_CALL_TIME_TICKS;
}

/* A record of what the encoder holds, or of a loss with nothing behind it. */
static void write_record(
	struct dnp_call_ring *ring, uint64_t time_ns, uint64_t units, struct dnp_str block)
{
	struct dnp_rec_call_events rec = {
		.event = events.event,
		.thread = ring->thread,
		.time_ns = time_ns > ring->last_ns ? time_ns : ring->last_ns,
		.scale = events.clock.scale * DNP_CALL_TIME_TICKS,
		.count = block.n ? encoder.count : 0,
		.lost = ring->told_lost,
		.events = block,
		.depth = ring->depth,
		.kept = ring->told_lost ? ring->told_kept : ring->depth,
		.units = units,
	};

	if (dnp_write_call_events(&events.writer, &rec)) {
		/* The disk is full, and the recorder ends the recording. */
		add(&events.lost, rec.lost + rec.count);
		ring->told_lost += rec.count;
		return;
	}
	for (unsigned kind = 0; kind < DNP_CALL_KINDS && rec.count; kind++)
		atomic_fetch_add_explicit(
			&events.written[kind], encoder.kinds[kind], memory_order_release);
	add(&events.lost, ring->told_lost);
	ring->told_lost = 0;
	ring->last_ns = rec.time_ns;
	if (rec.count)
		ring->last_ns += dnp_ticks_scaled(rec.scale, encoder.time);
}

/* The next events of a ring in a block, up to `end`, or a gap; returns where it has come to. */
static uint64_t write_block(struct dnp_call_ring *ring, uint64_t at, uint64_t end)
{
	static uint8_t block[DNP_CALL_BLOCK_MAX];
	uint64_t first = ring->events[at & ring->mask];
	uint64_t time_ns = dnp_ticks_time_ns(&events.clock, ticks_of(first));
	size_t n, took;

	memset(encoder.kinds, 0, sizeof(encoder.kinds));
	dnp_call_encoder_begin(&encoder, block, sizeof(block), ring->depth, ring->carry);
	do {
		n = ring_events(ring) - (at & ring->mask);
		if (n > end - at)
			n = end - at;
		took = dnp_call_encoder_add(&encoder, &ring->events[at & ring->mask], n);
		at += took;
	} while (took == n && at < end);
	/* Pairs with the acquire in taken: all is read. */
	atomic_store_explicit(&ring->tail, at, memory_order_release);
	if (!encoder.count)
		return at;
	write_record(ring, time_ns, dnp_call_word_time(first),
		(struct dnp_str){(const char *)block, (size_t)(encoder.out - block)});
	ring->depth = encoder.depth;
	dnp_call_encoder_end(&encoder);
	return at;
}

static void note_gap(struct dnp_call_ring *ring, uint64_t lost, uint64_t fell, uint64_t rose)
{
	uint64_t kept = ring->depth > fell ? ring->depth - fell : 0;

	if (!ring->told_lost || kept < ring->told_kept)
		ring->told_kept = kept;
	ring->told_lost += lost;
	ring->depth = kept + rose;
	ring->carry->n = 0;
}

static bool is_gap(const struct dnp_call_ring *ring, uint64_t at)
{
	return !dnp_call_word_method(ring->events[at & ring->mask]);
}

/* All up to `end`. */
static void take(struct dnp_call_ring *ring, uint64_t at, uint64_t end)
{
	while (at < end) {
		if (is_gap(ring, at)) {
			uint64_t depth = ring->events[(at + 2) & ring->mask];

			note_gap(ring, ring->events[(at + 1) & ring->mask], depth >> 32,
				depth & UINT32_MAX);
			at += GAP_WORDS;
			atomic_store_explicit(&ring->tail, at, memory_order_release);
		}
		if (at < end)
			at = write_block(ring, at, end);
	}
}

/* The thread puts nothing any more: what is left to be told of it. */
static void tell_end(struct dnp_call_ring *ring, uint64_t now_ns)
{
	uint64_t lost = atomic_exchange_explicit(&ring->lost, 0, memory_order_relaxed);

	if (lost)
		note_gap(ring, lost, (uint64_t)-ring->fell, (uint64_t)(ring->rose - ring->fell));
	if (ring->told_lost)
		write_record(ring, now_ns, 0, (struct dnp_str){0});
	add(&events.open, ring->depth);
}

static void free_ring(struct dnp_call_ring *ring)
{
	add(&events.waits, atomic_exchange(&ring->waits, 0));
	atomic_fetch_sub(&events.bytes, ring_bytes(ring_events(ring)));
	dnp_mem_clear((char *)ring + PAGE, ring_bytes(ring_events(ring)) - PAGE);
	atomic_store_explicit(&ring->state, RING_FREE, memory_order_release);
}

/* Takes what is worth it from a ring; all when this is the `last` time. Whether there was much. */
static bool look(struct dnp_call_ring *ring, uint64_t now_ns, bool last)
{
	/* Pairs with the releases in _thread_begin and _thread_end. */
	int state = atomic_load_explicit(&ring->state, memory_order_acquire);
	uint64_t head, tail, n;

	if (state != RING_LIVE && state != RING_ENDED)
		return false;
	/* Pairs with the release in store; hooks store in order. */
	head = atomic_load_explicit(&ring->head, memory_order_acquire);
	tail = value(&ring->tail);
	n = head - tail;
	last |= state == RING_ENDED;
	if (n && !ring->since_ns)
		ring->since_ns = events.happened_ns = now_ns;
	if (n >= ring_events(ring) / BLOCK_SHARE ||
		(n && (last || now_ns - ring->since_ns > OLD_NS))) {
		take(ring, tail, head);
		ring->since_ns = 0;
	}
	if (last)
		tell_end(ring, now_ns);
	if (state == RING_ENDED)
		free_ring(ring);
	return n >= ring_events(ring) / MUCH_SHARE;
}

static bool look_at_all(bool last)
{
	struct dnp_call_ring *ring = atomic_load(&events.rings);
	uint64_t now_ns;
	bool much = false;

	dnp_ticks_refine(&events.clock);
	now_ns = events.clock.ns;
	for (; ring; ring = ring->next)
		much |= look(ring, now_ns, last);
	if (events.also)
		events.also(&events.writer, events.event);
	if (!events.writer.used)
		events.flushed_ns = now_ns;
	if (now_ns - events.flushed_ns > OLD_NS)
		dnp_writer_flush(&events.writer);
	return much;
}

static void nap(void)
{
	uint64_t ns = events.clock.ns - events.happened_ns < OLD_NS ? NAP_NS : SLEEP_NS;

	atomic_store(&events.sleeping, 1);
	if (!atomic_load(&events.ending))
		dnp_word_wait(&events.sleeping, 1, ns);
	atomic_store(&events.sleeping, 0);
}

static void *write_events(void *context)
{
	(void)context;
	dnp_thread_set_name("dnprof-calls");
	while (!atomic_load(&events.ending))
		if (!look_at_all(false))
			nap();
	return NULL;
}

/* ---- For the engine */

void dnp_call_events_start(unsigned event)
{
	events.event = event;
	dnp_ticks_begin(&events.clock);
	atomic_store(&dnp_call_events_off, 0);
}

void dnp_call_events_also(void (*write)(struct dnp_writer *writer, unsigned event))
{
	events.also = write;
}

void dnp_call_events_stop(void)
{
	atomic_store(&dnp_call_events_off, 1);
}

static int begin_writing(const struct dnp_writer *writer)
{
	int status = dnp_writer_join(&events.writer, writer);

	if (status)
		return status;
	events.joined = 1;
	return dnp_own_thread_start(&events.thread, write_events, NULL);
}

static int end_writing(void)
{
	atomic_store(&events.ending, 1);
	wake_writer();
	dnp_own_thread_join(&events.thread);
	look_at_all(true);
	events.joined = 0;
	return dnp_writer_close(&events.writer);
}

int dnp_call_events_write(struct dnp_writer *writer, int last)
{
	int status = 0;

	if (!events.joined)
		status = begin_writing(writer);
	if (!events.joined)
		return status;
	if (last)
		return end_writing();
	/* Where the system has no thread for us, this one does what it can. */
	if (!events.thread.running)
		look_at_all(false);
	return status;
}

struct dnp_call_totals dnp_call_events_totals(void)
{
	struct dnp_call_totals totals = {
		.open = value(&events.open),
		.waits = value(&events.waits),
		.lost = value(&events.lost) + value(&no_ring.lost),
	};
	const struct dnp_call_ring *ring = atomic_load(&events.rings);

	/* Ends first, which are added last: none is here without its begin. */
	for (unsigned kind = DNP_CALL_KINDS; kind-- > 0;)
		totals.events[kind] =
			atomic_load_explicit(&events.written[kind], memory_order_acquire);
	for (; ring; ring = ring->next)
		totals.waits += value(&ring->waits);
	return totals;
}

size_t dnp_call_events_bytes(void)
{
	return atomic_load_explicit(&events.bytes, memory_order_relaxed);
}
