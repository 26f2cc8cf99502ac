/* SPDX-License-Identifier: MIT */
/* Source: "PE Format" (Microsoft Learn). All numbers are little-endian. */
#include "read/pe_symbols.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"

enum {
	DOS_NEW_HEADER = 0x3c,
	FILE_SECTIONS = 6, /* all behind "PE\0\0" */
	FILE_TIME = 8,
	FILE_SYMBOLS = 12,
	FILE_SYMBOL_COUNT = 16,
	FILE_OPTIONAL_BYTES = 20,
	OPTIONAL_HEADER = 24,
	OPTIONAL_IMAGE_BYTES = 56,
	OPTIONAL_CHECKSUM = 64,
	OPTIONAL_DIRECTORY_COUNT = 108,
	OPTIONAL_DIRECTORIES = 112,
	DIRECTORY_EXPORTS = 0,
	DIRECTORY_FUNCTIONS = 3,
	SECTION_BYTES = 40,
	SECTIONS_MAX = 96, /* the loader takes no more */
	EXPORTS_BYTES = 40,
	SYMBOL_BYTES = 18,
	FUNCTION_BYTES = 12,
};

#define MACHINE_X64        0x8664u
#define OPTIONAL_PE32_PLUS 0x20bu
#define SECTION_EXECUTABLE 0x20000000u
#define CLASS_EXTERNAL     2u
#define CLASS_STATIC       3u

/* Of several names for one place the first: what others know it by, then what its makers do. */
enum { RANK_EXPORT, RANK_EXTERNAL = 2, RANK_STATIC = 4, RANK_UNTYPED = 6, RANK_ORDINAL = 8 };

#define NAME_MAX_BYTES 4096u /* what compilers take */
#define UNSIZED        4096u /* how far a function without a frame may reach */

struct section {
	uint32_t rva, bytes;       /* in the image */
	uint32_t at, stored_bytes; /* in the file */
	bool executable;
};

struct range {
	uint32_t begin, end;
};

struct file {
	const uint8_t *p; /* borrowed */
	size_t n;
	size_t header; /* where "PE\0\0" is */
	struct section sections[SECTIONS_MAX];
	unsigned n_sections;
	struct dnp_vec_of(struct range) functions; /* of .pdata, by begin */
	uint64_t texts_left; /* bytes of names: in a sound file they lie apart */
	struct dnp_symbols *symbols;
};

/* False: not all of it is there. */
static bool get(const struct file *file, uint64_t at, void *to, size_t n)
{
	if (at > file->n || n > file->n - at)
		return false;
	memcpy(to, file->p + at, n);
	return true;
}

/* 0 where there is none. */
static uint32_t u16(const struct file *file, uint64_t at)
{
	uint16_t value = 0;

	get(file, at, &value, sizeof(value));
	return value;
}

static uint32_t u32(const struct file *file, uint64_t at)
{
	uint32_t value = 0;

	get(file, at, &value, sizeof(value));
	return value;
}

/* ---- The header */

static void read_sections(struct file *file)
{
	uint64_t at = (uint64_t)file->header + OPTIONAL_HEADER +
		u16(file, file->header + FILE_OPTIONAL_BYTES);

	file->n_sections = u16(file, file->header + FILE_SECTIONS);
	if (file->n_sections > SECTIONS_MAX)
		file->n_sections = SECTIONS_MAX;
	for (unsigned i = 0; i < file->n_sections; i++, at += SECTION_BYTES)
		file->sections[i] = (struct section){
			.bytes = u32(file, at + 8),
			.rva = u32(file, at + 12),
			.stored_bytes = u32(file, at + 16),
			.at = u32(file, at + 20),
			.executable = u32(file, at + 36) & SECTION_EXECUTABLE,
		};
}

static bool is_pe(const struct file *file)
{
	return u16(file, 0) == 0x5a4d && u32(file, file->header) == 0x4550 &&
		u16(file, file->header + 4) == MACHINE_X64 &&
		u16(file, file->header + OPTIONAL_HEADER) == OPTIONAL_PE32_PLUS;
}

/* As os/windows/modules.c says what is loaded. */
static bool same_build(const struct file *file, struct dnp_str build_id)
{
	uint32_t optional = (uint32_t)file->header + OPTIONAL_HEADER;
	uint32_t id[] = {u32(file, file->header + FILE_TIME),
		u32(file, optional + OPTIONAL_IMAGE_BYTES),
		u32(file, optional + OPTIONAL_CHECKSUM)};

	return !build_id.n || dnp_str_eq(build_id, (struct dnp_str){(char *)id, sizeof(id)});
}

static const struct section *section_of(const struct file *file, uint32_t rva)
{
	for (unsigned i = 0; i < file->n_sections; i++) {
		const struct section *section = &file->sections[i];

		if (rva >= section->rva && rva - section->rva < section->bytes)
			return section;
	}
	return NULL;
}

/* Where bytes of the image are in the file, and how many of them; 0: none. */
static size_t stored(const struct file *file, uint32_t rva, uint64_t *at)
{
	const struct section *section = section_of(file, rva);
	uint32_t offset;
	uint64_t end;

	if (!section)
		return 0;
	offset = rva - section->rva;
	*at = (uint64_t)section->at + offset;
	end = (uint64_t)section->at + section->stored_bytes;
	if (end > file->n)
		end = file->n;
	return *at < end ? (size_t)(end - *at) : 0;
}

struct directory {
	uint32_t rva, bytes;
};

static struct directory directory(const struct file *file, unsigned which)
{
	uint64_t optional = (uint64_t)file->header + OPTIONAL_HEADER;
	uint64_t at = optional + OPTIONAL_DIRECTORIES + 8 * which;

	if (u32(file, optional + OPTIONAL_DIRECTORY_COUNT) <= which)
		return (struct directory){0};
	return (struct directory){u32(file, at), u32(file, at + 4)};
}

/* ---- The table of functions */

static int by_begin(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

static int read_functions(struct file *file)
{
	struct directory table = directory(file, DIRECTORY_FUNCTIONS);
	uint64_t at = 0;
	size_t bytes = stored(file, table.rva, &at);

	if (bytes > table.bytes)
		bytes = table.bytes;
	for (size_t i = 0; i < bytes / FUNCTION_BYTES; i++, at += FUNCTION_BYTES) {
		struct range range = {u32(file, at), u32(file, at + 4)};

		if (range.begin < range.end && dnp_vec_push(&file->functions, range))
			return -ENOMEM;
	}
	if (file->functions.n)
		qsort(file->functions.p, file->functions.n, sizeof(struct range), by_begin);
	return 0;
}

/* The first function that begins behind an offset in the image. */
static size_t next_function(const struct file *file, uint32_t rva)
{
	size_t low = 0, high = file->functions.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->functions.p[middle].begin <= rva)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- Names */

static int add(struct file *file, struct dnp_str name, uint32_t rva, uint32_t rank)
{
	const struct section *section = section_of(file, rva);

	if (!section || !section->executable)
		return 0;
	return dnp_symbols_add(file->symbols, name, rva, rva, rank);
}

/* Up to the zero; empty: there is none, or it is too long. */
static struct dnp_str text_at(struct file *file, uint64_t at, size_t most)
{
	const char *text = (const char *)file->p + at, *end;

	if (most > NAME_MAX_BYTES)
		most = NAME_MAX_BYTES;
	if (most > file->texts_left)
		most = (size_t)file->texts_left;
	end = most ? memchr(text, 0, most) : NULL;
	file->texts_left -= end ? (size_t)(end - text) : most;
	return end ? (struct dnp_str){text, (size_t)(end - text)} : (struct dnp_str){0};
}

static struct dnp_str text_of(struct file *file, uint32_t rva)
{
	uint64_t at = 0;
	size_t most = stored(file, rva, &at);

	return text_at(file, at, most);
}

struct exports {
	struct directory place;
	uint32_t base;                    /* number of the first function */
	uint64_t functions, names, which; /* tables, in the file */
	size_t n_functions, n_names;
};

/* How many of `n` elements are there. */
static size_t elements(
	const struct file *file, uint32_t rva, uint32_t n, size_t bytes, uint64_t *at)
{
	size_t most = stored(file, rva, at) / bytes;

	return n < most ? n : most;
}

static bool read_exports(const struct file *file, struct exports *out)
{
	uint64_t at = 0;
	size_t n;

	*out = (struct exports){.place = directory(file, DIRECTORY_EXPORTS)};
	if (!out->place.bytes || stored(file, out->place.rva, &at) < EXPORTS_BYTES)
		return false;
	out->base = u32(file, at + 16);
	out->n_functions = elements(
		file, u32(file, at + 28), u32(file, at + 20), sizeof(uint32_t), &out->functions);
	out->n_names = elements(
		file, u32(file, at + 32), u32(file, at + 24), sizeof(uint32_t), &out->names);
	n = elements(file, u32(file, at + 36), u32(file, at + 24), sizeof(uint16_t), &out->which);
	if (n < out->n_names)
		out->n_names = n;
	return true;
}

/* 0: it has none here. What lies among the exports is the name of another file's function. */
static uint32_t exported(const struct file *file, const struct exports *exports, size_t which)
{
	uint32_t rva = which < exports->n_functions ? u32(file, exports->functions + 4 * which) : 0;

	return rva - exports->place.rva < exports->place.bytes ? 0 : rva;
}

/* They have names, or no more than a number. */
static int add_exports(struct file *file)
{
	struct exports exports;
	int status = 0;

	if (!read_exports(file, &exports))
		return 0;
	for (size_t i = 0; i < exports.n_functions && !status; i++) {
		uint32_t rva = exported(file, &exports, i);
		char name[32];

		snprintf(name, sizeof(name), "Ordinal%u", exports.base + (uint32_t)i);
		status = rva ? add(file, dnp_str(name), rva, RANK_ORDINAL) : 0;
	}
	for (size_t i = 0; i < exports.n_names && !status; i++) {
		uint32_t rva = exported(file, &exports, u16(file, exports.which + 2 * i));
		struct dnp_str name = text_of(file, u32(file, exports.names + 4 * i));

		if (rva && name.n)
			status = add(file, name, rva, RANK_EXPORT + (name.p[0] == '_'));
	}
	return status;
}

/* Eight bytes, or a place in the texts that come behind the symbols. */
static struct dnp_str symbol_name(struct file *file, uint64_t at, uint64_t texts)
{
	uint32_t offset = u32(file, at + 4);
	const char *text = (const char *)file->p + at;

	if (u32(file, at))
		return (struct dnp_str){text, strnlen(text, 8)};
	if (texts + offset >= file->n)
		return (struct dnp_str){0};
	return text_at(file, texts + offset, (size_t)(file->n - texts - offset));
}

static int add_symbol(struct file *file, uint64_t at, uint64_t texts)
{
	uint32_t value = u32(file, at + 8), section = u16(file, at + 12), type = u16(file, at + 14);
	unsigned kind = file->p[at + 16];
	bool function = type >> 4 == 2;
	uint32_t rank = kind == CLASS_STATIC ? RANK_STATIC : RANK_EXTERNAL;
	struct dnp_str name = symbol_name(file, at, texts);

	if (!section || section > file->n_sections || !name.n || name.p[0] == '.')
		return 0;
	if (kind != CLASS_EXTERNAL && !(kind == CLASS_STATIC && function))
		return 0;
	if (value >= file->sections[section - 1].bytes)
		return 0;
	return add(file, name, file->sections[section - 1].rva + value,
		(function ? rank : RANK_UNTYPED) + (name.p[0] == '_'));
}

static int add_symbols(struct file *file)
{
	uint64_t at = u32(file, file->header + FILE_SYMBOLS);
	uint64_t n = u32(file, file->header + FILE_SYMBOL_COUNT), texts = at + n * SYMBOL_BYTES;
	int status = 0;

	if (!at || texts > file->n)
		return 0;
	for (uint64_t i = 0; i < n && !status; i++) {
		status = add_symbol(file, at + i * SYMBOL_BYTES, texts);
		i += file->p[at + i * SYMBOL_BYTES + 17]; /* more about it */
	}
	return status;
}

/* ---- How far they go */

/* Where padding begins that Microsoft's compilers put between functions, or `end`. */
static uint32_t padding(const struct file *file, uint32_t begin, uint32_t end)
{
	static const uint8_t breaks[] = {0xcc, 0xcc};
	const uint8_t *found;
	uint64_t at = 0;
	size_t n = stored(file, begin, &at);

	if (n > end - begin)
		n = end - begin;
	found = n ? memmem(file->p + at, n, breaks, sizeof(breaks)) : NULL;
	return found ? begin + (uint32_t)(found - (file->p + at)) : end;
}

static uint32_t end_of(const struct file *file, uint32_t begin, uint64_t next)
{
	const struct section *section = section_of(file, begin);
	uint64_t end = (uint64_t)section->rva + section->bytes;
	size_t i = next_function(file, begin);

	if (end > next)
		end = next;
	if (i && file->functions.p[i - 1].end > begin)
		return end < file->functions.p[i - 1].end ? (uint32_t)end
							  : file->functions.p[i - 1].end;
	if (i < file->functions.n && end > file->functions.p[i].begin)
		end = file->functions.p[i].begin;
	if (end > (uint64_t)begin + UNSIZED)
		end = (uint64_t)begin + UNSIZED;
	return padding(file, begin, (uint32_t)end);
}

static void set_ends(const struct file *file)
{
	struct dnp_symbol *list = file->symbols->list.p;
	size_t n = file->symbols->list.n;

	for (size_t i = 0; i < n; i++)
		list[i].end = end_of(
			file, (uint32_t)list[i].start, i + 1 < n ? list[i + 1].start : UINT32_MAX);
}

int dnp_symbols_add_pe(
	struct dnp_symbols *symbols, const uint8_t *bytes, size_t n, struct dnp_str build_id)
{
	struct file file = {.p = bytes, .n = n, .symbols = symbols, .texts_left = 4 * (uint64_t)n};
	int status;

	file.header = u32(&file, DOS_NEW_HEADER);
	if (!is_pe(&file))
		return -ENOEXEC;
	if (!same_build(&file, build_id))
		return -EBADMSG;
	read_sections(&file);
	status = read_functions(&file);
	if (!status)
		status = add_exports(&file);
	if (!status)
		status = add_symbols(&file);
	if (!status) {
		dnp_symbols_sort(symbols);
		set_ends(&file);
	}
	dnp_vec_done(&file.functions);
	return status;
}
