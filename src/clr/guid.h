/* SPDX-License-Identifier: MIT */
/* GUIDs: the agent's own class ids, and the interface ids it asks for and answers. */
#ifndef DNP_CLR_GUID_H
#define DNP_CLR_GUID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Layout of the Win32 GUID; data1 to data3 are in the machine's byte order. */
struct dnp_guid {
	uint32_t data1;
	uint16_t data2;
	uint16_t data3;
	uint8_t data4[8];
};

_Static_assert(sizeof(struct dnp_guid) == 16, "a GUID has no padding");

/*
 * The class ids the agent answers in DllGetClassObject, and the texts that name them in
 * CORECLR_PROFILER. The second one loads the same agent as a notification-only profiler, which may
 * stand beside another profiler that is already active: the runtime asks LoadAsNotificationOnly
 * before it hands over any options, so the class id has to carry the choice.
 */
#define DNP_CLSID_AGENT_TEXT        "{7A88F714-C4C5-43BA-9AE1-C7C008C0DDC7}"
#define DNP_CLSID_AGENT_NOTIFY_TEXT "{2CBAF7A9-3706-408D-B14C-7315FB3110BD}"

extern const struct dnp_guid dnp_clsid_agent;
extern const struct dnp_guid dnp_clsid_agent_notify;

/* Interface ids: dnp_iid_IUnknown, dnp_iid_ICorProfilerInfo4, dnp_iid_IMetaDataImport2, … */
#define DNP_IID(name, ...) extern const struct dnp_guid dnp_iid_##name;
#include "clr/iid.def"

static inline bool dnp_guid_equal(const struct dnp_guid *a, const struct dnp_guid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

#endif
