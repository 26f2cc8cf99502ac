/* SPDX-License-Identifier: MIT */
#include "store/feed.h"

#include <string.h>

size_t dnp_feed_bytes(uint32_t depth, size_t words)
{
	return words * sizeof(uint64_t) + DNP_EVENTS_MAX * sizeof(struct dnp_counts) +
		(size_t)depth * 2 * sizeof(dnp_frame_word) +
		(size_t)depth * sizeof(struct dnp_path);
}

void dnp_feed_init(struct dnp_feed *feed, void *memory, uint32_t depth, size_t words)
{
	uint64_t *ring = memory;

	dnp_ring_init(&feed->ring, ring, words);
	feed->frames = ring + words;
	feed->before = feed->frames + depth;
	feed->reported = (struct dnp_counts *)(void *)(feed->before + depth);
	feed->path = (struct dnp_path *)(void *)(feed->reported + DNP_EVENTS_MAX);
}

void dnp_feed_clear(struct dnp_feed *feed)
{
	struct dnp_feed fresh = {
		.frames = feed->frames,
		.before = feed->before,
		.path = feed->path,
		.reported = feed->reported,
	};
	uint64_t *words = feed->ring.words;
	size_t size = feed->ring.size;

	memset(feed->reported, 0, DNP_EVENTS_MAX * sizeof(*feed->reported));
	memcpy(feed, &fresh, sizeof(fresh));
	dnp_ring_init(&feed->ring, words, size);
}

static SIGSAFE void count(_Atomic uint64_t *counter, uint64_t n)
{
	/* Only the producer writes: no read-modify-write is needed. */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

static SIGSAFE void count32(_Atomic uint32_t *counter, uint32_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

static SIGSAFE void count_walk(struct dnp_counts *counts, uint64_t ns)
{
	unsigned log2 = ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;
	unsigned quarter = log2 >= 2 ? (unsigned)(ns >> (log2 - 2)) & 3 : 0;
	unsigned bucket = log2 * 4 + quarter;

	count32(&counts->walks[bucket < DNP_WALK_BUCKETS ? bucket : DNP_WALK_BUCKETS - 1], 1);
	count(&counts->walk_ns, ns);
}

/* Frames that the walk has in common with the sample stored before, counted from the root. */
static SIGSAFE uint32_t shared_frames(const struct dnp_feed *feed, uint32_t n)
{
	const dnp_frame_word *now = feed->frames + n;
	const dnp_frame_word *before = feed->before + feed->n_before;
	uint32_t most = n < feed->n_before ? n : feed->n_before;
	uint32_t shared = 0;

	while (shared < most && now[-1] == before[-1]) {
		now--;
		before--;
		shared++;
	}
	return shared;
}

/* Puts a sample of `n` frames, of which it shares `shared` with the one before, into the ring. */
static SIGSAFE int write_sample(
	struct dnp_feed *feed, struct dnp_sample *sample, uint32_t n, uint32_t shared)
{
	uint64_t head[DNP_SAMPLE_WORDS];
	uint64_t at;

	sample->shared = (uint16_t)shared;
	sample->written = (uint16_t)(n - shared);
	if (!dnp_ring_reserve(&feed->ring, DNP_SAMPLE_WORDS + sample->written, &at))
		return 0;
	dnp_sample_pack(sample, head);
	dnp_ring_write(&feed->ring, at, head, DNP_SAMPLE_WORDS);
	dnp_ring_write(&feed->ring, at + DNP_SAMPLE_WORDS, feed->frames, sample->written);
	dnp_ring_commit(&feed->ring, at + DNP_SAMPLE_WORDS + sample->written);
	return 1;
}

static SIGSAFE int store(struct dnp_feed *feed, struct dnp_sample *sample, uint32_t n)
{
	uint32_t shared = sample->flags == feed->flags_before ? shared_frames(feed, n) : 0;
	dnp_frame_word *swap;

	if (!write_sample(feed, sample, n, shared))
		return 0;
	swap = feed->before;
	feed->before = feed->frames;
	feed->frames = swap;
	feed->n_before = n;
	feed->flags_before = sample->flags;
	return 1;
}

static SIGSAFE void count_sample(struct dnp_feed *feed, const struct dnp_sample *sample)
{
	struct dnp_counts *counts = &feed->counts[sample->event];

	count(&counts->samples, 1);
	count(&counts->frames, feed->n_before);
	count(&counts->truncated, feed->stop_before == DNP_STOP_DEPTH);
	count32(&counts->stops[feed->stop_before], 1);
}

SIGSAFE int dnp_feed_put(struct dnp_feed *feed, struct dnp_sample *sample, uint32_t n,
	enum dnp_walk_stop stop, uint64_t walk_ns)
{

	if (stop == DNP_STOP_DEPTH)
		sample->flags |= DNP_SAMPLE_TRUNCATED;
	else if (stop != DNP_STOP_END)
		sample->flags |= DNP_SAMPLE_INCOMPLETE;
	if (walk_ns)
		count_walk(&feed->counts[sample->event], walk_ns);
	if (!store(feed, sample, n)) {
		dnp_feed_lost(feed, sample->event, DNP_LOSS_RING, sample->weight);
		return 0;
	}
	feed->stop_before = (uint8_t)stop;
	count_sample(feed, sample);
	return 1;
}

SIGSAFE int dnp_feed_repeat(struct dnp_feed *feed, struct dnp_sample *sample)
{
	sample->flags = feed->flags_before;
	if (!write_sample(feed, sample, feed->n_before, feed->n_before)) {
		dnp_feed_lost(feed, sample->event, DNP_LOSS_RING, sample->weight);
		return 0;
	}
	count_sample(feed, sample);
	return 1;
}

SIGSAFE int dnp_feed_has_last(const struct dnp_feed *feed)
{
	return feed->n_before > 0;
}

SIGSAFE void dnp_feed_lost(
	struct dnp_feed *feed, unsigned event, enum dnp_loss_reason reason, uint32_t units)
{
	count32(&feed->counts[event].lost[reason], units);
}
