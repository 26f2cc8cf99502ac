/* SPDX-License-Identifier: MIT */
#include "clr/codemap.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/generation.h"
#include "os/mem.h"

#define BUCKET_BYTES 4096
#define CHUNK_BYTES  (16 * BUCKET_BYTES)
#define BUCKET_ROOM  84

#define TAIL_MAX 16

/*
 * The first `sorted` entries are ascending; up to TAIL_MAX more stand behind them as they came, so
 * that most additions copy nothing.
 */
struct bucket {
	struct bucket *next; /* out of use: older one, or free one */
	uint64_t retired_ns;
	_Atomic uint32_t n;
	uint32_t sorted;
	struct dnp_code entries[BUCKET_ROOM];
};

static_assert(sizeof(struct bucket) <= BUCKET_BYTES, "a bucket is one page");

struct slot {
	uintptr_t key; /* 0 in the first slot */
	_Atomic(struct bucket *) bucket;
};

struct directory {
	struct directory *next; /* out of use: older one */
	uint64_t retired_ns;
	size_t mapped_bytes;
	size_t n;
	struct slot slots[];
};

struct chunk {
	struct chunk *next;
	void *pages; /* owned */
};

struct retired {
	struct dnp_code code;
	uint64_t died_ns;
};

/* Where all live code of a method is, with that of others in between. `high` 0: it has none. */
struct reach {
	uintptr_t low, high;
};

/* Samples wait for the drain thread for some milliseconds; more code does not die in that time. */
#define RETIRED_MAX 65536

struct dnp_codemap {
	_Atomic(struct directory *) directory; /* never NULL, at least one slot */
	pthread_mutex_t lock;
	/* All below under lock. */
	struct bucket *free_buckets, *old_buckets;
	struct directory *old_directories;
	struct chunk *chunks;
	struct retired *retired; /* owned, in the order of death */
	size_t n_retired, retired_room;
	struct reach *reaches; /* owned, by the methods' numbers */
	size_t n_reaches;
	struct dnp_codemap_stats stats;
};

/* ---- Searching */

/* Pairs with publish_directory. */
SIGSAFE static const struct directory *directory_of(const struct dnp_codemap *map)
{
	return atomic_load_explicit(
		&((struct dnp_codemap *)(uintptr_t)map)->directory, memory_order_acquire);
}

/* Pairs with publish_bucket: its entries are complete. */
SIGSAFE static const struct bucket *bucket_of(const struct slot *slot)
{
	return atomic_load_explicit(
		&((struct slot *)(uintptr_t)slot)->bucket, memory_order_acquire);
}

/* Pairs with append: the entries below the number are complete. */
SIGSAFE static uint32_t bucket_entries(const struct bucket *bucket)
{
	return atomic_load_explicit(&((struct bucket *)(uintptr_t)bucket)->n, memory_order_acquire);
}

/* The slot whose range an address is in. */
SIGSAFE static size_t slot_at(const struct directory *directory, uintptr_t pc)
{
	size_t low = 1, high = directory->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (directory->slots[middle].key <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

/* The bucket's entry with the highest begin that is at or below an address, or NULL. */
SIGSAFE static const struct dnp_code *bucket_below(const struct bucket *bucket, uintptr_t pc)
{
	uint32_t low = 0, high = bucket->sorted, n = bucket_entries(bucket);
	const struct dnp_code *best;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (bucket->entries[middle].begin <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	best = low ? &bucket->entries[low - 1] : NULL;
	for (uint32_t i = bucket->sorted; i < n; i++) {
		const struct dnp_code *entry = &bucket->entries[i];

		if (entry->begin <= pc && (!best || entry->begin > best->begin))
			best = entry;
	}
	return best;
}

/* The same in the whole map. */
SIGSAFE static const struct dnp_code *entry_below(const struct dnp_codemap *map, uintptr_t pc)
{
	const struct directory *directory = directory_of(map);
	const struct dnp_code *entry = NULL;

	for (size_t i = slot_at(directory, pc) + 1; i > 0 && !entry; i--)
		entry = bucket_below(bucket_of(&directory->slots[i - 1]), pc);
	return entry;
}

SIGSAFE const struct dnp_code *dnp_codemap_find(const struct dnp_codemap *map, uintptr_t pc)
{
	const struct dnp_code *code = entry_below(map, pc);

	return code && pc - code->begin < code->bytes ? code : NULL;
}

/* ---- Memory; under lock from here on */

static struct bucket *new_bucket(struct dnp_codemap *map)
{
	struct bucket *bucket;

	if (!map->free_buckets) {
		struct chunk *chunk = malloc(sizeof(*chunk));
		uint8_t *pages = chunk ? dnp_mem_map(CHUNK_BYTES) : NULL;

		if (!pages) {
			free(chunk);
			return NULL;
		}
		*chunk = (struct chunk){map->chunks, pages};
		map->chunks = chunk;
		map->stats.bytes += CHUNK_BYTES;
		for (size_t at = 0; at < CHUNK_BYTES; at += BUCKET_BYTES) {
			bucket = (struct bucket *)(void *)(pages + at);
			bucket->next = map->free_buckets;
			map->free_buckets = bucket;
		}
	}
	bucket = map->free_buckets;
	map->free_buckets = bucket->next;
	bucket->sorted = 0;
	atomic_store_explicit(&bucket->n, 0, memory_order_relaxed);
	return bucket;
}

/* To be called when no newcomer can find it any more: the time is that of the clock, then. */
static void retire_bucket(struct dnp_codemap *map, struct bucket *bucket)
{
	bucket->retired_ns = dnp_now_ns();
	bucket->next = map->old_buckets;
	map->old_buckets = bucket;
}

static struct directory *new_directory(struct dnp_codemap *map, size_t slots)
{
	size_t bytes = sizeof(struct directory) + slots * sizeof(struct slot);
	struct directory *directory = dnp_mem_map(bytes);

	if (directory) {
		directory->mapped_bytes = bytes;
		directory->n = slots;
		map->stats.bytes += bytes;
	}
	return directory;
}

static void free_directory(struct dnp_codemap *map, struct directory *directory)
{
	map->stats.bytes -= directory->mapped_bytes;
	dnp_mem_unmap(directory, directory->mapped_bytes);
}

/* ---- Publishing */

static struct directory *own_directory(struct dnp_codemap *map)
{
	return atomic_load_explicit(&map->directory, memory_order_relaxed);
}

static struct bucket *own_bucket(struct slot *slot)
{
	return atomic_load_explicit(&slot->bucket, memory_order_relaxed);
}

static void publish_directory(struct dnp_codemap *map, struct directory *directory)
{
	struct directory *old = own_directory(map);

	atomic_store_explicit(&map->directory, directory, memory_order_release);
	old->retired_ns = dnp_now_ns();
	old->next = map->old_directories;
	map->old_directories = old;
}

static void publish_bucket(struct dnp_codemap *map, struct slot *slot, struct bucket *bucket)
{
	struct bucket *old = own_bucket(slot);

	atomic_store_explicit(&slot->bucket, bucket, memory_order_release);
	retire_bucket(map, old);
}

static void append(struct bucket *bucket, const struct dnp_code *entry)
{
	uint32_t n = atomic_load_explicit(&bucket->n, memory_order_relaxed);

	bucket->entries[n] = *entry;
	atomic_store_explicit(&bucket->n, n + 1, memory_order_release);
}

/* Before the bucket is published. */
static void fill(struct bucket *bucket, const struct dnp_code *sorted, uint32_t n)
{
	memcpy(bucket->entries, sorted, n * sizeof(sorted[0]));
	bucket->sorted = n;
	atomic_store_explicit(&bucket->n, n, memory_order_release);
}

/* An ascending copy of a bucket's entries; returns their number. */
static uint32_t gather(const struct bucket *bucket, struct dnp_code out[BUCKET_ROOM + 1])
{
	uint32_t n = bucket_entries(bucket);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i;

		for (; at > 0 && out[at - 1].begin > bucket->entries[i].begin; at--)
			out[at] = out[at - 1];
		out[at] = bucket->entries[i];
	}
	return n;
}

static void copy_slots(
	struct directory *to, size_t at, struct directory *from, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++, at++) {
		to->slots[at].key = from->slots[i].key;
		atomic_store_explicit(
			&to->slots[at].bucket, own_bucket(&from->slots[i]), memory_order_relaxed);
	}
}

/* ---- Inserting */

/* The directory with one more slot behind slot i; its bucket is still to be set. */
static struct directory *widened(struct dnp_codemap *map, size_t i, uintptr_t key)
{
	struct directory *old = own_directory(map), *directory = new_directory(map, old->n + 1);

	if (directory) {
		copy_slots(directory, 0, old, 0, i + 1);
		copy_slots(directory, i + 2, old, i + 1, old->n);
		directory->slots[i + 1].key = key;
	}
	return directory;
}

static void set_slot(struct directory *directory, size_t i, struct bucket *bucket)
{
	atomic_store_explicit(&directory->slots[i].bucket, bucket, memory_order_relaxed);
}

/* One bucket more behind slot i, for the entries from `middle` on; the others stay in slot i. */
static int split(struct dnp_codemap *map, size_t i, const struct dnp_code *sorted, uint32_t n,
	uint32_t middle)
{
	struct bucket *full = own_bucket(&own_directory(map)->slots[i]);
	struct bucket *lower = new_bucket(map), *upper = new_bucket(map);
	struct directory *directory = NULL;

	if (lower && upper)
		directory = widened(map, i, sorted[middle].begin);
	if (!directory) {
		if (lower)
			retire_bucket(map, lower);
		if (upper)
			retire_bucket(map, upper);
		return -ENOMEM;
	}
	fill(lower, sorted, middle);
	fill(upper, sorted + middle, n - middle);
	set_slot(directory, i, lower);
	set_slot(directory, i + 1, upper);
	publish_directory(map, directory);
	retire_bucket(map, full);
	return 0;
}

/*
 * Sorts the bucket and the entry into a new one, or into two when it was full. Code is mostly
 * compiled at rising addresses: an entry that comes last leaves the full bucket full.
 */
static int rebuild(struct dnp_codemap *map, size_t i, const struct dnp_code *entry)
{
	struct slot *slot = &own_directory(map)->slots[i];
	struct dnp_code sorted[BUCKET_ROOM + 1];
	uint32_t n = gather(own_bucket(slot), sorted), at = n++;
	struct bucket *bucket;

	for (; at > 0 && sorted[at - 1].begin > entry->begin; at--)
		sorted[at] = sorted[at - 1];
	sorted[at] = *entry;
	if (n > BUCKET_ROOM)
		return split(map, i, sorted, n, at == n - 1 ? n - 1 : n / 2);
	bucket = new_bucket(map);
	if (!bucket)
		return -ENOMEM;
	fill(bucket, sorted, n);
	publish_bucket(map, slot, bucket);
	return 0;
}

static int insert(struct dnp_codemap *map, const struct dnp_code *entry)
{
	struct directory *directory = own_directory(map);
	size_t i = slot_at(directory, entry->begin);
	struct bucket *bucket = own_bucket(&directory->slots[i]);
	uint32_t n = bucket_entries(bucket);
	int result = 0;

	if (n < BUCKET_ROOM && n - bucket->sorted < TAIL_MAX)
		append(bucket, entry);
	else
		result = rebuild(map, i, entry);
	if (result == 0) {
		map->stats.live++;
		map->stats.added++;
	}
	return result;
}

/* 0 or -ENOMEM. */
static int widen_reach(struct dnp_codemap *map, const struct dnp_code *entry)
{
	struct reach *reach;

	if (entry->method >= map->n_reaches) {
		size_t n = map->n_reaches ? map->n_reaches : 256;

		while (n <= entry->method)
			n *= 2;
		reach = realloc(map->reaches, n * sizeof(*reach));
		if (!reach)
			return -ENOMEM;
		memset(reach + map->n_reaches, 0, (n - map->n_reaches) * sizeof(*reach));
		map->stats.bytes += (n - map->n_reaches) * sizeof(*reach);
		map->reaches = reach;
		map->n_reaches = n;
	}
	reach = &map->reaches[entry->method];
	if (!reach->high || entry->begin < reach->low)
		reach->low = entry->begin;
	if (entry->begin + entry->bytes > reach->high)
		reach->high = entry->begin + entry->bytes;
	return 0;
}

/* ---- Removing */

/* Keeps a copy for samples taken before; without memory those samples show an unknown address. */
static void remember_dead(struct dnp_codemap *map, const struct dnp_code *code, uint64_t now_ns)
{
	if (map->n_retired == RETIRED_MAX) {
		map->n_retired /= 2;
		memmove(map->retired, map->retired + map->n_retired,
			map->n_retired * sizeof(map->retired[0]));
	}
	if (map->n_retired == map->retired_room) {
		size_t room = map->retired_room ? map->retired_room * 2 : 256;
		struct retired *more = realloc(map->retired, room * sizeof(*more));

		if (!more)
			return;
		map->stats.bytes += (room - map->retired_room) * sizeof(*more);
		map->retired = more;
		map->retired_room = room;
	}
	if (map->n_retired && map->retired[map->n_retired - 1].died_ns > now_ns)
		now_ns = map->retired[map->n_retired - 1].died_ns;
	map->retired[map->n_retired++] = (struct retired){*code, now_ns};
}

/* Takes an empty bucket out of the directory, unless it is the last one. */
static void drop_slot(struct dnp_codemap *map, size_t i)
{
	struct directory *old = own_directory(map), *directory;

	if (old->n == 1)
		return;
	directory = new_directory(map, old->n - 1);
	if (!directory)
		return; /* an empty bucket does no harm */
	copy_slots(directory, 0, old, 0, i);
	copy_slots(directory, i, old, i + 1, old->n);
	directory->slots[0].key = 0;
	publish_directory(map, directory);
	retire_bucket(map, own_bucket(&old->slots[i]));
}

struct death {
	uintptr_t begin, end; /* of the range that dies ... */
	uint32_t method;      /* ... or, if not 0, what of it is this method's */
	uint64_t now_ns;
};

static bool dies(const struct death *death, const struct dnp_code *code)
{
	if (death->method && code->method != death->method)
		return false;
	return code->begin < death->end && code->begin + code->bytes > death->begin;
}

/* Removes what dies from slot i's bucket; returns how many. The slot may be gone afterwards. */
static size_t remove_from(struct dnp_codemap *map, size_t i, const struct death *death)
{
	struct slot *slot = &own_directory(map)->slots[i];
	const struct bucket *old = own_bucket(slot);
	struct dnp_code sorted[BUCKET_ROOM + 1];
	uint32_t n = bucket_entries(old), dead = 0, kept = 0;
	struct bucket *bucket;

	map->stats.searched++;
	for (uint32_t k = 0; k < n; k++)
		dead += dies(death, &old->entries[k]);
	bucket = dead ? new_bucket(map) : NULL;
	if (!bucket)
		return 0;
	gather(old, sorted);
	for (uint32_t k = 0; k < n; k++) {
		if (dies(death, &sorted[k]))
			remember_dead(map, &sorted[k], death->now_ns);
		else
			sorted[kept++] = sorted[k];
	}
	fill(bucket, sorted, kept);
	publish_bucket(map, slot, bucket);
	map->stats.live -= n - kept;
	if (!kept)
		drop_slot(map, i);
	return n - kept;
}

/* From the highest slot down, so that a slot that goes away does not move those still to come. */
static size_t remove_from_slots(
	struct dnp_codemap *map, size_t first, size_t last, const struct death *death)
{
	size_t removed = 0;

	for (size_t i = last + 1; i > first; i--)
		removed += remove_from(map, i - 1, death);
	if (removed)
		dnp_generation_bump();
	return removed;
}

static size_t retire_range(struct dnp_codemap *map, struct death death)
{
	const struct dnp_code *before = entry_below(map, death.begin);
	const struct directory *directory = own_directory(map);
	uintptr_t begin = death.begin;

	if (before && before->begin + before->bytes > begin)
		begin = before->begin;
	return remove_from_slots(
		map, slot_at(directory, begin), slot_at(directory, death.end - 1), &death);
}

/* ---- For everybody */

int dnp_codemap_add(struct dnp_codemap *map, const struct dnp_code *parts, size_t n)
{
	int result = 0;

	if (!map)
		return -ENOMEM;
	pthread_mutex_lock(&map->lock);
	for (size_t i = 0; i < n && result == 0; i++) {
		if (!parts[i].bytes)
			continue;
		retire_range(map,
			(struct death){.begin = parts[i].begin,
				.end = parts[i].begin + parts[i].bytes,
				.now_ns = parts[i].born_ns});
		result = widen_reach(map, &parts[i]);
		if (!result)
			result = insert(map, &parts[i]);
	}
	pthread_mutex_unlock(&map->lock);
	return result;
}

size_t dnp_codemap_retire(struct dnp_codemap *map, uintptr_t begin, uintptr_t end, uint64_t now_ns)
{
	size_t removed = 0;

	if (!map)
		return 0;
	pthread_mutex_lock(&map->lock);
	if (begin < end)
		removed = retire_range(
			map, (struct death){.begin = begin, .end = end, .now_ns = now_ns});
	pthread_mutex_unlock(&map->lock);
	return removed;
}

size_t dnp_codemap_retire_method(struct dnp_codemap *map, uint32_t method, uint64_t now_ns)
{
	struct reach reach = {0};
	size_t removed = 0;

	if (!map || !method)
		return 0;
	pthread_mutex_lock(&map->lock);
	if (method < map->n_reaches) {
		reach = map->reaches[method];
		map->reaches[method] = (struct reach){0};
	}
	if (reach.high)
		removed = retire_range(map, (struct death){reach.low, reach.high, method, now_ns});
	pthread_mutex_unlock(&map->lock);
	return removed;
}

/* The retired entry for a sample, or NULL; the youngest one that was born by then wins. */
static const struct dnp_code *find_dead(
	const struct dnp_codemap *map, uintptr_t pc, uint64_t time_ns)
{
	const struct dnp_code *found = NULL;

	for (size_t i = map->n_retired; i > 0; i--) {
		const struct retired *r = &map->retired[i - 1];

		if (r->died_ns < time_ns)
			break; /* in the order of death: those before died earlier still */
		if (pc - r->code.begin >= r->code.bytes)
			continue;
		if (r->code.born_ns <= time_ns)
			return &r->code;
		found = &r->code;
	}
	return found;
}

bool dnp_codemap_find_at(
	struct dnp_codemap *map, uintptr_t pc, uint64_t time_ns, struct dnp_code *out)
{
	const struct dnp_code *code, *dead;

	if (!map)
		return false;
	pthread_mutex_lock(&map->lock);
	code = dnp_codemap_find(map, pc);
	if (!code || code->born_ns > time_ns) {
		dead = find_dead(map, pc, time_ns);
		code = dead ? dead : code;
	}
	if (code)
		*out = *code;
	pthread_mutex_unlock(&map->lock);
	return code;
}

void dnp_codemap_reclaim(struct dnp_codemap *map, uint64_t before_ns)
{
	size_t dead = 0;

	if (!map)
		return;
	pthread_mutex_lock(&map->lock);
	for (struct bucket **at = &map->old_buckets; *at;) {
		struct bucket *bucket = *at;

		if (bucket->retired_ns < before_ns) {
			*at = bucket->next;
			bucket->next = map->free_buckets;
			map->free_buckets = bucket;
		} else {
			at = &bucket->next;
		}
	}
	for (struct directory **at = &map->old_directories; *at;) {
		struct directory *directory = *at;

		if (directory->retired_ns < before_ns) {
			*at = directory->next;
			free_directory(map, directory);
		} else {
			at = &directory->next;
		}
	}
	while (dead < map->n_retired && map->retired[dead].died_ns < before_ns)
		dead++;
	map->n_retired -= dead;
	if (dead && map->n_retired)
		memmove(map->retired, map->retired + dead,
			map->n_retired * sizeof(map->retired[0]));
	pthread_mutex_unlock(&map->lock);
}

void dnp_codemap_stats(struct dnp_codemap *map, struct dnp_codemap_stats *stats)
{
	if (!map) {
		*stats = (struct dnp_codemap_stats){0};
		return;
	}
	pthread_mutex_lock(&map->lock);
	*stats = map->stats;
	stats->retired = (uint32_t)map->n_retired;
	pthread_mutex_unlock(&map->lock);
}

struct dnp_codemap *dnp_codemap_new(void)
{
	struct dnp_codemap *map = calloc(1, sizeof(*map));
	struct directory *directory;
	struct bucket *bucket;

	if (!map)
		return NULL;
	pthread_mutex_init(&map->lock, NULL);
	directory = new_directory(map, 1);
	bucket = new_bucket(map);
	if (!directory || !bucket) {
		dnp_codemap_free(map);
		return NULL;
	}
	atomic_store_explicit(&directory->slots[0].bucket, bucket, memory_order_relaxed);
	atomic_store_explicit(&map->directory, directory, memory_order_release);
	return map;
}

void dnp_codemap_free(struct dnp_codemap *map)
{
	struct directory *directory;

	if (!map)
		return;
	dnp_codemap_reclaim(map, UINT64_MAX);
	directory = own_directory(map);
	if (directory)
		free_directory(map, directory);
	while (map->chunks) {
		struct chunk *chunk = map->chunks;

		map->chunks = chunk->next;
		dnp_mem_unmap(chunk->pages, CHUNK_BYTES);
		free(chunk);
	}
	free(map->retired);
	free(map->reaches);
	pthread_mutex_destroy(&map->lock);
	free(map);
}
