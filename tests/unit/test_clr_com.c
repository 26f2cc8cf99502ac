/* SPDX-License-Identifier: MIT */
/* The tables and ids the runtime and the agent have to agree on. */
#include <stdio.h>

#include "base/clean.h"
#include "clr/callback.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "clr/metadata.h"
#include "test.h"

static size_t n_callbacks(void)
{
	return 0
#define DNP_CALLBACK(iface, slot, name, params) +1
#include "clr/callback.def"
		;
}

TEST(callback_table_has_98_slots)
{
	CHECK_EQ(n_callbacks(), 95);
	CHECK_EQ(sizeof(struct ICorProfilerCallbackVtbl) / sizeof(void *), 98);
}

/* Known from outside the lists: first method of some interfaces, by the documentation's order. */
TEST(slots_of_well_known_methods)
{
#define SLOT(table, method) (offsetof(struct table, method) / sizeof(void *))
	CHECK_EQ(SLOT(ICorProfilerCallbackVtbl, Initialize), 3);
	CHECK_EQ(SLOT(ICorProfilerCallbackVtbl, ThreadNameChanged), 72);
	CHECK_EQ(SLOT(ICorProfilerCallbackVtbl, InitializeForAttach), 80);
	CHECK_EQ(SLOT(ICorProfilerCallbackVtbl, DynamicMethodJITCompilationStarted), 92);
	CHECK_EQ(SLOT(ICorProfilerCallbackVtbl, LoadAsNotificationOnly), 97);
	CHECK_EQ(SLOT(ICorProfilerInfoVtbl, GetClassFromObject), 3);
	CHECK_EQ(SLOT(ICorProfilerInfoVtbl, DoStackSnapshot), 36);
	CHECK_EQ(SLOT(ICorProfilerInfoVtbl, EnumJITedFunctions), 57);
	CHECK_EQ(SLOT(ICorProfilerInfoVtbl, EnumerateGCHeapObjects), 114);
	CHECK_EQ(SLOT(IMetaDataImportVtbl, CloseEnum), 3);
	CHECK_EQ(SLOT(IMetaDataImportVtbl, GetMethodProps), 30);
	CHECK_EQ(SLOT(IMetaDataImportVtbl, GetNestedClassProps), 62);
	CHECK_EQ(SLOT(IMetaDataImportVtbl, EnumGenericParams), 65);
	CHECK_EQ(SLOT(IMetaDataImportVtbl, EnumMethodSpecs), 72);
#undef SLOT
}

/* The text handed to CORECLR_PROFILER and the value compared with are the same id. */
static void check_guid_text(const struct dnp_guid *guid, const char *text)
{
	char made[64];

	snprintf(made, sizeof(made), "{%08X-%04X-%04X-%02X%02X-%02X%02X%02X%02X%02X%02X}",
		guid->data1, guid->data2, guid->data3, guid->data4[0], guid->data4[1],
		guid->data4[2], guid->data4[3], guid->data4[4], guid->data4[5], guid->data4[6],
		guid->data4[7]);
	CHECK_STR(made, text);
}

TEST(class_ids_and_their_text)
{
	check_guid_text(&dnp_clsid_agent, DNP_CLSID_AGENT_TEXT);
	check_guid_text(&dnp_clsid_agent_notify, DNP_CLSID_AGENT_NOTIFY_TEXT);
	CHECK(!dnp_guid_equal(&dnp_clsid_agent, &dnp_clsid_agent_notify));
}

TEST(iids_differ)
{
	static const struct dnp_guid *const all[] = {
#define DNP_IID(name, ...) &dnp_iid_##name,
#include "clr/iid.def"
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(all); i++)
		for (size_t j = i + 1; j < DNP_ARRAY_SIZE(all); j++)
			CHECK(!dnp_guid_equal(all[i], all[j]));
}

static HRESULT DNP_COM refuse_thread(ICorProfilerCallback *self, ThreadID thread)
{
	(void)self;
	return thread == 7 ? E_FAIL : S_OK;
}

static struct ICorProfilerCallbackVtbl table = {.ThreadCreated = refuse_thread};
static ICorProfilerCallback object = {.vtbl = &table};

TEST(empty_slots_get_defaults_and_others_stay)
{
	BOOL notification_only = 5;
	void *const *slots = (void *const *)&table;

	dnp_callback_complete(&table);
	for (size_t i = 0; i < sizeof(table) / sizeof(void *); i++)
		CHECK(slots[i] != NULL);
	CHECK(table.ThreadCreated == refuse_thread);
	CHECK_EQ(dnp_com(&object, ThreadCreated, 7), E_FAIL);
	CHECK_EQ(dnp_com(&object, ThreadDestroyed, 7), S_OK);
	CHECK_EQ(dnp_com(&object, Shutdown), S_OK);
	CHECK_EQ(dnp_com(&object, LoadAsNotificationOnly, &notification_only), S_OK);
	CHECK_EQ(notification_only, 5);
}

TEST(query_interface_answers_what_it_is_and_nothing_else)
{
	static const struct dnp_guid *const no[] = {
		&dnp_iid_IClassFactory,
		&dnp_iid_ICorProfilerInfo,
		&dnp_iid_IMetaDataImport,
		&dnp_clsid_agent,
	};
	void *got = &got;

	dnp_callback_complete(&table);
#define DNP_CALLBACK_VERSION(n, iface, first_slot, n_slots)                                        \
	CHECK_EQ(dnp_com(&object, QueryInterface, &dnp_iid_##iface, &got), S_OK);                  \
	CHECK(got == &object);
#include "clr/callback.def"
	CHECK_EQ(dnp_com(&object, QueryInterface, &dnp_iid_IUnknown, &got), S_OK);
	CHECK_EQ(atomic_load(&object.references), 12);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(no); i++) {
		got = &got;
		CHECK_EQ(dnp_com(&object, QueryInterface, no[i], &got), E_NOINTERFACE);
		CHECK(got == NULL);
	}
	CHECK_EQ(dnp_com(&object, QueryInterface, &dnp_iid_IUnknown, NULL), E_POINTER);
	CHECK_EQ(dnp_com(&object, Release), 11);
	CHECK_EQ(dnp_com(&object, AddRef), 12);
}

/* A runtime that answers the info interfaces up to one of them. */
static const struct dnp_guid *newest_iid;
static int n_references;

static HRESULT DNP_COM info_query(ICorProfilerInfo *self, const struct dnp_guid *iid, void **result)
{
	static const struct dnp_guid *const known[] = {
#define DNP_INFO_VERSION(n, iface, first_slot, n_slots) &dnp_iid_##iface,
#include "clr/info.def"
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(known); i++) {
		if (dnp_guid_equal(iid, known[i])) {
			*result = self;
			n_references++;
			return S_OK;
		}
		if (known[i] == newest_iid)
			break;
	}
	*result = NULL;
	return E_NOINTERFACE;
}

static uint32_t DNP_COM info_release(ICorProfilerInfo *self)
{
	(void)self;
	return (uint32_t)--n_references;
}

static const struct ICorProfilerInfoVtbl info_table = {
	.QueryInterface = info_query,
	.Release = info_release,
};
static ICorProfilerInfo info_object = {&info_table};

TEST(info_takes_the_newest_the_runtime_has)
{
	struct dnp_info info;

	newest_iid = &dnp_iid_ICorProfilerInfo8;
	CHECK_EQ(dnp_info_open(&info, (IUnknown *)&info_object), S_OK);
	CHECK_EQ(info.version, 8);
	CHECK(info.com == &info_object);
	CHECK_EQ(n_references, 1);
	CHECK(dnp_info_has(&info, DoStackSnapshot));
	CHECK(dnp_info_has(&info, GetDynamicFunctionInfo));
	CHECK(!dnp_info_has(&info, GetNativeCodeStartAddresses));
	dnp_info_close(&info);
	CHECK_EQ(n_references, 0);
	CHECK(!dnp_info_has(&info, GetClassFromObject));

	newest_iid = &dnp_iid_ICorProfilerInfo15;
	CHECK_EQ(dnp_info_open(&info, (IUnknown *)&info_object), S_OK);
	CHECK_EQ(info.version, 15);
	CHECK(dnp_info_has(&info, EnumerateGCHeapObjects));
	dnp_info_close(&info);
}

static HRESULT DNP_COM query_nothing(IUnknown *self, const struct dnp_guid *iid, void **result)
{
	(void)self;
	(void)iid;
	*result = NULL;
	return E_NOINTERFACE;
}

TEST(info_of_something_else_is_an_error)
{
	static const struct IUnknownVtbl unknown_table = {.QueryInterface = query_nothing};
	IUnknown unknown = {&unknown_table};
	struct dnp_info info;

	CHECK_EQ(dnp_info_open(&info, &unknown), E_NOINTERFACE);
	CHECK(info.com == NULL);
	dnp_info_close(&info);
}

TEST(hresult_names_and_meanings)
{
	CHECK_STR(dnp_hresult_name(S_OK), "S_OK");
	CHECK_STR(dnp_hresult_name((HRESULT)0x80131367), "CORPROF_E_PROFILER_DETACHING");
	CHECK_STR(dnp_hresult_name((HRESULT)0x8013136a), "CORPROF_E_PROFILER_ALREADY_ACTIVE");
	CHECK_STR(dnp_hresult_name((HRESULT)0x80131385), "CORDIAGIPC_E_UNKNOWN_COMMAND");
	CHECK_STR(dnp_hresult_name((HRESULT)0x8007007e), "ERROR_MOD_NOT_FOUND");
	CHECK_STR(dnp_hresult_name((HRESULT)0x80070057), "E_INVALIDARG");
	CHECK(dnp_hresult_name((HRESULT)0x8badffff) == NULL);
	CHECK(strstr(dnp_hresult_text((HRESULT)0x8badffff), "failed"));
	CHECK(!strstr(dnp_hresult_text(0x00bad001), "failed"));
}

TEST(hresults_differ_and_end_with_a_full_stop)
{
	static const HRESULT all[] = {
#define DNP_HRESULT(name, value, meaning)       name,
#define DNP_HRESULT_WIN32(name, error, meaning) HRESULT_##name,
#include "base/hresult.def"
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(all); i++) {
		const char *text = dnp_hresult_text(all[i]);

		CHECK_EQ(text[strlen(text) - 1], '.');
		for (size_t j = i + 1; j < DNP_ARRAY_SIZE(all); j++)
			CHECK(all[i] != all[j]);
	}
}
