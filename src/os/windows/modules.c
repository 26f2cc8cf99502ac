/* SPDX-License-Identifier: MIT */
/* What the loader knows. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <psapi.h> /* does not stand alone */

#include "base/clean.h"
#include "os/library.h"
#include "os/mem.h"
#include "os/module_list.h"
#include "os/modules.h"
#include "os/windows/modules.h"
#include "os/windows/nt.h"
#include "os/windows/wide.h"

/* ---- That something has changed */

typedef LONG(NTAPI *register_notification)(
	ULONG flags, dnp_module_heard heard, void *context, void **cookie);

typedef LONG(NTAPI *unregister_notification)(void *cookie);

static _Atomic uint64_t adds, subs;
static bool asked;   /* to be told of changes */
static void *cookie; /* NULL: each look is as if there was one */

static void *find(const char *name)
{
	return (void *)(uintptr_t)GetProcAddress(GetModuleHandleW(L"ntdll.dll"), name);
}

void *dnp_module_listen(dnp_module_heard heard)
{
	register_notification ask = (register_notification)find("LdrRegisterDllNotification");
	void *made;

	return ask && !ask(0, heard, NULL, &made) ? made : NULL;
}

bool dnp_module_ignore(void *made)
{
	unregister_notification undo =
		(unregister_notification)find("LdrUnregisterDllNotification");

	return undo && !undo(made);
}

static VOID CALLBACK on_change(ULONG reason, const struct dnp_module_change *change, void *context)
{
	(void)change;
	(void)context;
	atomic_fetch_add(reason == DNP_MODULE_LOADED ? &adds : &subs, 1);
}

void dnp_modules_version_done(void)
{
	if (cookie && !dnp_module_ignore(cookie))
		dnp_library_keep();
	cookie = NULL;
	asked = false;
}

void dnp_modules_version(struct dnp_module_version *version)
{
	if (!asked)
		cookie = dnp_module_listen(on_change);
	asked = true;
	if (!cookie)
		atomic_fetch_add(&adds, 1);
	*version = (struct dnp_module_version){
		atomic_load(&adds) + 1, atomic_load(&subs)}; /* never as it is at first */
}

/* ---- What is there */

#define PATH_UNITS_MAX 32768
#define SECTIONS_MAX   96 /* the loader takes no more */

/* From the first to the last byte of code. False: there is none, or it is gone. */
static bool read_sections(struct dnp_elf_module *module, uintptr_t at, unsigned n)
{
	IMAGE_SECTION_HEADER sections[SECTIONS_MAX];

	if (n > SECTIONS_MAX || dnp_mem_read(at, sections, n * sizeof(sections[0])))
		return false;
	module->low = UINTPTR_MAX;
	for (unsigned i = 0; i < n; i++) {
		uintptr_t begin = module->bias + sections[i].VirtualAddress;
		uintptr_t end = begin + sections[i].Misc.VirtualSize;

		if (!(sections[i].Characteristics & IMAGE_SCN_MEM_EXECUTE))
			continue;
		if (begin < module->low)
			module->low = begin;
		if (end > module->high)
			module->high = end;
	}
	return module->low < module->high;
}

/* What tools that look for a file by what is loaded compare; read/pe_symbols.c does. */
static void identify(struct dnp_elf_module *module, const IMAGE_NT_HEADERS64 *nt)
{
	uint32_t id[] = {nt->FileHeader.TimeDateStamp, nt->OptionalHeader.SizeOfImage,
		nt->OptionalHeader.CheckSum};

	memcpy(module->build_id, id, sizeof(id));
	module->build_id_bytes = sizeof(id);
}

/* The headers of an image, and where those of its sections stand. */
SIGSAFE static bool read_headers(uintptr_t base, IMAGE_NT_HEADERS64 *nt, uintptr_t *sections)
{
	IMAGE_DOS_HEADER dos;
	uintptr_t at;

	if (dnp_mem_read(base, &dos, sizeof(dos)))
		return false;
	at = base + (uint32_t)dos.e_lfanew;
	if (dnp_mem_read(at, nt, sizeof(*nt)) || nt->Signature != IMAGE_NT_SIGNATURE ||
		nt->OptionalHeader.Magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC)
		return false;
	*sections = at + offsetof(IMAGE_NT_HEADERS64, OptionalHeader) +
		nt->FileHeader.SizeOfOptionalHeader;
	return true;
}

/* Bytes of the table of functions; 0: there is none. */
SIGSAFE static uint32_t find_functions(
	const IMAGE_NT_HEADERS64 *nt, uintptr_t base, uintptr_t *functions)
{
	const IMAGE_DATA_DIRECTORY *found =
		&nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION];
	uint32_t image_bytes = nt->OptionalHeader.SizeOfImage;

	if (!found->Size || found->VirtualAddress >= image_bytes ||
		found->Size > image_bytes - found->VirtualAddress)
		return 0;
	*functions = base + found->VirtualAddress;
	return found->Size;
}

/* Nothing calls it. */
SIGSAFE static uintptr_t find_thread_start(const IMAGE_NT_HEADERS64 *nt, uintptr_t base)
{
	uintptr_t start = (uintptr_t)RtlUserThreadStart;

	return start - base < nt->OptionalHeader.SizeOfImage ? start : 0;
}

static bool read_image(struct dnp_elf_module *module)
{
	IMAGE_NT_HEADERS64 nt;
	uintptr_t sections;

	if (!read_headers(module->bias, &nt, &sections))
		return false;
	identify(module, &nt);
	module->image_bytes = nt.OptionalHeader.SizeOfImage;
	module->functions_bytes = find_functions(&nt, module->bias, &module->functions);
	module->thread_start = find_thread_start(&nt, module->bias);
	return read_sections(module, sections, nt.FileHeader.NumberOfSections);
}

bool dnp_module_section(uintptr_t base, const char *name, uintptr_t *at, size_t *bytes)
{
	IMAGE_SECTION_HEADER sections[SECTIONS_MAX];
	IMAGE_NT_HEADERS64 nt;
	uintptr_t headers;
	unsigned n;

	if (!read_headers(base, &nt, &headers))
		return false;
	n = nt.FileHeader.NumberOfSections;
	if (n > SECTIONS_MAX || dnp_mem_read(headers, sections, n * sizeof(sections[0])))
		return false;
	for (unsigned i = 0; i < n; i++) {
		const IMAGE_SECTION_HEADER *it = &sections[i];

		if (strncmp((const char *)it->Name, name, sizeof(it->Name)) != 0 ||
			!(it->Characteristics & IMAGE_SCN_MEM_WRITE) ||
			it->VirtualAddress >= nt.OptionalHeader.SizeOfImage ||
			it->Misc.VirtualSize > nt.OptionalHeader.SizeOfImage - it->VirtualAddress)
			continue;
		*at = base + it->VirtualAddress;
		*bytes = it->Misc.VirtualSize;
		return true;
	}
	return false;
}

/* Asked of the kernel: the loader's lists have locks. */
SIGSAFE bool dnp_module_find_new(uintptr_t pc, struct dnp_module_code *code)
{
	MEMORY_BASIC_INFORMATION region;
	IMAGE_NT_HEADERS64 nt;
	uintptr_t base, sections;

	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	if (!VirtualQuery((void *)pc, &region, sizeof(region)) || region.State != MEM_COMMIT ||
		region.Type != MEM_IMAGE)
		return false;
	base = (uintptr_t)region.AllocationBase;
	if (!read_headers(base, &nt, &sections))
		return false;
	*code = (struct dnp_module_code){.low = base, .high = base + nt.OptionalHeader.SizeOfImage};
	code->functions_bytes = find_functions(&nt, base, &code->functions);
	code->thread_start = find_thread_start(&nt, base);
	return true;
}

/* NULL: it has no code, is being unloaded, or there is no memory. */
static struct dnp_elf_module *new_module(HMODULE handle, wchar_t *wide)
{
	struct dnp_elf_module *module;
	auto_free char *path = NULL;
	size_t bytes;

	if (!GetModuleFileNameW(handle, wide, PATH_UNITS_MAX))
		return NULL;
	path = dnp_narrow(wide);
	bytes = path ? strlen(path) + 1 : 0;
	module = bytes ? calloc(1, sizeof(*module) + bytes) : NULL;
	if (!module)
		return NULL;
	memcpy(module->path, path, bytes);
	module->bias = (uintptr_t)handle;
	if (read_image(module))
		return module;
	free(module);
	return NULL;
}

static void collect(struct dnp_module_collection *all, HMODULE *handles, size_t n, wchar_t *wide)
{
	for (size_t i = 0; i < n; i++) {
		struct dnp_elf_module *module = new_module(handles[i], wide);

		if (module && dnp_module_collection_add(all, module)) {
			free(module);
			all->result = -ENOMEM;
		}
	}
}

#define FIRST_BYTES (1024 * sizeof(HMODULE))

HMODULE *dnp_module_handles(size_t *n, int *result)
{
	HMODULE *handles = malloc(FIRST_BYTES);
	DWORD room = FIRST_BYTES, bytes = 0;

	*result = -ENOMEM;
	while (handles) {
		HMODULE *more;

		if (!EnumProcessModules(GetCurrentProcess(), handles, room, &bytes)) {
			*result = -EAGAIN;
			break;
		}
		*n = bytes / sizeof(*handles);
		if (bytes <= room) {
			*result = 0;
			return handles;
		}
		room = bytes;
		more = realloc(handles, room);
		if (!more)
			break;
		handles = more;
	}
	free(handles);
	*n = 0;
	return NULL;
}

void dnp_modules_collect(struct dnp_module_collection *all)
{
	auto_free wchar_t *wide = calloc(PATH_UNITS_MAX, sizeof(*wide));
	auto_free HMODULE *handles = NULL;
	size_t n;

	if (!wide) {
		all->result = -ENOMEM;
		return;
	}
	handles = dnp_module_handles(&n, &all->result);
	if (handles)
		collect(all, handles, n, wide);
}
