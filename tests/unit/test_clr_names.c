/* SPDX-License-Identifier: MIT */
/* Names from a runtime that is made of the tables below. */
#include "clr/names.h"

#include <stdio.h>

#include "base/clean.h"
#include "clr/hresult.h"
#include "clr/metadata.h"
#include "test.h"

#define MODULE   7
#define ASSEMBLY 8

static const struct {
	mdToken token;
	const char *name;
	mdTypeDef enclosing;
	const char *params; /* one letter each */
	mdToken interface;
} types[] = {
	{0x02000001, "App.Program", 0, "", 0},
	{0x02000002, "App.Outer`2", 0, "AB", 0},
	{0x02000003, "Inner`1", 0x02000002, "ABC", 0},
	{0x02000004, "Plain", 0x02000002, "AB", 0},
	{0x02000005, "System.Int32", 0, "", 0},
	{0x02000006, "System.__Canon", 0, "", 0},
	{0x02000007, "<RunAsync>d__0`1", 0x02000001, "T", 0x01000002},
	{0x02000008, "<Lines>d__1", 0x02000001, "", 0x01000003},
	{0x02000009, "<Other>d__2", 0x02000001, "", 0x01000001},
	{0x0200000a, "Bare", 0, "T", 0},
	{0x0200000b, "Ünï.Cödé", 0, "", 0},
};

static const struct {
	mdToken token, scope;
	const char *name;
} refs[] = {
	{0x01000001, 0x23000001, "System.Collections.Generic.List`1"},
	{0x01000002, 0x23000001, "System.Runtime.CompilerServices.IAsyncStateMachine"},
	{0x01000003, 0x23000001, "System.Collections.IEnumerator"},
	{0x01000004, 0x01000001, "Enumerator"},
	{0x01000005, 0x23000001, "System.Decimal"},
};

static const struct {
	mdToken token;
	mdTypeDef owner;
	const char *name;
	const char *params;
	uint8_t sig[16];
	uint32_t sig_bytes;
} methods[] = {
	{0x06000001, 0x02000001, "Main", "", {0, 1, 1, 0x1d, 0x0e}, 5},
	{0x06000002, 0x02000003, "M", "", {0x20, 3, 1, 0x13, 0, 0x13, 1, 0x13, 2}, 9},
	{0x06000003, 0x02000001, "G", "UV", {0x30, 2, 2, 1, 0x1e, 0, 0x1e, 1}, 8},
	{0x06000004, 0x02000007, "MoveNext", "", {0x20, 0, 1}, 3},
	{0x06000005, 0x02000008, "MoveNext", "", {0x20, 0, 1}, 3},
	{0x06000006, 0x02000009, "MoveNext", "", {0x20, 0, 1}, 3},
	{0x06000007, 0x02000004, "P", "", {0, 2, 1, 0x15, 0x11, 0x11, 1, 8, 0x11, 0x15}, 10},
	{0x06000008, 0x02000001, "Spec", "", {0, 1, 1, 0x12, 0x06}, 5},
	{0x06000009, 0x0200000a, ".ctor", "", {0x20, 1, 1, 0x12, 0x28}, 5},
	{0x0600000a, 0x0200000b, "Größe", "", {0, 0, 1}, 3},
	{0x0600000b, 0x02000001, "Cut", "", {0, 4, 1, 8}, 4},
};

static const struct {
	ClassID id;
	mdTypeDef type;
	ClassID args[3];
	uint32_t n;
} classes[] = {
	{0x10, 0x02000005, {0}, 0},
	{0x11, 0x02000006, {0}, 0},
	{0x12, 0x02000003, {0x10, 0x11, 0x10}, 3}, /* Outer<int, B>+Inner<int> */
	{0x13, 0x02000002, {0x10, 0x30}, 2},       /* Outer<int, int[,]> */
	{0x14, 0x02000003, {0x13, 0x13, 0x10}, 3},
	{0x15, 0x02000007, {0x11}, 1},
	{0x16, 0x02000002, {0x16, 0x10}, 2}, /* contains itself */
	{0x17, 0x02000004, {0x10, 0x10}, 2},
	{0x18, 0x0200000a, {0x10}, 1},
};

static const struct {
	FunctionID id;
	mdToken token;
	ClassID class_id;
	ClassID args[2];
	uint32_t n;
} functions[] = {
	{0x101, 0x06000001, 0, {0}, 0},
	{0x102, 0x06000002, 0x12, {0}, 0},
	{0x103, 0x06000002, 0x14, {0}, 0},
	{0x104, 0x06000002, 0, {0}, 0},
	{0x105, 0x06000003, 0, {0x10, 0x11}, 2},
	{0x106, 0x06000004, 0x15, {0}, 0},
	{0x107, 0x06000007, 0x17, {0}, 0},
	{0x108, 0x06000000, 0, {0}, 0},    /* dynamic */
	{0x109, 0x06000002, 0x13, {0}, 0}, /* class of another type */
	{0x10a, 0x06000009, 0x18, {0}, 0},
};

#define FIND(table, field, value)                                                                  \
	({                                                                                         \
		size_t i_ = 0;                                                                     \
                                                                                                   \
		while (i_ < DNP_ARRAY_SIZE(table) && table[i_].field != (value))                   \
			i_++;                                                                      \
		i_ < DNP_ARRAY_SIZE(table) ? &table[i_] : NULL;                                    \
	})

static int n_imports, n_enums;

/* As the runtime does: what fits, and the length with the terminating zero. */
static void give(const char *utf8, WCHAR *out, uint32_t cap, uint32_t *length)
{
	uint32_t n = 0;

	for (const unsigned char *p = (const unsigned char *)utf8;; n++) {
		WCHAR unit = *p < 0x80 ? *p : (WCHAR)((*p & 0x1f) << 6 | (p[1] & 0x3f));

		if (n < cap)
			out[n] = unit;
		if (!unit)
			break;
		p += *p < 0x80 ? 1 : 2;
	}
	if (length)
		*length = n + 1;
}

static uint32_t DNP_COM md_release(IMetaDataImport *self)
{
	(void)self;
	return (uint32_t)--n_imports;
}

static void DNP_COM md_close(IMetaDataImport *self, HCORENUM list)
{
	(void)self;
	CHECK(list);
	n_enums--;
}

static HRESULT DNP_COM md_type(IMetaDataImport *self, mdTypeDef token, WCHAR *name, uint32_t cap,
	uint32_t *length, uint32_t *flags, mdToken *extends)
{
	__auto_type type = FIND(types, token, token);

	(void)self, (void)flags, (void)extends;
	if (!type)
		return CLDB_E_RECORD_NOTFOUND;
	give(type->name, name, cap, length);
	return S_OK;
}

static HRESULT DNP_COM md_ref(IMetaDataImport *self, mdTypeRef token, mdToken *scope, WCHAR *name,
	uint32_t cap, uint32_t *length)
{
	__auto_type ref = FIND(refs, token, token);

	(void)self;
	if (!ref)
		return CLDB_E_RECORD_NOTFOUND;
	*scope = ref->scope;
	give(ref->name, name, cap, length);
	return S_OK;
}

static HRESULT DNP_COM md_nested(IMetaDataImport *self, mdTypeDef token, mdTypeDef *enclosing)
{
	__auto_type type = FIND(types, token, token);

	(void)self;
	if (!type || !type->enclosing)
		return CLDB_E_RECORD_NOTFOUND;
	*enclosing = type->enclosing;
	return S_OK;
}

static HRESULT DNP_COM md_method(IMetaDataImport *self, mdMethodDef token, mdTypeDef *owner,
	WCHAR *name, uint32_t cap, uint32_t *length, uint32_t *attr, const uint8_t **sig,
	uint32_t *sig_bytes, uint32_t *rva, uint32_t *flags)
{
	__auto_type method = FIND(methods, token, token);

	(void)self, (void)attr, (void)rva, (void)flags;
	if (!method)
		return CLDB_E_RECORD_NOTFOUND;
	*owner = method->owner;
	*sig = method->sig;
	*sig_bytes = method->sig_bytes;
	give(method->name, name, cap, length);
	return S_OK;
}

/* A generic parameter's token carries its letter. */
static HRESULT DNP_COM md_params(IMetaDataImport *self, HCORENUM *list, mdToken owner,
	mdGenericParam *params, uint32_t cap, uint32_t *n)
{
	__auto_type type = FIND(types, token, owner);
	__auto_type method = FIND(methods, token, owner);
	const char *letters = type ? type->params : method ? method->params : "";

	(void)self;
	for (*n = 0; letters[*n] && *n < cap; (*n)++)
		params[*n] = mdtGenericParam | (uint32_t)letters[*n];
	*list = &n_enums;
	n_enums++;
	return S_OK;
}

static HRESULT DNP_COM md_param(IMetaDataImport *self, mdGenericParam param, uint32_t *seq,
	uint32_t *flags, mdToken *owner, uint32_t *reserved, WCHAR *name, uint32_t cap,
	uint32_t *length)
{
	char letter[2] = {(char)RidFromToken(param), '\0'};

	(void)self, (void)seq, (void)flags, (void)owner, (void)reserved;
	give(letter, name, cap, length);
	return S_OK;
}

static HRESULT DNP_COM md_impls(IMetaDataImport *self, HCORENUM *list, mdTypeDef type,
	mdInterfaceImpl *impls, uint32_t cap, uint32_t *n)
{
	(void)self, (void)cap;
	impls[0] = mdtInterfaceImpl | RidFromToken(type);
	*n = 1;
	*list = &n_enums;
	n_enums++;
	return S_OK;
}

static HRESULT DNP_COM md_impl(
	IMetaDataImport *self, mdInterfaceImpl impl, mdTypeDef *owner, mdToken *iface)
{
	__auto_type type = FIND(types, token, mdtTypeDef | RidFromToken(impl));

	(void)self, (void)owner;
	*iface = type->interface;
	return S_OK;
}

/* Every type specification is List<that same specification>. */
static HRESULT DNP_COM md_spec(
	IMetaDataImport *self, mdTypeSpec token, const uint8_t **sig, uint32_t *n)
{
	static const uint8_t endless[] = {0x15, 0x12, 0x05, 1, 0x12, 0x06};

	(void)self, (void)token;
	*sig = endless;
	*n = sizeof(endless);
	return S_OK;
}

static HRESULT DNP_COM md_scope(
	IMetaDataImport *self, WCHAR *name, uint32_t cap, uint32_t *length, struct dnp_guid *mvid)
{
	(void)self;
	give("app.dll", name, cap, length);
	mvid->data1 = 0x1234;
	return S_OK;
}

static const struct IMetaDataImportVtbl md_table = {
	.Release = md_release,
	.CloseEnum = md_close,
	.GetTypeDefProps = md_type,
	.GetTypeRefProps = md_ref,
	.GetNestedClassProps = md_nested,
	.GetMethodProps = md_method,
	.EnumGenericParams = md_params,
	.GetGenericParamProps = md_param,
	.EnumInterfaceImpls = md_impls,
	.GetInterfaceImplProps = md_impl,
	.GetTypeSpecFromToken = md_spec,
	.GetScopeProps = md_scope,
};
static IMetaDataImport md = {&md_table};

static HRESULT DNP_COM info_metadata(ICorProfilerInfo *self, ModuleID module, uint32_t flags,
	const struct dnp_guid *iid, IUnknown **out)
{
	(void)self, (void)flags;
	CHECK(dnp_guid_equal(iid, &dnp_iid_IMetaDataImport2));
	*out = NULL;
	if (module != MODULE)
		return S_FALSE; /* a module without metadata */
	*out = (IUnknown *)&md;
	n_imports++;
	return S_OK;
}

static HRESULT DNP_COM info_function(ICorProfilerInfo *self, FunctionID id,
	COR_PRF_FRAME_INFO frame, ClassID *class_id, ModuleID *module, mdToken *token, uint32_t cap,
	uint32_t *n, ClassID *args)
{
	__auto_type function = FIND(functions, id, id);

	(void)self, (void)frame, (void)cap;
	if (!function)
		return CORPROF_E_DATAINCOMPLETE;
	*class_id = function->class_id;
	*module = MODULE;
	*token = function->token;
	*n = function->n;
	memcpy(args, function->args, sizeof(function->args));
	return S_OK;
}

static HRESULT DNP_COM info_class(ICorProfilerInfo *self, ClassID id, ModuleID *module,
	mdTypeDef *type, ClassID *parent, uint32_t cap, uint32_t *n, ClassID *args)
{
	__auto_type class = FIND(classes, id, id);

	(void)self, (void)parent, (void)cap;
	if (!class)
		return CORPROF_E_CLASSID_IS_COMPOSITE;
	*module = MODULE;
	*type = class->type;
	*n = class->n;
	memcpy(args, class->args, sizeof(class->args));
	return S_OK;
}

/* 0x30 is int[,] by element type, 0x31 Outer<int, int[,]>[] by class, 0x32 of pointers. */
static HRESULT DNP_COM info_array(
	ICorProfilerInfo *self, ClassID id, uint32_t *element, ClassID *class_id, uint32_t *rank)
{
	(void)self;
	if (id == 0x32 || id == 0x33) {
		*element = id == 0x32 ? 0x0f : 0x1b;
		*class_id = 0x7777; /* of which nothing more is told */
		*rank = 1;
		return S_OK;
	}
	if (id != 0x30 && id != 0x31)
		return S_FALSE;
	*element = id == 0x30 ? 0x08 : 0x12;
	*class_id = id == 0x30 ? 0 : 0x13;
	*rank = id == 0x30 ? 2 : 1;
	return S_OK;
}

static HRESULT DNP_COM info_dynamic(ICorProfilerInfo *self, FunctionID id, ModuleID *module,
	const uint8_t **sig, uint32_t *sig_bytes, uint32_t cap, uint32_t *length, WCHAR *name)
{
	(void)self, (void)sig, (void)sig_bytes;
	if (id != 0x108)
		return E_INVALIDARG;
	*module = MODULE;
	give("lambda_method", name, cap, length);
	return S_OK;
}

static HRESULT DNP_COM info_module(ICorProfilerInfo *self, ModuleID module, const uint8_t **base,
	uint32_t cap, uint32_t *length, WCHAR *name, AssemblyID *assembly, uint32_t *flags)
{
	(void)self;
	if (module != MODULE && module != MODULE + 1)
		return E_INVALIDARG;
	*base = (const uint8_t *)&md;
	*assembly = ASSEMBLY;
	*flags = COR_PRF_MODULE_DISK;
	give(module == MODULE ? "" : "/tmp/é.dll", name, cap, length);
	return S_OK;
}

static HRESULT DNP_COM info_assembly(ICorProfilerInfo *self, AssemblyID assembly, uint32_t cap,
	uint32_t *length, WCHAR *name, AppDomainID *domain, ModuleID *module)
{
	(void)self, (void)domain, (void)module;
	CHECK_EQ(assembly, ASSEMBLY);
	give("app", name, cap, length);
	return S_OK;
}

static const struct ICorProfilerInfoVtbl info_table = {
	.GetModuleMetaData = info_metadata,
	.GetFunctionInfo2 = info_function,
	.GetClassIDInfo2 = info_class,
	.IsArrayClass = info_array,
	.GetDynamicFunctionInfo = info_dynamic,
	.GetModuleInfo2 = info_module,
	.GetAssemblyInfo = info_assembly,
};
static ICorProfilerInfo info_com = {&info_table};
static const struct dnp_info info = {&info_com, 15};

static char buffer[256];
static struct dnp_method method;

static const char *name_of(FunctionID id)
{
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	CHECK_EQ(dnp_method_describe(&info, id, 0, &method, &text), S_OK);
	CHECK_EQ(n_imports, 0);
	CHECK_EQ(n_enums, 0);
	return buffer;
}

static const char *name_of_token(mdMethodDef token)
{
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	CHECK_EQ(dnp_method_of_token(&info, MODULE, token, &method, &text), S_OK);
	CHECK_EQ(n_imports, 0);
	return buffer;
}

static const char *name_of_class(ClassID id)
{
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_class_describe(&info, id, &text);
	CHECK_EQ(n_imports, 0);
	return buffer;
}

static const char *full_name_of_class(ClassID id)
{
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_class_name(&info, id, &text);
	CHECK_EQ(n_imports, 0);
	return buffer;
}

TEST(names_of_plain_methods)
{
	CHECK_STR(name_of(0x101), "App.Program.Main(string[])");
	CHECK_EQ(method.id, 0x101);
	CHECK_EQ(method.module, MODULE);
	CHECK_EQ(method.token, 0x06000001);
	CHECK_EQ(method.class_id, 0);
	CHECK(!method.dynamic);
	CHECK_EQ(method.machine, DNP_MACHINE_UNKNOWN);
	CHECK_STR(name_of_token(0x0600000a), "Ünï.Cödé.Größe()");
}

TEST(type_arguments_stand_where_they_belong)
{
	CHECK_STR(name_of(0x102), "App.Outer<int, B>+Inner<int>.M(int, B, int)");
	CHECK_STR(name_of(0x103),
		"App.Outer<App.Outer<int, int[,]>, App.Outer<int, int[,]>>+Inner<int>"
		".M(App.Outer<int, int[,]>, App.Outer<int, int[,]>, int)");
	CHECK_STR(name_of(0x104), "App.Outer<A, B>+Inner<C>.M(A, B, C)");
	CHECK_STR(name_of(0x109), "App.Outer<A, B>+Inner<C>.M(A, B, C)");
	CHECK_STR(name_of(0x105), "App.Program.G<int, V>(int, V)");
	CHECK_STR(name_of(0x10a), "Bare..ctor(Bare)");
}

TEST(types_by_reference_in_a_signature)
{
	CHECK_STR(name_of(0x107),
		"App.Outer<int, int>+Plain.P(System.Collections.Generic.List<int>+Enumerator, "
		"decimal)");
}

TEST(type_specification_that_contains_itself_ends)
{
	name_of_token(0x06000008);
	CHECK(strncmp(buffer, "App.Program.Spec(System.Coll", 28) == 0);
}

TEST(damaged_signature_is_marked)
{
	CHECK_STR(name_of_token(0x0600000b), "App.Program.Cut(int, ?)");
}

TEST(state_machines_are_told_by_their_interfaces)
{
	CHECK_STR(name_of(0x106), "App.Program+<RunAsync>d__0<T>.MoveNext()");
	CHECK_EQ(method.machine, DNP_MACHINE_ASYNC);
	name_of_token(0x06000005);
	CHECK_EQ(method.machine, DNP_MACHINE_ITERATOR);
	name_of_token(0x06000006);
	CHECK_EQ(method.machine, DNP_MACHINE_UNKNOWN);
}

TEST(dynamic_methods)
{
	struct dnp_info old = {&info_com, 7};
	struct dnp_text text;

	CHECK_STR(name_of(0x108), "[dynamic] lambda_method");
	CHECK(method.dynamic);
	CHECK_EQ(method.module, MODULE);
	dnp_text_init(&text, buffer, sizeof(buffer));
	CHECK_EQ(dnp_method_describe(&old, 0x108, 0, &method, &text), E_NOTIMPL);
}

TEST(unknown_methods_are_errors)
{
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	CHECK_EQ(dnp_method_describe(&info, 0x999, 0, &method, &text), CORPROF_E_DATAINCOMPLETE);
	CHECK_EQ(dnp_method_of_token(&info, MODULE, 0x060000ff, &method, &text),
		CLDB_E_RECORD_NOTFOUND);
	CHECK_EQ(dnp_method_of_token(&info, MODULE + 1, 0x06000001, &method, &text),
		CORPROF_E_DATAINCOMPLETE);
	CHECK_STR(buffer, "");
	CHECK_EQ(n_imports, 0);
}

TEST(names_are_cut_to_the_buffer)
{
	for (size_t cap = 1; cap < 40; cap++) {
		struct dnp_text text;

		memset(buffer, 'x', sizeof(buffer));
		dnp_text_init(&text, buffer, cap);
		dnp_method_describe(&info, 0x103, 0, &method, &text);
		CHECK(text.cut);
		CHECK_EQ(strlen(buffer), text.n);
		CHECK_EQ(buffer[cap], 'x');
		CHECK_EQ(n_imports, 0);
	}
}

TEST(names_of_classes)
{
	CHECK_STR(name_of_class(0x10), "int");
	CHECK_STR(name_of_class(0x30), "int[,]");
	CHECK_STR(name_of_class(0x31), "App.Outer<int, int[,]>[]");
	CHECK_STR(name_of_class(0x18), "Bare<int>");
	CHECK_STR(name_of_class(0x99), "?");
	CHECK_STR(full_name_of_class(0x10), "System.Int32");
	CHECK_STR(full_name_of_class(0x30), "System.Int32[,]");
	CHECK_STR(full_name_of_class(0x31), "App.Outer<System.Int32, System.Int32[,]>[]");
	CHECK_STR(full_name_of_class(0x32), "?*[]");
	CHECK_STR(full_name_of_class(0x33), "delegate*[]");
	CHECK(strstr(name_of_class(0x16), "App.Outer<App.Outer<"));
}

TEST(modules)
{
	char path_buffer[64], name_buffer[64];
	struct dnp_text path, name;
	struct dnp_module module;

	dnp_text_init(&path, path_buffer, sizeof(path_buffer));
	dnp_text_init(&name, name_buffer, sizeof(name_buffer));
	CHECK_EQ(dnp_module_describe(&info, MODULE, &module, &path, &name), S_OK);
	CHECK_STR(path_buffer, "app.dll"); /* no path: its name */
	CHECK_STR(name_buffer, "app");
	CHECK_EQ(module.mvid.data1, 0x1234);
	CHECK_EQ(module.flags, COR_PRF_MODULE_DISK);
	CHECK(module.base == (const uint8_t *)&md);

	dnp_text_init(&path, path_buffer, sizeof(path_buffer));
	CHECK_EQ(dnp_module_describe(&info, MODULE + 1, &module, &path, &name), S_OK);
	CHECK_STR(path_buffer, "/tmp/é.dll");
	CHECK_EQ(module.mvid.data1, 0);
	CHECK_EQ(dnp_module_describe(&info, 99, &module, &path, &name), E_INVALIDARG);
	CHECK_EQ(n_imports, 0);
}
