/* SPDX-License-Identifier: MIT */
/*
 * The two functions that the library exports: the runtime asks the first for our class and the
 * class for the object that it will call (COM, as in dotnet/runtime's profiler loading).
 */
#include "agent/agent.h"
#include "agent/callbacks.h"
#include "agent/life.h"
#include "agent/relay.h"
#include "clr/com.h"
#include "clr/hresult.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT HRESULT DNP_COM DllGetClassObject(
	const struct dnp_guid *clsid, const struct dnp_guid *iid, void **object);
EXPORT HRESULT DNP_COM DllCanUnloadNow(void);

/* Of either class of ours. */
static IClassFactory factory_main, factory_notify;

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
	ICorProfilerCallback *callback =
		self == &factory_notify ? dnp_agent_callback_notify() : dnp_agent_callback();

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
	IClassFactory *factory = &factory_main;

	if (!object)
		return E_POINTER;
	*object = NULL;
	dnp_life_settle();
	/*
	 * A runtime that has a profiler refuses the next only after it has got it from us, and
	 * keeps the library for ever then (CoreCLR 8 to 10). Of what we refuse it lets go.
	 */
	if (dnp_agent_presence() != DNP_AWAY)
		return dnp_agent_presence() == DNP_HERE ? DNPROF_E_ALREADY_HERE
							: CORPROF_E_PROFILER_DETACHING;
	if (dnp_guid_equal(clsid, &dnp_clsid_agent_notify))
		factory = &factory_notify;
	else if (!dnp_guid_equal(clsid, &dnp_clsid_agent))
		return dnp_relay_class(clsid, iid, object);
	factory->vtbl = &table;
	return factory_query(factory, iid, object);
}

HRESULT DNP_COM DllCanUnloadNow(void)
{
	return S_FALSE;
}
