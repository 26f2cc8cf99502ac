/* SPDX-License-Identifier: MIT */
#include "agent/thread_names.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/text.h"

/* Of threads that were named and never started; the runtime does not say when one is gone. */
#define WAITING_MAX 16384u
#define BUCKETS     256u

/* The name of a thread that has not started. */
struct waiting {
	struct waiting *next;
	ThreadID managed;
	char *name; /* owned */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiting *buckets[BUCKETS];
static unsigned n_waiting;

static struct waiting **bucket_of(ThreadID managed)
{
	return &buckets[(managed * UINT64_C(0x9e3779b97f4a7c15) >> 56) % BUCKETS];
}

/* Its name, which is the caller's then; NULL: there is none. */
static char *take(ThreadID managed)
{
	struct waiting **at = bucket_of(managed), *found;
	char *name = NULL;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->managed != managed)
		at = &(*at)->next;
	found = *at;
	if (found) {
		*at = found->next;
		name = found->name;
		n_waiting--;
	}
	pthread_mutex_unlock(&lock);
	free(found);
	return name;
}

/* The name becomes the table's. */
static void put(ThreadID managed, char *name)
{
	struct waiting *one = malloc(sizeof(*one)), **at = bucket_of(managed);
	bool kept;

	pthread_mutex_lock(&lock);
	kept = one && n_waiting < WAITING_MAX;
	if (kept) {
		*one = (struct waiting){*at, managed, name};
		*at = one;
		n_waiting++;
	}
	pthread_mutex_unlock(&lock);
	if (kept)
		return;
	free(one);
	free(name);
}

static char *to_utf8(const WCHAR *name, uint32_t length)
{
	char buffer[256];
	struct dnp_text text;

	/* Some runtimes count the terminating zero. */
	while (length && !name[length - 1])
		length--;
	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_text_put16(&text, name, length);
	return strdup(text.p);
}

static struct dnp_thread *running_thread(ThreadID managed)
{
	int tid = dnp_agent_tid(managed);

	return tid ? dnp_thread_find(tid) : NULL;
}

void dnp_thread_names_started(ThreadID managed, struct dnp_thread *thread)
{
	char *name = take(managed);

	if (name)
		dnp_thread_rename(thread, name);
}

void dnp_thread_names_set(ThreadID managed, const WCHAR *name, uint32_t length)
{
	struct dnp_thread *thread = running_thread(managed);
	char *text = to_utf8(name, length);

	free(take(managed));
	if (thread) {
		dnp_thread_rename(thread, text);
		return;
	}
	put(managed, text);
	thread = running_thread(managed);
	if (thread) /* it started meanwhile, and found none */
		dnp_thread_names_started(managed, thread);
}

void dnp_thread_names_done(void)
{
	struct waiting *one;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < BUCKETS; i++) {
		while ((one = buckets[i])) {
			buckets[i] = one->next;
			free(one->name);
			free(one);
		}
	}
	n_waiting = 0;
	pthread_mutex_unlock(&lock);
}
