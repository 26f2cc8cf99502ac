/* SPDX-License-Identifier: MIT */
#include "launch/windows/loader_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "os/windows/nt.h"

#define MODULES_MAX 4096u

/* Entries and their names stand close together, on some twenty pages. */
#define PAGE_BYTES ((uintptr_t)4096)
#define PAGES      64u

/* What was read of another process. A ring: the first goes for one more. */
struct memory {
	HANDLE process; /* borrowed */
	unsigned n;     /* of pages that were read */
	uintptr_t at[PAGES];
	uint8_t bytes[PAGES][PAGE_BYTES];
};

/* NULL: it cannot be read. */
static const uint8_t *page_at(struct memory *memory, uintptr_t at)
{
	unsigned place = memory->n % PAGES;
	SIZE_T got = 0;

	for (unsigned i = 0; i < memory->n && i < PAGES; i++)
		if (memory->at[i] == at)
			return memory->bytes[i];
	memory->at[place] = 0;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	if (!ReadProcessMemory(
		    memory->process, (const void *)at, memory->bytes[place], PAGE_BYTES, &got) ||
		got != PAGE_BYTES)
		return NULL;
	memory->at[place] = at;
	memory->n++;
	return memory->bytes[place];
}

static bool read_at(struct memory *memory, uintptr_t from, void *to, size_t n)
{
	for (uint8_t *out = to; n;) {
		size_t offset = from % PAGE_BYTES;
		size_t part = PAGE_BYTES - offset < n ? PAGE_BYTES - offset : n;
		const uint8_t *page = page_at(memory, from - offset);

		if (!page)
			return false;
		memcpy(out, page + offset, part);
		from += part;
		out += part;
		n -= part;
	}
	return true;
}

/* Where the list's own links are; 0: there is no list. */
static uintptr_t find_list(struct memory *memory)
{
	struct dnp_process_basic basic = {0};
	uintptr_t loader;

	if (!NT_SUCCESS(NtQueryInformationProcess(
		    memory->process, ProcessBasicInformation, &basic, sizeof(basic), NULL)) ||
		!basic.peb ||
		!read_at(memory, (uintptr_t)basic.peb + offsetof(PEB, Ldr), &loader,
			sizeof(loader)) ||
		!loader)
		return 0;
	return loader + offsetof(PEB_LDR_DATA, InMemoryOrderModuleList);
}

/* The names of all, as they stand there. -errno: what was read is no list. */
static int read_list(struct memory *memory, UNICODE_STRING *names, unsigned *n)
{
	uintptr_t list = find_list(memory), before = list, at;
	LDR_DATA_TABLE_ENTRY entry;
	LIST_ENTRY links;

	if (!list || !read_at(memory, list, &links, sizeof(links)))
		return -EAGAIN;
	at = (uintptr_t)links.Flink;
	for (*n = 0; at != list && *n < MODULES_MAX; (*n)++) {
		if (!read_at(memory, at - offsetof(LDR_DATA_TABLE_ENTRY, InMemoryOrderLinks),
			    &entry, sizeof(entry)) ||
			(uintptr_t)entry.InMemoryOrderLinks.Blink != before)
			return -EAGAIN;
		names[*n] = entry.FullDllName;
		before = at;
		at = (uintptr_t)entry.InMemoryOrderLinks.Flink;
	}
	return *n ? 0 : -EAGAIN;
}

/* One that has gone meanwhile has no name any more. */
static int visit_each(struct memory *memory, const UNICODE_STRING *names, unsigned n,
	int (*visit)(const wchar_t *path, void *context), void *context)
{
	auto_free wchar_t *path = calloc(1, UINT16_MAX + sizeof(*path));
	int ret = path ? 0 : -ENOMEM;

	for (unsigned i = 0; i < n && !ret; i++) {
		size_t units = names[i].Length / sizeof(*path);

		if (!units ||
			!read_at(memory, (uintptr_t)names[i].Buffer, path, units * sizeof(*path)))
			continue;
		path[units] = L'\0';
		ret = visit(path, context);
	}
	return ret;
}

int dnp_loader_each(void *process, int (*visit)(const wchar_t *path, void *context), void *context)
{
	auto_free struct memory *memory = calloc(1, sizeof(*memory));
	auto_free UNICODE_STRING *names = calloc(MODULES_MAX, sizeof(*names));
	unsigned n;
	int ret;

	if (!memory || !names)
		return -ENOMEM;
	memory->process = process;
	ret = read_list(memory, names, &n);
	return ret ? ret : visit_each(memory, names, n, visit, context);
}
