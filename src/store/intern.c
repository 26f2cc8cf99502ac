/* SPDX-License-Identifier: MIT */
#include "store/intern.h"

#include <errno.h>

#include "os/mem.h"

struct dnp_intern_slot {
	uint32_t parent, frame;
	uint32_t node; /* 0: empty */
};

static size_t table_bytes(uint32_t capacity)
{
	return (size_t)capacity * sizeof(struct dnp_intern_slot);
}

int dnp_intern_init(struct dnp_intern *intern, uint32_t capacity)
{
	void *slots = dnp_mem_map(table_bytes(capacity));

	if (!slots)
		return -ENOMEM;
	*intern = (struct dnp_intern){.slots = slots, .capacity = capacity, .next = 1};
	return 0;
}

void dnp_intern_done(struct dnp_intern *intern)
{
	dnp_mem_unmap(intern->slots, table_bytes(intern->capacity));
	*intern = (struct dnp_intern){0};
}

static uint32_t slot_of(const struct dnp_intern *intern, uint32_t parent, uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame;

	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (intern->capacity - 1);
}

uint32_t dnp_intern_node(struct dnp_intern *intern, uint32_t parent, uint32_t frame, int *is_new)
{
	uint32_t i = slot_of(intern, parent, frame);
	struct dnp_intern_slot *slot = &intern->slots[i];

	while (slot->node) {
		if (slot->parent == parent && slot->frame == frame) {
			*is_new = 0;
			return slot->node;
		}
		i = (i + 1) & (intern->capacity - 1);
		slot = &intern->slots[i];
	}
	*slot = (struct dnp_intern_slot){parent, frame, intern->next++};
	intern->used++;
	*is_new = 1;
	return slot->node;
}

int dnp_intern_make_room(struct dnp_intern *intern, uint32_t room)
{
	/* Three quarters full is full: probes stay short. */
	if (intern->used + room <= intern->capacity / 4 * 3)
		return 0;
	dnp_mem_clear(intern->slots, table_bytes(intern->capacity));
	intern->used = 0;
	intern->generation++;
	return 1;
}

size_t dnp_intern_bytes(const struct dnp_intern *intern)
{
	/* Pages are touched at random: a sparse table already holds nearly all of them. */
	size_t touched = (size_t)intern->used * 4096;
	size_t all = table_bytes(intern->capacity);

	return touched < all ? touched : all;
}
