/* SPDX-License-Identifier: MIT */
#include "base/vec.h"

#include "base/hash.h"

void *dnp_vec_grow(void *p, size_t *cap, size_t want, size_t element_bytes)
{
	size_t grown = *cap + *cap / 2;
	void *q;

	if (grown < want)
		grown = want;
	if (grown < 8)
		grown = 8;
	q = reallocarray(p, grown, element_bytes);
	if (q)
		*cap = grown;
	return q;
}

static struct dnp_map_slot *slot_of(const struct dnp_map *map, uint64_t key)
{
	size_t mask = map->capacity - 1;
	size_t i = dnp_hash(key) & mask;

	while (map->slots[i].value != DNP_NONE && map->slots[i].key != key)
		i = (i + 1) & mask;
	return &map->slots[i];
}

uint32_t dnp_map_get(const struct dnp_map *map, uint64_t key)
{
	return map->n ? slot_of(map, key)->value : DNP_NONE;
}

static int map_grow(struct dnp_map *map)
{
	struct dnp_map grown = {.n = map->n, .capacity = map->capacity ? map->capacity * 2 : 16};

	grown.slots = reallocarray(NULL, grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < grown.capacity; i++)
		grown.slots[i].value = DNP_NONE;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value != DNP_NONE)
			*slot_of(&grown, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = grown;
	return 0;
}

int dnp_map_set(struct dnp_map *map, uint64_t key, uint32_t value)
{
	struct dnp_map_slot *slot;

	if (map->n >= map->capacity / 4 * 3 && map_grow(map))
		return -ENOMEM;
	slot = slot_of(map, key);
	if (slot->value == DNP_NONE)
		map->n++;
	*slot = (struct dnp_map_slot){key, value};
	return 0;
}

void dnp_map_done(struct dnp_map *map)
{
	free(map->slots);
	*map = (struct dnp_map){0};
}
