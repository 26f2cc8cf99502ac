/* SPDX-License-Identifier: MIT */
#include "clr/callback.h"
#include "clr/hresult.h"

/* Each slot is where the runtime looks for it, and within its interface. */
#define DNP_CALLBACK_VERSION(n, iface, first_slot, n_slots)                                        \
	enum { FIRST_##iface = (first_slot), END_##iface = (first_slot) + (n_slots) };
#define DNP_CALLBACK(iface, slot, name, params)                                                    \
	_Static_assert(offsetof(struct ICorProfilerCallbackVtbl, name) == (slot) * sizeof(void *), \
		#iface "::" #name " is not at slot " #slot);                                       \
	_Static_assert((slot) >= FIRST_##iface && (slot) < END_##iface,                            \
		#iface "::" #name " is outside its interface");
#include "clr/callback.def"

/* The interfaces follow each other without a gap, and the table ends with the last one. */
struct chain {
	char unknown[3];
#define DNP_CALLBACK_VERSION(n, iface, first_slot, n_slots) char iface[n_slots];
#include "clr/callback.def"
};

#define DNP_CALLBACK_VERSION(n, iface, first_slot, n_slots)                                        \
	_Static_assert(offsetof(struct chain, iface) == (first_slot), #iface " starts elsewhere");
#include "clr/callback.def"
_Static_assert(sizeof(struct ICorProfilerCallbackVtbl) == sizeof(struct chain) * sizeof(void *),
	"the table has as many slots as its interfaces");
_Static_assert(offsetof(ICorProfilerCallback, vtbl) == 0, "the runtime reads the table first");

bool dnp_callback_answers(const struct dnp_guid *iid)
{
	static const struct dnp_guid *const known[] = {
		&dnp_iid_IUnknown,
#define DNP_CALLBACK_VERSION(n, iface, first_slot, n_slots) &dnp_iid_##iface,
#include "clr/callback.def"
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (dnp_guid_equal(iid, known[i]))
			return true;
	return false;
}

static uint32_t DNP_COM default_AddRef(ICorProfilerCallback *self)
{
	return atomic_fetch_add_explicit(&self->references, 1, memory_order_relaxed) + 1;
}

/* Relaxed: the object is never freed, so no write has to be seen before the last release. */
static uint32_t DNP_COM default_Release(ICorProfilerCallback *self)
{
	return atomic_fetch_sub_explicit(&self->references, 1, memory_order_relaxed) - 1;
}

static HRESULT DNP_COM default_QueryInterface(
	ICorProfilerCallback *self, const struct dnp_guid *iid, void **object)
{
	if (!object)
		return E_POINTER;
	*object = NULL;
	if (!dnp_callback_answers(iid))
		return E_NOINTERFACE;
	*object = self;
	dnp_com(self, AddRef);
	return S_OK;
}

/* One function a callback, so that each has the right number and types of parameters. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define DNP_CALLBACK(iface, slot, name, params)                                                    \
	static HRESULT DNP_COM default_##name DNP_CALLBACK_SELF params                             \
	{                                                                                          \
		return S_OK;                                                                       \
	}
#include "clr/callback.def"
#pragma GCC diagnostic pop

void dnp_callback_complete(struct ICorProfilerCallbackVtbl *table)
{
#define COMPLETE(name)                                                                             \
	if (!table->name)                                                                          \
		table->name = default_##name;
	COMPLETE(QueryInterface)
	COMPLETE(AddRef)
	COMPLETE(Release)
#define DNP_CALLBACK(iface, slot, name, params) COMPLETE(name)
#include "clr/callback.def"
#undef COMPLETE
}
