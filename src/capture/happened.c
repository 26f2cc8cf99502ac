/* SPDX-License-Identifier: MIT */
#include "capture/happened.h"

#include <stdatomic.h>
#include <string.h>

#include "capture/engine.h"
#include "capture/self.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/watch.h"
#include "store/overflow.h"

struct dnp_thread *dnp_happened_on(const struct dnp_engine_setting *setting)
{
	int tid = dnp_thread_id();
	struct dnp_thread *thread = dnp_thread_find(tid);

	if (thread || setting->is_ours(tid))
		return thread;
	return setting->thread(tid, 0);
}

/* What has no room in the thread's ring, since samples of time are there, has some besides. */
static bool put_over(struct dnp_thread *thread, const struct dnp_sample *sample,
	const struct dnp_walked *walked, uint32_t words)
{
	const struct dnp_overflow one = {
		.sample = *sample,
		.walk_ns = walked->walk_ns,
		.thread = thread->index,
		.tid = thread->tid,
		.n = words,
		.n_frames = walked->n,
		.stop = walked->stop,
	};

	return dnp_overflow_put(&one, walked->frames);
}

/* False: there is no room for that. */
static bool put_unwalked(struct dnp_thread *thread, struct dnp_sample sample,
	const struct dnp_walked *walked, uint32_t left)
{
	if (dnp_self_ring_has_room(thread, left))
		return dnp_feed_put_unwalked(
			&thread->own, &sample, walked->n, left, walked->walk_ns);
	sample.flags |= DNP_SAMPLE_UNWALKED;
	return put_over(thread, &sample, walked, left);
}

/*
 * Of a walk that is not left to others, `left` is 0. False: the thread's ring has no stack of it
 * that others could share.
 */
static bool put(struct dnp_thread *thread, const struct dnp_happening *happening,
	const struct dnp_walked *walked, uint32_t left)
{
	struct dnp_sample sample = {
		.time_ns = happening->time_ns,
		.flags = DNP_SAMPLE_WIDE,
		.event = (uint8_t)happening->event,
		.weight = happening->weight,
		.value = happening->value,
	};

	if (!walked->n) {
		dnp_feed_lost(&thread->own, happening->event, DNP_LOSS_STACK, happening->weight);
		return false;
	}
	if (left && put_unwalked(thread, sample, walked, left))
		return false;
	if (dnp_feed_try(&thread->own, &sample, walked->n, walked->stop, walked->walk_ns))
		return true;
	if (!put_over(thread, &sample, walked, walked->n))
		dnp_feed_lost(&thread->own, happening->event, DNP_LOSS_RING, happening->weight);
	return false;
}

/*
 * Of a thread that was there before an attach the runtime has told nothing; what it knows of where
 * methods return to (struct dnp_stacks) is found by its ThreadID.
 */
static void learn_id(struct dnp_thread *thread, const struct dnp_engine_setting *setting)
{
	if (!atomic_load_explicit(&thread->managed, memory_order_relaxed))
		atomic_store_explicit(&thread->managed, setting->own_id(), memory_order_relaxed);
}

/* Between dnp_self_begin and an end of it, which depends on what this says: see put. */
static bool store(
	struct dnp_thread *thread, const struct dnp_happening *happening, struct dnp_walked *walked)
{
	uint64_t begin_ns = dnp_now_ns();
	uint32_t left;

	walked->frames = thread->own.frames;
	walked->time_ns = happening->time_ns;
	walked->n = dnp_self_walk(
		thread, dnp_label_frame(happening->label), happening->tells, &walked->stop, &left);
	/* What nobody could keep is no use: as far as it goes by itself, then. */
	if (left && !dnp_self_ring_has_room(thread, left) && !dnp_overflow_has_room(left)) {
		walked->n = dnp_self_walk(thread, dnp_label_frame(happening->label),
			happening->tells, &walked->stop, NULL);
		left = 0;
	}
	/* A library may just have been loaded: the next stack is to go through it. */
	if (walked->n && (walked->stop == DNP_STOP_UNKNOWN || walked->stop == DNP_STOP_NO_RULE))
		dnp_watch_call();
	walked->walk_ns = dnp_now_ns() - begin_ns;
	walked->left = left;
	if (happening->walked) {
		happening->walked(thread, happening, walked);
		walked->walk_ns = dnp_now_ns() - begin_ns;
	}
	return put(thread, happening, walked, left);
}

void dnp_happened(const struct dnp_engine_setting *setting, const struct dnp_happening *happening)
{
	struct dnp_thread *thread = dnp_happened_on(setting);
	struct dnp_walked walked = {.stop = DNP_STOP_END};
	bool stored, filling;

	if (!thread)
		return;
	learn_id(thread, setting);
	dnp_self_begin(thread);
	stored = store(thread, happening, &walked);
	filling = dnp_ring_is_filling(&thread->own.ring);
	if (stored)
		dnp_self_end(thread, 1);
	else
		dnp_self_end_walked(thread, walked.n, walked.stop);
	if (filling)
		dnp_watch_call();
}

uint32_t dnp_happened_rest(const struct dnp_engine_setting *setting, const dnp_frame_word *words,
	uint32_t n, uint32_t n_words, dnp_frame_word *to, uint32_t max, enum dnp_walk_stop *stop)
{
	const dnp_frame_word *stack = words + n + DNP_UNWALKED_WORDS;
	struct dnp_unwalked left;

	memcpy(to, words, n * sizeof(*words));
	if (n_words <= n + DNP_UNWALKED_WORDS)
		return n;
	memcpy(&left, words + n, sizeof(left));
	*stop = DNP_STOP_UNKNOWN;
	return n +
		setting->unwalked(&left, stack, (n_words - n - DNP_UNWALKED_WORDS) * sizeof(*words),
			to + n, max - n, stop);
}
