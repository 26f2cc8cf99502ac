/* SPDX-License-Identifier: MIT */
#include "unwind/walk.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "clr/codemap.h"
#include "clr/r2r.h"
#include "os/generation.h"
#include "os/mem.h"
#include "os/modules.h"
#include "unwind/x86_64/decode.h"
#include "unwind/native.h"
#include "unwind/signal_frame.h"
#include "unwind/stack_copy.h"
#include "unwind/x86_64/unwind_info.h"

static _Atomic(struct dnp_codemap *) code_map;

void dnp_walk_use(struct dnp_codemap *map)
{
	atomic_store_explicit(&code_map, map, memory_order_release);
}

/*
 * `pc` is where the frame will go on; `exact` says that it is the very instruction (a leaf, or
 * interrupted by a signal), not the one behind a call. A return address may be the first byte of
 * the next function, so it is looked up one byte earlier.
 */
struct place {
	uintptr_t pc;
	bool exact;
	bool guard; /* not the calling thread's: its code may just be going away */
};

SIGSAFE static uintptr_t lookup_address(struct place place)
{
	return place.exact ? place.pc : place.pc - 1;
}

/* ---- Rules of native code */

SIGSAFE static const void *memory(uintptr_t address)
{
	return (const void *)address; /* NOLINT(performance-no-int-to-ptr) */
}

/*
 * Bytes of code, or of what describes it. A thread that is inside of it reads them where they are;
 * for others they are copied, as many as there are.
 */
SIGSAFE static const uint8_t *code_bytes(
	struct place place, uintptr_t address, uint8_t *copy, size_t *n)
{
	if (!place.guard)
		return memory(address);
	*n = dnp_mem_read_some(address, copy, *n);
	return copy;
}

/* Whether the function around a place, which lies behind its beginning, begins with those bytes. */
SIGSAFE static bool is_within(struct place place, const struct dnp_elf_module *module,
	const uint8_t *first, size_t n_first, size_t bytes_max)
{
	uint8_t copy[16];
	size_t n = n_first;
	const uint8_t *code;
	uint64_t start;

	if (!dnp_native_function(module, lookup_address(place), &start) ||
		place.pc - (module->bias + start) < 1 ||
		place.pc - (module->bias + start) > bytes_max)
		return false;
	code = code_bytes(place, module->bias + start, copy, &n);
	return n == n_first && !memcmp(code, first, n);
}

/* Within OnHijackTripThread, where its description is off. */
SIGSAFE static bool is_hijack_stub(
	struct place place, const struct dnp_elf_module *module, struct dnp_rule rule)
{
	const struct dnp_hijack *stub = &dnp_native_hijack;

	return rule.cfa == DNP_CFA_SP && rule.off > 8 && (stub->exact || !place.exact) &&
		is_within(place, module, stub->code, stub->n, 128);
}

/*
 * Whether it begins there: a method's return address was taken away, and it has not returned yet,
 * or just now. Where a function that does not return is called last, another may begin behind the
 * call.
 */
SIGSAFE static bool is_hijacked(struct place place, const struct dnp_elf_module *module)
{
	const struct dnp_hijack *stub = &dnp_native_hijack;
	uint8_t copy[sizeof(stub->code)];
	size_t n_before = 8, n = stub->n;
	const uint8_t *code;
	uint64_t start;

	if (!dnp_native_function(module, place.pc, &start) || module->bias + start != place.pc)
		return false;
	code = code_bytes(place, place.pc, copy, &n);
	if (n != stub->n || memcmp(code, stub->code, n))
		return false;
	if (place.exact)
		return true;
	code = code_bytes(place, place.pc - n_before, copy, &n_before);
	return !dnp_behind_call(code, n_before);
}

/*
 * dotnet/runtime, ClrRestoreNonvolatileContext: a thread goes on behind a handled exception. Its
 * description reckons by RBP, which is the caller's, and soon that of the code it goes on with.
 */
SIGSAFE static bool is_restore(struct place place, const struct dnp_elf_module *module)
{
	static const uint8_t first[] = {0x55, /* push %rbp */
		0x49, 0x89, 0xfa,             /* mov %rdi, %r10 */
		0x49, 0x89, 0xf3,             /* mov %rsi, %r11 */
		0x41, 0xf6, 0x42, 0x30, 2};   /* testb $2, 0x30(%r10) */

	return is_within(place, module, first, sizeof(first), 256);
}

/* All registers are that code's when it comes to the jump; else it returns. */
SIGSAFE static struct dnp_rule restore_rule(struct place place)
{
	static const uint8_t jump[] = {0xff, 0xe0}, ret[] = {0xc3}; /* jmp *%rax */
	uint8_t copy[sizeof(jump)];
	size_t n = sizeof(copy);
	const uint8_t *code = code_bytes(place, place.pc, copy, &n);

	if (n == sizeof(jump) && place.exact && !memcmp(code, jump, sizeof(jump)))
		return (struct dnp_rule){.cfa = DNP_CFA_JUMP, .off = DNP_JUMP_AX};
	if (n && place.exact && !memcmp(code, ret, sizeof(ret)))
		return (struct dnp_rule){.cfa = DNP_CFA_SP, .off = 8};
	return (struct dnp_rule){.cfa = DNP_CFA_SP, .off = 16, .bp_slot = -2};
}

SIGSAFE static bool native_rule(struct place place, struct dnp_rule *rule, bool *keep)
{
	const struct dnp_elf_module *module = dnp_module_find(lookup_address(place));
	bool known;

	*rule = (struct dnp_rule){0};
	if (module && is_hijacked(place, module)) {
		*rule = (struct dnp_rule){.cfa = DNP_CFA_TAKEN, .kind = DNP_WALK_NATIVE};
		*keep = true;
		return true;
	}
	known = module ? dnp_native_rule(module, lookup_address(place), place.exact, rule)
		       : dnp_native_rule_of_new(lookup_address(place), place.exact, rule);
	if (!module && !known)
		return false;
	*keep = module && known;
	if (rule->cfa == DNP_CFA_PLT) {
		bool pushed = (place.pc & 15) >= (uintptr_t)rule->off;

		*rule = (struct dnp_rule){.cfa = DNP_CFA_SP, .off = pushed ? 16 : 8};
	} else if (module && is_hijack_stub(place, module, *rule)) {
		rule->cfa = DNP_CFA_HIJACK;
		rule->off += dnp_native_hijack.off;
	} else if (module && rule->cfa == DNP_CFA_BP && !rule->off && is_restore(place, module)) {
		*rule = restore_rule(place);
	}
	rule->kind = DNP_WALK_NATIVE;
	return true;
}

/* ---- Rules of managed code */

struct managed {
	uintptr_t begin, end;
	uintptr_t unwind_info; /* 0: not known */
	uint32_t unwind_bytes; /* that can be read there */
	uint32_t prolog_bytes;
	struct dnp_rule body;
};

SIGSAFE static bool unwind_info_rule(
	struct place place, const struct managed *m, uint32_t offset, struct dnp_rule *rule)
{
	uint8_t copy[DNP_UNWIND_INFO_MAX];
	size_t n = m->unwind_bytes;
	const uint8_t *info;

	if (place.guard && n > sizeof(copy))
		n = sizeof(copy);
	info = code_bytes(place, m->unwind_info, copy, &n);
	return n >= DNP_UNWIND_INFO_HEADER && dnp_unwind_info_rule(info, n, offset, rule);
}

#define PROLOG_BYTES_MAX 256 /* of prologs without a description */

SIGSAFE static bool prolog_rule(
	struct place place, const struct managed *m, uint32_t offset, struct dnp_rule *rule)
{
	uint8_t copy[PROLOG_BYTES_MAX];
	struct dnp_prolog prolog;
	size_t n = offset;
	const uint8_t *code;

	if (m->unwind_info)
		return unwind_info_rule(place, m, offset, rule);
	if (place.guard && n > sizeof(copy))
		return false;
	code = code_bytes(place, m->begin, copy, &n);
	dnp_prolog_decode(code, n, &prolog);
	return dnp_prolog_rule(&prolog, rule);
}

SIGSAFE static bool epilog_rule(struct place place, const struct managed *m, struct dnp_rule *rule)
{
	uint8_t copy[DNP_EPILOG_BYTES_MAX];
	size_t n = m->end - place.pc < sizeof(copy) ? m->end - place.pc : sizeof(copy);
	const uint8_t *code;

	if (place.pc >= m->end)
		return false;
	code = code_bytes(place, place.pc, copy, &n);
	return dnp_epilog_rule_here(code, n, place.pc, m->begin, m->end - m->begin, rule);
}

SIGSAFE static struct dnp_rule managed_rule(const struct managed *m, struct place place)
{
	uint32_t offset = (uint32_t)(place.pc - m->begin);
	struct dnp_rule rule;

	if (offset < m->prolog_bytes && prolog_rule(place, m, offset, &rule))
		return rule;
	if (place.exact && epilog_rule(place, m, &rule))
		return rule;
	return m->body;
}

SIGSAFE static bool jit_rule(struct place place, struct dnp_rule *rule)
{
	const struct dnp_codemap *map = atomic_load_explicit(&code_map, memory_order_acquire);
	const struct dnp_code *code = map ? dnp_codemap_find(map, lookup_address(place)) : NULL;
	struct managed m;

	if (!code)
		return false;
	if (code->flags & DNP_CODE_CATCH && place.pc - code->begin >= code->prolog_bytes) {
		*rule = code->rule; /* the frame of the method, not the one of the handler's call */
	} else {
		m = (struct managed){.begin = code->begin,
			.end = code->begin + code->bytes,
			.unwind_info = code->unwind_info,
			.unwind_bytes = DNP_UNWIND_INFO_MAX,
			.prolog_bytes = code->prolog_bytes,
			.body = code->rule};
		*rule = managed_rule(&m, place);
	}
	rule->kind = code->flags & DNP_CODE_DYNAMIC ? DNP_WALK_DYNAMIC : DNP_WALK_JIT;
	return true;
}

SIGSAFE static bool describe_r2r(
	struct place place, const struct dnp_r2r_function *function, struct managed *m)
{
	*m = (struct managed){
		.begin = function->begin,
		.end = function->end,
		.unwind_info = function->unwind_info,
		.unwind_bytes = function->unwind_bytes,
	};
	if (!unwind_info_rule(place, m, DNP_UNWIND_BODY, &m->body))
		return false;
	m->prolog_bytes = dnp_unwind_info_prolog(memory(function->unwind_info));
	return true;
}

/* A catch handler leaves the frame of its method, as in code compiled at run time. */
SIGSAFE static bool r2r_catch_rule(struct place place, const struct dnp_r2r_image *image,
	const struct dnp_r2r_function *function, struct dnp_rule *rule)
{
	struct dnp_r2r_function method;
	uint8_t copy[PROLOG_BYTES_MAX];
	struct dnp_prolog prolog;
	const uint8_t *code;
	struct managed m;
	size_t n;

	if (dnp_r2r_part_of(image, function, &method) != DNP_R2R_CATCH ||
		!describe_r2r(place, &method, &m))
		return false;
	n = m.end - m.begin < sizeof(copy) ? m.end - m.begin : sizeof(copy);
	code = code_bytes(place, m.begin, copy, &n);
	dnp_prolog_decode(code, n, &prolog);
	return dnp_rule_by_bp(&m.body, &prolog, rule);
}

/* Where the handler's own frame ends: see dnp_prolog_takes_frame. */
SIGSAFE static uint32_t r2r_prolog_bytes(struct place place, const struct managed *m)
{
	uintptr_t behind = m->begin + m->prolog_bytes;
	uint8_t copy[DNP_TAKE_FRAME_MAX];
	size_t n = sizeof(copy);
	const uint8_t *code;

	if (behind >= m->end)
		return m->prolog_bytes;
	if (n > m->end - behind)
		n = m->end - behind;
	code = code_bytes(place, behind, copy, &n);
	return m->prolog_bytes + dnp_prolog_takes_frame(code, n);
}

SIGSAFE static bool r2r_rule(struct place place, struct dnp_rule *rule)
{
	const struct dnp_r2r_image *image = dnp_r2r_find(lookup_address(place));
	struct dnp_r2r_function function;
	struct managed m;

	if (!image || !dnp_r2r_function_at(image, lookup_address(place), &function))
		return false;
	*rule = (struct dnp_rule){0};
	if (describe_r2r(place, &function, &m) &&
		(place.pc - m.begin < r2r_prolog_bytes(place, &m) ||
			!r2r_catch_rule(place, image, &function, rule)))
		*rule = managed_rule(&m, place);
	rule->kind = DNP_WALK_R2R;
	return true;
}

/* The rule at a place, kind DNP_WALK_UNKNOWN where no code is known. *keep: it may be cached. */
SIGSAFE static struct dnp_rule find_rule(struct place place, bool *keep)
{
	struct dnp_rule rule = {0};

	*keep = true;
	if (!jit_rule(place, &rule) && !r2r_rule(place, &rule) && !native_rule(place, &rule, keep))
		*keep = false;
	return rule;
}

/* ---- The cache */

/*
 * Shared by all threads, without a lock: an entry's two words are written one by one, and the key
 * is stored combined with the rule, so that words of two different writers do not match.
 */
#define CACHE_BITS 14

struct cached {
	_Atomic uint64_t key_xor_rule, rule;
};

static struct cached cache[1U << CACHE_BITS];

#define MIX UINT64_C(0x9E3779B97F4A7C15)

SIGSAFE static uint64_t cache_key(struct place place, uint64_t generation)
{
	return ((uint64_t)place.pc << 1 | place.exact) ^ generation * MIX;
}

SIGSAFE static struct dnp_rule cached_rule(struct place place, uint64_t generation)
{
	uint64_t key = cache_key(place, generation);
	struct cached *entry = &cache[key * MIX >> (64 - CACHE_BITS)];
	uint64_t bits = atomic_load_explicit(&entry->rule, memory_order_relaxed);
	uint64_t check = atomic_load_explicit(&entry->key_xor_rule, memory_order_relaxed);
	struct dnp_rule rule;
	bool keep;

	if ((check ^ bits) == key && bits) {
		memcpy(&rule, &bits, sizeof(rule));
		return rule;
	}
	rule = find_rule(place, &keep);
	if (keep) {
		memcpy(&bits, &rule, sizeof(bits));
		atomic_store_explicit(&entry->rule, bits, memory_order_relaxed);
		atomic_store_explicit(&entry->key_xor_rule, bits ^ key, memory_order_relaxed);
	}
	return rule;
}

/* ---- Steps */

#define LOWEST_CODE 4096 /* no code lies in the first page */

SIGSAFE static bool on_stack(const struct dnp_walk *w, uintptr_t address, size_t bytes)
{
	const struct dnp_stack_range *range = &w->stacks.now;

	return address >= range->low && address <= range->high && bytes <= range->high - address;
}

/* The stack may be another thread's that stands still: the thread sanitizer cannot know that. */
#define NO_TSAN __attribute__((no_sanitize("thread")))

NO_TSAN SIGSAFE static uintptr_t word_at(uintptr_t address)
{
	uintptr_t value;

	memcpy(&value, memory(address), sizeof(value));
	return value;
}

/*
 * `own` is known at compile time wherever walks are fast: these stacks are the thread's own, there
 * is no copy to ask for.
 */
#define INLINE inline __attribute__((always_inline))

SIGSAFE static INLINE bool load(
	const struct dnp_walk *w, bool own, uintptr_t address, uintptr_t *value)
{
	if (!on_stack(w, address, sizeof(*value)))
		return false;
	if (!own && w->stacks.copy)
		return dnp_stack_copy_read(w->stacks.copy, address, value, sizeof(*value));
	*value = word_at(address);
	return true;
}

SIGSAFE bool dnp_walk_is_behind_call(uintptr_t address)
{
	uint8_t before[8];

	return dnp_mem_read(address - sizeof(before), before, sizeof(before)) == 0 &&
		dnp_behind_call(before, sizeof(before));
}

/* Code that a call may return to: known, and behind a call instruction. */
SIGSAFE static bool returns_to(uintptr_t address, bool native_too)
{
	const struct dnp_codemap *map = atomic_load_explicit(&code_map, memory_order_acquire);

	if (!(map && dnp_codemap_find(map, address - 1)) && !dnp_r2r_find(address - 1) &&
		!(native_too && dnp_module_find(address - 1)))
		return false;
	/* The word may be a leftover that points into code that is just going away. */
	return dnp_walk_is_behind_call(address);
}

/*
 * The runtime's stubs have no description, but they are short and push at most two words before
 * they jump on, so the return address is among the topmost three.
 */
SIGSAFE static bool step_stub(struct dnp_walk *w)
{
	for (size_t i = 0; i < 3; i++) {
		uintptr_t address;

		if (!load(w, false, w->regs.sp + 8 * i, &address))
			return false;
		if (returns_to(address, i == 0)) {
			w->regs.pc = address;
			w->regs.sp += 8 * (i + 1);
			w->exact = false;
			return true;
		}
	}
	return false;
}

#define PART_WORDS   64
#define OBJECT_WORDS 1024 /* of what the runtime knows of a thread */

/* Words of the runtime's object of a thread; how many there are. */
SIGSAFE static size_t read_object(uintptr_t object, size_t from, uintptr_t words[PART_WORDS])
{
	return dnp_mem_read_some(object + 8 * from, words, 8 * PART_WORDS) / 8;
}

/*
 * To where the method would have returned, whose return address is the last word that was popped.
 * The runtime keeps that, and behind it at which place of the stack it stood (dotnet/runtime,
 * Thread: m_pvHJRetAddr, m_ppvHJRetAddrPtr; coreclr 8 to 10). It may be native code that called the
 * method (coreclr 8 and 9).
 */
SIGSAFE static bool give_back(struct dnp_walk *w)
{
	uintptr_t words[PART_WORDS], place = w->regs.sp - 8;
	size_t n = PART_WORDS;

	if (!w->stacks.runtime_thread)
		return false;
	for (size_t from = 0; from < OBJECT_WORDS && n == PART_WORDS; from += PART_WORDS - 1) {
		n = read_object(w->stacks.runtime_thread, from, words);
		for (size_t i = 1; i < n; i++)
			if (words[i] == place && returns_to(words[i - 1], true)) {
				w->regs.pc = words[i - 1];
				w->exact = false;
				return true;
			}
	}
	return false;
}

/* The runtime puts the address back when the stub has called it, and not before. */
SIGSAFE static bool has_returned(struct dnp_walk *w)
{
	return returns_to(w->regs.pc, false) || give_back(w);
}

/* To the registers that a signal interrupted, perhaps on another stack than its handler's. */
SIGSAFE static bool step_signal(struct dnp_walk *w)
{
	if (w->regs.sp % 8 || !on_stack(w, w->regs.sp, dnp_signal_frame_bytes) ||
		!dnp_signal_frame_read(w->stacks.copy, w->regs.sp, &w->regs))
		return false;
	w->exact = true;
	if (on_stack(w, w->regs.sp, 0))
		return true;
	w->stacks.now = w->stacks.below;
	w->stacks.below = (struct dnp_stack_range){0};
	return on_stack(w, w->regs.sp, 0);
}

SIGSAFE static bool step_jump(struct dnp_walk *w, enum dnp_jump jump)
{
	uintptr_t to = jump == DNP_JUMP_AX ? w->regs.ax : w->regs.cx;

	if (!w->exact || to < LOWEST_CODE)
		return false;
	w->regs.pc = to;
	return true;
}

/* To an instruction, not behind a call. */
SIGSAFE static bool step_interrupted(struct dnp_walk *w, struct dnp_rule rule)
{
	return rule.cfa == DNP_CFA_SIGNAL ? step_signal(w) : step_jump(w, (enum dnp_jump)rule.off);
}

SIGSAFE static INLINE bool find_cfa(
	const struct dnp_walk *w, bool own, struct dnp_rule rule, uintptr_t *cfa)
{
	uintptr_t off = (uintptr_t)(intptr_t)rule.off;

	switch (rule.cfa) {
	case DNP_CFA_SP:
	case DNP_CFA_HIJACK:
	case DNP_CFA_FAULT: *cfa = w->regs.sp + off; return true;
	case DNP_CFA_BP: *cfa = w->regs.bp + off; return true;
	case DNP_CFA_BX: *cfa = w->regs.bx + off; return true;
	case DNP_CFA_CX: *cfa = w->regs.cx + off; return w->exact;
	case DNP_CFA_R10: *cfa = w->regs.r10 + off; return w->exact;
	case DNP_CFA_R11: *cfa = w->regs.r11 + off; return w->exact;
	case DNP_CFA_AT_BP: return load(w, own, w->regs.bp + off, cfa);
	case DNP_CFA_AT_SP:
		if (!load(w, own, w->regs.sp + off, cfa))
			return false;
		*cfa += 8;
		return true;
	default: return false;
	}
}

#define ABOVE_MAX 128 /* bytes of a stack above the first frame on it */

/*
 * What stands in for the caller of the first frame is no code. The same amid the stack is none: the
 * walk went astray.
 */
SIGSAFE static enum dnp_walk_stop stop_without_code(const struct dnp_walk *w)
{
	return w->stacks.now.high - w->regs.sp <= ABOVE_MAX ? DNP_STOP_END : DNP_STOP_BAD_STACK;
}

SIGSAFE static uintptr_t at_slot(uintptr_t cfa, int slot)
{
	return cfa + (uintptr_t)dnp_rule_offset(slot);
}

/* To the caller; false: the stack is not what the rule says. */
SIGSAFE static INLINE bool step(struct dnp_walk *w, bool own, struct dnp_rule rule)
{
	bool fault = rule.cfa == DNP_CFA_FAULT;
	uintptr_t cfa, pc;

	if (!find_cfa(w, own, rule, &cfa) || cfa <= w->regs.sp || cfa % 8 ||
		!load(w, own, at_slot(cfa, fault ? rule.bx_slot : -1), &pc))
		return false;
	if (!fault && rule.bx_slot && !load(w, own, at_slot(cfa, rule.bx_slot), &w->regs.bx))
		return false;
	if (rule.bp_at) {
		if (!load(w, own, w->regs.bp, &w->regs.bp))
			return false;
	} else if (rule.bp_slot && !load(w, own, at_slot(cfa, rule.bp_slot), &w->regs.bp)) {
		return false;
	}
	w->regs.pc = pc;
	w->regs.sp = cfa;
	w->exact = fault;
	return true;
}

SIGSAFE static dnp_frame_word word_of(struct place place, unsigned kind)
{
	return (place.pc & ((UINT64_C(1) << DNP_FRAME_SHIFT) - 1)) |
		(uint64_t)kind << DNP_FRAME_SHIFT | (place.exact ? DNP_FRAME_EXACT : 0);
}

SIGSAFE static struct place place_of(const struct dnp_walk *w)
{
	return (struct place){w->regs.pc, w->exact, w->stacks.copy || w->stacks.stands};
}

SIGSAFE static dnp_frame_word frame_word(const struct dnp_walk *w, unsigned kind)
{
	return word_of(place_of(w), kind);
}

/* `registers` is NULL or not at compile time, too: what nobody wants costs nothing. */
SIGSAFE static INLINE size_t walk_frames(struct dnp_walk *w, bool own, dnp_frame_word *frames,
	struct dnp_regs *registers, size_t max, enum dnp_walk_stop *stop)
{
	uint64_t generation = dnp_generation();
	size_t n = 0;

	*stop = DNP_STOP_DEPTH;
	while (n < max) {
		struct dnp_rule rule = cached_rule(place_of(w), generation);
		bool stepped;

		if (rule.cfa == DNP_CFA_TAKEN && !w->exact) {
			if (give_back(w))
				continue;
			w->exact = true; /* it is the stub's first instruction */
		}
		frames[n] = frame_word(w, rule.kind);
		if (registers)
			registers[n] = w->regs;
		n++;
		if (rule.kind == DNP_WALK_UNKNOWN) {
			struct dnp_walk before = *w;

			*stop = DNP_STOP_UNKNOWN;
			if (!w->exact || !step_stub(w))
				break;
			frames[n - 1] = frame_word(&before, DNP_WALK_STUB);
			*stop = DNP_STOP_DEPTH;
			continue;
		}
		if (rule.cfa == DNP_CFA_END) {
			*stop = DNP_STOP_END;
			break;
		}
		if (rule.cfa == DNP_CFA_TAKEN && give_back(w))
			continue;
		if (rule.cfa == DNP_CFA_NONE || rule.cfa == DNP_CFA_TAKEN) {
			*stop = DNP_STOP_NO_RULE;
			break;
		}
		stepped = rule.cfa == DNP_CFA_SIGNAL || rule.cfa == DNP_CFA_JUMP
			? step_interrupted(w, rule)
			: step(w, own, rule);
		if (!stepped) {
			*stop = DNP_STOP_BAD_STACK;
			break;
		}
		if (rule.cfa == DNP_CFA_HIJACK && !has_returned(w)) {
			*stop = DNP_STOP_NO_RULE;
			break;
		}
		if (w->regs.pc < LOWEST_CODE) {
			*stop = stop_without_code(w);
			break;
		}
	}
	return n;
}

SIGSAFE size_t dnp_walk(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, size_t max, enum dnp_walk_stop *stop)
{
	struct dnp_walk w = {*regs, stacks, true};

	return stacks.copy ? dnp_walk_on(&w, frames, NULL, max, stop)
			   : walk_frames(&w, true, frames, NULL, max, stop);
}

SIGSAFE size_t dnp_walk_registers(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, struct dnp_regs *registers, size_t max, enum dnp_walk_stop *stop)
{
	struct dnp_walk w = {*regs, stacks, true};

	return dnp_walk_on(&w, frames, registers, max, stop);
}

SIGSAFE size_t dnp_walk_caller(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, struct dnp_regs *registers, size_t max, enum dnp_walk_stop *stop)
{
	struct dnp_walk w = {*regs, stacks, false};

	return dnp_walk_on(&w, frames, registers, max, stop);
}

SIGSAFE bool dnp_walk_begins(uintptr_t pc)
{
	const struct dnp_codemap *map = atomic_load_explicit(&code_map, memory_order_acquire);
	const struct dnp_code *code = map ? dnp_codemap_find(map, pc) : NULL;
	const struct dnp_r2r_image *image = code ? NULL : dnp_r2r_find(pc);
	struct dnp_r2r_function function;

	if (code)
		return code->begin == pc;
	return image && dnp_r2r_function_at(image, pc, &function) && function.begin == pc;
}

SIGSAFE dnp_frame_word dnp_walk_frame(uintptr_t pc, bool exact)
{
	struct place place = {.pc = pc, .exact = exact || dnp_walk_begins(pc)};

	return word_of(place, cached_rule(place, dnp_generation()).kind);
}

SIGSAFE size_t dnp_walk_on(struct dnp_walk *walk, dnp_frame_word *frames,
	struct dnp_regs *registers, size_t max, enum dnp_walk_stop *stop)
{
	return walk_frames(walk, false, frames, registers, max, stop);
}

SIGSAFE struct dnp_rule dnp_walk_rule(const struct dnp_walk *walk)
{
	return cached_rule(place_of(walk), dnp_generation());
}

SIGSAFE bool dnp_walk_load(const struct dnp_walk *walk, uintptr_t address, uintptr_t *value)
{
	return load(walk, false, address, value);
}

/* The code that a handler returns to is not called: what describes it says what it is. */
SIGSAFE bool dnp_walk_returns_to(const struct dnp_walk *walk, uintptr_t address)
{
	struct dnp_walk there = *walk;

	if (returns_to(address, true))
		return true;
	there.regs.pc = address;
	there.exact = false;
	return dnp_module_find(address - 1) && dnp_walk_rule(&there).cfa == DNP_CFA_SIGNAL;
}
