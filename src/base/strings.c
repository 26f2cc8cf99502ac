/* SPDX-License-Identifier: MIT */
#include "base/strings.h"

#include "base/clean.h"
#include "base/hash.h"

static struct dnp_str string_at(const struct dnp_strings *strings, uint32_t number)
{
	size_t start = strings->start.p[number];
	size_t next =
		number + 1 < strings->start.n ? strings->start.p[number + 1] : strings->bytes.n;

	return (struct dnp_str){strings->bytes.p + start, next - start - 1};
}

static uint32_t *slot_of(const struct dnp_strings *strings, struct dnp_str str)
{
	size_t mask = strings->capacity - 1;
	size_t i = dnp_hash_bytes(str) & mask;

	for (; strings->slots[i] != DNP_NONE; i = (i + 1) & mask) {
		struct dnp_str other = string_at(strings, strings->slots[i]);

		if (other.n == str.n && (!str.n || !memcmp(other.p, str.p, str.n)))
			break;
	}
	return &strings->slots[i];
}

static int rehash(struct dnp_strings *strings, size_t capacity)
{
	uint32_t *slots = reallocarray(NULL, capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, capacity * sizeof(*slots));
	free(strings->slots);
	strings->slots = slots;
	strings->capacity = capacity;
	for (uint32_t i = 0; i < strings->start.n; i++)
		*slot_of(strings, string_at(strings, i)) = i;
	return 0;
}

int dnp_strings_init(struct dnp_strings *strings)
{
	uint32_t number;

	*strings = (struct dnp_strings){0};
	if (rehash(strings, 64))
		return -ENOMEM;
	return dnp_strings_add(strings, (struct dnp_str){"", 0}, &number);
}

void dnp_strings_done(struct dnp_strings *strings)
{
	dnp_vec_done(&strings->bytes);
	dnp_vec_done(&strings->start);
	free(strings->slots);
	strings->slots = NULL;
}

static int append(struct dnp_strings *strings, struct dnp_str str)
{
	char *to;

	if (strings->start.n >= DNP_NONE - 1 ||
		dnp_vec_reserve(&strings->bytes, strings->bytes.n + str.n + 1) ||
		dnp_vec_push(&strings->start, strings->bytes.n))
		return -ENOMEM;
	to = strings->bytes.p + strings->bytes.n;
	if (str.n)
		memcpy(to, str.p, str.n);
	to[str.n] = '\0';
	strings->bytes.n += str.n + 1;
	return 0;
}

/* Spaces stand in their place: what is looked for must be what was put there. */
static int add_without_zeros(struct dnp_strings *strings, struct dnp_str str, uint32_t *number)
{
	auto_free char *text = malloc(str.n);

	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < str.n; i++)
		text[i] = str.p[i] ? str.p[i] : ' ';
	return dnp_strings_add(strings, (struct dnp_str){text, str.n}, number);
}

int dnp_strings_add(struct dnp_strings *strings, struct dnp_str str, uint32_t *number)
{
	uint32_t *slot;

	if (str.n && memchr(str.p, '\0', str.n))
		return add_without_zeros(strings, str, number);
	slot = slot_of(strings, str);
	if (*slot == DNP_NONE) {
		if (strings->start.n + 1 > strings->capacity / 4 * 3) {
			if (rehash(strings, strings->capacity * 2))
				return -ENOMEM;
			slot = slot_of(strings, str);
		}
		if (append(strings, str))
			return -ENOMEM;
		*slot = (uint32_t)(strings->start.n - 1);
	}
	*number = *slot;
	return 0;
}

const char *dnp_strings_get(const struct dnp_strings *strings, uint32_t number)
{
	return strings->bytes.p + strings->start.p[number];
}
