/* SPDX-License-Identifier: MIT */
/*
 * What is still there of what was allocated: a leak shows by it, with the place where it was made.
 *
 * Each object that the engine of allocations keeps gets a weak handle of the runtime's, by which
 * the recorder sees after collections whether it is gone. The handle is made in the event that
 * tells of the allocation, by the thread that allocates: that one is in cooperative mode, so that
 * no collection can begin, and the object, which has no type yet, is where the event says.
 * CreateHandle, GetObjectIDFromHandle and DestroyHandle do not change the mode of a thread
 * (coreclr 8 to 10): the last two are for the recorder, which is none of the runtime's, and no
 * collection waits for it.
 *
 * Where more objects live on than there is room for, some go by lot; those that stay weigh more. So
 * do those that come while the recorder gets no turn to empty the ring of stacks.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "capture/live.h"
#include "capture/live_objects.h"
#include "capture/thin.h"
#include "clr/collection.h"
#include "clr/info.h"
#include "clr/prf.h"
#include "format/rec.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/watch.h"
#include "store/ring.h"

#define OBJECTS    16384u
#define RING_WORDS ((size_t)65536)
#define HEAD_WORDS 3

/* A stack on its way to the recorder; its words follow: n frames, and what is left to be walked. */
struct seen {
	uint32_t place, n, words;
	uint32_t stop; /* enum dnp_walk_stop */
	uint64_t walk_ns;
};

_Static_assert(sizeof(struct seen) == HEAD_WORDS * sizeof(uint64_t), "it is a ring's words");

/* What happened, for the thread that takes its stack for it. */
struct born {
	const struct dnp_allocation *allocation;
	double bytes, lot;
	uint64_t mean_bytes; /* with which it passed */
};

static struct {
	const struct dnp_engine_setting *setting;
	unsigned event;
	pthread_mutex_t lock; /* a leaf: of places, the ring's producers, and collections */
	struct dnp_live_objects objects; /* its memory is owned; NULL: nothing is recorded */
	struct dnp_live_clock clock;
	struct dnp_ring ring;
	uint64_t *words;             /* owned: the ring's */
	_Atomic uint64_t mean_bytes; /* the recorder makes it grow */
	/* The recorder's. */
	dnp_frame_word *taken, *whole; /* owned: a stack, as it came and walked to its end */
	uint32_t looked;               /* how many collections were over then */
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic bool on; /* from start to stop */
static _Atomic uint64_t no_handle, no_room, not_understood;

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- An object is made */

static ICorProfilerInfo *runtime(void)
{
	return live.setting->info->com;
}

static uint32_t take(void)
{
	uint32_t place;

	pthread_mutex_lock(&live.lock);
	place = dnp_live_take(&live.objects);
	pthread_mutex_unlock(&live.lock);
	return place;
}

static void give(uint32_t place)
{
	pthread_mutex_lock(&live.lock);
	dnp_live_give(&live.objects, place);
	pthread_mutex_unlock(&live.lock);
}

/* With the lock. 0: there is no room. */
static int put_words(struct seen seen, uint32_t words, const dnp_frame_word *frames)
{
	uint64_t head[HEAD_WORDS], at;

	if (!dnp_ring_reserve(&live.ring, HEAD_WORDS + words, &at))
		return 0;
	seen.words = words;
	memcpy(head, &seen, sizeof(head));
	dnp_ring_write(&live.ring, at, head, HEAD_WORDS);
	dnp_ring_write(&live.ring, at + HEAD_WORDS, frames, words);
	dnp_ring_commit(&live.ring, at + HEAD_WORDS + words);
	return 1;
}

/* The same. Where there is no room for what is left to be walked, there may be some for the rest.
 */
static int put_stack(uint32_t place, const struct dnp_walked *walked)
{
	struct seen seen = {.place = place,
		.n = walked->n,
		.stop = (uint32_t)walked->stop,
		.walk_ns = walked->walk_ns};

	if (walked->left && put_words(seen, walked->left, walked->frames))
		return 1;
	return put_words(seen, walked->n, walked->frames);
}

static void fill(struct dnp_live_object *object, const struct dnp_thread *thread,
	const struct dnp_happening *happening, ObjectHandleID handle)
{
	const struct born *born = happening->about;
	struct dnp_live_times now = dnp_live_clock_now(&live.clock);

	object->handle = (uintptr_t)handle;
	object->time_ns = happening->time_ns;
	object->size = born->allocation->bytes;
	object->bytes = born->bytes;
	object->lot = born->lot;
	object->mean_bytes = born->mean_bytes;
	object->begun = now.begun;
	object->full_begun = now.full_begun;
	object->young = born->allocation->young;
	object->tid = thread->tid;
	object->thread = thread->index;
}

/* 0: it is not watched. */
static int watch(struct dnp_thread *thread, const struct dnp_happening *happening,
	const struct dnp_walked *walked)
{
	const struct born *born = happening->about;
	uint32_t place = take();
	ObjectHandleID handle;
	int stored;

	if (place == DNP_LIVE_NONE) {
		count(&no_room);
		return 0;
	}
	if (FAILED(dnp_com(runtime(), CreateHandle, born->allocation->address,
		    COR_PRF_HANDLE_TYPE_WEAK, &handle))) {
		count(&no_handle);
		give(place);
		return 0;
	}
	fill(&live.objects.all[place], thread, happening, handle);
	pthread_mutex_lock(&live.lock);
	stored = put_stack(place, walked);
	if (stored)
		dnp_live_keep(&live.objects);
	pthread_mutex_unlock(&live.lock);
	if (!stored) {
		count(&no_room);
		dnp_com(runtime(), DestroyHandle, handle);
		give(place);
	}
	return stored;
}

/* As it is now. */
static uint64_t wanted_bytes(void)
{
	unsigned places = dnp_live_shortage(&live.objects),
		 stacks = dnp_shortage(dnp_ring_room(&live.ring), RING_WORDS / 2);

	return atomic_load_explicit(&live.mean_bytes, memory_order_relaxed)
		<< (places > stacks ? places : stacks);
}

static void was_born(struct dnp_thread *thread, const struct dnp_happening *happening,
	const struct dnp_walked *walked)
{
	const struct born *born = happening->about;
	uint64_t weight = dnp_thin(born->bytes, born->lot, born->mean_bytes);

	if (weight && !walked->n)
		dnp_feed_lost(&thread->own, live.event, DNP_LOSS_STACK, weight);
	else if (weight && !watch(thread, happening, walked))
		dnp_feed_lost(&thread->own, live.event, DNP_LOSS_RING, weight);
	if (dnp_live_is_crowded(&live.objects) || dnp_ring_is_filling(&live.ring))
		dnp_watch_call();
}

void dnp_live_happened(const struct dnp_engine_setting *setting, struct dnp_happening *happening,
	const struct dnp_allocation *allocation, double bytes, double lot, uint64_t wanted)
{
	struct born born = {
		.allocation = allocation, .bytes = bytes, .lot = lot, .mean_bytes = wanted};

	if (atomic_load_explicit(&on, memory_order_relaxed)) {
		uint64_t mean = wanted_bytes();

		if (born.mean_bytes < mean)
			born.mean_bytes = mean;
		happening->walked = was_born;
		happening->about = &born;
	}
	dnp_happened(setting, happening);
}

/* ---- Collections */

/*
 * By the runtime's events, which number them: its callbacks tell of no beginning of a young one by
 * which one in the background begins, and of both ends (coreclr 8 to 10).
 */
static void live_delivered(const struct dnp_delivered *delivered)
{
	struct dnp_gc_event event;

	if (delivered->provider != DNP_PROVIDER_RUNTIME ||
		(delivered->id != DNP_GC_START && delivered->id != DNP_GC_END))
		return;
	if (dnp_gc_event_read(
		    delivered->id, delivered->version, delivered->data, delivered->bytes, &event)) {
		count(&not_understood);
		return;
	}
	pthread_mutex_lock(&live.lock);
	if (event.id == DNP_GC_START)
		dnp_live_clock_begin(&live.clock, event.number, event.generation, dnp_now_ns());
	else
		dnp_live_clock_end(&live.clock, event.number);
	pthread_mutex_unlock(&live.lock);
}

static void live_wishes(struct dnp_provider_wish *wishes)
{
	dnp_wish(&wishes[DNP_PROVIDER_RUNTIME], DNP_KEYWORD_COLLECTIONS,
		COR_PRF_EVENTPIPE_INFORMATIONAL);
}

/* ---- The recorder: who is gone */

static void let_go(uint32_t place)
{
	live.objects.all[place].known = false;
	dnp_com(runtime(), DestroyHandle, (ObjectHandleID)live.objects.all[place].handle);
	give(place);
}

/* 0: it is to go. */
static uint64_t weight_of(const struct dnp_live_object *object)
{
	uint64_t mean = live.mean_bytes;

	return dnp_thin(
		object->bytes, object->lot, object->mean_bytes > mean ? object->mean_bytes : mean);
}

/* Its words are in live.taken. Others may have gone by lot since it was made. */
static void know(const struct seen *seen)
{
	struct dnp_live_object *object = &live.objects.all[seen->place];
	struct dnp_walked walked = {.frames = live.whole,
		.stop = (enum dnp_walk_stop)seen->stop,
		.time_ns = object->time_ns,
		.walk_ns = seen->walk_ns};

	if (!weight_of(object)) {
		let_go(seen->place);
		return;
	}
	walked.n = dnp_happened_rest(live.setting, live.taken, seen->n, seen->words, live.whole,
		dnp_threads_depth(), &walked.stop);
	object->stop = (uint8_t)walked.stop;
	object->node = live.setting->walked(live.event, &walked).node;
	object->known = true;
}

static void take_stacks(void)
{
	uint64_t at, end;

	end = dnp_ring_readable(&live.ring, &at);
	end += at;
	while (at < end) {
		uint64_t head[HEAD_WORDS];
		struct seen seen;

		dnp_ring_read(&live.ring, at, head, HEAD_WORDS);
		memcpy(&seen, head, sizeof(seen));
		dnp_ring_read(&live.ring, at + HEAD_WORDS, live.taken, seen.words);
		know(&seen);
		at += HEAD_WORDS + seen.words;
		dnp_ring_release(&live.ring, at);
	}
}

/* Where the runtime does not answer it is as it was. */
static bool is_gone(const struct dnp_live_object *object)
{
	ObjectID id = 1;
	HRESULT hr = dnp_com(runtime(), GetObjectIDFromHandle, (ObjectHandleID)object->handle, &id);

	return SUCCEEDED(hr) && !id;
}

static void look(void)
{
	for (uint32_t i = 0; i < atomic_load(&live.objects.end); i++)
		if (live.objects.all[i].known && is_gone(&live.objects.all[i]))
			let_go(i);
}

static void thin(void)
{
	atomic_store_explicit(&live.mean_bytes, live.mean_bytes * 2, memory_order_relaxed);
	for (uint32_t i = 0; i < atomic_load(&live.objects.end); i++)
		if (live.objects.all[i].known && !weight_of(&live.objects.all[i]))
			let_go(i);
}

static void look_if_due(void)
{
	uint32_t over = dnp_live_clock_now(&live.clock).over;

	if (over != live.looked)
		look();
	live.looked = over;
	if (dnp_live_is_crowded(&live.objects))
		thin();
}

/* ---- The recorder: who is still there */

/* One that has gone was defined when it went. */
static void define_thread(const struct dnp_live_object *object)
{
	struct dnp_thread *thread = dnp_thread_find(object->tid);

	if (thread && thread->index == object->thread)
		live.setting->announce(thread);
}

/* One that no collection has seen is no sample: it may be gone with the next. */
static void write_object(struct dnp_writer *writer, const struct dnp_live_object *object,
	const struct dnp_live_times *times)
{
	uint32_t full, survived = dnp_live_survived(object, times, &full);
	struct dnp_rec_live rec = {
		.event = live.event,
		.time_ns = object->time_ns,
		.thread = object->thread,
		.node = object->node,
		.weight = weight_of(object),
		.bytes = object->size,
		.collections = survived,
		.full = full,
	};

	define_thread(object);
	dnp_write_live(writer, &rec);
	if (survived)
		dnp_write_sample_at(writer, object->time_ns,
			&(struct dnp_rec_sample){
				.event = live.event,
				.thread = object->thread,
				.node = object->node,
				.weight = rec.weight,
				.flags = dnp_walk_flags((enum dnp_walk_stop)object->stop),
				.value = object->size,
			});
}

static void write_all(struct dnp_writer *writer)
{
	struct dnp_live_times times = dnp_live_clock_now(&live.clock);

	look();
	for (uint32_t i = 0; i < atomic_load(&live.objects.end); i++)
		if (live.objects.all[i].known)
			write_object(writer, &live.objects.all[i], &times);
	dnp_write_live_stats(writer,
		&(struct dnp_rec_live_stats){
			.event = live.event,
			.seen_ns = atomic_load_explicit(&live.clock.seen_ns, memory_order_relaxed),
			.collections = times.over,
			.full = times.full_over,
			.mean_bytes = live.mean_bytes,
			.watched = live.objects.watched,
			.most = live.objects.most,
			.asked_bytes = live.setting->options->alloc_bytes,
		});
}

static void live_write(struct dnp_writer *writer, int last)
{
	take_stacks();
	look_if_due();
	if (last)
		write_all(writer);
}

/* ---- The engine */

static size_t stack_bytes(void)
{
	return dnp_threads_depth() * sizeof(dnp_frame_word);
}

static void free_memory(void)
{
	if (live.objects.all)
		dnp_mem_unmap(live.objects.all, OBJECTS * sizeof(*live.objects.all));
	if (live.words)
		dnp_mem_unmap(live.words, RING_WORDS * sizeof(uint64_t));
	if (live.taken)
		dnp_mem_unmap(live.taken, stack_bytes());
	if (live.whole)
		dnp_mem_unmap(live.whole, stack_bytes());
	live.objects.all = NULL;
	live.words = NULL;
	live.taken = live.whole = NULL;
}

static int get_memory(void)
{
	struct dnp_live_object *all = dnp_mem_map(OBJECTS * sizeof(*all));

	dnp_live_objects_init(&live.objects, all, OBJECTS);
	live.words = dnp_mem_map(RING_WORDS * sizeof(uint64_t));
	live.taken = dnp_mem_map(stack_bytes());
	live.whole = dnp_mem_map(stack_bytes());
	if (!all || !live.words || !live.taken || !live.whole)
		return -ENOMEM;
	dnp_ring_init(&live.ring, live.words, RING_WORDS);
	return 0;
}

static int live_start(const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	if (!dnp_info_has(setting->info, CreateHandle))
		return dnp_err(err, -EOPNOTSUPP,
			"objects that stay cannot be told: this runtime has no handles for "
			"profilers (ICorProfilerInfo%d); it takes .NET 7 or newer",
			setting->info->version);
	live.setting = setting;
	live.event = index;
	live.clock = (struct dnp_live_clock){0};
	live.looked = 0;
	live.mean_bytes = setting->options->alloc_bytes;
	atomic_store(&no_handle, 0);
	atomic_store(&no_room, 0);
	atomic_store(&not_understood, 0);
	if (get_memory()) {
		free_memory();
		return dnp_err(err, -ENOMEM, "no memory to watch objects; free some");
	}
	atomic_store(&on, true);
	return 0;
}

static const char *live_source(void)
{
	return "weak handles on objects of alloc";
}

static void live_thread_end(struct dnp_thread *thread)
{
	live.setting->announce(thread);
}

/* No event is delivered by now. */
static void live_stop(void)
{
	atomic_store(&on, false);
}

/* Also where nothing was written: the handles are the runtime's, which goes on without us. */
static void live_forget(void)
{
	for (uint32_t i = 0; live.objects.all && i < live.objects.end; i++)
		if (live.objects.all[i].handle)
			let_go(i);
	free_memory();
}

static void live_failures(unsigned index, dnp_failure_tell tell)
{
	tell(index, "no handle for an object", atomic_load(&no_handle));
	tell(index, "no room for an object", atomic_load(&no_room));
	tell(index, "event of an unknown layout", atomic_load(&not_understood));
}

const struct dnp_engine dnp_engine_live = {
	.event = "live",
	.unit = "bytes",
	.walks = true,
	.happens = true,
	.wishes = live_wishes,
	.delivered = live_delivered,
	.start = live_start,
	.source = live_source,
	.thread_end = live_thread_end,
	.stop = live_stop,
	.forget = live_forget,
	.write = live_write,
	.failures = live_failures,
};
