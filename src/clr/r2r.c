/* SPDX-License-Identifier: MIT */
#include "clr/r2r.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "os/clock.h"
#include "os/generation.h"
#include "os/mem.h"

struct list {
	struct list *next; /* out of use: older one */
	uint64_t retired_ns;
	size_t n;
	struct dnp_r2r_image *images[]; /* ascending; owned by the process's list */
};

struct gone {
	struct gone *next;
	uint64_t gone_ns;
	struct dnp_r2r_image *image; /* owned */
};

struct runtime_function {
	uint32_t begin, end, unwind_info;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct list *) current;
static struct list *old_lists;   /* owned, under lock */
static struct gone *gone_images; /* owned, under lock */

/* Pairs with the release in publish. */
SIGSAFE static struct list *current_list(void)
{
	return atomic_load_explicit(&current, memory_order_acquire);
}

/* The first whose code ends behind an address. */
SIGSAFE static size_t first_behind(const struct list *list, uintptr_t address)
{
	size_t low = 0, high = list ? list->n : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->images[middle]->high <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

SIGSAFE static struct dnp_r2r_image *find(uintptr_t pc)
{
	const struct list *list = current_list();
	size_t i = first_behind(list, pc);

	if (!list || i == list->n || pc < list->images[i]->low)
		return NULL;
	return list->images[i];
}

SIGSAFE const struct dnp_r2r_image *dnp_r2r_find(uintptr_t pc)
{
	return find(pc);
}

SIGSAFE bool dnp_r2r_is_inside(uintptr_t address)
{
	const struct list *list = current_list();
	size_t i = first_behind(list, address);

	if (!list)
		return false;
	/* Before or in the code of one image, or behind that of another. */
	return (i < list->n && address >= list->images[i]->base) ||
		(i && address - list->images[i - 1]->base < list->images[i - 1]->pe.image_bytes);
}

/* As dnp_pe_section_of, for handlers: bytes from rva to the end of its section, 0: in none. */
SIGSAFE static uint32_t bytes_from(const struct dnp_pe *pe, uint32_t rva)
{
	for (uint32_t i = 0; i < pe->n_sections; i++) {
		if (rva - pe->sections[i].rva < pe->sections[i].bytes)
			return pe->sections[i].bytes - (rva - pe->sections[i].rva);
	}
	return 0;
}

SIGSAFE bool dnp_r2r_function_at(
	const struct dnp_r2r_image *image, uintptr_t pc, struct dnp_r2r_function *function)
{
	/* Checked when the image was added: the whole table is in a section that is mapped. */
	const struct runtime_function *table =
		(const void *)image->functions; /* NOLINT(performance-no-int-to-ptr) */
	uint32_t rva = (uint32_t)(pc - image->base), low = 0, high = image->n_functions;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table[middle].begin <= rva)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || rva >= table[low - 1].end)
		return false;
	function->begin = image->base + table[low - 1].begin;
	function->end = image->base + table[low - 1].end;
	function->unwind_info = image->base + table[low - 1].unwind_info;
	function->unwind_bytes = bytes_from(&image->pe, table[low - 1].unwind_info);
	return function->unwind_bytes > 0;
}

/* ---- What has been called */

bool dnp_r2r_is_called_before(uintptr_t pc)
{
	const struct dnp_r2r_image *image = find(pc);

	return image &&
		pc - image->base >= atomic_load_explicit(&image->called, memory_order_relaxed);
}

/* Of two at once the higher may stay: then less is known than could be. */
void dnp_r2r_called_before(uintptr_t pc)
{
	struct dnp_r2r_image *image = find(pc);

	if (image && !dnp_r2r_is_called_before(pc))
		atomic_store_explicit(
			&image->called, (uint32_t)(pc - image->base), memory_order_relaxed);
}

/* ---- Handlers */

/*
 * dotnet/runtime, docs/design/coreclr/botr/readytorun-format.md: the exception clauses of all
 * methods stand in the image one after the other; a method's end where the next one's begin.
 */
struct method {
	uint32_t begin, clauses;
};

struct clause {
	uint32_t flags, try_begin, try_end, handler_begin, handler_end, type_or_filter;
};

enum { CLAUSE_KIND = 7, CLAUSE_CATCH = 0, CLAUSE_FILTER = 1 };

SIGSAFE static const void *in_image(uintptr_t address)
{
	return (const void *)address; /* NOLINT(performance-no-int-to-ptr) */
}

SIGSAFE static enum dnp_r2r_part part_by_clause(const struct clause *clause, uint32_t offset)
{
	unsigned kind = clause->flags & CLAUSE_KIND;

	if (kind == CLAUSE_FILTER && clause->type_or_filter == offset)
		return DNP_R2R_CATCH;
	if (clause->handler_begin != offset)
		return DNP_R2R_BODY;
	return kind == CLAUSE_CATCH || kind == CLAUSE_FILTER ? DNP_R2R_CATCH : DNP_R2R_FINALLY;
}

/* The clauses of the last method that begins at or before rva. */
SIGSAFE static uint32_t find_clauses(const struct dnp_r2r_image *image, uint32_t rva,
	const struct clause **clauses, uint32_t *method)
{
	const struct method *methods = in_image(image->methods);
	uint32_t low = 0, high = image->n_methods;
	uint32_t bytes;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (methods[middle].begin <= rva)
			low = middle + 1;
		else
			high = middle;
	}
	/* The last entry only says where the clauses end. */
	if (!low || low >= image->n_methods || methods[low].clauses <= methods[low - 1].clauses)
		return 0;
	bytes = methods[low].clauses - methods[low - 1].clauses;
	if (bytes > bytes_from(&image->pe, methods[low - 1].clauses))
		return 0;
	*clauses = in_image(image->base + methods[low - 1].clauses);
	*method = methods[low - 1].begin;
	return bytes / (uint32_t)sizeof(struct clause);
}

SIGSAFE enum dnp_r2r_part dnp_r2r_part_of(const struct dnp_r2r_image *image,
	const struct dnp_r2r_function *function, struct dnp_r2r_function *method)
{
	uint32_t rva = (uint32_t)(function->begin - image->base), begin;
	const struct clause *clauses;
	uint32_t n = find_clauses(image, rva, &clauses, &begin);

	for (uint32_t i = 0; i < n && begin != rva; i++) {
		enum dnp_r2r_part part = part_by_clause(&clauses[i], rva - begin);

		if (part != DNP_R2R_BODY)
			return dnp_r2r_function_at(image, image->base + begin, method)
				? part
				: DNP_R2R_BODY;
	}
	return DNP_R2R_BODY;
}

/* ---- Checking an image */

/* Samples of the table: ascending, in code, with a description that lies in the image. */
static bool table_makes_sense(const struct dnp_r2r_image *image)
{
	uint32_t step = image->n_functions / 64 + 1;
	struct runtime_function f[2];

	for (uint32_t i = 0; i < image->n_functions; i += step) {
		uint32_t n = i + 1 < image->n_functions ? 2 : 1;
		uint8_t version;

		if (dnp_mem_read(image->functions + i * sizeof(f[0]), f, n * sizeof(f[0])) < 0)
			return false;
		if (f[0].begin >= f[0].end || image->base + f[0].begin < image->low ||
			image->base + f[0].end > image->high || (n == 2 && f[0].end > f[1].begin) ||
			!bytes_from(&image->pe, f[0].unwind_info) ||
			dnp_mem_read(image->base + f[0].unwind_info, &version, 1) < 0 ||
			(version & 7) == 0 || (version & 7) > 2)
			return false;
	}
	return true;
}

/* Sections are mapped one by one; handlers read them without a guard, so all must be there. */
static bool sections_are_mapped(const struct dnp_r2r_image *image)
{
	uint8_t byte;

	for (uint32_t i = 0; i < image->pe.n_sections; i++) {
		const struct dnp_pe_section *section = &image->pe.sections[i];

		if (section->bytes &&
			(dnp_mem_read(image->base + section->rva, &byte, 1) < 0 ||
				dnp_mem_read(image->base + section->rva + section->bytes - 1, &byte,
					1) < 0))
			return false;
	}
	return true;
}

/* dotnet/runtime, corhdr.h: IMAGE_COR20_HEADER; readytorun.h: READYTORUN_HEADER. */
enum { CLR_NATIVE_HEADER = 64, R2R_SIGNATURE = 0x00525452, R2R_SECTIONS_MAX = 64 };
enum { SECTION_EXCEPTION_INFO = 104, SECTION_OWNER_COMPOSITE = 116 };

struct r2r_header {
	uint32_t signature;
	uint16_t major, minor;
	uint32_t flags, n_sections;
};

struct r2r_section {
	uint32_t type, rva, bytes;
};

/* False: there is none, or not within the image. */
static bool find_r2r_section(
	uintptr_t base, const struct dnp_pe *pe, uint32_t type, struct r2r_section *found)
{
	struct r2r_section sections[R2R_SECTIONS_MAX];
	struct r2r_header header;
	uint32_t rva;

	if (pe->clr_bytes < CLR_NATIVE_HEADER + sizeof(rva) ||
		dnp_mem_read(base + pe->clr_rva + CLR_NATIVE_HEADER, &rva, sizeof(rva)) < 0 ||
		!rva || dnp_mem_read(base + rva, &header, sizeof(header)) < 0 ||
		header.signature != R2R_SIGNATURE || header.n_sections > R2R_SECTIONS_MAX ||
		dnp_mem_read(base + rva + sizeof(header), sections,
			header.n_sections * sizeof(sections[0])) < 0)
		return false;
	for (uint32_t i = 0; i < header.n_sections; i++) {
		if (sections[i].type != type ||
			!dnp_pe_section_of(pe, sections[i].rva, sections[i].bytes))
			continue;
		*found = sections[i];
		return true;
	}
	return false;
}

/* Where the table of methods with clauses is, if it is one that can be believed. */
static void find_methods(struct dnp_r2r_image *image)
{
	struct r2r_section section;

	if (!find_r2r_section(image->base, &image->pe, SECTION_EXCEPTION_INFO, &section))
		return;
	image->methods = image->base + section.rva;
	image->n_methods = section.bytes / (uint32_t)sizeof(struct method);
}

static int read_pe(uintptr_t base, struct dnp_pe *pe)
{
	uint8_t header[DNP_PE_HEADER_MAX];
	size_t bytes = sizeof(header);

	/* Small images have no second half of the page. */
	while (dnp_mem_read(base, header, bytes) < 0) {
		bytes /= 2;
		if (bytes < 512)
			return -EFAULT;
	}
	return dnp_pe_parse(header, bytes, pe);
}

static int read_image(uintptr_t base, const struct dnp_pe *pe, struct dnp_r2r_image *image)
{
	image->pe = *pe;
	image->base = base;
	image->low = UINTPTR_MAX;
	atomic_init(&image->called, UINT32_MAX);
	for (uint32_t i = 0; i < image->pe.n_sections; i++) {
		const struct dnp_pe_section *section = &image->pe.sections[i];

		if (!section->executable)
			continue;
		if (base + section->rva < image->low)
			image->low = base + section->rva;
		if (base + section->rva + section->bytes > image->high)
			image->high = base + section->rva + section->bytes;
	}
	image->functions = base + image->pe.exceptions_rva;
	image->n_functions = image->pe.exceptions_bytes / (uint32_t)sizeof(struct runtime_function);
	if (!image->n_functions || image->low >= image->high || !sections_are_mapped(image) ||
		!table_makes_sense(image))
		return -ENOEXEC;
	find_methods(image);
	return 0;
}

/* ---- Changing the list; under lock */

static struct list *new_list(size_t n)
{
	struct list *list = calloc(1, sizeof(*list) + n * sizeof(list->images[0]));

	if (list)
		list->n = n;
	return list;
}

static void publish(struct list *list)
{
	struct list *old = current_list();

	atomic_store_explicit(&current, list, memory_order_release);
	if (old) {
		old->retired_ns = dnp_now_ns();
		old->next = old_lists;
		old_lists = old;
	}
}

static bool overlaps(const struct dnp_r2r_image *a, const struct dnp_r2r_image *b)
{
	return a->low < b->high && b->low < a->high;
}

static bool remove_base(uintptr_t base)
{
	const struct list *old = current_list();
	struct gone *gone;
	struct list *list;
	size_t i = 0;

	while (old && i < old->n && old->images[i]->base != base)
		i++;
	if (!old || i == old->n)
		return false;
	gone = malloc(sizeof(*gone));
	list = new_list(old->n - 1);
	if (!gone || !list) {
		free(gone);
		free(list);
		return false;
	}
	memcpy(list->images, old->images, i * sizeof(old->images[0]));
	memcpy(&list->images[i], &old->images[i + 1], (old->n - 1 - i) * sizeof(old->images[0]));
	publish(list);
	*gone = (struct gone){gone_images, dnp_now_ns(), old->images[i]};
	gone_images = gone;
	dnp_generation_bump();
	return true;
}

static int add_image(struct dnp_r2r_image *image)
{
	const struct list *old = current_list();
	struct list *list;
	size_t at = 0;

	for (size_t i = 0; old && i < old->n; i++) {
		if (overlaps(old->images[i], image)) { /* its unload was not seen */
			if (!remove_base(old->images[i]->base))
				return -ENOMEM;
			return add_image(image);
		}
	}
	list = new_list((old ? old->n : 0) + 1);
	if (!list)
		return -ENOMEM;
	while (old && at < old->n && old->images[at]->low < image->low) {
		list->images[at] = old->images[at];
		at++;
	}
	list->images[at] = image;
	for (; old && at < old->n; at++)
		list->images[at + 1] = old->images[at];
	publish(list);
	return 0;
}

static bool known(const struct dnp_r2r_image *image)
{
	const struct list *list = current_list();

	for (size_t i = 0; list && i < list->n; i++) {
		if (list->images[i]->base == image->base && list->images[i]->low == image->low &&
			list->images[i]->high == image->high &&
			list->images[i]->n_functions == image->n_functions)
			return true;
	}
	return false;
}

static int add(uintptr_t base, const struct dnp_pe *pe, uint64_t composite)
{
	struct dnp_r2r_image *image = calloc(1, sizeof(*image));
	bool taken = false;
	int result;

	if (!image)
		return -ENOMEM;
	image->composite = composite;
	result = read_image(base, pe, image);
	pthread_mutex_lock(&lock);
	if (result == 0 && !known(image)) {
		result = add_image(image);
		taken = result == 0;
	}
	pthread_mutex_unlock(&lock);
	if (!taken)
		free(image);
	return result;
}

/* ---- Composite images */

/*
 * Many assemblies compiled into one file: each of them, a component, has a header of its own, which
 * names that file, and no code. The runtime maps it before it tells of the first component.
 */
#define COMPOSITE_NAME_MAX 256

/* False: the image is no component. */
static bool composite_of(uintptr_t base, const struct dnp_pe *pe, char name[COMPOSITE_NAME_MAX])
{
	struct r2r_section section;

	return find_r2r_section(base, pe, SECTION_OWNER_COMPOSITE, &section) && section.bytes &&
		section.bytes <= COMPOSITE_NAME_MAX &&
		dnp_mem_read(base + section.rva, name, section.bytes) == 0 &&
		!name[section.bytes - 1] && name[0];
}

/* The last name of which no file was mapped: each of its components asks for it. */
static _Atomic uint64_t missing;

static bool composite_known(uint64_t composite)
{
	const struct list *list;
	bool found = false;

	pthread_mutex_lock(&lock);
	list = current_list();
	for (size_t i = 0; list && i < list->n && !found; i++)
		found = list->images[i]->composite == composite;
	pthread_mutex_unlock(&lock);
	return found;
}

/* Of a file that is mapped more than once, the place where it is laid out to be run. */
static bool add_composite_at(uintptr_t base, void *context)
{
	const uint64_t *composite = context;
	struct dnp_pe pe;

	return read_pe(base, &pe) == 0 && add(base, &pe, *composite) == 0;
}

static int add_composite(const char *name)
{
	uint64_t composite = dnp_hash_bytes(dnp_str(name));

	if (composite_known(composite))
		return 0;
	if (composite == atomic_load_explicit(&missing, memory_order_relaxed))
		return -ENOENT;
	if (dnp_mem_find_file(name, add_composite_at, &composite))
		return 0;
	atomic_store_explicit(&missing, composite, memory_order_relaxed);
	return -ENOENT;
}

/* ---- For everybody */

int dnp_r2r_add(uintptr_t base)
{
	char composite[COMPOSITE_NAME_MAX];
	struct dnp_pe pe;
	int result = read_pe(base, &pe);

	if (result < 0)
		return result;
	return composite_of(base, &pe, composite) ? add_composite(composite) : add(base, &pe, 0);
}

bool dnp_r2r_remove(uintptr_t base)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = remove_base(base);
	pthread_mutex_unlock(&lock);
	return found;
}

void dnp_r2r_reclaim(uint64_t before_ns)
{
	pthread_mutex_lock(&lock);
	for (struct list **at = &old_lists; *at;) {
		struct list *list = *at;

		if (list->retired_ns < before_ns) {
			*at = list->next;
			free(list);
		} else {
			at = &list->next;
		}
	}
	for (struct gone **at = &gone_images; *at;) {
		struct gone *gone = *at;

		if (gone->gone_ns < before_ns) {
			*at = gone->next;
			free(gone->image);
			free(gone);
		} else {
			at = &gone->next;
		}
	}
	pthread_mutex_unlock(&lock);
}

void dnp_r2r_done(void)
{
	struct list *list;

	dnp_r2r_reclaim(UINT64_MAX);
	atomic_store_explicit(&missing, 0, memory_order_relaxed);
	pthread_mutex_lock(&lock);
	list = current_list();
	atomic_store_explicit(&current, NULL, memory_order_relaxed);
	dnp_generation_bump();
	for (size_t i = 0; list && i < list->n; i++)
		free(list->images[i]);
	free(list);
	pthread_mutex_unlock(&lock);
}
