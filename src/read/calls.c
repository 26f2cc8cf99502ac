/* SPDX-License-Identifier: MIT */
/*
 * A log is a list of blocks, those of a thread together, in the order they were written. A cursor
 * has a stream for each thread, which decodes one block at a time; a heap finds the stream whose
 * event comes next. A stream is opened when its first event is due and closed after its last, so
 * that threads which come and go cost no more than those that are there together.
 */
#include "read/calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/chunk.h"
#include "format/rec.h"
#include "read/input.h"

/*
 * Depths that records tell are believed until so many calls that no record tells of are open. One
 * that has ended, or whose thread was read, leaves its place to another, as often as what there is
 * of real calls bears out: deep recursion that loses events again and again has many of these
 * beside. However large a recording is, there is an end to that.
 */
#define MADE_UP_MAX       (UINT64_C(1) << 20)
#define MADE_UP_FOR_EVENT 2u
#define MADE_AGAIN_MAX    (UINT64_C(64) << 20)

struct block {
	struct dnp_str events; /* borrowed from the chunk */
	const struct dnp_chunk *chunk;
	const char *at; /* where its record stands in that */
	uint64_t time_ns, scale, lost, depth, kept, units;
	uint32_t count;
	uint32_t thread; /* thread index */
};

struct dnp_call_log {
	const struct dnp_recording *recording;  /* borrowed */
	struct dnp_vec_of(struct block) blocks; /* by thread */
	struct dnp_vec_of(struct dnp_call_thread) threads;
	struct dnp_vec_of(size_t) first; /* block of each thread; one more: the end of all */
	uint64_t made_up;                /* calls that may still be told because a record says so */
	uint64_t made_again;             /* so many of those that end are given back to them */
};

/* ---- The log */

static int add_block(struct dnp_call_log *log, const struct dnp_chunk *chunk, const char *at,
	const struct dnp_rec_call_events *rec, uint64_t *damaged)
{
	if (rec->thread >= UINT32_MAX || rec->count > rec->events.n) {
		*damaged += rec->events.n;
		return 0;
	}
	log->made_again += MADE_UP_FOR_EVENT * rec->count;
	if (log->made_again > MADE_AGAIN_MAX)
		log->made_again = MADE_AGAIN_MAX;
	return dnp_vec_push(&log->blocks,
		(struct block){
			.events = rec->events,
			.chunk = chunk,
			.at = at,
			.time_ns = rec->time_ns,
			.scale = rec->scale,
			.lost = rec->lost,
			.depth = rec->depth,
			.kept = rec->kept,
			.units = rec->units,
			.count = (uint32_t)rec->count,
			.thread = (uint32_t)rec->thread,
		});
}

struct indexing {
	struct dnp_call_log *log;
	uint64_t event;
	uint64_t *damaged;
};

/* Whoever visits the recording counts what is damaged in it; here, only what is no block. */
static int add_chunk(void *arg, const struct dnp_chunk *chunk)
{
	struct indexing *indexing = arg;
	struct dnp_rec_call_events rec;
	struct dnp_str body;
	size_t at = 0;
	uint64_t id;

	while (dnp_rec_next(chunk->payload, chunk->length, &at, &id, &body) > 0) {
		if (id != DNP_REC_call_events ||
			dnp_get_call_events((const uint8_t *)body.p, body.n, &rec) ||
			rec.event != indexing->event)
			continue;
		if (add_block(indexing->log, chunk, body.p, &rec, indexing->damaged))
			return -ENOMEM;
	}
	return 0;
}

/* By thread; those of one stay in the order they are in, which is that of their memory. */
static int by_thread(const void *left, const void *right)
{
	const struct block *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->chunk != b->chunk)
		return a->chunk < b->chunk ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static int find_threads(struct dnp_call_log *log)
{
	for (size_t i = 0; i < log->blocks.n; i++) {
		const struct block *block = &log->blocks.p[i];
		struct dnp_call_thread *thread;

		if (!i || block->thread != block[-1].thread) {
			struct dnp_call_thread new = {
				.thread = block->thread, .first_ns = block->time_ns};

			if (dnp_vec_push(&log->threads, new) || dnp_vec_push(&log->first, i))
				return -ENOMEM;
		}
		thread = &log->threads.p[log->threads.n - 1];
		thread->events += block->count;
		thread->lost += block->lost;
	}
	return dnp_vec_push(&log->first, log->blocks.n);
}

int dnp_call_log_new(const struct dnp_recording *recording, uint64_t event,
	struct dnp_call_log **log, uint64_t *damaged)
{
	struct dnp_call_log *made = calloc(1, sizeof(*made));
	struct indexing indexing = {made, event, damaged};
	int status;

	if (!made)
		return -ENOMEM;
	made->recording = recording;
	made->made_up = made->made_again = MADE_UP_MAX;
	status = dnp_recording_each_chunk(recording, add_chunk, &indexing);
	if (!status && made->blocks.n)
		qsort(made->blocks.p, made->blocks.n, sizeof(*made->blocks.p), by_thread);
	if (!status)
		status = find_threads(made);
	if (status)
		dnp_call_log_free(made);
	else
		*log = made;
	return status;
}

void dnp_call_log_free(struct dnp_call_log *log)
{
	if (!log)
		return;
	dnp_vec_done(&log->blocks);
	dnp_vec_done(&log->threads);
	dnp_vec_done(&log->first);
	free(log);
}

const struct dnp_call_thread *dnp_call_log_threads(const struct dnp_call_log *log, size_t *n)
{
	*n = log->threads.n;
	return log->threads.p;
}

/* ---- One thread */

struct open_call {
	uint64_t begin_ns; /* 0: not known */
	uint32_t method;   /* 0: not known */
};

struct stream {
	uint32_t thread;
	const struct block *block, *end;  /* the one being decoded, the end of the thread's */
	struct dnp_call_decoder *decoder; /* owned; NULL before the first block */
	bool in_block;
	struct dnp_vec_of(struct open_call) calls;
	uint64_t last_ns;
	const struct dnp_recording *recording;
	size_t *closed; /* the cursor's: bytes of blocks closed since all memory was given back */
	uint64_t *made_up, *made_again; /* the log's */

	/* What is to be told before the next event of the block. */
	bool tell_lost;
	uint64_t lost;
	uint64_t cut_to, grow_to; /* calls open then */
	bool has_step;            /* an end that was decoded, but calls within it are cut first */
	struct dnp_call_step step;

	struct dnp_call_event next; /* its time alone as long as the stream is not opened */
	bool opened;
};

/* A call that no record tells of leaves its place to another one. */
static void give_back(struct stream *stream, const struct open_call *call)
{
	if (!call->begin_ns && *stream->made_again) {
		--*stream->made_again;
		++*stream->made_up;
	}
}

static void stream_done(struct stream *stream)
{
	for (size_t i = 0; i < stream->calls.n; i++)
		give_back(stream, &stream->calls.p[i]);
	if (stream->decoder)
		dnp_call_decoder_done(stream->decoder);
	free(stream->decoder);
	stream->decoder = NULL;
	dnp_vec_done(&stream->calls);
}

static uint64_t time_of(struct stream *stream, uint64_t units)
{
	const struct block *block = stream->block;
	uint64_t ns = block->time_ns + (uint64_t)((unsigned __int128)block->scale * units >> 32);

	if (ns > stream->last_ns)
		stream->last_ns = ns;
	return stream->last_ns;
}

static int tell(struct stream *stream, struct dnp_call_event *event, uint8_t kind,
	const struct open_call *call)
{
	*event = (struct dnp_call_event){
		.time_ns = stream->last_ns,
		.begin_ns = call->begin_ns,
		.thread = stream->thread,
		.method = call->method,
		.depth = (uint32_t)stream->calls.n,
		.kind = kind,
	};
	return 1;
}

static int tell_enter(struct stream *stream, struct dnp_call_event *event, struct open_call call)
{
	tell(stream, event, DNP_CALL_ENTER, &call);
	event->begin_ns = 0;
	return dnp_vec_push(&stream->calls, call) ? -ENOMEM : 1;
}

static int tell_end(struct stream *stream, struct dnp_call_event *event, uint8_t kind)
{
	const struct open_call *call = &stream->calls.p[--stream->calls.n];

	give_back(stream, call);
	return tell(stream, event, kind, call);
}

/* What a record says of the calls open at its start, against what is known of them. */
static void take_depth(struct stream *stream)
{
	const struct block *block = stream->block;
	uint64_t open = stream->calls.n, grow;

	stream->cut_to = block->kept < open ? block->kept : open;
	if (stream->cut_to > block->depth)
		stream->cut_to = block->depth;
	grow = block->depth - stream->cut_to;
	if (grow > *stream->made_up)
		grow = *stream->made_up;
	*stream->made_up -= grow;
	stream->grow_to = stream->cut_to + grow;
	stream->lost = block->lost;
	/* Without loss only where a record is missing that should come before. */
	stream->tell_lost = block->lost || block->depth != open;
}

static int open_block(struct stream *stream)
{
	const struct block *block = stream->block;

	if (!stream->decoder)
		stream->decoder = calloc(1, sizeof(*stream->decoder));
	if (!stream->decoder)
		return -ENOMEM;
	stream->in_block = true;
	time_of(stream, 0);
	take_depth(stream);
	return dnp_call_decoder_begin(
		stream->decoder, (const uint8_t *)block->events.p, block->events.n, block->count);
}

/* How many calls an end of `method` ends, 0: none of them. */
static size_t ended_by(const struct stream *stream, uint32_t method)
{
	size_t n = stream->calls.n;

	for (size_t i = 1; i <= n && i <= DNP_CALL_SEARCH; i++) {
		uint32_t other = stream->calls.p[n - i].method;

		if (other == method || (!other && i == 1))
			return i;
	}
	return 0;
}

/* The event that was decoded. 0: none comes of it (yet). */
static int take_step(struct stream *stream, struct dnp_call_event *event)
{
	const struct dnp_call_step *step = &stream->step;
	uint64_t units = (stream->block->units + step->time) & DNP_CALL_TIME_MASK;
	size_t ended;
	int status;

	stream->has_step = false;
	time_of(stream, step->time);
	if (step->kind == DNP_CALL_ENTER) {
		status = tell_enter(
			stream, event, (struct open_call){stream->last_ns, step->method});
		event->units = units;
		return status;
	}
	ended = ended_by(stream, step->method);
	if (!ended)
		return 0; /* its beginning is missing */
	if (ended > 1) {
		stream->has_step = true;
		stream->cut_to = stream->calls.n - (ended - 1);
		stream->grow_to = 0;
		return 0;
	}
	status = tell_end(stream, event, (uint8_t)step->kind);
	event->method = step->method;
	event->units = units;
	return status;
}

/* What is to be told of missing events. 0: nothing more. */
static int tell_gap(struct stream *stream, struct dnp_call_event *event)
{
	if (stream->tell_lost) {
		stream->tell_lost = false;
		tell(stream, event, DNP_CALL_LOST, &(struct open_call){0});
		event->lost = stream->lost;
		return 1;
	}
	if (stream->calls.n > stream->cut_to)
		return tell_end(stream, event, DNP_CALL_CUT);
	/* From now on calls may come and go. */
	stream->cut_to = UINT64_MAX;
	if (stream->calls.n < stream->grow_to)
		return tell_enter(stream, event, (struct open_call){0});
	stream->grow_to = 0;
	return 0;
}

/* The next event of the block. 1, 0: there is none, or -ENOMEM. */
static int decode_step(struct stream *stream, uint64_t *damaged)
{
	size_t left = (size_t)(stream->decoder->end - stream->decoder->in);
	int status = dnp_call_decoder_next(stream->decoder, &stream->step);

	stream->has_step = status > 0;
	if (status != -EBADMSG)
		return status;
	/* What is left of it cannot be decoded: an unknown number of events is missing. */
	*damaged += left;
	stream->tell_lost = true;
	stream->lost = 0;
	stream->cut_to = stream->calls.n;
	return 1;
}

/* The kernel maps pages around those looked at, of other threads' blocks: all are to go. */
static void close_block(struct stream *stream)
{
	dnp_chunks_drop(stream->block->chunk, 1);
	*stream->closed += stream->block->events.n;
	if (*stream->closed > DNP_DROP_BYTES) {
		dnp_chunks_drop(stream->recording->chunks, stream->recording->n);
		*stream->closed = 0;
	}
	stream->in_block = false;
	stream->block++;
}

/* As dnp_call_cursor_next, of one thread; *damaged grows by what could not be decoded. */
static int stream_next(struct stream *stream, struct dnp_call_event *event, uint64_t *damaged)
{
	stream->opened = true;
	while (stream->block < stream->end) {
		int status = stream->in_block ? 0 : open_block(stream);

		if (!status)
			status = tell_gap(stream, event);
		if (status)
			return status;
		status = stream->has_step ? 1 : decode_step(stream, damaged);
		if (!status)
			close_block(stream);
		else if (status > 0)
			status = stream->has_step ? take_step(stream, event) : 0;
		if (status)
			return status;
	}
	stream_done(stream);
	return 0;
}

/* ---- All threads */

struct dnp_call_cursor {
	struct stream *streams; /* owned */
	size_t n_streams;
	struct stream **heap; /* owned: `n` of them, the one whose event is next first */
	size_t n;
	size_t closed; /* see struct stream */
	uint64_t damaged;
};

static bool is_before(const struct stream *a, const struct stream *b)
{
	if (a->next.time_ns != b->next.time_ns)
		return a->next.time_ns < b->next.time_ns;
	return a->thread < b->thread;
}

/* Lets stream `at` go down to its place. */
static void sift(struct dnp_call_cursor *cursor, size_t at)
{
	struct stream **heap = cursor->heap, *moved = heap[at];

	for (;;) {
		size_t child = at * 2 + 1;

		if (child >= cursor->n)
			break;
		if (child + 1 < cursor->n && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

static struct stream stream_of(struct dnp_call_log *log, size_t i, struct dnp_call_cursor *cursor)
{
	return (struct stream){
		.thread = log->threads.p[i].thread,
		.block = &log->blocks.p[log->first.p[i]],
		.end = log->blocks.p + log->first.p[i + 1],
		.recording = log->recording,
		.closed = &cursor->closed,
		.made_up = &log->made_up,
		.made_again = &log->made_again,
		.cut_to = UINT64_MAX,
		.next.time_ns = log->threads.p[i].first_ns,
	};
}

static int by_index(const void *left, const void *right)
{
	const struct dnp_call_thread *a = left, *b = right;

	return (a->thread > b->thread) - (a->thread < b->thread);
}

/* The place of the first thread that is wanted; *n: how many are. */
static size_t find_wanted(const struct dnp_call_log *log, uint32_t thread, size_t *n)
{
	const struct dnp_call_thread key = {.thread = thread}, *all = log->threads.p, *found = NULL;

	*n = log->threads.n;
	if (thread == DNP_CALL_ALL_THREADS)
		return 0;
	if (*n)
		found = bsearch(&key, all, *n, sizeof(key), by_index);
	*n = found ? 1 : 0;
	return found ? (size_t)(found - all) : 0;
}

int dnp_call_cursor_new(struct dnp_call_log *log, uint32_t thread, struct dnp_call_cursor **cursor)
{
	struct dnp_call_cursor *made = calloc(1, sizeof(*made));
	size_t n, first = find_wanted(log, thread, &n);

	if (!made)
		return -ENOMEM;
	made->streams = calloc(n + 1, sizeof(*made->streams));
	made->heap = calloc(n + 1, sizeof(struct stream *));
	if (!made->streams || !made->heap) {
		dnp_call_cursor_free(made);
		return -ENOMEM;
	}
	made->n_streams = made->n = n;
	for (size_t i = 0; i < n; i++) {
		made->streams[i] = stream_of(log, first + i, made);
		made->heap[i] = &made->streams[i];
	}
	for (size_t i = n / 2; i-- > 0;)
		sift(made, i);
	*cursor = made;
	return 0;
}

void dnp_call_cursor_free(struct dnp_call_cursor *cursor)
{
	if (!cursor)
		return;
	for (size_t i = 0; i < cursor->n_streams; i++)
		stream_done(&cursor->streams[i]);
	free(cursor->streams);
	free(cursor->heap);
	free(cursor);
}

/* Moves the first stream on to its next event. 1, or -ENOMEM. */
static int advance(struct dnp_call_cursor *cursor)
{
	struct stream *first = cursor->heap[0];
	int status = stream_next(first, &first->next, &cursor->damaged);

	if (status < 0)
		return status;
	if (!status)
		cursor->heap[0] = cursor->heap[--cursor->n];
	if (cursor->n)
		sift(cursor, 0);
	return 1;
}

int dnp_call_cursor_next(struct dnp_call_cursor *cursor, struct dnp_call_event *event)
{
	while (cursor->n && !cursor->heap[0]->opened) {
		int status = advance(cursor);

		if (status < 0)
			return status;
	}
	if (!cursor->n)
		return 0;
	*event = cursor->heap[0]->next;
	return advance(cursor);
}

uint64_t dnp_call_cursor_damaged(const struct dnp_call_cursor *cursor)
{
	return cursor->damaged;
}
