/* SPDX-License-Identifier: MIT */
#include "capture/collections.h"

static void end(struct dnp_collections *all, uint32_t i)
{
	if (all->n_ended < DNP_COLLECTIONS_ENDED)
		all->ended[all->n_ended++] = all->open[i];
	else
		all->lost++;
	all->n_open--;
	for (; i < all->n_open; i++)
		all->open[i] = all->open[i + 1];
}

/*
 * One for which the program stood still has told all when that goes on; one in the background when
 * its histories have come, before its end or after it.
 */
static bool is_told(const struct dnp_collection *one)
{
	if (!one->ended || one->in_pause)
		return false;
	return one->kind != DNP_COLLECTION_BACKGROUND || (one->heaps && one->so_far == one->heaps);
}

static void end_those_told(struct dnp_collections *all)
{
	for (uint32_t i = all->n_open; i-- > 0;)
		if (is_told(&all->open[i]))
			end(all, i);
}

void dnp_collections_flush(struct dnp_collections *all, uint64_t before_ns)
{
	for (uint32_t i = all->n_open; i-- > 0;)
		if (before_ns == UINT64_MAX ||
			(all->open[i].ended && all->open[i].end_ns < before_ns))
			end(all, i);
	if (all->passed_ns && all->passed_ns < before_ns && !all->pause.open)
		all->trigger = all->passed_ns = 0;
}

bool dnp_collections_await(const struct dnp_collections *all, uint64_t trigger)
{
	bool found = all->trigger == trigger;

	for (uint32_t i = 0; i < all->n_open; i++)
		found = found || all->open[i].trigger == trigger;
	for (uint32_t i = all->first_ended; i < all->n_ended; i++)
		found = found || all->ended[i].trigger == trigger;
	return found;
}

bool dnp_collections_take(struct dnp_collections *all, struct dnp_collection *one)
{
	if (all->first_ended == all->n_ended)
		return false;
	*one = all->ended[all->first_ended++];
	if (all->first_ended == all->n_ended)
		all->first_ended = all->n_ended = 0;
	return true;
}

bool dnp_collections_take_pause(struct dnp_collections *all, struct dnp_gc_pause *pause)
{
	if (!all->n_pauses)
		return false;
	*pause = all->pauses[--all->n_pauses];
	return true;
}

/* ---- Pauses */

/*
 * Who wants threads to stop says so before he waits for whoever has stopped them already: those who
 * do for something else may begin amid a pause of the collector, and end amid one that has begun.
 * Each tells of his own, from its begin to its end, on one thread.
 */
static void begin_pause(struct dnp_collections *all, const struct dnp_gc_event *event,
	const struct dnp_gc_moment *moment)
{
	if (!event->for_gc)
		return;
	all->pause.open = true;
	all->pause.begin_ns = all->pause.suspended_ns = moment->time_ns;
	all->pause.resumed_ns = 0;
	all->pause.tid = moment->tid;
	all->pause.thread = moment->thread;
}

static bool is_of_pause(const struct dnp_collections *all, const struct dnp_gc_moment *moment)
{
	return all->pause.open && all->pause.tid == moment->tid;
}

static void stand(struct dnp_collections *all, const struct dnp_gc_moment *moment)
{
	if (is_of_pause(all, moment))
		all->pause.suspended_ns = moment->time_ns;
}

/*
 * All may go on from now on. The end of that is told by a thread which may wait for a processor
 * then, while the others run.
 */
static void resume(struct dnp_collections *all, const struct dnp_gc_moment *moment)
{
	if (is_of_pause(all, moment))
		all->pause.resumed_ns = moment->time_ns;
}

/*
 * Whose it was: of those that began in it the first that is over, for which the program stood still
 * all the while, else that which goes on in the background.
 */
static struct dnp_collection *find_paused(struct dnp_collections *all)
{
	struct dnp_collection *found = NULL;

	for (uint32_t i = 0; i < all->n_open; i++) {
		struct dnp_collection *one = &all->open[i];

		if (one->in_pause && one->ended)
			return one;
		if (one->meant_background && (!one->ended || !found))
			found = one;
	}
	return found;
}

static void add_pause(
	struct dnp_collections *all, const struct dnp_collection *one, uint64_t end_ns)
{
	if (all->n_pauses == DNP_COLLECTIONS_ENDED)
		all->lost_pauses++;
	else
		all->pauses[all->n_pauses++] = (struct dnp_gc_pause){
			.begin_ns = all->pause.begin_ns,
			.end_ns = end_ns,
			.number = one ? one->number : 0,
			.generation = one ? one->generation : 0,
			.tid = all->pause.tid,
			.thread = all->pause.thread,
		};
}

/*
 * The server's collector also stops threads for none, to have more heaps, or fewer: what is wanted
 * may still come then. Of TryStartNoGCRegion nothing comes, where it needs none.
 */
static void end_pause(struct dnp_collections *all, const struct dnp_gc_moment *moment)
{
	struct dnp_collection *one = find_paused(all);
	uint64_t end_ns = all->pause.resumed_ns ? all->pause.resumed_ns : moment->time_ns;
	uint64_t ns = end_ns - all->pause.begin_ns;

	if (!is_of_pause(all, moment))
		return;
	all->pause.open = false;
	if (all->trigger)
		all->passed_ns = moment->time_ns;
	add_pause(all, one, end_ns);
	if (!one)
		return;
	one->pauses++;
	one->pause_ns += ns;
	one->suspend_ns += all->pause.suspended_ns - all->pause.begin_ns;
	one->longest_ns = ns > one->longest_ns ? ns : one->longest_ns;
	/* One that goes on is a background one, as it was meant to be. */
	for (uint32_t i = 0; i < all->n_open; i++) {
		if (all->open[i].in_pause && !all->open[i].ended)
			all->open[i].kind = DNP_COLLECTION_BACKGROUND;
		all->open[i].in_pause = false;
	}
}

/* ---- Collections */

/* One amid which another one comes; NULL: none goes on. */
static const struct dnp_collection *find_background(const struct dnp_collections *all)
{
	for (uint32_t i = 0; i < all->n_open; i++)
		if (all->open[i].meant_background && !all->open[i].ended)
			return &all->open[i];
	return NULL;
}

static void start(struct dnp_collections *all, const struct dnp_gc_event *event,
	const struct dnp_gc_moment *moment)
{
	const struct dnp_collection *around = find_background(all);
	enum dnp_collection_kind kind =
		around ? DNP_COLLECTION_FOREGROUND : DNP_COLLECTION_BLOCKING;

	/* Before one in the background begins, the young may be collected at once. */
	bool inherits = around && around->in_pause && !all->trigger;

	if (all->n_open == DNP_COLLECTIONS_OPEN) {
		all->lost++;
		all->open[0] = all->open[--all->n_open];
	}
	all->open[all->n_open++] = (struct dnp_collection){
		.number = event->number,
		.generation = event->generation,
		.reason = event->reason,
		.kind = kind,
		.meant_background = event->background,
		.in_pause = all->pause.open,
		.trigger = inherits ? around->trigger : all->trigger,
		.inherited = inherits,
		.begin_ns = all->pause.open ? all->pause.begin_ns : moment->time_ns,
	};
	all->trigger = all->passed_ns = 0;
}

static void want(struct dnp_collections *all, const struct dnp_gc_moment *moment)
{
	all->trigger = moment->trigger;
	all->passed_ns = 0;
}

static void end_one(struct dnp_collections *all, const struct dnp_gc_event *event,
	const struct dnp_gc_moment *moment)
{
	for (uint32_t i = 0; i < all->n_open; i++) {
		struct dnp_collection *one = &all->open[i];

		if (one->number != event->number)
			continue;
		one->ended = true;
		one->end_ns = moment->time_ns;
		one->tid = moment->tid;
		one->thread = moment->thread;
	}
}

/* Histories that follow on this thread are of the one that it tells of: the latest of its kind. */
static void begin_histories(struct dnp_collections *all, const struct dnp_gc_event *event,
	const struct dnp_gc_moment *moment)
{
	struct dnp_collection *found = NULL;

	for (uint32_t i = 0; i < all->n_open; i++)
		if (!all->open[i].heaps &&
			event->background == (all->open[i].kind == DNP_COLLECTION_BACKGROUND))
			found = &all->open[i];
	if (!found)
		return;
	found->told_by = moment->tid;
	found->heaps = event->heaps;
	found->compacting = event->compacting;
}

static void add_history(struct dnp_collections *all, const struct dnp_gc_event *event,
	const struct dnp_gc_moment *moment)
{
	for (uint32_t i = 0; i < all->n_open; i++) {
		struct dnp_collection *one = &all->open[i];

		if (one->told_by != moment->tid || one->so_far == one->heaps)
			continue;
		one->so_far++;
		for (unsigned g = 0; g < DNP_GC_GENERATIONS; g++) {
			one->before[g] += event->before[g];
			one->after[g] += event->after[g];
			one->survived[g] += event->survived[g];
		}
	}
}

void dnp_collections_event(struct dnp_collections *all, const struct dnp_gc_event *event,
	const struct dnp_gc_moment *moment)
{
	switch (event->id) {
	case DNP_GC_TRIGGERED: want(all, moment); return;
	case DNP_GC_SUSPEND_BEGIN: begin_pause(all, event, moment); return;
	case DNP_GC_SUSPEND_END: stand(all, moment); return;
	case DNP_GC_START: start(all, event, moment); return;
	case DNP_GC_END: end_one(all, event, moment); break;
	case DNP_GC_GLOBAL_HISTORY: begin_histories(all, event, moment); return;
	case DNP_GC_HEAP_HISTORY: add_history(all, event, moment); break;
	case DNP_GC_RESTART_BEGIN: resume(all, moment); return;
	case DNP_GC_RESTART_END: end_pause(all, moment); break;
	}
	end_those_told(all);
}
