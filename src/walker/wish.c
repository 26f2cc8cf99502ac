/* SPDX-License-Identifier: MIT */
/* What the host asks for, read and checked. */
#include <string.h>

#include "clr/codemap.h"
#include "clr/r2r.h"
#include "os/mem.h"
#include "unwind/managed.h"
#include "walker/walks.h"

#define KNOWN_FLAGS ((uint32_t)DNPROF_WALK_BY_RUNTIME)

static HRESULT read_seed(const struct dnprof_registers *given, struct dnp_wish *wish)
{
	struct dnprof_registers seed = {0};

	if (given->struct_size < offsetof(struct dnprof_registers, bx))
		return E_INVALIDARG;
	memcpy(&seed, given, given->struct_size < sizeof(seed) ? given->struct_size : sizeof(seed));
	wish->seeded = true;
	wish->seed = (struct dnp_regs){
		.pc = seed.pc, .sp = seed.sp, .bp = seed.bp, .bx = seed.bx, .r10 = seed.r10};
	return S_OK;
}

static HRESULT read_options(const struct dnprof_walk_options *given, struct dnp_wish *wish)
{
	struct dnprof_walk_options options = {0};

	*wish = (struct dnp_wish){0};
	if (!given)
		return S_OK;
	if (given->struct_size < sizeof(given->struct_size))
		return E_INVALIDARG;
	memcpy(&options, given,
		given->struct_size < sizeof(options) ? given->struct_size : sizeof(options));
	if (options.flags & ~KNOWN_FLAGS || options.native > DNPROF_NATIVE_NONE ||
		(options.seed && options.flags & DNPROF_WALK_BY_RUNTIME))
		return E_INVALIDARG;
	wish->flags = options.flags;
	wish->native = (enum dnprof_native)options.native;
	return options.seed ? read_seed(options.seed, wish) : S_OK;
}

HRESULT dnp_wish_read(const struct dnprof_walker *walker, const struct dnprof_walk_options *given,
	struct dnp_wish *wish, struct dnp_teller *teller)
{
	HRESULT hr;

	if (!walker || !teller->frame)
		return E_INVALIDARG;
	hr = read_options(given, wish);
	teller->native = wish->native;
	return hr;
}

#define EPILOG_BYTES_MAX 64u /* more than an epilog's instructions take */

bool dnp_walker_in_managed_code(uintptr_t pc)
{
	const struct dnp_code *code = dnp_codemap_find(dnp_walk_codemap(), pc);
	const struct dnp_r2r_image *image;
	struct dnp_r2r_function function;
	uint8_t bytes[EPILOG_BYTES_MAX];
	size_t rest;

	if (code) {
		rest = code->begin + code->bytes - pc;
		return dnp_mem_read(pc, bytes, rest < sizeof(bytes) ? rest : sizeof(bytes)) == 0;
	}
	image = dnp_r2r_find(pc);
	return image && dnp_r2r_function_at(image, pc, &function);
}

HRESULT dnp_wish_check_seed(const struct dnp_regs *seed, const struct dnp_stack_range *stack)
{
	if (!dnp_walker_in_managed_code(seed->pc))
		return CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
	return seed->sp % 8 || seed->sp < stack->low || seed->sp >= stack->high ? E_INVALIDARG
										: S_OK;
}
