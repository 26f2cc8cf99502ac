/* SPDX-License-Identifier: MIT */
#include "read/symbolize.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clean.h"
#include "format/chunk.h"
#include "os/file.h"
#include "os/file_sink.h"
#include "read/native_names.h"
#include "read/visit.h"

#define CHUNK_BYTES (256u << 10)

struct symbolizing {
	const struct dnp_recording *recording;
	const char *root; /* before the paths of files */
	struct dnp_sink *sink;
	uint32_t sequence;
	struct dnp_vec_of(struct dnp_rec_module) modules; /* by index after sorting */
	struct dnp_vec_of(struct dnp_wanted) wanted;      /* by module, function after sorting */
	struct dnp_vec_of(uint8_t) payload;
	size_t found;
	bool done_before;
};

static int on_module(void *arg, const struct dnp_rec_module *rec, uint64_t time_ns)
{
	struct symbolizing *s = arg;

	(void)time_ns;
	return dnp_vec_push(&s->modules, *rec);
}

static int on_frame(void *arg, const struct dnp_rec_frame *rec, uint64_t time_ns)
{
	struct symbolizing *s = arg;
	struct dnp_wanted wanted = {rec->module, rec->function, rec->kind == DNP_FRAME_KERNEL};

	(void)time_ns;
	if (rec->kind != DNP_FRAME_NATIVE && rec->kind != DNP_FRAME_KERNEL)
		return 0;
	return dnp_vec_push(&s->wanted, wanted);
}

static int on_symbol(void *arg, const struct dnp_rec_symbol *rec, uint64_t time_ns)
{
	struct symbolizing *s = arg;

	(void)rec;
	(void)time_ns;
	s->done_before = true;
	return 0;
}

static const struct dnp_visitor visitor = {
	.module = on_module,
	.frame = on_frame,
	.symbol = on_symbol,
};

static int by_index(const void *left, const void *right)
{
	const struct dnp_rec_module *a = left, *b = right;

	return a->index < b->index ? -1 : a->index > b->index;
}

static int by_function(const void *left, const void *right)
{
	const struct dnp_wanted *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

static void flush(struct symbolizing *s)
{
	struct dnp_chunk_header header;

	if (!s->payload.n)
		return;
	dnp_chunk_seal(&header, DNP_CHUNK_RECORDS, s->recording->number, s->sequence++,
		s->payload.p, (uint32_t)s->payload.n);
	dnp_sink_write(s->sink, &header, sizeof(header));
	dnp_sink_write(s->sink, s->payload.p, s->payload.n);
	s->payload.n = 0;
}

static int put(void *arg, const struct dnp_wanted *wanted, struct dnp_str name)
{
	struct symbolizing *s = arg;
	struct dnp_rec_symbol rec = {wanted->module, wanted->function, name};
	size_t most = name.n + 64;

	if (s->payload.n + most > CHUNK_BYTES)
		flush(s);
	if (dnp_vec_reserve(&s->payload, s->payload.n + most))
		return -ENOMEM;
	s->payload.n += dnp_put_symbol(s->payload.p + s->payload.n, most, &rec);
	s->found++;
	return 0;
}

/* All wanted functions of one module. */
static int name_module(struct symbolizing *s, const struct dnp_wanted *wanted, size_t n)
{
	struct dnp_rec_module key = {.index = wanted->module};
	struct dnp_wanted_names names = {.recording = s->recording,
		.root = s->root,
		.wanted = wanted,
		.n = n,
		.found = put,
		.arg = s};

	if (s->modules.n)
		names.module = bsearch(&key, s->modules.p, s->modules.n, sizeof(key), by_index);
	return dnp_native_names(&names) == -ENOMEM ? -ENOMEM : 0;
}

static int name_all(struct symbolizing *s)
{
	struct dnp_wanted *wanted = s->wanted.p;
	size_t n;

	if (s->modules.n)
		qsort(s->modules.p, s->modules.n, sizeof(*s->modules.p), by_index);
	if (s->wanted.n)
		qsort(wanted, s->wanted.n, sizeof(*wanted), by_function);
	for (size_t i = 0; i < s->wanted.n; i += n) {
		for (n = 1; i + n < s->wanted.n && wanted[i + n].module == wanted[i].module; n++)
			;
		if (name_module(s, &wanted[i], n))
			return -ENOMEM;
	}
	flush(s);
	return 0;
}

int dnp_symbolize(const struct dnp_recording *recording, struct dnp_sink *sink, size_t *found)
{
	return dnp_symbolize_in(recording, "", sink, found);
}

int dnp_symbolize_in(const struct dnp_recording *recording, const char *root, struct dnp_sink *sink,
	size_t *found)
{
	struct symbolizing s = {.recording = recording,
		.root = root,
		.sink = sink,
		.sequence = recording->next_sequence};
	uint64_t damaged = 0;
	int status = dnp_recording_visit(recording, &visitor, &s, &damaged);

	if (!status && !s.done_before)
		status = name_all(&s);
	*found = s.found;
	dnp_vec_done(&s.modules);
	dnp_vec_done(&s.wanted);
	dnp_vec_done(&s.payload);
	return status;
}

static int append(const char *path, const struct dnp_sink_memory *memory)
{
	auto_close int fd = dnp_file_append(path);
	struct dnp_sink_fd out;

	if (fd < 0)
		return fd;
	dnp_sink_fd_init(&out, fd);
	dnp_sink_write(&out.sink, memory->bytes.p, memory->bytes.n);
	return dnp_sink_fd_flush(&out);
}

int dnp_symbolize_file(const char *path, const char *root, struct dnp_err *err)
{
	struct dnp_sink_memory memory;
	struct dnp_input input;
	size_t found;
	int status;

	dnp_sink_memory_init(&memory);
	dnp_input_init(&input);
	status = dnp_input_add_file(&input, path, err);
	if (!status)
		status = dnp_input_finish(&input, err);
	if (!status) {
		for (size_t i = 0; i < input.recordings.n && !status; i++)
			status = dnp_symbolize_in(
				&input.recordings.p[i], root, &memory.sink, &found);
		if (!status)
			status = memory.sink.error;
		if (!status && memory.bytes.n)
			status = append(path, &memory);
		if (status)
			dnp_err(err, status,
				"cannot add names of native functions to %s: %s; the recording can "
				"be read without them",
				path, strerror(-status));
	}
	dnp_input_done(&input);
	dnp_vec_done(&memory.bytes);
	return status;
}
