/* SPDX-License-Identifier: MIT */
#include "capture/said.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "capture/happened.h"
#include "os/clock.h"

#define TEXT_BYTES_MAX 1024u /* of each text */

/* In the buffer; its texts follow, and bytes up to a multiple of 8. */
struct entry {
	uint64_t time_ns, id;
	uint32_t thread; /* index in the recording */
	int tid;
	uint16_t kind;
	uint16_t text_bytes, more_bytes;
};

int dnp_said_open(struct dnp_said *said, const struct dnp_engine_setting *setting, unsigned event)
{
	*said = (struct dnp_said){
		.setting = setting, .event = event, .lock = PTHREAD_MUTEX_INITIALIZER};
	said->buffers[0] = malloc(DNP_SAID_BYTES);
	said->buffers[1] = malloc(DNP_SAID_BYTES);
	if (said->buffers[0] && said->buffers[1])
		return 0;
	dnp_said_close(said);
	return -ENOMEM;
}

void dnp_said_close(struct dnp_said *said)
{
	free(said->buffers[0]);
	free(said->buffers[1]);
	said->buffers[0] = said->buffers[1] = NULL;
}

static uint16_t bytes_of(struct dnp_str text)
{
	return (uint16_t)dnp_utf8_fit(text, TEXT_BYTES_MAX);
}

static size_t room_of(const struct entry *entry)
{
	size_t bytes = sizeof(*entry) + entry->text_bytes + entry->more_bytes;

	return (bytes + 7) & ~(size_t)7;
}

static void put(struct dnp_said *said, const struct entry *entry, const struct dnp_saying *saying)
{
	char *to = said->buffers[0] + said->used;

	if (said->used + room_of(entry) > DNP_SAID_BYTES) {
		if (saying->kind == DNP_SAYING_TURN)
			said->lost_turns++;
		else
			said->lost++;
		return;
	}
	memcpy(to, entry, sizeof(*entry));
	if (entry->text_bytes)
		memcpy(to + sizeof(*entry), saying->text.p, entry->text_bytes);
	if (entry->more_bytes)
		memcpy(to + sizeof(*entry) + entry->text_bytes, saying->more.p, entry->more_bytes);
	said->used += room_of(entry);
}

void dnp_say_so(struct dnp_said *said, const struct dnp_saying *saying)
{
	struct dnp_thread *thread = dnp_happened_on(said->setting);
	struct entry entry = {
		.time_ns = dnp_now_ns(),
		.id = saying->id,
		.kind = (uint16_t)saying->kind,
		.text_bytes = bytes_of(saying->text),
		.more_bytes = bytes_of(saying->more),
	};

	if (!thread)
		return;
	entry.thread = thread->index;
	entry.tid = thread->tid;
	pthread_mutex_lock(&said->lock);
	put(said, &entry, saying);
	pthread_mutex_unlock(&said->lock);
}

/* ---- The recorder */

/* What was said, which nobody adds to any more. `turns`: whether any was lost since the last. */
static size_t take(struct dnp_said *said, uint64_t *lost, bool *turns)
{
	char *filled = said->buffers[0];
	size_t used;

	pthread_mutex_lock(&said->lock);
	said->buffers[0] = said->buffers[1];
	said->buffers[1] = filled;
	used = said->used;
	*lost = said->lost;
	*turns = said->lost_turns != said->told_turns;
	said->told_turns = said->lost_turns;
	said->used = 0;
	said->lost = 0;
	pthread_mutex_unlock(&said->lock);
	return used;
}

/* One that has gone was defined when it went. */
static void define_thread(const struct dnp_said *said, const struct entry *entry)
{
	struct dnp_thread *thread = dnp_thread_find(entry->tid);

	if (thread && thread->index == entry->thread)
		said->setting->announce(thread);
}

static void write_entry(
	const struct dnp_said *said, const struct entry *entry, struct dnp_writer *writer)
{
	const char *texts = (const char *)(entry + 1);
	struct dnp_str text = {texts, entry->text_bytes};
	struct dnp_str more = {texts + entry->text_bytes, entry->more_bytes};

	define_thread(said, entry);
	switch ((enum dnp_saying_kind)entry->kind) {
	case DNP_SAYING_POINT:
		dnp_write_mark(writer,
			&(struct dnp_rec_mark){
				.time_ns = entry->time_ns, .thread = entry->thread, .text = text});
		return;
	case DNP_SAYING_BEGIN:
		dnp_write_span(writer,
			&(struct dnp_rec_span){.event = said->event,
				.id = entry->id,
				.time_ns = entry->time_ns,
				.thread = entry->thread,
				.name = text,
				.trace = more});
		return;
	case DNP_SAYING_END:
		dnp_write_span_end(writer,
			&(struct dnp_rec_span_end){.event = said->event,
				.id = entry->id,
				.time_ns = entry->time_ns,
				.thread = entry->thread,
				.result = text,
				.group = more});
		return;
	case DNP_SAYING_TURN:
		dnp_write_turn(writer,
			&(struct dnp_rec_turn){.event = said->event,
				.time_ns = entry->time_ns,
				.thread = entry->thread,
				.activity = entry->id});
		return;
	}
}

void dnp_said_write(struct dnp_said *said, struct dnp_writer *writer)
{
	uint64_t lost;
	bool turns;
	size_t used;

	if (!said->buffers[0])
		return;
	used = take(said, &lost, &turns);
	said->lost_before += lost;
	for (size_t at = 0; at < used;) {
		struct entry entry;

		memcpy(&entry, said->buffers[1] + at, sizeof(entry));
		write_entry(
			said, (const struct entry *)(const void *)(said->buffers[1] + at), writer);
		at += room_of(&entry);
	}
	/* Of turns alone none is counted: since when they are missing is what has to be told. */
	if (lost || turns)
		dnp_write_loss(writer,
			&(struct dnp_rec_loss){.time_ns = dnp_now_ns(),
				.event = said->event,
				.reason = DNP_LOSS_RING,
				.count = lost});
}
