/* SPDX-License-Identifier: MIT */
#include "capture/managed.h"

#include <pthread.h>
#include <stdatomic.h>

#include "os/clock.h"

/* An id whose thread is about to end: nobody begins to look at it any more. Ids are even. */
#define ENDING ((uintptr_t)1)

struct place {
	_Atomic uintptr_t id; /* 0: nobody is here; published last */
	struct dnp_thread *thread;
	uint64_t serial;
	uint64_t since_ns, since_cpu_ns;
};

static struct place places[DNP_THREADS_MAX];
static _Atomic uint32_t n_places;
static uint64_t last_serial;
static bool watched; /* the runtime tells of each one's end, and we listen */

/* Held by those who put threads in places; a leaf lock, never across a call into the CLR. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Whom the looking thread looks at, 0: nobody. */
static _Atomic uintptr_t looked_at;

static struct place *find(uintptr_t id)
{
	for (uint32_t i = 0; i < n_places; i++)
		/* Pairs with the store of 0 by who has left a place: all looks are over. */
		if (atomic_load_explicit(&places[i].id, memory_order_acquire) == id)
			return &places[i];
	return NULL;
}

/*
 * A record that has had an id before is by now that of another thread, which was given the same
 * number before the end of the one before was found, or that thread has come back. Until then all
 * has been told of.
 */
static void set_since(struct place *place)
{
	struct dnp_thread *thread = place->thread;

	if (thread->had_id) {
		place->since_ns = dnp_now_ns();
		place->since_cpu_ns = dnp_thread_cpu_ns(thread->tid);
		return;
	}
	thread->had_id = true;
	place->since_ns = thread->start_ns;
	place->since_cpu_ns =
		atomic_load(&thread->flags) & DNP_THREAD_LATE ? thread->start_cpu_ns : 0;
}

SIGSAFE static struct dnp_managed seen(uintptr_t id, const struct place *place)
{
	return (struct dnp_managed){
		.id = id,
		.thread = place->thread,
		.serial = place->serial,
		.since_ns = place->since_ns,
		.since_cpu_ns = place->since_cpu_ns,
	};
}

static void put(uintptr_t id, struct dnp_thread *thread)
{
	struct place *place = find(0);

	if (!place && n_places == DNP_THREADS_MAX) {
		dnp_threads_lack(DNP_THREADS_REFUSED);
		return;
	}
	if (!place)
		place = &places[n_places];
	place->thread = thread;
	place->serial = ++last_serial;
	set_since(place);
	atomic_store(&place->id, id);
	if (place == &places[n_places])
		atomic_fetch_add(&n_places, 1);
}

void dnp_managed_add(uintptr_t id, struct dnp_thread *thread)
{
	pthread_mutex_lock(&lock);
	if (watched && !find(id))
		put(id, thread);
	pthread_mutex_unlock(&lock);
}

/*
 * First nobody may begin to look, then who looks is waited for, and only then is the place free.
 * Sequentially consistent with dnp_managed_enter: either we see that it looks, or it sees that the
 * thread ends.
 */
void dnp_managed_remove(uintptr_t id, dnp_managed_last last)
{
	struct dnp_managed managed;
	struct place *place;

	pthread_mutex_lock(&lock);
	place = find(id);
	if (place)
		atomic_store(&place->id, id | ENDING);
	pthread_mutex_unlock(&lock);
	/* Also where somebody else takes it out just now. */
	while (atomic_load(&looked_at) == id)
		dnp_sleep_until_ns(dnp_now_ns() + 20000);
	if (!place)
		return;
	managed = seen(id, place);
	last((uint32_t)(place - places), &managed);
	atomic_store(&place->id, 0);
}

/* Another one than `but`; 0: there is none. */
static uintptr_t id_of(const struct dnp_thread *thread, uintptr_t but)
{
	uintptr_t found = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < n_places && !found; i++) {
		uintptr_t id = atomic_load(&places[i].id);

		if (id && id != but && !(id & ENDING) && places[i].thread == thread)
			found = id;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void dnp_managed_gone(const struct dnp_thread *thread, uintptr_t but, dnp_managed_last last)
{
	uintptr_t id;

	while ((id = id_of(thread, but)))
		dnp_managed_remove(id, last);
}

void dnp_managed_watch(void)
{
	pthread_mutex_lock(&lock);
	watched = true;
	pthread_mutex_unlock(&lock);
}

void dnp_managed_forget(void)
{
	pthread_mutex_lock(&lock);
	watched = false;
	for (uint32_t i = 0; i < n_places; i++)
		atomic_store(&places[i].id, 0);
	atomic_store(&n_places, 0);
	pthread_mutex_unlock(&lock);
}

uint32_t dnp_managed_places(void)
{
	return atomic_load(&n_places);
}

SIGSAFE bool dnp_managed_enter(uint32_t place, struct dnp_managed *managed)
{
	uintptr_t id = atomic_load_explicit(&places[place].id, memory_order_relaxed);

	if (!id || (id & ENDING))
		return false;
	atomic_store(&looked_at, id);
	if (atomic_load(&places[place].id) != id) {
		atomic_store(&looked_at, 0);
		return false;
	}
	*managed = seen(id, &places[place]);
	return true;
}

SIGSAFE void dnp_managed_leave(void)
{
	atomic_store(&looked_at, 0);
}
