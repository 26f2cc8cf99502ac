/* SPDX-License-Identifier: MIT */
#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "capture/engine.h"
#include "clr/r2r.h"
#include "format/agent_options.h"
#include "os/clock.h"
#include "os/library.h"
#include "os/sampling_signal.h"
#include "os/thread.h"
#include "os/watch.h"
#include "store/drain.h"
#include "unwind/managed.h"
#include "unwind/native.h"

#define TICK_NS UINT64_C(3000000)

static struct dnp_agent_options options;
static const struct dnp_engine *engines[DNP_EVENTS_MAX];
static unsigned n_engines;
static struct dnp_drain drain;
static struct dnp_own_thread recorder;
static _Atomic bool stopping;

/* ---- What the agent does */

static struct dnp_thread *know(int tid, int before)
{
	int is_new;
	struct dnp_thread *thread = dnp_thread_begin(tid, &is_new);

	(void)before;
	for (unsigned i = 0; thread && is_new && i < n_engines; i++)
		if (engines[i]->thread_begin)
			engines[i]->thread_begin(thread);
	return thread;
}

static int see(int tid, void *context)
{
	(void)context;
	if (!dnp_thread_is_own(tid) && !dnp_thread_find(tid))
		know(tid, 0);
	return 0;
}

static void begun(int tid, uint64_t begun_ns)
{
	(void)begun_ns;
	see(tid, NULL);
}

static void thread_gone(struct dnp_thread *thread)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->thread_end)
			engines[i]->thread_end(thread);
}

static uint32_t frame_of(struct dnp_drain *of, dnp_frame_word word, uint64_t time_ns,
	int collecting, unsigned *nature)
{
	(void)of;
	(void)time_ns;
	(void)collecting;
	(void)nature;
	return (uint32_t)DNP_FRAME_ADDR(word) | 1;
}

static void *record(void *context)
{
	unsigned tick = 0;

	dnp_thread_set_name("dnprof");
	while (!atomic_load(&stopping)) {
		dnp_native_refresh();
		dnp_thread_each(see, NULL);
		dnp_drain_round(&drain, tick++ % 2);
		dnp_watch_wait(dnp_now_ns() + TICK_NS, begun);
	}
	for (unsigned i = 0; i < n_engines; i++)
		engines[i]->stop();
	dnp_drain_round(&drain, 1);
	return context;
}

static int choose(const char *events, struct dnp_err *err)
{
	static struct dnp_engine_setting setting;
	struct dnp_str rest = dnp_str(events), event;

	setting = (struct dnp_engine_setting){
		.options = &options, .thread = know, .is_ours = dnp_thread_is_own};
	n_engines = 0;
	while (dnp_str_cut(&rest, ',', &event)) {
		const struct dnp_engine *engine = dnp_engine_find(event, DNP_ENGINE_SIGNAL, false);
		int failed = engine ? engine->start(&setting, n_engines, err) : -EINVAL;

		if (failed)
			return failed;
		engines[n_engines++] = engine;
	}
	return 0;
}

static int start(const char *events, uint64_t interval_ns)
{
	struct dnp_err err = {0};
	int failed;

	dnp_agent_options_init(&options);
	snprintf(options.event, sizeof(options.event), "%s", events);
	options.interval_ns = interval_ns;
	options.depth = 64;
	dnp_threads_init(options.depth, DNP_EVENTS_MAX);
	if (!dnp_walk_codemap() || dnp_watch_open())
		return -ENOMEM;
	dnp_native_refresh();
	failed = dnp_drain_open(&drain, open("/dev/null", O_WRONLY | O_CLOEXEC), 1, 2);
	if (failed)
		return failed;
	drain.frame_of = frame_of;
	drain.gone = thread_gone;
	failed = choose(events, &err);
	if (failed)
		return failed;
	dnp_watch_threads_open(true);
	atomic_store(&stopping, false);
	return dnp_own_thread_start(&recorder, record, NULL);
}

static uint64_t stop(void)
{
	uint64_t samples;

	atomic_store(&stopping, true);
	dnp_watch_call();
	dnp_own_thread_join(&recorder);
	dnp_drain_stats(&drain, (struct dnp_drain_agent){0});
	samples = dnp_drain_samples(&drain);
	dnp_drain_close(&drain, DNP_END_STOP);
	dnp_watch_threads_close();
	dnp_threads_done();
	return samples;
}

/* As dnp_agent_forget. */
static bool forget(uint64_t patience_ns)
{
	if (!dnp_signal_left(patience_ns))
		return false;
	dnp_threads_unmap();
	dnp_watch_close();
	dnp_walk_codemap_done();
	dnp_r2r_done();
	dnp_native_done();
	return true;
}

extern const struct sampler sampler;
__attribute__((visibility("default")))
const struct sampler sampler = {start, stop, forget, dnp_library_keep};
