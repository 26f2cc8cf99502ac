/* SPDX-License-Identifier: MIT */
/*
 * What is allocated, and where: the runtime tells of some objects, and each stands for as many
 * bytes as make the sum right.
 *
 * .NET 10 chooses at random (AllocationSampled), so a sample weighs the size of its object divided
 * by the probability that it was chosen: sums have no bias, and how far they may be off is known
 * (Horvitz and Thompson 1952). Before it the object is told of by which another 100 KiB are full
 * (AllocationTick): it weighs all that came since the last one.
 *
 * Of these samples as many are kept as were asked for: one that weighs less than that stays with
 * the probability weight by wanted, and then weighs what was wanted. That keeps sums right, too.
 * More is wanted of each where a program allocates very much (throttle.h), and while the recorder
 * gets no turn to empty a thread's ring: none is lost.
 *
 * Tens of thousands of events may come in a second of which a few are kept: so it is decided with
 * as little of each as can be, and only then is it looked at who and what it was.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "capture/engine.h"
#include "capture/happened.h"
#include "capture/live.h"
#include "capture/thin.h"
#include "capture/throttle.h"
#include "clr/allocation.h"
#include "clr/prf.h"
#include "os/clock.h"

/* Written in start, before the first event can come. */
static struct {
	const struct dnp_engine_setting *setting;
	unsigned event;
	bool at_random; /* the runtime chooses so */
	uint64_t asked_bytes;
	/* The recorder's. */
	struct dnp_throttle throttle;
	uint64_t most_bytes, told_bytes; /* that were wanted, about; and as the recording says */
	bool hurried;                    /* a copy of it is wanted */
	char source[64];
} alloc;

static _Atomic uint64_t wanted_bytes; /* the recorder changes it */
static _Atomic uint64_t kept;
static _Atomic uint64_t turns;
static _Atomic uint64_t not_understood; /* events */

/* Threads take turns at one counter. */
static double next_lot(void)
{
	return dnp_lot(DNP_LOT_STEP +
		atomic_fetch_add_explicit(&turns, DNP_LOT_STEP, memory_order_relaxed));
}

static double stands_for(const struct dnp_delivered *delivered)
{
	uint64_t said = alloc.at_random
		? dnp_allocation_sampled_bytes(
			  delivered->data, delivered->bytes, delivered->version)
		: dnp_allocation_tick_amount(delivered->data, delivered->bytes);

	return said && alloc.at_random ? dnp_allocation_stands_for(said) : (double)said;
}

static int decode(const struct dnp_delivered *delivered, struct dnp_allocation *allocation)
{
	if (alloc.at_random)
		return dnp_allocation_sampled(delivered->data, delivered->bytes, allocation);
	return dnp_allocation_tick(
		delivered->data, delivered->bytes, delivered->version, allocation);
}

static bool is_allocation(const struct dnp_delivered *delivered)
{
	return delivered->provider == DNP_PROVIDER_RUNTIME &&
		delivered->id ==
		(alloc.at_random ? DNP_EVENT_ALLOCATION_SAMPLED : DNP_EVENT_ALLOCATION_TICK);
}

static uint32_t label_of(const struct dnp_allocation *allocation)
{
	char buffer[DNP_LABEL_BYTES_MAX];
	struct dnp_text type;

	dnp_text_init(&type, buffer, sizeof(buffer));
	dnp_allocation_type(allocation, &type);
	return alloc.setting->type_label(allocation->type, dnp_text_since(&type, 0));
}

/* On the thread that allocates; 0: nothing of it is recorded. */
static uint64_t wanted_here(uint64_t wanted)
{
	const struct dnp_thread *thread = dnp_happened_on(alloc.setting);
	const struct dnp_ring *ring;

	if (!thread)
		return 0;
	ring = &thread->own.ring;
	return wanted << dnp_shortage(dnp_ring_room(ring), ring->size / 4);
}

static void keep(const struct dnp_delivered *delivered, double bytes, double lot, uint64_t wanted)
{
	struct dnp_allocation allocation;
	struct dnp_happening happening = {.event = alloc.event};

	if (decode(delivered, &allocation)) {
		atomic_fetch_add_explicit(&not_understood, 1, memory_order_relaxed);
		return;
	}
	wanted = wanted_here(wanted);
	happening.weight = wanted ? dnp_thin(bytes, lot, wanted) : 0;
	if (!happening.weight)
		return;
	atomic_fetch_add_explicit(&kept, 1, memory_order_relaxed);
	happening.time_ns = dnp_now_ns();
	happening.value = allocation.bytes;
	happening.label = label_of(&allocation);
	dnp_live_happened(alloc.setting, &happening, &allocation, bytes, lot, wanted);
}

/* Of a layout that is not known nothing is said, and that is counted. */
static void alloc_delivered(const struct dnp_delivered *delivered)
{
	uint64_t wanted = atomic_load_explicit(&wanted_bytes, memory_order_relaxed);
	double bytes, lot;

	if (!is_allocation(delivered))
		return;
	bytes = stands_for(delivered);
	lot = next_lot();
	if (bytes <= 0 || dnp_thin(bytes, lot, wanted))
		keep(delivered, bytes, lot, wanted);
}

static void alloc_wishes(struct dnp_provider_wish *wishes)
{
	if (alloc.at_random)
		dnp_wish(&wishes[DNP_PROVIDER_RUNTIME], DNP_KEYWORD_ALLOCATION_SAMPLING,
			COR_PRF_EVENTPIPE_INFORMATIONAL);
	else
		dnp_wish(&wishes[DNP_PROVIDER_RUNTIME], DNP_KEYWORD_GC, COR_PRF_EVENTPIPE_VERBOSE);
}

static int alloc_start(
	const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	(void)err;
	alloc.setting = setting;
	alloc.event = index;
	alloc.at_random = setting->runtime >= 10;
	alloc.asked_bytes = alloc.most_bytes = alloc.told_bytes = setting->options->alloc_bytes;
	alloc.throttle = dnp_throttle(setting->options->alloc_stacks, dnp_now_ns());
	snprintf(alloc.source, sizeof(alloc.source), "%s, one for %llu KiB",
		alloc.at_random ? "AllocationSampled" : "AllocationTick",
		(unsigned long long)alloc.asked_bytes >> 10);
	atomic_store(&wanted_bytes, alloc.asked_bytes);
	atomic_store(&kept, 0);
	atomic_store(&turns, dnp_now_ns());
	atomic_store(&not_understood, 0);
	return 0;
}

static void alloc_look(void)
{
	uint64_t wanted = dnp_throttle_wanted(&alloc.throttle, alloc.asked_bytes,
		atomic_load_explicit(&wanted_bytes, memory_order_relaxed),
		atomic_load_explicit(&kept, memory_order_relaxed), dnp_now_ns());

	atomic_store_explicit(&wanted_bytes, wanted, memory_order_relaxed);
	if (wanted > alloc.most_bytes)
		alloc.most_bytes = wanted;
}

static const char *alloc_source(void)
{
	return alloc.source;
}

static const char *alloc_note(void)
{
	return alloc.at_random
		? ""
		: "before .NET 10 the runtime does not choose at random, but tells of the object "
		  "by which another 100 KiB are full; where a program allocates in step with "
		  "that, shares are biased and error bars too short";
}

/* No event is delivered by now. */
static void alloc_stop(void)
{
}

static void alloc_failures(unsigned index, dnp_failure_tell tell)
{
	tell(index, "event of an unknown layout",
		atomic_load_explicit(&not_understood, memory_order_relaxed));
}

static uint64_t alloc_lot(void)
{
	return alloc.most_bytes;
}

/* Not for each bit that it grows by. */
static void alloc_write(struct dnp_writer *writer, int last)
{
	bool whole = last || alloc.hurried;

	alloc.hurried = false;
	if (alloc.most_bytes <= alloc.told_bytes + (whole ? 0 : alloc.told_bytes / 4))
		return;
	dnp_engine_note(&dnp_engine_alloc, alloc.event, writer, alloc_note());
	alloc.told_bytes = alloc.most_bytes;
}

static void alloc_hurry(void)
{
	alloc.hurried = true;
}

const struct dnp_engine dnp_engine_alloc = {
	.event = "alloc",
	.unit = "bytes",
	.walks = true,
	.happens = true,
	.wishes = alloc_wishes,
	.delivered = alloc_delivered,
	.start = alloc_start,
	.source = alloc_source,
	.lot = alloc_lot,
	.note = alloc_note,
	.look = alloc_look,
	.write = alloc_write,
	.hurry = alloc_hurry,
	.writes_seldom = true,
	.stop = alloc_stop,
	.failures = alloc_failures,
};
