/* SPDX-License-Identifier: MIT */
#include "store/drain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/thread.h"
#include "store/labels.h"
#include "store/overflow.h"

#define EMPTY_NS     UINT64_C(10000000)  /* a ring has room for ten times as long, about */
#define INTERN_SLOTS (UINT32_C(1) << 18) /* 3 MiB, 196,608 nodes before it starts anew */

static void free_memory(struct dnp_drain *drain)
{
	free(drain->frames);
	free(drain->unwalked);
	drain->frames = NULL;
	drain->unwalked = NULL;
	dnp_intern_done(&drain->intern);
	dnp_overflow_close();
}

static int get_memory(struct dnp_drain *drain)
{
	uint32_t depth = dnp_threads_depth();
	int failed = dnp_overflow_open();

	if (failed)
		return failed;
	drain->frames = malloc(depth * sizeof(*drain->frames));
	drain->unwalked = malloc(depth * sizeof(*drain->unwalked));
	if (!drain->frames || !drain->unwalked)
		return -ENOMEM;
	return dnp_intern_init(&drain->intern, INTERN_SLOTS);
}

int dnp_drain_open(struct dnp_drain *drain, int fd, uint64_t recording, unsigned n_events)
{
	int failed;

	memset(drain, 0, sizeof(*drain));
	drain->n_events = n_events;
	drain->chain.writer = &drain->writer;
	failed = get_memory(drain);
	if (failed)
		close(fd);
	else
		failed = dnp_writer_open(&drain->writer, fd, recording);
	if (failed)
		free_memory(drain);
	return failed;
}

/*
 * How many of a sample's frames lie above its topmost managed one. On a thread that does a
 * collection they are the collector's; what lies below called the managed code and has nothing to
 * do with it.
 */
static uint32_t above_managed(const struct dnp_drain *drain, const struct dnp_sample *sample)
{
	uint32_t n = 0;

	while (n < sample->written && !dnp_frame_is_managed(drain->frames[n]))
		n++;
	return n;
}

/* One frame up from where a stack stands in the trie. Returns its nature, enum dnp_nature. */
static unsigned step(struct dnp_drain *drain, struct dnp_path *at, dnp_frame_word word,
	uint64_t time_ns, int collecting)
{
	uint32_t parent = at->node;
	unsigned nature = 0;
	int is_new;
	uint32_t frame = drain->frame_of(drain, word, time_ns, collecting, &nature);

	/* A method and the part of it that it calls are one frame to those who wrote it. */
	if (!(nature & DNP_NATURE_PART) || frame != at->frame) {
		at->node = dnp_intern_node(&drain->intern, parent, frame, &is_new);
		if (is_new)
			dnp_chain_add(&drain->chain, parent, at->node, frame);
	}
	at->frame = frame;
	at->unresolved += nature & DNP_NATURE_UNKNOWN;
	return nature;
}

/*
 * Where a sample stands in the trie: its shared part is known by the feed's path, the rest is
 * interned. Leaves feed->path at the sample; returns its depth.
 */
static uint32_t intern_stack(
	struct dnp_drain *drain, struct dnp_feed *feed, const struct dnp_sample *sample)
{
	uint32_t top = sample->flags & DNP_SAMPLE_COLLECTING ? above_managed(drain, sample) : 0;
	uint32_t depth = sample->shared;
	struct dnp_path at = {0};

	if (depth)
		at = feed->path[depth - 1];
	dnp_intern_make_room(&drain->intern, sample->written);
	for (uint32_t i = sample->written; i-- > 0;) {
		step(drain, &at, drain->frames[i], sample->time_ns, i < top);
		feed->path[depth++] = at;
	}
	dnp_chain_write(&drain->chain);
	return depth;
}

/* From the root towards the leaf: the outermost method of .NET that nobody else's code is above. */
static void see(struct dnp_walked_node *seen, bool *bare, dnp_frame_word word, unsigned nature)
{
	enum dnp_wait_kind kind = nature >> DNP_NATURE_WAIT_SHIFT;

	seen->runtime |= (nature & DNP_NATURE_RUNTIME) != 0;
	if (!dnp_frame_is_managed(word)) {
		if (*bare && DNP_FRAME_KIND(word) == DNP_WALK_NATIVE) {
			seen->in_runtime = nature & DNP_NATURE_RUNTIME;
			*bare = false;
		}
		return;
	}
	*bare = seen->managed = true;
	seen->in_runtime = false;
	if (DNP_FRAME_KIND(word) == DNP_WALK_DYNAMIC) /* a stub on the way to native code */
		return;
	if (!(nature & DNP_NATURE_FRAMEWORK))
		seen->kind = DNP_WAIT_OTHER;
	else if (seen->kind == DNP_WAIT_OTHER)
		seen->kind = kind;
}

static void count_walked(
	struct dnp_drain_sums *sums, const struct dnp_walked *walked, uint64_t unresolved)
{
	sums->samples++;
	sums->frames += walked->n;
	sums->unresolved += unresolved;
	sums->truncated += walked->stop == DNP_STOP_DEPTH;
	sums->stops[walked->stop]++;
	sums->walks[dnp_walk_bucket(walked->walk_ns)]++;
	sums->walk_ns += walked->walk_ns;
}

struct dnp_walked_node dnp_drain_walked(
	struct dnp_drain *drain, unsigned event, const struct dnp_walked *walked)
{
	struct dnp_walked_node seen = {0};
	struct dnp_path at = {0};
	bool bare = false;

	dnp_intern_make_room(&drain->intern, walked->n);
	for (uint32_t i = walked->n; i-- > 0;) {
		dnp_frame_word word = walked->frames[i];

		see(&seen, &bare, word, step(drain, &at, word, walked->time_ns, 0));
	}
	seen.node = at.node;
	dnp_chain_write(&drain->chain);
	count_walked(&drain->sums[event], walked, at.unresolved);
	return seen;
}

/*
 * The rest of a walk that a thread has left to us: by now it may be known what code that was. Of
 * the `words` in drain->unwalked the first `n` are its frames until there. Returns how many are in
 * drain->frames then.
 */
static uint32_t walk_rest(
	struct dnp_drain *drain, uint32_t n, uint32_t words, enum dnp_walk_stop *stop)
{
	uint32_t begin = n + DNP_UNWALKED_WORDS;
	struct dnp_unwalked left;

	*stop = DNP_STOP_UNKNOWN;
	memcpy(drain->frames, drain->unwalked, n * sizeof(*drain->frames));
	memcpy(&left, drain->unwalked + n, sizeof(left));
	if (drain->walk)
		n += drain->walk(&left, drain->unwalked + begin,
			(words - begin) * sizeof(*drain->unwalked), drain->frames + n,
			dnp_threads_depth() - n, stop);
	return n;
}

/* Then it is a sample as any other, that shares nothing. */
static void walk_now(struct dnp_drain *drain, struct dnp_sample *sample)
{
	struct dnp_drain_sums *sums = &drain->sums[sample->event];
	enum dnp_walk_stop stop;
	uint32_t n = walk_rest(drain, sample->shared, sample->written, &stop);

	sample->shared = 0;
	sample->written = (uint16_t)n;
	sample->flags |= (uint8_t)dnp_walk_flags(stop);
	sums->frames += n;
	sums->truncated += stop == DNP_STOP_DEPTH;
	sums->stops[stop]++;
}

static void take_sample(struct dnp_drain *drain, const struct dnp_thread *thread,
	struct dnp_feed *feed, const struct dnp_sample *sample)
{
	uint32_t depth = intern_stack(drain, feed, sample);
	struct dnp_path leaf = depth ? feed->path[depth - 1] : (struct dnp_path){0};
	struct dnp_rec_sample rec = {
		.event = sample->event,
		.thread = thread->index,
		.node = leaf.node,
		.weight = sample->weight,
		.flags = sample->flags & ~(unsigned)DNP_SAMPLE_RING_FLAGS,
		.value = sample->value,
	};

	drain->sums[sample->event].unresolved += leaf.unresolved;
	dnp_write_sample_at(&drain->writer, sample->time_ns, &rec);
}

/*
 * A thread is known a moment after it began, and ends a moment after its last sample. What it did
 * meanwhile belongs to it, so that threads have their right shares however short they live, but
 * nobody saw where.
 */
static void write_missed(
	struct dnp_drain *drain, const struct dnp_thread *thread, uint64_t time_ns, uint32_t units)
{
	unsigned nature = 0;
	int is_new;
	uint32_t frame = drain->frame_of(
		drain, (uint64_t)DNP_WALK_NOT_YET << DNP_FRAME_SHIFT, time_ns, 0, &nature);
	uint32_t node = dnp_intern_node(&drain->intern, 0, frame, &is_new);

	if (is_new)
		dnp_chain_add(&drain->chain, 0, node, frame);
	dnp_chain_write(&drain->chain);
	for (uint32_t events = thread->missed_events; events; events &= events - 1)
		dnp_write_sample_at(&drain->writer, time_ns,
			&(struct dnp_rec_sample){
				.event = (uint64_t)__builtin_ctz(events),
				.thread = thread->index,
				.node = node,
				.weight = units,
			});
}

static void define(struct dnp_drain *drain, struct dnp_thread *thread, bool there)
{
	uint32_t flags = atomic_load_explicit(&thread->flags, memory_order_relaxed);
	char *name = thread->announced_name;

	thread->announced = 1;
	name[0] = '\0';
	if (there)
		dnp_thread_name(thread->tid, name, sizeof(thread->announced_name));
	if (!name[0]) /* it has gone */
		memcpy(name, thread->last_name[0] ? thread->last_name : thread->name,
			sizeof(thread->name));
	dnp_write_thread(&drain->writer,
		&(struct dnp_rec_thread){
			.index = thread->index,
			.tid = (uint64_t)thread->tid,
			.start_ns = thread->start_ns,
			.cpu_ns = thread->start_cpu_ns,
			.flags = flags,
			.name = dnp_str(name),
		});
}

/* When it ended, or is looked at for the last time. */
static uint64_t end_of(const struct dnp_thread *thread)
{
	return thread->end_ns ? thread->end_ns : dnp_now_ns();
}

/* Of one that is not `there` any more nobody knows the name, or its number is another's by now. */
static void announce(struct dnp_drain *drain, struct dnp_thread *thread, bool there)
{
	/* Pairs with the engine that finds it: perhaps when the thread has been announced. */
	uint32_t missed = atomic_exchange_explicit(&thread->missed, 0, memory_order_acquire);

	uint32_t rest = atomic_exchange_explicit(&thread->rest, 0, memory_order_acquire);

	if (!thread->announced)
		define(drain, thread, there);
	if (missed)
		write_missed(drain, thread, thread->start_ns, missed);
	if (rest)
		write_missed(drain, thread, end_of(thread), rest);
}

void dnp_drain_announce(struct dnp_drain *drain, struct dnp_thread *thread)
{
	announce(drain, thread, true);
}

static void write_name(struct dnp_drain *drain, const struct dnp_thread *thread, const char *name)
{
	dnp_write_thread_name(&drain->writer,
		&(struct dnp_rec_thread_name){
			.thread = thread->index,
			.name = dnp_str(name),
		});
}

static void tell_name(struct dnp_drain *drain, struct dnp_thread *thread)
{
	const char *name = dnp_thread_given_name(thread);

	if (!name || thread->name_told || !thread->announced)
		return;
	thread->name_told = 1;
	write_name(drain, thread, name);
}

#define SETTLED_NS UINT64_C(100000000)

static void change_name(struct dnp_drain *drain, struct dnp_thread *thread, const char *name)
{
	if (thread->name_told || !name[0] || !strcmp(name, thread->announced_name))
		return;
	snprintf(thread->announced_name, sizeof(thread->announced_name), "%s", name);
	write_name(drain, thread, name);
}

/* It may have been announced before it had a name of its own, with that of the one that made it. */
static void look_at_name_again(struct dnp_drain *drain, struct dnp_thread *thread)
{
	char name[sizeof(thread->announced_name)];

	if (!thread->announced || thread->name_told)
		return;
	dnp_thread_name(thread->tid, name, sizeof(name));
	change_name(drain, thread, name);
}

/* When it has settled, and each time that it is four times as old; see visit_last for the end. */
static void look_at_name_when_due(struct dnp_drain *drain, struct dnp_thread *thread)
{
	uint64_t age_ns = dnp_now_ns() - thread->start_ns;

	if (age_ns < SETTLED_NS || age_ns / 4 < thread->looked_age_ns)
		return;
	thread->looked_age_ns = age_ns;
	look_at_name_again(drain, thread);
	dnp_drain_meanwhile(drain);
}

static struct dnp_sample read_head(const struct dnp_feed *feed, uint64_t at)
{
	uint64_t head[DNP_SAMPLE_WORDS], wide[DNP_SAMPLE_WIDE_WORDS];
	struct dnp_sample sample;

	dnp_ring_read(&feed->ring, at, head, DNP_SAMPLE_WORDS);
	sample = dnp_sample_unpack(head);
	if (!(sample.flags & DNP_SAMPLE_WIDE))
		return sample;
	dnp_ring_read(&feed->ring, at + DNP_SAMPLE_WORDS, wide, DNP_SAMPLE_WIDE_WORDS);
	sample.weight = wide[0];
	sample.value = wide[1];
	return sample;
}

static void drain_feed(
	struct dnp_drain *drain, struct dnp_thread *thread, struct dnp_feed *feed, bool there)
{
	uint64_t at;
	size_t n = dnp_ring_readable(&feed->ring, &at);
	uint64_t end = at + n;

	/* Not before its first sample: a new thread still has the name of the one that made it. */
	if (n)
		announce(drain, thread, there);
	while (at < end) {
		struct dnp_sample sample = read_head(feed, at);
		bool unwalked = sample.flags & DNP_SAMPLE_UNWALKED;

		at += dnp_sample_words(&sample);
		dnp_ring_read(&feed->ring, at, unwalked ? drain->unwalked : drain->frames,
			sample.written);
		at += sample.written;
		if (unwalked)
			walk_now(drain, &sample);
		take_sample(drain, thread, feed, &sample);
		dnp_ring_release(&feed->ring, at);
	}
}

static void drain_feeds(struct dnp_drain *drain, struct dnp_thread *thread, bool there)
{
	drain_feed(drain, thread, &thread->own, there);
	drain_feed(drain, thread, &thread->outside, there);
}

/* One that has gone was announced when it went. */
static void announce_index(struct dnp_drain *drain, int tid, uint32_t index)
{
	struct dnp_thread *thread = dnp_thread_find(tid);

	if (thread && thread->index == index)
		announce(drain, thread, true);
}

/* Its words are in drain->unwalked. */
static void take_overflow(struct dnp_drain *drain, const struct dnp_overflow *one)
{
	struct dnp_walked walked = {
		.frames = drain->unwalked,
		.n = one->n,
		.stop = (enum dnp_walk_stop)one->stop,
		.time_ns = one->sample.time_ns,
		.walk_ns = one->walk_ns,
	};
	struct dnp_rec_sample rec = {
		.event = one->sample.event,
		.thread = one->thread,
		.weight = one->sample.weight,
		.value = one->sample.value,
	};

	if (one->sample.flags & DNP_SAMPLE_UNWALKED) {
		walked.n = walk_rest(drain, one->n_frames, one->n, &walked.stop);
		walked.frames = drain->frames;
	}
	rec.flags = (one->sample.flags & ~(unsigned)DNP_SAMPLE_RING_FLAGS) |
		dnp_walk_flags(walked.stop);
	announce_index(drain, one->tid, one->thread);
	rec.node = dnp_drain_walked(drain, one->sample.event, &walked).node;
	dnp_write_sample_at(&drain->writer, one->sample.time_ns, &rec);
}

static void drain_overflow(struct dnp_drain *drain)
{
	uint64_t end = dnp_overflow_end();
	struct dnp_overflow one;

	while (dnp_overflow_take(&one, drain->unwalked, end))
		take_overflow(drain, &one);
}

static void visit_feeds(struct dnp_thread *thread, void *context)
{
	drain_feeds(context, thread, true);
}

void dnp_drain_rings(struct dnp_drain *drain)
{
	dnp_threads_each(visit_feeds, drain);
	drain_overflow(drain);
	drain->emptied_ns = dnp_now_ns();
}

void dnp_drain_meanwhile(struct dnp_drain *drain)
{
	if (dnp_now_ns() - drain->emptied_ns > EMPTY_NS)
		dnp_drain_rings(drain);
}

static uint64_t read_count(const _Atomic uint64_t *count)
{
	return atomic_load_explicit(count, memory_order_acquire);
}

static uint32_t read_count32(const _Atomic uint32_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

/* Adds to a sum what was counted since it was last told. */
static void add(uint64_t *sum, const _Atomic uint64_t *now, _Atomic uint64_t *told)
{
	uint64_t value = read_count(now);

	*sum += value - read_count(told);
	atomic_store_explicit(told, value, memory_order_relaxed);
}

static void add32(uint64_t *sum, const _Atomic uint32_t *now, _Atomic uint32_t *told)
{
	uint32_t value = read_count32(now);

	*sum += value - read_count32(told);
	atomic_store_explicit(told, value, memory_order_relaxed);
}

/* Writes what was lost on a thread since it was last said. */
static void write_losses(struct dnp_drain *drain, const struct dnp_thread *thread,
	struct dnp_feed *feed, unsigned event)
{
	struct dnp_counts *now = &feed->counts[event], *told = &feed->reported[event];

	for (unsigned reason = 0; reason < DNP_LOSS_COUNT; reason++) {
		uint64_t before = drain->sums[event].lost;

		add(&drain->sums[event].lost, &now->lost[reason], &told->lost[reason]);
		if (drain->sums[event].lost != before)
			dnp_write_loss(&drain->writer,
				&(struct dnp_rec_loss){
					.time_ns = dnp_now_ns(),
					.event = event,
					.thread = thread->index,
					.reason = reason,
					.count = drain->sums[event].lost - before,
				});
	}
}

/*
 * Many threads end without a sample, and nothing is to be done for them. Samples and the time of
 * walks come first: what is counted meanwhile makes them new the next time.
 */
static void add_counts(struct dnp_drain *drain, struct dnp_feed *feed, unsigned event)
{
	struct dnp_counts *now = &feed->counts[event], *told = &feed->reported[event];
	struct dnp_drain_sums *sums = &drain->sums[event];

	if (!dnp_counts_are_new(now, told))
		return;
	add(&sums->samples, &now->samples, &told->samples);
	add(&sums->walk_ns, &now->walk_ns, &told->walk_ns);
	for (unsigned i = 0; i < DNP_STOP_COUNT; i++)
		add32(&sums->stops[i], &now->stops[i], &told->stops[i]);
	for (unsigned i = 0; i < DNP_WALK_BUCKETS; i++)
		add32(&sums->walks[i], &now->walks[i], &told->walks[i]);
	add(&sums->frames, &now->frames, &told->frames);
	add(&sums->truncated, &now->truncated, &told->truncated);
}

static void take_counts(struct dnp_thread *thread, void *context)
{
	struct dnp_drain *drain = context;
	struct dnp_feed *feeds[] = {&thread->own, &thread->outside};

	for (unsigned i = 0; i < DNP_ARRAY_SIZE(feeds); i++) {
		if (!dnp_feed_is_used(feeds[i]))
			continue;
		for (unsigned event = 0; event < drain->n_events; event++) {
			write_losses(drain, thread, feeds[i], event);
			add_counts(drain, feeds[i], event);
		}
	}
}

static void write_end(
	struct dnp_drain *drain, struct dnp_thread *thread, uint64_t time_ns, uint64_t cpu_ns)
{
	dnp_write_thread_end(&drain->writer,
		&(struct dnp_rec_thread_end){
			.thread = thread->index, .time_ns = time_ns, .cpu_ns = cpu_ns});
}

/* What it has told of its end itself. */
static void write_told_end(struct dnp_drain *drain, struct dnp_thread *thread)
{
	write_end(drain, thread, end_of(thread), thread->end_cpu_ns);
}

void dnp_drain_thread_gone(struct dnp_drain *drain, struct dnp_thread *thread, uint64_t gone_ns)
{
	thread->gone_ns = gone_ns;
	/* What the last handler wrote comes before what follows, and none looks at the sampler. */
	dnp_thread_leave(thread);
	/* And what engines have noted on it comes before the end that it told of. */
	atomic_load_explicit(&thread->end_ns, memory_order_acquire);
	/* Engines announce it as if it were there, but its number may be another's by now. */
	if (!thread->announced)
		define(drain, thread, false);
	if (drain->gone)
		drain->gone(thread);
	dnp_sampler_stop(&thread->sampler);
	drain_feeds(drain, thread, false); /* what its handler stored before the thread went */
	announce(drain, thread, false);
	drain_overflow(drain);
	tell_name(drain, thread);
	change_name(drain, thread, thread->last_name);
	take_counts(thread, drain);
	write_told_end(drain, thread);
	dnp_thread_release(thread);
}

struct round {
	struct dnp_drain *drain;
	int look_for_ends;
};

static void visit(struct dnp_thread *thread, void *context)
{
	struct round *round = context;
	bool listed = thread->listed;
	uint64_t now_ns;

	thread->listed = false;
	drain_feeds(round->drain, thread, true);
	tell_name(round->drain, thread);
	/* One that has told of its end is about to go, and its record is for the next one. */
	if (!round->look_for_ends && !thread->end_ns)
		return;
	if (round->look_for_ends)
		look_at_name_when_due(round->drain, thread);
	/* The system has just told of it: to be asked of each of many takes long. */
	if (listed && !thread->end_ns)
		return;
	/* First: one that is not there had not begun by then, or has gone since. */
	now_ns = dnp_now_ns();
	if (!dnp_thread_exists(thread->tid))
		dnp_drain_thread_gone(round->drain, thread, now_ns);
	dnp_drain_meanwhile(round->drain);
}

int dnp_drain_round(struct dnp_drain *drain, int look_for_ends)
{
	struct round round = {drain, look_for_ends};

	drain->emptied_ns = dnp_now_ns();
	dnp_threads_each(visit, &round);
	drain_overflow(drain);
	return dnp_writer_failed(&drain->writer);
}

/* The middle of bucket b: 2^(b/4) ns. */
static uint64_t bucket_ns(unsigned b)
{
	static const unsigned quarter[] = {1000, 1189, 1414, 1682};

	return (UINT64_C(1) << b / 4) * quarter[b % 4] / 1000;
}

static uint64_t percentile(const uint64_t *buckets, unsigned percent)
{
	uint64_t all = 0, seen = 0;

	for (unsigned b = 0; b < DNP_WALK_BUCKETS; b++)
		all += buckets[b];
	for (unsigned b = 0; b < DNP_WALK_BUCKETS; b++) {
		seen += buckets[b];
		if (all && seen * 100 >= all * percent)
			return bucket_ns(b);
	}
	return 0;
}

static void write_failure(
	struct dnp_drain *drain, unsigned event, const char *reason, uint64_t count)
{
	if (count)
		dnp_write_failure(&drain->writer,
			&(struct dnp_rec_failure){
				.event = event,
				.reason = dnp_str(reason),
				.count = count,
			});
}

void dnp_drain_failure(struct dnp_drain *drain, unsigned event, const char *reason, uint64_t count)
{
	drain->sums[event].failed += count;
	write_failure(drain, event, reason, count);
}

/* Walks that stopped on their way, by reason; returns how many. */
static uint64_t write_stops(struct dnp_drain *drain, unsigned event)
{
	static const struct {
		enum dnp_walk_stop stop;
		const char *reason;
	} reasons[] = {
		{DNP_STOP_BAD_STACK, "bad stack"},
		{DNP_STOP_NO_RULE, "no unwind rule"},
		{DNP_STOP_UNKNOWN, "unknown code"},
	};
	uint64_t all = 0;

	for (unsigned i = 0; i < DNP_ARRAY_SIZE(reasons); i++) {
		uint64_t count = drain->sums[event].stops[reasons[i].stop];

		all += count;
		write_failure(drain, event, reasons[i].reason, count);
	}
	return all;
}

static void write_problem(struct dnp_drain *drain, const char *text)
{
	dnp_write_problem(&drain->writer,
		&(struct dnp_rec_problem){.time_ns = dnp_now_ns(), .text = dnp_str(text)});
}

static void write_lack(struct dnp_drain *drain, enum dnp_threads_lack what)
{
	static const char *const texts[DNP_THREADS_LACKS] = {
		[DNP_THREADS_REFUSED] = "threads were not sampled: no memory, descriptor or timer "
					"was left for them (ulimit -n, ulimit -i)",
		[DNP_THREADS_NO_KERNEL] =
			"threads were sampled without the kernel's frames: no descriptor was left "
			"for "
			"them, or no memory that may be locked (ulimit -n, ulimit -l)",
		[DNP_THREADS_NO_TRAP] =
			"threads are sampled by timers, without the kernel's frames, since "
			"somebody else wanted SIGTRAP: a debugger, or the program itself",
	};
	uint32_t lacking = dnp_threads_lacking(what);
	char text[192];

	if (lacking == drain->lacking_told[what])
		return;
	drain->lacking_told[what] = lacking;
	snprintf(text, sizeof(text), "%u %s", lacking, texts[what]);
	write_problem(drain, text);
}

static void write_refused(struct dnp_drain *drain)
{
	uint64_t refused = dnp_labels_refused();
	char text[192];

	if (refused == drain->refused_told)
		return;
	drain->refused_told = refused;
	snprintf(text, sizeof(text),
		"%llu times a type, a method or a reason has no name, but is [other]: there are "
		"more of "
		"them than there is room for",
		(unsigned long long)refused);
	write_problem(drain, text);
}

static void write_stats(struct dnp_drain *drain, unsigned event, size_t agent_bytes)
{
	struct dnp_drain_sums *sums = &drain->sums[event];
	uint64_t failed = sums->failed + write_stops(drain, event);

	sums->failed = 0; /* told afresh each time */
	dnp_write_stats(&drain->writer,
		&(struct dnp_rec_stats){
			.time_ns = dnp_now_ns(),
			.event = event,
			.samples = sums->samples,
			.truncated = sums->truncated,
			.failed = failed,
			.unresolved = sums->unresolved,
			.frames = sums->frames,
			.walk_ns = sums->walk_ns,
			.agent_bytes = agent_bytes,
			.walk_p50_ns = percentile(sums->walks, 50),
			.walk_p99_ns = percentile(sums->walks, 99),
		});
}

void dnp_drain_stats(struct dnp_drain *drain, struct dnp_drain_agent agent)
{
	dnp_threads_each(take_counts, drain);
	for (unsigned what = 0; what < DNP_THREADS_LACKS; what++)
		write_lack(drain, what);
	write_refused(drain);
	for (unsigned event = 0; event < drain->n_events; event++)
		write_stats(drain, event, agent.bytes);
	dnp_drain_clocks(drain, agent);
}

void dnp_drain_clocks(struct dnp_drain *drain, struct dnp_drain_agent agent)
{
	dnp_write_agent(&drain->writer,
		&(struct dnp_rec_agent){
			.time_ns = dnp_now_ns(),
			.cpu_ns = agent.cpu_ns,
			.process_ns = agent.process_ns,
		});
}

uint64_t dnp_drain_samples(const struct dnp_drain *drain)
{
	uint64_t samples = 0;

	for (unsigned event = 0; event < drain->n_events; event++)
		samples += drain->sums[event].samples;
	return samples;
}

static void visit_last(struct dnp_thread *thread, void *context)
{
	struct dnp_drain *drain = context;
	uint64_t cpu_ns;

	dnp_drain_announce(drain, thread);
	tell_name(drain, thread);
	look_at_name_again(drain, thread);
	cpu_ns = dnp_thread_cpu_ns(thread->tid);
	if (cpu_ns)
		write_end(drain, thread, dnp_now_ns(), cpu_ns);
	else /* it has gone since the last round */
		write_told_end(drain, thread);
}

int dnp_drain_close(struct dnp_drain *drain, enum dnp_end_reason reason)
{
	dnp_threads_each(visit_last, drain);
	dnp_write_end(
		&drain->writer, &(struct dnp_rec_end){.time_ns = dnp_now_ns(), .reason = reason});
	free_memory(drain);
	return dnp_writer_close(&drain->writer);
}

int dnp_drain_abandon(struct dnp_drain *drain)
{
	free_memory(drain);
	return dnp_writer_abandon(&drain->writer);
}
