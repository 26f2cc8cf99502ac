/* SPDX-License-Identifier: MIT */
/*
 * make-recording OUT [wall | calls | log | SAMPLES [STACKS [THREADS]]]
 * make-recording OUT events CALLS
 * make-recording OUT switches [SLICES]
 *
 * Writes a recording for measuring readers: SAMPLES samples (10,000,000) over STACKS distinct
 * stacks (200,000) of 20 to 60 frames on THREADS threads (8). Without numbers at all, or with
 * "wall", "calls" or "log": the small recordings of the unit tests.
 * The second form: CALLS calls as --depth events records them, of 500 methods on 4 threads.
 * The third: the small recording of switches, or so many slices of 8 threads on 4 processors.
 */
#include <stdio.h>

#include "base/clean.h"
#include "format/call_codec.h"
#include "format/slice_codec.h"

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

#define CALLERS 4u   /* threads */
#define METHODS 500u /* traced */
#define WORDS   12000u
#define DEEPEST 16u

/* What a thread is at. */
struct caller {
	uint32_t open[DEEPEST]; /* methods */
	uint32_t depth;
	uint64_t time; /* units of 6 ns */
	uint64_t calls;
};

/* The next event of a thread that has `left` calls to make; 0: it has returned from all. */
static uint64_t happen(struct caller *caller, uint64_t left)
{
	uint32_t above = caller->depth ? caller->open[caller->depth - 1] : 0;

	caller->time += 5 + random_below(60);
	if (caller->depth == DEEPEST || !left || (caller->depth && random_below(2))) {
		if (!caller->depth)
			return 0;
		caller->depth--;
		return dnp_call_word(above, DNP_CALL_LEAVE, caller->time * DNP_CALL_TIME_TICKS);
	}
	above = 1 + (above * 7 + (uint32_t)random_below(2)) % METHODS;
	caller->open[caller->depth++] = above;
	caller->calls++;
	return dnp_call_word(above, DNP_CALL_ENTER, caller->time * DNP_CALL_TIME_TICKS);
}

/* One block of a thread's events. Whether there are more. */
static bool block(struct recording *rec, struct caller *caller, uint64_t thread, uint64_t calls,
	struct dnp_call_encoder *encoder)
{
	static uint8_t out[DNP_CALL_BLOCK_MAX];
	uint64_t depth = caller->depth, first = 0, word = 1;

	dnp_call_encoder_begin(encoder, out, sizeof(out), depth, NULL);
	for (unsigned i = 0; i < WORDS; i++) {
		word = happen(caller, calls - caller->calls);
		if (!word)
			break;
		first = first ? first : dnp_call_word_time(word);
		if (dnp_call_encoder_add(encoder, &word, 1) != 1)
			abort();
	}
	if (encoder->count)
		RECORD(rec, call_events, .thread = thread, .time_ns = 1000000000 + first * 6,
			.scale = UINT64_C(6) << 32, .count = encoder->count, .depth = depth,
			.kept = depth, .events = {(const char *)out, (size_t)(encoder->out - out)});
	recording_flush(rec);
	return word;
}

static void describe_events(struct recording *rec, uint64_t calls)
{
	describe(rec, CALLERS);
	for (uint64_t i = 1; i <= METHODS; i++)
		RECORD(rec, traced, .method = i, .frame = i, .function_id = 0x7f0000 + i * 16);
	RECORD(rec, call_stats, .methods = METHODS, .enters = calls, .leaves = calls);
	RECORD(rec, end, .time_ns = 1000000001);
	recording_flush(rec);
}

/* Writes as it goes: there may be more than fits in memory. */
static int events(struct recording *rec, uint64_t calls, const char *path)
{
	auto_fclose FILE *file = fopen(path, "wb");
	auto_free struct dnp_call_encoder *encoder = malloc(sizeof(*encoder));
	static struct caller callers[CALLERS];
	unsigned going = CALLERS;
	bool done[CALLERS] = {0};

	if (!file || !encoder) {
		perror(path);
		return 1;
	}
	describe_events(rec, calls / CALLERS * CALLERS);
	while (going) {
		for (unsigned i = 0; i < CALLERS; i++)
			if (!done[i] && !block(rec, &callers[i], i, calls / CALLERS, encoder)) {
				done[i] = true;
				going--;
			}
		if (fwrite(rec->bytes.p, 1, rec->bytes.n, file) != rec->bytes.n) {
			perror(path);
			return 1;
		}
		rec->bytes.n = 0;
	}
	return fflush(file) ? 1 : 0;
}

/* ---- Switches */

#define SWITCHERS 8u /* threads, two of each processor in turn */
#define A_RECORD  250u

struct switcher {
	uint64_t since_ns; /* the end of its last slice */
	uint64_t first_ns; /* the beginning of the first one in the record */
	uint8_t bytes[A_RECORD * DNP_SLICE_BYTES];
	size_t used, slices;
};

static void put_record(struct recording *rec, struct switcher *threads, uint64_t i)
{
	if (!threads[i].slices)
		return;
	RECORD(rec, slices, .thread = i, .time_ns = threads[i].first_ns,
		.slices = {(const char *)threads[i].bytes, threads[i].used});
	threads[i].used = threads[i].slices = 0;
}

static void put_slice(struct switcher *thread, uint64_t start_ns, uint64_t end_ns, uint32_t cpu)
{
	if (!thread->slices++)
		thread->first_ns = thread->since_ns = start_ns;
	thread->used += dnp_slice_put(thread->bytes + thread->used, start_ns - thread->since_ns,
		end_ns - start_ns, cpu, (enum dnp_slice_end)random_below(2));
	thread->since_ns = end_ns;
}

/* Each processor gives itself to its two threads in turn; some time in between is nobody's. */
static void switches(struct recording *rec, uint64_t count)
{
	static struct switcher threads[SWITCHERS];
	uint64_t now_ns[SWITCHERS / 2], last_ns = 0;

	describe(rec, SWITCHERS);
	RECORD(rec, event, .index = 1, .name = dnp_str("switch"), .unit = dnp_str("ns"));
	for (unsigned i = 0; i < SWITCHERS / 2; i++)
		now_ns[i] = 1000000000;
	for (uint64_t i = 0; i < count; i++) {
		uint32_t cpu = (uint32_t)random_below(SWITCHERS / 2);
		uint64_t it = cpu * 2 + random_below(2), start_ns = now_ns[cpu] + 800;

		now_ns[cpu] = start_ns + 1000 + random_below(200000);
		last_ns = now_ns[cpu] > last_ns ? now_ns[cpu] : last_ns;
		put_slice(&threads[it], start_ns, now_ns[cpu], cpu);
		if (threads[it].slices == A_RECORD)
			put_record(rec, threads, it);
	}
	for (uint64_t i = 0; i < SWITCHERS; i++)
		put_record(rec, threads, i);
	RECORD(rec, end, .time_ns = last_ns);
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
	bool calls = argc == 3 && !strcmp(argv[2], "calls");
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000;
	size_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 200000;
	uint64_t threads = argc > 4 ? strtoull(argv[4], NULL, 10) : 8;
	/* Those of one number would be copies of one recording. */
	struct recording rec = recording_new(argc > 2 ? count + n + (unsigned char)argv[2][0] : 1);
	auto_free uint32_t *leaves = calloc(n + 1, sizeof(*leaves));
	int status;

	if (argc < 2 || !n || !threads || !leaves) {
		fprintf(stderr,
			"usage: make-recording OUT [wall | calls | log | SAMPLES [STACKS "
			"[THREADS]]]\n");
		return 2;
	}
	if (argc == 2) {
		recording_small(&rec);
	} else if (wall) {
		recording_wall(&rec);
	} else if (argc == 4 && !strcmp(argv[2], "events")) {
		status = events(&rec, strtoull(argv[3], NULL, 10), argv[1]);
		recording_done(&rec);
		return status;
	} else if (argc == 3 && !strcmp(argv[2], "log")) {
		recording_call_log(&rec);
	} else if (calls) {
		recording_calls(&rec);
	} else if (argc == 3 && !strcmp(argv[2], "switches")) {
		recording_switches(&rec);
	} else if (argc == 4 && !strcmp(argv[2], "switches")) {
		switches(&rec, strtoull(argv[3], NULL, 10));
	} else {
		describe(&rec, threads);
		stacks(&rec, leaves, n);
		samples(&rec, count, leaves, n, threads);
	}
	status = write_out(&rec, argv[1]);
	recording_done(&rec);
	return status;
}
