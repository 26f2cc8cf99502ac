/* SPDX-License-Identifier: MIT */
#include "store/slice_writer.h"

void dnp_slice_writer_begin(struct dnp_slice_writer *slices, struct dnp_writer *writer,
	uint64_t thread, uint64_t since_ns, enum dnp_slice_end before)
{
	slices->writer = writer;
	slices->thread = thread;
	slices->since_ns = since_ns;
	slices->before = before;
	slices->used = 0;
}

static void open_record(struct dnp_slice_writer *slices, uint64_t time_ns)
{
	slices->rec = (struct dnp_rec_slices){
		.thread = slices->thread,
		.time_ns = time_ns,
		.before = slices->before,
		.gap_ns = time_ns - slices->since_ns,
	};
	slices->since_ns = time_ns;
}

static void write_record(struct dnp_slice_writer *slices)
{
	slices->rec.slices = (struct dnp_str){(const char *)slices->bytes, slices->used};
	dnp_write_slices(slices->writer, &slices->rec);
	slices->used = 0;
}

void dnp_slice_writer_add(struct dnp_slice_writer *slices, uint64_t start_ns, uint64_t end_ns,
	uint32_t cpu, enum dnp_slice_end how)
{
	if (start_ns < slices->since_ns)
		start_ns = slices->since_ns;
	if (end_ns < start_ns)
		end_ns = start_ns;
	if (slices->used + DNP_SLICE_BYTES > DNP_SLICE_ROOM)
		write_record(slices);
	if (!slices->used)
		open_record(slices, start_ns);
	slices->used += dnp_slice_put(slices->bytes + slices->used, start_ns - slices->since_ns,
		end_ns - start_ns, cpu, how);
	slices->since_ns = end_ns;
	slices->before = how;
}

void dnp_slice_writer_end(struct dnp_slice_writer *slices)
{
	if (slices->used)
		write_record(slices);
}

void dnp_slice_writer_end_at(struct dnp_slice_writer *slices, uint64_t until_ns)
{
	dnp_slice_writer_end(slices);
	if (until_ns <= slices->since_ns)
		return;
	open_record(slices, until_ns);
	write_record(slices);
}
