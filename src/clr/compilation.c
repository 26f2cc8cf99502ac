/* SPDX-License-Identifier: MIT */
#include "clr/compilation.h"

#include <errno.h>

#include "base/clean.h"
#include "clr/payload.h"

/* MethodFlags: dotnet/runtime, src/coreclr/inc/eventtracebase.h. */
enum {
	METHOD_JITTED = 0x8,
	METHOD_PROFILER_REJECTED = 0x20,
	METHOD_READYTORUN_REJECTED = 0x40,
	METHOD_TIER_SHIFT = 7,
	METHOD_TIER_MASK = 7,
};

/* NativeCodeVersion::OptimizationTier, as these events have it. */
static const char *const tiers[] = {
	"unknown tier",
	"minimal optimization",
	"optimized",
	"tier 0",
	"tier 1",
	"tier 1, on-stack replacement",
	"tier 0, instrumented",
	"tier 1, instrumented",
};

_Static_assert(DNP_ARRAY_SIZE(tiers) == METHOD_TIER_MASK + 1, "each has a name");

int dnp_compilation_started(const uint8_t *data, size_t n, uint64_t *method)
{
	struct dnp_payload payload = dnp_payload(data, n);

	*method = dnp_payload_u64(&payload);
	return dnp_payload_ok(&payload) ? 0 : -EBADMSG;
}

static void read_flags(uint32_t flags, struct dnp_compilation *compilation)
{
	compilation->jitted = flags & METHOD_JITTED;
	compilation->rejected = flags & METHOD_READYTORUN_REJECTED;
	compilation->rejected_by_profiler = flags & METHOD_PROFILER_REJECTED;
	compilation->tier = tiers[flags >> METHOD_TIER_SHIFT & METHOD_TIER_MASK];
}

int dnp_compilation_loaded(
	const uint8_t *data, size_t n, struct dnp_compilation *compilation, struct dnp_text *name)
{
	struct dnp_payload payload = dnp_payload(data, n);

	*compilation = (struct dnp_compilation){.method = dnp_payload_u64(&payload)};
	dnp_payload_u64(&payload); /* ModuleID */
	compilation->address = dnp_payload_u64(&payload);
	compilation->bytes = dnp_payload_u32(&payload);
	dnp_payload_u32(&payload); /* MethodToken */
	read_flags(dnp_payload_u32(&payload), compilation);
	dnp_payload_type(&payload, name); /* MethodNamespace: with its type */
	dnp_text_puts(name, ".");
	dnp_payload_text(&payload, name);
	return dnp_payload_ok(&payload) ? 0 : -EBADMSG;
}
