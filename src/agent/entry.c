/* SPDX-License-Identifier: MIT */
/*
 * The two functions that the library exports: the runtime asks the first for our class and the
 * class for the object that it will call (COM, as in dotnet/runtime's profiler loading).
 */
#include "agent/agent.h"
#include "clr/com.h"
#include "clr/hresult.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT HRESULT DNP_COM DllGetClassObject(
	const struct dnp_guid *clsid, const struct dnp_guid *iid, void **object);
EXPORT HRESULT DNP_COM DllCanUnloadNow(void);

static HRESULT DNP_COM factory_query(IClassFactory *self, const struct dnp_guid *iid, void **object)
{
	*object = NULL;
	if (!dnp_guid_equal(iid, &dnp_iid_IUnknown) && !dnp_guid_equal(iid, &dnp_iid_IClassFactory))
		return E_NOINTERFACE;
	*object = self;
	return S_OK;
}

/* Static objects: nothing is counted, nothing is freed. */
static uint32_t DNP_COM factory_reference(IClassFactory *self)
{
	(void)self;
	return 1;
}

static HRESULT DNP_COM factory_create(
	IClassFactory *self, IUnknown *outer, const struct dnp_guid *iid, void **object)
{
	ICorProfilerCallback *callback = dnp_agent_callback();

	(void)self;
	*object = NULL;
	if (outer)
		return CLASS_E_NOAGGREGATION;
	return dnp_com(callback, QueryInterface, iid, object);
}

static HRESULT DNP_COM factory_lock(IClassFactory *self, BOOL lock)
{
	(void)self;
	(void)lock;
	return S_OK;
}

HRESULT DNP_COM DllGetClassObject(
	const struct dnp_guid *clsid, const struct dnp_guid *iid, void **object)
{
	static const struct IClassFactoryVtbl table = {
		.QueryInterface = factory_query,
		.AddRef = factory_reference,
		.Release = factory_reference,
		.CreateInstance = factory_create,
		.LockServer = factory_lock,
	};
	static IClassFactory factory = {.vtbl = &table};

	if (!object)
		return E_POINTER;
	*object = NULL;
	if (!dnp_guid_equal(clsid, &dnp_clsid_agent))
		return CLASS_E_CLASSNOTAVAILABLE;
	return factory_query(&factory, iid, object);
}

HRESULT DNP_COM DllCanUnloadNow(void)
{
	return S_FALSE;
}
