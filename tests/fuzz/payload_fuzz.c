/* SPDX-License-Identifier: MIT */
/*
 * Payloads of the runtime's events. The first byte chooses the event's version and the room for a
 * name; the rest is the payload, which ends where its memory does.
 */
#include <stdlib.h>
#include <string.h>
#include <uchar.h>

#include "clr/allocation.h"
#include "clr/collection.h"
#include "clr/contention.h"
#include "clr/request.h"
#include "fuzz.h"

static void check(int result, const struct dnp_allocation *allocation, size_t room)
{
	double bytes = dnp_allocation_stands_for(allocation->bytes);
	struct dnp_text type;
	char buffer[256];

	dnp_text_init(&type, buffer, room);
	dnp_allocation_type(allocation, &type);
	if (type.n >= type.cap || strlen(type.p) != type.n)
		abort();
	/* Never less than itself, nor than the mean. */
	if (!result && (bytes < (double)allocation->bytes || bytes < DNP_ALLOCATION_MEAN_BYTES - 1))
		abort();
}

static void check_contention(const uint8_t *data, size_t n, uint32_t version)
{
	struct dnp_contention contention;
	bool monitor;
	uint64_t ns;

	if (!dnp_contention_start(data, n, version, &contention) && contention.owner < 0)
		abort();
	if (dnp_contention_stop(data, n, version, &ns) && ns)
		abort();
	if (!dnp_wait_handle_start(data, n, &monitor) && monitor != (data[0] == 1))
		abort();
}

static void check_collection(const uint8_t *data, size_t n, uint32_t version)
{
	static const uint32_t ids[] = {0, DNP_GC_START, DNP_GC_END, DNP_GC_RESTART_END,
		DNP_GC_RESTART_BEGIN, DNP_GC_SUSPEND_END, DNP_GC_SUSPEND_BEGIN, DNP_GC_TRIGGERED,
		DNP_GC_HEAP_HISTORY, DNP_GC_GLOBAL_HISTORY, UINT32_MAX};
	struct dnp_gc_event event;

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (!dnp_gc_event_read(ids[i], version, data, n, &event) &&
			(uint32_t)event.id != ids[i])
			abort();
}

/* As a request: what comes before is put there. */
static void check_request(const uint8_t *data, size_t n)
{
	static const char16_t head[] = u"Microsoft.AspNetCore\0"
				       u"Microsoft.AspNetCore.Hosting.HttpRequestIn.Stop";
	uint8_t *copy = malloc(sizeof(head) + n);
	struct dnp_request_room room;
	struct dnp_request request;

	if (!copy)
		abort();
	memcpy(copy, head, sizeof(head));
	memcpy(copy + sizeof(head), data, n);
	if (!dnp_request_read(copy, sizeof(head) + n, &request, &room) &&
		(request.route.n >= DNP_REQUEST_PATH_BYTES || request.status.n >= 16))
		abort();
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dnp_allocation allocation;
	size_t room;
	uint8_t *copy;
	int result;

	if (!n)
		return 0;
	copy = malloc(n);
	if (!copy)
		abort();
	memcpy(copy, data + 1, n - 1);
	room = 1 + data[0] % 256;
	result = dnp_allocation_tick(copy, n - 1, data[0] % 6, &allocation);
	check(result, &allocation, room);
	if (!result && dnp_allocation_tick_amount(copy, n - 1) != allocation.amount)
		abort();
	result = dnp_allocation_sampled(copy, n - 1, &allocation);
	check(result, &allocation, room);
	if (!result && dnp_allocation_sampled_bytes(copy, n - 1, 1) != allocation.bytes)
		abort();
	dnp_allocation_sampled_bytes(copy, n - 1, 0);
	check_contention(copy, n - 1, data[0] % 6);
	check_collection(copy, n - 1, data[0] % 6);
	check_request(copy, n - 1);
	free(copy);
	return 0;
}
