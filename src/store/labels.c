/* SPDX-License-Identifier: MIT */
#include "store/labels.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"

struct entry {
	struct dnp_label label; /* its text is owned */
	uint32_t next;          /* of the same hash, 0: none */
};

/* A leaf lock; held while one label is looked for or read. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries; /* owned: by number, from 1; room for all of them */
static uint32_t n_labels;
static size_t text_bytes;
static uint64_t refused;
static struct dnp_u64map by_hash; /* → the newest label of that hash */

static uint64_t hash_of(const struct dnp_label *label)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ label->type; /* FNV-1a */

	for (size_t i = 0; i < label->text.n; i++)
		hash = (hash ^ (uint8_t)label->text.p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static int is_same(const struct dnp_label *a, const struct dnp_label *b)
{
	return a->type == b->type && dnp_str_eq(a->text, b->text);
}

static uint32_t find(const struct dnp_label *label, uint32_t newest)
{
	uint32_t number = newest;

	while (number && !is_same(&entries[number].label, label))
		number = entries[number].next;
	return number;
}

/* DNP_LABEL_OTHER: there is no room. */
static uint32_t make(const struct dnp_label *label, uint64_t hash, uint32_t newest)
{
	struct entry entry = {.label = *label, .next = newest};
	char *text;

	if (n_labels == DNP_LABELS_MAX || text_bytes + label->text.n > DNP_LABELS_BYTES_MAX)
		return DNP_LABEL_OTHER;
	if (!entries)
		entries = calloc(DNP_LABELS_MAX + 1, sizeof(*entries));
	text = entries ? malloc(label->text.n) : NULL;
	if (!text || dnp_u64map_put(&by_hash, hash, n_labels + 1)) {
		free(text);
		return DNP_LABEL_OTHER;
	}
	entry.label.text.p = memcpy(text, label->text.p, label->text.n);
	text_bytes += label->text.n;
	entries[++n_labels] = entry;
	return n_labels;
}

static uint32_t add(const struct dnp_label *label, uint64_t hash, uint32_t newest)
{
	uint32_t number = make(label, hash, newest);

	refused += number == DNP_LABEL_OTHER;
	return number;
}

uint32_t dnp_label_of_type(struct dnp_str text, uintptr_t type, unsigned unloadings)
{
	struct dnp_label label = {.text = text, .type = type, .unloadings = unloadings};
	uint64_t hash = hash_of(&label);
	uint32_t *newest, number;

	if (!text.n)
		return DNP_LABEL_OTHER;
	pthread_mutex_lock(&lock);
	newest = dnp_u64map_get(&by_hash, hash);
	number = newest ? find(&label, *newest) : 0;
	/* It is the newest of them: those before it have passed as well then. */
	if (!number || entries[number].label.passed)
		number = add(&label, hash, newest ? *newest : 0);
	pthread_mutex_unlock(&lock);
	return number;
}

uint32_t dnp_label(struct dnp_str text)
{
	return dnp_label_of_type(text, 0, 0);
}

struct dnp_label dnp_label_get(uint32_t number)
{
	struct dnp_label label = {.text = dnp_str("[other]")};

	pthread_mutex_lock(&lock);
	if (number && number <= n_labels)
		label = entries[number].label;
	pthread_mutex_unlock(&lock);
	return label;
}

void dnp_label_passes(uint32_t number, uintptr_t with)
{
	pthread_mutex_lock(&lock);
	if (number && number <= n_labels) {
		entries[number].label.passes = true;
		entries[number].label.with = with;
	}
	pthread_mutex_unlock(&lock);
}

void dnp_labels_unloading(uintptr_t module)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 1; i <= n_labels; i++) {
		struct dnp_label *label = &entries[i].label;

		if (label->passes && (!label->with || label->with == module))
			label->passed = true;
	}
	pthread_mutex_unlock(&lock);
}

uint64_t dnp_labels_refused(void)
{
	uint64_t n;

	pthread_mutex_lock(&lock);
	n = refused;
	pthread_mutex_unlock(&lock);
	return n;
}

void dnp_labels_forget(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 1; i <= n_labels; i++)
		free((char *)(uintptr_t)entries[i].label.text.p);
	free(entries);
	entries = NULL;
	n_labels = 0;
	text_bytes = 0;
	refused = 0;
	dnp_u64map_done(&by_hash);
	pthread_mutex_unlock(&lock);
}

size_t dnp_labels_bytes(void)
{
	size_t bytes;

	pthread_mutex_lock(&lock);
	bytes = text_bytes + n_labels * (sizeof(*entries) + 16) + by_hash.capacity * 16;
	pthread_mutex_unlock(&lock);
	return bytes;
}
