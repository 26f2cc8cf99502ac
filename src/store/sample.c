/* SPDX-License-Identifier: MIT */
#include "store/sample.h"

#include "store/threads.h"

/* Frames that the walk has in common with the sample stored before, counted from the root. */
static SIGSAFE uint32_t shared_frames(const struct dnp_thread *thread, uint32_t n)
{
	const dnp_frame_word *now = thread->frames + n;
	const dnp_frame_word *before = thread->before + thread->n_before;
	uint32_t most = n < thread->n_before ? n : thread->n_before;
	uint32_t shared = 0;

	while (shared < most && now[-1] == before[-1]) {
		now--;
		before--;
		shared++;
	}
	return shared;
}

SIGSAFE int dnp_sample_store(struct dnp_thread *thread, struct dnp_sample *sample, uint32_t n)
{
	uint32_t shared = sample->flags == thread->flags_before ? shared_frames(thread, n) : 0;
	uint64_t head[DNP_SAMPLE_WORDS];
	dnp_frame_word *swap;
	uint64_t at;

	sample->shared = (uint16_t)shared;
	sample->written = (uint16_t)(n - shared);
	if (!dnp_ring_reserve(&thread->ring, DNP_SAMPLE_WORDS + sample->written, &at))
		return 0;
	dnp_sample_pack(sample, head);
	dnp_ring_write(&thread->ring, at, head, DNP_SAMPLE_WORDS);
	dnp_ring_write(&thread->ring, at + DNP_SAMPLE_WORDS, thread->frames, sample->written);
	dnp_ring_commit(&thread->ring, at + DNP_SAMPLE_WORDS + sample->written);

	swap = thread->before;
	thread->before = thread->frames;
	thread->frames = swap;
	thread->n_before = n;
	thread->flags_before = sample->flags;
	return 1;
}
