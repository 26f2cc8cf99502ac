/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdlib.h>

#include "base/u64map.h"
#include "os/thread.h"
#include "walker/walker.h"

struct thread {
	struct dnp_walker_thread thread;
	uint32_t holders;
	bool destroyed;
};

/*
 * Held for moments only, never while a thread is stopped: the thread that is stopped may be the one
 * that holds it.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static struct thread *threads; /* owned, in no order */
static size_t n_threads, room;
static struct dnp_u64map by_id; /* index */

/* With the lock. */
static struct thread *find(ThreadID id)
{
	const uint32_t *index = dnp_u64map_get(&by_id, id);

	return index ? &threads[*index] : NULL;
}

/* With the lock: the entry of a thread, made when it is new. NULL: no memory. */
static struct thread *find_or_add(ThreadID id)
{
	struct thread *thread = find(id);

	if (thread)
		return thread;
	if (n_threads == room) {
		size_t more = room ? room * 2 : 64;
		struct thread *bigger = realloc(threads, more * sizeof(*bigger));

		if (!bigger)
			return NULL;
		threads = bigger;
		room = more;
	}
	if (dnp_u64map_put(&by_id, id, (uint32_t)n_threads))
		return NULL;
	thread = &threads[n_threads++];
	*thread = (struct thread){.thread.id = id};
	return thread;
}

/* With the lock: the last entry takes the place of the one that goes. */
static void forget(ThreadID id)
{
	struct thread *thread = find(id), *last = &threads[n_threads - 1];

	if (thread != last) {
		*thread = *last;
		*dnp_u64map_get(&by_id, thread->thread.id) = (uint32_t)(thread - threads);
	}
	dnp_u64map_remove(&by_id, id);
	n_threads--;
}

void dnprof_walker_thread_assigned(dnprof_walker *walker, uint64_t id, uint32_t os_thread)
{
	struct dnp_stack_range stack = {0};
	struct thread *thread;

	if (!walker || !id || !os_thread)
		return;
	if ((int)os_thread == dnp_thread_id() && dnp_thread_stack(&stack.low, &stack.high))
		stack = (struct dnp_stack_range){0};
	pthread_mutex_lock(&lock);
	thread = find_or_add((ThreadID)id);
	if (thread && !thread->destroyed) {
		if (thread->thread.tid != (int)os_thread || stack.high)
			thread->thread.stack = stack;
		thread->thread.tid = (int)os_thread;
	}
	pthread_mutex_unlock(&lock);
}

void dnprof_walker_thread_destroyed(dnprof_walker *walker, uint64_t id)
{
	struct thread *thread;

	if (!walker)
		return;
	pthread_mutex_lock(&lock);
	thread = find((ThreadID)id);
	if (thread) {
		thread->destroyed = true;
		while ((thread = find((ThreadID)id)) && thread->holders)
			pthread_cond_wait(&released, &lock);
		if (thread)
			forget((ThreadID)id);
	}
	pthread_mutex_unlock(&lock);
}

bool dnp_walker_thread_hold(ThreadID id, struct dnp_walker_thread *out)
{
	struct thread *thread;

	pthread_mutex_lock(&lock);
	thread = find(id);
	if (thread && thread->destroyed)
		thread = NULL;
	if (thread) {
		thread->holders++;
		*out = thread->thread;
	}
	pthread_mutex_unlock(&lock);
	return thread;
}

void dnp_walker_thread_release(ThreadID id)
{
	struct thread *thread;

	pthread_mutex_lock(&lock);
	thread = find(id); /* there: its end waits for us */
	if (thread && !--thread->holders && thread->destroyed)
		pthread_cond_broadcast(&released);
	pthread_mutex_unlock(&lock);
}

size_t dnp_walker_threads_count(void)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = n_threads;
	pthread_mutex_unlock(&lock);
	return n;
}

size_t dnp_walker_threads_hold(struct dnp_walker_thread *all, size_t most)
{
	size_t n = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_threads && n < most; i++) {
		if (threads[i].destroyed)
			continue;
		threads[i].holders++;
		all[n++] = threads[i].thread;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

void dnp_walker_threads_release(const struct dnp_walker_thread *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dnp_walker_thread_release(all[i].id);
}

/*
 * What the thread library says, asked once a thread; a thread that runs on another stack, a
 * signal's or its own, is looked up in the memory map.
 */
bool dnp_walker_own_stack(uintptr_t sp, struct dnp_stack_range *stack)
{
	static __thread struct dnp_stack_range own __attribute__((tls_model("initial-exec")));

	if (!own.high && dnp_thread_stack(&own.low, &own.high))
		own = (struct dnp_stack_range){0};
	*stack = own;
	return (sp >= own.low && sp < own.high) ||
		!dnp_thread_stack_find(sp, &stack->low, &stack->high);
}

void dnp_walker_threads_done(void)
{
	pthread_mutex_lock(&lock);
	dnp_u64map_done(&by_id);
	by_id = (struct dnp_u64map){0};
	free(threads);
	threads = NULL;
	n_threads = room = 0;
	pthread_mutex_unlock(&lock);
}

ThreadID dnp_walker_own_id(const struct dnprof_walker *walker)
{
	ThreadID id = 0;

	return SUCCEEDED(dnp_com(walker->info.com, GetCurrentThreadID, &id)) ? id : 0;
}
