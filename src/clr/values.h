/* SPDX-License-Identifier: MIT */
/*
 * Values of arguments and results: what a method's signature says they are (a plan, made once), and
 * what they are in a call (taken by the plan, again and again).
 *
 * Making a plan asks the caller's functions for types; what those may do decides where it may be
 * done. Taking by a plan reads the argument's own bytes, and everything that they refer to through
 * the caller's guarded reader; it allocates nothing, locks nothing, and asks the runtime nothing.
 * Both are bounded, whatever signature, plan or memory say.
 */
#ifndef DNP_CLR_VALUES_H
#define DNP_CLR_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clr/prf.h"
#include "format/values.h"

/* What stands at a place. Those up to DNP_SHAPE_R8 are the numbers of C# and have no parts. */
enum dnp_shape_kind {
	DNP_SHAPE_BOOL,
	DNP_SHAPE_CHAR,
	DNP_SHAPE_I1,
	DNP_SHAPE_U1,
	DNP_SHAPE_I2,
	DNP_SHAPE_U2,
	DNP_SHAPE_I4,
	DNP_SHAPE_U4,
	DNP_SHAPE_I8,
	DNP_SHAPE_U8,
	DNP_SHAPE_R4,
	DNP_SHAPE_R8,
	DNP_SHAPE_POINTER,
	DNP_SHAPE_STRING,
	DNP_SHAPE_OBJECT,
	DNP_SHAPE_DECIMAL,
	DNP_SHAPE_GUID,
	DNP_SHAPE_DATE,
	DNP_SHAPE_SPAN,
	DNP_SHAPE_ENUM,     /* `number` says which */
	DNP_SHAPE_STRUCT,   /* its fields follow */
	DNP_SHAPE_NULLABLE, /* a bool at its place, then the value, which follows */
	DNP_SHAPE_REF,      /* the address of what follows */
	DNP_SHAPE_OUT,      /* an address of what the method has yet to set */
	DNP_SHAPE_VARIABLE, /* a type argument, by `number`, of a class that is not known yet */
	DNP_SHAPE_UNKNOWN,
	DNP_SHAPE_VOID,
};

/* One shape; what it consists of follows it. */
struct dnp_shape {
	uint8_t kind;
	uint8_t number;  /* ENUM: the kind of its number; VARIABLE: which */
	uint16_t next;   /* index of the first shape behind it and its parts */
	uint32_t offset; /* from the argument's first byte; below a REF: from where that leads */
	uint32_t bytes;  /* its size; 0: not known, as of UNKNOWN */
	uint32_t type;   /* ENUM, STRUCT: as struct dnp_value_layout has it */
};

enum {
	DNP_PLAN_SHAPES = 192, /* more are not shown */
	DNP_PLAN_FIELDS = 24,  /* of a struct; one with more is not taken apart */
};

struct dnp_values_plan {
	bool has_this;     /* the object comes before the arguments */
	uint16_t n_args;   /* of the signature */
	uint16_t n_shapes; /* the result's, then those of the arguments that there was room for */
	struct dnp_shape shapes[DNP_PLAN_SHAPES];
};

/* Bytes of a plan with no more shapes than it has. */
static inline size_t dnp_values_plan_bytes(const struct dnp_values_plan *plan)
{
	return offsetof(struct dnp_values_plan, shapes) + plan->n_shapes * sizeof(plan->shapes[0]);
}

/* A type, as far as it matters. */
struct dnp_value_type {
	uint8_t element;    /* DNP_ELEMENT_: VALUETYPE if it has a class, OBJECT for any reference
			       but a string, VAR for a type argument that only a call tells */
	uintptr_t class_id; /* of a value type; or which type argument */
};

struct dnp_value_field {
	uint32_t offset;
	struct dnp_value_type type;
};

/* What a value type is made of. */
struct dnp_value_layout {
	uint8_t kind;   /* ENUM, STRUCT, NULLABLE, or one that is known by name */
	uint32_t bytes; /* its size */
	uint32_t type;  /* what stands for its name in values */
	uint32_t n;     /* fields; an ENUM has one, NULLABLE two: the bool and the value */
	struct dnp_value_field fields[DNP_PLAN_FIELDS];
};

/* What only the runtime knows. All return false where it does not. */
struct dnp_value_types {
	/* The type that a part of the signature stands for: value types and generic parameters. */
	bool (*type)(void *context, const uint8_t *blob, size_t n, struct dnp_value_type *type);
	bool (*layout)(void *context, uintptr_t class_id, struct dnp_value_layout *layout);
	/* Whether the index-th argument (from 0) is declared `out`. */
	bool (*is_out)(void *context, uint32_t index);
	void *context; /* borrowed, passed to all */
};

/* Fills the plan of a method by its signature. 0, or -EBADMSG: it is none, or damaged. */
int dnp_values_plan(struct dnp_values_plan *plan, const uint8_t *blob, size_t n,
	const struct dnp_value_types *types);

/* How memory is read. */
struct dnp_values_memory {
	/* Copies what can be read of n bytes at an address; how many. */
	size_t (*read)(uintptr_t address, void *to, size_t n);
	/* What stands for the name of an object's type, by its first word; 0: not known. */
	uint32_t (*type)(uintptr_t word);
	uintptr_t string_word; /* of strings; 0: not known */
	uint64_t references;   /* bit i: type argument i of the method's class is a reference */
	uint32_t length_offset, chars_offset; /* in a string (GetStringLayout2) */
};

enum { DNP_VALUE_STRING_UNITS = 64 }; /* UTF-16 units of a string that are kept */

/*
 * Writes the arguments of a call; `n` ranges, of which the first is the object's where there is
 * one. The ranges' own memory is read directly.
 */
void dnp_values_take_args(const struct dnp_values_plan *plan,
	const COR_PRF_FUNCTION_ARGUMENT_RANGE *ranges, uint32_t n,
	const struct dnp_values_memory *memory, struct dnp_values *out);

/* Writes the result. */
void dnp_values_take_result(const struct dnp_values_plan *plan,
	const COR_PRF_FUNCTION_ARGUMENT_RANGE *range, const struct dnp_values_memory *memory,
	struct dnp_values *out);

#endif
