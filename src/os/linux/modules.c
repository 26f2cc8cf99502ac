/* SPDX-License-Identifier: MIT */
/*
 * A module is one allocation; the published list holds pointers to them, sorted by address. Lists
 * and modules that are out of use wait in two singly linked lists, newest first.
 */
#include "os/modules.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/generation.h"
#include "os/mem.h"

struct entry {
	uintptr_t low, high;
	struct dnp_elf_module *module; /* owned by the list of modules */
};

struct list {
	struct list *next; /* older one, when out of use */
	uint64_t retired_ns;
	size_t n;
	struct entry entries[];
};

struct gone {
	struct gone *next;
	struct dnp_elf_module *module; /* owned */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct list *) current;
static struct list *retired_lists; /* owned, under lock */
static struct gone *gone_modules;  /* owned, under lock */
static uint64_t seen_adds, seen_subs;
static uint32_t last_id;

/* Pairs with the release in publish: what the list points to is complete. */
SIGSAFE static struct list *current_list(void)
{
	return atomic_load_explicit(&current, memory_order_acquire);
}

SIGSAFE struct dnp_elf_module *dnp_module_find(uintptr_t pc)
{
	const struct list *list = current_list();
	size_t low = 0, high = list ? list->n : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->entries[middle].high <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!list || low == list->n || pc < list->entries[low].low)
		return NULL;
	return list->entries[low].module;
}

struct dnp_elf_module *dnp_module_find_at(uintptr_t pc, uint64_t time_ns)
{
	struct dnp_elf_module *found = dnp_module_find(pc);

	if (found && found->seen_ns <= time_ns)
		return found;
	pthread_mutex_lock(&lock);
	for (struct gone *g = gone_modules; g; g = g->next) {
		if (pc >= g->module->low && pc < g->module->high && time_ns <= g->module->gone_ns) {
			found = g->module;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}

struct dnp_elf_module *dnp_module_get(size_t i)
{
	const struct list *list = current_list();

	return list && i < list->n ? list->entries[i].module : NULL;
}

/* ---- What the dynamic linker knows */

struct version {
	uint64_t adds, subs;
};

static int read_version(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct version *version = arg;

	(void)size;
	version->adds = info->dlpi_adds;
	version->subs = info->dlpi_subs;
	return 1;
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

struct collection {
	struct dnp_elf_module **modules; /* owned until handed over */
	size_t n, room;
	int result;
};

/* Runs under the dynamic linker's lock: copies, and parses nothing big. */
static int collect(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct collection *all = arg;
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
	if (all->n == all->room) {
		size_t room = all->room ? all->room * 2 : 64;
		struct dnp_elf_module **more = realloc(all->modules, room * sizeof(*more));

		if (!more)
			goto no_memory;
		all->modules = more;
		all->room = room;
	}
	length = strlen(path) + 1;
	module = calloc(1, sizeof(*module) + length);
	if (!module)
		goto no_memory;
	memcpy(module->path, path, length);
	read_segments(module, info);
	if (module->low < module->high)
		all->modules[all->n++] = module;
	else
		free(module); /* no code in it */
	return 0;
no_memory:
	all->result = -ENOMEM;
	return 1;
}

static int by_address(const void *a, const void *b)
{
	const struct dnp_elf_module *const *x = a, *const *y = b;

	return ((*x)->low > (*y)->low) - ((*x)->low < (*y)->low);
}

static bool same_module(const struct dnp_elf_module *a, const struct dnp_elf_module *b)
{
	return a->low == b->low && a->high == b->high && a->bias == b->bias &&
		a->build_id_bytes == b->build_id_bytes &&
		memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 &&
		strcmp(a->path, b->path) == 0;
}

/* ---- Taking over; under lock */

/* Puts modules that are known already in the place of their copies; returns how many are new. */
static int keep_known(struct collection *all, const struct list *old, uint64_t now_ns)
{
	int fresh = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct dnp_elf_module *known = NULL;

		for (size_t k = 0; old && k < old->n && !known; k++) {
			if (same_module(old->entries[k].module, all->modules[i]))
				known = old->entries[k].module;
		}
		if (known) {
			free(all->modules[i]);
			all->modules[i] = known;
		} else {
			all->modules[i]->id = ++last_id;
			all->modules[i]->seen_ns = now_ns;
			fresh++;
		}
	}
	return fresh;
}

static bool contains(const struct collection *all, const struct dnp_elf_module *module)
{
	for (size_t i = 0; i < all->n; i++) {
		if (all->modules[i] == module)
			return true;
	}
	return false;
}

static int retire_missing(const struct collection *all, struct list *old)
{
	int missing = 0;

	for (size_t k = 0; old && k < old->n; k++) {
		struct gone *gone;

		if (contains(all, old->entries[k].module))
			continue;
		gone = malloc(sizeof(*gone));
		missing++;
		if (!gone)
			continue; /* leaked rather than freed under a reader */
		old->entries[k].module->gone_ns = dnp_now_ns();
		gone->module = old->entries[k].module;
		gone->next = gone_modules;
		gone_modules = gone;
	}
	return missing;
}

/* Returns how many came and went, or -ENOMEM (then nothing changed and `all` is still the
 * caller's).
 */
static int take_over(struct collection *all, uint64_t now_ns)
{
	struct list *old = current_list();
	struct list *list = calloc(1, sizeof(*list) + all->n * sizeof(list->entries[0]));
	int fresh, missing;

	if (!list)
		return -ENOMEM;
	qsort(all->modules, all->n, sizeof(all->modules[0]), by_address);
	fresh = keep_known(all, old, now_ns);
	list->n = all->n;
	for (size_t i = 0; i < all->n; i++) {
		list->entries[i].module = all->modules[i];
		list->entries[i].low = all->modules[i]->low;
		list->entries[i].high = all->modules[i]->high;
	}
	/* Pairs with the acquire of current_list. */
	atomic_store_explicit(&current, list, memory_order_release);
	missing = retire_missing(all, old);
	if (missing)
		dnp_generation_bump();
	if (old) {
		old->retired_ns = dnp_now_ns();
		old->next = retired_lists;
		retired_lists = old;
	}
	return fresh + missing;
}

int dnp_modules_refresh(uint64_t now_ns)
{
	struct collection all = {0};
	struct version version = {0, 0};
	int result = 0;

	dl_iterate_phdr(read_version, &version);
	pthread_mutex_lock(&lock);
	if (version.adds == seen_adds && version.subs == seen_subs)
		goto out;
	dl_iterate_phdr(collect, &all);
	result = all.result < 0 ? all.result : take_over(&all, now_ns);
	if (result >= 0) {
		seen_adds = version.adds;
		seen_subs = version.subs;
	} else {
		for (size_t i = 0; i < all.n; i++)
			free(all.modules[i]);
	}
	free(all.modules);
out:
	pthread_mutex_unlock(&lock);
	return result;
}

static void free_module(struct dnp_elf_module *module, void (*release)(void *unwind))
{
	void *unwind = atomic_load_explicit(&module->unwind, memory_order_relaxed);

	if (unwind && release)
		release(unwind);
	free(module);
}

void dnp_modules_reclaim(uint64_t before_ns, void (*release)(void *unwind))
{
	pthread_mutex_lock(&lock);
	for (struct list **at = &retired_lists; *at;) {
		struct list *list = *at;

		if (list->retired_ns < before_ns) {
			*at = list->next;
			free(list);
		} else {
			at = &list->next;
		}
	}
	for (struct gone **at = &gone_modules; *at;) {
		struct gone *gone = *at;

		if (gone->module->gone_ns < before_ns) {
			*at = gone->next;
			free_module(gone->module, release);
			free(gone);
		} else {
			at = &gone->next;
		}
	}
	pthread_mutex_unlock(&lock);
}

void dnp_modules_done(void (*release)(void *unwind))
{
	struct list *list;

	dnp_modules_reclaim(UINT64_MAX, release);
	pthread_mutex_lock(&lock);
	list = current_list();
	atomic_store_explicit(&current, NULL, memory_order_relaxed);
	for (size_t i = 0; list && i < list->n; i++)
		free_module(list->entries[i].module, release);
	free(list);
	seen_adds = seen_subs = 0;
	pthread_mutex_unlock(&lock);
}
