/* SPDX-License-Identifier: MIT */
#include "aggregate/requests.h"

#include <errno.h>

#include "aggregate/profile.h"
#include "base/pattern.h"
#include "read/visit.h"

/* ---- From the recording */

/* NULL: no memory. */
static struct dnp_thread_turns *turns_of(struct dnp_requests *requests, uint64_t thread)
{
	uint32_t place = dnp_map_get(&requests->thread_of, thread);

	if (place != DNP_NONE)
		return &requests->threads.p[place];
	if (dnp_vec_push(&requests->threads, (struct dnp_thread_turns){0}) ||
		dnp_map_set(&requests->thread_of, thread, (uint32_t)(requests->threads.n - 1)))
		return NULL;
	return &requests->threads.p[requests->threads.n - 1];
}

static int add_turn(struct dnp_requests *requests, struct dnp_thread_turns *turns,
	const struct dnp_rec_turn *rec)
{
	uint64_t before_ns = turns->all.n ? turns->all.p[turns->all.n - 1].time_ns : 0;

	return dnp_vec_push(&turns->all,
		((struct dnp_request_turn){
			.time_ns = rec->time_ns > before_ns ? rec->time_ns : before_ns,
			.activity = rec->activity,
			.losses = requests->losses.n,
		}));
}

static int on_event(void *arg, const struct dnp_rec_event *rec, uint64_t time_ns)
{
	struct dnp_requests *requests = arg;

	(void)time_ns;
	if (dnp_str_eq(rec->name, dnp_str(DNP_REQUEST_EVENT))) {
		requests->event = rec->index;
		requests->defined = true;
	}
	return 0;
}

static bool is_theirs(const struct dnp_requests *requests, uint64_t event)
{
	return requests->defined && requests->event == event;
}

static int on_turn(void *arg, const struct dnp_rec_turn *rec, uint64_t time_ns)
{
	struct dnp_requests *requests = arg;
	struct dnp_thread_turns *turns = turns_of(requests, rec->thread);

	(void)time_ns;
	if (rec->time_ns > requests->newest_ns)
		requests->newest_ns = rec->time_ns;
	return turns ? add_turn(requests, turns, rec) : -ENOMEM;
}

/* The number that the thread has got for it, if it is new. */
static int name_activity(struct dnp_requests *requests, uint64_t thread, uint32_t place)
{
	const struct dnp_thread_turns *turns = turns_of(requests, thread);
	const struct dnp_request_turn *last;
	uint64_t activity;

	if (!turns)
		return -ENOMEM;
	last = turns->all.n ? &turns->all.p[turns->all.n - 1] : NULL;
	activity = last && last->losses == requests->losses.n ? last->activity : 0;
	if (!activity || dnp_map_get(&requests->activity_of, activity) != DNP_NONE)
		return 0;
	return dnp_map_set(&requests->activity_of, activity, place);
}

static int on_span(void *arg, const struct dnp_rec_span *rec, uint64_t time_ns)
{
	struct dnp_requests *requests = arg;
	uint32_t place = (uint32_t)requests->all.n;

	(void)time_ns;
	if (!is_theirs(requests, rec->event))
		return 0;
	if (dnp_vec_push(&requests->all,
		    ((struct dnp_known_request){
			    .name = rec->name, .trace = rec->trace, .id = rec->id})) ||
		dnp_map_set(&requests->request_of, rec->id, place))
		return -ENOMEM;
	return name_activity(requests, rec->thread, place);
}

static int on_span_end(void *arg, const struct dnp_rec_span_end *rec, uint64_t time_ns)
{
	struct dnp_requests *requests = arg;
	uint32_t place = is_theirs(requests, rec->event)
		? dnp_map_get(&requests->request_of, rec->id)
		: DNP_NONE;

	(void)time_ns;
	if (place != DNP_NONE)
		requests->all.p[place].group = rec->group;
	return 0;
}

/* Turns are missing that came after all that were told before. */
static int on_loss(void *arg, const struct dnp_rec_loss *rec, uint64_t time_ns)
{
	struct dnp_requests *requests = arg;

	(void)time_ns;
	if (!is_theirs(requests, rec->event))
		return 0;
	return dnp_vec_push(&requests->losses, requests->newest_ns);
}

static const struct dnp_visitor visitor = {
	.event = on_event,
	.turn = on_turn,
	.span = on_span,
	.span_end = on_span_end,
	.loss = on_loss,
};

/* ---- What is wanted */

/* GET /items/7 by itself, or without GET. */
static bool matches(const char *const *patterns, size_t n, struct dnp_str name)
{
	struct dnp_str path = dnp_requests_path(name);

	return dnp_pattern_any(patterns, n, name) || (path.p && dnp_pattern_any(patterns, n, path));
}

static bool is_meant(const char *const *patterns, size_t n, const struct dnp_known_request *request)
{
	return (request->name.n && matches(patterns, n, request->name)) ||
		(request->group.n && matches(patterns, n, request->group)) ||
		(request->trace.n && dnp_pattern_any(patterns, n, request->trace));
}

static void judge(struct dnp_requests *requests, const struct dnp_filter *filter)
{
	for (size_t i = 0; i < requests->all.n; i++)
		requests->all.p[i].wanted =
			is_meant(filter->requests, filter->request_count, &requests->all.p[i]);
	for (size_t i = 0; i < requests->threads.n; i++)
		for (size_t k = 0; k < requests->threads.p[i].all.n; k++) {
			struct dnp_request_turn *turn = &requests->threads.p[i].all.p[k];
			uint32_t place = turn->activity
				? dnp_map_get(&requests->activity_of, turn->activity)
				: DNP_NONE;

			turn->wanted = place != DNP_NONE && requests->all.p[place].wanted;
		}
}

int dnp_requests_init(struct dnp_requests *requests, const struct dnp_recording *recording,
	const struct dnp_filter *filter)
{
	uint64_t damaged = 0; /* told when all else is read */

	*requests = (struct dnp_requests){.chosen = filter->request_count};
	if (!requests->chosen)
		return 0;
	if (dnp_recording_visit(recording, &visitor, requests, &damaged))
		return -ENOMEM;
	judge(requests, filter);
	return 0;
}

void dnp_requests_done(struct dnp_requests *requests)
{
	for (size_t i = 0; i < requests->threads.n; i++)
		dnp_vec_done(&requests->threads.p[i].all);
	dnp_vec_done(&requests->threads);
	dnp_vec_done(&requests->all);
	dnp_vec_done(&requests->losses);
	dnp_map_done(&requests->request_of);
	dnp_map_done(&requests->activity_of);
	dnp_map_done(&requests->thread_of);
	dnp_map_done(&requests->collections);
}

/* The last turn of a thread up to that moment, or NULL. */
static const struct dnp_request_turn *turn_at(
	const struct dnp_thread_turns *turns, uint64_t time_ns)
{
	size_t low = 0, high = turns->all.n;

	/* All before low are not later than that moment, all from high on are. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (turns->all.p[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &turns->all.p[low - 1] : NULL;
}

/* Whether turns were lost after that one and up to that moment. */
static bool is_lost_since(
	const struct dnp_requests *requests, const struct dnp_request_turn *turn, uint64_t time_ns)
{
	return turn->losses < requests->losses.n && requests->losses.p[turn->losses] <= time_ns;
}

bool dnp_requests_want(const struct dnp_requests *requests, uint64_t thread, uint64_t time_ns)
{
	const struct dnp_request_turn *turn;
	uint32_t place;

	if (!requests->chosen)
		return true;
	place = dnp_map_get(&requests->thread_of, thread);
	if (place == DNP_NONE)
		return false;
	turn = turn_at(&requests->threads.p[place], time_ns);
	return turn && turn->wanted && !is_lost_since(requests, turn, time_ns);
}

bool dnp_requests_want_span(const struct dnp_requests *requests, uint64_t id)
{
	uint32_t place = dnp_map_get(&requests->request_of, id);

	return !requests->chosen || (place != DNP_NONE && requests->all.p[place].wanted);
}

bool dnp_requests_match(const struct dnp_requests *requests, const char *pattern)
{
	for (size_t i = 0; i < requests->all.n; i++)
		if (requests->all.p[i].wanted && is_meant(&pattern, 1, &requests->all.p[i]))
			return true;
	return false;
}
