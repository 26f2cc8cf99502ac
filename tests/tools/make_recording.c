/* SPDX-License-Identifier: MIT */
/*
 * make-recording OUT [wall | SAMPLES [STACKS [THREADS]]]
 *
 * Writes a recording for measuring readers: SAMPLES samples (10,000,000) over STACKS distinct
 * stacks (200,000) of 20 to 60 frames on THREADS threads (8). Without numbers at all, or with
 * "wall": the small recordings of the unit tests.
 */
#include <stdio.h>

#include "base/clean.h"
#include "recording.h"

#define FRAMES   5000u
#define SHARED   12u /* frames at the root that all stacks have */
#define INTERVAL 1000000

static uint64_t state = 0x2545f4914f6cdd1d;

/* xorshift64: the same recording every time. */
static uint64_t random_below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % n;
}

static void describe(struct recording *rec, uint64_t threads)
{
	RECORD(rec, process, .pid = 1, .start_ns = 1000000000, .start_unix_ns = 1700000000000000000,
		.command = {"dotnet\0generated.dll\0", 21}, .runtime = dnp_str("10.0.12"),
		.cpus = threads);
	RECORD(rec, event, .index = 0, .name = dnp_str("cpu"), .unit = dnp_str("samples"),
		.interval_ns = INTERVAL, .source = dnp_str("generated"));
	for (uint64_t i = 0; i < threads; i++)
		RECORD(rec, thread, .index = i, .tid = 100 + i, .name = dnp_str("worker"));
	RECORD(rec, module, .index = 0, .kind = DNP_MODULE_MANAGED, .name = dnp_str("generated"));
	for (uint64_t i = 0; i < FRAMES; i++) {
		char name[64];

		snprintf(name, sizeof(name), "Made.Up.Type%u.Method%u(int)", (unsigned)i / 20,
			(unsigned)i);
		RECORD(rec, frame, .index = i, .kind = DNP_FRAME_MANAGED, .name = dnp_str(name));
	}
}

/* Leaves each stack's leaf in leaves[]. */
static void stacks(struct recording *rec, uint32_t *leaves, size_t n)
{
	uint64_t frames[64], next = 1;

	for (uint64_t i = 0; i < SHARED; i++)
		frames[i] = i;
	recording_stack(rec, next, 0, frames, SHARED);
	next += SHARED;
	for (size_t i = 0; i < n; i++) {
		size_t depth = 8 + random_below(40);

		for (size_t k = 0; k < depth; k++)
			frames[k] = SHARED + random_below(FRAMES - SHARED);
		recording_stack(rec, next, SHARED, frames, depth);
		next += depth;
		leaves[i] = (uint32_t)(next - 1);
	}
}

static void samples(
	struct recording *rec, uint64_t count, const uint32_t *leaves, size_t n, uint64_t threads)
{
	recording_flush(rec); /* each chunk of samples begins with its base */
	for (uint64_t i = 0; i < count; i++) {
		/* Few stacks have most samples, as in life. */
		size_t stack = random_below(random_below(n) + 1);

		if (!rec->payload.n || rec->payload.n > (1u << 20)) {
			recording_flush(rec);
			RECORD(rec, base, .time_ns = 1000000000 + i * INTERVAL / threads);
		}
		RECORD(rec, sample, .delta_ns = INTERVAL / (int64_t)threads,
			.thread = random_below(threads), .node = leaves[stack], .weight = 1);
	}
	RECORD(rec, end, .time_ns = 1000000000 + count * INTERVAL / threads,
		.reason = DNP_END_EXIT);
	recording_flush(rec);
}

static int write_out(const struct recording *rec, const char *path)
{
	auto_fclose FILE *file = fopen(path, "wb");

	if (!file || fwrite(rec->bytes.p, 1, rec->bytes.n, file) != rec->bytes.n || fflush(file)) {
		perror(path);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool wall = argc == 3 && !strcmp(argv[2], "wall");
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000;
	size_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 200000;
	uint64_t threads = argc > 4 ? strtoull(argv[4], NULL, 10) : 8;
	struct recording rec = recording_new(argc > 2 ? count + n : 1);
	auto_free uint32_t *leaves = calloc(n + 1, sizeof(*leaves));
	int status;

	if (argc < 2 || !n || !threads || !leaves) {
		fprintf(stderr, "usage: make-recording OUT [wall | SAMPLES [STACKS [THREADS]]]\n");
		return 2;
	}
	if (argc == 2) {
		recording_small(&rec);
	} else if (wall) {
		recording_wall(&rec);
	} else {
		describe(&rec, threads);
		stacks(&rec, leaves, n);
		samples(&rec, count, leaves, n, threads);
	}
	status = write_out(&rec, argv[1]);
	recording_done(&rec);
	return status;
}
