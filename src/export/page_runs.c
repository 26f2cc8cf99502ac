/* SPDX-License-Identifier: MIT */
#include "export/page_runs.h"

#include "export/since.h"
#include "format/slice_codec.h"
#include "read/visit.h"

/* A thread of the profile; its numbers as they come. */
struct thread {
	bool seen;
	uint32_t slices, before;
	uint64_t begin_ns, end_ns; /* of what was told; slices are written up to `written_ns` */
	uint64_t written_ns;
	struct dnp_bytes bytes;
	uint32_t readings;
	struct dnp_run_clock last; /* reading */
	struct dnp_bytes clocks;
};

struct visit {
	struct dnp_page_runs *runs;
	const struct dnp_filter *filter;
	const struct dnp_recording *recording;
	const struct dnp_process *process;
	struct thread *threads; /* owned, by the profile's threads */
	size_t slices, max;
};

static uint64_t since(const struct visit *visit, uint64_t time_ns)
{
	return dnp_since(visit->recording, visit->process, time_ns);
}

/* The time in the profile's filter that is nearest. */
static uint64_t clipped(const struct visit *visit, uint64_t ns)
{
	const struct dnp_filter *filter = visit->filter;

	if (filter->to_ns && ns > filter->to_ns)
		ns = filter->to_ns;
	return ns > filter->from_ns ? ns : filter->from_ns;
}

static struct thread *thread_of(const struct visit *visit, uint64_t index)
{
	uint32_t thread = dnp_map_get(&visit->process->thread_of, index);

	return thread == DNP_NONE ? NULL : &visit->threads[thread];
}

static int put_slice(struct visit *visit, struct thread *thread, uint64_t start_ns, uint64_t end_ns,
	const struct dnp_slice_at *slice)
{
	struct dnp_bytes *bytes = &thread->bytes;

	if (thread->slices == UINT32_MAX || ++visit->slices > visit->max)
		return -E2BIG;
	if (dnp_vec_reserve(bytes, bytes->n + DNP_SLICE_BYTES))
		return -ENOMEM;
	bytes->n += dnp_slice_put(bytes->p + bytes->n, start_ns - thread->written_ns,
		end_ns - start_ns, slice->cpu, (enum dnp_slice_end)slice->how);
	thread->written_ns = end_ns;
	thread->slices++;
	return 0;
}

/* The part of a slice that is in the wanted time; where that cuts its end off, it went on. */
static int on_slice(struct visit *visit, struct thread *thread, struct dnp_slice_at slice)
{
	uint64_t start_ns = since(visit, slice.start_ns), end_ns = since(visit, slice.end_ns);
	uint64_t from_ns = clipped(visit, start_ns), to_ns = clipped(visit, end_ns);

	if (end_ns < visit->filter->from_ns) {
		thread->before = slice.how;
		return 0;
	}
	if (visit->filter->to_ns && start_ns >= visit->filter->to_ns)
		return 0;
	if (to_ns != end_ns)
		slice.how = DNP_SLICE_RUNS;
	if (from_ns < thread->written_ns || to_ns < from_ns) /* a damaged file */
		return 0;
	return put_slice(visit, thread, from_ns, to_ns, &slice);
}

/* Where its records begin, or go on; of time between them nothing is known. */
static int go_on(struct visit *visit, struct thread *thread, const struct dnp_rec_slices *rec)
{
	uint64_t begin_ns = since(visit, rec->time_ns);
	struct dnp_slice_at unknown = {.how = DNP_SLICE_UNKNOWN};

	begin_ns -= rec->gap_ns < begin_ns ? rec->gap_ns : begin_ns;
	begin_ns = clipped(visit, begin_ns);
	if (!thread->seen) {
		thread->seen = true;
		thread->before = (uint32_t)(rec->before & 7);
		thread->begin_ns = thread->end_ns = thread->written_ns = begin_ns;
		return 0;
	}
	if (begin_ns <= thread->end_ns)
		return 0;
	return put_slice(visit, thread, thread->end_ns, thread->end_ns, &unknown);
}

static int on_slices(void *arg, const struct dnp_rec_slices *rec, uint64_t time_ns)
{
	struct visit *visit = arg;
	struct thread *thread = thread_of(visit, rec->thread);
	uint64_t end_ns = rec->time_ns;
	struct dnp_slice_reader reader;
	struct dnp_slice_at slice;
	int status;

	(void)time_ns;
	if (!thread)
		return 0;
	status = go_on(visit, thread, rec);
	dnp_slice_reader_init(&reader, rec);
	while (!status && dnp_slice_next(&reader, &slice) > 0) {
		status = on_slice(visit, thread, slice);
		end_ns = slice.end_ns;
	}
	end_ns = clipped(visit, since(visit, end_ns));
	if (end_ns > thread->end_ns)
		thread->end_ns = end_ns;
	return status;
}

static int on_thread_clock(void *arg, const struct dnp_rec_thread_clock *rec, uint64_t time_ns)
{
	struct visit *visit = arg;
	struct thread *thread = thread_of(visit, rec->thread);
	struct dnp_run_clock now = {since(visit, rec->time_ns), rec->cpu_ns, rec->ready_ns};

	(void)time_ns;
	if (!thread || clipped(visit, now.time_ns) != now.time_ns)
		return 0;
	/* Clocks do not go back, whatever a damaged file tells. */
	if (now.time_ns < thread->last.time_ns || now.cpu_ns < thread->last.cpu_ns ||
		now.ready_ns < thread->last.ready_ns || now.cpu_ns > DNP_LATEST_NS ||
		now.ready_ns > DNP_LATEST_NS)
		return 0;
	if (dnp_bytes_put(&thread->clocks, now.time_ns - thread->last.time_ns) ||
		dnp_bytes_put(&thread->clocks, now.cpu_ns - thread->last.cpu_ns) ||
		dnp_bytes_put(&thread->clocks, now.ready_ns - thread->last.ready_ns))
		return -ENOMEM;
	thread->last = now;
	thread->readings++;
	return 0;
}

static int on_switch_loss(void *arg, const struct dnp_rec_switch_loss *rec, uint64_t time_ns)
{
	struct visit *visit = arg;
	struct dnp_bytes *losses = &visit->runs->losses;
	uint64_t from_ns = clipped(visit, since(visit, rec->from_ns));
	uint64_t until_ns = clipped(visit, since(visit, rec->until_ns));

	(void)time_ns;
	if (rec->cpu > UINT32_MAX || rec->count > DNP_LATEST_NS || until_ns <= from_ns)
		return 0;
	if (dnp_bytes_put(losses, rec->cpu) || dnp_bytes_put(losses, from_ns) ||
		dnp_bytes_put(losses, until_ns - from_ns))
		return -ENOMEM;
	return dnp_bytes_put(losses, rec->count);
}

static const struct dnp_visitor visitor = {
	.slices = on_slices,
	.thread_clock = on_thread_clock,
	.switch_loss = on_switch_loss,
};

static int append(struct dnp_bytes *to, const struct dnp_bytes *from)
{
	if (dnp_vec_reserve(to, to->n + from->n))
		return -ENOMEM;
	if (from->n)
		memcpy(to->p + to->n, from->p, from->n);
	to->n += from->n;
	return 0;
}

static int join_slices(struct dnp_page_runs *runs, uint32_t index, const struct thread *thread)
{
	uint64_t rest_ns = thread->end_ns - thread->written_ns;

	if (!thread->seen)
		return 0;
	if (dnp_vec_push(&runs->threads, index) || dnp_vec_push(&runs->threads, thread->slices) ||
		dnp_vec_push(&runs->threads, thread->before) ||
		dnp_bytes_put(&runs->slices, thread->begin_ns) ||
		append(&runs->slices, &thread->bytes))
		return -ENOMEM;
	return dnp_bytes_put(&runs->slices, rest_ns);
}

static int join_clocks(struct dnp_page_runs *runs, uint32_t index, const struct thread *thread)
{
	if (!thread->readings)
		return 0;
	if (dnp_vec_push(&runs->clock_threads, index) ||
		dnp_vec_push(&runs->clock_threads, thread->readings))
		return -ENOMEM;
	return append(&runs->clocks, &thread->clocks);
}

/* Each thread's own goes as it is added, so that not all is there twice. */
static int join(struct visit *visit, size_t n, int status)
{
	for (uint32_t i = 0; i < n; i++) {
		struct thread *thread = &visit->threads[i];

		if (!status)
			status = join_slices(visit->runs, i, thread);
		if (!status)
			status = join_clocks(visit->runs, i, thread);
		dnp_vec_done(&thread->bytes);
		dnp_vec_done(&thread->clocks);
	}
	return status;
}

static int put_waits(struct dnp_page_runs *runs, const struct dnp_profile *profile)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < profile->waits.n; i++) {
		const struct dnp_wait *wait = &profile->waits.p[i];
		uint64_t since_ns = wait->since_ns < DNP_LATEST_NS ? wait->since_ns : DNP_LATEST_NS;
		uint64_t until_ns = wait->until_ns < DNP_LATEST_NS ? wait->until_ns : DNP_LATEST_NS;

		if (dnp_bytes_put(&runs->wait_times, dnp_zigzag((int64_t)(since_ns - last_ns))) ||
			dnp_bytes_put(
				&runs->wait_times, until_ns > since_ns ? until_ns - since_ns : 0))
			return -ENOMEM;
		last_ns = since_ns;
	}
	return 0;
}

int dnp_page_runs_init(struct dnp_page_runs *runs, const struct dnp_profile *profile,
	const struct dnp_input *input, size_t max)
{
	struct visit visit = {.runs = runs, .filter = &profile->filter, .max = max};
	size_t n = input->recordings.n;
	int status = 0;

	*runs = (struct dnp_page_runs){0};
	visit.threads = calloc(profile->threads.n + 1, sizeof(*visit.threads));
	if (!visit.threads)
		return -ENOMEM;
	for (size_t i = 0; i < n && i < profile->processes.n && !status; i++) {
		uint64_t damaged = 0; /* the profile tells of that */

		visit.recording = &input->recordings.p[i];
		visit.process = &profile->processes.p[i];
		status = dnp_recording_visit(visit.recording, &visitor, &visit, &damaged);
	}
	status = join(&visit, profile->threads.n, status);
	free(visit.threads);
	if (!status)
		status = put_waits(runs, profile);
	return status ? status : dnp_page_beside_init(&runs->beside, profile, input);
}

void dnp_page_runs_done(struct dnp_page_runs *runs)
{
	dnp_vec_done(&runs->threads);
	dnp_vec_done(&runs->slices);
	dnp_vec_done(&runs->clock_threads);
	dnp_vec_done(&runs->clocks);
	dnp_vec_done(&runs->losses);
	dnp_vec_done(&runs->wait_times);
	dnp_page_beside_done(&runs->beside);
}
