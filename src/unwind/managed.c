/* SPDX-License-Identifier: MIT */
#include "unwind/managed.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "clr/codemap.h"
#include "os/generation.h"
#include "unwind/contract.h"
#include "unwind/made.h"
#include "unwind/x86_64/decode.h"
#include "unwind/x86_64/unwind_info.h"
#include "unwind/walk.h"

static pthread_once_t map_once = PTHREAD_ONCE_INIT;
static struct dnp_codemap *map; /* owned */

static struct {
	_Atomic uint64_t methods, unwind_info, prolog, without_rule, osr, funclets, catch_funclets;
} counts;

static void make_map(void)
{
	map = dnp_codemap_new();
	dnp_walk_use(map);
}

struct dnp_codemap *dnp_walk_codemap(void)
{
	pthread_once(&map_once, make_map);
	return map;
}

void dnp_walk_codemap_done(void)
{
	static const pthread_once_t again = PTHREAD_ONCE_INIT;

	dnp_walk_use(NULL);
	dnp_generation_bump();
	dnp_codemap_free(map);
	map = NULL;
	map_once = again;
	memset(&counts, 0, sizeof(counts));
}

/* ---- The layout, read when the first code comes (the runtime is loaded by then) */

static pthread_once_t layout_once = PTHREAD_ONCE_INIT;
static struct dnp_code_header_layout layout;

static void read_layout(void)
{
	dnp_contract_read(&layout);
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- The header in front of a method's code */

struct runtime_function {
	uint32_t begin, end, unwind_info;
};

#define FUNCTIONS_MAX    4096 /* a method's body and its funclets */
#define PROLOG_BYTES_MAX 256
#define HEADER_BYTES     128 /* of usual ones */

/* Of what lies together much is read at once: it may take a system call. */
struct method_code {
	uintptr_t start;
	uint32_t bytes;
	struct {
		uintptr_t header;
		uint8_t code[PROLOG_BYTES_MAX];
	} front;              /* what stands before the code, and its first bytes */
	uint32_t front_bytes; /* of code that were read */
	uintptr_t header;     /* 0: not found, or not this method's */
	uintptr_t image;      /* what the offsets in the header count from */
	uint32_t n;
	struct runtime_function *functions; /* owned */
};

static bool read_word(uintptr_t at, uintptr_t *word)
{
	return dnp_made_read(at, word, sizeof(*word));
}

/* The parts must be in order and in the code, the first one at its start. */
static bool functions_make_sense(const struct method_code *code)
{
	uintptr_t at = code->start;

	for (uint32_t i = 0; i < code->n; i++) {
		uintptr_t begin = code->image + code->functions[i].begin;
		uintptr_t end = code->image + code->functions[i].end;

		if (begin < at || end <= begin || end > code->start + code->bytes)
			return false;
		at = end;
	}
	return true;
}

static void read_front(struct method_code *code)
{
	uint32_t n = code->bytes < PROLOG_BYTES_MAX ? code->bytes : PROLOG_BYTES_MAX;
	uintptr_t at = code->start - sizeof(code->front.header);

	if (dnp_made_read(at, &code->front, sizeof(code->front.header) + n))
		code->front_bytes = n;
	else
		code->front.header = 0;
}

/* A header as far as it was read at first. */
struct header {
	uintptr_t at;
	size_t n;
	uint8_t bytes[HEADER_BYTES];
};

static bool header_has(const struct header *header, size_t offset, void *to, size_t n)
{
	if (offset > header->n || n > header->n - offset)
		return dnp_made_read(header->at + offset, to, n);
	memcpy(to, header->bytes + offset, n);
	return true;
}

/* Fills what the header says, or leaves n at 0. */
static int read_header(struct method_code *code, uintptr_t function)
{
	struct header header = {.at = code->front.header};
	uintptr_t method;
	uint32_t n;

	if (!header.at)
		return 0;
	header.n = dnp_made_read_some(header.at, header.bytes, sizeof(header.bytes));
	if (!header_has(&header, layout.method, &method, sizeof(method)) || method != function ||
		!header_has(&header, layout.n_unwind_infos, &n, sizeof(n)) || !n ||
		n > FUNCTIONS_MAX)
		return 0;
	code->functions = calloc(n, sizeof(code->functions[0]));
	if (!code->functions)
		return -ENOMEM;
	if (!header_has(
		    &header, layout.unwind_infos, code->functions, n * sizeof(code->functions[0])))
		return 0;
	/* Room that the compiler asked for and did not use, as it does on Windows. */
	while (n > 1 && !code->functions[n - 1].end)
		n--;
	code->n = n;
	code->image = code->start - code->functions[0].begin;
	code->header = header.at;
	if (!functions_make_sense(code))
		code->n = 0;
	return 0;
}

/* ---- Exception clauses: which funclets are catch handlers */

struct clause {
	uint32_t flags, try_begin, try_end, handler_begin, handler_end;
	uint32_t padding;
	uint64_t type_or_filter;
};

enum { CLAUSE_KIND = 7, CLAUSE_CATCH = 0, CLAUSE_FILTER = 1 };

/* dotnet/runtime, codeman.h: the header's second word; the number stands in front of the clauses.
 */
#define HEADER_CLAUSES 8
#define CLAUSES_SKIP   8 /* kind and size of the section */
#define CLAUSES_MAX    4096

static struct clause *read_clauses(const struct method_code *code, size_t *n)
{
	struct clause *clauses;
	uintptr_t at, number;

	if (!read_word(code->header + HEADER_CLAUSES, &at) || !at ||
		!read_word(at - sizeof(number), &number) || !number || number > CLAUSES_MAX)
		return NULL;
	clauses = calloc(number, sizeof(*clauses));
	if (!clauses)
		return NULL;
	if (!dnp_made_read(at + CLAUSES_SKIP, clauses, number * sizeof(*clauses))) {
		free(clauses);
		return NULL;
	}
	*n = number;
	return clauses;
}

/* Where a funclet may begin for a clause; the clause must lie in the code. */
static bool clause_names(
	const struct clause *clause, uint32_t code_bytes, uint32_t funclet, bool *is_catch)
{
	unsigned kind = clause->flags & CLAUSE_KIND;

	if (clause->try_begin > clause->try_end || clause->try_end > code_bytes ||
		clause->handler_begin >= clause->handler_end || clause->handler_end > code_bytes)
		return false;
	*is_catch = kind == CLAUSE_CATCH || kind == CLAUSE_FILTER;
	if (clause->handler_begin == funclet)
		return true;
	*is_catch = false;
	return kind == CLAUSE_FILTER && (uint32_t)clause->type_or_filter == funclet;
}

/* Until they have run the handler has no other frame than that of its call. */
static uint16_t taking_bytes(const struct dnp_code *part)
{
	uint8_t code[DNP_TAKE_FRAME_MAX];
	size_t n = dnp_made_read_some(part->begin + part->prolog_bytes, code, sizeof(code));

	return (uint16_t)dnp_prolog_takes_frame(code, n);
}

/*
 * Marks catch funclets, if the clauses explain every funclet; else the layout is not what we think
 * and all stay physical frames. `leave` is the rule of the method's own frame in terms of rbp,
 * which a handler has too.
 */
static void mark_catch(
	const struct method_code *code, struct dnp_code *parts, struct dnp_rule leave)
{
	size_t n = 0;
	auto_free struct clause *clauses = read_clauses(code, &n);

	for (int pass = 0; clauses && pass < 2; pass++) {
		for (uint32_t i = 1; i < code->n; i++) {
			uint32_t funclet = (uint32_t)(parts[i].begin - code->start);
			bool named = false, is_catch = false;

			for (size_t k = 0; k < n && !named; k++)
				named = clause_names(&clauses[k], code->bytes, funclet, &is_catch);
			if (!named)
				return;
			if (pass == 1 && is_catch) {
				parts[i].flags |= DNP_CODE_CATCH;
				parts[i].rule = leave;
				parts[i].prolog_bytes += taking_bytes(&parts[i]);
				count(&counts.catch_funclets);
			}
		}
	}
}

/* ---- Rules */

static bool rule_from_unwind_info(struct dnp_code *part, uintptr_t at)
{
	uint8_t info[DNP_UNWIND_INFO_MAX];
	size_t n = dnp_made_read_some(at, info, sizeof(info));

	if (n < DNP_UNWIND_INFO_HEADER || n < dnp_unwind_info_bytes(info) ||
		!dnp_unwind_info_rule(
			info, dnp_unwind_info_bytes(info), DNP_UNWIND_BODY, &part->rule))
		return false;
	part->unwind_info = at;
	part->prolog_bytes = (uint16_t)dnp_unwind_info_prolog(info);
	return true;
}

static void read_prolog(
	const struct method_code *code, const struct dnp_code *part, struct dnp_prolog *prolog)
{
	uint8_t copy[PROLOG_BYTES_MAX];
	size_t n = part->bytes < sizeof(copy) ? part->bytes : sizeof(copy);

	if (part->begin == code->start && n <= code->front_bytes) {
		dnp_prolog_decode(code->front.code, n, prolog);
		return;
	}
	if (!dnp_made_read(part->begin, copy, n))
		n = 0;
	dnp_prolog_decode(copy, n, prolog);
}

static void rule_from_prolog(struct dnp_code *part, const struct dnp_prolog *prolog)
{
	part->prolog_bytes = (uint16_t)prolog->bytes;
	if (dnp_prolog_rule(prolog, &part->rule)) {
		count(&counts.prolog);
	} else {
		part->rule = (struct dnp_rule){0};
		count(&counts.without_rule);
	}
}

static void fill_parts(const struct method_code *code, const struct dnp_code *common,
	struct dnp_code *parts, uint32_t n)
{
	uintptr_t end = code->start + code->bytes;
	struct dnp_prolog prolog;
	struct dnp_rule leave;

	for (uint32_t i = n; i-- > 0;) {
		struct dnp_code *part = &parts[i];

		*part = *common;
		part->begin = i ? code->image + code->functions[i].begin : code->start;
		part->bytes = (uint32_t)(end - part->begin); /* with the padding behind it */
		end = part->begin;
		if (i) {
			part->flags |= DNP_CODE_FUNCLET;
			count(&counts.funclets);
		}
		read_prolog(code, part, &prolog);
		if (!i && prolog.osr) {
			part->flags |= DNP_CODE_OSR;
			count(&counts.osr);
		}
		if (code->n &&
			rule_from_unwind_info(part, code->image + code->functions[i].unwind_info))
			count(&counts.unwind_info);
		else
			rule_from_prolog(part, &prolog);
	}
	if (n > 1 && dnp_rule_by_bp(&parts[0].rule, &prolog, &leave))
		mark_catch(code, parts, leave);
}

/* ---- For everybody */

int dnp_jit_code_register(uintptr_t function, uintptr_t start, uint32_t bytes, uint32_t method,
	bool dynamic, uint64_t now_ns)
{
	struct method_code code = {.start = start, .bytes = bytes};
	struct dnp_code common = {
		.method = method, .born_ns = now_ns, .flags = dynamic ? DNP_CODE_DYNAMIC : 0};
	struct dnp_code *parts = NULL;
	int result = -ENOMEM;
	uint32_t n;

	pthread_once(&layout_once, read_layout);
	if (!bytes)
		return 0;
	read_front(&code);
	if (!dnp_walk_codemap() || read_header(&code, function) < 0)
		goto out;
	n = code.n ? code.n : 1;
	parts = calloc(n, sizeof(*parts));
	if (!parts)
		goto out;
	fill_parts(&code, &common, parts, n);
	result = dnp_codemap_add(map, parts, n);
	count(&counts.methods);
out:
	free(parts);
	free(code.functions);
	return result;
}

bool dnp_jit_code_known(uintptr_t start, uint32_t method)
{
	struct dnp_code code;

	return dnp_codemap_find_at(dnp_walk_codemap(), start, UINT64_MAX, &code) &&
		code.begin == start && code.method == method;
}

void dnp_managed_stats(struct dnp_managed_stats *stats)
{
	*stats = (struct dnp_managed_stats){
		.methods = atomic_load_explicit(&counts.methods, memory_order_relaxed),
		.unwind_info = atomic_load_explicit(&counts.unwind_info, memory_order_relaxed),
		.prolog = atomic_load_explicit(&counts.prolog, memory_order_relaxed),
		.without_rule = atomic_load_explicit(&counts.without_rule, memory_order_relaxed),
		.osr = atomic_load_explicit(&counts.osr, memory_order_relaxed),
		.funclets = atomic_load_explicit(&counts.funclets, memory_order_relaxed),
		.catch_funclets =
			atomic_load_explicit(&counts.catch_funclets, memory_order_relaxed),
		.contract = layout.contract,
	};
}
