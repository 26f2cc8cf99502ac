/* SPDX-License-Identifier: MIT */
/*
 * Entries are taken one after the other and never given back; a hash table of their indices leads
 * to them. An entry is whole before the table knows it. Numbers for methods are asked for ahead, as
 * that takes a lock.
 *
 * Where code is unloaded, the table forgets those entries alone that may go with it: their slots
 * are GONE, which a search goes past, and others may have.
 */
#include "capture/call_seen.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "capture/calls.h"
#include "clr/hresult.h"
#include "clr/lifetime.h"
#include "clr/names.h"
#include "os/forks.h"
#include "os/mem.h"

#define ENTRIES     65536u
#define SLOTS       (2 * ENTRIES)
#define PROBES      32u
#define TRIES       4u         /* to put an entry where others put theirs */
#define GONE        UINT32_MAX /* of a slot */
#define AHEAD       4096u      /* numbers; a power of 2 */
#define PATIENCE    10000 /* looks at somebody who names, with the processor given away between */
#define CLASS_BYTES 64    /* of a class that must be readable: its method table's head */

enum state { UNUSED, READY, TAKEN, NAMED };

struct entry {
	_Atomic int state;
	uint32_t number;
	uintptr_t function; /* 0: it is a class */
	uintptr_t class_id;
	uint32_t n_args;
	uintptr_t args[DNP_SEEN_ARGS];
	bool ends;  /* it may go with code that is unloaded; once it is named */
	char *name; /* owned: of a class, once it is named and until it is told */
};

static struct {
	const struct dnp_engine_setting *setting;
	struct entry *entries;         /* owned, mapped */
	_Atomic uint32_t *slots;       /* owned, mapped: index of an entry plus 1 */
	_Atomic uint32_t n_entries;    /* taken; may be more than there are */
	_Atomic uint64_t no_room;      /* how often somebody found none for an entry */
	_Atomic uint64_t no_number;    /* … and how often there was no number at hand */
	_Atomic uint32_t ahead[AHEAD]; /* numbers for methods; 0: it is taken */
	_Atomic uint32_t next;         /* of them, to be taken */
	uint32_t n_told;               /* the recorder's */
	_Atomic bool ended;            /* see dnp_call_seen_end */
} seen;

static void look_ahead(void)
{
	for (uint32_t i = 0; i < AHEAD; i++)
		if (!atomic_load_explicit(&seen.ahead[i], memory_order_relaxed))
			atomic_store(&seen.ahead[i], seen.setting->reserve());
}

int dnp_call_seen_open(const struct dnp_engine_setting *setting)
{
	seen.setting = setting;
	seen.entries = dnp_mem_map(ENTRIES * sizeof(*seen.entries));
	seen.slots = dnp_mem_map(SLOTS * sizeof(*seen.slots));
	if (!seen.entries || !seen.slots)
		return -ENOMEM;
	look_ahead();
	return 0;
}

/* --- hooks --- */

/* They are taken in turn: where one is not there, none was put back since the last round. */
static uint32_t take_number(void)
{
	uint32_t next = atomic_fetch_add_explicit(&seen.next, 1, memory_order_relaxed);
	uint32_t number = atomic_exchange(&seen.ahead[next % AHEAD], 0);

	if (!number)
		atomic_fetch_add_explicit(&seen.no_number, 1, memory_order_relaxed);
	return number;
}

static bool same(const struct entry *a, const struct entry *b)
{
	return a->function == b->function && a->class_id == b->class_id && a->n_args == b->n_args &&
		!memcmp(a->args, b->args, a->n_args * sizeof(a->args[0]));
}

static uint32_t hash(const struct entry *key)
{
	uint64_t sum = dnp_hash(key->function) ^ key->class_id;

	for (uint32_t i = 0; i < key->n_args; i++)
		sum = dnp_hash(sum) ^ key->args[i];
	return (uint32_t)dnp_hash(sum);
}

static bool is_full(void)
{
	return atomic_load_explicit(&seen.n_entries, memory_order_relaxed) >= ENTRIES;
}

/* A new entry, not in the table yet; 0: there is none. */
static uint32_t add(const struct entry *key)
{
	uint32_t number = key->function ? take_number() : 0, index;
	struct entry *entry;

	if (key->function && !number)
		return 0;
	index = atomic_fetch_add_explicit(&seen.n_entries, 1, memory_order_relaxed);
	if (index >= ENTRIES)
		return 0;
	entry = &seen.entries[index];
	entry->number = number ? number : index + 1;
	entry->function = key->function;
	entry->class_id = key->class_id;
	entry->n_args = key->n_args;
	memcpy(entry->args, key->args, sizeof(key->args));
	if (number)
		dnp_call_methods[number] =
			(struct dnp_call_method){.number = number, .function = key->function};
	/* Pairs with the exchange in name. */
	atomic_store_explicit(&entry->state, READY, memory_order_release);
	return index + 1;
}

/* Where an entry is, or may be put. */
struct place {
	const struct entry *entry; /* NULL: it is not there */
	_Atomic uint32_t *slot;    /* then: where it may be; NULL: there is no room */
	uint32_t holds;            /* what is there now: 0 or GONE */
};

static struct place search(const struct entry *key)
{
	struct place place = {0};
	uint32_t at = hash(key);

	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint32_t *slot = &seen.slots[(at + i) % SLOTS];
		/* Pairs with the release in find: the entry is whole. */
		uint32_t index = atomic_load_explicit(slot, memory_order_acquire);

		if (index && index != GONE && same(&seen.entries[index - 1], key))
			return (struct place){.entry = &seen.entries[index - 1]};
		if (!place.slot && (!index || index == GONE))
			place = (struct place){.slot = slot, .holds = index};
		if (!index)
			break;
	}
	return place;
}

static uint32_t find(const struct entry *key)
{
	uint32_t made = 0;

	for (uint32_t i = 0; i < TRIES; i++) {
		struct place place = search(key);

		if (place.entry)
			return place.entry->number;
		if (!made && (!place.slot || is_full()))
			atomic_fetch_add_explicit(&seen.no_room, 1, memory_order_relaxed);
		else if (!made)
			made = add(key);
		if (!place.slot || !made)
			return 0;
		if (atomic_compare_exchange_strong_explicit(place.slot, &place.holds, made,
			    memory_order_release, memory_order_relaxed))
			return seen.entries[made - 1].number;
	}
	return 0;
}

uint32_t dnp_call_seen_method(
	uintptr_t function, uintptr_t class_id, const uintptr_t *args, uint32_t n)
{
	struct entry key = {.function = function, .class_id = class_id, .n_args = n};

	if (n > DNP_SEEN_ARGS)
		return 0;
	memcpy(key.args, args, n * sizeof(*args));
	return find(&key);
}

uint32_t dnp_call_seen_type(uintptr_t class_id)
{
	struct entry key = {.class_id = class_id};

	return class_id ? find(&key) : 0;
}

/* --- names --- */

/* The runtime takes our word for it that it is a class. */
static bool may_be_class(uintptr_t class_id)
{
	return class_id % sizeof(void *) == 0 &&
		dnp_mem_is_readable(class_id, class_id + CLASS_BYTES);
}

static char *name_class(uintptr_t class_id)
{
	char buffer[512];
	struct dnp_text name;

	dnp_text_init(&name, buffer, sizeof(buffer));
	if (!may_be_class(class_id) ||
		FAILED(dnp_class_describe(seen.setting->info, class_id, &name)))
		return NULL;
	return strdup(buffer);
}

/* Whether it may go while the program goes on; its ids are there still. */
static bool ends(const struct entry *entry)
{
	const struct dnp_info *info = seen.setting->info;
	bool any = entry->class_id &&
		(!may_be_class(entry->class_id) || dnp_class_ends(info, entry->class_id));
	ModuleID with;

	if (entry->function && !any)
		any = dnp_method_ends(info, entry->function, &with);
	for (uint32_t i = 0; i < entry->n_args && !any; i++)
		any = dnp_class_ends(info, entry->args[i]);
	return any;
}

static void name(struct entry *entry)
{
	int ready = READY;

	if (!atomic_compare_exchange_strong(&entry->state, &ready, TAKEN))
		return;
	dnp_forks_hold();
	if (entry->function)
		seen.setting->exact(entry->number, entry->function, entry->class_id, entry->args,
			entry->n_args);
	else
		entry->name = name_class(entry->class_id);
	entry->ends = ends(entry);
	dnp_forks_release();
	atomic_store_explicit(&entry->state, NAMED, memory_order_release);
}

static uint32_t n_entries(void)
{
	uint32_t n = atomic_load(&seen.n_entries);

	return n < ENTRIES ? n : ENTRIES;
}

/*
 * Somebody else may be asking for one of them right now, who is waited for within a bound, since he
 * may in turn wait for the runtime.
 */
static void wait_for(const struct entry *entry)
{
	for (int i = 0; i < PATIENCE && atomic_load(&entry->state) == TAKEN; i++)
		sched_yield();
}

static bool is_named(const struct entry *entry)
{
	/* Pairs with the release in name. */
	return atomic_load_explicit(&entry->state, memory_order_acquire) == NAMED;
}

static void tell_entry(struct entry *entry, struct dnp_writer *writer, unsigned event)
{
	if (entry->name)
		dnp_write_call_type(writer,
			&(struct dnp_rec_call_type){.event = event,
				.type = entry->number,
				.name = dnp_str(entry->name)});
	free(entry->name);
	entry->name = NULL;
}

void dnp_call_seen_write(struct dnp_writer *writer, unsigned event, bool last)
{
	uint32_t n = n_entries();

	look_ahead();
	for (; seen.n_told < n; seen.n_told++) {
		struct entry *entry = &seen.entries[seen.n_told];

		name(entry);
		if (last)
			wait_for(entry);
		/* Somebody else is at it, or a hook has not filled it yet: next time. */
		if (!is_named(entry) && !last)
			return;
		if (is_named(entry))
			tell_entry(entry, writer, event);
	}
}

/* One that is not named yet, after all patience, is nobody's that is known. */
static bool may_go(const struct entry *entry)
{
	return !is_named(entry) || entry->ends;
}

static void name_all(void)
{
	uint32_t n = n_entries();

	for (uint32_t i = 0; i < n; i++) {
		if (!atomic_load(&seen.ended))
			name(&seen.entries[i]);
		wait_for(&seen.entries[i]);
	}
}

void dnp_call_seen_end(void)
{
	atomic_store(&seen.ended, true);
}

void dnp_call_seen_unloading(void)
{
	if (!seen.entries)
		return;
	name_all();
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t index = atomic_load_explicit(&seen.slots[i], memory_order_acquire);

		if (index && index != GONE && may_go(&seen.entries[index - 1]))
			atomic_store_explicit(&seen.slots[i], GONE, memory_order_relaxed);
	}
}

uint64_t dnp_call_seen_no_room(void)
{
	return atomic_load_explicit(&seen.no_room, memory_order_relaxed);
}

uint64_t dnp_call_seen_no_number(void)
{
	return atomic_load_explicit(&seen.no_number, memory_order_relaxed);
}
