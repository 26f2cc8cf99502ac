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
#include "os/library.h"

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

/* Asks a copy of this library whether it is or was here a moment ago; no interface of anybody's. */
static const struct dnp_guid iid_twin = {
	0x6d0e3c1f, 0x58b4, 0x4b6e, {0x9d, 0x17, 0x2a, 0x44, 0xc3, 0x7e, 0x90, 0x5b}};

/* S_OK: the runtime has not got us. */
static HRESULT own_presence(void)
{
	switch (dnp_agent_presence()) {
	case DNP_HERE: return DNPROF_E_ALREADY_HERE;
	case DNP_LEAVING: return CORPROF_E_PROFILER_DETACHING;
	default: return S_OK;
	}
}

/* What a copy is told. The runtime has us still for a moment after its last word. */
static HRESULT presence_for_twin(void)
{
	HRESULT presence = own_presence();

	return presence == S_OK && dnp_life_may_be_unloaded() ? CORPROF_E_PROFILER_DETACHING
							      : presence;
}

static void ask_twin(void *exported, void *context)
{
	HRESULT(DNP_COM * get_class)(const struct dnp_guid *, const struct dnp_guid *, void **);
	HRESULT *presence = context, answer;
	void *nothing;

	*(void **)&get_class = exported;
	answer = get_class(&dnp_clsid_agent, &iid_twin, &nothing);
	if (answer == DNPROF_E_ALREADY_HERE || answer == CORPROF_E_PROFILER_DETACHING)
		*presence = answer;
}

/*
 * Of all copies of this library: one from another folder, of another version perhaps, or placed
 * where the target can read it, has states of its own.
 */
static HRESULT any_presence(const struct dnp_guid *iid)
{
	HRESULT presence = own_presence();

	if (dnp_guid_equal(iid, &iid_twin))
		return presence_for_twin();
	if (presence == S_OK)
		dnp_library_twins("DllGetClassObject", ask_twin, &presence);
	return presence;
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
	HRESULT presence;

	if (!object)
		return E_POINTER;
	*object = NULL;
	dnp_life_settle();
	/*
	 * A runtime that has a profiler refuses the next only after it has got it from us, and
	 * keeps the library for ever then (CoreCLR 8 to 10). Of what we refuse it lets go.
	 */
	presence = any_presence(iid);
	if (presence != S_OK)
		return presence;
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
