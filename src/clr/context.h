/* SPDX-License-Identifier: MIT */
/*
 * A CONTEXT as CoreCLR's platform layer has it on x86-64: what a seed is given as, and what comes
 * with a frame that is reported with its registers. Only the fields that walks need have names
 * here. Source: dotnet/runtime, pal.h.
 */
#ifndef DNP_CLR_CONTEXT_H
#define DNP_CLR_CONTEXT_H

#include <stdint.h>
#include <string.h>

/* Offsets. */
enum dnp_context_field {
	DNP_CONTEXT_FLAGS = 0x30, /* 32 bits: which of the registers are there */
	DNP_CONTEXT_RBX = 0x90,
	DNP_CONTEXT_RSP = 0x98,
	DNP_CONTEXT_RBP = 0xa0,
	DNP_CONTEXT_R10 = 0xc8,
	DNP_CONTEXT_RIP = 0xf8,
	DNP_CONTEXT_INTEGER_END = 0x100, /* behind the last of the integer registers */
};

#define DNP_CONTEXT_CONTROL_AND_INTEGER 0x100003u

/* Room for a whole one, today's (3232 bytes in CoreCLR 10) and larger ones. Aligned to 16. */
#define DNP_CONTEXT_BYTES 4096

static inline uintptr_t dnp_context_get(const uint8_t *context, enum dnp_context_field field)
{
	uintptr_t value;

	memcpy(&value, context + field, sizeof(value));
	return value;
}

static inline void dnp_context_put(uint8_t *context, enum dnp_context_field field, uintptr_t value)
{
	memcpy(context + field, &value, sizeof(value));
}

#endif
