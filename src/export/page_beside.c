/* SPDX-License-Identifier: MIT */
#include "export/page_beside.h"

#include "aggregate/spans.h"
#include "export/since.h"
#include "read/visit.h"

struct visit {
	struct dnp_page_beside *beside;
	const struct dnp_profile *profile;
	const struct dnp_recording *recording;
	const struct dnp_process *process;
	struct dnp_map waker_of; /* who → place in wakers */
	uint64_t last_mark_ns, last_wake_ns;
};

static uint32_t thread_of(const struct visit *visit, uint64_t index)
{
	return dnp_map_get(&visit->process->thread_of, index);
}

/* Whether the profile has it; *ns is its time then. */
static bool is_wanted(const struct visit *visit, uint32_t thread, uint64_t time_ns, uint64_t *ns)
{
	*ns = dnp_since(visit->recording, visit->process, time_ns);
	return thread != DNP_NONE && dnp_filter_has_time(&visit->profile->filter, *ns);
}

static int put_time(struct dnp_bytes *bytes, uint64_t ns, uint64_t *last_ns)
{
	int64_t since = (int64_t)(ns - *last_ns);

	*last_ns = ns;
	return dnp_bytes_put(bytes, dnp_zigzag(since));
}

/* As mark_lengths has it. */
static uint64_t length_of(const struct dnp_span *span)
{
	return span->point ? 0 : dnp_span_ns(span) << 1 | !span->ended;
}

static int add_mark(struct visit *visit, const struct dnp_span *span)
{
	struct dnp_page_beside *beside = visit->beside;
	struct dnp_page_mark mark = {.thread = span->thread};
	struct dnp_span_title title = dnp_span_title(visit->profile, span);

	if (beside->mark_count++ >= DNP_PAGE_MARKS)
		return 0;
	if (dnp_strings_add(&beside->strings, dnp_str(title.text), &mark.text) ||
		dnp_vec_push(&beside->marks, mark) ||
		dnp_bytes_put(&beside->mark_lengths, length_of(span)))
		return -ENOMEM;
	return put_time(&beside->mark_times, span->begin_ns, &visit->last_mark_ns);
}

static int add_marks(struct visit *visit)
{
	const struct dnp_profile *profile = visit->profile;

	for (size_t i = 0; i < profile->spans.n; i++)
		if (add_mark(visit, &profile->spans.p[i]))
			return -ENOMEM;
	return 0;
}

/* The same each time that it wakes somebody. */
static int find_waker(struct visit *visit, const struct dnp_rec_wakeup *rec, uint32_t *place)
{
	struct dnp_page_beside *beside = visit->beside;
	struct dnp_page_waker waker = {
		.thread = rec->by ? thread_of(visit, rec->by - 1) : DNP_NONE,
		.pid = (uint32_t)rec->by_pid,
		.tid = (uint32_t)rec->by_tid,
	};
	/* Numbers of processes are below 2^22. */
	uint64_t key = waker.thread == DNP_NONE
		? (uint64_t)(waker.pid & INT32_MAX) << 32 | waker.tid
		: UINT64_C(1) << 63 | waker.thread;

	*place = dnp_map_get(&visit->waker_of, key);
	if (*place != DNP_NONE)
		return 0;
	*place = (uint32_t)beside->wakers.n;
	if (dnp_strings_add(&beside->strings, rec->by_name, &waker.name) ||
		dnp_vec_push(&beside->wakers, waker))
		return -ENOMEM;
	return dnp_map_set(&visit->waker_of, key, *place);
}

static int on_wakeup(void *arg, const struct dnp_rec_wakeup *rec, uint64_t time_ns)
{
	struct visit *visit = arg;
	struct dnp_page_beside *beside = visit->beside;
	struct dnp_page_wake wake = {.thread = thread_of(visit, rec->thread)};
	uint64_t ns;

	(void)time_ns;
	if (!is_wanted(visit, wake.thread, rec->time_ns, &ns) ||
		beside->wake_count++ >= DNP_PAGE_WAKES)
		return 0;
	if (find_waker(visit, rec, &wake.by) || dnp_vec_push(&beside->wakes, wake))
		return -ENOMEM;
	return put_time(&beside->wake_times, ns, &visit->last_wake_ns);
}

static const struct dnp_visitor visitor = {.wakeup = on_wakeup};

int dnp_page_beside_init(struct dnp_page_beside *beside, const struct dnp_profile *profile,
	const struct dnp_input *input)
{
	struct visit visit = {.beside = beside, .profile = profile};
	size_t n = input->recordings.n;
	int status;

	*beside = (struct dnp_page_beside){0};
	status = dnp_strings_init(&beside->strings);
	if (!status)
		status = add_marks(&visit);
	for (size_t i = 0; i < n && i < profile->processes.n && !status; i++) {
		uint64_t damaged = 0; /* the profile tells of that */

		visit.recording = &input->recordings.p[i];
		visit.process = &profile->processes.p[i];
		status = dnp_recording_visit(visit.recording, &visitor, &visit, &damaged);
	}
	dnp_map_done(&visit.waker_of);
	return status;
}

void dnp_page_beside_done(struct dnp_page_beside *beside)
{
	dnp_strings_done(&beside->strings);
	dnp_vec_done(&beside->marks);
	dnp_vec_done(&beside->wakers);
	dnp_vec_done(&beside->wakes);
	dnp_vec_done(&beside->mark_times);
	dnp_vec_done(&beside->mark_lengths);
	dnp_vec_done(&beside->wake_times);
}
