/* SPDX-License-Identifier: MIT */
/*
 * What an event that the runtime delivers says: its payload is the fields in order, packed, in the
 * machine's byte order; text is UTF-16 that ends with a zero. Layouts: ClrEtwAll.man of
 * dotnet/runtime, and Microsoft Learn, ".NET runtime events".
 *
 *   struct dnp_payload payload = dnp_payload(data, n);
 *   uint32_t kind = dnp_payload_u32(&payload);
 *   if (!dnp_payload_ok(&payload)) return -EBADMSG;
 *
 * What a payload lacks reads as 0, and makes it bad. Allocates nothing, locks nothing, asks the
 * runtime nothing.
 */
#ifndef DNP_CLR_PAYLOAD_H
#define DNP_CLR_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct dnp_payload {
	const uint8_t *p, *end; /* borrowed */
	bool bad;
};

static inline struct dnp_payload dnp_payload(const void *data, size_t n)
{
	const uint8_t *bytes = data;

	return (struct dnp_payload){bytes, bytes + n, false};
}

static inline bool dnp_payload_ok(const struct dnp_payload *payload)
{
	return !payload->bad;
}

uint8_t dnp_payload_u8(struct dnp_payload *payload);
uint16_t dnp_payload_u16(struct dnp_payload *payload);
uint32_t dnp_payload_u32(struct dnp_payload *payload);
uint64_t dnp_payload_u64(struct dnp_payload *payload);
uintptr_t dnp_payload_pointer(struct dnp_payload *payload);

/* Text as it stands there. */
void dnp_payload_text(struct dnp_payload *payload, struct dnp_text *out);
void dnp_payload_skip_text(struct dnp_payload *payload);

/*
 * A type's name, in which the runtime writes `Outer`1+Inner`1[System.Int32,System.Byte]` and
 * `Odd\,name`, as this project writes it: `Outer<System.Int32>+Inner<System.Byte>`, `Odd,name`.
 */
void dnp_payload_type(struct dnp_payload *payload, struct dnp_text *out);

#endif
