/* SPDX-License-Identifier: MIT */
#include "os/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <windows.h>

#include "base/clean.h"
#include "os/windows/error.h"
#include "os/windows/wide.h"

#define PAGE_BYTES ((uintptr_t)4096)
#define PAGES_MAX  31u

#define MAY_EXECUTE                                                                                \
	(PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY)

static void *pointer(uintptr_t address)
{
	return (void *)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* Asked of the kernel, which takes none of the process's locks, as of any other process. */
SIGSAFE int dnp_mem_read(uintptr_t address, void *to, size_t n)
{
	SIZE_T got = 0;

	return ReadProcessMemory(GetCurrentProcess(), pointer(address), to, n, &got) && got == n
		? 0
		: -EFAULT;
}

SIGSAFE size_t dnp_mem_read_some(uintptr_t address, void *to, size_t n)
{
	size_t done = 0, most = PAGES_MAX * PAGE_BYTES;

	if (n > most)
		n = most;
	if (!dnp_mem_read(address, to, n))
		return n;
	while (done < n) {
		uintptr_t at = address + done;
		size_t bytes = PAGE_BYTES - at % PAGE_BYTES;

		if (bytes > n - done)
			bytes = n - done;
		if (dnp_mem_read(at, (char *)to + done, bytes))
			break;
		done += bytes;
	}
	return done;
}

SIGSAFE int dnp_mem_is_readable(uintptr_t low, uintptr_t high)
{
	char byte;

	for (; low < high; low = (low | (PAGE_BYTES - 1)) + 1)
		if (dnp_mem_read(low, &byte, 1))
			return 0;
	return 1;
}

/* Wine reads for ReadProcessMemory whatever there is, also where it has taken every right away. */
SIGSAFE bool dnp_mem_may_touch(uintptr_t address)
{
	(void)address;
	return false;
}

/* Code of libraries, and what is compiled ahead of time, is memory of images. */
bool dnp_mem_is_generated_code(uintptr_t address)
{
	MEMORY_BASIC_INFORMATION region;

	return VirtualQuery(pointer(address), &region, sizeof(region)) &&
		region.State == MEM_COMMIT && region.Type != MEM_IMAGE &&
		region.Protect & MAY_EXECUTE;
}

/* What the runtime maps of such files are images that the system loads. */
bool dnp_mem_find_file(
	const char *name, bool (*is_it)(uintptr_t base, void *context), void *context)
{
	auto_free wchar_t *wide = dnp_wide(name);
	HMODULE image = wide ? GetModuleHandleW(wide) : NULL;

	return image && is_it((uintptr_t)image, context);
}

void *dnp_mem_map(size_t bytes)
{
	return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

/* What is committed counts against the limit of all processes together, used or not. */
void *dnp_mem_reserve(size_t bytes)
{
	return VirtualAlloc(NULL, bytes, MEM_RESERVE, PAGE_READWRITE);
}

int dnp_mem_commit(void *from, size_t bytes)
{
	return VirtualAlloc(from, bytes, MEM_COMMIT, PAGE_READWRITE) ? 0 : -ENOMEM;
}

void dnp_mem_decommit(void *pages, size_t bytes)
{
	VirtualFree(pages, bytes, MEM_DECOMMIT);
}

void dnp_mem_unmap(void *pages, size_t bytes)
{
	(void)bytes;
	if (pages)
		VirtualFree(pages, 0, MEM_RELEASE);
}

/* They stay where they are, for somebody may write there meanwhile. */
void dnp_mem_clear(void *pages, size_t bytes)
{
	memset(pages, 0, bytes);
}

static void *share(HANDLE file, size_t bytes)
{
	HANDLE mapping = CreateFileMappingW(file, NULL, PAGE_READWRITE, 0, (DWORD)bytes, NULL);
	void *view;

	if (!mapping)
		return NULL;
	view = MapViewOfFile(mapping, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, bytes);
	CloseHandle(mapping); /* the view keeps it */
	return view;
}

void *dnp_mem_share(const char *path, size_t bytes)
{
	wchar_t *wide = dnp_wide_path(path);
	HANDLE file;
	void *view;

	if (!wide)
		return NULL;
	file = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE,
		FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
		FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	free(wide);
	view = file != INVALID_HANDLE_VALUE ? share(file, bytes) : NULL;
	if (!view)
		errno = -dnp_windows_error();
	if (file != INVALID_HANDLE_VALUE)
		CloseHandle(file);
	return view;
}

void dnp_mem_unshare(void *shared, size_t bytes)
{
	(void)bytes;
	UnmapViewOfFile(shared);
}

void dnp_mem_want_large_pages(void *memory, size_t bytes)
{
	/* They are for those who may lock memory, and are no hint here. */
	(void)memory;
	(void)bytes;
}

void dnp_mem_want_small_pages(void *pages, size_t bytes)
{
	(void)pages;
	(void)bytes;
}

void dnp_mem_make_pages_large(void *from, const void *end)
{
	(void)from;
	(void)end;
}
