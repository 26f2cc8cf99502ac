/* SPDX-License-Identifier: MIT */
#include "clr/sig.h"

#include <errno.h>

#include "base/clean.h"
#include "clr/element.h"

enum {
	MAX_DEPTH = 32,   /* of types within types */
	MAX_TYPES = 4096, /* in one signature; the types of function pointers are read twice */
	MAX_RANK = 32,    /* the CLR's limit */
};

/* Calling conventions, ECMA-335 II.23.2.1. */
enum {
	CC_MASK = 0x0f,
	CC_VARARG = 0x5,
	CC_FIELD = 0x6,
	CC_UNMANAGED = 0x9,
	CC_GENERIC = 0x10,
	CC_THIS = 0x20,
	CC_EXPLICIT_THIS = 0x40,
};

/* The types that have a keyword. Element type 0: the CLR knows them by name only. */
static const struct keyword {
	uint8_t element;
	const char *keyword;
	const char *name;
} keywords[] = {
	{DNP_ELEMENT_VOID, "void", "System.Void"},
	{DNP_ELEMENT_BOOLEAN, "bool", "System.Boolean"},
	{DNP_ELEMENT_CHAR, "char", "System.Char"},
	{DNP_ELEMENT_I1, "sbyte", "System.SByte"},
	{DNP_ELEMENT_U1, "byte", "System.Byte"},
	{DNP_ELEMENT_I2, "short", "System.Int16"},
	{DNP_ELEMENT_U2, "ushort", "System.UInt16"},
	{DNP_ELEMENT_I4, "int", "System.Int32"},
	{DNP_ELEMENT_U4, "uint", "System.UInt32"},
	{DNP_ELEMENT_I8, "long", "System.Int64"},
	{DNP_ELEMENT_U8, "ulong", "System.UInt64"},
	{DNP_ELEMENT_R4, "float", "System.Single"},
	{DNP_ELEMENT_R8, "double", "System.Double"},
	{DNP_ELEMENT_STRING, "string", "System.String"},
	{DNP_ELEMENT_TYPEDBYREF, "System.TypedReference", "System.TypedReference"},
	{DNP_ELEMENT_I, "nint", "System.IntPtr"},
	{DNP_ELEMENT_U, "nuint", "System.UIntPtr"},
	{DNP_ELEMENT_OBJECT, "object", "System.Object"},
	{0x00, "decimal", "System.Decimal"},
};

struct sig {
	const uint8_t *p, *end;
	const struct dnp_sig_names *names;
	int depth;
	int types;
	bool bad; /* damaged: nothing more is read or written */
};

/* Arguments that are still to be read from the signature. */
struct sig_args {
	struct dnp_type_args args;
	struct sig *sig;
};

static void read_type(struct sig *sig, struct dnp_text *out);

const char *dnp_keyword_of_type(struct dnp_str name)
{
	for (size_t i = 0; i < DNP_ARRAY_SIZE(keywords); i++)
		if (name.n == strlen(keywords[i].name) &&
			memcmp(name.p, keywords[i].name, name.n) == 0)
			return keywords[i].keyword;
	return NULL;
}

static const struct keyword *find_element(uint8_t element)
{
	for (size_t i = 0; element && i < DNP_ARRAY_SIZE(keywords); i++)
		if (keywords[i].element == element)
			return &keywords[i];
	return NULL;
}

const char *dnp_keyword_of_element(uint8_t element)
{
	const struct keyword *known = find_element(element);

	return known ? known->keyword : NULL;
}

const char *dnp_name_of_element(uint8_t element)
{
	const struct keyword *known = find_element(element);

	return known ? known->name : NULL;
}

void dnp_type_args_next(struct dnp_type_args *args, struct dnp_text *out)
{
	args->left--;
	args->write(args, out);
}

/* `out` is NULL where a part is only skipped. */
static void put(struct dnp_text *out, const char *text)
{
	if (out)
		dnp_text_puts(out, text);
}

static uint8_t read_byte(struct sig *sig)
{
	if (sig->p >= sig->end) {
		sig->bad = true;
		return 0;
	}
	return *sig->p++;
}

/* A compressed unsigned integer, ECMA-335 II.23.2: 1, 2 or 4 bytes, the top bits say how many. */
static uint32_t read_number(struct sig *sig)
{
	uint32_t first = read_byte(sig);
	uint32_t value;

	if (!(first & 0x80))
		return first;
	if (!(first & 0x40))
		return (first & 0x3f) << 8 | read_byte(sig);
	if (first & 0x20)
		sig->bad = true;
	value = (first & 0x1f) << 24;
	value |= (uint32_t)read_byte(sig) << 16;
	value |= (uint32_t)read_byte(sig) << 8;
	return value | read_byte(sig);
}

/* TypeDefOrRefOrSpecEncoded, ECMA-335 II.23.2.8. */
static uint32_t read_type_token(struct sig *sig)
{
	static const uint32_t tables[] = {0x02000000, 0x01000000, 0x1b000000};
	uint32_t coded = read_number(sig);

	if ((coded & 3) == 3) {
		sig->bad = true;
		return 0;
	}
	return tables[coded & 3] | coded >> 2;
}

static void skip_pointer(struct sig *sig)
{
	if ((size_t)(sig->end - sig->p) < sizeof(void *))
		sig->bad = true;
	else
		sig->p += sizeof(void *);
}

static void write_sig_arg(struct dnp_type_args *args, struct dnp_text *out)
{
	read_type(((struct sig_args *)args)->sig, out);
}

/* A class or value type, after its element type, with the arguments that follow it. */
static void read_named(struct sig *sig, bool generic, struct dnp_text *out)
{
	struct sig_args sub = {{0, write_sig_arg}, sig};
	uint32_t token = read_type_token(sig);

	if (generic)
		sub.args.left = read_number(sig);
	if (sub.args.left > (size_t)(sig->end - sig->p))
		sig->bad = true;
	if (sig->bad)
		return;
	if (out)
		sig->names->type(sig->names->context, token, &sub.args, out);
	while (sub.args.left && !sig->bad)
		dnp_type_args_next(&sub.args, NULL);
}

static void read_generic(struct sig *sig, struct dnp_text *out)
{
	uint8_t element = read_byte(sig);

	if (element != DNP_ELEMENT_CLASS && element != DNP_ELEMENT_VALUETYPE)
		sig->bad = true;
	else
		read_named(sig, true, out);
}

static void read_variable(struct sig *sig, bool of_method, struct dnp_text *out)
{
	uint32_t index = read_number(sig);

	if (out && !sig->bad)
		sig->names->variable(sig->names->context, of_method, index, out);
}

/* ArrayShape, ECMA-335 II.23.2.13; the bounds are not shown. */
static void read_shape(struct sig *sig, struct dnp_text *out)
{
	uint32_t rank = read_number(sig);

	for (int list = 0; list < 2; list++)
		for (uint32_t n = read_number(sig); n && !sig->bad; n--)
			read_number(sig);
	if (sig->bad || !rank || rank > MAX_RANK) {
		sig->bad = true;
		return;
	}
	put(out, rank == 1 ? "[*" : "[");
	for (uint32_t i = 1; i < rank; i++)
		put(out, ",");
	put(out, "]");
}

/* Everything of a method's signature before the return type; returns the number of parameters. */
static uint32_t read_head(struct sig *sig, uint8_t *convention)
{
	*convention = read_byte(sig);
	if (*convention & CC_GENERIC)
		read_number(sig);
	return read_number(sig);
}

/* As C# writes it, `delegate*<parameters, result>`; in the blob the result is first. */
static void read_function_pointer(struct sig *sig, struct dnp_text *out)
{
	uint8_t convention;
	uint32_t n = read_head(sig, &convention);
	const uint8_t *result = sig->p;
	const uint8_t *end;

	convention &= CC_MASK;
	put(out, "delegate*");
	if (convention && convention != CC_VARARG)
		put(out, " unmanaged");
	put(out, "<");
	read_type(sig, NULL);
	for (; n && !sig->bad; n--) {
		read_type(sig, out);
		put(out, ", ");
	}
	if (!sig->bad) {
		end = sig->p;
		sig->p = result;
		read_type(sig, out);
		sig->p = end;
	}
	put(out, ">");
}

/* What is not of the type itself: modifiers, and marks of locals and variable arguments. */
static void skip_modifiers(struct sig *sig)
{
	while (!sig->bad && sig->p < sig->end) {
		uint8_t element = *sig->p;

		if (element != DNP_ELEMENT_CMOD_REQD && element != DNP_ELEMENT_CMOD_OPT &&
			element != DNP_ELEMENT_SENTINEL && element != DNP_ELEMENT_PINNED)
			return;
		sig->p++;
		if (element == DNP_ELEMENT_CMOD_REQD || element == DNP_ELEMENT_CMOD_OPT)
			read_type_token(sig);
	}
}

static void read_element(struct sig *sig, struct dnp_text *out)
{
	uint8_t element;

	skip_modifiers(sig);
	element = read_byte(sig);
	if (dnp_keyword_of_element(element)) {
		put(out, dnp_keyword_of_element(element));
		return;
	}
	switch (element) {
	case DNP_ELEMENT_PTR:
		read_type(sig, out);
		put(out, "*");
		break;
	case DNP_ELEMENT_BYREF:
		put(out, "ref ");
		read_type(sig, out);
		break;
	case DNP_ELEMENT_VALUETYPE:
	case DNP_ELEMENT_CLASS: read_named(sig, false, out); break;
	case DNP_ELEMENT_GENERICINST: read_generic(sig, out); break;
	case DNP_ELEMENT_VAR: read_variable(sig, false, out); break;
	case DNP_ELEMENT_MVAR: read_variable(sig, true, out); break;
	case DNP_ELEMENT_SZARRAY:
		read_type(sig, out);
		put(out, "[]");
		break;
	case DNP_ELEMENT_ARRAY:
		read_type(sig, out);
		read_shape(sig, out);
		break;
	case DNP_ELEMENT_FNPTR: read_function_pointer(sig, out); break;
	case DNP_ELEMENT_INTERNAL:
		skip_pointer(sig);
		put(out, "?");
		break;
	default: sig->bad = true; break;
	}
}

static void read_type(struct sig *sig, struct dnp_text *out)
{
	if (sig->bad)
		return;
	if (sig->depth >= MAX_DEPTH || ++sig->types > MAX_TYPES) {
		sig->bad = true;
		return;
	}
	sig->depth++;
	read_element(sig, out);
	sig->depth--;
}

int dnp_sig_params(
	const uint8_t *blob, size_t n, const struct dnp_sig_names *names, struct dnp_text *out)
{
	struct sig sig = {.p = blob, .end = blob + n, .names = names};
	uint8_t convention;
	uint32_t n_params = read_head(&sig, &convention);

	convention &= CC_MASK;
	if (convention >= CC_FIELD && convention != CC_UNMANAGED)
		sig.bad = true;
	read_type(&sig, NULL);
	put(out, "(");
	for (uint32_t i = 0; i < n_params && !sig.bad; i++) {
		if (i)
			put(out, ", ");
		read_type(&sig, out);
	}
	if (sig.bad)
		put(out, "?");
	else if (convention == CC_VARARG)
		put(out, n_params ? ", __arglist" : "__arglist");
	put(out, ")");
	return sig.bad ? -EBADMSG : 0;
}

int dnp_sig_type(
	const uint8_t *blob, size_t n, const struct dnp_sig_names *names, struct dnp_text *out)
{
	struct sig sig = {.p = blob, .end = blob + n, .names = names};

	read_type(&sig, out);
	if (sig.bad)
		put(out, "?");
	return sig.bad ? -EBADMSG : 0;
}

/* --- by hand --- */

static struct sig begin_part(const struct dnp_sig_part *part)
{
	return (struct sig){.p = part->p, .end = part->end, .bad = part->bad};
}

static void end_part(struct dnp_sig_part *part, const struct sig *sig)
{
	part->p = sig->p;
	part->bad = sig->bad;
}

uint32_t dnp_sig_method(struct dnp_sig_part *part, bool *has_this)
{
	struct sig sig = begin_part(part);
	uint8_t convention = 0;
	uint32_t n = read_head(&sig, &convention);

	if ((convention & CC_MASK) >= CC_FIELD && (convention & CC_MASK) != CC_UNMANAGED)
		sig.bad = true;
	*has_this = (convention & CC_THIS) && !(convention & CC_EXPLICIT_THIS);
	end_part(part, &sig);
	return part->bad ? 0 : n;
}

const uint8_t *dnp_sig_skip_type(struct dnp_sig_part *part)
{
	struct sig sig = begin_part(part);
	const uint8_t *first;

	skip_modifiers(&sig);
	first = sig.p;
	read_type(&sig, NULL);
	end_part(part, &sig);
	return first;
}

uint32_t dnp_sig_number(struct dnp_sig_part *part)
{
	struct sig sig = begin_part(part);
	uint32_t number = read_number(&sig);

	end_part(part, &sig);
	return part->bad ? 0 : number;
}

uint32_t dnp_sig_token(struct dnp_sig_part *part)
{
	struct sig sig = begin_part(part);
	uint32_t token = read_type_token(&sig);

	end_part(part, &sig);
	return part->bad ? 0 : token;
}
