/* SPDX-License-Identifier: MIT */
/*
 * Every object that is allocated, counted by thread, type and place: none is left out, so sums are
 * exact. The runtime tells of each (ObjectAllocated), for which it gives up its fast ways to
 * allocate when the program starts.
 *
 * The thread takes its stack for each object, and counts it at the place of that stack in a table
 * that all share. A place is one thread's alone, which makes it with its first object there; the
 * recorder reads what has come since it looked last, and frees the places of threads that have
 * gone.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "capture/engine.h"
#include "capture/happened.h"
#include "capture/self.h"
#include "clr/codemap.h"
#include "clr/info.h"
#include "clr/prf.h"
#include "os/clock.h"
#include "os/gate.h"
#include "os/generation.h"
#include "os/mem.h"
#include "os/modules.h"
#include "os/watch.h"
#include "store/labels.h"
#include "unwind/code.h"
#include "unwind/managed.h"

#define PLACES    (UINT32_C(1) << 17)
#define FRAMES    (UINT32_C(1) << 22) /* of stacks that are new; 32 MiB, as far as it is used */
#define TRIES     64u
#define ALIGNMENT 8u                  /* of objects, by which the heap counts */
#define WRITE_NS  UINT64_C(100000000) /* between two times that all counts are written */

#define OLD                                                                                        \
	UINT64_C(1) /* in the place of a key: of code that is gone, nobody finds it any more       \
		     */

struct place {
	_Atomic uint64_t key;     /* of the thread and its stack; 0: it is free, see make */
	_Atomic uint32_t version; /* odd: it is being counted; 0: nothing is known of it yet */
	_Atomic uint64_t objects, bytes;
	uint64_t time_ns, walk_ns;
	uint32_t first, n; /* frames, as long as the recorder does not know it */
	uint32_t thread;
	int32_t tid;
	uint32_t stop; /* enum dnp_walk_stop */
	/* The thread's: until when its stack is known to be of that code. */
	uint64_t generation, libraries_gone;
	/* The recorder's. */
	uint32_t node;
	bool over; /* its thread has gone, and all is told */
	uint64_t told_objects, told_bytes;
};

static struct {
	const struct dnp_engine_setting *setting;
	unsigned event;
	struct place *places;   /* owned; NULL: nothing is recorded */
	dnp_frame_word *frames; /* owned */
	pthread_mutex_t lock;   /* a leaf: of those that are made */
	uint32_t *made;         /* owned: which places, in their order */
	uint32_t n_made, n_frames;
	/* The recorder's. */
	uint32_t n_known;                  /* of those that are made */
	struct dnp_vec_of(uint64_t) ended; /* keys of threads that have, with places still */
	uint64_t written_ns;
} exact = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct dnp_gate gate;

/* ---- An object is allocated */

static uint64_t mix(uint64_t key, uint64_t word)
{
	key = (key ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

/*
 * FNV-1a by words, with what splitmix64 ends with (Steele and others 2014). The thread is a word of
 * its own: its number and that of a type, both small, would make up for each other.
 */
static uint64_t key_of(uint32_t thread, const dnp_frame_word *frames, uint32_t n)
{
	uint64_t key = mix(UINT64_C(0xcbf29ce484222325), thread);

	for (uint32_t i = 0; i < n; i++)
		key = mix(key, frames[i]);
	key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	key ^= key >> 31;
	return key > OLD ? key : OLD + 1;
}

/* With the lock, as the next: the place is that of the stack, of which nothing is counted yet. */
static void keep(
	struct place *place, const struct dnp_thread *thread, const struct dnp_walked *walked)
{
	memcpy(exact.frames + exact.n_frames, walked->frames, walked->n * sizeof(*exact.frames));
	place->first = exact.n_frames;
	exact.n_frames += walked->n;
	place->n = walked->n;
	place->stop = walked->stop;
	place->time_ns = walked->time_ns;
	place->walk_ns = walked->walk_ns;
	place->thread = thread->index;
	place->tid = thread->tid;
	place->generation = dnp_generation();
	place->libraries_gone = dnp_modules_gone();
	place->over = false;
	place->told_objects = place->told_bytes = 0;
	atomic_store_explicit(&place->version, 0, memory_order_relaxed);
	atomic_store_explicit(&place->objects, 0, memory_order_relaxed);
	atomic_store_explicit(&place->bytes, 0, memory_order_relaxed);
	exact.made[exact.n_made++] = (uint32_t)(place - exact.places);
}

static struct place *place_at(uint64_t key, uint32_t i)
{
	return &exact.places[(key + i) & (PLACES - 1)];
}

/* A free one, NULL: there is none. */
static struct place *free_place(uint64_t key)
{
	for (uint32_t i = 0; i < TRIES; i++)
		if (!atomic_load_explicit(&place_at(key, i)->key, memory_order_relaxed))
			return place_at(key, i);
	return NULL;
}

/* Places become a stack's, and free again, with the lock alone. NULL: there is no room. */
static struct place *make(
	uint64_t key, const struct dnp_thread *thread, const struct dnp_walked *walked)
{
	struct place *place = NULL;

	pthread_mutex_lock(&exact.lock);
	if (walked->n <= FRAMES - exact.n_frames)
		place = free_place(key);
	if (place) {
		keep(place, thread, walked);
		atomic_store_explicit(&place->key, key, memory_order_relaxed);
	}
	pthread_mutex_unlock(&exact.lock);
	return place;
}

/* Whether the code of a frame that was there at that time is still the one at its address. */
static bool has_stayed(dnp_frame_word frame, uint64_t time_ns)
{
	enum dnp_walk_kind kind = DNP_FRAME_KIND(frame);
	const struct dnp_code *code;

	if (kind != DNP_WALK_JIT && kind != DNP_WALK_DYNAMIC)
		return true;
	code = dnp_codemap_find(dnp_walk_codemap(), dnp_code_of_frame(frame));
	return code && code->born_ns <= time_ns;
}

/* Whether a stack of these words is of the code that it was of when the place was made. */
static bool is_same_code(struct place *place, const struct dnp_walked *walked)
{
	uint64_t generation = dnp_generation();

	if (place->generation == generation)
		return true;
	if (place->libraries_gone != dnp_modules_gone())
		return false;
	for (uint32_t i = 0; i < walked->n; i++)
		if (!has_stayed(walked->frames[i], place->time_ns))
			return false;
	place->generation = generation;
	return true;
}

/*
 * The thread's place for that stack, made when there is none. NULL: there is no room. One that is
 * free ends the search: where it became so since, the stack has two places, and both count.
 */
static struct place *find(const struct dnp_thread *thread, const struct dnp_walked *walked)
{
	uint64_t key = key_of(thread->index, walked->frames, walked->n), seen = key;

	for (uint32_t i = 0; i < TRIES && seen; i++) {
		struct place *place = place_at(key, i);

		seen = atomic_load_explicit(&place->key, memory_order_relaxed);
		if (seen == key && is_same_code(place, walked))
			return place;
		if (seen == key)
			atomic_store_explicit(&place->key, OLD, memory_order_relaxed);
	}
	return seen ? NULL : make(key, thread, walked);
}

/* Only the place's own thread writes; who reads meanwhile sees by the version that it did. */
static void count(struct place *place, uint64_t bytes)
{
	uint32_t version = atomic_load_explicit(&place->version, memory_order_relaxed);

	/* All pair with the acquires in read_counts: who sees one of these sees an odd version. */
	atomic_store_explicit(&place->version, version + 1, memory_order_relaxed);
	atomic_store_explicit(&place->objects,
		atomic_load_explicit(&place->objects, memory_order_relaxed) + 1,
		memory_order_release);
	atomic_store_explicit(&place->bytes,
		atomic_load_explicit(&place->bytes, memory_order_relaxed) + bytes,
		memory_order_release);
	/* 0 stands for none. */
	atomic_store_explicit(&place->version, version + 2 ? version + 2 : 2, memory_order_release);
}

static void take(struct dnp_thread *thread, uint32_t label, uint64_t bytes)
{
	struct dnp_walked walked = {.time_ns = dnp_now_ns(), .stop = DNP_STOP_UNKNOWN};
	struct place *place;

	dnp_self_begin(thread);
	walked.n = dnp_self_walk(thread, dnp_label_frame(label), NULL, &walked.stop, NULL);
	walked.frames = thread->own.frames;
	walked.walk_ns = dnp_now_ns() - walked.time_ns;
	place = walked.n ? find(thread, &walked) : NULL;
	if (place)
		count(place, bytes);
	else
		dnp_feed_lost(&thread->own, exact.event, walked.n ? DNP_LOSS_ROOM : DNP_LOSS_STACK,
			bytes);
	dnp_self_end_walked(thread, walked.n, walked.stop);
	/* A library may just have been loaded: the next stack is to go through it. */
	if (walked.stop == DNP_STOP_UNKNOWN || walked.stop == DNP_STOP_NO_RULE)
		dnp_watch_call();
}

/* Its size first: the name of a type may make a collection, and the object another one. */
static void allocated(uintptr_t object, uintptr_t class_id)
{
	struct dnp_thread *thread = dnp_happened_on(exact.setting);
	size_t bytes = 0;

	if (!thread)
		return;
	if (FAILED(dnp_com(exact.setting->info->com, GetObjectSize2, object, &bytes)))
		bytes = 0;
	bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	take(thread, exact.setting->class_label(class_id), bytes);
}

static void exact_allocated(uintptr_t object, uintptr_t class_id)
{
	if (!dnp_gate_enter(&gate, 1))
		return;
	allocated(object, class_id);
	dnp_gate_leave(&gate);
}

/* ---- The recorder */

/* False: nothing has come yet, or its thread counts now: there will be a next time. */
static bool read_counts(const struct place *place, uint64_t *objects, uint64_t *bytes)
{
	uint32_t version = atomic_load_explicit(&place->version, memory_order_acquire);

	*objects = atomic_load_explicit(&place->objects, memory_order_acquire);
	*bytes = atomic_load_explicit(&place->bytes, memory_order_acquire);
	return version && !(version & 1) &&
		version == atomic_load_explicit(&place->version, memory_order_relaxed);
}

/* One that has gone was defined when it went. */
static void define_thread(const struct place *place)
{
	struct dnp_thread *thread = dnp_thread_find(place->tid);

	if (thread && thread->index == place->thread)
		exact.setting->announce(thread);
}

static void make_known(struct place *place)
{
	struct dnp_walked walked = {
		.frames = exact.frames + place->first,
		.n = place->n,
		.stop = (enum dnp_walk_stop)place->stop,
		.time_ns = place->time_ns,
		.walk_ns = place->walk_ns,
	};

	place->node = exact.setting->walked(exact.event, &walked).node;
	define_thread(place);
}

/* How many places are made; where all are known, their frames are not needed any more. */
static uint32_t count_made(void)
{
	uint32_t n;

	pthread_mutex_lock(&exact.lock);
	n = exact.n_made;
	if (exact.n_known == n)
		exact.n_frames = 0;
	pthread_mutex_unlock(&exact.lock);
	return n;
}

/* In each round, as of what is in rings: the code that is in them is there until then. */
static void take_stacks(void)
{
	uint32_t n;

	while ((n = count_made()) > exact.n_known)
		for (; exact.n_known < n; exact.n_known++)
			make_known(&exact.places[exact.made[exact.n_known]]);
}

static void write_place(struct dnp_writer *writer, struct place *place)
{
	uint64_t objects, bytes;

	if (!read_counts(place, &objects, &bytes) || objects == place->told_objects)
		return;
	dnp_write_sample_at(writer, dnp_now_ns(),
		&(struct dnp_rec_sample){
			.event = exact.event,
			.thread = place->thread,
			.node = place->node,
			.weight = bytes - place->told_bytes,
			.flags = dnp_walk_flags((enum dnp_walk_stop)place->stop),
			.count = objects - place->told_objects,
		});
	place->told_objects = objects;
	place->told_bytes = bytes;
}

/* ---- The recorder: threads that have gone */

static uint64_t thread_key(uint32_t thread, int tid)
{
	return (uint64_t)thread << 32 | (uint32_t)tid;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Threads whose record is there still end later, or others have both numbers. */
static bool is_there(uint64_t key)
{
	const struct dnp_thread *thread = dnp_thread_find((int)(uint32_t)key);

	return thread && thread->index == key >> 32;
}

/* Sorted, those of `ended` first that have gone; returns how many. */
static size_t sort_ended(void)
{
	size_t gone = 0;

	for (size_t i = 0; i < exact.ended.n; i++) {
		uint64_t key = exact.ended.p[i];

		if (is_there(key))
			continue;
		exact.ended.p[i] = exact.ended.p[gone];
		exact.ended.p[gone++] = key;
	}
	if (gone)
		qsort(exact.ended.p, gone, sizeof(*exact.ended.p), compare_keys);
	return gone;
}

static void write_places(struct dnp_writer *writer, size_t gone)
{
	for (uint32_t i = 0; i < exact.n_known; i++) {
		struct place *place = &exact.places[exact.made[i]];
		uint64_t key = thread_key(place->thread, place->tid);

		/* First: then nothing comes behind what is written. */
		place->over = gone && bsearch(&key, exact.ended.p, gone, sizeof(key), compare_keys);
		write_place(writer, place);
	}
}

/* Those that are over. What is known is the recorder's: threads wait for the rest alone. */
static void free_places(void)
{
	uint32_t n = exact.n_known, known = n;

	for (uint32_t i = 0; i < n;) {
		uint32_t number = exact.made[i];

		if (exact.places[number].over) {
			exact.made[i] = exact.made[--n];
			exact.made[n] = number;
		} else {
			i++;
		}
	}
	if (n == known)
		return;
	pthread_mutex_lock(&exact.lock);
	for (uint32_t i = n; i < known; i++)
		atomic_store_explicit(&exact.places[exact.made[i]].key, 0, memory_order_relaxed);
	memmove(exact.made + n, exact.made + known, (exact.n_made - known) * sizeof(*exact.made));
	exact.n_made -= known - n;
	exact.n_known = n;
	pthread_mutex_unlock(&exact.lock);
}

static void forget_ended(size_t gone)
{
	exact.ended.n -= gone;
	memmove(exact.ended.p, exact.ended.p + gone, exact.ended.n * sizeof(*exact.ended.p));
}

static void exact_write(struct dnp_writer *writer, int last)
{
	uint64_t now_ns = dnp_now_ns();
	size_t gone;

	take_stacks();
	if (!last && now_ns - exact.written_ns < WRITE_NS)
		return;
	exact.written_ns = now_ns;
	gone = sort_ended();
	write_places(writer, gone);
	if (gone) {
		free_places();
		forget_ended(gone);
	}
}

static void exact_hurry(void)
{
	exact.written_ns = 0;
}

/* ---- The engine */

static void free_memory(void)
{
	if (exact.places)
		dnp_mem_unmap(exact.places, PLACES * sizeof(*exact.places));
	if (exact.frames)
		dnp_mem_unmap(exact.frames, FRAMES * sizeof(*exact.frames));
	if (exact.made)
		dnp_mem_unmap(exact.made, PLACES * sizeof(*exact.made));
	dnp_vec_done(&exact.ended);
	exact.places = NULL;
	exact.frames = NULL;
	exact.made = NULL;
}

static int exact_start(
	const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	exact.setting = setting;
	exact.event = index;
	exact.n_made = exact.n_frames = exact.n_known = 0;
	exact.written_ns = 0;
	exact.ended.n = 0;
	exact.places = dnp_mem_map(PLACES * sizeof(*exact.places));
	exact.frames = dnp_mem_map(FRAMES * sizeof(*exact.frames));
	exact.made = dnp_mem_map(PLACES * sizeof(*exact.made));
	if (!exact.places || !exact.frames || !exact.made) {
		free_memory();
		return dnp_err(err, -ENOMEM, "no memory to count every object; free some");
	}
	dnp_gate_open(&gate, 1);
	return 0;
}

static void exact_events(const struct dnp_agent_options *options, uint32_t *low, uint32_t *high)
{
	(void)options;
	(void)high;
	*low |= COR_PRF_ENABLE_OBJECT_ALLOCATED | COR_PRF_MONITOR_OBJECT_ALLOCATED;
}

static const char *exact_source(void)
{
	return "ObjectAllocated, every object";
}

/* From .NET 10 on what boxes is managed code, which tells only where it has no memory at hand. */
static const char *exact_note(void)
{
	if (dnp_info_runtime_major(exact.setting->info) < 10)
		return "";
	return "this runtime tells of few boxed values: of those that code not yet optimised boxes "
	       "(DOTNET_TieredCompilation=0 helps), and of nullable ones";
}

static void exact_thread_end(struct dnp_thread *thread)
{
	exact.setting->announce(thread);
	/* Without memory its places stay until the end. */
	if (dnp_vec_push(&exact.ended, thread_key(thread->index, thread->tid)))
		return;
}

/* No object is counted any more when it returns. */
static void exact_stop(void)
{
	dnp_gate_open(&gate, 0);
}

const struct dnp_engine dnp_engine_exact = {
	.event = "alloc",
	.unit = "bytes",
	.every = true,
	.walks = true,
	.happens = true,
	.events = exact_events,
	.allocated = exact_allocated,
	.start = exact_start,
	.source = exact_source,
	.note = exact_note,
	.thread_end = exact_thread_end,
	.stop = exact_stop,
	.forget = free_memory,
	.write = exact_write,
	.hurry = exact_hurry,
};
