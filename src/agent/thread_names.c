/* SPDX-License-Identifier: MIT */
#include "agent/thread_names.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/text.h"

/*
 * Names of threads that have not started, each in the place its id hashes to: a name is lost only
 * when two such threads meet there, and then the thread keeps the name the system knows.
 */
#define WAITING 256u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	ThreadID managed;
	char *name; /* owned */
} waiting[WAITING];

static unsigned place_of(ThreadID managed)
{
	return (unsigned)(managed * UINT64_C(0x9e3779b97f4a7c15) >> 56) % WAITING;
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

void dnp_thread_names_set(ThreadID managed, const WCHAR *name, uint32_t length)
{
	struct dnp_thread *thread = running_thread(managed);
	char *text = to_utf8(name, length), *before;
	unsigned place = place_of(managed);

	if (thread) {
		dnp_thread_rename(thread, text);
		return;
	}
	pthread_mutex_lock(&lock);
	before = waiting[place].name;
	waiting[place].managed = managed;
	waiting[place].name = text;
	pthread_mutex_unlock(&lock);
	free(before);
}

void dnp_thread_names_started(ThreadID managed, struct dnp_thread *thread)
{
	unsigned place = place_of(managed);
	char *name = NULL;

	pthread_mutex_lock(&lock);
	if (waiting[place].managed == managed) {
		name = waiting[place].name;
		waiting[place].name = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (name)
		dnp_thread_rename(thread, name);
}

void dnp_thread_names_done(void)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < WAITING; i++) {
		free(waiting[i].name);
		waiting[i].name = NULL;
	}
	pthread_mutex_unlock(&lock);
}
