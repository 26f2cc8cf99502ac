/* SPDX-License-Identifier: MIT */
/* What is told of a wait whose stack was read: it is of that very wait. The walk is this test's. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "agentless.h"
#include "capture/outside.h"
#include "capture/wait.h"
#include "os/clock.h"
#include "os/thread.h"
#include "test.h"

#define MS     UINT64_C(1000000)
#define MOMENT 12345 /* of the sleep, as the walk tells it */

/* Each walk gives its number as the one frame; the first that counts is the third. */
enum { MOVED_BEHIND = 2 };
static _Atomic unsigned walks, taken;

int dnp_outside_walk(struct dnp_thread *thread, unsigned how, dnp_frame_word *frames,
	struct dnp_target_stack *stack, uint64_t *walk_ns)
{
	unsigned walk = atomic_fetch_add(&walks, 1) + 1;

	(void)how;
	frames[0] = walk;
	*walk_ns = 0;
	*stack = (struct dnp_target_stack){
		.n = 1,
		.asleep = true,
		.syscall = -1,
		.cpu_ns = dnp_thread_cpu_ns(thread->tid) - (walk <= MOVED_BEHIND),
		.time_ns = MOMENT,
	};
	return 0;
}

static struct dnp_walked_node take(unsigned event, const struct dnp_walked *walked)
{
	(void)event;
	CHECK_EQ(walked->n, 1);
	CHECK_EQ(walked->time_ns, MOMENT);
	atomic_store(&taken, (unsigned)walked->frames[0]);
	return (struct dnp_walked_node){0};
}

static sem_t over;
static _Atomic int sleeper_tid;

static void *sleep_on(void *arg)
{
	atomic_store(&sleeper_tid, dnp_thread_id());
	sem_wait(&over);
	return arg;
}

TEST(stack_of_one_that_has_moved_since_is_not_told)
{
	const struct dnp_agent_options options = {.wait_ns = 10 * MS};
	const struct dnp_engine_setting setting = {
		.options = &options,
		.is_ours = is_ours,
		.announce = announce,
		.thread = thread_of,
		.walked = take,
	};
	struct dnp_writer writer = {0};
	struct dnp_err err;
	pthread_t thread;
	int is_new;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	sem_init(&over, 0, 0);
	CHECK_EQ(pthread_create(&thread, NULL, sleep_on, NULL), 0);
	while (!atomic_load(&sleeper_tid))
		usleep(1000);
	CHECK(dnp_thread_begin(atomic_load(&sleeper_tid), &is_new));
	if (dnp_engine_switch.start(&setting, 0, &err) || dnp_engine_wait.start(&setting, 1, &err))
		FAIL("%s", err.text);
	while (!atomic_load(&taken)) {
		usleep(1000);
		dnp_wait_write(&writer, 0);
	}
	CHECK_EQ(atomic_load(&taken), MOVED_BEHIND + 1);
	dnp_engine_wait.stop();
	dnp_wait_close();
	dnp_engine_switch.stop();
	dnp_taker_close(dnp_switch_taker());
	sem_post(&over);
	pthread_join(thread, NULL);
}
