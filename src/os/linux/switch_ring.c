/* SPDX-License-Identifier: MIT */
#include "os/linux/switch_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT (1 << 14)
#endif

#define RECORD_MAX  256 /* ours are 24 to 64 bytes */
#define SPACE_LEAST 64  /* what is longer than the space in a ring is lost */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int dnp_switch_ring_init(struct dnp_switch_ring *ring, size_t bytes, bool newest, bool with_id)
{
	int rights = newest ? PROT_READ : PROT_READ | PROT_WRITE;
	void *pages = mmap(NULL, page_bytes() + bytes, rights, MAP_SHARED, ring->fd, 0);

	if (pages == MAP_FAILED)
		return -errno;
	ring->pages = pages;
	ring->bytes = bytes;
	ring->newest = newest;
	ring->with_id = with_id;
	if (newest) {
		ring->copy = malloc(bytes);
		if (!ring->copy) {
			dnp_switch_ring_done(ring);
			return -ENOMEM;
		}
	}
	return 0;
}

void dnp_switch_ring_done(struct dnp_switch_ring *ring)
{
	if (ring->pages)
		munmap(ring->pages, page_bytes() + ring->bytes);
	free(ring->copy);
	dnp_vec_done(&ring->found);
	ring->pages = NULL;
	ring->copy = NULL;
}

void dnp_switch_ring_pause(struct dnp_switch_ring *ring, bool pause)
{
	if (ring->newest)
		ioctl(ring->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, pause);
}

/* ---- Bytes */

static const char *data_of(const struct dnp_switch_ring *ring)
{
	return ring->newest ? ring->copy : (const char *)ring->pages + page_bytes();
}

/* Records lie across the end of the ring. */
static void copy_out(const struct dnp_switch_ring *ring, uint64_t at, void *to, size_t n)
{
	size_t begin = (size_t)at & (ring->bytes - 1), first = ring->bytes - begin;
	const char *data = data_of(ring);

	if (first > n)
		first = n;
	memcpy(to, data + begin, first);
	memcpy((char *)to + first, data, n - first);
}

/* False: there is no whole record from `at` to `end`. */
static bool header_at(const struct dnp_switch_ring *ring, uint64_t at, uint64_t end,
	struct perf_event_header *header)
{
	if (end - at < sizeof(*header) || end - at > ring->bytes)
		return false;
	copy_out(ring, at, header, sizeof(*header));
	return header->size >= sizeof(*header) && header->size <= end - at;
}

/* ---- Records */

struct sample_id { /* what ends each record */
	uint32_t pid, tid;
	uint64_t time;
	uint64_t id;
};

struct task_record {
	struct perf_event_header header;
	uint32_t pid, parent_pid, tid, parent_tid;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[16];
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

union record {
	struct perf_event_header header;
	struct task_record task;
	struct comm_record comm;
	struct lost_record lost;
	char bytes[RECORD_MAX];
};

static uint8_t kind_of_switch(uint16_t misc)
{
	if (!(misc & PERF_RECORD_MISC_SWITCH_OUT))
		return DNP_SWITCH_IN;
	return misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? DNP_SWITCH_PREEMPTED : DNP_SWITCH_WAITS;
}

/* False: it is none of ours. */
static bool decode(
	struct dnp_switch_ring *ring, const union record *record, struct dnp_switch_record *out)
{
	struct dnp_switch *it = &out->it;
	size_t id_bytes = sizeof(struct sample_id) - (ring->with_id ? 0 : sizeof(uint64_t));
	struct sample_id id = {0};
	uint64_t last_ns = ring->last_ns;

	if (record->header.size > RECORD_MAX || record->header.size < sizeof(uint64_t) + id_bytes)
		return false;
	memcpy(&id, record->bytes + record->header.size - id_bytes, id_bytes);
	*it = (struct dnp_switch){
		.time_ns = id.time, .pid = (int)id.pid, .tid = (int)id.tid, .cpu = ring->cpu};
	out->id = id.id;
	ring->last_ns = id.time;
	switch (record->header.type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		it->kind = kind_of_switch(record->header.misc);
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		it->kind =
			record->header.type == PERF_RECORD_FORK ? DNP_SWITCH_BEGIN : DNP_SWITCH_END;
		it->pid = (int)record->task.pid;
		it->tid = (int)record->task.tid;
		it->parent_tid = (int)record->task.parent_tid;
		return record->header.size >= sizeof(record->task) + id_bytes;
	case PERF_RECORD_COMM:
		it->kind = DNP_SWITCH_NAME;
		it->pid = (int)record->comm.pid;
		it->tid = (int)record->comm.tid;
		memcpy(it->name, record->comm.comm, sizeof(it->name));
		it->name[sizeof(it->name) - 1] = '\0';
		return true;
	case PERF_RECORD_LOST:
		it->kind = DNP_SWITCH_LOST;
		it->count = record->lost.lost;
		it->since_ns = last_ns;
		return record->header.size >= sizeof(record->lost);
	default: return false;
	}
}

/* ---- Reading */

/*
 * Where the records of a ring that is written backward begin, newest first; the oldest may be torn.
 * The head began at 0. Returns the time of the oldest, 0: they are all there.
 */
static uint64_t find_records(struct dnp_switch_ring *ring)
{
	uint64_t written = 0 - ring->head;
	uint64_t end = ring->head + (written < ring->bytes ? written : ring->bytes);
	struct perf_event_header header;

	ring->found.n = 0;
	ring->last_ns = 0;
	for (uint64_t at = ring->head; header_at(ring, at, end, &header); at += header.size)
		if (dnp_vec_push(&ring->found, (uint32_t)(at - ring->head)))
			break;
	if (written <= ring->bytes)
		return 0;
	return dnp_switch_ring_peek(ring) ? ring->next.it.time_ns : 0;
}

uint64_t dnp_switch_ring_begin(struct dnp_switch_ring *ring)
{
	struct perf_event_mmap_page *page = ring->pages;

	/* Pairs with the kernel's barrier between its data and its head. */
	ring->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	if (!ring->newest) {
		if (ring->bytes - (ring->head - page->data_tail) < SPACE_LEAST) {
			ring->full = true;
			ring->full_at = ring->head;
		}
		return 0;
	}
	memcpy(ring->copy, (const char *)ring->pages + page_bytes(), ring->bytes);
	ring->have = false;
	return find_records(ring);
}

static bool next_place(struct dnp_switch_ring *ring, uint64_t *at)
{
	struct perf_event_header header;

	if (ring->newest) {
		if (!ring->found.n)
			return false;
		*at = ring->head + ring->found.p[--ring->found.n];
		return true;
	}
	if (!header_at(ring, ring->at, ring->head, &header)) {
		ring->at = ring->head; /* nothing; or nothing that makes sense */
		return false;
	}
	*at = ring->at;
	if (ring->at >= ring->full_at) /* it tells of what is lost, or nothing is */
		ring->full = false;
	ring->at += header.size;
	return true;
}

bool dnp_switch_ring_peek(struct dnp_switch_ring *ring)
{
	uint64_t at;

	while (!ring->have && next_place(ring, &at)) {
		union record record;

		copy_out(ring, at, &record.header, sizeof(record.header));
		if (record.header.size > sizeof(record))
			continue;
		copy_out(ring, at, &record, record.header.size);
		ring->have = decode(ring, &record, &ring->next);
	}
	return ring->have;
}

void dnp_switch_ring_end(struct dnp_switch_ring *ring)
{
	struct perf_event_mmap_page *page = ring->pages;

	/* Release: the kernel writes over nothing that we still read. */
	if (!ring->newest)
		__atomic_store_n(&page->data_tail, ring->at, __ATOMIC_RELEASE);
}
