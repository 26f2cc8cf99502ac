/* SPDX-License-Identifier: MIT */
#include "taken.h"

#include <sys/mman.h>
#include <unistd.h>

#include "format/chunk.h"
#include "test.h"

void taken_open(struct taken *taken, int pid)
{
	dnprof_timeline *timeline = &taken->timeline;

	pthread_mutex_init(&timeline->lock, NULL);
	timeline->switches = (struct dnp_switches *)timeline; /* there are some; none is asked */
	timeline->backend = DNPROF_TIMELINE_CPUS;
	timeline->told_ns = TAKEN_FROM + 1000 * MS;
	timeline->store.pid = pid;
	timeline->store.from_ns = TAKEN_FROM;
	timeline->store.bytes_max = UINT64_MAX;
	taken->taker.timeline = timeline;
	taken->taker.next_index = DNP_TAKER_FIRST_INDEX;
	taken->fd = memfd_create("recording", MFD_CLOEXEC);
	CHECK_EQ(dnp_writer_open(&taken->writer, dup(taken->fd), 1), 0);
}

void taken_close(struct taken *taken)
{
	CHECK_EQ(dnp_writer_close(&taken->writer), 0);
	close(taken->fd);
	dnp_vec_done(&taken->taker.cpus);
	dnp_vec_done(&taken->taker.gathered);
	dnp_tl_store_done(&taken->timeline.store);
	pthread_mutex_destroy(&taken->timeline.lock);
}

void taken_tell(
	struct taken *taken, int pid, int tid, enum dnp_switch_kind kind, int cpu, uint64_t ns)
{
	struct dnp_switch it = {
		.time_ns = TAKEN_FROM + ns,
		.pid = pid,
		.tid = tid,
		.kind = (uint8_t)kind,
		.cpu = (uint16_t)cpu,
	};

	dnp_tl_store_switch(&taken->timeline.store, &it);
}

void taken_tell_own(struct taken *taken, int tid, enum dnp_switch_kind kind, uint64_t ns)
{
	taken_tell(taken, taken->timeline.store.pid, tid, kind, 1, ns);
}

/* ---- What was written */

static void take_slices(struct taken *taken, const struct dnp_rec_slices *rec)
{
	struct dnp_slice_reader reader;
	struct dnp_slice_at at;

	dnp_slice_reader_init(&reader, rec);
	while (dnp_slice_next(&reader, &at) == 1) {
		CHECK(taken->n_slices < DNP_ARRAY_SIZE(taken->slices));
		taken->slices[taken->n_slices++] = (struct taken_slice){rec->thread, at};
	}
}

static void take_record(struct taken *taken, uint64_t id, struct dnp_str body)
{
	const uint8_t *bytes = (const uint8_t *)body.p;
	struct dnp_rec_slices slices;

	switch (id) {
	case DNP_REC_thread:
		CHECK(taken->n_threads < DNP_ARRAY_SIZE(taken->threads));
		CHECK_EQ(dnp_get_thread(bytes, body.n, &taken->threads[taken->n_threads++]), 0);
		break;
	case DNP_REC_wakeup:
		CHECK(taken->n_wakeups < DNP_ARRAY_SIZE(taken->wakeups));
		CHECK_EQ(dnp_get_wakeup(bytes, body.n, &taken->wakeups[taken->n_wakeups++]), 0);
		break;
	case DNP_REC_switch_loss:
		if (taken->n_losses < DNP_ARRAY_SIZE(taken->losses))
			CHECK_EQ(
				dnp_get_switch_loss(bytes, body.n, &taken->losses[taken->n_losses]),
				0);
		taken->n_losses++;
		break;
	case DNP_REC_slices:
		CHECK_EQ(dnp_get_slices(bytes, body.n, &slices), 0);
		take_slices(taken, &slices);
		break;
	default: break;
	}
}

/* What has been read is cut off the file. */
void taken_read(struct taken *taken)
{
	static uint8_t file[1 << 16];
	struct dnp_chunk_header header;
	ssize_t n;

	taken->n_threads = taken->n_slices = taken->n_wakeups = taken->n_losses = 0;
	CHECK_EQ(dnp_writer_flush(&taken->writer), 0);
	n = pread(taken->fd, file, sizeof(file), 0);
	CHECK(n >= 0 && (size_t)n < sizeof(file));
	for (size_t at = 0; at < (size_t)n; at += sizeof(header) + header.length) {
		const uint8_t *payload = file + at + sizeof(header);
		struct dnp_str body;
		uint64_t id;
		size_t in = 0;

		memcpy(&header, file + at, sizeof(header));
		while (header.kind == DNP_CHUNK_RECORDS &&
			dnp_rec_next(payload, header.length, &in, &id, &body) > 0)
			take_record(taken, id, body);
	}
	CHECK_EQ(ftruncate(taken->fd, 0), 0);
	CHECK_EQ(lseek(taken->fd, 0, SEEK_SET), 0);
}
