/* SPDX-License-Identifier: MIT */
/*
 * Collections of garbage, by the runtime's events: who brought each about, how long the program
 * stood still for it, and what it did to the heap.
 *
 * The thread that wants a collection takes its own stack when the runtime says so. What the stack
 * weighs is known only when the program goes on, so it waits with the recorder until then. Events
 * come while all managed threads are stopped, so that nothing here asks the runtime, and waits for
 * nobody but leaf locks: no thread is stopped while it holds one, since it does not run managed
 * code.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "base/vec.h"
#include "capture/collections.h"
#include "capture/engine.h"
#include "capture/happened.h"
#include "capture/self.h"
#include "clr/prf.h"
#include "format/gc_reason.h"
#include "format/varint.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/thread.h"
#include "os/watch.h"
#include "store/ring.h"

#define PATIENCE_NS UINT64_C(1000000000) /* for what may come after a collection's end */
#define RING_WORDS  ((size_t)131072)     /* stacks that come while the recorder gets no turn */
#define HEAD_WORDS  6
#define HELD_MAX    256u /* stacks of collections that are not over, or never began */

/*
 * The stack of who wants a collection on its way to the recorder; its frames follow. What code was
 * not known of is left to be walked there: that follows them.
 */
struct seen {
	uint64_t trigger;
	uint64_t time_ns, walk_ns;
	uint32_t thread;
	int32_t tid;
	uint32_t n;     /* frames */
	uint32_t words; /* frames and what follows them */
	uint64_t stop;  /* enum dnp_walk_stop */
};

_Static_assert(sizeof(struct seen) == HEAD_WORDS * sizeof(uint64_t), "it is a ring's words");

/* The same with the recorder. */
struct held {
	struct seen seen;
	dnp_frame_word *frames; /* owned */
};

static struct {
	const struct dnp_engine_setting *setting;
	unsigned event;
	pthread_mutex_t lock;        /* a leaf: of what is below, up to the recorder's own */
	struct dnp_collections *all; /* owned; NULL: nothing is recorded */
	struct dnp_ring ring;
	uint64_t *words;   /* owned: the ring's */
	uint64_t triggers; /* so far */
	/* The recorder's. */
	uint64_t spans;                      /* so far */
	dnp_frame_word *taken;               /* owned: a stack, with its label */
	struct dnp_vec_of(struct held) held; /* of collections that are not over */
} gc = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic uint64_t not_understood, no_room, lost, lost_pauses, not_known;
static _Atomic uint64_t oldest_held_ns = UINT64_MAX; /* time of a stack that is not stored yet */

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- Who wants one */

/* With the lock: several threads may want one, though the runtime takes their words one by one. */
static bool put(const struct seen *seen, const dnp_frame_word *frames)
{
	uint64_t head[HEAD_WORDS], at;

	if (!dnp_ring_reserve(&gc.ring, HEAD_WORDS + seen->words, &at))
		return false;
	memcpy(head, seen, sizeof(head));
	dnp_ring_write(&gc.ring, at, head, HEAD_WORDS);
	dnp_ring_write(&gc.ring, at + HEAD_WORDS, frames, seen->words);
	dnp_ring_commit(&gc.ring, at + HEAD_WORDS + seen->words);
	return true;
}

/* Where there is no room for what is left to be walked, there may be some for the rest. */
static void put_what_fits(struct seen *seen, const dnp_frame_word *frames)
{
	if (put(seen, frames))
		return;
	seen->words = seen->n;
	if (!put(seen, frames))
		count(&no_room);
}

static uint64_t see(struct dnp_thread *thread)
{
	struct seen seen = {
		.time_ns = dnp_now_ns(),
		.thread = thread->index,
		.tid = thread->tid,
	};
	enum dnp_walk_stop stop = DNP_STOP_UNKNOWN;
	uint32_t n, left;

	dnp_self_begin(thread);
	/* The label on top is not known yet. */
	n = dnp_self_walk(thread, dnp_label_frame(DNP_LABEL_OTHER), NULL, &stop, &left);
	seen.walk_ns = dnp_now_ns() - seen.time_ns;
	seen.n = n ? n - 1 : 0;
	seen.words = left ? left - 1 : seen.n;
	seen.stop = stop;
	pthread_mutex_lock(&gc.lock);
	seen.trigger = ++gc.triggers;
	if (atomic_load(&oldest_held_ns) == UINT64_MAX)
		atomic_store(&oldest_held_ns, seen.time_ns);
	put_what_fits(&seen, thread->own.frames + 1);
	pthread_mutex_unlock(&gc.lock);
	dnp_self_end_walked(thread, n, stop);
	if (n && (stop == DNP_STOP_UNKNOWN || stop == DNP_STOP_NO_RULE))
		dnp_watch_call();
	return seen.trigger;
}

/* ---- What the runtime tells */

static void gc_delivered(const struct dnp_delivered *delivered)
{
	struct dnp_gc_moment moment = {.time_ns = dnp_now_ns()};
	struct dnp_gc_event event;
	struct dnp_thread *thread;
	int failed;

	if (delivered->provider != DNP_PROVIDER_RUNTIME)
		return;
	failed = dnp_gc_event_read(
		delivered->id, delivered->version, delivered->data, delivered->bytes, &event);
	if (failed == -EBADMSG)
		count(&not_understood);
	thread = failed ? NULL : dnp_happened_on(gc.setting);
	if (!thread)
		return;
	moment.tid = thread->tid;
	moment.thread = thread->index;
	if (event.id == DNP_GC_TRIGGERED)
		moment.trigger = see(thread);
	pthread_mutex_lock(&gc.lock);
	dnp_collections_event(gc.all, &event, &moment);
	pthread_mutex_unlock(&gc.lock);
}

/* ---- The recorder: stacks */

/* Its frames are in gc.taken then. */
static void walk_rest(struct seen *seen, const dnp_frame_word *words)
{
	enum dnp_walk_stop stop = (enum dnp_walk_stop)seen->stop;

	seen->n = dnp_happened_rest(
		gc.setting, words, seen->n, seen->words, gc.taken, dnp_threads_depth() - 1, &stop);
	seen->stop = stop;
}

/* NULL: no memory. */
static dnp_frame_word *frames_of(struct seen *seen, dnp_frame_word *words)
{
	dnp_frame_word *frames = words;

	if (!words || seen->words == seen->n)
		return words;
	walk_rest(seen, words);
	frames = malloc(seen->n * sizeof(*frames) + 1);
	if (frames)
		memcpy(frames, gc.taken, seen->n * sizeof(*frames));
	free(words);
	return frames;
}

static void hold(const struct seen *seen, uint64_t at)
{
	struct held held = {.seen = *seen};

	held.frames = malloc(seen->words * sizeof(*held.frames) + 1);
	if (held.frames)
		dnp_ring_read(&gc.ring, at, held.frames, seen->words);
	held.frames = frames_of(&held.seen, held.frames);
	if (!held.frames) {
		count(&no_room);
		return;
	}
	if (dnp_vec_push(&gc.held, held)) {
		count(&no_room);
		free(held.frames);
	}
}

static void take_seen(void)
{
	uint64_t at, end;

	end = dnp_ring_readable(&gc.ring, &at);
	end += at;
	while (at < end) {
		uint64_t head[HEAD_WORDS];
		struct seen seen;

		dnp_ring_read(&gc.ring, at, head, HEAD_WORDS);
		memcpy(&seen, head, sizeof(seen));
		hold(&seen, at + HEAD_WORDS);
		at += HEAD_WORDS + seen.words;
		dnp_ring_release(&gc.ring, at);
	}
}

static void drop(size_t i)
{
	free(gc.held.p[i].frames);
	gc.held.p[i] = gc.held.p[--gc.held.n];
}

/* Takes it out for good unless another collection needs it. False: it is not there. */
static bool take_held(const struct dnp_collection *one, struct seen *seen)
{
	for (size_t i = 0; i < gc.held.n; i++) {
		struct held held = gc.held.p[i];

		if (held.seen.trigger != one->trigger)
			continue;
		*seen = held.seen;
		memcpy(gc.taken + 1, held.frames, seen->n * sizeof(*gc.taken));
		if (!one->inherited)
			drop(i);
		return true;
	}
	return false;
}

/* Some bring none about: code of theirs must not be kept for it. */
static void drop_idle(void)
{
	uint64_t now_ns = dnp_now_ns();

	for (size_t i = gc.held.n; i--;) {
		const struct seen *seen = &gc.held.p[i].seen;
		bool awaited;

		if (now_ns - seen->time_ns < PATIENCE_NS)
			continue;
		pthread_mutex_lock(&gc.lock);
		awaited = dnp_collections_await(gc.all, seen->trigger);
		pthread_mutex_unlock(&gc.lock);
		if (!awaited)
			drop(i);
	}
}

/* One in the background may take long, and be the last of so many. */
static void drop_oldest(void)
{
	size_t oldest = 0;

	if (gc.held.n <= HELD_MAX)
		return;
	for (size_t i = 1; i < gc.held.n; i++)
		if (gc.held.p[i].seen.trigger < gc.held.p[oldest].seen.trigger)
			oldest = i;
	drop(oldest);
}

static void reckon_oldest(void)
{
	uint64_t at, oldest_ns = UINT64_MAX;

	for (size_t i = 0; i < gc.held.n; i++)
		if (gc.held.p[i].seen.time_ns < oldest_ns)
			oldest_ns = gc.held.p[i].seen.time_ns;
	pthread_mutex_lock(&gc.lock);
	if (!dnp_ring_readable(&gc.ring, &at))
		atomic_store(&oldest_held_ns, oldest_ns);
	pthread_mutex_unlock(&gc.lock);
}

/* ---- The recorder: collections */

/* One that has gone was defined when it went. */
static void define_thread(int tid, uint32_t index)
{
	struct dnp_thread *thread = tid ? dnp_thread_find(tid) : NULL;

	if (thread && thread->index == index)
		gc.setting->announce(thread);
}

static uint32_t label_of(const struct dnp_collection *one)
{
	char text[96];
	int n = snprintf(text, sizeof(text), "gen %u%s (%s)", (unsigned)one->generation,
		one->kind == DNP_COLLECTION_BACKGROUND ? " in the background" : "",
		dnp_gc_reason(one->reason));

	return dnp_label((struct dnp_str){text, (size_t)n});
}

/* As a sample: who brought it about, and for how long the program stood still. */
static void write_sample(struct dnp_writer *writer, const struct dnp_collection *one)
{
	struct seen seen = {
		.time_ns = one->begin_ns, .thread = one->thread, .stop = DNP_STOP_UNKNOWN};
	struct dnp_walked_node walked;

	if (!one->trigger || !take_held(one, &seen))
		count(&not_known);
	define_thread(seen.tid ? seen.tid : one->tid, seen.thread);
	gc.taken[0] = dnp_label_frame(label_of(one));
	walked = gc.setting->walked(gc.event,
		&(struct dnp_walked){
			.frames = gc.taken,
			.n = seen.n + 1,
			.stop = (enum dnp_walk_stop)seen.stop,
			.time_ns = seen.time_ns,
			.walk_ns = seen.walk_ns,
		});
	dnp_write_sample_at(writer, one->begin_ns,
		&(struct dnp_rec_sample){
			.event = gc.event,
			.thread = seen.thread,
			.node = walked.node,
			.weight = one->pause_ns,
			.flags = dnp_walk_flags((enum dnp_walk_stop)seen.stop),
			.value = one->number,
		});
}

static void write_numbers(struct dnp_writer *writer, const struct dnp_collection *one)
{
	uint8_t sizes[3 * DNP_GC_GENERATIONS * DNP_VARINT_MAX], *end = sizes;

	for (unsigned g = 0; one->heaps && g < DNP_GC_GENERATIONS; g++) {
		end = dnp_varint_put(end, one->before[g]);
		end = dnp_varint_put(end, one->after[g]);
		end = dnp_varint_put(end, one->survived[g]);
	}
	dnp_write_collection(writer,
		&(struct dnp_rec_collection){
			.event = gc.event,
			.number = one->number,
			.generation = one->generation,
			.reason = one->reason,
			.kind = one->kind,
			.compacting = one->compacting,
			.begin_ns = one->begin_ns,
			.end_ns = one->end_ns,
			.pauses = one->pauses,
			.suspend_ns = one->suspend_ns,
			.pause_ns = one->pause_ns,
			.longest_ns = one->longest_ns,
			.sizes = {(const char *)sizes, (size_t)(end - sizes)},
		});
}

/* On the time line it stands as what the program says it is doing does. `end_ns` 0: it goes on. */
static void write_span(struct dnp_writer *writer, uint64_t id, uint32_t thread, uint64_t begin_ns,
	uint64_t end_ns, const char *name)
{
	dnp_write_span(writer,
		&(struct dnp_rec_span){.event = gc.event,
			.id = id,
			.time_ns = begin_ns,
			.thread = thread,
			.name = dnp_str(name)});
	if (end_ns)
		dnp_write_span_end(writer,
			&(struct dnp_rec_span_end){
				.event = gc.event, .id = id, .time_ns = end_ns, .thread = thread});
}

static void write_one(struct dnp_writer *writer, const struct dnp_collection *one)
{
	char name[64];

	write_sample(writer, one);
	write_numbers(writer, one);
	if (one->kind != DNP_COLLECTION_BACKGROUND)
		return;
	snprintf(name, sizeof(name), "GC of gen %u in the background", (unsigned)one->generation);
	define_thread(one->tid, one->thread);
	write_span(writer, ++gc.spans, one->thread, one->begin_ns, one->end_ns, name);
}

static void write_pause(struct dnp_writer *writer, const struct dnp_gc_pause *pause)
{
	char name[64];

	if (pause->number)
		snprintf(name, sizeof(name), "GC pause, gen %u", (unsigned)pause->generation);
	else
		snprintf(name, sizeof(name), "GC pause, no collection told");
	define_thread(pause->tid, pause->thread);
	write_span(writer, ++gc.spans, pause->thread, pause->begin_ns, pause->end_ns, name);
}

static bool take(struct dnp_collection *one)
{
	bool is_one;

	pthread_mutex_lock(&gc.lock);
	is_one = dnp_collections_take(gc.all, one);
	pthread_mutex_unlock(&gc.lock);
	return is_one;
}

static bool take_pause(struct dnp_gc_pause *pause)
{
	bool is_one;

	pthread_mutex_lock(&gc.lock);
	is_one = dnp_collections_take_pause(gc.all, pause);
	pthread_mutex_unlock(&gc.lock);
	return is_one;
}

/*
 * A copy of the recording does not hurry this: what one in the background has not told yet would be
 * missing in the recording itself, too.
 */
static void flush(int last)
{
	pthread_mutex_lock(&gc.lock);
	dnp_collections_flush(gc.all, last ? UINT64_MAX : dnp_now_ns() - PATIENCE_NS);
	atomic_store(&lost, gc.all->lost);
	atomic_store(&lost_pauses, gc.all->lost_pauses);
	pthread_mutex_unlock(&gc.lock);
}

/* ---- Memory */

static size_t stack_bytes(void)
{
	return (dnp_threads_depth() + 1) * sizeof(dnp_frame_word);
}

static void free_memory(void)
{
	if (gc.all)
		dnp_mem_unmap(gc.all, sizeof(*gc.all));
	if (gc.words)
		dnp_mem_unmap(gc.words, RING_WORDS * sizeof(uint64_t));
	if (gc.taken)
		dnp_mem_unmap(gc.taken, stack_bytes());
	for (size_t i = 0; i < gc.held.n; i++)
		free(gc.held.p[i].frames);
	dnp_vec_done(&gc.held);
	gc.all = NULL;
	gc.words = NULL;
	gc.taken = NULL;
}

static int get_memory(void)
{
	gc.all = dnp_mem_map(sizeof(*gc.all));
	gc.words = dnp_mem_map(RING_WORDS * sizeof(uint64_t));
	gc.taken = dnp_mem_map(stack_bytes());
	if (!gc.all || !gc.words || !gc.taken)
		return -ENOMEM;
	dnp_ring_init(&gc.ring, gc.words, RING_WORDS);
	return 0;
}

/* ---- The engine */

static void gc_wishes(struct dnp_provider_wish *wishes)
{
	dnp_wish(&wishes[DNP_PROVIDER_RUNTIME], DNP_KEYWORD_COLLECTIONS,
		COR_PRF_EVENTPIPE_INFORMATIONAL);
}

static int gc_start(const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	gc.setting = setting;
	gc.event = index;
	gc.triggers = gc.spans = 0;
	atomic_store(&not_understood, 0);
	atomic_store(&no_room, 0);
	atomic_store(&lost, 0);
	atomic_store(&lost_pauses, 0);
	atomic_store(&not_known, 0);
	atomic_store(&oldest_held_ns, UINT64_MAX);
	if (!get_memory())
		return 0;
	free_memory();
	return dnp_err(err, -ENOMEM, "no memory for collections of garbage; free some");
}

/* No event is delivered by now. */
static void gc_stop(void)
{
}

static const char *gc_source(void)
{
	return "GCTriggered, GCStart, GCEnd";
}

static void gc_thread_end(struct dnp_thread *thread)
{
	gc.setting->announce(thread);
}

static uint64_t gc_walking_since(void)
{
	return atomic_load(&oldest_held_ns);
}

/* Collections first: then the stack of each is in the ring. */
static void gc_write(struct dnp_writer *writer, int last)
{
	struct dnp_collection one;
	struct dnp_gc_pause pause;

	if (!gc.all)
		return;
	flush(last);
	while (take_pause(&pause))
		write_pause(writer, &pause);
	while (take(&one)) {
		take_seen();
		write_one(writer, &one);
	}
	take_seen();
	drop_idle();
	drop_oldest();
	reckon_oldest();
}

static void gc_failures(unsigned index, dnp_failure_tell tell)
{
	tell(index, "event of an unknown layout", atomic_load(&not_understood));
	tell(index, "no room for its stack", atomic_load(&no_room));
	tell(index, "collection that is not told, for want of room", atomic_load(&lost));
	tell(index, "pause that is not told, for want of room", atomic_load(&lost_pauses));
	tell(index, "collection of which is not known who wanted it", atomic_load(&not_known));
}

const struct dnp_engine dnp_engine_gc = {
	.event = "gc",
	.unit = "ns",
	.walks = true,
	.happens = true,
	.wishes = gc_wishes,
	.delivered = gc_delivered,
	.start = gc_start,
	.source = gc_source,
	.thread_end = gc_thread_end,
	.walking_since = gc_walking_since,
	.stop = gc_stop,
	.forget = free_memory,
	.write = gc_write,
	.failures = gc_failures,
};
