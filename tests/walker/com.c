/* SPDX-License-Identifier: MIT */
#include "com.h"

#include "clr/hresult.h"

#define EXPORT __attribute__((visibility("default")))

static const struct dnp_guid clsid = {
	0x1f0c2a5e, 0x6b1d, 0x4c58, {0x9e, 0x0b, 0x52, 0x7d, 0x3a, 0x11, 0xc4, 0x90}};

static HRESULT DNP_COM factory_query(IClassFactory *self, const struct dnp_guid *iid, void **object)
{
	(void)iid;
	*object = self;
	return S_OK;
}

static uint32_t DNP_COM factory_reference(IClassFactory *self)
{
	(void)self;
	return 1;
}

static HRESULT DNP_COM factory_create(
	IClassFactory *self, IUnknown *outer, const struct dnp_guid *iid, void **object)
{
	ICorProfilerCallback *callback = profiler_callback();

	(void)self;
	(void)outer;
	return dnp_com(callback, QueryInterface, iid, object);
}

static HRESULT DNP_COM factory_lock(IClassFactory *self, BOOL keep)
{
	(void)self;
	(void)keep;
	return S_OK;
}

EXPORT HRESULT DNP_COM DllGetClassObject(
	const struct dnp_guid *id, const struct dnp_guid *iid, void **object);
EXPORT HRESULT DNP_COM DllCanUnloadNow(void);

HRESULT DNP_COM DllGetClassObject(
	const struct dnp_guid *id, const struct dnp_guid *iid, void **object)
{
	static const struct IClassFactoryVtbl table = {
		.QueryInterface = factory_query,
		.AddRef = factory_reference,
		.Release = factory_reference,
		.CreateInstance = factory_create,
		.LockServer = factory_lock,
	};
	static IClassFactory factory = {.vtbl = &table};

	if (!dnp_guid_equal(id, &clsid))
		return CLASS_E_CLASSNOTAVAILABLE;
	return factory_query(&factory, iid, object);
}

HRESULT DNP_COM DllCanUnloadNow(void)
{
	return S_FALSE;
}
