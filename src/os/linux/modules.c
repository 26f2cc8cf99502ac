/* SPDX-License-Identifier: MIT */
/* What the dynamic linker knows. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/forks.h"
#include "os/mem.h"
#include "os/module_list.h"
#include "os/modules.h"

/* As glibc's dlfcn.h has it, from 2.35 on. */
struct found_object {
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame; /* the segment PT_GNU_EH_FRAME */
	unsigned long long reserved[7];
};

/* _dl_find_object; NULL: this C library has none, or nobody has looked yet. */
static int (*_Atomic find_object)(void *pc, struct found_object *found);

/* Once: dlsym waits while another thread is inside dlopen. Under the lock of the modules. */
static void look_for_find_object(void)
{
	static bool looked;
	int (*found)(void *, struct found_object *);
	void *function;

	if (looked)
		return;
	looked = true;
	function = dlsym(RTLD_DEFAULT, "_dl_find_object");
	memcpy(&found, &function, sizeof(found));
	atomic_store(&find_object, found);
}

SIGSAFE bool dnp_module_find_new(uintptr_t pc, struct dnp_module_code *code)
{
	int (*find)(void *, struct found_object *) = atomic_load(&find_object);
	struct found_object found;

	if (!find)
		return false;
	/* sigsafe: without a lock, for handlers of signals and of exceptions (glibc's manual) */
	if (find((void *)pc, &found) || !found.eh_frame) /* NOLINT(performance-no-int-to-ptr) */
		return false;
	*code = (struct dnp_module_code){.low = (uintptr_t)found.map_start,
		.high = (uintptr_t)found.map_end,
		.eh_frame_hdr = (uintptr_t)found.eh_frame};
	return true;
}

/* With one of its locks, which the C library does not make anew for a forked child. */
static int ask_linker(int (*visit)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	int result;

	dnp_forks_hold();
	result = dl_iterate_phdr(visit, arg);
	dnp_forks_release();
	return result;
}

static int read_version(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct dnp_module_version *version = arg;

	(void)size;
	version->adds = info->dlpi_adds;
	version->subs = info->dlpi_subs;
	return 1;
}

void dnp_modules_version(struct dnp_module_version *version)
{
	*version = (struct dnp_module_version){0};
	ask_linker(read_version, version);
}

void dnp_modules_version_done(void)
{
	/* It calls nobody. */
}

#define NOTE_BYTES_MAX 1024
#define PATH_BYTES_MAX 4096

/* Takes the id out of the notes of one segment; anything odd means there is none. */
static void find_build_id(struct dnp_elf_module *module, uintptr_t notes, size_t bytes)
{
	uint8_t copy[NOTE_BYTES_MAX];
	ElfW(Nhdr) note;

	if (bytes > sizeof(copy))
		bytes = sizeof(copy);
	if (dnp_mem_read(notes, copy, bytes) < 0)
		return;
	for (size_t at = 0; at + sizeof(note) <= bytes;) {
		size_t name, desc;

		memcpy(&note, copy + at, sizeof(note));
		if (note.n_namesz > bytes || note.n_descsz > bytes)
			return;
		name = at + sizeof(note);
		desc = name + ((note.n_namesz + 3U) & ~3U);
		at = desc + ((note.n_descsz + 3U) & ~3U);
		if (at > bytes)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			memcmp(copy + name, "GNU", 4) == 0 && note.n_descsz <= DNP_BUILD_ID_MAX) {
			module->build_id_bytes = note.n_descsz;
			memcpy(module->build_id, copy + desc, note.n_descsz);
			return;
		}
	}
}

static void read_segments(struct dnp_elf_module *module, const struct dl_phdr_info *info)
{
	module->low = UINTPTR_MAX;
	module->bias = info->dlpi_addr;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
			if (begin < module->low)
				module->low = begin;
			if (begin + segment->p_memsz > module->high)
				module->high = begin + segment->p_memsz;
		} else if (segment->p_type == PT_GNU_EH_FRAME) {
			module->eh_frame_hdr = begin;
		} else if (segment->p_type == PT_NOTE && !module->build_id_bytes) {
			find_build_id(module, begin, segment->p_memsz);
		}
	}
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && module->eh_frame_hdr >= begin &&
			module->eh_frame_hdr < begin + segment->p_memsz)
			module->readable_end = begin + segment->p_memsz;
	}
}

/* Runs under the dynamic linker's lock: copies, and parses nothing big. */
static int collect(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct dnp_module_collection *all = arg;
	char exe[PATH_BYTES_MAX];
	const char *path = info->dlpi_name ? info->dlpi_name : "";
	struct dnp_elf_module *module;
	size_t length;

	(void)size;
	if (!path[0]) {
		ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

		exe[n > 0 ? n : 0] = '\0';
		path = exe;
	} else if (strncmp(path, "linux-vdso", 10) == 0) {
		path = "[vdso]";
	}
	length = strlen(path) + 1;
	module = calloc(1, sizeof(*module) + length);
	if (!module)
		goto no_memory;
	memcpy(module->path, path, length);
	read_segments(module, info);
	if (module->low < module->high && !dnp_module_collection_add(all, module))
		return 0;
	/* no code in it, or no memory for it */
	all->result = module->low < module->high ? -ENOMEM : 0;
	free(module);
	return all->result != 0;
no_memory:
	all->result = -ENOMEM;
	return 1;
}

void dnp_modules_collect(struct dnp_module_collection *all)
{
	look_for_find_object();
	ask_linker(collect, all);
}
