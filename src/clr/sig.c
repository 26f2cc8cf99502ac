/* SPDX-License-Identifier: MIT */
#include "clr/sig.h"

#include <errno.h>

#include "base/clean.h"

enum {
	MAX_DEPTH = 32,   /* of types within types */
	MAX_TYPES = 4096, /* in one signature; the types of function pointers are read twice */
	MAX_RANK = 32,    /* the CLR's limit */
};

/* Element types, ECMA-335 II.23.1.16, where they are no plain keyword. */
enum {
	T_PTR = 0x0f,
	T_BYREF = 0x10,
	T_VALUETYPE = 0x11,
	T_CLASS = 0x12,
	T_VAR = 0x13,
	T_ARRAY = 0x14,
	T_GENERICINST = 0x15,
	T_FNPTR = 0x1b,
	T_SZARRAY = 0x1d,
	T_MVAR = 0x1e,
	T_CMOD_REQD = 0x1f,
	T_CMOD_OPT = 0x20,
	T_INTERNAL = 0x21, /* of the runtime: followed by a pointer */
	T_SENTINEL = 0x41,
	T_PINNED = 0x45,
};

/* Calling conventions, ECMA-335 II.23.2.1. */
enum { CC_MASK = 0x0f, CC_VARARG = 0x5, CC_FIELD = 0x6, CC_UNMANAGED = 0x9, CC_GENERIC = 0x10 };

/* The types that have a keyword. Element type 0: the CLR knows them by name only. */
static const struct {
	uint8_t element;
	const char *keyword;
	const char *name;
} keywords[] = {
	{0x01, "void", "System.Void"},
	{0x02, "bool", "System.Boolean"},
	{0x03, "char", "System.Char"},
	{0x04, "sbyte", "System.SByte"},
	{0x05, "byte", "System.Byte"},
	{0x06, "short", "System.Int16"},
	{0x07, "ushort", "System.UInt16"},
	{0x08, "int", "System.Int32"},
	{0x09, "uint", "System.UInt32"},
	{0x0a, "long", "System.Int64"},
	{0x0b, "ulong", "System.UInt64"},
	{0x0c, "float", "System.Single"},
	{0x0d, "double", "System.Double"},
	{0x0e, "string", "System.String"},
	{0x16, "System.TypedReference", "System.TypedReference"},
	{0x18, "nint", "System.IntPtr"},
	{0x19, "nuint", "System.UIntPtr"},
	{0x1c, "object", "System.Object"},
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

const char *dnp_keyword_of_element(uint8_t element)
{
	for (size_t i = 0; element && i < DNP_ARRAY_SIZE(keywords); i++)
		if (keywords[i].element == element)
			return keywords[i].keyword;
	return NULL;
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

	if (element != T_CLASS && element != T_VALUETYPE)
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

static void read_element(struct sig *sig, struct dnp_text *out)
{
	uint8_t element = read_byte(sig);

	/* Not of the type itself: modifiers, and marks of locals and variable arguments. */
	while (!sig->bad &&
		(element == T_CMOD_REQD || element == T_CMOD_OPT || element == T_SENTINEL ||
			element == T_PINNED)) {
		if (element == T_CMOD_REQD || element == T_CMOD_OPT)
			read_type_token(sig);
		element = read_byte(sig);
	}
	if (dnp_keyword_of_element(element)) {
		put(out, dnp_keyword_of_element(element));
		return;
	}
	switch (element) {
	case T_PTR:
		read_type(sig, out);
		put(out, "*");
		break;
	case T_BYREF:
		put(out, "ref ");
		read_type(sig, out);
		break;
	case T_VALUETYPE:
	case T_CLASS: read_named(sig, false, out); break;
	case T_GENERICINST: read_generic(sig, out); break;
	case T_VAR: read_variable(sig, false, out); break;
	case T_MVAR: read_variable(sig, true, out); break;
	case T_SZARRAY:
		read_type(sig, out);
		put(out, "[]");
		break;
	case T_ARRAY:
		read_type(sig, out);
		read_shape(sig, out);
		break;
	case T_FNPTR: read_function_pointer(sig, out); break;
	case T_INTERNAL:
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
