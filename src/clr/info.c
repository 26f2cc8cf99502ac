/* SPDX-License-Identifier: MIT */
#include "clr/info.h"
#include "clr/hresult.h"

/* Each slot is where the runtime has it, and within its interface. */
#define DNP_INFO_VERSION(n, iface, first_slot, n_slots)                                            \
	enum { FIRST_##iface = (first_slot), END_##iface = (first_slot) + (n_slots) };
#define DNP_INFO(iface, slot, name, params)                                                        \
	_Static_assert(offsetof(struct ICorProfilerInfoVtbl, name) == (slot) * sizeof(void *),     \
		#iface "::" #name " is not at slot " #slot);                                       \
	_Static_assert((slot) >= FIRST_##iface && (slot) < END_##iface,                            \
		#iface "::" #name " is outside its interface");
#include "clr/info.def"

/* The interfaces follow each other without a gap, and the table ends with the last one. */
struct chain {
	char unknown[3];
#define DNP_INFO_VERSION(n, iface, first_slot, n_slots) char iface[n_slots];
#include "clr/info.def"
};

#define DNP_INFO_VERSION(n, iface, first_slot, n_slots)                                            \
	_Static_assert(offsetof(struct chain, iface) == (first_slot), #iface " starts elsewhere");
#include "clr/info.def"
_Static_assert(sizeof(struct ICorProfilerInfoVtbl) == sizeof(struct chain) * sizeof(void *),
	"the table has as many slots as its interfaces");

/* Index: version - 1. */
static const struct {
	const struct dnp_guid *iid;
	size_t end_slot;
} versions[] = {
#define DNP_INFO_VERSION(n, iface, first_slot, n_slots)                                            \
	[(n)-1] = {&dnp_iid_##iface, (first_slot) + (n_slots)},
#include "clr/info.def"
};

#define NEWEST ((int)(sizeof(versions) / sizeof(versions[0])))

HRESULT dnp_info_open(struct dnp_info *info, IUnknown *unknown)
{
	HRESULT hr = E_NOINTERFACE;

	*info = (struct dnp_info){0};
	for (int version = NEWEST; version >= 1; version--) {
		void *object = NULL;

		hr = dnp_com(unknown, QueryInterface, versions[version - 1].iid, &object);
		if (SUCCEEDED(hr)) {
			*info = (struct dnp_info){object, version};
			return hr;
		}
	}
	return hr;
}

void dnp_info_close(struct dnp_info *info)
{
	if (info->com)
		dnp_com(info->com, Release);
	*info = (struct dnp_info){0};
}

bool dnp_info_has_slot(const struct dnp_info *info, size_t slot)
{
	return info->version > 0 && slot < versions[info->version - 1].end_slot;
}

uint16_t dnp_info_runtime_major(const struct dnp_info *info)
{
	uint16_t instance, major = 0, minor, build, fix;
	COR_PRF_RUNTIME_TYPE type;

	if (FAILED(dnp_com(info->com, GetRuntimeInformation, &instance, &type, &major, &minor,
		    &build, &fix, 0, NULL, NULL)))
		return 0;
	return major;
}
