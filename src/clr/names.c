/* SPDX-License-Identifier: MIT */
#include "clr/names.h"

#include <string.h>

#include "clr/element.h"
#include "clr/hresult.h"
#include "clr/metadata.h"
#include "clr/sig.h"

enum {
	MAX_WIDE = 1024,    /* WCHARs of one identifier or path */
	MAX_TYPE_ARGS = 32, /* of one type or method; the rest get their parameter's name */
	MAX_NESTED = 16,    /* types within types by declaration */
	MAX_DEPTH = 16,     /* types within types by type arguments */
	MAX_INTERFACES = 16,
};

/* Number of arguments where they are the type's own parameters: as many as its name asks for. */
#define OPEN UINT32_MAX

/* An identifier as the runtime gave it. */
struct wide {
	uint32_t n;
	WCHAR units[MAX_WIDE];
};

struct namer {
	ICorProfilerInfo *info;
	int depth;
	bool full;          /* no keywords: System.Int32 */
	struct wide method; /* name of the method, while its type's name is written */
	struct wide last;   /* the last identifier; any call may overwrite it */
};

/* Type arguments by ClassID; fewer than there are parameters, or 0, where they are not known. */
struct classes {
	uint32_t n;
	ClassID ids[MAX_TYPE_ARGS];
};

/* What tokens and variables in a signature refer to. */
struct scope {
	struct namer *namer;
	IMetaDataImport *import;
	mdTypeDef type;
	mdMethodDef method;
	const struct classes *type_args;
	const struct classes *method_args;
};

/* Arguments of a type or method, with what names them where they are not known. */
struct class_args {
	struct dnp_type_args args;
	struct namer *namer;
	IMetaDataImport *import;
	mdToken owner;
	const struct classes *classes;
	uint32_t index;
};

static HRESULT put_class(struct namer *namer, ClassID id, struct dnp_text *out);

/* --- identifiers --- */

/* Nothing is cleared but what is read: the buffers are large. */
static void namer_init(struct namer *namer, const struct dnp_info *info)
{
	namer->info = info->com;
	namer->depth = 0;
	namer->full = false;
}

/* Ends a call that wrote to wide->units: lengths count the terminating zero. */
static bool got_wide(struct wide *wide, HRESULT hr, uint32_t length)
{
	wide->n = 0;
	if (FAILED(hr) || !length)
		return false;
	wide->n = (length < MAX_WIDE ? length : MAX_WIDE) - 1;
	return true;
}

static void put_wide(const struct wide *wide, struct dnp_text *out)
{
	dnp_text_put16(out, wide->units, wide->n);
	if (wide->n == MAX_WIDE - 1)
		dnp_text_puts(out, "…");
}

static bool wide_is(const struct wide *wide, const char *ascii)
{
	uint32_t i = 0;

	for (; i < wide->n && ascii[i]; i++)
		if (wide->units[i] != (unsigned char)ascii[i])
			return false;
	return i == wide->n && !ascii[i];
}

/* Takes the "`2" off a generic type's name and returns the 2. */
static uint32_t take_arity(struct wide *wide)
{
	uint32_t i = wide->n, arity = 0, unit = 1;

	while (i && unit < 1000 && wide->units[i - 1] >= '0' && wide->units[i - 1] <= '9') {
		arity += (uint32_t)(wide->units[--i] - '0') * unit;
		unit *= 10;
	}
	if (!i || i == wide->n || wide->units[i - 1] != '`')
		return 0;
	wide->n = i - 1;
	return arity;
}

static void put_args(struct dnp_type_args *args, uint32_t n, struct dnp_text *out)
{
	dnp_text_puts(out, "<");
	for (uint32_t i = 0; i < n && args->left && !out->cut; i++) {
		if (i)
			dnp_text_puts(out, ", ");
		dnp_type_args_next(args, out);
	}
	dnp_text_puts(out, ">");
}

/* The last identifier, with as many of the arguments as it asks for. */
static void put_generic(struct namer *namer, struct dnp_type_args *args, struct dnp_text *out)
{
	uint32_t arity = take_arity(&namer->last);

	put_wide(&namer->last, out);
	if (arity)
		put_args(args, arity, out);
}

/* Arguments that no part of a name asked for: it has no arity. */
static void put_other_args(struct dnp_type_args *args, struct dnp_text *out)
{
	if (args->left)
		put_args(args, args->left, out);
}

/* Writes the C# keyword instead of what was put since `from`, if there is one. */
static void use_keyword(struct dnp_text *out, size_t from)
{
	const char *keyword = dnp_keyword_of_type(dnp_text_since(out, from));

	if (!keyword || out->cut)
		return;
	dnp_text_rewind(out, from);
	dnp_text_puts(out, keyword);
}

/* --- types by token --- */

static bool get_type_def(struct namer *namer, IMetaDataImport *import, mdTypeDef type)
{
	uint32_t length = 0;
	HRESULT hr = dnp_com(
		import, GetTypeDefProps, type, namer->last.units, MAX_WIDE, &length, NULL, NULL);

	return got_wide(&namer->last, hr, length);
}

static bool get_type_ref(
	struct namer *namer, IMetaDataImport *import, mdTypeRef type, mdToken *scope)
{
	uint32_t length = 0;
	HRESULT hr =
		dnp_com(import, GetTypeRefProps, type, scope, namer->last.units, MAX_WIDE, &length);

	return got_wide(&namer->last, hr, length);
}

/* Returns where in `out` the innermost type's own name begins. */
static size_t put_type_def(struct namer *namer, IMetaDataImport *import, mdTypeDef type,
	struct dnp_type_args *args, struct dnp_text *out)
{
	mdTypeDef chain[MAX_NESTED] = {type};
	size_t n = 1, own = out->n;

	while (n < MAX_NESTED &&
		SUCCEEDED(dnp_com(import, GetNestedClassProps, chain[n - 1], &chain[n])) &&
		!IsNilToken(chain[n]))
		n++;
	while (n--) {
		own = out->n;
		if (get_type_def(namer, import, chain[n]))
			put_generic(namer, args, out);
		else
			dnp_text_puts(out, "?");
		if (n)
			dnp_text_puts(out, "+");
	}
	return own;
}

static void put_type_ref(struct namer *namer, IMetaDataImport *import, mdTypeRef type,
	struct dnp_type_args *args, struct dnp_text *out)
{
	mdTypeRef chain[MAX_NESTED] = {type};
	size_t n = 1;
	mdToken scope = 0;

	while (n < MAX_NESTED && get_type_ref(namer, import, chain[n - 1], &scope) &&
		TypeFromToken(scope) == mdtTypeRef && !IsNilToken(scope))
		chain[n++] = scope;
	while (n--) {
		if (get_type_ref(namer, import, chain[n], &scope))
			put_generic(namer, args, out);
		else
			dnp_text_puts(out, "?");
		if (n)
			dnp_text_puts(out, "+");
	}
}

/* --- type arguments --- */

static void put_parameter(struct namer *namer, IMetaDataImport *import, mdToken owner,
	uint32_t index, struct dnp_text *out)
{
	mdGenericParam params[MAX_TYPE_ARGS];
	uint32_t n = 0, length = 0;
	HCORENUM list = NULL;
	HRESULT hr = dnp_com(import, EnumGenericParams, &list, owner, params, MAX_TYPE_ARGS, &n);

	if (list)
		dnp_com(import, CloseEnum, list);
	if (FAILED(hr) || index >= n) {
		dnp_text_puts(out, "T");
		return;
	}
	hr = dnp_com(import, GetGenericParamProps, params[index], NULL, NULL, NULL, NULL,
		namer->last.units, MAX_WIDE, &length);
	if (got_wide(&namer->last, hr, length))
		put_wide(&namer->last, out);
	else
		dnp_text_puts(out, "T");
}

/* The class where it is known and not the one that stands for all reference types. */
static void put_arg(struct namer *namer, IMetaDataImport *import, mdToken owner,
	const struct classes *classes, uint32_t index, struct dnp_text *out)
{
	static const char canonical[] = "System.__Canon";
	size_t from = out->n;

	if (index < classes->n && classes->ids[index]) {
		struct dnp_str name;

		put_class(namer, classes->ids[index], out);
		name = dnp_text_since(out, from);
		if (out->cut || name.n != sizeof(canonical) - 1 ||
			memcmp(name.p, canonical, name.n) != 0)
			return;
		dnp_text_rewind(out, from);
	}
	put_parameter(namer, import, owner, index, out);
}

static void write_class_arg(struct dnp_type_args *args, struct dnp_text *out)
{
	struct class_args *self = (struct class_args *)args;

	put_arg(self->namer, self->import, self->owner, self->classes, self->index++, out);
}

/* --- types by ClassID --- */

/* Of pointers the runtime does not say what to. */
static const char *pointer_name(uint32_t element)
{
	switch (element) {
	case DNP_ELEMENT_PTR: return "?*";
	case DNP_ELEMENT_FNPTR: return "delegate*";
	default: return NULL;
	}
}

static HRESULT put_array(struct namer *namer, uint32_t element, ClassID element_class,
	uint32_t rank, struct dnp_text *out)
{
	const char *keyword = namer->full ? dnp_name_of_element((uint8_t)element)
					  : dnp_keyword_of_element((uint8_t)element);
	const char *pointer = pointer_name(element);
	HRESULT hr = S_OK;

	if (pointer) {
		dnp_text_puts(out, pointer);
		hr = S_FALSE;
	} else if (element_class)
		hr = put_class(namer, element_class, out);
	else {
		dnp_text_puts(out, keyword ? keyword : "?");
	}
	dnp_text_puts(out, "[");
	for (uint32_t i = 1; i < rank && !out->cut; i++)
		dnp_text_puts(out, ",");
	dnp_text_puts(out, "]");
	return hr;
}

static HRESULT open_metadata(ICorProfilerInfo *info, ModuleID module, IMetaDataImport **import)
{
	IUnknown *unknown = NULL;
	HRESULT hr = dnp_com(
		info, GetModuleMetaData, module, ofRead, &dnp_iid_IMetaDataImport2, &unknown);

	*import = (IMetaDataImport *)unknown;
	return SUCCEEDED(hr) && !unknown ? CORPROF_E_DATAINCOMPLETE : hr;
}

static HRESULT get_class(
	ICorProfilerInfo *info, ClassID id, ModuleID *module, mdTypeDef *type, struct classes *args)
{
	HRESULT hr = dnp_com(
		info, GetClassIDInfo2, id, module, type, NULL, MAX_TYPE_ARGS, &args->n, args->ids);

	if (FAILED(hr))
		args->n = 0;
	if (args->n > MAX_TYPE_ARGS)
		args->n = MAX_TYPE_ARGS;
	return hr;
}

static HRESULT put_plain_class(struct namer *namer, ClassID id, struct dnp_text *out)
{
	struct classes classes = {0};
	struct class_args args = {{0, write_class_arg}, namer, NULL, 0, &classes, 0};
	ModuleID module = 0;
	size_t from = out->n;
	HRESULT hr = get_class(namer->info, id, &module, &args.owner, &classes);

	if (SUCCEEDED(hr))
		hr = open_metadata(namer->info, module, &args.import);
	if (FAILED(hr)) {
		dnp_text_puts(out, "?");
		return hr;
	}
	args.args.left = classes.n;
	put_type_def(namer, args.import, args.owner, &args.args, out);
	put_other_args(&args.args, out);
	dnp_com(args.import, Release);
	if (!namer->full)
		use_keyword(out, from);
	return S_OK;
}

static HRESULT put_class(struct namer *namer, ClassID id, struct dnp_text *out)
{
	uint32_t element = 0, rank = 0;
	ClassID element_class = 0;
	HRESULT hr;

	if (namer->depth >= MAX_DEPTH || out->cut) {
		dnp_text_puts(out, "…");
		return S_OK;
	}
	namer->depth++;
	if (dnp_com(namer->info, IsArrayClass, id, &element, &element_class, &rank) == S_OK)
		hr = put_array(namer, element, element_class, rank, out);
	else
		hr = put_plain_class(namer, id, out);
	namer->depth--;
	return hr;
}

/* --- signatures --- */

static void scope_type(
	void *context, uint32_t token, struct dnp_type_args *args, struct dnp_text *out);

static void scope_variable(void *context, bool of_method, uint32_t index, struct dnp_text *out)
{
	const struct scope *scope = context;

	put_arg(scope->namer, scope->import, of_method ? scope->method : scope->type,
		of_method ? scope->method_args : scope->type_args, index, out);
}

static void put_type_spec(struct scope *scope, mdTypeSpec token, struct dnp_text *out)
{
	const struct dnp_sig_names names = {scope_type, scope_variable, scope};
	const uint8_t *blob = NULL;
	uint32_t n = 0;

	if (scope->namer->depth >= MAX_DEPTH ||
		FAILED(dnp_com(scope->import, GetTypeSpecFromToken, token, &blob, &n)) || !blob) {
		dnp_text_puts(out, "?");
		return;
	}
	scope->namer->depth++;
	dnp_sig_type(blob, n, &names, out);
	scope->namer->depth--;
}

static void scope_type(
	void *context, uint32_t token, struct dnp_type_args *args, struct dnp_text *out)
{
	struct scope *scope = context;
	size_t from = out->n;

	switch (TypeFromToken(token)) {
	case mdtTypeDef: put_type_def(scope->namer, scope->import, token, args, out); break;
	case mdtTypeRef: put_type_ref(scope->namer, scope->import, token, args, out); break;
	default: put_type_spec(scope, token, out); break;
	}
	put_other_args(args, out);
	use_keyword(out, from);
}

/* --- methods --- */

/* Whether a type the compiler made runs an async method or an iterator: by its interfaces. */
static enum dnp_machine machine_of(struct namer *namer, IMetaDataImport *import, mdTypeDef type)
{
	mdInterfaceImpl impls[MAX_INTERFACES];
	enum dnp_machine machine = DNP_MACHINE_UNKNOWN;
	HCORENUM list = NULL;
	uint32_t n = 0;

	if (FAILED(dnp_com(import, EnumInterfaceImpls, &list, type, impls, MAX_INTERFACES, &n)))
		n = 0;
	if (list)
		dnp_com(import, CloseEnum, list);
	for (uint32_t i = 0; i < n; i++) {
		mdToken iface = 0, scope;
		bool got = false;

		dnp_com(import, GetInterfaceImplProps, impls[i], NULL, &iface);
		if (TypeFromToken(iface) == mdtTypeRef)
			got = get_type_ref(namer, import, iface, &scope);
		else if (TypeFromToken(iface) == mdtTypeDef)
			got = get_type_def(namer, import, iface);
		if (got &&
			wide_is(&namer->last, "System.Runtime.CompilerServices.IAsyncStateMachine"))
			return DNP_MACHINE_ASYNC;
		if (got && wide_is(&namer->last, "System.Collections.IEnumerator"))
			machine = DNP_MACHINE_ITERATOR;
	}
	return machine;
}

/* Type arguments of the method's class; none where it is not known or another type's. */
static void get_type_args(
	struct namer *namer, ClassID class_id, mdTypeDef type, struct classes *args)
{
	ModuleID module;
	mdTypeDef found = 0;

	args->n = 0;
	if (class_id)
		get_class(namer->info, class_id, &module, &found, args);
	if (found != type)
		args->n = 0;
}

/* The number of generic parameters in a method's signature, ECMA-335 II.23.2.1. */
static uint32_t method_arity(const uint8_t *sig, uint32_t n)
{
	return sig && n > 1 && (sig[0] & 0x10) && !(sig[1] & 0x80) ? sig[1] : 0;
}

static HRESULT put_method(struct namer *namer, IMetaDataImport *import, struct dnp_method *method,
	const struct classes *method_args, struct dnp_text *out)
{
	struct classes type_args;
	struct scope scope = {namer, import, 0, method->token, &type_args, method_args};
	struct dnp_sig_names names = {scope_type, scope_variable, &scope};
	struct class_args args = {{OPEN, write_class_arg}, namer, import, 0, &type_args, 0};
	const uint8_t *sig = NULL;
	uint32_t length = 0, sig_bytes = 0;
	size_t own;
	HRESULT hr = dnp_com(import, GetMethodProps, method->token, &scope.type,
		namer->method.units, MAX_WIDE, &length, NULL, &sig, &sig_bytes, NULL, NULL);

	if (FAILED(hr))
		return hr;
	get_type_args(namer, method->class_id, scope.type, &type_args);
	args.owner = scope.type;
	own = put_type_def(namer, import, scope.type, &args.args, out);
	dnp_text_puts(out, ".");

	if (got_wide(&namer->method, hr, length))
		put_wide(&namer->method, out);
	if (out->p[own] == '<' && wide_is(&namer->method, "MoveNext"))
		method->machine = machine_of(namer, import, scope.type);

	args = (struct class_args){{method_arity(sig, sig_bytes), write_class_arg}, namer, import,
		method->token, method_args, 0};
	put_other_args(&args.args, out);
	if (sig)
		dnp_sig_params(sig, sig_bytes, &names, out);
	return S_OK;
}

static HRESULT describe_dynamic(const struct dnp_info *info, struct namer *namer,
	struct dnp_method *method, struct dnp_text *name)
{
	const uint8_t *sig = NULL;
	uint32_t sig_bytes = 0, length = 0;
	HRESULT hr;

	if (!dnp_info_has(info, GetDynamicFunctionInfo))
		return E_NOTIMPL;
	hr = dnp_com(info->com, GetDynamicFunctionInfo, method->id, &method->module, &sig,
		&sig_bytes, MAX_WIDE, &length, namer->last.units);
	if (FAILED(hr))
		return hr;
	method->dynamic = true;
	dnp_text_puts(name, "[dynamic] ");
	if (got_wide(&namer->last, hr, length))
		put_wide(&namer->last, name);
	return S_OK;
}

static HRESULT describe(struct namer *namer, struct dnp_method *method,
	const struct classes *method_args, struct dnp_text *name)
{
	IMetaDataImport *import;
	HRESULT hr = open_metadata(namer->info, method->module, &import);

	if (FAILED(hr))
		return hr;
	hr = put_method(namer, import, method, method_args, name);
	dnp_com(import, Release);
	return hr;
}

HRESULT dnp_method_describe(const struct dnp_info *info, FunctionID id, COR_PRF_FRAME_INFO frame,
	struct dnp_method *method, struct dnp_text *name)
{
	struct namer namer;
	struct classes args = {0};
	HRESULT hr;

	namer_init(&namer, info);
	*method = (struct dnp_method){.id = id};
	hr = dnp_com(info->com, GetFunctionInfo2, id, frame, &method->class_id, &method->module,
		&method->token, MAX_TYPE_ARGS, &args.n, args.ids);
	if (args.n > MAX_TYPE_ARGS)
		args.n = MAX_TYPE_ARGS;
	if (FAILED(hr) || IsNilToken(method->token)) {
		HRESULT dynamic = describe_dynamic(info, &namer, method, name);

		return FAILED(hr) && FAILED(dynamic) ? hr : dynamic;
	}
	return describe(&namer, method, &args, name);
}

HRESULT dnp_method_describe_exact(const struct dnp_info *info, FunctionID id, ClassID class_id,
	const ClassID *args, uint32_t n, struct dnp_method *method, struct dnp_text *name)
{
	struct namer namer;
	struct classes exact = {.n = n < MAX_TYPE_ARGS ? n : MAX_TYPE_ARGS};
	HRESULT hr;

	namer_init(&namer, info);
	memcpy(exact.ids, args, exact.n * sizeof(*args));
	*method = (struct dnp_method){.id = id};
	hr = dnp_com(info->com, GetFunctionInfo2, id, 0, NULL, &method->module, &method->token, 0,
		NULL, NULL);
	method->class_id = class_id;
	return FAILED(hr) ? hr : describe(&namer, method, &exact, name);
}

HRESULT dnp_method_of_token(const struct dnp_info *info, ModuleID module, mdMethodDef token,
	struct dnp_method *method, struct dnp_text *name)
{
	struct namer namer;
	struct classes none = {0};

	namer_init(&namer, info);
	*method = (struct dnp_method){.module = module, .token = token};
	return describe(&namer, method, &none, name);
}

HRESULT dnp_class_describe(const struct dnp_info *info, ClassID class_id, struct dnp_text *name)
{
	struct namer namer;

	namer_init(&namer, info);
	return put_class(&namer, class_id, name);
}

HRESULT dnp_class_name(const struct dnp_info *info, ClassID class_id, struct dnp_text *name)
{
	struct namer namer;

	namer_init(&namer, info);
	namer.full = true;
	return put_class(&namer, class_id, name);
}

/* --- modules --- */

/* The module's version id, and its name where it has no path. */
static void read_scope(struct namer *namer, struct dnp_module *module, struct dnp_text *path)
{
	IMetaDataImport *import;
	uint32_t length = 0;
	HRESULT hr;

	if (FAILED(open_metadata(namer->info, module->id, &import)))
		return;
	hr = dnp_com(import, GetScopeProps, namer->last.units, MAX_WIDE, &length, &module->mvid);
	if (got_wide(&namer->last, hr, length) && !path->n)
		put_wide(&namer->last, path);
	dnp_com(import, Release);
}

void dnp_module_path(const struct dnp_info *info, ModuleID id, struct dnp_text *path)
{
	struct wide *wide;
	struct namer namer;
	uint32_t length = 0, flags;
	AssemblyID assembly;
	HRESULT hr;

	namer_init(&namer, info);
	wide = &namer.last;
	hr = dnp_com(info->com, GetModuleInfo2, id, NULL, MAX_WIDE, &length, wide->units, &assembly,
		&flags);
	/* Its assembly is not known yet, all else is. */
	if (hr == CORPROF_E_DATAINCOMPLETE)
		hr = S_OK;
	if (got_wide(wide, hr, length))
		put_wide(wide, path);
}

void dnp_assembly_name(const struct dnp_info *info, AssemblyID id, struct dnp_text *name)
{
	struct namer namer;
	uint32_t length = 0;
	HRESULT hr;

	namer_init(&namer, info);
	hr = dnp_com(
		info->com, GetAssemblyInfo, id, MAX_WIDE, &length, namer.last.units, NULL, NULL);
	if (got_wide(&namer.last, hr, length))
		put_wide(&namer.last, name);
}

HRESULT dnp_module_describe(const struct dnp_info *info, ModuleID id, struct dnp_module *module,
	struct dnp_text *path, struct dnp_text *assembly)
{
	struct namer namer;
	uint32_t length = 0;
	HRESULT hr;

	namer_init(&namer, info);
	*module = (struct dnp_module){.id = id};
	hr = dnp_com(info->com, GetModuleInfo2, id, &module->base, MAX_WIDE, &length,
		namer.last.units, &module->assembly, &module->flags);
	if (FAILED(hr))
		return hr;
	if (got_wide(&namer.last, hr, length))
		put_wide(&namer.last, path);
	read_scope(&namer, module, path);
	dnp_assembly_name(info, module->assembly, assembly);
	return S_OK;
}
