/* SPDX-License-Identifier: MIT */
#include "capture/happened.h"

#include "capture/self.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/watch.h"

struct dnp_thread *dnp_happened_on(const struct dnp_engine_setting *setting)
{
	int tid = dnp_thread_id();
	struct dnp_thread *thread = dnp_thread_find(tid);

	if (thread || setting->is_ours(tid))
		return thread;
	return setting->thread(tid, 0);
}

/* 0: not stored, which was counted. */
static int store(struct dnp_thread *thread, const struct dnp_happening *happening)
{
	uint64_t begin_ns = dnp_now_ns();
	struct dnp_sample sample = {
		.time_ns = happening->time_ns,
		.flags = DNP_SAMPLE_WIDE,
		.event = (uint8_t)happening->event,
		.weight = happening->weight,
		.value = happening->value,
	};
	enum dnp_walk_stop stop = DNP_STOP_END;
	uint32_t n =
		dnp_self_walk(thread, dnp_label_frame(happening->label), happening->tells, &stop);

	/* A library may just have been loaded: the next stack is to go through it. */
	if (n && (stop == DNP_STOP_UNKNOWN || stop == DNP_STOP_NO_RULE))
		dnp_watch_call();
	if (n && happening->walked)
		happening->walked(thread, happening,
			&(struct dnp_walked){
				.frames = thread->own.frames,
				.n = n,
				.stop = stop,
				.time_ns = happening->time_ns,
				.walk_ns = dnp_now_ns() - begin_ns,
			});
	if (n)
		return dnp_feed_put(&thread->own, &sample, n, stop, dnp_now_ns() - begin_ns);
	dnp_feed_lost(&thread->own, happening->event, DNP_LOSS_STACK, happening->weight);
	return 0;
}

void dnp_happened(const struct dnp_engine_setting *setting, const struct dnp_happening *happening)
{
	struct dnp_thread *thread = dnp_happened_on(setting);
	int stored, filling;

	if (!thread)
		return;
	dnp_self_begin(thread);
	stored = store(thread, happening);
	filling = dnp_ring_is_filling(&thread->own.ring);
	dnp_self_end(thread, stored);
	if (filling)
		dnp_watch_call();
}
