/* SPDX-License-Identifier: MIT */
#include "base/u64map.h"

#include <errno.h>
#include <stdlib.h>

enum { EMPTY = 0, USED, DELETED };

struct dnp_u64map_slot {
	uint64_t key;
	uint32_t value;
	uint32_t state;
};

void dnp_u64map_done(struct dnp_u64map *map)
{
	free(map->slots);
	*map = (struct dnp_u64map){0};
}

static size_t first_slot(const struct dnp_u64map *map, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash ^ hash >> 32) & (map->capacity - 1);
}

static struct dnp_u64map_slot *find(const struct dnp_u64map *map, uint64_t key)
{
	size_t i;

	if (!map->capacity)
		return NULL;
	for (i = first_slot(map, key); map->slots[i].state != EMPTY;
		i = (i + 1) & (map->capacity - 1))
		if (map->slots[i].state == USED && map->slots[i].key == key)
			return &map->slots[i];
	return NULL;
}

uint32_t *dnp_u64map_get(const struct dnp_u64map *map, uint64_t key)
{
	struct dnp_u64map_slot *slot = find(map, key);

	return slot ? &slot->value : NULL;
}

static void insert(struct dnp_u64map *map, uint64_t key, uint32_t value)
{
	size_t i = first_slot(map, key);

	while (map->slots[i].state == USED)
		i = (i + 1) & (map->capacity - 1);
	/* `used` counts deleted slots too: they lengthen probes just as much. */
	if (map->slots[i].state == EMPTY)
		map->used++;
	map->n++;
	map->slots[i] = (struct dnp_u64map_slot){key, value, USED};
}

/* Leaves out what was deleted; that may be room enough. */
static int make_room(struct dnp_u64map *map)
{
	struct dnp_u64map bigger = {.capacity = map->capacity ? map->capacity : 64};

	if (map->n > map->capacity / 2)
		bigger.capacity *= 2;
	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].state == USED)
			insert(&bigger, map->slots[i].key, map->slots[i].value);
	free(map->slots);
	*map = bigger;
	return 0;
}

int dnp_u64map_put(struct dnp_u64map *map, uint64_t key, uint32_t value)
{
	struct dnp_u64map_slot *slot = find(map, key);

	if (slot) {
		slot->value = value;
		return 0;
	}
	if (map->used >= map->capacity / 4 * 3) {
		int failed = make_room(map);

		if (failed)
			return failed;
	}
	insert(map, key, value);
	return 0;
}

void dnp_u64map_remove(struct dnp_u64map *map, uint64_t key)
{
	struct dnp_u64map_slot *slot = find(map, key);

	if (!slot)
		return;
	slot->state = DELETED;
	map->n--;
}
