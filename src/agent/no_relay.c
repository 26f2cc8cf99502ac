/* SPDX-License-Identifier: MIT */
/* What an agent does not do on systems for which it is not there as yet. */
#include "agent/finalizer.h"
#include "agent/relay.h"
#include "clr/hresult.h"

HRESULT dnp_relay_class(const struct dnp_guid *clsid, const struct dnp_guid *iid, void **object)
{
	(void)clsid;
	(void)iid;
	*object = NULL;
	return CLASS_E_CLASSNOTAVAILABLE;
}

/* What a thread waits for is not known here: it gets the time that it needs in the rule. */
bool dnp_finalizer_rests(uint64_t patience_ns)
{
	(void)patience_ns;
	return false;
}
