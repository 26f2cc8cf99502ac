/* SPDX-License-Identifier: MIT */
#include "clr/values.h"

#include <errno.h>
#include <string.h>

#include "clr/element.h"
#include "clr/sig.h"
#include "format/varint.h"

enum {
	MAX_DEPTH = DNP_VALUES_MAX_DEPTH - 2, /* of structs in structs */
	MAX_TARGET = 256,                     /* bytes that a reference is followed to */
	MAX_ARGS = 255,
	MAX_STRING_HEAD = 64, /* bytes of a string from its length to its characters */
};

_Static_assert(DNP_SHAPE_R8 == DNP_ELEMENT_R8 - DNP_ELEMENT_BOOLEAN,
	"numbers stand in the order of their elements");

static const uint8_t number_bytes[] = {1, 2, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

/* --- the plan --- */

struct planner {
	struct dnp_values_plan *plan;
	const struct dnp_value_types *types;
	unsigned depth;
	bool full;
};

static void plan_class(struct planner *planner, uintptr_t class_id, uint32_t offset);

/* The next shape, which has no parts yet; the last one over and over when there are too many. */
static struct dnp_shape *add(struct planner *planner, uint8_t kind, uint32_t offset, uint32_t bytes)
{
	struct dnp_values_plan *plan = planner->plan;
	uint16_t index = plan->n_shapes;

	if (index == DNP_PLAN_SHAPES) {
		planner->full = true;
		index--;
	} else {
		plan->n_shapes++;
	}
	plan->shapes[index] = (struct dnp_shape){
		.kind = kind, .next = (uint16_t)(index + 1), .offset = offset, .bytes = bytes};
	return &plan->shapes[index];
}

/* Ends a shape whose parts were added. */
static void end_shape(struct planner *planner, struct dnp_shape *shape)
{
	shape->next = planner->plan->n_shapes;
}

/* A type that has no class: of numbers, references and pointers. */
static void plan_element(struct planner *planner, uint8_t element, uint32_t offset)
{
	if (element >= DNP_ELEMENT_BOOLEAN && element <= DNP_ELEMENT_R8) {
		uint8_t kind = (uint8_t)(element - DNP_ELEMENT_BOOLEAN);

		add(planner, kind, offset, number_bytes[kind]);
		return;
	}
	switch (element) {
	case DNP_ELEMENT_VOID: add(planner, DNP_SHAPE_VOID, offset, 0); break;
	case DNP_ELEMENT_I: add(planner, DNP_SHAPE_I8, offset, 8); break;
	case DNP_ELEMENT_U: add(planner, DNP_SHAPE_U8, offset, 8); break;
	case DNP_ELEMENT_STRING: add(planner, DNP_SHAPE_STRING, offset, sizeof(void *)); break;
	case DNP_ELEMENT_CLASS:
	case DNP_ELEMENT_ARRAY:
	case DNP_ELEMENT_OBJECT:
	case DNP_ELEMENT_SZARRAY: add(planner, DNP_SHAPE_OBJECT, offset, sizeof(void *)); break;
	case DNP_ELEMENT_PTR:
	case DNP_ELEMENT_FNPTR:
	case DNP_ELEMENT_BYREF: add(planner, DNP_SHAPE_POINTER, offset, sizeof(void *)); break;
	default: add(planner, DNP_SHAPE_UNKNOWN, offset, 0); break;
	}
}

static void plan_variable(struct planner *planner, uintptr_t which, uint32_t offset)
{
	bool can_tell = which < 64;
	struct dnp_shape *shape = add(planner, can_tell ? DNP_SHAPE_VARIABLE : DNP_SHAPE_UNKNOWN,
		offset, can_tell ? sizeof(void *) : 0);

	shape->number = (uint8_t)which;
}

static void plan_type(struct planner *planner, const struct dnp_value_type *type, uint32_t offset)
{
	if (type->element == DNP_ELEMENT_VAR)
		plan_variable(planner, type->class_id, offset);
	else if (type->element == DNP_ELEMENT_VALUETYPE)
		plan_class(planner, type->class_id, offset);
	else
		plan_element(planner, type->element, offset);
}

static void plan_enum(
	struct planner *planner, const struct dnp_value_layout *layout, uint32_t offset)
{
	uint8_t element = layout->n ? layout->fields[0].type.element : 0;
	uint8_t kind = element == DNP_ELEMENT_I ? DNP_SHAPE_I8
		: element == DNP_ELEMENT_U      ? DNP_SHAPE_U8
						: (uint8_t)(element - DNP_ELEMENT_BOOLEAN);
	struct dnp_shape *shape;

	if (kind > DNP_SHAPE_R8) {
		add(planner, DNP_SHAPE_UNKNOWN, offset, 0);
		return;
	}
	shape = add(planner, DNP_SHAPE_ENUM, offset, number_bytes[kind]);
	shape->number = kind;
	shape->type = layout->type;
}

static void plan_fields(struct planner *planner, const struct dnp_value_layout *layout,
	uint32_t first, uint32_t offset)
{
	for (uint32_t i = first; i < layout->n; i++)
		plan_type(planner, &layout->fields[i].type, offset + layout->fields[i].offset);
}

static void plan_struct(
	struct planner *planner, const struct dnp_value_layout *layout, uint32_t offset)
{
	struct dnp_shape *shape;

	if (layout->kind == DNP_SHAPE_NULLABLE && layout->n == 2) {
		shape = add(planner, DNP_SHAPE_NULLABLE, offset + layout->fields[0].offset,
			layout->bytes);
		plan_fields(planner, layout, 1, offset);
	} else {
		shape = add(planner, DNP_SHAPE_STRUCT, offset, layout->bytes);
		shape->type = layout->type;
		plan_fields(planner, layout, 0, offset);
	}
	end_shape(planner, shape);
}

static void plan_layout(
	struct planner *planner, const struct dnp_value_layout *layout, uint32_t offset)
{
	switch ((enum dnp_shape_kind)layout->kind) {
	case DNP_SHAPE_ENUM: plan_enum(planner, layout, offset); break;
	case DNP_SHAPE_STRUCT:
	case DNP_SHAPE_NULLABLE: plan_struct(planner, layout, offset); break;
	case DNP_SHAPE_DECIMAL:
	case DNP_SHAPE_GUID: add(planner, layout->kind, offset, 16); break;
	case DNP_SHAPE_DATE:
	case DNP_SHAPE_SPAN: add(planner, layout->kind, offset, 8); break;
	default: add(planner, DNP_SHAPE_UNKNOWN, offset, layout->bytes); break;
	}
}

static void plan_class(struct planner *planner, uintptr_t class_id, uint32_t offset)
{
	struct dnp_value_layout layout = {0};

	if (planner->depth >= MAX_DEPTH || planner->full ||
		!planner->types->layout(planner->types->context, class_id, &layout) ||
		layout.n > DNP_PLAN_FIELDS) {
		add(planner, DNP_SHAPE_UNKNOWN, offset, 0);
		return;
	}
	planner->depth++;
	plan_layout(planner, &layout, offset);
	planner->depth--;
}

/* A type of the signature that is no reference to another: [p, end). */
static void plan_plain(struct planner *planner, const uint8_t *p, const uint8_t *end)
{
	struct dnp_value_type type = {.element = *p};
	bool reference = *p == DNP_ELEMENT_GENERICINST && end - p > 1 && p[1] == DNP_ELEMENT_CLASS;

	if (reference)
		type.element = DNP_ELEMENT_CLASS;
	else if (*p == DNP_ELEMENT_VALUETYPE || *p == DNP_ELEMENT_GENERICINST ||
		*p == DNP_ELEMENT_VAR || *p == DNP_ELEMENT_MVAR)
		if (!planner->types->type(planner->types->context, p, (size_t)(end - p), &type))
			type = (struct dnp_value_type){0};
	plan_type(planner, &type, 0);
}

static void plan_ref(struct planner *planner, const uint8_t *p, const uint8_t *end, bool is_out)
{
	struct dnp_sig_part part = {.p = p, .end = end};
	struct dnp_shape *shape =
		add(planner, is_out ? DNP_SHAPE_OUT : DNP_SHAPE_REF, 0, sizeof(void *));
	const uint8_t *target = dnp_sig_skip_type(&part);

	if (is_out)
		return;
	plan_plain(planner, target, part.p);
	end_shape(planner, shape);
}

/* One type of the signature. */
static void plan_next(struct planner *planner, struct dnp_sig_part *sig, int argument)
{
	const uint8_t *p = dnp_sig_skip_type(sig);

	if (sig->bad || planner->full)
		return;
	if (*p != DNP_ELEMENT_BYREF)
		plan_plain(planner, p, sig->p);
	else
		plan_ref(planner, p + 1, sig->p,
			argument >= 0 &&
				planner->types->is_out(
					planner->types->context, (uint32_t)argument));
}

int dnp_values_plan(struct dnp_values_plan *plan, const uint8_t *blob, size_t n,
	const struct dnp_value_types *types)
{
	struct planner planner = {.plan = plan, .types = types};
	struct dnp_sig_part sig = {.p = blob, .end = blob + n};
	uint32_t n_args;

	plan->n_shapes = plan->n_args = 0;
	n_args = dnp_sig_method(&sig, &plan->has_this);
	if (n_args > MAX_ARGS)
		sig.bad = true;
	plan_next(&planner, &sig, -1);
	for (uint32_t i = 0; i < n_args && !sig.bad; i++) {
		uint16_t before = plan->n_shapes;

		plan_next(&planner, &sig, (int)i);
		if (planner.full)
			plan->n_shapes = before;
	}
	plan->n_args = (uint16_t)n_args;
	return sig.bad ? -EBADMSG : 0;
}

/* --- taking --- */

struct taker {
	const struct dnp_values_plan *plan;
	const struct dnp_values_memory *memory;
	struct dnp_values *out;
};

/* Bytes that are at hand. */
struct bytes {
	const uint8_t *p; /* borrowed */
	size_t n;
};

static void take_shape(struct taker *taker, uint32_t index, struct bytes at, unsigned depth);

/* A number's bits, with its sign where it has one. */
static uint64_t load(uint8_t kind, const uint8_t *p)
{
	uint64_t bits = 0;

	memcpy(&bits, p, number_bytes[kind]);
	switch (kind) {
	case DNP_SHAPE_I1: return (uint64_t)(int64_t)(int8_t)bits;
	case DNP_SHAPE_I2: return (uint64_t)(int64_t)(int16_t)bits;
	case DNP_SHAPE_I4: return (uint64_t)(int64_t)(int32_t)bits;
	default: return bits;
	}
}

static void take_number(struct dnp_values *out, uint8_t kind, const uint8_t *p)
{
	uint64_t bits = load(kind, p);

	switch (kind) {
	case DNP_SHAPE_BOOL: dnp_values_put(out, bits ? DNP_VALUE_TRUE : DNP_VALUE_FALSE); break;
	case DNP_SHAPE_CHAR: dnp_values_put_number(out, DNP_VALUE_CHAR, bits); break;
	case DNP_SHAPE_R4: dnp_values_put_bytes(out, DNP_VALUE_FLOAT, p, 4); break;
	case DNP_SHAPE_R8: dnp_values_put_bytes(out, DNP_VALUE_DOUBLE, p, 8); break;
	case DNP_SHAPE_I1:
	case DNP_SHAPE_I2:
	case DNP_SHAPE_I4:
	case DNP_SHAPE_I8:
		dnp_values_put_number(out, DNP_VALUE_INT, dnp_zigzag((int64_t)bits));
		break;
	default: dnp_values_put_number(out, DNP_VALUE_UINT, bits); break;
	}
}

static uintptr_t load_address(const uint8_t *p)
{
	uintptr_t address;

	memcpy(&address, p, sizeof(address));
	return address;
}

/* A string at an address that is not 0: its length and first characters, in one read. */
static void take_string(struct taker *taker, uintptr_t address)
{
	const struct dnp_values_memory *memory = taker->memory;
	uint32_t chars = memory->chars_offset - memory->length_offset, length = 0, n;
	uint16_t units[DNP_VALUE_STRING_UNITS];
	uint8_t copy[MAX_STRING_HEAD + sizeof(units)];
	size_t got = 0;

	if (chars >= sizeof(length) && chars <= MAX_STRING_HEAD)
		got = memory->read(address + memory->length_offset, copy, chars + sizeof(units));
	if (got >= sizeof(length))
		memcpy(&length, copy, sizeof(length));
	n = length < DNP_VALUE_STRING_UNITS ? length : DNP_VALUE_STRING_UNITS;
	if (got < sizeof(length) || got < chars + n * sizeof(*units) || length > INT32_MAX) {
		dnp_values_put(taker->out, DNP_VALUE_UNKNOWN);
		return;
	}
	memcpy(units, copy + chars, n * sizeof(*units));
	/* No half of a character at the cut. */
	if (n < length && units[n - 1] >= 0xd800 && units[n - 1] <= 0xdbff)
		n--;
	dnp_values_put_string(taker->out, units, n, n < length);
}

static void take_object(struct taker *taker, uintptr_t address)
{
	uintptr_t word;

	if (taker->memory->read(address, &word, sizeof(word)) != sizeof(word))
		dnp_values_put(taker->out, DNP_VALUE_UNKNOWN);
	else if (word && word == taker->memory->string_word)
		take_string(taker, address);
	else
		dnp_values_put_number(taker->out, DNP_VALUE_OBJECT, taker->memory->type(word));
}

static void take_reference(struct taker *taker, const struct dnp_shape *shape, const uint8_t *p)
{
	uintptr_t address = load_address(p);

	if (!address)
		dnp_values_put(taker->out, DNP_VALUE_NULL);
	else if (shape->kind == DNP_SHAPE_STRING)
		take_string(taker, address);
	else if (shape->kind == DNP_SHAPE_OBJECT)
		take_object(taker, address);
	else
		dnp_values_put_number(taker->out, DNP_VALUE_POINTER, address);
}

/* A value of a type argument is not taken apart: it may be of any size. */
static void take_variable(struct taker *taker, const struct dnp_shape *shape, const uint8_t *p)
{
	static const struct dnp_shape object = {.kind = DNP_SHAPE_OBJECT};

	if (taker->memory->references >> shape->number & 1)
		take_reference(taker, &object, p);
	else
		dnp_values_put(taker->out, DNP_VALUE_UNKNOWN);
}

static void take_enum(struct taker *taker, const struct dnp_shape *shape, const uint8_t *p)
{
	dnp_values_put_number(taker->out, DNP_VALUE_ENUM, shape->type);
	take_number(taker->out, shape->number, p);
}

static void take_struct(struct taker *taker, uint32_t index, struct bytes at, unsigned depth)
{
	const struct dnp_shape *shapes = taker->plan->shapes;
	uint32_t end = shapes[index].next, n_fields = 0;

	for (uint32_t i = index + 1; i < end; i = shapes[i].next)
		n_fields++;
	dnp_values_put_struct(taker->out, shapes[index].type, n_fields);
	for (uint32_t i = index + 1; i < end && !taker->out->full; i = shapes[i].next)
		take_shape(taker, i, at, depth + 1);
}

/* What a reference leads to: as much as its shape wants, read elsewhere. */
static void take_ref(struct taker *taker, uint32_t index, const uint8_t *p, unsigned depth)
{
	const struct dnp_shape *target = &taker->plan->shapes[index + 1];
	uint8_t copy[MAX_TARGET];
	uintptr_t address = load_address(p);

	if (!address) {
		dnp_values_put(taker->out, DNP_VALUE_NULL);
		return;
	}
	dnp_values_put(taker->out, DNP_VALUE_REF);
	if (index + 1 >= taker->plan->shapes[index].next || !target->bytes ||
		target->bytes > sizeof(copy) ||
		taker->memory->read(address, copy, target->bytes) != target->bytes)
		dnp_values_put(taker->out, DNP_VALUE_UNKNOWN);
	else
		take_shape(taker, index + 1, (struct bytes){copy, target->bytes}, depth + 1);
}

static void take_nullable(struct taker *taker, uint32_t index, struct bytes at, unsigned depth)
{
	const struct dnp_shape *shape = &taker->plan->shapes[index];

	if (!at.p[shape->offset])
		dnp_values_put(taker->out, DNP_VALUE_NULL);
	else if (index + 1 < shape->next)
		take_shape(taker, index + 1, at, depth + 1);
	else
		dnp_values_put(taker->out, DNP_VALUE_UNKNOWN);
}

/* Bytes of a shape that its own code reads at its place. */
static size_t bytes_read(const struct dnp_shape *shape)
{
	switch ((enum dnp_shape_kind)shape->kind) {
	case DNP_SHAPE_STRUCT:
	case DNP_SHAPE_VOID:
	case DNP_SHAPE_OUT:
	case DNP_SHAPE_UNKNOWN: return 0;
	case DNP_SHAPE_NULLABLE: return 1;
	default: return shape->bytes;
	}
}

static void take_shape(struct taker *taker, uint32_t index, struct bytes at, unsigned depth)
{
	const struct dnp_shape *shape = &taker->plan->shapes[index];
	const uint8_t *p = at.p + shape->offset;
	struct dnp_values *out = taker->out;

	if (depth > DNP_VALUES_MAX_DEPTH || shape->offset > at.n ||
		bytes_read(shape) > at.n - shape->offset) {
		dnp_values_put(out, DNP_VALUE_UNKNOWN);
		return;
	}
	switch ((enum dnp_shape_kind)shape->kind) {
	case DNP_SHAPE_STRING:
	case DNP_SHAPE_OBJECT:
	case DNP_SHAPE_POINTER: take_reference(taker, shape, p); break;
	case DNP_SHAPE_DECIMAL: dnp_values_put_bytes(out, DNP_VALUE_DECIMAL, p, 16); break;
	case DNP_SHAPE_GUID: dnp_values_put_bytes(out, DNP_VALUE_GUID, p, 16); break;
	case DNP_SHAPE_DATE: dnp_values_put_bytes(out, DNP_VALUE_DATE, p, 8); break;
	case DNP_SHAPE_SPAN: dnp_values_put_bytes(out, DNP_VALUE_SPAN, p, 8); break;
	case DNP_SHAPE_VARIABLE: take_variable(taker, shape, p); break;
	case DNP_SHAPE_ENUM: take_enum(taker, shape, p); break;
	case DNP_SHAPE_STRUCT: take_struct(taker, index, at, depth); break;
	case DNP_SHAPE_NULLABLE: take_nullable(taker, index, at, depth); break;
	case DNP_SHAPE_REF: take_ref(taker, index, p, depth); break;
	case DNP_SHAPE_OUT: dnp_values_put(out, DNP_VALUE_OUT); break;
	case DNP_SHAPE_VOID: dnp_values_put(out, DNP_VALUE_VOID); break;
	case DNP_SHAPE_UNKNOWN: dnp_values_put(out, DNP_VALUE_UNKNOWN); break;
	default: take_number(out, shape->kind, p); break;
	}
}

/* NOLINTBEGIN(performance-no-int-to-ptr) */
static struct bytes bytes_of(const COR_PRF_FUNCTION_ARGUMENT_RANGE *range)
{
	return (struct bytes){(const uint8_t *)range->startAddress, range->length};
}
/* NOLINTEND(performance-no-int-to-ptr) */

void dnp_values_take_args(const struct dnp_values_plan *plan,
	const COR_PRF_FUNCTION_ARGUMENT_RANGE *ranges, uint32_t n,
	const struct dnp_values_memory *memory, struct dnp_values *out)
{
	struct taker taker = {plan, memory, out};
	uint32_t range = plan->has_this, shape = plan->n_shapes ? plan->shapes[0].next : 0;

	for (; range < n && shape < plan->n_shapes && !out->full; range++) {
		take_shape(&taker, shape, bytes_of(&ranges[range]), 0);
		shape = plan->shapes[shape].next;
	}
	if (range < plan->n_args + (uint32_t)plan->has_this)
		dnp_values_put(out, DNP_VALUE_MORE);
}

void dnp_values_take_result(const struct dnp_values_plan *plan,
	const COR_PRF_FUNCTION_ARGUMENT_RANGE *range, const struct dnp_values_memory *memory,
	struct dnp_values *out)
{
	struct taker taker = {plan, memory, out};

	if (plan->n_shapes)
		take_shape(&taker, 0, bytes_of(range), 0);
}
