/* SPDX-License-Identifier: MIT */
#include "clr/shapes.h"

#include <string.h>

#include "base/clean.h"
#include "clr/element.h"
#include "clr/find.h"
#include "clr/hresult.h"
#include "clr/metadata.h"
#include "clr/sig.h"

enum {
	MAX_WIDE = 512,     /* WCHARs of a name */
	MAX_TYPE_ARGS = 16, /* of a type or method */
	MAX_DEPTH = 4,      /* of type arguments in one another */
};

#define FIELD_STATIC 0x10 /* fdStatic */
#define SIG_FIELD    0x06

/* Type arguments. */
struct classes {
	uint32_t n;
	ClassID ids[MAX_TYPE_ARGS];
};

/* Where a signature stands: what its tokens and variables refer to. */
struct scope {
	ICorProfilerInfo *info;
	dnp_class_number number;
	ModuleID module;
	IMetaDataImport *import; /* owned by whoever made the scope */
	struct classes type_args, method_args;
	bool class_unknown; /* that of shared code: only a call's frame tells it (CoreCLR 8, 9) */
	int depth;          /* of type arguments in one another */
	mdMethodDef method;
};

/* --- what a class is --- */

/* A class with its metadata. */
struct class
{
	ModuleID module;
	mdTypeDef type;
	IMetaDataImport *import; /* owned */
	struct classes args;
	uint32_t n_name;
	char name[MAX_WIDE];   /* ASCII; "" where it is not */
	char parent[MAX_WIDE]; /* the same of the type that it extends */
};

static void put_ascii(char out[MAX_WIDE], const WCHAR *name, uint32_t length)
{
	for (uint32_t i = 0; i < length && i < MAX_WIDE; i++) {
		if (name[i] > 0x7f) {
			out[0] = '\0';
			return;
		}
		out[i] = (char)name[i];
	}
}

static void name_parent(struct class *class, mdToken parent)
{
	WCHAR name[MAX_WIDE];
	uint32_t length = 0;
	mdToken outer;
	HRESULT hr = TypeFromToken(parent) == mdtTypeRef
		? dnp_com(class->import, GetTypeRefProps, parent, &outer, name, MAX_WIDE, &length)
		: dnp_com(class->import, GetTypeDefProps, parent, name, MAX_WIDE, &length, NULL,
			  NULL);

	if (SUCCEEDED(hr) && length <= MAX_WIDE)
		put_ascii(class->parent, name, length);
}

/* False: it has no metadata of its own (an array). Pair: close_class. */
static bool open_class(ICorProfilerInfo *info, ClassID id, struct class *class)
{
	WCHAR name[MAX_WIDE];
	uint32_t length = 0;
	mdToken parent = 0;

	*class = (struct class){0};
	if (FAILED(dnp_com(info, GetClassIDInfo2, id, &class->module, &class->type, NULL,
		    MAX_TYPE_ARGS, &class->args.n, class->args.ids)) ||
		class->args.n > MAX_TYPE_ARGS)
		return false;
	class->import = dnp_import_open(info, class->module);
	if (!class->import)
		return false;
	if (SUCCEEDED(dnp_com(class->import, GetTypeDefProps, class->type, name, MAX_WIDE, &length,
		    NULL, &parent)) &&
		length <= MAX_WIDE)
		put_ascii(class->name, name, length);
	if (!IsNilToken(parent))
		name_parent(class, parent);
	return true;
}

static void close_class(struct class *class)
{
	if (class->import)
		dnp_com(class->import, Release);
}

static bool is_enum(const struct class *class)
{
	return !strcmp(class->parent, "System.Enum");
}

static bool is_value(const struct class *class)
{
	return is_enum(class) ||
		(!strcmp(class->parent, "System.ValueType") &&
			strcmp(class->name, "System.Enum") != 0);
}

/* The element type of the numbers of C#, by the full name; 0: it is none. */
static uint8_t number_of(const struct class *class)
{
	const char *keyword;

	if (strncmp(class->name, "System.", 7) != 0)
		return 0;
	keyword = dnp_keyword_of_type(dnp_str(class->name));
	for (uint8_t element = DNP_ELEMENT_BOOLEAN; keyword && element < DNP_ELEMENT_STRING;
		element++)
		if (keyword == dnp_keyword_of_element(element))
			return element;
	for (uint8_t element = DNP_ELEMENT_I; keyword && element <= DNP_ELEMENT_U; element++)
		if (keyword == dnp_keyword_of_element(element))
			return element;
	return 0;
}

/* What an argument of that class is, where its type is a parameter or argument. */
static bool type_of_class(ICorProfilerInfo *info, ClassID id, struct dnp_value_type *type)
{
	struct class class;

	if (!id)
		return false;
	*type = (struct dnp_value_type){.element = DNP_ELEMENT_OBJECT};
	if (!open_class(info, id, &class)) {
		close_class(&class);
		return true;
	}
	if (is_value(&class)) {
		uint8_t number = number_of(&class);

		*type = number
			? (struct dnp_value_type){.element = number}
			: (struct dnp_value_type){.element = DNP_ELEMENT_VALUETYPE, .class_id = id};
	}
	close_class(&class);
	return true;
}

/* --- types in signatures --- */

/* Type `token` of the scope's module. */
static ClassID class_of_token(struct scope *scope, mdToken token, struct classes *args)
{
	return dnp_class_of_token(scope->info, scope->module, scope->import, token,
		args ? args->n : 0, args ? args->ids : NULL);
}

static ClassID generic_class(struct scope *scope, struct dnp_sig_part *part);

static ClassID variable_class(struct scope *scope, struct dnp_sig_part *part, bool of_method)
{
	const struct classes *args = of_method ? &scope->method_args : &scope->type_args;
	uint32_t index = dnp_sig_number(part);

	return !part->bad && index < args->n ? args->ids[index] : 0;
}

/* Of numbers, strings and objects: the class by its name. */
static ClassID element_class(struct scope *scope, uint8_t element)
{
	static const char *const names[] = {"System.Boolean", "System.Char", "System.SByte",
		"System.Byte", "System.Int16", "System.UInt16", "System.Int32", "System.UInt32",
		"System.Int64", "System.UInt64", "System.Single", "System.Double", "System.String"};

	switch (element) {
	case DNP_ELEMENT_I: return dnp_class_named(scope->info, "System.IntPtr");
	case DNP_ELEMENT_U: return dnp_class_named(scope->info, "System.UIntPtr");
	case DNP_ELEMENT_OBJECT: return dnp_class_named(scope->info, "System.Object");
	default:
		return element >= DNP_ELEMENT_BOOLEAN && element <= DNP_ELEMENT_STRING
			? dnp_class_named(scope->info, names[element - DNP_ELEMENT_BOOLEAN])
			: 0;
	}
}

static ClassID class_in(struct scope *scope, struct dnp_sig_part *part)
{
	uint8_t element = part->p < part->end ? *part->p++ : 0;

	switch (element) {
	case DNP_ELEMENT_VALUETYPE:
	case DNP_ELEMENT_CLASS: return class_of_token(scope, dnp_sig_token(part), NULL);
	case DNP_ELEMENT_GENERICINST: return generic_class(scope, part);
	case DNP_ELEMENT_VAR: return variable_class(scope, part, false);
	case DNP_ELEMENT_MVAR: return variable_class(scope, part, true);
	default: return element_class(scope, element);
	}
}

/*
 * The class that stands for a type argument. What cannot be found is taken for the class of shared
 * code if it is a reference: the layout is the same, only the name is not.
 */
static ClassID class_of_arg(struct scope *scope, struct dnp_sig_part *part)
{
	struct dnp_sig_part again = *part;
	uint8_t element = part->p < part->end ? *part->p : 0;
	bool reference = element == DNP_ELEMENT_CLASS || element == DNP_ELEMENT_SZARRAY ||
		element == DNP_ELEMENT_ARRAY ||
		(element == DNP_ELEMENT_GENERICINST && part->end - part->p > 1 &&
			part->p[1] == DNP_ELEMENT_CLASS);
	ClassID id = scope->depth < MAX_DEPTH ? class_in(scope, &again) : 0;

	return id || !reference ? id : dnp_class_named(scope->info, "System.__Canon");
}

/* All arguments of a generic type, from their number on. */
static bool args_in(struct scope *scope, struct dnp_sig_part *part, struct classes *args)
{
	args->n = dnp_sig_number(part);
	if (part->bad || args->n > MAX_TYPE_ARGS)
		return false;
	scope->depth++;
	for (uint32_t i = 0; i < args->n; i++) {
		struct dnp_sig_part one = *part;

		dnp_sig_skip_type(part);
		one.end = part->p;
		args->ids[i] = part->bad ? 0 : class_of_arg(scope, &one);
		if (!args->ids[i]) {
			scope->depth--;
			return false;
		}
	}
	scope->depth--;
	return true;
}

/* After GENERICINST; 0: not known. */
static ClassID generic_class(struct scope *scope, struct dnp_sig_part *part)
{
	struct classes args = {0};
	mdToken token;

	part->p++; /* CLASS or VALUETYPE; the type was gone over as a whole before */
	token = dnp_sig_token(part);
	return args_in(scope, part, &args) ? class_of_token(scope, token, &args) : 0;
}

/* A class with arguments, after GENERICINST. */
static bool generic_in(struct scope *scope, struct dnp_sig_part *part, struct dnp_value_type *type)
{
	*type = (struct dnp_value_type){.element = DNP_ELEMENT_OBJECT};
	if (part->p < part->end && *part->p != DNP_ELEMENT_VALUETYPE)
		return true;
	type->element = DNP_ELEMENT_VALUETYPE;
	type->class_id = part->p < part->end ? generic_class(scope, part) : 0;
	return type->class_id != 0;
}

static bool variable_in(
	struct scope *scope, struct dnp_sig_part *part, bool of_method, struct dnp_value_type *type)
{
	struct dnp_sig_part again = *part;

	if (!of_method && scope->class_unknown) {
		*type = (struct dnp_value_type){
			.element = DNP_ELEMENT_VAR, .class_id = dnp_sig_number(&again)};
		return !again.bad;
	}
	return type_of_class(scope->info, variable_class(scope, part, of_method), type);
}

/* One type, at its first byte. Nesting is bounded by dnp_sig_skip_type before. */
static bool type_in(struct scope *scope, struct dnp_sig_part *part, struct dnp_value_type *type)
{
	if (part->bad || part->p >= part->end)
		return false;
	type->element = *part->p++;
	type->class_id = 0;
	switch (type->element) {
	case DNP_ELEMENT_VALUETYPE:
		type->class_id = class_of_token(scope, dnp_sig_token(part), NULL);
		return type->class_id != 0;
	case DNP_ELEMENT_GENERICINST: return generic_in(scope, part, type);
	case DNP_ELEMENT_VAR: return variable_in(scope, part, false, type);
	case DNP_ELEMENT_MVAR: return variable_in(scope, part, true, type);
	case DNP_ELEMENT_CLASS:
	case DNP_ELEMENT_ARRAY:
	case DNP_ELEMENT_SZARRAY: type->element = DNP_ELEMENT_OBJECT; return true;
	default: return true;
	}
}

static bool scope_type(void *context, const uint8_t *blob, size_t n, struct dnp_value_type *type)
{
	struct dnp_sig_part part = {.p = blob, .end = blob + n};

	return type_in(context, &part, type);
}

/* --- layouts --- */

static bool field_type(struct scope *scope, mdFieldDef field, struct dnp_value_type *type)
{
	const uint8_t *blob = NULL, *first;
	uint32_t n = 0, flags = 0;
	struct dnp_sig_part part;

	if (FAILED(dnp_com(scope->import, GetFieldProps, field, NULL, NULL, 0, NULL, &flags, &blob,
		    &n, NULL, NULL, NULL)) ||
		!blob || n < 2 || *blob != SIG_FIELD)
		return false;
	part = (struct dnp_sig_part){.p = blob + 1, .end = blob + n};
	first = dnp_sig_skip_type(&part);
	if (part.bad)
		return false;
	part = (struct dnp_sig_part){.p = first, .end = blob + n};
	if (!type_in(scope, &part, type))
		*type = (struct dnp_value_type){0};
	return true;
}

/* In the order that they are declared in, which is that of their tokens. */
static void sort_fields(COR_FIELD_OFFSET *fields, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k && fields[k - 1].ridOfField > fields[k].ridOfField; k--) {
			COR_FIELD_OFFSET other = fields[k];

			fields[k] = fields[k - 1];
			fields[k - 1] = other;
		}
}

static bool read_fields(struct scope *scope, ClassID id, struct dnp_value_layout *layout)
{
	COR_FIELD_OFFSET fields[DNP_PLAN_FIELDS];
	uint32_t n = 0;

	if (FAILED(dnp_com(scope->info, GetClassLayout, id, fields, DNP_PLAN_FIELDS, &n,
		    &layout->bytes)) ||
		n > DNP_PLAN_FIELDS)
		return false;
	sort_fields(fields, n);
	for (uint32_t i = 0; i < n; i++) {
		layout->fields[i].offset = fields[i].ulOffset;
		if (!field_type(scope, fields[i].ridOfField, &layout->fields[i].type))
			return false;
	}
	layout->n = n;
	return true;
}

/* Those that are shown as a whole. */
static uint8_t kind_by_name(const struct class *class)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} kinds[] = {
		{"System.Decimal", DNP_SHAPE_DECIMAL},
		{"System.Guid", DNP_SHAPE_GUID},
		{"System.DateTime", DNP_SHAPE_DATE},
		{"System.TimeSpan", DNP_SHAPE_SPAN},
		{"System.Nullable`1", DNP_SHAPE_NULLABLE},
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(kinds); i++)
		if (!strcmp(class->name, kinds[i].name))
			return kinds[i].kind;
	return is_enum(class) ? DNP_SHAPE_ENUM : DNP_SHAPE_STRUCT;
}

static bool scope_layout(void *context, uintptr_t class_id, struct dnp_value_layout *layout)
{
	struct scope *outer = context;
	struct scope scope = {.info = outer->info, .number = outer->number};
	struct class class;
	bool known = open_class(outer->info, class_id, &class);

	if (known) {
		scope.module = class.module;
		scope.import = class.import;
		scope.type_args = class.args;
		layout->kind = kind_by_name(&class);
		layout->type = outer->number(class_id);
		known = read_fields(&scope, class_id, layout);
	}
	close_class(&class);
	return known;
}

/* --- methods --- */

/* Argument `index` (from 0) has the attribute `out` alone: pdOut, and not pdIn. */
static bool scope_is_out(void *context, uint32_t index)
{
	struct scope *scope = context;
	mdParamDef param = 0;
	uint32_t flags = 0;

	return SUCCEEDED(dnp_com(
		       scope->import, GetParamForMethodIndex, scope->method, index + 1, &param)) &&
		SUCCEEDED(dnp_com(scope->import, GetParamProps, param, NULL, NULL, NULL, 0, NULL,
			&flags, NULL, NULL, NULL)) &&
		(flags & 3) == 2;
}

static HRESULT read_method(const struct dnp_info *info, FunctionID function, struct scope *scope)
{
	ClassID class_id = 0;
	ModuleID module;
	mdTypeDef type;
	HRESULT hr;

	*scope = (struct scope){.info = info->com};
	hr = dnp_com(info->com, GetFunctionInfo2, function, 0, &class_id, &scope->module,
		&scope->method, MAX_TYPE_ARGS, &scope->method_args.n, scope->method_args.ids);
	if (FAILED(hr))
		return hr;
	if (IsNilToken(scope->method) || scope->method_args.n > MAX_TYPE_ARGS)
		return CORPROF_E_DATAINCOMPLETE;
	scope->class_unknown = !class_id;
	if (class_id &&
		(FAILED(dnp_com(info->com, GetClassIDInfo2, class_id, &module, &type, NULL,
			 MAX_TYPE_ARGS, &scope->type_args.n, scope->type_args.ids)) ||
			scope->type_args.n > MAX_TYPE_ARGS))
		scope->type_args.n = 0;
	return S_OK;
}

HRESULT dnp_shapes_plan(const struct dnp_info *info, FunctionID function, dnp_class_number number,
	struct dnp_values_plan *plan)
{
	struct scope scope;
	struct dnp_value_types types = {scope_type, scope_layout, scope_is_out, &scope};
	const uint8_t *sig = NULL;
	uint32_t n = 0;
	HRESULT hr = read_method(info, function, &scope);

	if (FAILED(hr))
		return hr;
	scope.number = number;
	scope.import = dnp_import_open(info->com, scope.module);
	if (!scope.import)
		return CORPROF_E_DATAINCOMPLETE;
	hr = dnp_com(scope.import, GetMethodProps, scope.method, NULL, NULL, 0, NULL, NULL, &sig,
		&n, NULL, NULL);
	if (SUCCEEDED(hr) && (!sig || dnp_values_plan(plan, sig, n, &types)))
		hr = CORPROF_E_DATAINCOMPLETE;
	dnp_com(scope.import, Release);
	return hr;
}

/* Whether code with that argument is shared: it is, or is made of, the class of shared code. */
static bool is_shared(ICorProfilerInfo *info, ClassID id, int depth)
{
	struct class class;
	bool shared;

	shared = depth < 8 && open_class(info, id, &class);
	if (!shared)
		return false;
	shared = !strcmp(class.name, "System.__Canon");
	for (uint32_t i = 0; i < class.args.n && !shared; i++)
		shared = is_shared(info, class.args.ids[i], depth + 1);
	close_class(&class);
	return shared;
}

bool dnp_shapes_shared(const struct dnp_info *info, FunctionID function)
{
	struct scope scope;
	bool shared = false;

	if (FAILED(read_method(info, function, &scope)))
		return false;
	shared = scope.class_unknown;
	for (uint32_t i = 0; i < scope.method_args.n && !shared; i++)
		shared = is_shared(info->com, scope.method_args.ids[i], 0);
	for (uint32_t i = 0; i < scope.type_args.n && !shared; i++)
		shared = is_shared(info->com, scope.type_args.ids[i], 0);
	return shared;
}

ClassID dnp_shapes_string(const struct dnp_info *info)
{
	return dnp_class_named(info->com, "System.String");
}
