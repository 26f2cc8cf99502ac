/* SPDX-License-Identifier: MIT */
/*
 * Signatures in metadata (ECMA-335 II.23.2) as text: `(int, string[], ref System.Guid)`, in the
 * words of C#. Custom modifiers are left out, as the programmer did not write them.
 *
 * Never reads outside of the blob; nesting and work are bounded, whatever the blob says. Where it
 * stops making sense the text ends with "?". Allocates nothing; what the caller's functions may do
 * decides where this may be called.
 */
#ifndef DNP_CLR_SIG_H
#define DNP_CLR_SIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/*
 * Type arguments, to be written one after the other: a generic type's name has them in several
 * places (`Outer<int>+Inner<string>`).
 */
struct dnp_type_args {
	uint32_t left;                                                   /* how many are to come */
	void (*write)(struct dnp_type_args *args, struct dnp_text *out); /* one; called by _next */
};

/* Writes the next argument; args->left must not be 0. */
void dnp_type_args_next(struct dnp_type_args *args, struct dnp_text *out);

/* What a signature refers to and only the module's metadata or the runtime knows. */
struct dnp_sig_names {
	/* The type of a TypeDef, TypeRef or TypeSpec token with its type arguments. */
	void (*type)(
		void *context, uint32_t token, struct dnp_type_args *args, struct dnp_text *out);
	/* The index-th generic parameter of the type, or of the method. */
	void (*variable)(void *context, bool of_method, uint32_t index, struct dnp_text *out);
	void *context; /* borrowed, passed to both */
};

/*
 * Writes the parameters of a method's signature in parentheses. Returns 0, or -EBADMSG when it is
 * no method's signature or damaged; the parentheses are closed then as well.
 */
int dnp_sig_params(
	const uint8_t *blob, size_t n, const struct dnp_sig_names *names, struct dnp_text *out);

/* Writes one type. Returns 0 or -EBADMSG. */
int dnp_sig_type(
	const uint8_t *blob, size_t n, const struct dnp_sig_names *names, struct dnp_text *out);

/* A signature that is read by hand, part by part. */
struct dnp_sig_part {
	const uint8_t *p, *end; /* borrowed: what is still to be read */
	bool bad;               /* damaged: everything read is 0 */
};

/*
 * Reads all of a method's signature before the type of its result. Returns the number of
 * parameters; `has_this`: the object is not among them.
 */
uint32_t dnp_sig_method(struct dnp_sig_part *part, bool *has_this);

/* Goes over one type, and over the modifiers in front of it. Returns its first byte's address. */
const uint8_t *dnp_sig_skip_type(struct dnp_sig_part *part);

/* Numbers and tokens within a type (ECMA-335 II.23.2, II.23.2.8). */
uint32_t dnp_sig_number(struct dnp_sig_part *part);
uint32_t dnp_sig_token(struct dnp_sig_part *part);

/* The C# keyword of an element type (0x08 → "int"), or NULL. */
const char *dnp_keyword_of_element(uint8_t element);

/* Its full name (0x08 → "System.Int32"), or NULL. */
const char *dnp_name_of_element(uint8_t element);

/* The C# keyword of a type by its full name ("System.Int32" → "int"), or NULL. */
const char *dnp_keyword_of_type(struct dnp_str name);

#endif
