/* SPDX-License-Identifier: MIT */
/* Switches as the kernel could tell them → threads and slices; and what is asked about them. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "test.h"
#include "timeline/timeline.h"

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

enum { PID = 100 };

static dnprof_timeline timeline;
static struct dnp_tl_store *const store = &timeline.store;

/* A picture of the first second, with switches told by hand. */
static void open_by_hand(void)
{
	pthread_mutex_init(&timeline.lock, NULL);
	timeline.switches = (struct dnp_switches *)&timeline; /* there are some; none is asked */
	timeline.backend = DNPROF_TIMELINE_CPUS;
	timeline.has_picture = true;
	timeline.from_ns = S;
	timeline.until_ns = 2 * S;
	timeline.clocks_until_ns = UINT64_MAX;
	store->pid = PID;
	store->from_ns = S;
	store->bytes_max = UINT64_MAX;
}

static void close_by_hand(void)
{
	dnp_tl_store_done(store);
	pthread_mutex_destroy(&timeline.lock);
}

static void tell_of(int pid, int tid, enum dnp_switch_kind kind, uint64_t ms)
{
	struct dnp_switch it = {
		.time_ns = S + ms * MS, .pid = pid, .tid = tid, .kind = (uint8_t)kind, .cpu = 1};

	dnp_tl_store_switch(store, &it);
}

static void tell(int tid, enum dnp_switch_kind kind, uint64_t ms)
{
	tell_of(PID, tid, kind, ms);
}

static void tell_loss(uint64_t from_ms, uint64_t until_ms, uint64_t records)
{
	struct dnp_switch it = {.time_ns = S + until_ms * MS,
		.since_ns = S + from_ms * MS,
		.count = records,
		.kind = DNP_SWITCH_LOST};

	dnp_tl_store_switch(store, &it);
}

static struct dnprof_thread_time time_of(uint64_t id, uint64_t from_ms, uint64_t until_ms)
{
	struct dnprof_thread_time time = {.struct_size = sizeof(time)};

	CHECK_EQ(dnprof_timeline_thread_time(
			 &timeline, id, S + from_ms * MS, S + until_ms * MS, &time),
		0);
	return time;
}

static void check_slice(uint64_t id, size_t i, uint64_t from_ms, uint64_t until_ms, int how)
{
	struct dnprof_slice slices[16];
	int64_t n = dnprof_timeline_slices(&timeline, id, S, 2 * S, slices, 16);

	CHECK(n > (int64_t)i);
	CHECK_EQ(slices[i].start_ns, S + from_ms * MS);
	CHECK_EQ(slices[i].end_ns, S + until_ms * MS);
	CHECK_EQ(slices[i].how, how);
}

TEST(times_by_switches_add_up)
{
	struct dnprof_thread_time time;

	open_by_hand();
	tell(1, DNP_SWITCH_BEGIN, 100);
	tell(1, DNP_SWITCH_IN, 110);
	tell(1, DNP_SWITCH_WAITS, 150);
	tell(1, DNP_SWITCH_IN, 250);
	tell(1, DNP_SWITCH_PREEMPTED, 300);
	tell(1, DNP_SWITCH_IN, 400);
	tell(1, DNP_SWITCH_END, 405);
	check_slice(1, 0, 110, 150, DNPROF_SLICE_WAITS);
	check_slice(1, 1, 250, 300, DNPROF_SLICE_PREEMPTED);
	check_slice(1, 2, 400, 405, DNPROF_SLICE_ENDED);
	time = time_of(1, 0, 1000);
	CHECK_EQ(time.on_cpu_ns, 95 * MS);
	CHECK_EQ(time.preempted_ns, 110 * MS);
	CHECK_EQ(time.blocked_ns, 100 * MS);
	CHECK_EQ(time.voluntary, 1);
	CHECK_EQ(time.involuntary, 1);
	/* A part of it: the states of that part alone. */
	time = time_of(1, 120, 260);
	CHECK_EQ(time.on_cpu_ns, 40 * MS);
	CHECK_EQ(time.preempted_ns, 0);
	CHECK_EQ(time.blocked_ns, 100 * MS);
	CHECK_EQ(time.voluntary, 1);
	CHECK_EQ(store->disordered, 0);
	close_by_hand();
}

TEST(what_was_there_before)
{
	struct dnprof_thread_time time;

	open_by_hand();
	/* It ran when the recording began, and runs when the picture is taken. */
	tell(1, DNP_SWITCH_WAITS, 30);
	tell(1, DNP_SWITCH_IN, 900);
	check_slice(1, 0, 0, 30, DNPROF_SLICE_WAITS);
	check_slice(1, 1, 900, 1000, DNPROF_SLICE_RUNS);
	/* Nobody knows why this one did not. */
	tell(2, DNP_SWITCH_IN, 40);
	tell(2, DNP_SWITCH_WAITS, 50);
	time = time_of(2, 0, 1000);
	CHECK_EQ(time.on_cpu_ns, 10 * MS);
	CHECK_EQ(time.blocked_ns, 950 * MS);
	CHECK_EQ(time.preempted_ns, 0);
	/* Of this one the system was asked. */
	dnp_tl_store_add(store, PID, 3, S)->seen_ns = S + 1;
	tell(3, DNP_SWITCH_IN, 40);
	time = time_of(3, 0, 1000);
	CHECK_EQ(time.blocked_ns, 40 * MS);
	CHECK_EQ(time.on_cpu_ns, 960 * MS);
	CHECK_EQ(store->disordered, 0);
	close_by_hand();
}

TEST(ids_of_the_system_come_again)
{
	open_by_hand();
	tell(1, DNP_SWITCH_BEGIN, 10);
	tell(1, DNP_SWITCH_IN, 11);
	tell(1, DNP_SWITCH_END, 20);
	tell(1, DNP_SWITCH_PREEMPTED, 21); /* the machine tells of its last breath, too */
	tell(1, DNP_SWITCH_BEGIN, 500);
	tell(1, DNP_SWITCH_IN, 510);
	tell(1, DNP_SWITCH_WAITS, 520);
	CHECK_EQ(store->threads.n, 2);
	CHECK_EQ(store->threads.p[0]->end_ns, S + 20 * MS);
	check_slice(1, 0, 11, 20, DNPROF_SLICE_ENDED);
	CHECK_EQ(store->threads.p[1]->begin_ns, S + 500 * MS);
	check_slice(2, 0, 510, 520, DNPROF_SLICE_WAITS);
	/* The end of one is lost, then the begin of one. */
	tell(1, DNP_SWITCH_BEGIN, 600);
	CHECK_EQ(store->threads.n, 3);
	CHECK_EQ(store->threads.p[1]->end_ns, S + 600 * MS);
	tell(1, DNP_SWITCH_END, 610);
	tell(1, DNP_SWITCH_IN, 900);
	CHECK_EQ(store->threads.n, 4);
	CHECK(dnp_tl_store_find(store, 1) == store->threads.p[3]);
	/* What ends may be long in it. */
	tell(1, DNP_SWITCH_END, 910);
	tell(1, DNP_SWITCH_PREEMPTED, 2000);
	CHECK_EQ(store->threads.n, 4);
	close_by_hand();
}

TEST(a_thread_that_was_listed_before_it_was_told)
{
	open_by_hand();
	dnp_tl_store_add(store, PID, 1, S)->seen_ns = S + 50 * MS;
	tell(1, DNP_SWITCH_BEGIN, 40);
	CHECK_EQ(store->threads.n, 1);
	CHECK_EQ(store->threads.p[0]->begin_ns, S + 40 * MS);
	close_by_hand();
}

static void read_clock(struct dnp_tl_thread *thread, uint64_t ms, uint64_t cpu_ms)
{
	struct dnp_task_clock clock = {.time_ns = S + ms * MS, .cpu_ns = cpu_ms * MS};

	dnp_tl_store_checkpoint(store, thread, &clock);
	thread->seen_ns = clock.time_ns;
}

/* What it used before somebody looked at its clock is its own, too. */
TEST(a_clock_that_was_read_before_its_thread_was_told)
{
	open_by_hand();
	read_clock(dnp_tl_store_add(store, PID, 1, S), 500, 96);
	tell(1, DNP_SWITCH_BEGIN, 400);
	CHECK_EQ(store->threads.n, 1);
	read_clock(store->threads.p[0], 900, 167);
	CHECK_EQ(time_of(1, 0, 1000).cpu_ns, 167 * MS);
	CHECK_EQ(time_of(1, 0, 1000).checkpoint_from_ns, S + 400 * MS);
	/* Listed a moment before that was told. */
	read_clock(dnp_tl_store_add(store, PID, 2, S), 399, 0);
	tell(2, DNP_SWITCH_BEGIN, 400);
	CHECK_EQ(store->threads.n, 2);
	CHECK_EQ(store->threads.p[1]->begin_ns, S + 400 * MS);
	/* An older one with that id has used some by then. */
	read_clock(dnp_tl_store_add(store, PID, 3, S), 399, 5);
	tell(3, DNP_SWITCH_BEGIN, 400);
	CHECK_EQ(store->threads.n, 4);
	CHECK_EQ(store->threads.p[2]->end_ns, S + 400 * MS);
	/* One that was about to end when somebody looked: it had no clock any more. */
	dnp_tl_store_add(store, PID, 4, S + 450 * MS);
	tell(4, DNP_SWITCH_BEGIN, 400);
	CHECK_EQ(store->threads.n, 5);
	close_by_hand();
}

TEST(losses_are_told_and_make_no_wrong_slices)
{
	struct dnprof_loss loss = {.struct_size = sizeof(loss)};

	open_by_hand();
	tell(1, DNP_SWITCH_IN, 10);
	tell(2, DNP_SWITCH_IN, 10);
	tell(2, DNP_SWITCH_WAITS, 20);
	tell_loss(30, 40, 7);
	tell(1, DNP_SWITCH_IN, 50);    /* when it went is lost */
	tell(2, DNP_SWITCH_WAITS, 60); /* when it came is lost */
	check_slice(1, 0, 10, 30, DNPROF_SLICE_UNKNOWN);
	check_slice(1, 1, 50, 1000, DNPROF_SLICE_RUNS);
	check_slice(2, 0, 10, 20, DNPROF_SLICE_WAITS);
	check_slice(2, 1, 40, 60, DNPROF_SLICE_WAITS);
	CHECK_EQ(store->lost, 7);
	CHECK_EQ(store->disordered, 0);
	CHECK_EQ(dnprof_timeline_next_loss(&timeline, 0, &loss), 0);
	CHECK_EQ(loss.from_ns, S + 30 * MS);
	CHECK_EQ(loss.until_ns, S + 40 * MS);
	CHECK_EQ(loss.records, 7);
	CHECK_EQ(dnprof_timeline_next_loss(&timeline, loss.id, &loss), -ENOENT);
	/* Without a loss it is an error of somebody's. */
	tell(1, DNP_SWITCH_IN, 70);
	tell(2, DNP_SWITCH_WAITS, 80);
	CHECK_EQ(store->disordered, 2);
	close_by_hand();
}

TEST(a_gap_makes_a_new_start)
{
	struct dnp_switch gap = {.time_ns = S + 500 * MS, .kind = DNP_SWITCH_GAP};
	struct dnp_tl_thread *part;

	open_by_hand();
	tell(1, DNP_SWITCH_BEGIN, 5);
	tell(1, DNP_SWITCH_IN, 10);
	tell(2, DNP_SWITCH_BEGIN, 5);
	tell(2, DNP_SWITCH_END, 100);
	dnp_tl_store_switch(store, &gap);
	CHECK_EQ(store->from_ns, S + 500 * MS);
	CHECK_EQ(store->threads.n, 1);
	timeline.from_ns = store->from_ns;
	tell(1, DNP_SWITCH_WAITS, 600);
	check_slice(1, 0, 500, 600, DNPROF_SLICE_WAITS);
	CHECK_EQ(store->disordered, 0);
	/* It was another one all the time. */
	part = dnp_tl_store_part(store, store->threads.p[0]);
	CHECK_EQ(part->id, 3);
	check_slice(3, 0, 500, 600, DNPROF_SLICE_WAITS);
	CHECK_EQ(dnprof_timeline_slices(&timeline, 1, S, 2 * S, NULL, 0), 0);
	close_by_hand();
}

TEST(memory_is_bounded)
{
	open_by_hand();
	store->bytes_max = 1 << 20;
	for (int tid = 2; tid < 1002; tid++) {
		tell(tid, DNP_SWITCH_BEGIN, (uint64_t)tid);
		tell(tid, DNP_SWITCH_END, (uint64_t)tid + 1);
	}
	for (uint64_t ms = 0; ms < 200000; ms += 2) {
		tell(1, DNP_SWITCH_IN, ms);
		tell(1, ms % 4 ? DNP_SWITCH_WAITS : DNP_SWITCH_PREEMPTED, ms + 1);
		if (ms % 1000 == 0)
			dnp_tl_store_fit(store, S + ms * MS);
	}
	dnp_tl_store_fit(store, S + 200000 * MS);
	CHECK_EQ(store->threads.n, 1);
	CHECK(store->threads.p[0]->slices.cap * sizeof(struct dnprof_slice) < 2 << 20);
	CHECK(store->threads.p[0]->slices.n > 5000);
	CHECK(store->from_ns > 100 * S);
	/* What is left is whole since then, and what came before it is known. */
	CHECK(store->threads.p[0]->slices.p[0].end_ns > store->from_ns);
	CHECK(store->threads.p[0]->slices.p[0].start_ns < store->from_ns + 4 * MS);
	CHECK(store->threads.p[0]->before <= DNPROF_SLICE_PREEMPTED);
	CHECK_EQ(store->failed, 0);
	close_by_hand();
}

/* ---- Spans */

static int draw(
	uint64_t id, uint64_t from_ms, uint64_t until_ms, uint32_t width, struct dnprof_span *spans)
{
	return dnprof_timeline_spans(
		&timeline, id, S + from_ms * MS, S + until_ms * MS, width, spans);
}

static void check_span(struct dnprof_span span, uint32_t start, uint32_t end)
{
	CHECK_EQ(span.start, start);
	CHECK_EQ(span.end, end);
}

TEST(spans_are_at_least_a_pixel_and_do_not_touch)
{
	struct dnprof_span spans[500];

	open_by_hand();
	tell(1, DNP_SWITCH_BEGIN, 1);
	tell(1, DNP_SWITCH_IN, 100);
	tell(1, DNP_SWITCH_WAITS, 200);
	tell(1, DNP_SWITCH_IN, 505);
	tell(1, DNP_SWITCH_WAITS, 506); /* a tenth of a pixel */
	tell(1, DNP_SWITCH_IN, 800);
	tell(1, DNP_SWITCH_WAITS, 815);
	tell(1, DNP_SWITCH_IN, 816); /* the same pixel as the end of the last */
	tell(1, DNP_SWITCH_WAITS, 840);
	CHECK_EQ(draw(1, 0, 1000, 100, spans), 3);
	check_span(spans[0], 10, 20);
	check_span(spans[1], 50, 51);
	check_span(spans[2], 80, 84);
	/* Cut to the range; beyond the picture there is nothing. */
	CHECK_EQ(draw(1, 150, 250, 10, spans), 1);
	check_span(spans[0], 0, 5);
	CHECK_EQ(draw(1, 900, 5000, 10, spans), 0);
	CHECK_EQ(draw(1, 0, 10000, 100, spans), 3);
	check_span(spans[0], 1, 2);
	check_span(spans[1], 5, 6);
	check_span(spans[2], 8, 9);
	CHECK_EQ(draw(1, 0, 1000, 1, spans), 1);
	check_span(spans[0], 0, 1);
	CHECK_EQ(draw(1, 10, 10, 1, spans), -EINVAL);
	CHECK_EQ(draw(1, 0, 10, 0, spans), -EINVAL);
	CHECK_EQ(draw(9, 0, 10, 5, spans), -ENOENT);
	close_by_hand();
}

/* Against the definition, for slices anywhere and graphs of any kind. */
TEST(spans_are_what_they_are_defined_to_be)
{
	unsigned seed = 1;

	open_by_hand();
	tell(1, DNP_SWITCH_BEGIN, 0);
	for (uint64_t ms = 1; ms < 990; ms += 1 + (uint64_t)rand_r(&seed) % 9) {
		tell(1, DNP_SWITCH_IN, ms);
		ms += 1 + (uint64_t)rand_r(&seed) % 5;
		tell(1, DNP_SWITCH_WAITS, ms);
	}
	for (int round = 0; round < 2000; round++) {
		uint64_t from = (uint64_t)rand_r(&seed) % 900;
		uint64_t length = 1 + (uint64_t)rand_r(&seed) % 100;
		uint32_t width = 1 + (uint32_t)rand_r(&seed) % 150;
		struct dnprof_span spans[76];
		unsigned char have[150] = {0}, want[150] = {0};
		int n = draw(1, from, from + length, width, spans);

		CHECK(n >= 0 && (uint32_t)n <= (width + 1) / 2);
		for (int i = 0; i < n; i++) {
			CHECK(spans[i].start < spans[i].end && spans[i].end <= width);
			CHECK(!i || spans[i].start > spans[i - 1].end);
			memset(have + spans[i].start, 1, spans[i].end - spans[i].start);
		}
		for (size_t i = 0; i < store->threads.p[0]->slices.n; i++) {
			const struct dnprof_slice *slice = &store->threads.p[0]->slices.p[i];

			/* A pixel is a part [x, x + 1) / width of the range. */
			for (uint64_t x = 0; x < width; x++) {
				uint64_t begin = (slice->start_ns - S) / MS * width;
				uint64_t end = (slice->end_ns - S) / MS * width;

				if (begin < from * width + (x + 1) * length &&
					end > from * width + x * length)
					want[x] = 1;
			}
		}
		CHECK(!memcmp(have, want, width));
	}
	close_by_hand();
}

TEST(other_processes_are_one_row)
{
	struct dnprof_process process = {.struct_size = sizeof(process)};
	struct dnprof_span spans[50];
	struct dnprof_thread_time time;

	open_by_hand();
	tell(1, DNP_SWITCH_IN, 500);
	tell_of(7, 7, DNP_SWITCH_WAITS, 100);
	tell_of(7, 7, DNP_SWITCH_IN, 200);
	tell_of(7, 7, DNP_SWITCH_WAITS, 300);
	tell_of(5, 6, DNP_SWITCH_IN, 250);
	tell_of(0, 0, DNP_SWITCH_IN, 260); /* a processor with nothing to do */
	tell_of(5, 6, DNP_SWITCH_PREEMPTED, 350);
	CHECK_EQ(draw(DNPROF_OTHERS, 0, 1000, 100, spans), 2);
	check_span(spans[0], 0, 10);
	check_span(spans[1], 20, 35);
	time = time_of(DNPROF_OTHERS, 0, 1000);
	CHECK_EQ(time.on_cpu_ns, 300 * MS);
	CHECK_EQ(time.voluntary + time.involuntary, 3);
	for (int32_t pid = 0, want[] = {5, 7, PID}, i = 0; i < 3; i++) {
		CHECK_EQ(dnprof_timeline_next_process(&timeline, pid, &process), 0);
		CHECK_EQ(process.pid, want[i]);
		CHECK_EQ(process.threads, 1);
		pid = process.pid;
	}
	CHECK_EQ(dnprof_timeline_next_process(&timeline, PID, &process), -ENOENT);
	timeline.backend = DNPROF_TIMELINE_SWITCHES;
	CHECK_EQ(draw(DNPROF_OTHERS, 0, 1000, 100, spans), -ENOENT);
	close_by_hand();
}

/* ---- Clocks */

TEST(cpu_time_is_told_from_checkpoint_to_checkpoint)
{
	struct dnprof_thread_time time;
	struct dnp_tl_thread *thread;

	open_by_hand();
	tell(1, DNP_SWITCH_BEGIN, 10);
	thread = dnp_tl_store_find(store, 1);
	for (uint64_t ms = 100; ms <= 900; ms += 100) {
		struct dnp_task_clock clock = {.time_ns = S + ms * MS, .cpu_ns = ms * 1000};

		dnp_tl_store_checkpoint(store, thread, &clock);
	}
	time = time_of(1, 150, 750);
	CHECK_EQ(time.checkpoint_from_ns, S + 200 * MS);
	CHECK_EQ(time.checkpoint_until_ns, S + 700 * MS);
	CHECK_EQ(time.cpu_ns, 500000);
	/* Its begin is one, too. */
	CHECK_EQ(time_of(1, 0, 1000).cpu_ns, 900000);
	CHECK_EQ(time_of(1, 150, 250).cpu_ns, 0);
	CHECK_EQ(time_of(1, 150, 250).checkpoint_from_ns, 0);
	/* One that stands is its first and its last reading. */
	for (uint64_t ms = 1000; ms <= 1900; ms += 100) {
		struct dnp_task_clock clock = {.time_ns = S + ms * MS, .cpu_ns = 900 * 1000};

		dnp_tl_store_checkpoint(store, thread, &clock);
	}
	CHECK_EQ(thread->checkpoints.n, 11);
	CHECK_EQ(thread->checkpoints.p[10].time_ns, S + 1900 * MS);
	close_by_hand();
}

static void check_clock(
	const struct dnprof_thread_time *time, uint64_t from_ms, uint64_t until_ms, uint64_t cpu_ms)
{
	CHECK_EQ(time->checkpoint_from_ns, S + from_ms * MS);
	CHECK_EQ(time->checkpoint_until_ns, S + until_ms * MS);
	CHECK_EQ(time->cpu_ns, cpu_ms * MS);
}

/* Thread 1, from the picture's beginning on. */
static struct dnp_tl_thread *open_with_thread(void)
{
	open_by_hand();
	tell(1, DNP_SWITCH_BEGIN, 0);
	return dnp_tl_store_find(store, 1);
}

/* What it said is known as long as it stands: a short burst is not all that the thread ever did. */
TEST(a_clock_that_stands_is_known_all_the_while)
{
	struct dnp_tl_thread *thread = open_with_thread();
	struct dnprof_thread_time time;

	read_clock(thread, 100, 5);
	read_clock(thread, 500, 5); /* it stood */
	read_clock(thread, 501, 6); /* a burst */
	time = time_of(1, 200, 600);
	check_clock(&time, 200, 501, 1);
	time = time_of(1, 200, 400);
	check_clock(&time, 200, 400, 0);
	/* It is looked at again and again, and nothing is written down as long as it stands. */
	timeline.switches = NULL;
	thread->seen_ns = S + 900 * MS;
	time = time_of(1, 200, 800);
	check_clock(&time, 200, 800, 1);
	time = time_of(1, 600, 1000);
	check_clock(&time, 600, 900, 0);
	close_by_hand();
}

/* The thread tells of its own readings in its own time. */
TEST(readings_that_are_heard_of_late_are_kept)
{
	struct dnp_tl_thread *thread = open_with_thread();
	struct dnprof_thread_time time;

	read_clock(thread, 100, 5);
	read_clock(thread, 400, 9);
	dnp_tl_store_reading(store, thread, S + 300 * MS, 7 * MS);
	dnp_tl_store_reading(store, thread, S + 300 * MS, 8 * MS);  /* that one is known */
	dnp_tl_store_reading(store, thread, S + 350 * MS, 10 * MS); /* more than it said later */
	dnp_tl_store_reading(store, thread, S + 500 * MS, 10 * MS);
	CHECK_EQ(thread->checkpoints.n, 5);
	time = time_of(1, 100, 350);
	check_clock(&time, 100, 300, 2);
	time = time_of(1, 300, 1000);
	check_clock(&time, 300, 500, 3);
	close_by_hand();
}

/* What is read behind a picture is not in it. */
TEST(a_picture_has_the_readings_that_there_were)
{
	struct dnp_tl_thread *thread = open_with_thread();

	read_clock(thread, 999, 5);
	read_clock(thread, 1001, 6); /* for it, a moment after the last switch */
	timeline.clocks_until_ns = S + 1002 * MS;
	read_clock(thread, 1500, 9);
	CHECK_EQ(time_of(1, 0, 1000).cpu_ns, 6 * MS);
	close_by_hand();
}

/* ---- Notes */

static struct dnp_tl_notes notes;

static void *note_all(void *arg)
{
	for (uint32_t i = 1; i <= 20000; i++) {
		struct dnp_tl_note note = {.time_ns = i, .cpu_ns = ~(uint64_t)i};

		note.tid = (uint32_t)(uintptr_t)arg;
		memset(note.text, (int)('a' + i % 26), sizeof(note.text) - 1);
		dnp_tl_note(&notes, &note);
	}
	return NULL;
}

struct heard {
	uint64_t n, last[5];
};

static void hear(const struct dnp_tl_note *note, void *context)
{
	struct heard *heard = context;

	CHECK(note->tid >= 1 && note->tid <= 4);
	CHECK_EQ(note->cpu_ns, ~note->time_ns); /* not half of another one */
	for (size_t i = 0; i + 1 < sizeof(note->text); i++)
		CHECK_EQ(note->text[i], 'a' + note->time_ns % 26);
	CHECK(note->time_ns > heard->last[note->tid]);
	heard->last[note->tid] = note->time_ns;
	heard->n++;
}

TEST(notes_are_whole_or_counted)
{
	pthread_t threads[4];
	struct heard heard = {0};

	for (uintptr_t i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, note_all, (void *)(i + 1)), 0);
	for (int i = 0; i < 100; i++)
		dnp_tl_notes_read(&notes, false, hear, &heard);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	dnp_tl_notes_read(&notes, false, hear, &heard);
	CHECK(heard.n >= DNP_TL_NOTES / 2);
	CHECK_EQ(heard.n + atomic_load(&notes.lost) + (atomic_load(&notes.next) - notes.read),
		80000);
}

static void count(const struct dnp_tl_note *note, void *context)
{
	(void)note;
	++*(unsigned *)context;
}

/* Who took a turn and died before it wrote keeps those behind it back, but not for ever. */
TEST(notes_behind_one_that_never_comes_are_there_in_the_end)
{
	struct dnp_tl_note note = {.time_ns = 1};
	unsigned n = 0;

	CHECK_EQ(dnp_tl_note(&notes, &note), 0);
	atomic_fetch_add(&notes.next, 1);
	CHECK_EQ(dnp_tl_note(&notes, &note), 0);
	dnp_tl_notes_read(&notes, false, count, &n);
	CHECK_EQ(n, 1);
	CHECK_EQ(atomic_load(&notes.lost), 0);
	dnp_tl_notes_read(&notes, true, count, &n);
	CHECK_EQ(n, 2);
	CHECK_EQ(atomic_load(&notes.lost), 1);
}
