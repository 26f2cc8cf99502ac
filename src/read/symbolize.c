/* SPDX-License-Identifier: MIT */
#include "read/symbolize.h"

#include <stdio.h>

#include "base/clean.h"
#include "format/chunk.h"
#include "os/clock.h"
#include "os/confined.h"
#include "os/file.h"
#include "os/file_sink.h"
#include "read/elf_symbols.h"
#include "read/visit.h"

#define CHUNK_BYTES  (256u << 10)
#define NAME_BYTES   (64u << 10) /* a longer one nobody could read */
#define RECORD_BYTES (NAME_BYTES + 64)

/* A function without a name yet. */
struct wanted {
	uint64_t module; /* the recording's index */
	uint64_t function;
	bool kernel;
};

struct symbolizing {
	const struct dnp_recording *recording;
	const char *root; /* before the paths of files */
	struct dnp_sink *sink;
	uint32_t sequence;
	struct dnp_vec_of(struct dnp_rec_module) modules; /* by index after sorting */
	struct dnp_vec_of(struct wanted) wanted;          /* by module, function after sorting */
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
	struct wanted wanted = {rec->module, rec->function, rec->kind == DNP_FRAME_KERNEL};

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
	const struct wanted *a = left, *b = right;

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

static int put(struct symbolizing *s, const struct wanted *wanted, struct dnp_str name)
{
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

/*
 * Kernel addresses mean something only in the boot that they were recorded in. The times are
 * anybody's: differences of them wrap around.
 */
static bool same_boot(const struct dnp_rec_process *process)
{
	const uint64_t tolerance_ns = 10000000000;
	uint64_t then = process->start_unix_ns - process->start_ns;
	uint64_t later_ns = dnp_unix_ns() - dnp_now_ns() - then;

	return later_ns + tolerance_ns < 2 * tolerance_ns;
}

/* Wanted functions of one module, and where their names stand. */
struct question {
	const struct wanted *wanted;
	size_t n;
	int file, debug; /* owned, -1: none */
	struct dnp_str build_id;
};

static int answer_one(const struct dnp_symbols *symbols, const struct wanted *wanted,
	struct dnp_sink *answer, uint8_t *room)
{
	const char *name = dnp_symbols_find(symbols, wanted->function);
	auto_free char *demangled = name ? dnp_demangle(name) : NULL;
	struct dnp_rec_symbol rec = {wanted->module, wanted->function, {0}};

	if (!name)
		return 0;
	rec.name = dnp_str(demangled ? demangled : name);
	if (rec.name.n > NAME_BYTES)
		return 0; /* no name that anybody could read */
	dnp_sink_write(answer, room, dnp_put_symbol(room, RECORD_BYTES, &rec));
	return answer->error;
}

/* In the process that reads files: records of symbols, in the order of the wanted functions. */
static int answer_all(void *context, struct dnp_sink *answer)
{
	static uint8_t room[RECORD_BYTES];
	const struct question *question = context;
	struct dnp_symbols symbols = {0};
	int status;

	if (question->wanted->kernel)
		status = dnp_symbols_add_kernel(&symbols, 0);
	else
		status = dnp_symbols_add_elf(
			&symbols, 0, question->debug < 0 ? -1 : 1, question->build_id);
	if (!status)
		dnp_symbols_sort(&symbols);
	for (size_t i = 0; i < question->n && !status; i++)
		status = answer_one(&symbols, &question->wanted[i], answer, room);
	return status; /* and the process ends */
}

/* The next of them that is `function`; NULL: there is none, *at stays. */
static const struct wanted *find_wanted(
	const struct question *question, uint64_t function, size_t *at)
{
	for (size_t i = *at; i < question->n; i++)
		if (question->wanted[i].function == function) {
			*at = i + 1;
			return &question->wanted[i];
		}
	return NULL;
}

/* Only what was asked for, whatever was answered. */
static int take_names(
	struct symbolizing *s, const struct question *question, const uint8_t *answer, size_t n)
{
	size_t at = 0, next = 0;
	struct dnp_str body;
	uint64_t id;
	int status = 0;

	while (!status && dnp_rec_next(answer, n, &at, &id, &body) > 0) {
		const struct wanted *wanted;
		struct dnp_rec_symbol rec;

		if (id != DNP_REC_symbol || dnp_get_symbol((const uint8_t *)body.p, body.n, &rec))
			return 0;
		wanted = find_wanted(question, rec.function, &next);
		if (!wanted || rec.name.n > NAME_BYTES)
			return 0;
		status = put(s, wanted, rec.name);
	}
	return status;
}

static int ask(struct symbolizing *s, struct question *question)
{
	struct dnp_confined_work work = {
		.files = {question->file, question->debug},
		.run = answer_all,
		.context = question,
	};
	struct dnp_file_bytes answer;
	int status;

	dnp_demangle_prepare(); /* what is confined loads no library */
	status = dnp_confined_run(&work, &answer);
	if (!status)
		status = take_names(s, question, answer.p, answer.n);
	free((void *)(uintptr_t)answer.p);
	return status;
}

static int open_below(const char *root, struct dnp_str path)
{
	auto_free char *full = NULL;

	if (asprintf(&full, "%s%.*s", root, (int)path.n, path.p) < 0) {
		full = NULL;
		return -ENOMEM;
	}
	return dnp_symbols_open_file(full);
}

/* 0 or -errno; what is open then is the caller's to close either way. */
static int open_files(const struct symbolizing *s, const char *root,
	const struct dnp_rec_module *module, struct question *question)
{
	if (question->wanted->kernel)
		question->file =
			same_boot(&s->recording->process) ? dnp_symbols_open_kernel() : -ESTALE;
	else if (!module || !module->path.n)
		question->file = -ENOENT;
	else if (!dnp_str_eq(module->path, dnp_str("[vdso]")))
		question->file = open_below(root, module->path);
	else /* without a build id there is no telling whether this is the one */
		question->file = module->build_id.n ? dnp_symbols_open_vdso() : -ESTALE;
	if (question->file < 0)
		return question->file;
	if (module)
		question->build_id = module->build_id;
	question->debug = dnp_symbols_open_debug(question->build_id);
	return 0;
}

static int name_below(struct symbolizing *s, const char *root, const struct dnp_rec_module *module,
	const struct wanted *wanted, size_t n)
{
	struct question question = {.wanted = wanted, .n = n, .file = -1, .debug = -1};
	int status = open_files(s, root, module, &question);

	if (!status)
		status = ask(s, &question);
	if (question.file >= 0)
		close(question.file);
	if (question.debug >= 0)
		close(question.debug);
	return status;
}

/* All wanted functions of one module. */
static int name_module(struct symbolizing *s, const struct wanted *wanted, size_t n)
{
	struct dnp_rec_module key = {.index = wanted->module};
	const struct dnp_rec_module *module = NULL;
	int status;

	if (s->modules.n)
		module = bsearch(&key, s->modules.p, s->modules.n, sizeof(key), by_index);
	status = name_below(s, s->root, module, wanted, n);
	if (status && status != -ENOMEM && *s->root) /* the process may have gone, with its root */
		status = name_below(s, "", module, wanted, n);
	return status == -ENOMEM ? status : 0;
}

static int name_all(struct symbolizing *s)
{
	struct wanted *wanted = s->wanted.p;
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
