/* SPDX-License-Identifier: MIT */
/* Draws its own threads: one works for a moment each time the other one tells it to. */
#include <dnprof/timeline.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WIDTH 72
#define MS    1000000

static dnprof_timeline *timeline;

/* ---- A program with two threads */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int orders; /* -1: no more */

static void *work(void *unused)
{
	(void)unused;
	dnprof_timeline_set_thread_name(timeline, 0, "worker");
	pthread_mutex_lock(&lock);
	while (orders >= 0) {
		uint64_t end;

		if (!orders) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		orders--;
		end = dnprof_timeline_now() + 20 * MS;
		while (dnprof_timeline_now() < end)
			;
	}
	pthread_mutex_unlock(&lock);
	dnprof_timeline_checkpoint(timeline); /* its CPU time, to the end */
	return NULL;
}

static void order(int n)
{
	pthread_mutex_lock(&lock);
	orders = n;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static void run_for_a_second(void)
{
	struct timespec pause = {0, 100 * MS};
	pthread_t worker;

	pthread_create(&worker, NULL, work, NULL);
	for (int i = 0; i < 10; i++) {
		dnprof_timeline_mark(timeline, "order");
		order(1);
		nanosleep(&pause, NULL);
	}
	order(-1);
	pthread_join(worker, NULL);
}

/* ---- The picture */

static void draw(const struct dnprof_thread *thread, const struct dnprof_picture *picture)
{
	struct dnprof_thread_time time = {.struct_size = sizeof(time)};
	struct dnprof_span spans[(WIDTH + 1) / 2];
	char row[WIDTH + 1];
	int n = dnprof_timeline_spans(
		timeline, thread->id, picture->from_ns, picture->until_ns, WIDTH, spans);

	memset(row, '.', WIDTH);
	row[WIDTH] = '\0';
	for (int i = 0; i < n; i++)
		memset(row + spans[i].start, '#', spans[i].end - spans[i].start);
	dnprof_timeline_thread_time(
		timeline, thread->id, picture->from_ns, picture->until_ns, &time);
	printf("%s %s: %.1f ms of CPU time, %llu switches\n", row, thread->name,
		(double)time.cpu_ns / MS, (unsigned long long)(time.voluntary + time.involuntary));
}

int main(void)
{
	struct dnprof_timeline_error error = {.struct_size = sizeof(error)};
	struct dnprof_timeline_info info = {.struct_size = sizeof(info)};
	struct dnprof_picture picture = {.struct_size = sizeof(picture)};
	struct dnprof_thread thread = {.struct_size = sizeof(thread)};

	if (dnprof_timeline_open(NULL, &timeline, &error) ||
		dnprof_timeline_start(timeline, &error)) {
		fprintf(stderr, "no time line: %s\n", error.text);
		return 1;
	}
	dnprof_timeline_info(timeline, &info);
	printf("%s\n", info.reason);
	run_for_a_second();
	if (dnprof_timeline_snapshot(timeline, &picture, &error)) {
		fprintf(stderr, "no picture: %s\n", error.text);
		return 1;
	}
	for (uint64_t id = 0; !dnprof_timeline_next_thread(timeline, id, &thread); id = thread.id)
		draw(&thread, &picture);
	printf("%u switches a second, lost %llu\n", picture.switches_per_s,
		(unsigned long long)picture.lost);
	dnprof_timeline_close(timeline);
	return 0;
}
