/* SPDX-License-Identifier: MIT */
#include "clr/contention.h"

#include <errno.h>
#include <string.h>

#include "clr/payload.h"

/* From these on there are the lock and its owner; and the duration. */
#define START_VERSION 2u
#define STOP_VERSION  1u

#define LONGEST_NS 1e18 /* some thirty years */

int dnp_contention_start(
	const uint8_t *data, size_t n, uint32_t version, struct dnp_contention *contention)
{
	struct dnp_payload payload = dnp_payload(data, n);
	uint64_t owner;

	*contention = (struct dnp_contention){0};
	if (version < START_VERSION)
		return -EBADMSG;
	dnp_payload_u8(&payload);  /* ContentionFlags */
	dnp_payload_u16(&payload); /* ClrInstanceID */
	contention->lock = dnp_payload_pointer(&payload);
	contention->object = dnp_payload_pointer(&payload);
	owner = dnp_payload_u64(&payload);
	contention->owner = owner <= INT32_MAX ? (int)owner : 0;
	return dnp_payload_ok(&payload) ? 0 : -EBADMSG;
}

int dnp_contention_stop(const uint8_t *data, size_t n, uint32_t version, uint64_t *ns)
{
	struct dnp_payload payload = dnp_payload(data, n);
	uint64_t bits;
	double took;

	*ns = 0;
	if (version < STOP_VERSION)
		return -EBADMSG;
	dnp_payload_u8(&payload);  /* ContentionFlags */
	dnp_payload_u16(&payload); /* ClrInstanceID */
	bits = dnp_payload_u64(&payload);
	memcpy(&took, &bits, sizeof(took));
	if (!dnp_payload_ok(&payload) || !(took >= 0 && took < LONGEST_NS))
		return -EBADMSG;
	*ns = (uint64_t)took;
	return 0;
}

#define SOURCE_MONITOR 1u /* WaitSource */

int dnp_wait_handle_start(const uint8_t *data, size_t n, bool *monitor)
{
	struct dnp_payload payload = dnp_payload(data, n);

	*monitor = dnp_payload_u8(&payload) == SOURCE_MONITOR;
	dnp_payload_pointer(&payload); /* AssociatedObjectID: it may have moved */
	dnp_payload_u16(&payload);     /* ClrInstanceID */
	return dnp_payload_ok(&payload) ? 0 : -EBADMSG;
}
