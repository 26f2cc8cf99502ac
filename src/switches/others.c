/* SPDX-License-Identifier: MIT */
#include "switches/others.h"

#include <stdio.h>
#include <stdlib.h>

#include "timeline/timeline.h"

#define AT_ONCE_NS UINT64_C(5000) /* what a switch itself may take */

static int by_processor(const void *left, const void *right)
{
	const struct dnprof_slice *a = left, *b = right;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Those that are whole, or all there are; they are taken out of the store. */
static void gather(struct dnp_taker *taker, struct dnp_tl_thread *thread, bool last)
{
	uint64_t told_ns = taker->timeline->told_ns;
	size_t n = last ? dnp_tl_slices(thread, told_ns) : thread->slices.n;

	for (size_t i = 0; i < n; i++) {
		struct dnprof_slice slice = dnp_tl_slice(thread, i, told_ns);

		if (slice.cpu != DNPROF_NO_CPU && dnp_vec_push(&taker->gathered, slice))
			taker->timeline->store.failed = -ENOMEM;
	}
	dnp_tl_store_drop_slices(thread, n < thread->slices.n ? n : thread->slices.n);
	dnp_tl_store_drop_checkpoints(thread, thread->checkpoints.n);
}

static struct dnp_taker_cpu *cpu_of(
	struct dnp_taker *taker, uint16_t cpu, struct dnp_writer *writer)
{
	uint64_t from_ns = taker->timeline->store.from_ns;
	char name[32];

	for (size_t i = 0; i < taker->cpus.n; i++)
		if (taker->cpus.p[i].cpu == cpu)
			return &taker->cpus.p[i];
	if (dnp_vec_push(&taker->cpus,
		    ((struct dnp_taker_cpu){
			    .cpu = cpu,
			    .index = taker->next_index,
			    .since_ns = from_ns,
			    .before = DNP_SLICE_WAITS,
		    })))
		return NULL;
	snprintf(name, sizeof(name), "others, CPU %u", cpu);
	dnp_write_thread(writer,
		&(struct dnp_rec_thread){
			.index = taker->next_index++,
			.start_ns = from_ns,
			.flags = DNP_THREAD_OTHERS | DNP_THREAD_LATE,
			.name = dnp_str(name),
		});
	return &taker->cpus.p[taker->cpus.n - 1];
}

/* The slices of one processor; returns behind the last one. */
static size_t write_cpu(struct dnp_taker *taker, struct dnp_writer *writer, size_t i)
{
	const struct dnprof_slice *slices = taker->gathered.p;
	struct dnp_slice_writer *out = &taker->writer;
	struct dnp_taker_cpu *cpu = cpu_of(taker, slices[i].cpu, writer);
	uint16_t which = slices[i].cpu;

	if (cpu)
		dnp_slice_writer_begin(out, writer, cpu->index, cpu->since_ns, cpu->before);
	while (i < taker->gathered.n && slices[i].cpu == which) {
		struct dnprof_slice run = slices[i++];

		for (; i < taker->gathered.n && slices[i].cpu == which &&
			slices[i].start_ns < run.end_ns + AT_ONCE_NS;
			i++) {
			run.how = slices[i].how;
			if (slices[i].end_ns > run.end_ns)
				run.end_ns = slices[i].end_ns;
		}
		if (cpu)
			dnp_slice_writer_add(out, run.start_ns, run.end_ns, which, run.how);
	}
	if (cpu) {
		dnp_slice_writer_end(out);
		cpu->since_ns = out->since_ns;
		cpu->before = out->before;
	}
	return i;
}

void dnp_others_write(struct dnp_taker *taker, struct dnp_writer *writer, bool last)
{
	const struct dnp_tl_store *store = &taker->timeline->store;

	taker->gathered.n = 0;
	for (size_t i = 0; i < store->threads.n; i++)
		if (store->threads.p[i]->pid != store->pid)
			gather(taker, store->threads.p[i], last);
	if (taker->gathered.n)
		qsort(taker->gathered.p, taker->gathered.n, sizeof(*taker->gathered.p),
			by_processor);
	for (size_t i = 0; i < taker->gathered.n;)
		i = write_cpu(taker, writer, i);
}

void dnp_others_done(struct dnp_taker *taker)
{
	dnp_vec_done(&taker->cpus);
	dnp_vec_done(&taker->gathered);
}
