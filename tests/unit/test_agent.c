/* SPDX-License-Identifier: MIT */
/* What the agent's callbacks wait for, with a walk that goes on meanwhile. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "activation.h"
#include "agent/callbacks.h"
#include "agent/control.h"
#include "agent/engines.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/watch.h"
#include "unwind/target.h"

#define FRAMES_MAX 64
#define MANAGED    ((ThreadID)0x1000)
#define MODULE     ((ModuleID)0x2000)

static uint64_t walk_ns; /* that a walk lasts */
static _Atomic int tid;
static _Atomic bool may_end, walked_after_end, walked_after_unload;

static bool walk_goes_on(void)
{
	return dnp_target_since() != UINT64_MAX;
}

/* Cannot be stopped, so that a walk of it lasts; the runtime says that it ends meanwhile. */
static void *run_thread(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	atomic_store(&tid, dnp_thread_id());
	while (!atomic_load(&may_end))
		usleep(100);
	dnp_com(dnp_agent_callback(), ThreadDestroyed, MANAGED);
	atomic_store(&walked_after_end, walk_goes_on());
	return arg;
}

static void *run_walk(void *arg)
{
	static dnp_frame_word frames[FRAMES_MAX];
	struct dnp_target_stack stack = {
		.frames = frames, .max = FRAMES_MAX, .patience_ns = walk_ns};

	dnp_target_walk(atomic_load(&tid), NULL, DNP_TARGET_STOP, &stack);
	return arg;
}

static void *run_unload(void *arg)
{
	dnp_com(dnp_agent_callback(), ModuleUnloadStarted, MODULE);
	atomic_store(&walked_after_unload, walk_goes_on());
	return arg;
}

/* Whether the walk was seen to go on; false: it was over before anybody could look. */
static bool hold_up(void)
{
	pthread_t thread, walker, unloader;
	uint64_t since_ns;
	bool goes_on;

	atomic_store(&tid, 0);
	atomic_store(&may_end, false);
	CHECK_EQ(pthread_create(&thread, NULL, run_thread, NULL), 0);
	while (!atomic_load(&tid))
		usleep(100);
	CHECK_EQ(pthread_create(&walker, NULL, run_walk, NULL), 0);
	while ((since_ns = dnp_target_since()) == UINT64_MAX)
		usleep(100);

	dnp_com(dnp_agent_callback(), ThreadDestroyed, MANAGED); /* this thread, that is */
	goes_on = walk_goes_on();
	CHECK(goes_on || dnp_now_ns() - since_ns >= walk_ns);

	CHECK_EQ(pthread_create(&unloader, NULL, run_unload, NULL), 0);
	atomic_store(&may_end, true);
	pthread_join(thread, NULL);
	pthread_join(unloader, NULL);
	CHECK(!walked_after_end);
	CHECK(!walked_after_unload);
	pthread_join(walker, NULL);
	return goes_on;
}

TEST(agent_holds_up_who_ends_for_its_own_walk_and_who_unloads_for_any)
{
	act_as_the_runtime();
	walk_ns = UINT64_C(1000000000);
	while (!hold_up())
		walk_ns *= 2;
}

static int choose(const char *events, struct dnp_err *err)
{
	struct dnp_agent_options options;

	dnp_agent_options_init(&options);
	strcpy(options.event, events);
	return dnp_engines_choose(&options, false, err);
}

TEST(agent_says_that_there_is_no_room_for_an_event_or_its_companion)
{
	char events[128] = "cpu";
	struct dnp_err err;

	for (int i = 2; i < DNP_EVENTS_MAX; i++)
		strcat(events, ",cpu");
	CHECK_EQ(choose(events, &err), 0);
	strcat(events, ",lock"); /* which takes two */
	CHECK_EQ(choose(events, &err), -EINVAL);
	CHECK(strstr(err.text, "'lock' cannot be recorded: a recording holds"));
	dnp_engines_forget();
}

/* Its launcher sees that folder, not TMPDIR: a name from where the program is, or a link, says
 * nothing there. */
TEST(agent_tells_where_its_socket_is)
{
	char folder[] = "/tmp/dnprof-test-XXXXXX", path[64];

	CHECK(mkdtemp(folder) && !chdir(folder));
	CHECK(!symlink(folder, "link") && !setenv("TMPDIR", "./link", 1));
	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(dnp_control_open(), 0);
	dnp_control_folder(path, sizeof(path));
	CHECK_STR(path, folder);
	dnp_control_folder(path, strlen(folder));
	CHECK_STR(path, "");
	dnp_control_close();
	dnp_control_folder(path, sizeof(path));
	CHECK_STR(path, "");
	dnp_watch_close();
	CHECK(!unlink("link") && !rmdir(folder));
}
