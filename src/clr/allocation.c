/* SPDX-License-Identifier: MIT */
#include "clr/allocation.h"

#include <errno.h>
#include <string.h>

#include "clr/payload.h"

/* From this one on the event has the object's size. */
#define TICK_VERSION 4u

#define KIND_SMALL 0u /* AllocationKind */

/* Fields of one size, before a tick's amount and from a sampled object's size to the end. */
#define BEFORE_AMOUNT (sizeof(uint32_t) + sizeof(uint32_t) + sizeof(uint16_t))
#define SIZE_TO_END   (2 * sizeof(uint64_t))
#define SAMPLED_LEAST                                                                              \
	(sizeof(uint32_t) + 2 * sizeof(uint16_t) + 2 * sizeof(uintptr_t) + SIZE_TO_END)

static uint64_t read_u64(const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* Of a later version it is not known how far from the end it is. */
uint64_t dnp_allocation_sampled_bytes(const uint8_t *data, size_t n, uint32_t version)
{
	struct dnp_allocation allocation;

	if (version)
		return dnp_allocation_sampled(data, n, &allocation) ? 0 : allocation.bytes;
	return n < SAMPLED_LEAST ? 0 : read_u64(data + n - SIZE_TO_END);
}

uint64_t dnp_allocation_tick_amount(const uint8_t *data, size_t n)
{
	return n < BEFORE_AMOUNT + sizeof(uint64_t) ? 0 : read_u64(data + BEFORE_AMOUNT);
}

int dnp_allocation_tick(
	const uint8_t *data, size_t n, uint32_t version, struct dnp_allocation *allocation)
{
	struct dnp_payload payload = dnp_payload(data, n);

	*allocation = (struct dnp_allocation){0};
	if (version < TICK_VERSION)
		return -EBADMSG;
	dnp_payload_u32(&payload); /* AllocationAmount, cut to 32 bits */
	allocation->young = dnp_payload_u32(&payload) == KIND_SMALL;
	dnp_payload_u16(&payload); /* ClrInstanceID */
	allocation->amount = dnp_payload_u64(&payload);
	allocation->type = dnp_payload_pointer(&payload);
	allocation->name = payload;
	dnp_payload_skip_text(&payload);
	dnp_payload_u32(&payload); /* HeapIndex */
	allocation->address = dnp_payload_pointer(&payload);
	allocation->bytes = dnp_payload_u64(&payload);
	return dnp_payload_ok(&payload) && allocation->bytes ? 0 : -EBADMSG;
}

int dnp_allocation_sampled(const uint8_t *data, size_t n, struct dnp_allocation *allocation)
{
	struct dnp_payload payload = dnp_payload(data, n);

	*allocation = (struct dnp_allocation){0};
	allocation->young = dnp_payload_u32(&payload) == KIND_SMALL;
	dnp_payload_u16(&payload); /* ClrInstanceID */
	allocation->type = dnp_payload_pointer(&payload);
	allocation->name = payload;
	dnp_payload_skip_text(&payload);
	allocation->address = dnp_payload_pointer(&payload);
	allocation->bytes = dnp_payload_u64(&payload);
	dnp_payload_u64(&payload); /* SampledByteOffset */
	return dnp_payload_ok(&payload) && allocation->bytes ? 0 : -EBADMSG;
}

void dnp_allocation_type(const struct dnp_allocation *allocation, struct dnp_text *type)
{
	struct dnp_payload payload = allocation->name;

	dnp_payload_type(&payload, type);
}

/* 1 - e^-x. From a small part of x, twice as much again and again: there is no libm here. */
static double reached(double x)
{
	unsigned halves = 0;
	double y;

	if (x > 40)
		return 1;
	for (; x > 1.0 / 64; halves++)
		x /= 2;
	y = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5))));
	for (; halves; halves--)
		y = y * (2 - y);
	return y;
}

double dnp_allocation_stands_for(uint64_t bytes)
{
	/* -ln(1 - p) for the probability p of a byte */
	static const double rate =
		1.0 / DNP_ALLOCATION_MEAN_BYTES * (1 + 0.5 / DNP_ALLOCATION_MEAN_BYTES);

	return (double)bytes / reached((double)bytes * rate);
}
