/* SPDX-License-Identifier: MIT */
#include "capture/live_objects.h"

#include "capture/thin.h"

/* ---- Collections */

static void count(_Atomic uint32_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
		memory_order_release); /* pairs with dnp_live_clock_now */
}

void dnp_live_clock_begin(
	struct dnp_live_clock *clock, uint64_t number, unsigned generation, uint64_t now_ns)
{
	count(&clock->begun);
	if (generation >= 2)
		count(&clock->full_begun);
	for (unsigned i = 0; i < DNP_LIVE_OPEN; i++)
		if (!clock->open[i].number) {
			clock->open[i].number = number;
			clock->open[i].generation = generation;
			clock->open[i].begin_ns = now_ns;
			return;
		}
}

void dnp_live_clock_end(struct dnp_live_clock *clock, uint64_t number)
{
	for (unsigned i = 0; i < DNP_LIVE_OPEN; i++) {
		if (!number || clock->open[i].number != number)
			continue;
		clock->open[i].number = 0;
		if (clock->open[i].generation >= 2)
			count(&clock->full_over);
		/* One in the background began before those amid it, which are over by now. */
		if (clock->open[i].begin_ns > clock->seen_ns)
			atomic_store_explicit(
				&clock->seen_ns, clock->open[i].begin_ns, memory_order_relaxed);
		count(&clock->over);
		return;
	}
}

struct dnp_live_times dnp_live_clock_now(const struct dnp_live_clock *clock)
{
	/* Pair with the counting: what a collection did that is over was done before. */
	return (struct dnp_live_times){
		.begun = atomic_load_explicit(&clock->begun, memory_order_acquire),
		.over = atomic_load_explicit(&clock->over, memory_order_acquire),
		.full_begun = atomic_load_explicit(&clock->full_begun, memory_order_acquire),
		.full_over = atomic_load_explicit(&clock->full_over, memory_order_acquire),
	};
}

/* Those that had begun are not of it, and one of them that goes on is missing among the ended. */
static uint32_t since(uint32_t over, uint32_t begun)
{
	return over > begun ? over - begun : 0;
}

uint32_t dnp_live_survived(
	const struct dnp_live_object *object, const struct dnp_live_times *times, uint32_t *full)
{
	*full = since(times->full_over, object->full_begun);
	return object->young ? since(times->over, object->begun) : *full;
}

/* ---- Places */

void dnp_live_objects_init(
	struct dnp_live_objects *objects, struct dnp_live_object *all, uint32_t capacity)
{
	*objects =
		(struct dnp_live_objects){.all = all, .capacity = capacity, .first = DNP_LIVE_NONE};
}

uint32_t dnp_live_take(struct dnp_live_objects *objects)
{
	uint32_t place = objects->first, end = atomic_load(&objects->end);

	if (place != DNP_LIVE_NONE)
		objects->first = objects->all[place].next;
	else if (end < objects->capacity)
		atomic_store(&objects->end, (place = end) + 1);
	else
		return DNP_LIVE_NONE;
	atomic_fetch_add(&objects->n, 1);
	return place;
}

void dnp_live_keep(struct dnp_live_objects *objects)
{
	uint32_t n = atomic_load(&objects->n);

	objects->watched++;
	if (n > objects->most)
		objects->most = n;
}

void dnp_live_give(struct dnp_live_objects *objects, uint32_t place)
{
	objects->all[place].handle = 0;
	objects->all[place].next = objects->first;
	objects->first = place;
	atomic_fetch_sub(&objects->n, 1);
}

/* Where it is crowded the recorder lets some go; it is to have the time for that first. */
unsigned dnp_live_shortage(const struct dnp_live_objects *objects)
{
	uint32_t n = atomic_load_explicit(&objects->n, memory_order_relaxed);

	return dnp_shortage(objects->capacity - n, objects->capacity / 8);
}

bool dnp_live_is_crowded(const struct dnp_live_objects *objects)
{
	return atomic_load_explicit(&objects->n, memory_order_relaxed) > objects->capacity / 4 * 3;
}
