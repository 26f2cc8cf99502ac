/* SPDX-License-Identifier: MIT */
/* A sample that stands for several moments of a system call, of which a trap's ring tells. */
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>

#include "capture/self.h"
#include "os/thread.h"
#include "os/x86_64/context.h"
#include "store/sample.h"
#include "test.h"
#include "unwind/native.h"

#define DEPTH   256
#define MOMENTS 8
#define WEIGHT  17 /* two of each moment, and one more of the last */
#define EVENTS  2

static struct dnp_thread *thread;

/* A processor's ring as the kernel maps it: a page of control, then 16 of records. */
static struct {
	union {
		struct perf_event_mmap_page page;
		char bytes[4096];
	};
	uint64_t words[16 * 4096 / 8];
} ring;

/* What os/traps.h asks for of each moment: here one frame of the kernel's. */
struct record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time_ns, n, ips[2], abi, pc;
};

/* The newest first; what the ring has behind them is no record. */
static void tell_moments(uintptr_t pc)
{
	for (unsigned i = 0; i < MOMENTS; i++) {
		struct record record = {
			.header = {.type = PERF_RECORD_SAMPLE, .size = sizeof(record)},
			.tid = (uint32_t)dnp_thread_id(),
			.time_ns = 1000 - i,
			.n = 2,
			.ips = {(uint64_t)PERF_CONTEXT_KERNEL, UINT64_C(0xffffffff81000000) + i},
			.abi = PERF_SAMPLE_REGS_ABI_64,
			.pc = pc,
		};

		memcpy(&ring.words[i * sizeof(record) / 8], &record, sizeof(record));
	}
}

static void on_signal(int signo, siginfo_t *info, void *context)
{
	struct dnp_sample sample = {.time_ns = 1, .weight = WEIGHT};

	(void)signo;
	(void)info;
	tell_moments(dnp_regs_of(context).pc);
	CHECK(dnp_self_enter(thread));
	dnp_self_sample(thread, &sample, 1U << 1, 1, context);
	dnp_self_leave(thread);
}

static void begin(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	uintptr_t low, high;
	int is_new;

#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer calls handlers later, from a frame of its own");
#endif
	CHECK(dnp_native_refresh() >= 0);
	dnp_threads_init(DEPTH, DNP_EVENTS_MAX);
	thread = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(thread && !dnp_thread_stack(&low, &high));
	dnp_thread_set_stack(thread, low, high);
	thread->sampler.source = DNP_SAMPLER_TRAPS;
	thread->sampler.trap = &ring;
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

static uint64_t lost(unsigned event)
{
	return thread->own.counts[event].lost[DNP_LOSS_RING];
}

struct found {
	uint64_t weight[EVENTS];
	unsigned samples[EVENTS];
};

/* The samples from `at` on. */
static struct found read_from(uint64_t at)
{
	struct found found = {0};

	while (at < thread->own.ring.head) {
		uint64_t words[DNP_SAMPLE_WORDS];
		struct dnp_sample sample;

		dnp_ring_read(&thread->own.ring, at, words, DNP_SAMPLE_WORDS);
		sample = dnp_sample_unpack(words);
		CHECK(sample.event < EVENTS);
		found.weight[sample.event] += sample.weight;
		found.samples[sample.event]++;
		at += dnp_sample_words(&sample) + sample.written;
	}
	return found;
}

/* Leaves so many words of the thread's ring free. */
static void leave_room(size_t words)
{
	struct dnp_ring *own = &thread->own.ring;
	uint64_t at;

	dnp_ring_release(own, own->head);
	CHECK(dnp_ring_reserve(own, own->size - words, &at));
	dnp_ring_commit(own, at + own->size - words);
}

/* With so much room: the samples of the first event that were stored. */
static unsigned take_with_room(size_t words)
{
	uint64_t before[EVENTS] = {lost(0), lost(1)}, at;
	struct found found;

	leave_room(words);
	at = thread->own.ring.head;
	raise(SIGUSR1);
	found = read_from(at);
	for (unsigned event = 0; event < EVENTS; event++)
		CHECK_EQ(found.weight[event] + lost(event) - before[event], WEIGHT);
	return found.samples[0];
}

TEST(moments_of_a_sample_are_stored_or_counted_as_lost)
{
	size_t size;
	uint32_t seen = 0; /* bit n: n moments of the first event were stored */

	begin();
	size = thread->own.ring.size;
	CHECK_EQ(take_with_room(size), MOMENTS);
	CHECK_EQ(lost(0) + lost(1), 0);
	CHECK_EQ(take_with_room(0), 0);
	CHECK_EQ(lost(0), WEIGHT);
	CHECK_EQ(lost(1), WEIGHT);
	for (size_t words = 1; !(seen & 1U << MOMENTS); words++) {
		CHECK(words < size);
		seen |= 1U << take_with_room(words);
	}
	/* With room for one moment alone, and for each other number. */
	CHECK_EQ(seen, (1U << (MOMENTS + 1)) - 1);
}
