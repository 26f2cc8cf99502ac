/* SPDX-License-Identifier: MIT */
/*
 * The samples of one thread on their way from one producer to the drain thread: a ring, the frames
 * of the sample that is being taken and of the one before, and what was counted.
 *
 * Each thread has two: `own` is what its handlers see, `outside` what a thread of the profiler sees
 * of it. So each has a single producer, and no lock is needed.
 */
#ifndef DNP_STORE_FEED_H
#define DNP_STORE_FEED_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "format/rec.h"
#include "store/ring.h"
#include "store/sample.h"
#include "unwind/walk.h"

/* Events that can be recorded at once: more than there are. */
#define DNP_EVENTS_MAX 20

/* Of a thread's own feed, at least: 64 KiB, some 300 samples of 25 new frames. */
#define DNP_RING_WORDS ((size_t)8192)

/* What is seen of it from outside comes in turns with all other threads: little at a time. */
#define DNP_RING_WORDS_OUTSIDE ((size_t)4096)

/* Of a ring that has at least so many, and room for a stack of the greatest depth twice. */
size_t dnp_feed_words(uint32_t depth, size_t least);

/* Durations of walks: bucket b counts those in [2^(b/4), 2^((b+1)/4)) ns, roughly. */
#define DNP_WALK_BUCKETS 96

SIGSAFE unsigned dnp_walk_bucket(uint64_t ns);

/* What a producer counts of one event; only it writes, others read at any time. */
struct dnp_counts {
	_Atomic uint64_t samples;
	_Atomic uint64_t frames;
	_Atomic uint64_t truncated;
	_Atomic uint64_t walk_ns;
	_Atomic uint64_t lost[DNP_LOSS_COUNT]; /* units of the event, by enum dnp_loss_reason */
	_Atomic uint32_t stops[DNP_STOP_COUNT];
	_Atomic uint32_t walks[DNP_WALK_BUCKETS];
};

/*
 * Whether anything was counted but losses that was not told yet. Whoever takes the counts then asks
 * before, so that what he does not see yet is new the next time. Any thread.
 */
bool dnp_counts_are_new(const struct dnp_counts *now, const struct dnp_counts *told);

/* A node on the way from the root to the leaf of the last sample. */
struct dnp_path {
	uint32_t node, frame;
	uint32_t unresolved; /* frames from the root to here whose function is not known */
};

struct dnp_feed {
	/* The producer's. */
	dnp_frame_word *frames; /* owned: the walk that is going on, room for the depth */
	dnp_frame_word *before; /* owned: the frames of the last sample that was stored */
	uint32_t n_before;
	uint64_t generation_before; /* of code, when they were stored (os/generation.h) */
	uint8_t flags_before;
	uint8_t stop_before; /* enum dnp_walk_stop */
	struct dnp_ring ring;
	_Atomic bool used; /* something was counted in it: most threads of many are never sampled */
	struct dnp_counts counts[DNP_EVENTS_MAX];

	/* The drain thread's. */
	struct dnp_path *path;       /* owned: the last sample's, root first */
	struct dnp_counts *reported; /* owned, one an event: what the recording was told */
};

/*
 * Bytes of zeroed memory that a feed for stacks of `depth` frames needs besides itself, with so
 * many words of ring (a power of two).
 */
size_t dnp_feed_bytes(uint32_t depth, size_t words);

/*
 * Whether anything was ever counted in it, since it was cleared. Any thread: of one whose producer
 * has come to its end it is so, else what is not seen yet is the next time.
 */
static inline bool dnp_feed_is_used(const struct dnp_feed *feed)
{
	return atomic_load_explicit(&feed->used, memory_order_relaxed);
}

/* A zeroed feed in such memory, aligned as a pointer is. */
void dnp_feed_init(struct dnp_feed *feed, void *memory, uint32_t depth, size_t words);

/* As after init, in the same memory; no event from `n_events` on was ever counted in it. */
void dnp_feed_clear(struct dnp_feed *feed, unsigned n_events);

/*
 * Stores and counts the sample whose `n` frames stand in feed->frames, leaf first; `stop` says why
 * the walk ended there and `walk_ns` how long it took (0: there was none, the stack is still the
 * last one). Of *sample, event, time, weight, value and flags are the caller's. Returns 0 when the
 * ring has no room: the sample is counted as lost. The producer only.
 */
SIGSAFE int dnp_feed_put(struct dnp_feed *feed, struct dnp_sample *sample, uint32_t n,
	enum dnp_walk_stop stop, uint64_t walk_ns);
/* The same, but nothing is counted of what has no room: 0. */
SIGSAFE int dnp_feed_try(struct dnp_feed *feed, struct dnp_sample *sample, uint32_t n,
	enum dnp_walk_stop stop, uint64_t walk_ns);

/*
 * Stores and counts a sample that is not walked: feed->frames has `n` words, of which the first
 * `n_frames` are frames (store/sample.h). It shares nothing, and there is no last sample then. Else
 * as above; `walk_ns` 0: another event's walk was the same.
 */
SIGSAFE int dnp_feed_put_unwalked(struct dnp_feed *feed, struct dnp_sample *sample,
	uint32_t n_frames, uint32_t n, uint64_t walk_ns);

/*
 * Stores and counts the last sample once more, with the event, time and weight of *sample: the
 * thread has not moved since. What label it had is not repeated. 0: no room, or there is no last
 * one; counted as lost.
 */
SIGSAFE int dnp_feed_repeat(struct dnp_feed *feed, struct dnp_sample *sample);

/* Whether there is a last sample, that dnp_feed_repeat could store again. */
SIGSAFE int dnp_feed_has_last(const struct dnp_feed *feed);

/* Whether a sample of `n` frames has room, and so many words besides. The producer only. */
SIGSAFE int dnp_feed_has_room(struct dnp_feed *feed, uint32_t n, size_t besides);

/* Counts units of an event that were not taken. The producer only. */
SIGSAFE void dnp_feed_lost(
	struct dnp_feed *feed, unsigned event, enum dnp_loss_reason reason, uint64_t units);

#endif
