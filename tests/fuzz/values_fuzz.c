/* SPDX-License-Identifier: MIT */
/*
 * Values: a plan made of any signature, what it takes from any bytes, and any bytes as values. The
 * first byte chooses the room, the second how many bytes are the signature; the rest is arguments,
 * the memory that references lead to, and then values.
 */
#include <stdlib.h>

#include "clr/values.h"
#include "fuzz.h"

static const uint8_t *all;
static size_t all_bytes;

static bool type_of(void *context, const uint8_t *blob, size_t n, struct dnp_value_type *type)
{
	(void)context;
	*type = (struct dnp_value_type){n & 1 ? 0x11 : blob[n - 1], blob[n / 2]};
	return blob[0] != 0x1e;
}

/* A class is a number: its fields are made of it. */
static bool layout_of(void *context, uintptr_t class_id, struct dnp_value_layout *layout)
{
	(void)context;
	*layout = (struct dnp_value_layout){.kind = (uint8_t)(class_id % (DNP_SHAPE_VOID + 3)),
		.bytes = (uint32_t)class_id * 3,
		.type = (uint32_t)class_id,
		.n = (uint32_t)class_id % (DNP_PLAN_FIELDS + 2)};
	for (uint32_t i = 0; i < layout->n && i < DNP_PLAN_FIELDS; i++)
		layout->fields[i] = (struct dnp_value_field){i * (uint32_t)class_id,
			{(uint8_t)(class_id + i) % 0x20, class_id * 7 % 256 + i}};
	return class_id % 13 != 5;
}

static bool is_out(void *context, uint32_t index)
{
	(void)context;
	return index % 3 == 2;
}

/* Addresses are taken modulo the input. */
static size_t read_all(uintptr_t address, void *to, size_t n)
{
	size_t from = address % (all_bytes + 1), have = all_bytes - from;

	if (n > have)
		n = have;
	memcpy(to, all + from, n);
	return n;
}

static uint32_t type_of_word(uintptr_t word)
{
	return (uint32_t)word;
}

static struct dnp_str name_of(void *context, uint32_t type)
{
	(void)context;
	return dnp_str(type & 1 ? "Odd" : "");
}

static void show(const uint8_t *values, size_t n, int want)
{
	char buffer[512];
	struct dnp_text text;
	int result;

	dnp_text_init(&text, buffer, sizeof(buffer));
	result = dnp_values_text(values, n, name_of, NULL, &text);
	if (text.n >= text.cap || strlen(text.p) != text.n || (want <= 0 && result != want))
		abort();
}

static void take(const struct dnp_values_plan *plan, const uint8_t *args, size_t n, size_t room)
{
	static const struct dnp_values_memory memory = {read_all, type_of_word, 0x41, 5, 8, 12};
	COR_PRF_FUNCTION_ARGUMENT_RANGE ranges[32];
	uint8_t *buffer = malloc(room);
	struct dnp_values values;
	uint32_t n_ranges = 0;

	if (!buffer)
		abort();
	for (size_t at = 0; at < n && n_ranges < 32; at += 1 + args[at] % 24)
		ranges[n_ranges++] = (COR_PRF_FUNCTION_ARGUMENT_RANGE){(uintptr_t)(args + at),
			(uint32_t)((n - at) % 40 < n - at ? (n - at) % 40 : n - at)};
	dnp_values_init(&values, buffer, room);
	dnp_values_take_args(plan, ranges, n_ranges, &memory, &values);
	show(buffer, values.n, 0);
	if (n_ranges) {
		dnp_values_init(&values, buffer, room);
		dnp_values_take_result(plan, ranges, &memory, &values);
		show(buffer, values.n, 0);
	}
	free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct dnp_value_types types = {type_of, layout_of, is_out, NULL};
	static struct dnp_values_plan plan;
	size_t n_sig;
	uint8_t *copy;

	if (n < 2)
		return 0;
	n_sig = data[1] % (n - 1);
	copy = malloc(n - 2 + 1);
	if (!copy)
		abort();
	memcpy(copy, data + 2, n - 2);
	all = copy;
	all_bytes = n - 2;
	if (!dnp_values_plan(&plan, copy, n_sig, &types))
		take(&plan, copy + n_sig, n - 2 - n_sig, (size_t)data[0] * 2 + 1);
	show(copy, n - 2, 1);
	free(copy);
	return 0;
}
