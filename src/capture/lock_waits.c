/* SPDX-License-Identifier: MIT */
#include "capture/lock_waits.h"

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_lock_wait waits[DNP_LOCK_WAITS_MAX]; /* in no order */
static uint32_t n_waits;
static uint64_t last_number;
static uint64_t untold; /* how many are over of which no end was told */

/* All that follow: with the lock. */

static void forget(struct dnp_lock_wait *wait)
{
	*wait = waits[--n_waits];
}

static void set_owner(uint64_t of, int owner)
{
	for (uint32_t i = 0; i < n_waits; i++)
		if (waits[i].lock == of && !waits[i].until_ns)
			waits[i].owner = owner;
}

static struct dnp_lock_wait *wait_of(int tid)
{
	for (uint32_t i = 0; i < n_waits; i++)
		if (waits[i].tid == tid && !waits[i].until_ns)
			return &waits[i];
	return NULL;
}

static struct dnp_lock_wait *first(void)
{
	struct dnp_lock_wait *found = NULL;

	for (uint32_t i = 0; i < n_waits; i++)
		if (!waits[i].looked_at && !waits[i].until_ns &&
			(!found || waits[i].since_ns < found->since_ns))
			found = &waits[i];
	return found;
}

static struct dnp_lock_wait *find(uint64_t number)
{
	for (uint32_t i = 0; i < n_waits; i++)
		if (waits[i].number == number)
			return &waits[i];
	return NULL;
}

/* Who looked at its owner waits for its end. */
static void end(struct dnp_lock_wait *wait, uint64_t now_ns, uint64_t ns)
{
	wait->until_ns = now_ns;
	wait->ns = ns;
	if (!wait->seen)
		forget(wait);
}

static void end_untold(int tid, uint64_t now_ns)
{
	struct dnp_lock_wait *wait = wait_of(tid);

	if (!wait)
		return;
	untold++;
	end(wait, now_ns, 0);
}

/* ---- What others call */

void dnp_lock_waits_clear(void)
{
	pthread_mutex_lock(&lock);
	n_waits = 0;
	untold = 0;
	pthread_mutex_unlock(&lock);
}

bool dnp_lock_waits_begin(const struct dnp_lock_wait *wait)
{
	bool room;

	pthread_mutex_lock(&lock);
	end_untold(wait->tid, wait->since_ns);
	if (wait->owner)
		set_owner(wait->lock, wait->owner);
	room = n_waits < DNP_LOCK_WAITS_MAX;
	if (room) {
		waits[n_waits] = *wait;
		waits[n_waits++].number = ++last_number;
	}
	pthread_mutex_unlock(&lock);
	return room;
}

bool dnp_lock_waits_end(int tid, uint64_t now_ns, uint64_t ns, struct dnp_lock_wait *wait)
{
	struct dnp_lock_wait *found;

	pthread_mutex_lock(&lock);
	found = wait_of(tid);
	if (found) {
		*wait = *found;
		end(found, now_ns, ns);
		set_owner(wait->lock, tid);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void dnp_lock_waits_leave(int tid, uint64_t gone_ns)
{
	const struct dnp_lock_wait *wait;

	pthread_mutex_lock(&lock);
	wait = wait_of(tid);
	if (wait && wait->since_ns < gone_ns)
		end_untold(tid, gone_ns);
	pthread_mutex_unlock(&lock);
}

uint64_t dnp_lock_waits_endless(void)
{
	uint64_t endless;

	pthread_mutex_lock(&lock);
	endless = untold;
	for (uint32_t i = 0; i < n_waits; i++)
		endless += !waits[i].until_ns;
	pthread_mutex_unlock(&lock);
	return endless;
}

uint64_t dnp_lock_waits_first(void)
{
	const struct dnp_lock_wait *found;
	uint64_t since_ns;

	pthread_mutex_lock(&lock);
	found = first();
	since_ns = found ? found->since_ns : UINT64_MAX;
	pthread_mutex_unlock(&lock);
	return since_ns;
}

bool dnp_lock_waits_next(uint64_t since_ns, struct dnp_lock_wait *wait)
{
	struct dnp_lock_wait *found;

	pthread_mutex_lock(&lock);
	found = first();
	if (found && found->since_ns > since_ns)
		found = NULL;
	if (found) {
		found->looked_at = true;
		*wait = *found;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

bool dnp_lock_waits_saw(const struct dnp_lock_wait *wait)
{
	struct dnp_lock_wait *found;
	bool holds;

	pthread_mutex_lock(&lock);
	found = find(wait->number);
	holds = found && !found->until_ns && found->owner == wait->owner;
	if (holds)
		found->seen = true;
	pthread_mutex_unlock(&lock);
	return holds;
}

bool dnp_lock_waits_take(struct dnp_lock_wait *wait)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < n_waits && !found; i++)
		if (waits[i].until_ns) {
			found = true;
			*wait = waits[i];
			forget(&waits[i]);
		}
	pthread_mutex_unlock(&lock);
	return found;
}
