/* SPDX-License-Identifier: MIT */
/*
 * Allocations, where more comes than tables hold: the engines that watch and count objects against
 * a runtime of ours, and what is read of their recordings. Nothing is wrong without being said.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agentless.h"
#include "base/clean.h"
#include "capture/live.h"
#include "capture/thin.h"
#include "clr/allocation.h"
#include "clr/collection.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "crowded.h"
#include "os/clock.h"
#include "os/thread.h"
#include "test.h"
#include "unwind/native.h"

enum { ALLOC, LIVE };

/* ---- The runtime: an object is as large as its number, and all stay that are not given back */

static struct {
	uint64_t made, freed; /* handles */
} runtime;

static HRESULT DNP_COM create_handle(
	ICorProfilerInfo *self, ObjectID object, COR_PRF_HANDLE_TYPE type, ObjectHandleID *handle)
{
	(void)self;
	(void)object;
	CHECK_EQ(type, COR_PRF_HANDLE_TYPE_WEAK);
	*handle = (ObjectHandleID)++runtime.made;
	return S_OK;
}

static HRESULT DNP_COM destroy_handle(ICorProfilerInfo *self, ObjectHandleID handle)
{
	(void)self;
	CHECK(handle);
	runtime.freed++;
	return S_OK;
}

static HRESULT DNP_COM object_of(ICorProfilerInfo *self, ObjectHandleID handle, ObjectID *object)
{
	(void)self;
	*object = (ObjectID)handle;
	return S_OK;
}

static HRESULT DNP_COM size_of(ICorProfilerInfo *self, ObjectID object, size_t *bytes)
{
	(void)self;
	*bytes = object;
	return S_OK;
}

static struct ICorProfilerInfoVtbl table = {
	.CreateHandle = create_handle,
	.DestroyHandle = destroy_handle,
	.GetObjectIDFromHandle = object_of,
	.GetObjectSize2 = size_of,
};
static ICorProfilerInfo com = {.vtbl = &table};
static struct dnp_info info = {.com = &com, .version = 15};

/* ---- The agent: types are labels by their numbers, and nodes are types */

static struct dnp_agent_options options;

static uint64_t nodes_asked;

static struct dnp_walked_node node_of(unsigned event, const struct dnp_walked *walked)
{
	(void)event;
	CHECK(walked->n > 0);
	nodes_asked++;
	return (struct dnp_walked_node){.node = 2 + DNP_FRAME_ADDR(walked->frames[0]) % 2};
}

static uint32_t class_label(uintptr_t class_id)
{
	return (uint32_t)class_id;
}

static const struct dnp_engine_setting setting = {
	.options = &options,
	.info = &info,
	.runtime = 10,
	.thread = thread_of,
	.is_ours = is_ours,
	.own_id = no_id,
	.announce = announce,
	.walked = node_of,
	.class_label = class_label,
};

/* ---- A recording: Main allocates objects of types A (even labels) and B (odd ones) */

static char path[64];
static struct dnp_writer writer;

static void define_frame(uint64_t index, enum dnp_frame_kind kind, const char *name)
{
	const uint8_t above = (uint8_t)index;

	dnp_write_frame(&writer,
		&(struct dnp_rec_frame){.index = index, .kind = kind, .name = dnp_str(name)});
	dnp_write_stack(&writer,
		&(struct dnp_rec_stack){
			.first = index,
			.parent = index > 1,
			.frames = {(const char *)&above, 1},
		});
}

static void open_recording(void)
{
	int fd;

	snprintf(path, sizeof(path), "/tmp/dnprof-test-XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK_EQ(dnp_writer_open(&writer, fd, 7), 0);
	dnp_write_process(&writer, &(struct dnp_rec_process){.pid = 1, .start_ns = dnp_now_ns()});
	for (unsigned i = ALLOC; i <= LIVE; i++)
		dnp_write_event(&writer,
			&(struct dnp_rec_event){.index = i,
				.name = dnp_str(i ? "live" : "alloc"),
				.unit = dnp_str("bytes")});
	dnp_write_thread(&writer, &(struct dnp_rec_thread){.tid = 1, .name = dnp_str("main")});
	define_frame(1, DNP_FRAME_MANAGED, "Main");
	define_frame(2, DNP_FRAME_LABEL, "A");
	define_frame(3, DNP_FRAME_LABEL, "B");
}

static struct crowded close_recording(void)
{
	struct crowded crowded;

	dnp_write_end(&writer, &(struct dnp_rec_end){.time_ns = dnp_now_ns()});
	CHECK_EQ(dnp_writer_close(&writer), 0);
	crowded = crowded_read(path);
	unlink(path);
	return crowded;
}

static void begin(void)
{
	dnp_threads_init(128, DNP_EVENTS_MAX);
	dnp_native_refresh();
}

static const struct dnp_thread *own(void)
{
	return dnp_thread_find(dnp_thread_id());
}

/* ---- Objects that stay */

#define SAMPLED_BYTES 102400u /* the runtime tells of one object for these */
#define OBJECT_BYTES  10000u
#define OBJECTS       360000u
#define B_OF          12u /* one object of so many is a B */

/* What the runtime tells of an object, if it chooses it. */
static void allocate(uint32_t type, double chance, uint64_t *turn)
{
	struct dnp_allocation allocation = {.bytes = OBJECT_BYTES, .address = 1, .young = true};
	struct dnp_happening happening = {
		.event = ALLOC, .label = type, .value = OBJECT_BYTES, .weight = 1};
	double stands_for = dnp_allocation_stands_for(OBJECT_BYTES);

	if (dnp_lot(*turn += DNP_LOT_STEP) >= chance)
		return;
	happening.time_ns = dnp_now_ns();
	dnp_live_happened(&setting, &happening, &allocation, stands_for,
		dnp_lot(*turn += DNP_LOT_STEP), SAMPLED_BYTES);
}

static void tell_of_a_collection(const struct dnp_engine *engine)
{
	static const uint8_t start[18] = {[0] = 1, [4] = 2}; /* number, generation, … */
	static const uint8_t end[10] = {[0] = 1, [4] = 2};

	engine->delivered(&(struct dnp_delivered){
		.id = DNP_GC_START, .version = 2, .data = start, .bytes = sizeof(start)});
	engine->delivered(&(struct dnp_delivered){
		.id = DNP_GC_END, .version = 1, .data = end, .bytes = sizeof(end)});
}

/* All of them, each of which stays; the recorder has a turn each 4096 that are not `starved`. */
static void record_live(uint64_t seed, uint32_t starved)
{
	const struct dnp_engine *engine = &dnp_engine_live;
	double chance = OBJECT_BYTES / dnp_allocation_stands_for(OBJECT_BYTES);
	uint64_t turn = seed;

	options.alloc_bytes = SAMPLED_BYTES;
	CHECK_EQ(engine->start(&setting, LIVE, NULL), 0);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		allocate(i % B_OF == 0, chance, &turn);
		if (i % 4096 == 0 && (i < OBJECTS / 4 || i >= OBJECTS / 4 + starved))
			engine->write(&writer, 0);
	}
	tell_of_a_collection(engine);
	engine->stop();
	engine->write(&writer, 1);
	engine->forget();
}

static bool is_within(const struct crowded_site *site, double bytes)
{
	CHECK(site->low < site->bytes && site->bytes < site->high);
	return site->low <= bytes && bytes <= site->high;
}

/* How many of the two types are where they are said to be. */
static unsigned check_live(const struct crowded *crowded)
{
	double b = (double)(OBJECTS / B_OF) * OBJECT_BYTES;
	double a = (double)OBJECTS * OBJECT_BYTES - b;

	/* Some 33,500 objects are told of: all stay, but no more than 12,288 are watched. */
	CHECK_EQ(crowded->asked_bytes, SAMPLED_BYTES);
	CHECK(crowded->most < 16384);
	CHECK_EQ(crowded->unseen, 0);
	for (unsigned i = 0; i < DNP_LOSS_COUNT; i++)
		CHECK_EQ(own()->own.counts[LIVE].lost[i], 0);
	CHECK_EQ(crowded->sites, 2);
	return (unsigned)is_within(&crowded->site[0], a) + is_within(&crowded->site[1], b);
}

/* Lots are the same in each run of the test; of 40 ranges 2 may be expected to miss. */
TEST(live_objects_that_are_too_many_are_estimated_as_well_as_is_said)
{
	unsigned right = 0;

	begin();
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct crowded crowded;

		open_recording();
		record_live(seed << 32, 0);
		crowded = close_recording();
		CHECK_EQ(crowded.mean_bytes, 4 * SAMPLED_BYTES);
		CHECK(crowded.most > 12288 && crowded.watched > 16384);
		right += check_live(&crowded);
	}
	CHECK_EQ(runtime.made, runtime.freed);
	CHECK(right >= 36);
}

/* Half of the objects come while it has none: more stacks than there is room for. */
TEST(live_objects_are_not_lost_while_the_recorder_gets_no_turn)
{
	unsigned right = 0;

	begin();
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct crowded crowded;

		open_recording();
		record_live(seed << 32, OBJECTS / 2);
		crowded = close_recording();
		right += check_live(&crowded);
	}
	CHECK_EQ(runtime.made, runtime.freed);
	CHECK(right >= 36);
}

/* ---- Every object */

#define ROOM   131072u    /* stacks that the table has places for */
#define FRAMES (1u << 22) /* and what they may have together */

static uint64_t lost(enum dnp_loss_reason reason)
{
	return own()->own.counts[ALLOC].lost[reason];
}

#define EACH_BYTES 64u

/* So many types one after the other; returns the bytes. */
static uint64_t count_types(uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++)
		dnp_engine_exact.allocated(EACH_BYTES, i);
	return (uint64_t)n * EACH_BYTES;
}

/* The same from so much further down. */
__attribute__((noinline)) static uint64_t count_types_below(
	unsigned depth, uint32_t first, uint32_t n)
{
	uint64_t bytes = depth ? count_types_below(depth - 1, first, n) : count_types(first, n);

	__asm__ volatile("" : "+r"(bytes)); /* not by a tail call */
	return bytes;
}

/* By one stack, whichever of them it is. */
TEST(objects_of_two_threads_are_not_taken_for_each_others)
{
	enum { TYPES = 64 };

	begin();
	open_recording();
	CHECK_EQ(dnp_engine_exact.start(&setting, ALLOC, NULL), 0);
	for (volatile unsigned i = 0; i < 2; i++) {
		count_types(0, TYPES);
		dnp_thread_release(dnp_thread_find(dnp_thread_id()));
	}
	dnp_engine_exact.stop();
	dnp_engine_exact.write(&writer, 1);
	dnp_engine_exact.forget();
	CHECK_EQ(close_recording().kept, 2 * TYPES * EACH_BYTES);
	CHECK_EQ(nodes_asked, 2 * TYPES);
}

/* The thread has gone; the next one of this number is another. */
static void end_thread(void)
{
	struct dnp_thread *thread = dnp_thread_find(dnp_thread_id());

	for (unsigned i = 0; i < DNP_LOSS_COUNT; i++)
		CHECK_EQ(lost(i), 0);
	dnp_engine_exact.thread_end(thread);
	dnp_thread_release(thread);
	dnp_engine_exact.write(&writer, 1);
}

/* More stacks than there is room for at once, but for those of threads that have ended. */
static void check_threads_that_end(unsigned threads, unsigned depth, uint32_t types)
{
	uint64_t bytes = 0;

	begin();
	open_recording();
	CHECK_EQ(dnp_engine_exact.start(&setting, ALLOC, NULL), 0);
	for (unsigned i = 0; i < threads; i++) {
		bytes += count_types_below(depth, 0, types);
		dnp_engine_exact.write(&writer, 1);
		bytes += count_types_below(depth, 0, types);
		end_thread();
	}
	dnp_engine_exact.stop();
	dnp_engine_exact.write(&writer, 1);
	dnp_engine_exact.forget();
	CHECK_EQ(close_recording().kept, bytes);
}

TEST(threads_that_end_leave_room_for_those_that_begin)
{
	check_threads_that_end(6, 0, ROOM / 4);
}

TEST(stacks_that_are_in_the_recording_leave_room_for_others)
{
	check_threads_that_end(6, 60, FRAMES / 256);
}

/*
 * Whatever comes is counted, or counted as lost; what had a place before still has it. Returns how
 * many stacks there was room for.
 */
static uint64_t fill(unsigned depth)
{
	static const struct {
		uint32_t first, n;
	} rounds[] = {{0, 1000}, {1000, ROOM + 10000}, {0, 1000}};
	const volatile size_t n = DNP_ARRAY_SIZE(rounds); /* so that all come by one stack */
	uint64_t bytes = 0, after[DNP_ARRAY_SIZE(rounds)], kept;

	open_recording();
	CHECK_EQ(dnp_engine_exact.start(&setting, ALLOC, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		bytes += count_types_below(depth, rounds[i].first, rounds[i].n);
		after[i] = lost(DNP_LOSS_ROOM);
	}
	dnp_engine_exact.stop();
	dnp_engine_exact.write(&writer, 1);
	dnp_engine_exact.forget();
	kept = close_recording().kept;
	CHECK_EQ(after[0], 0);
	CHECK(after[1] > 0);
	CHECK_EQ(after[2], after[1]);
	CHECK_EQ(kept + after[2], bytes);
	for (unsigned i = 0; i < DNP_LOSS_COUNT; i++)
		CHECK(i == DNP_LOSS_ROOM || !lost(i));
	return kept / EACH_BYTES - rounds[2].n;
}

TEST(every_object_is_counted_or_counted_as_lost_when_places_are_full)
{
	uint64_t stacks;

	begin();
	stacks = fill(0);
	CHECK(stacks > ROOM / 4 * 3 && stacks <= ROOM);
}

TEST(every_object_is_counted_or_counted_as_lost_when_frames_are_full)
{
	uint64_t stacks;

	begin();
	stacks = fill(60);
	CHECK(stacks > FRAMES / 128 && stacks <= FRAMES / 60);
}
