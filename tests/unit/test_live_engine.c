/* SPDX-License-Identifier: MIT */
/*
 * The engine that watches objects, driven as by the runtime and the recorder. The runtime is a few
 * functions that answer, and what is written is counted.
 */
#include "capture/live.h"

#include "clr/hresult.h"
#include "clr/info.h"
#include "format/agent_options.h"
#include "store/threads.h"
#include "store/writer.h"
#include "test.h"

#define CROWD 12288u /* with one more than these some go */
#define BATCH 4096u  /* whose stacks leave more than half of the ring */

static struct {
	uint32_t handles; /* that are not destroyed */
	uint32_t walked;  /* stacks that were put into the recording */
	uint32_t written, written_weightless;
	bool makes_late; /* with the next stack that is put there */
	bool refuses;    /* handles: every second one */
	uint32_t asked;  /* for one */
	struct dnp_rec_live_stats stats;
} seen;

static const struct dnp_engine_setting *setting_of(void);

/* ---- The runtime */

static HRESULT DNP_COM create_handle(
	ICorProfilerInfo *self, ObjectID object, COR_PRF_HANDLE_TYPE type, ObjectHandleID *handle)
{
	(void)self;
	(void)type;
	if (seen.refuses && ++seen.asked % 2)
		return E_FAIL;
	seen.handles++;
	*handle = (ObjectHandleID)object;
	return S_OK;
}

static HRESULT DNP_COM destroy_handle(ICorProfilerInfo *self, ObjectHandleID handle)
{
	(void)self;
	(void)handle;
	seen.handles--;
	return S_OK;
}

static HRESULT DNP_COM object_of(ICorProfilerInfo *self, ObjectHandleID handle, ObjectID *object)
{
	(void)self;
	*object = (ObjectID)handle;
	return S_OK;
}

/* A thread allocates, and takes its stack. */
void __wrap_dnp_happened(
	const struct dnp_engine_setting *setting, const struct dnp_happening *happening);

void __wrap_dnp_happened(
	const struct dnp_engine_setting *setting, const struct dnp_happening *happening)
{
	static struct dnp_thread thread;
	dnp_frame_word frame = 0;
	struct dnp_walked walked = {.frames = &frame, .n = 1, .stop = DNP_STOP_END};

	(void)setting;
	happening->walked(&thread, happening, &walked);
}

static void make(double lot)
{
	struct dnp_allocation allocation = {.bytes = 1, .address = 1, .young = true};
	struct dnp_happening happening = {.weight = 1};

	dnp_live_happened(setting_of(), &happening, &allocation, 1, lot, 1);
}

/* ---- The recorder */

static struct dnp_walked_node put(unsigned event, const struct dnp_walked *walked)
{
	(void)event;
	(void)walked;
	seen.walked++;
	if (seen.makes_late) {
		seen.makes_late = false;
		make(0.9);
	}
	return (struct dnp_walked_node){.node = 1};
}

static const struct dnp_engine_setting *setting_of(void)
{
	static const struct ICorProfilerInfoVtbl vtbl = {.CreateHandle = create_handle,
		.DestroyHandle = destroy_handle,
		.GetObjectIDFromHandle = object_of};
	static ICorProfilerInfo com = {&vtbl};
	static struct dnp_info info = {.com = &com, .version = 15};
	static const struct dnp_agent_options options = {.alloc_bytes = 1};
	static const struct dnp_engine_setting setting = {
		.info = &info, .options = &options, .walked = put};

	return &setting;
}

int __wrap_dnp_write_live(struct dnp_writer *writer, const struct dnp_rec_live *rec);
int __wrap_dnp_write_live_stats(struct dnp_writer *writer, const struct dnp_rec_live_stats *rec);

int __wrap_dnp_write_live(struct dnp_writer *writer, const struct dnp_rec_live *rec)
{
	(void)writer;
	seen.written++;
	seen.written_weightless += !rec->weight;
	return 0;
}

int __wrap_dnp_write_live_stats(struct dnp_writer *writer, const struct dnp_rec_live_stats *rec)
{
	(void)writer;
	seen.stats = *rec;
	return 0;
}

/* It was not known when lots decided, and by its own it would have gone. */
TEST(live_object_whose_stack_comes_when_others_have_gone_by_lot)
{
	const struct dnp_engine *live = &dnp_engine_live;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	CHECK_EQ(live->start(setting_of(), 0, NULL), 0);
	for (uint32_t i = 0; i < CROWD; i++) {
		make(i % 2 ? 0.9 : 0);
		if (i % BATCH == BATCH - 1)
			live->write(NULL, 0);
	}
	CHECK_EQ(seen.handles, CROWD);
	make(0);
	seen.makes_late = true;
	live->write(NULL, 0);
	CHECK_EQ(seen.handles, CROWD / 2 + 2);
	CHECK_EQ(seen.walked, CROWD + 1);
	live->write(NULL, 0);
	CHECK_EQ(seen.handles, CROWD / 2 + 1);
	CHECK_EQ(seen.walked, CROWD + 1);
	live->stop();
	live->write(NULL, 1);
	CHECK_EQ(seen.written, CROWD / 2 + 1);
	CHECK_EQ(seen.written_weightless, 0);
	live->forget();
	CHECK_EQ(seen.handles, 0);
	CHECK_EQ(seen.stats.watched, CROWD + 2);
}

TEST(live_object_without_a_handle_is_not_watched)
{
	const struct dnp_engine *live = &dnp_engine_live;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	seen.refuses = true;
	CHECK_EQ(live->start(setting_of(), 0, NULL), 0);
	for (uint32_t i = 0; i < 20; i++)
		make(0);
	live->stop();
	live->write(NULL, 1);
	CHECK_EQ(seen.written, 10);
	CHECK_EQ(seen.stats.watched, 10);
	CHECK_EQ(seen.stats.most, 10);
	live->forget();
	CHECK_EQ(seen.handles, 0);
}
