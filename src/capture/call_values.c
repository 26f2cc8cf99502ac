/* SPDX-License-Identifier: MIT */
#include "capture/call_values.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "format/call_codec.h"
#include "format/varint.h"
#include "os/clock.h"
#include "os/mem.h"

#define RING_BYTES ((size_t)4 << 20)   /* a power of two */
#define WAIT_NS    UINT64_C(20000000)  /* that a thread with a full ring is held up at most */
#define RECORD_MAX ((size_t)32 * 1024) /* bytes of values in one record, about */

struct dnp_call_values {
	_Atomic uint64_t head;              /* bytes put so far; the thread's */
	_Alignas(64) _Atomic uint64_t tail; /* bytes taken; the writer's */
	_Atomic uint64_t lost;
	bool full; /* the thread's: drops until half of it is free */
	struct dnp_call_values *listed;
	_Alignas(64) uint8_t bytes[RING_BYTES];
};

/* What stands in front of values in a ring. */
struct head {
	uint64_t word;
	uint32_t thread;
	uint32_t n; /* bytes that follow */
};

static struct dnp_call_values *_Atomic first;

struct dnp_call_values *dnp_call_values_new(void)
{
	struct dnp_call_values *ring = dnp_mem_map(sizeof(*ring));

	if (!ring)
		return NULL;
	ring->listed = atomic_load(&first);
	while (!atomic_compare_exchange_weak(&first, &ring->listed, ring))
		;
	return ring;
}

static void copy_in(struct dnp_call_values *ring, uint64_t at, const void *from, size_t n)
{
	size_t place = at % RING_BYTES, part = RING_BYTES - place < n ? RING_BYTES - place : n;

	memcpy(ring->bytes + place, from, part);
	memcpy(ring->bytes, (const uint8_t *)from + part, n - part);
}

static void copy_out(const struct dnp_call_values *ring, uint64_t at, void *to, size_t n)
{
	size_t place = at % RING_BYTES, part = RING_BYTES - place < n ? RING_BYTES - place : n;

	memcpy(to, ring->bytes + place, part);
	memcpy((uint8_t *)to + part, ring->bytes, n - part);
}

static uint64_t bytes_used(const struct dnp_call_values *ring, uint64_t head)
{
	/* Pairs with the release in take_ring: what was there has been read. */
	return head - atomic_load_explicit(&ring->tail, memory_order_acquire);
}

/* Waits until so many bytes may be put. False: it took too long. */
static bool wait_for_room(const struct dnp_call_values *ring, uint64_t head, size_t n)
{
	uint64_t end_ns = dnp_now_ns() + WAIT_NS;

	while (bytes_used(ring, head) + n > RING_BYTES) {
		if (dnp_now_ns() >= end_ns)
			return false;
		sched_yield();
	}
	return true;
}

/* Whether so many bytes may be put. */
static bool has_room(struct dnp_call_values *ring, uint64_t head, size_t n)
{
	uint64_t used = bytes_used(ring, head);

	if (ring->full && used > RING_BYTES / 2)
		return false;
	ring->full = used + n > RING_BYTES && !wait_for_room(ring, head, n);
	return !ring->full;
}

void dnp_call_values_put(struct dnp_call_values *ring, uint32_t thread, uint64_t word,
	const uint8_t *values, size_t n)
{
	struct head head = {word, thread, (uint32_t)n};
	uint64_t at = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (!has_room(ring, at, sizeof(head) + n)) {
		atomic_fetch_add_explicit(&ring->lost, 1, memory_order_relaxed);
		return;
	}
	copy_in(ring, at, &head, sizeof(head));
	copy_in(ring, at + sizeof(head), values, n);
	/* The writer that acquires it sees all of it. */
	atomic_store_explicit(&ring->head, at + sizeof(head) + n, memory_order_release);
}

/* --- the writer --- */

/* A record while it is filled. */
static struct {
	uint32_t thread;
	uint64_t time; /* of the last event in it */
	size_t n;
	uint8_t bytes[RECORD_MAX + DNP_CALL_VALUES_MAX + 3 * DNP_VARINT_MAX];
} record;

static void write_record(struct dnp_writer *writer, unsigned event)
{
	if (record.n)
		dnp_write_call_values(writer,
			&(struct dnp_rec_call_values){.event = event,
				.thread = record.thread,
				.values = {(const char *)record.bytes, record.n}});
	record.n = 0;
	record.time = 0;
}

static void add_number(uint64_t number)
{
	record.n = (size_t)(dnp_varint_put(record.bytes + record.n, number) - record.bytes);
}

static uint64_t take(
	struct dnp_call_values *ring, uint64_t at, struct dnp_writer *writer, unsigned event)
{
	struct head head;
	uint64_t time;

	copy_out(ring, at, &head, sizeof(head));
	if (record.n && (record.n > RECORD_MAX || record.thread != head.thread))
		write_record(writer, event);
	record.thread = head.thread;
	time = dnp_call_word_time(head.word);
	add_number((time - record.time) & DNP_CALL_TIME_MASK);
	record.time = time;
	add_number((uint64_t)dnp_call_word_method(head.word) << 2 | dnp_call_word_kind(head.word));
	add_number(head.n);
	copy_out(ring, at + sizeof(head), record.bytes + record.n, head.n);
	record.n += head.n;
	return at + sizeof(head) + head.n;
}

static void take_ring(struct dnp_call_values *ring, struct dnp_writer *writer, unsigned event)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint64_t at = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	while (at < head) {
		at = take(ring, at, writer, event);
		atomic_store_explicit(&ring->tail, at, memory_order_release);
	}
	write_record(writer, event);
}

void dnp_call_values_write(struct dnp_writer *writer, unsigned event)
{
	for (struct dnp_call_values *ring = atomic_load(&first); ring; ring = ring->listed)
		take_ring(ring, writer, event);
}

uint64_t dnp_call_values_lost(void)
{
	uint64_t lost = 0;

	for (struct dnp_call_values *ring = atomic_load(&first); ring; ring = ring->listed)
		lost += atomic_load_explicit(&ring->lost, memory_order_relaxed);
	return lost;
}
