/* SPDX-License-Identifier: MIT */
#include "capture/turns.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/random.h"

/* Threads that are new, the newest first. */
static _Atomic(struct dnp_thread *) newcomers;

static struct dnp_thread *list[DNP_THREADS_MAX];
static uint32_t n_list, at; /* before `at`: those that have had their turn in this round */

static void set_place(uint32_t i, struct dnp_thread *thread)
{
	list[i] = thread;
	thread->turn.place = i + 1;
}

void dnp_turns_add(struct dnp_thread *thread)
{
	struct dnp_thread *before = atomic_load_explicit(&newcomers, memory_order_relaxed);

	do
		thread->turn.next = before;
	while (!atomic_compare_exchange_weak_explicit(
		&newcomers, &before, thread, memory_order_release, memory_order_relaxed));
}

uint32_t dnp_turns_take_new(void (*begin)(struct dnp_thread *thread))
{
	/* Pairs with the release of who put them there. */
	struct dnp_thread *thread =
		atomic_exchange_explicit(&newcomers, NULL, memory_order_acquire);

	for (; thread; thread = thread->turn.next) {
		begin(thread);
		set_place(n_list++, thread);
	}
	return n_list;
}

struct dnp_thread *dnp_turns_next(uint64_t *random)
{
	struct dnp_thread *thread;
	uint32_t chosen;

	if (at >= n_list)
		at = 0;
	if (!n_list)
		return NULL;
	chosen = at + (uint32_t)dnp_random_below(random, n_list - at);
	thread = list[chosen];
	set_place(chosen, list[at]);
	set_place(at++, thread);
	return thread;
}

void dnp_turns_again(void)
{
	at = 0;
}

bool dnp_turns_has(const struct dnp_thread *thread)
{
	return thread->turn.place;
}

void dnp_turns_remove(struct dnp_thread *thread)
{
	uint32_t hole = thread->turn.place - 1;

	if (hole < at) {
		at--;
		set_place(hole, list[at]);
		hole = at;
	}
	n_list--;
	if (hole < n_list)
		set_place(hole, list[n_list]);
	thread->turn.place = 0; /* it may have been the one that moved */
}

void dnp_turns_drop_new(void)
{
	atomic_store(&newcomers, NULL);
}

struct dnp_thread *dnp_turns_take_out(void)
{
	struct dnp_thread *thread;

	at = 0;
	if (!n_list)
		return NULL;
	thread = list[--n_list];
	thread->turn.place = 0;
	return thread;
}
