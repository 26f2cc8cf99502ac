/* SPDX-License-Identifier: MIT */
/*
 * What the program says it is doing: points and spans of the package Dnprof.Mark, events of its
 * EventSource that the runtime delivers; and of native code, by dnprof/mark.h.
 */
#include <errno.h>
#include <stdatomic.h>

#include "capture/engine.h"
#include "capture/said.h"
#include "clr/payload.h"
#include "clr/prf.h"
#include "os/clock.h"
#include "os/mark_gates.h"

#define NAME_BYTES 1024

/* Events of the EventSource "Dnprof-Mark" (managed/Dnprof.Mark/MarkSource.cs), and their fields. */
enum {
	EVENT_POINT = 1,      /* text */
	EVENT_SPAN_BEGIN = 2, /* id (64 bits), name */
	EVENT_SPAN_END = 3,   /* id */
};

static struct dnp_said said;
static _Atomic bool came;               /* any */
static _Atomic uint64_t not_understood; /* events */

static bool still_inside;        /* somebody was in a gate when recording ended */
static _Atomic bool wanted;      /* what native code says is taken */
static _Atomic uint64_t last_id; /* of its spans; never reset: some outlive a recording */

static bool decode(
	const struct dnp_delivered *delivered, struct dnp_saying *saying, struct dnp_text *text)
{
	struct dnp_payload payload = dnp_payload(delivered->data, delivered->bytes);

	if (delivered->id == EVENT_POINT) {
		saying->kind = DNP_SAYING_POINT;
		dnp_payload_text(&payload, text);
	} else if (delivered->id == EVENT_SPAN_BEGIN) {
		saying->kind = DNP_SAYING_BEGIN;
		saying->id = dnp_payload_u64(&payload);
		dnp_payload_text(&payload, text);
	} else {
		saying->kind = DNP_SAYING_END;
		saying->id = dnp_payload_u64(&payload);
	}
	saying->text = dnp_text_since(text, 0);
	return dnp_payload_ok(&payload);
}

static void mark_delivered(const struct dnp_delivered *delivered)
{
	char buffer[NAME_BYTES];
	struct dnp_saying saying = {0};
	struct dnp_text text;

	if (delivered->provider != DNP_PROVIDER_MARK || delivered->id < EVENT_POINT ||
		delivered->id > EVENT_SPAN_END)
		return;
	atomic_store_explicit(&came, true, memory_order_relaxed);
	dnp_text_init(&text, buffer, sizeof(buffer));
	if (decode(delivered, &saying, &text))
		dnp_say_so(&said, &saying);
	else
		atomic_fetch_add_explicit(&not_understood, 1, memory_order_relaxed);
}

/*
 * On a thread of the program's, by a gate; that it has left is known by the gate. In a forked child
 * nothing is wanted.
 */
static uint64_t say_native(enum dnprof_say what, uint64_t id, const char *text)
{
	static const enum dnp_saying_kind kinds[] = {
		[DNPROF_SAY_POINT] = DNP_SAYING_POINT,
		[DNPROF_SAY_BEGIN] = DNP_SAYING_BEGIN,
		[DNPROF_SAY_END] = DNP_SAYING_END,
	};
	struct dnp_saying saying = {.id = id, .text = dnp_str(text ? text : "")};

	if (!atomic_load(&wanted) || (unsigned)what > DNPROF_SAY_END)
		return 0;
	atomic_store_explicit(&came, true, memory_order_relaxed);
	saying.kind = kinds[what];
	if (what == DNPROF_SAY_BEGIN)
		saying.id = atomic_fetch_add(&last_id, 1) + 1;
	dnp_say_so(&said, &saying);
	return what == DNPROF_SAY_BEGIN ? saying.id : 0;
}

static void mark_wishes(struct dnp_provider_wish *wishes)
{
	dnp_wish(&wishes[DNP_PROVIDER_MARK], UINT64_MAX, COR_PRF_EVENTPIPE_INFORMATIONAL);
}

static int mark_start(const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	/* That one uses what is about to be made anew. */
	if (still_inside && !dnp_mark_gates_close())
		return dnp_err(err, -EBUSY,
			"a thread has stood in a mark since the last recording; let it go on, and "
			"try again");
	if (still_inside)
		dnp_said_close(&said);
	still_inside = false;
	atomic_store(&came, false);
	atomic_store(&not_understood, 0);
	if (dnp_said_open(&said, setting, index))
		return dnp_err(err, -ENOMEM, "no memory for the program's marks; free some");
	/* Those of a library that was here before must not be taken for ours. */
	if (!atomic_load(&last_id))
		atomic_store(&last_id, dnp_now_ns());
	atomic_store(&wanted, true);
	dnp_mark_gates_open(say_native);
	return 0;
}

/* No event is delivered by now. */
static void mark_stop(void)
{
	atomic_store(&wanted, false);
	still_inside = !dnp_mark_gates_close();
}

static void mark_forked(void)
{
	atomic_store(&wanted, false);
}

static const char *mark_source(void)
{
	return "Dnprof.Mark and dnprof/mark.h";
}

static void mark_thread_end(struct dnp_thread *thread)
{
	said.setting->announce(thread);
}

/* Who still stands in a mark uses it. */
static void mark_forget(void)
{
	if (!still_inside)
		dnp_said_close(&said);
}

static void mark_write(struct dnp_writer *writer, int last)
{
	dnp_said_write(&said, writer);
	if (last && !atomic_load_explicit(&came, memory_order_relaxed))
		dnp_engine_note(&dnp_engine_mark, said.event, writer,
			"no mark came; those of Dnprof.Mark do not where " DNP_EVENT_SOURCE_SWITCH
			" is false");
}

static uint64_t mark_lost(void)
{
	return dnp_said_lost(&said);
}

static void mark_failures(unsigned index, dnp_failure_tell tell)
{
	tell(index, "event of an unknown layout",
		atomic_load_explicit(&not_understood, memory_order_relaxed));
}

const struct dnp_engine dnp_engine_mark = {
	.event = "mark",
	.unit = "marks",
	.happens = true,
	.wishes = mark_wishes,
	.delivered = mark_delivered,
	.start = mark_start,
	.source = mark_source,
	.thread_end = mark_thread_end,
	.write = mark_write,
	.forked = mark_forked,
	.stop = mark_stop,
	.forget = mark_forget,
	.lost = mark_lost,
	.failures = mark_failures,
};
