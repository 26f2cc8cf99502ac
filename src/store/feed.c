/* SPDX-License-Identifier: MIT */
#include "store/feed.h"

#include <string.h>

#include "format/agent_options.h"
#include "os/generation.h"

_Static_assert(
	DNP_FRAMES_MAX + DNP_UNWALKED_WORDS <= UINT16_MAX, "a sample's counters have 16 bits");

size_t dnp_feed_words(uint32_t depth, size_t least)
{
	size_t words = least;

	while (words < (size_t)depth * 2)
		words *= 2;
	return words;
}

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

void dnp_feed_clear(struct dnp_feed *feed, unsigned n_events)
{
	if (dnp_feed_is_used(feed)) {
		memset(feed->reported, 0, n_events * sizeof(*feed->reported));
		memset(feed->counts, 0, n_events * sizeof(*feed->counts));
		atomic_store_explicit(&feed->used, false, memory_order_relaxed);
	}
	feed->n_before = 0;
	feed->flags_before = feed->stop_before = 0;
	dnp_ring_init(&feed->ring, feed->ring.words, feed->ring.size);
}

static SIGSAFE struct dnp_counts *counts_of(struct dnp_feed *feed, unsigned event)
{
	atomic_store_explicit(&feed->used, true, memory_order_relaxed);
	return &feed->counts[event];
}

static SIGSAFE void count(_Atomic uint64_t *counter, uint64_t n)
{
	/* Only the producer writes: no read-modify-write is needed. */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* What belongs to it was counted before: see dnp_counts_are_new. */
static SIGSAFE void count_last(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_release);
}

bool dnp_counts_are_new(const struct dnp_counts *now, const struct dnp_counts *told)
{
	return atomic_load_explicit(&now->samples, memory_order_acquire) !=
		atomic_load_explicit(&told->samples, memory_order_relaxed) ||
		atomic_load_explicit(&now->walk_ns, memory_order_acquire) !=
		atomic_load_explicit(&told->walk_ns, memory_order_relaxed);
}

static SIGSAFE void count32(_Atomic uint32_t *counter, uint32_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

SIGSAFE unsigned dnp_walk_bucket(uint64_t ns)
{
	unsigned log2 = ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;
	unsigned quarter = log2 >= 2 ? (unsigned)(ns >> (log2 - 2)) & 3 : 0;
	unsigned bucket = log2 * 4 + quarter;

	return bucket < DNP_WALK_BUCKETS ? bucket : DNP_WALK_BUCKETS - 1;
}

static SIGSAFE void count_walk(struct dnp_counts *counts, uint64_t ns)
{
	count32(&counts->walks[dnp_walk_bucket(ns)], 1);
	count_last(&counts->walk_ns, ns);
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

/* Puts a sample and what it says is written into the ring. */
static SIGSAFE int write_words(struct dnp_feed *feed, struct dnp_sample *sample)
{
	uint64_t head[DNP_SAMPLE_WORDS_MAX], at;
	uint32_t words;

	dnp_sample_fit(sample);
	words = dnp_sample_words(sample);
	if (!dnp_ring_reserve(&feed->ring, words + sample->written, &at))
		return 0;
	dnp_sample_pack(sample, head);
	dnp_ring_write(&feed->ring, at, head, words);
	dnp_ring_write(&feed->ring, at + words, feed->frames, sample->written);
	dnp_ring_commit(&feed->ring, at + words + sample->written);
	return 1;
}

/* Of `n` frames, `shared` are those of the sample before. */
static SIGSAFE int write_sample(
	struct dnp_feed *feed, struct dnp_sample *sample, uint32_t n, uint32_t shared)
{
	sample->shared = (uint16_t)shared;
	sample->written = (uint16_t)(n - shared);
	return write_words(feed, sample);
}

/*
 * Where code has gone since, others may have its address. A collector's frames are not those of
 * others, either.
 */
static SIGSAFE int same_frames(const struct dnp_feed *feed, uint8_t flags, uint64_t generation)
{
	return generation == feed->generation_before &&
		!((flags ^ feed->flags_before) & DNP_SAMPLE_COLLECTING);
}

static SIGSAFE int store(struct dnp_feed *feed, struct dnp_sample *sample, uint32_t n)
{
	uint64_t generation = dnp_generation();
	uint32_t shared = same_frames(feed, sample->flags, generation) ? shared_frames(feed, n) : 0;
	dnp_frame_word *swap;

	if (!write_sample(feed, sample, n, shared))
		return 0;
	swap = feed->before;
	feed->before = feed->frames;
	feed->frames = swap;
	feed->n_before = n;
	feed->generation_before = generation;
	feed->flags_before = sample->flags;
	return 1;
}

static SIGSAFE void count_sample(struct dnp_feed *feed, const struct dnp_sample *sample)
{
	struct dnp_counts *counts = counts_of(feed, sample->event);

	count(&counts->frames, feed->n_before);
	count(&counts->truncated, feed->stop_before == DNP_STOP_DEPTH);
	count32(&counts->stops[feed->stop_before], 1);
	count_last(&counts->samples, 1);
}

SIGSAFE int dnp_feed_try(struct dnp_feed *feed, struct dnp_sample *sample, uint32_t n,
	enum dnp_walk_stop stop, uint64_t walk_ns)
{
	if (stop == DNP_STOP_DEPTH)
		sample->flags |= DNP_SAMPLE_TRUNCATED;
	else if (stop != DNP_STOP_END)
		sample->flags |= DNP_SAMPLE_INCOMPLETE;
	if (!store(feed, sample, n))
		return 0;
	if (walk_ns)
		count_walk(counts_of(feed, sample->event), walk_ns);
	feed->stop_before = (uint8_t)stop;
	count_sample(feed, sample);
	return 1;
}

SIGSAFE int dnp_feed_put(struct dnp_feed *feed, struct dnp_sample *sample, uint32_t n,
	enum dnp_walk_stop stop, uint64_t walk_ns)
{
	if (dnp_feed_try(feed, sample, n, stop, walk_ns))
		return 1;
	if (walk_ns)
		count_walk(counts_of(feed, sample->event), walk_ns);
	dnp_feed_lost(feed, sample->event, DNP_LOSS_RING, sample->weight);
	return 0;
}

/* Its frames, and why they end, are counted by who walks it. */
SIGSAFE int dnp_feed_put_unwalked(struct dnp_feed *feed, struct dnp_sample *sample,
	uint32_t n_frames, uint32_t n, uint64_t walk_ns)
{
	sample->flags |= DNP_SAMPLE_UNWALKED;
	sample->shared = (uint16_t)n_frames;
	sample->written = (uint16_t)n;
	if (walk_ns)
		count_walk(counts_of(feed, sample->event), walk_ns);
	if (!write_words(feed, sample)) {
		dnp_feed_lost(feed, sample->event, DNP_LOSS_RING, sample->weight);
		return 0;
	}
	feed->n_before = 0;
	count_last(&counts_of(feed, sample->event)->samples, 1);
	return 1;
}

/* The last stack without the label on its leaf, which belongs to an event and not to the thread. */
static SIGSAFE void drop_label(struct dnp_feed *feed)
{
	feed->flags_before &= (uint8_t)~DNP_SAMPLE_WIDE;
	if (!feed->n_before || DNP_FRAME_KIND(feed->before[0]) != DNP_WALK_LABEL)
		return;
	feed->n_before--;
	memmove(feed->before, feed->before + 1, feed->n_before * sizeof(*feed->before));
}

SIGSAFE int dnp_feed_repeat(struct dnp_feed *feed, struct dnp_sample *sample)
{
	drop_label(feed);
	sample->flags = feed->flags_before;
	if (!feed->n_before) {
		dnp_feed_lost(feed, sample->event, DNP_LOSS_STACK, sample->weight);
		return 0;
	}
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

SIGSAFE int dnp_feed_has_room(struct dnp_feed *feed, uint32_t n, size_t besides)
{
	uint64_t at;

	return dnp_ring_reserve(&feed->ring, DNP_SAMPLE_WORDS_MAX + n + besides, &at);
}

SIGSAFE void dnp_feed_lost(
	struct dnp_feed *feed, unsigned event, enum dnp_loss_reason reason, uint64_t units)
{
	count(&counts_of(feed, event)->lost[reason], units);
}
