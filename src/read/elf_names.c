/* SPDX-License-Identifier: MIT */
/* Of ELF files, and of the kernel: read in a process from which nothing comes but names. */
#include "read/native_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/confined.h"
#include "os/file.h"
#include "read/elf_symbols.h"

#define RECORD_BYTES (DNP_NAME_BYTES + 64)

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
	const struct dnp_wanted *wanted;
	size_t n;
	int file, debug; /* owned, -1: none */
	struct dnp_str build_id;
};

static int answer_one(const struct dnp_symbols *symbols, const struct dnp_wanted *wanted,
	struct dnp_sink *answer, uint8_t *room)
{
	const char *name = dnp_symbols_find(symbols, wanted->function);
	auto_free char *demangled = name ? dnp_demangle(name) : NULL;
	struct dnp_rec_symbol rec = {wanted->module, wanted->function, {0}};

	if (!name)
		return 0;
	rec.name = dnp_str(demangled ? demangled : name);
	if (rec.name.n > DNP_NAME_BYTES)
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
		status = dnp_symbols_add_kernel(&symbols, 0, question->wanted, question->n);
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
static const struct dnp_wanted *find_wanted(
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
static int take_names(const struct dnp_wanted_names *names, const struct question *question,
	const uint8_t *answer, size_t n)
{
	size_t at = 0, next = 0;
	struct dnp_str body;
	uint64_t id;
	int status = 0;

	while (!status && dnp_rec_next(answer, n, &at, &id, &body) > 0) {
		const struct dnp_wanted *wanted;
		struct dnp_rec_symbol rec;

		if (id != DNP_REC_symbol || dnp_get_symbol((const uint8_t *)body.p, body.n, &rec))
			return 0;
		wanted = find_wanted(question, rec.function, &next);
		if (!wanted || rec.name.n > DNP_NAME_BYTES)
			return 0;
		status = names->found(names->arg, wanted, rec.name);
	}
	return status;
}

static int ask(const struct dnp_wanted_names *names, struct question *question)
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
		status = take_names(names, question, answer.p, answer.n);
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
static int open_files(
	const struct dnp_wanted_names *names, const char *root, struct question *question)
{
	const struct dnp_rec_module *module = names->module;

	if (question->wanted->kernel)
		question->file =
			same_boot(&names->recording->process) ? dnp_symbols_open_kernel() : -ESTALE;
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

static int name_below(const struct dnp_wanted_names *names, const char *root)
{
	struct question question = {
		.wanted = names->wanted, .n = names->n, .file = -1, .debug = -1};
	int status = open_files(names, root, &question);

	if (!status)
		status = ask(names, &question);
	if (question.file >= 0)
		close(question.file);
	if (question.debug >= 0)
		close(question.debug);
	return status;
}

int dnp_native_names(const struct dnp_wanted_names *names)
{
	int status = name_below(names, names->root);

	/* The process may have gone, with its root. */
	return status && status != -ENOMEM && *names->root ? name_below(names, "") : status;
}
