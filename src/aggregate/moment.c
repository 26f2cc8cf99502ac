/* SPDX-License-Identifier: MIT */
#include "aggregate/moment.h"

#include "base/hash.h"
#include "read/visit.h"

struct gathering {
	struct dnp_moment *moment;
	struct dnp_map tids;    /* thread index of the recording → tid */
	struct dnp_map by_tid;  /* tid → thread of the profile */
	struct dnp_map leaves;  /* thread of the profile → node */
	struct dnp_map leaders; /* hash of what a thread does → the first that does it */
};

static int on_thread(void *arg, const struct dnp_rec_thread *rec, uint64_t time_ns)
{
	struct gathering *g = arg;

	(void)time_ns;
	if (rec->tid >= DNP_NONE)
		return 0;
	return dnp_map_set(&g->tids, rec->index, (uint32_t)rec->tid);
}

static int on_thread_state(void *arg, const struct dnp_rec_thread_state *rec, uint64_t time_ns)
{
	struct gathering *g = arg;
	uint32_t tid = dnp_map_get(&g->tids, rec->thread);
	uint32_t thread = tid == DNP_NONE ? DNP_NONE : dnp_map_get(&g->by_tid, tid);
	struct dnp_moment_thread made = {
		.tid = tid,
		.state = rec->state <= DNP_THREAD_WAITING ? (enum dnp_thread_doing)rec->state
							  : DNP_THREAD_UNSEEN,
		.call = rec->call,
		.call_number = rec->call_number,
		.missing = rec->missing,
	};

	(void)time_ns;
	if (thread == DNP_NONE)
		return 0;
	made.name = g->moment->profile->threads.p[thread].name;
	made.node = dnp_map_get(&g->leaves, thread);
	made.same = (uint32_t)g->moment->threads.n;
	return dnp_vec_push(&g->moment->threads, made);
}

static const struct dnp_visitor visitor = {
	.thread = on_thread,
	.thread_state = on_thread_state,
};

/* Finds the profile's threads and their stacks again. */
static int index_profile(struct gathering *g)
{
	const struct dnp_profile *profile = g->moment->profile;

	for (uint32_t i = 0; i < profile->threads.n; i++)
		if (dnp_map_set(&g->by_tid, profile->threads.p[i].tid, i))
			return -ENOMEM;
	for (size_t e = 0; e < profile->events.n; e++) {
		const struct dnp_rows *rows = &profile->events.p[e].rows;

		for (size_t i = 0; i < rows->n; i++)
			if (dnp_map_set(&g->leaves, rows->slots[i].thread, rows->slots[i].node))
				return -ENOMEM;
	}
	return 0;
}

static bool do_the_same(const struct dnp_moment_thread *a, const struct dnp_moment_thread *b)
{
	return a->node == b->node && a->state == b->state && a->call_number == b->call_number &&
		dnp_str_eq(a->missing, b->missing);
}

static uint64_t hash_of(const struct dnp_moment_thread *thread)
{
	uint64_t call = (uint64_t)thread->call_number << 40;

	return dnp_hash(thread->node ^ (uint64_t)thread->state << 32 ^ call ^
		(uint64_t)thread->missing.n << 34);
}

/* Two whose hashes meet by chance are shown apart, which is right as well. */
static int find_same(struct gathering *g)
{
	struct dnp_moment_thread *threads = g->moment->threads.p;

	for (uint32_t i = 0; i < g->moment->threads.n; i++) {
		uint64_t hash = hash_of(&threads[i]);
		uint32_t leader = dnp_map_get(&g->leaders, hash);

		if (leader == DNP_NONE) {
			if (dnp_map_set(&g->leaders, hash, i))
				return -ENOMEM;
		} else if (do_the_same(&threads[leader], &threads[i])) {
			threads[i].same = leader;
		}
	}
	return 0;
}

int dnp_moment_init(struct dnp_moment *moment, const struct dnp_profile *profile,
	const struct dnp_recording *recording)
{
	struct gathering g = {.moment = moment};
	uint64_t damaged = 0; /* the profile tells */
	int status;

	*moment = (struct dnp_moment){.profile = profile};
	status = index_profile(&g);
	if (!status)
		status = dnp_recording_visit(recording, &visitor, &g, &damaged);
	if (!status)
		status = find_same(&g);
	dnp_map_done(&g.tids);
	dnp_map_done(&g.by_tid);
	dnp_map_done(&g.leaves);
	dnp_map_done(&g.leaders);
	return status;
}

void dnp_moment_done(struct dnp_moment *moment)
{
	dnp_vec_done(&moment->threads);
}
