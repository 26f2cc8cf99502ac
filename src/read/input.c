/* SPDX-License-Identifier: MIT */
#include "read/input.h"

#include <inttypes.h>

#include "base/clean.h"
#include "format/chunk.h"
#include "os/file.h"
#include "read/oldest.h"
#include "read/packed.h"
#include "read/visit.h"

#define READ_BYTES 65536u

void dnp_input_init(struct dnp_input *input)
{
	*input = (struct dnp_input){0};
}

static void source_done(struct dnp_source *source)
{
	if (source->ownership == DNP_SOURCE_MAPPED)
		dnp_file_unmap(source->bytes, source->n);
	else if (source->ownership == DNP_SOURCE_OWNED)
		free((void *)(uintptr_t)source->bytes);
	free(source->name);
}

void dnp_input_done(struct dnp_input *input)
{
	for (size_t i = 0; i < input->sources.n; i++)
		source_done(&input->sources.p[i]);
	for (size_t i = 0; i < input->recordings.n; i++) {
		struct dnp_recording *recording = &input->recordings.p[i];

		for (size_t k = 0; k < recording->problems.n; k++)
			free(recording->problems.p[k]);
		dnp_vec_done(&recording->problems);
	}
	dnp_vec_done(&input->sources);
	dnp_vec_done(&input->chunks);
	dnp_vec_done(&input->recordings);
	dnp_map_done(&input->by_number);
}

/* The walk over one source. A run is a stretch of bytes that are no chunk. */
struct scan {
	struct dnp_input *input;
	const struct dnp_source *source;
	uint32_t last;  /* recording of the last good chunk, DNP_NONE before the first */
	uint32_t first; /* of the first */
	size_t skipped, runs;
	uint64_t hashed; /* bytes of payload whose checksum was wrong */
	bool in_run;
	int run_status; /* dnp_chunk_check's at the run's start */
	bool newer;     /* a chunk of a newer version was met */
};

static int recording_of(struct dnp_input *input, uint64_t number, uint32_t *index)
{
	*index = dnp_map_get(&input->by_number, number);
	if (*index != DNP_NONE)
		return 0;
	*index = (uint32_t)input->recordings.n;
	if (dnp_vec_push(&input->recordings, (struct dnp_recording){.number = number}))
		return -ENOMEM;
	return dnp_map_set(&input->by_number, number, *index);
}

static void tell_file(struct dnp_recording *recording, const char *name)
{
	if (!recording->first_file)
		recording->first_file = name;
	recording->last_file = name;
}

/* Makes it a chunk of records, whose memory is a source of its own. */
static int unpack_chunk(struct dnp_input *input, struct dnp_chunk *chunk)
{
	struct dnp_source source = {.ownership = DNP_SOURCE_OWNED};
	uint8_t *records;
	int status = dnp_unpack(chunk->payload, chunk->length, &records, &source.n);

	if (status)
		return status;
	source.bytes = records;
	status = dnp_vec_push(&input->sources, source);
	if (status) {
		source_done(&source);
		return status;
	}
	chunk->kind = DNP_CHUNK_RECORDS;
	chunk->payload = records;
	chunk->mapped = NULL;
	chunk->length = (uint32_t)source.n;
	return 0;
}

static int add_chunk(
	struct scan *scan, const struct dnp_chunk_header *header, const uint8_t *payload)
{
	struct dnp_chunk chunk;
	uint32_t recording;
	int status;

	if (recording_of(scan->input, header->recording, &recording))
		return -ENOMEM;
	scan->last = recording;
	tell_file(&scan->input->recordings.p[recording], scan->source->name);
	if (scan->first == DNP_NONE)
		scan->first = recording;
	chunk = (struct dnp_chunk){
		.payload = payload,
		.length = header->length,
		.sequence = header->sequence,
		.recording = recording,
		.kind = header->kind,
		.checksum = header->checksum,
	};
	if (scan->source->ownership == DNP_SOURCE_MAPPED) {
		chunk.mapped = scan->source->bytes;
		chunk.mapped_end = scan->source->bytes + scan->source->n;
	}
	if (chunk.kind == DNP_CHUNK_PACKED) {
		status = unpack_chunk(scan->input, &chunk);
		if (status == -EBADMSG)
			return dnp_recording_problem(&scan->input->recordings.p[recording],
				"%s has a chunk that cannot be unpacked; it was skipped",
				scan->source->name);
		if (status)
			return status;
	}
	return dnp_vec_push(&scan->input->chunks, chunk);
}

/* What stands at `at`: 0 and *header, or as dnp_chunk_check says. */
static int check_at(const struct dnp_source *source, size_t at, struct dnp_chunk_header *header)
{
	size_t left = source->n - at;
	uint32_t magic = 0;

	if (left < sizeof(*header)) {
		memcpy(&magic, source->bytes + at, left < sizeof(magic) ? left : sizeof(magic));
		return left >= sizeof(magic) && magic == DNP_CHUNK_MAGIC ? -ENODATA : -EPROTO;
	}
	memcpy(header, source->bytes + at, sizeof(*header));
	return dnp_chunk_check(
		header, source->bytes + at + sizeof(*header), left - sizeof(*header));
}

/* The next place after `at` where a header could start, or the end. */
static size_t next_candidate(const struct dnp_source *source, size_t at)
{
	static const uint32_t magic = DNP_CHUNK_MAGIC;
	const uint8_t *from = source->bytes + at + 1;
	const uint8_t *found = memmem(from, source->n - at - 1, &magic, sizeof(magic));

	return found ? (size_t)(found - source->bytes) : source->n;
}

static size_t skip_at(struct scan *scan, size_t at, int status, uint32_t length)
{
	/* Headers made up to be checked over and over: give up rather than take for ever. */
	uint64_t budget = (uint64_t)scan->source->n * 4 + DNP_CHUNK_MAX * UINT64_C(16);
	size_t next;

	scan->newer |= status == -ENOTSUP;
	if (!scan->in_run)
		scan->run_status = status;
	scan->runs += !scan->in_run;
	scan->in_run = true;
	if (status == -EBADMSG)
		scan->hashed += length;
	next = scan->hashed > budget ? scan->source->n : next_candidate(scan->source, at);
	scan->skipped += next - at;
	return next;
}

static int scan_chunks(struct scan *scan)
{
	struct dnp_chunk_header header = {0};
	bool mapped = scan->source->ownership == DNP_SOURCE_MAPPED;
	size_t kept = 0;

	for (size_t at = 0; at < scan->source->n;) {
		int status = check_at(scan->source, at, &header);

		if (mapped && at - kept > DNP_DROP_BYTES) {
			dnp_mapped_drop(scan->source->bytes, scan->source->bytes + scan->source->n,
				scan->source->bytes + kept, scan->source->bytes + at);
			kept = at;
		}
		if (status) {
			at = skip_at(scan, at, status, header.length);
			continue;
		}
		scan->in_run = false;
		at += sizeof(header);
		if (add_chunk(scan, &header, scan->source->bytes + at))
			return -ENOMEM;
		at += header.length;
	}
	return 0;
}

static int nothing_found(const struct scan *scan, struct dnp_err *err)
{
	const char *name = scan->source->name;

	if (!scan->source->n)
		return dnp_err(err, -ENODATA,
			"cannot read %s: it is empty, nothing was recorded; record again", name);
	if (scan->newer)
		return dnp_err(err, -ENOTSUP,
			"cannot read %s: a newer dnprof wrote it (this one is " DNP_VERSION
			", format %u); update dnprof",
			name, DNP_FORMAT_VERSION);
	if (scan->source->n >= 4 && !memcmp(scan->source->bytes, "DNP1", 4))
		return dnp_err(err, -ENODATA,
			"cannot read %s: it was cut off or damaged before its first whole chunk; "
			"record again",
			name);
	return dnp_err(err, -EINVAL,
		"cannot read %s: it is not a recording of dnprof; name a .dnp file", name);
}

/* Blames the recording nearest to what could not be read. */
static int tell_damage(const struct scan *scan)
{
	struct dnp_recording *last = &scan->input->recordings.p[scan->last];
	struct dnp_recording *blamed =
		scan->in_run ? last : &scan->input->recordings.p[scan->first];
	bool cut = scan->in_run && scan->run_status == -ENODATA;
	size_t damaged = scan->runs - (cut ? 1 : 0);
	int status = 0;

	if (cut)
		status = dnp_recording_problem(last,
			"%s is cut off in the middle of a chunk: the end of the recording is "
			"missing",
			scan->source->name);
	if (damaged && !status)
		status = dnp_recording_problem(blamed,
			"%s is damaged in %zu %s: %zu bytes could not be read and were skipped",
			scan->source->name, damaged, damaged == 1 ? "place" : "places",
			scan->skipped);
	if (scan->newer && !status)
		status = dnp_recording_problem(blamed,
			"%s has parts of a newer format, which were skipped; update dnprof to "
			"read them",
			scan->source->name);
	return status;
}

static int add_source(struct dnp_input *input, struct dnp_source source, struct dnp_err *err)
{
	struct scan scan = {.input = input, .source = &source, .last = DNP_NONE, .first = DNP_NONE};
	int status = source.name ? scan_chunks(&scan) : -ENOMEM;

	if (!status && scan.last == DNP_NONE)
		status = nothing_found(&scan, err);
	else if (!status)
		status = tell_damage(&scan);
	if (!status)
		status = dnp_vec_push(&input->sources, source);
	if (status == -ENOMEM)
		dnp_err(err, status, "cannot read %s: out of memory; read fewer files at once",
			source.name ? source.name : "the recording");
	return status;
}

int dnp_input_add_bytes(
	struct dnp_input *input, const char *name, const void *bytes, size_t n, struct dnp_err *err)
{
	struct dnp_source source = {strdup(name), bytes, n, DNP_SOURCE_BORROWED};
	int status = add_source(input, source, err);

	if (status)
		source_done(&source);
	return status;
}

/* Takes the bytes over. */
static int add_loaded(struct dnp_input *input, const char *name, const struct dnp_file_bytes *bytes,
	struct dnp_err *err)
{
	struct dnp_source source = {strdup(name), bytes->p, bytes->n,
		bytes->mapped ? DNP_SOURCE_MAPPED : DNP_SOURCE_OWNED};
	int status = add_source(input, source, err);

	if (status)
		source_done(&source);
	return status;
}

int dnp_input_add_file(struct dnp_input *input, const char *path, struct dnp_err *err)
{
	struct dnp_file_bytes bytes;
	int status = dnp_file_load(path, &bytes);

	return status ? dnp_err(err, status, "cannot read %s: %s; name a .dnp file", path,
				strerror(-status))
		      : add_loaded(input, path, &bytes, err);
}

/* From its first byte on, wherever it is open. */
static int load_open(int fd, struct dnp_file_bytes *bytes)
{
	struct dnp_vec_of(uint8_t) all = {0};
	ssize_t n;

	do {
		n = dnp_vec_reserve(&all, all.n + READ_BYTES)
			? -ENOMEM
			: dnp_file_read_at(fd, all.p + all.n, READ_BYTES, all.n);
		all.n += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	if (n < 0) {
		dnp_vec_done(&all);
		return (int)n;
	}
	*bytes = (struct dnp_file_bytes){.p = all.p, .n = all.n};
	return 0;
}

int dnp_input_add_open(struct dnp_input *input, const char *name, int fd, struct dnp_err *err)
{
	struct dnp_file_bytes bytes;
	int status = load_open(fd, &bytes);

	return status
		? dnp_err(err, status, "cannot read %s: %s; try again", name, strerror(-status))
		: add_loaded(input, name, &bytes, err);
}

static int by_place(const void *left, const void *right)
{
	const struct dnp_chunk *a = left, *b = right;

	if (a->recording != b->recording)
		return a->recording < b->recording ? -1 : 1;
	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	if (a->checksum != b->checksum)
		return a->checksum < b->checksum ? -1 : 1;
	return 0;
}

static void sort_chunks(struct dnp_input *input)
{
	struct dnp_chunk *chunks = input->chunks.p;
	size_t kept = 0;

	for (size_t i = 1; i < input->chunks.n; i++)
		if (by_place(&chunks[i - 1], &chunks[i]) > 0) {
			qsort(chunks, input->chunks.n, sizeof(*chunks), by_place);
			break;
		}
	for (size_t i = 0; i < input->chunks.n; i++)
		if (!kept || by_place(&chunks[kept - 1], &chunks[i]))
			chunks[kept++] = chunks[i];
	input->chunks.n = kept;
}

/*
 * Chunks that differ and have one place: these are two copies of a recording, of other moments or
 * one of them packed, and what both tell of cannot be told apart.
 */
static int refuse_copies(const struct dnp_input *input, struct dnp_err *err)
{
	const struct dnp_chunk *chunks = input->chunks.p;

	for (size_t i = 1; i < input->chunks.n; i++) {
		const struct dnp_recording *recording = &input->recordings.p[chunks[i].recording];

		if (chunks[i - 1].recording == chunks[i].recording &&
			chunks[i - 1].sequence == chunks[i].sequence)
			return dnp_err(err, -EINVAL,
				"cannot read %s: %s has another copy of the same recording, which "
				"would count twice; name one of them",
				recording->last_file, recording->first_file);
	}
	return 0;
}

static int take_process(void *arg, const struct dnp_rec_process *rec, uint64_t time_ns)
{
	struct dnp_recording *recording = arg;

	(void)time_ns;
	recording->process = *rec;
	recording->has_process = true;
	return 1; /* enough */
}

/* `process` is the first record, so the first chunk with records tells. */
static void find_process(struct dnp_recording *recording)
{
	static const struct dnp_visitor visitor = {.process = take_process};

	for (size_t i = 0; i < recording->n; i++)
		if (recording->chunks[i].kind == DNP_CHUNK_RECORDS) {
			struct dnp_recording first = *recording;
			uint64_t damaged = 0;

			first.chunks += i;
			first.n = 1;
			dnp_recording_visit(&first, &visitor, &first, &damaged);
			recording->process = first.process;
			recording->has_process = first.has_process;
			return;
		}
}

static int find_gaps(struct dnp_recording *recording, bool tell)
{
	uint64_t missing = 0, expected = 0;

	for (size_t i = 0; i < recording->n; i++) {
		uint64_t sequence = recording->chunks[i].sequence;

		missing += sequence > expected ? sequence - expected : 0;
		expected = sequence + 1;
		recording->bytes += recording->chunks[i].length;
	}
	recording->next_sequence = (uint32_t)expected;
	if (!missing || !tell)
		return 0;
	return dnp_recording_problem(recording,
		"%" PRIu64
		" %s of the recording %s missing: samples are lost, and stacks that were "
		"described there show as [lost]",
		missing, missing == 1 ? "chunk" : "chunks", missing == 1 ? "is" : "are");
}

static int finish_recording(struct dnp_recording *recording, bool tell)
{
	find_process(recording);
	if (!recording->has_process)
		recording->process.start_ns = dnp_recording_oldest(recording);
	if (find_gaps(recording, tell))
		return -ENOMEM;
	if (recording->has_process || !tell)
		return 0;
	return dnp_recording_problem(
		recording, "its beginning is missing: which program was recorded is not known");
}

int dnp_input_finish(struct dnp_input *input, struct dnp_err *err)
{
	size_t at = 0;

	sort_chunks(input);
	if (refuse_copies(input, err))
		return -EINVAL;
	for (size_t i = 0; i < input->recordings.n; i++) {
		struct dnp_recording *recording = &input->recordings.p[i];
		bool tell = !recording->n; /* not when called again */

		recording->chunks = input->chunks.p + at;
		recording->bytes = 0;
		recording->n = 0;
		for (; at < input->chunks.n && input->chunks.p[at].recording == i; at++)
			recording->n++;
		if (finish_recording(recording, tell))
			return dnp_err(err, -ENOMEM,
				"cannot read the recording: out of memory; read fewer files at "
				"once");
	}
	return 0;
}

int dnp_input_read(struct dnp_input *input, int n, char *const *paths, struct dnp_err *err)
{
	for (int i = 0; i < n; i++) {
		int status = dnp_input_add_file(input, paths[i], err);

		if (status)
			return status;
	}
	return dnp_input_finish(input, err);
}
