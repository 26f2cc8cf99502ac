/* SPDX-License-Identifier: MIT */
/*
 * A module is one allocation; the published list holds pointers to them, sorted by address. Lists
 * and modules that are out of use wait in two singly linked lists, newest first.
 */
#include "os/modules.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/generation.h"
#include "os/module_list.h"

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
static _Atomic uint64_t ever_gone; /* modules, ever */
static _Atomic(struct list *) current;
static struct list *retired_lists;     /* owned, under lock */
static struct gone *gone_modules;      /* owned, under lock */
static struct dnp_module_version seen; /* under lock; by a look that began … */
static uint64_t looked_ns;             /* … then; under lock */
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

/* What may have been at an address at a time. */
struct candidates {
	uintptr_t pc;
	uint64_t time_ns;
	struct dnp_elf_module *last; /* borrowed, NULL: there is none */
	bool surely, several;
};

static void consider(struct candidates *all, struct dnp_elf_module *module)
{
	uint64_t from_ns = module->seen_ns, to_ns = module->gone_ns ? module->kept_ns : UINT64_MAX;

	if (all->surely || all->pc < module->low || all->pc >= module->high ||
		all->time_ns < module->unseen_ns ||
		(module->gone_ns && all->time_ns > module->gone_ns))
		return;
	all->surely = all->time_ns >= from_ns && all->time_ns <= to_ns;
	all->several = all->last && !all->surely;
	all->last = module;
}

struct dnp_elf_module *dnp_module_find_at(uintptr_t pc, uint64_t time_ns)
{
	struct dnp_elf_module *found = dnp_module_find(pc);
	struct candidates all = {.pc = pc, .time_ns = time_ns};

	if (found && found->seen_ns <= time_ns)
		return found;
	pthread_mutex_lock(&lock);
	found = dnp_module_find(pc);
	if (found)
		consider(&all, found);
	for (struct gone *g = gone_modules; g; g = g->next)
		consider(&all, g->module);
	pthread_mutex_unlock(&lock);
	return all.several ? NULL : all.last;
}

struct dnp_elf_module *dnp_module_get(size_t i)
{
	const struct list *list = current_list();

	return list && i < list->n ? list->entries[i].module : NULL;
}

int dnp_module_collection_add(struct dnp_module_collection *all, struct dnp_elf_module *module)
{
	if (all->n == all->room) {
		size_t room = all->room ? all->room * 2 : 64;
		struct dnp_elf_module **more = realloc(all->modules, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		all->modules = more;
		all->room = room;
	}
	all->modules[all->n++] = module;
	return 0;
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
static int keep_known(struct dnp_module_collection *all, const struct list *old)
{
	uint64_t now_ns = dnp_now_ns();
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
			all->modules[i]->unseen_ns = looked_ns;
			all->modules[i]->seen_ns = now_ns;
			fresh++;
		}
	}
	return fresh;
}

static bool contains(const struct dnp_module_collection *all, const struct dnp_elf_module *module)
{
	for (size_t i = 0; i < all->n; i++) {
		if (all->modules[i] == module)
			return true;
	}
	return false;
}

static int retire_missing(const struct dnp_module_collection *all, struct list *old)
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
		old->entries[k].module->kept_ns = looked_ns;
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
static int take_over(struct dnp_module_collection *all)
{
	struct list *old = current_list();
	struct list *list = calloc(1, sizeof(*list) + all->n * sizeof(list->entries[0]));
	int fresh, missing;

	if (!list)
		return -ENOMEM;
	qsort(all->modules, all->n, sizeof(all->modules[0]), by_address);
	fresh = keep_known(all, old);
	list->n = all->n;
	for (size_t i = 0; i < all->n; i++) {
		list->entries[i].module = all->modules[i];
		list->entries[i].low = all->modules[i]->low;
		list->entries[i].high = all->modules[i]->high;
	}
	/* Pairs with the acquire of current_list. */
	atomic_store_explicit(&current, list, memory_order_release);
	missing = retire_missing(all, old);
	if (missing) {
		atomic_fetch_add(&ever_gone, (uint64_t)missing);
		dnp_generation_bump();
	}
	if (old) {
		old->retired_ns = dnp_now_ns();
		old->next = retired_lists;
		retired_lists = old;
	}
	return fresh + missing;
}

uint64_t dnp_modules_gone(void)
{
	return atomic_load(&ever_gone);
}

/* Under lock. */
static int look(const struct dnp_module_version *version)
{
	struct dnp_module_collection all = {0};
	int result;

	if (version->adds == seen.adds && version->subs == seen.subs)
		return 0;
	dnp_modules_collect(&all);
	result = all.result < 0 ? all.result : take_over(&all);
	if (result >= 0)
		seen = *version;
	for (size_t i = 0; result < 0 && i < all.n; i++)
		free(all.modules[i]);
	free(all.modules);
	return result;
}

int dnp_modules_refresh(void)
{
	struct dnp_module_version version;
	uint64_t begin_ns;
	int result;

	pthread_mutex_lock(&lock);
	begin_ns = dnp_now_ns();
	dnp_modules_version(&version);
	result = look(&version);
	if (result >= 0)
		looked_ns = begin_ns;
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
	seen = (struct dnp_module_version){0};
	looked_ns = 0;
	dnp_modules_version_done();
	pthread_mutex_unlock(&lock);
}
