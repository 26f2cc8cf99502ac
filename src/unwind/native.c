/* SPDX-License-Identifier: MIT */
#include "unwind/native.h"

#include <pthread.h>
#include <string.h>

#include "os/generation.h"
#include "unwind/native_table.h"

/* Held while tables are built and freed; taken before the lock of the modules. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_native_stats totals; /* under lock */

static void add_table(struct dnp_elf_module *module, void (*meanwhile)(void))
{
	void *table = dnp_native_table_make(module, &totals, meanwhile);

	module->tried = true;
	totals.modules++;
	totals.without_table += !table;
	/* Pairs with the acquire of those who search it. */
	atomic_store_explicit(&module->unwind, table, memory_order_release);
}

static void release_table(void *table)
{
	dnp_native_table_free(table, &totals);
}

/* The biggest module that nobody has looked at, or NULL. */
static struct dnp_elf_module *next_untried(void)
{
	struct dnp_elf_module *best = NULL, *module;

	for (size_t i = 0; (module = dnp_module_get(i)); i++) {
		if (!module->tried &&
			(!best || module->high - module->low > best->high - best->low))
			best = module;
	}
	return best;
}

void dnp_native_build(void (*meanwhile)(void))
{
	struct dnp_elf_module *module;

	pthread_mutex_lock(&lock);
	while ((module = next_untried())) {
		add_table(module, meanwhile);
		dnp_modules_refresh(); /* big ones take milliseconds */
	}
	pthread_mutex_unlock(&lock);
}

void dnp_native_reclaim(uint64_t before_ns)
{
	pthread_mutex_lock(&lock);
	dnp_modules_reclaim(before_ns, release_table);
	pthread_mutex_unlock(&lock);
}

void dnp_native_done(void)
{
	pthread_mutex_lock(&lock);
	dnp_modules_done(release_table);
	dnp_generation_bump();
	memset(&totals, 0, sizeof(totals));
	pthread_mutex_unlock(&lock);
}

void dnp_native_stats(struct dnp_native_stats *stats)
{
	pthread_mutex_lock(&lock);
	*stats = totals;
	pthread_mutex_unlock(&lock);
}
