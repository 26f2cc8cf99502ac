/* SPDX-License-Identifier: MIT */
#include "agent/frames.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/knowledge.h"
#include "agent/methods.h"
#include "base/framework.h"
#include "base/u64map.h"
#include "base/vec.h"
#include "capture/wait_kind.h"
#include "clr/codemap.h"
#include "clr/hresult.h"
#include "clr/r2r.h"
#include "os/clock.h"
#include "os/forks.h"
#include "os/generation.h"
#include "os/library.h"
#include "os/mem.h"
#include "os/modules.h"
#include "store/labels.h"
#include "unwind/dss.h"
#include "unwind/code.h"
#include "unwind/managed.h"
#include "unwind/native.h"

/*
 * What was last known of an address: most frames of most samples end here. Emptied by its key when
 * code goes away. Samples that are older than that are looked up by their time: an address may have
 * been another method's then.
 */
#define CACHE_SLOTS 8192u

struct cached {
	dnp_frame_word word;
	uint64_t generation;
	uint32_t frame;
	uint8_t collecting;
	uint8_t nature; /* enum dnp_nature */
};

enum {
	NAMED_STUB,
	NAMED_UNKNOWN,
	NAMED_UNLOADED,
	NAMED_NOT_YET,
	NAMED_NATIVE,
	NAMED_READY,
	NAMED_COUNT
};

struct dnp_frames {
	struct dnp_writer *writer; /* borrowed */
	enum dnp_frames_span span;
	struct cached cache[CACHE_SLOTS];
	uint64_t generation, since_ns; /* what the cache is of; when that had begun */
	struct dnp_u64map native;  /* module id, function → frame; the second half for the GC's */
	struct dnp_u64map kernel;  /* address → frame */
	struct dnp_u64map modules; /* hash of a managed module's name → module index */
	struct dnp_u64map elf;     /* module id → module index */
	struct dnp_u64map methods; /* number, kind of code → frame, where the methods do not know */
	struct dnp_u64map labels;           /* number → frame */
	struct dnp_vec_of(uint8_t) natures; /* of methods, by frame */
	uint32_t next_frame, next_module;
	uint32_t named[NAMED_COUNT]; /* frames of what has no name of its own */
	uint32_t kernel_module;
};

static void *jit; /* owned: the JIT's library, NULL: not found */

static uint32_t define(struct dnp_frames *frames, struct dnp_rec_frame *rec)
{
	rec->index = frames->next_frame++;
	dnp_write_frame(frames->writer, rec);
	return (uint32_t)rec->index;
}

static uint32_t define_module(struct dnp_frames *frames, struct dnp_rec_module *rec)
{
	rec->index = frames->next_module++;
	dnp_write_module(frames->writer, rec);
	return (uint32_t)rec->index;
}

struct dnp_frames *dnp_frames_new(struct dnp_writer *writer, enum dnp_frames_span span)
{
	struct dnp_frames *frames = dnp_mem_map(sizeof(*frames));

	if (!frames)
		return NULL;
	frames->writer = writer;
	frames->span = span;
	return frames;
}

/* Module 0 is of code without a file; frame 0 is not used, so that 0 means "none" in tables. */
static void prepare(struct dnp_frames *frames)
{
	if (frames->next_frame)
		return;
	frames->next_frame = 1;
	define_module(frames, &(struct dnp_rec_module){.kind = DNP_MODULE_OTHER});
}

static uint32_t named(struct dnp_frames *frames, unsigned which)
{
	static const char *const names[] = {"[stub]", "[unknown]", "[unloaded]", "[not sampled]",
		"[native]", "[waiting for a processor]"};

	if (!frames->named[which])
		frames->named[which] = define(frames,
			&(struct dnp_rec_frame){
				.kind = DNP_FRAME_OTHER,
				.name = dnp_str(names[which]),
			});
	return frames->named[which];
}

static struct dnp_str base_name(struct dnp_str path)
{
	size_t from = dnp_path_base_at(path.p, path.n);

	return (struct dnp_str){path.p + from, path.n - from};
}

static uint64_t hash_bytes(struct dnp_str bytes)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (size_t i = 0; i < bytes.n; i++)
		hash = (hash ^ (uint8_t)bytes.p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static uint32_t managed_module(struct dnp_frames *frames, struct dnp_str path)
{
	uint64_t key = hash_bytes(path);
	uint32_t *known = dnp_u64map_get(&frames->modules, key), index;

	if (known)
		return *known;
	index = define_module(frames,
		&(struct dnp_rec_module){
			.kind = DNP_MODULE_MANAGED,
			.path = path,
			.name = base_name(path),
		});
	dnp_u64map_put(&frames->modules, key, index);
	return index;
}

/* Where a method's frame is kept; 0 as long as it has none. NULL: no memory. */
static uint32_t *method_slot(struct dnp_frames *frames, uint32_t number, bool precompiled)
{
	uint64_t key = (uint64_t)number << 1 | precompiled;
	uint32_t *slot;

	if (frames->span == DNP_FRAMES_RECORDING)
		return dnp_methods_frame(number, precompiled);
	slot = dnp_u64map_get(&frames->methods, key);
	if (!slot && !dnp_u64map_put(&frames->methods, key, 0))
		slot = dnp_u64map_get(&frames->methods, key);
	return slot;
}

static unsigned nature_of(const struct dnp_frames *frames, uint32_t frame)
{
	return frame < frames->natures.n ? frames->natures.p[frame] : 0;
}

/* Without memory for it, why threads wait may be told less well. */
static void learn_nature(
	struct dnp_frames *frames, uint32_t frame, const struct dnp_method_text *text)
{
	unsigned nature = (unsigned)dnp_wait_kind_of_method(text->name) << DNP_NATURE_WAIT_SHIFT;

	if (!dnp_framework_has(base_name(text->module), text->module))
		return;
	while (frames->natures.n <= frame)
		if (dnp_vec_push(&frames->natures, (uint8_t)0))
			return;
	frames->natures.p[frame] = (uint8_t)(nature | DNP_NATURE_FRAMEWORK);
}

static uint32_t method_frame(
	struct dnp_frames *frames, uint32_t number, enum dnp_frame_kind kind, unsigned *nature)
{
	uint32_t *frame = method_slot(frames, number, kind == DNP_FRAME_R2R);
	struct dnp_method_text text;

	if (frame && *frame) {
		*nature |= nature_of(frames, *frame);
		return *frame;
	}
	if (!frame || !dnp_methods_text(number, &text)) {
		*nature |= DNP_NATURE_UNKNOWN;
		return named(frames, NAMED_UNKNOWN);
	}
	*frame = define(frames,
		&(struct dnp_rec_frame){
			.kind = kind,
			.module = managed_module(frames, text.module),
			.function = text.token,
			.name = text.name,
			.flags = text.flags,
		});
	learn_nature(frames, *frame, &text);
	*nature |= nature_of(frames, *frame);
	return *frame;
}

static void tell_traced(uint32_t number, FunctionID function, void *context)
{
	struct dnp_frames *frames = context;
	unsigned nature = 0;

	prepare(frames);
	dnp_write_traced(frames->writer,
		&(struct dnp_rec_traced){
			.method = number,
			.frame = method_frame(frames, number, DNP_FRAME_MANAGED, &nature),
			.function_id = function,
		});
}

void dnp_frames_traced(struct dnp_frames *frames)
{
	dnp_methods_tell_traced(tell_traced, frames);
}

static uint32_t jit_frame(
	struct dnp_frames *frames, uintptr_t pc, uint64_t time_ns, unsigned *nature)
{
	struct dnp_code code;

	if (!dnp_codemap_find_at(dnp_walk_codemap(), pc, time_ns, &code)) {
		*nature |= DNP_NATURE_UNKNOWN;
		return named(frames, NAMED_UNLOADED);
	}
	if (!code.method) {
		*nature |= DNP_NATURE_UNKNOWN;
		return named(frames, NAMED_UNKNOWN);
	}
	if ((code.flags & DNP_CODE_FUNCLET) && !(code.flags & DNP_CODE_CATCH))
		*nature |= DNP_NATURE_PART;
	return method_frame(frames, code.method,
		code.flags & DNP_CODE_DYNAMIC ? DNP_FRAME_DYNAMIC : DNP_FRAME_MANAGED, nature);
}

/* A handler that its own method calls. */
static bool is_r2r_part(uintptr_t pc)
{
	const struct dnp_r2r_image *image = dnp_r2r_find(pc);
	struct dnp_r2r_function function, method;

	return image && dnp_r2r_function_at(image, pc, &function) &&
		dnp_r2r_part_of(image, &function, &method) == DNP_R2R_FINALLY;
}

/* 0: not known. */
static FunctionID r2r_function(dnp_frame_word word, uintptr_t pc)
{
	FunctionID function = 0;
	ReJITID rejit;
	HRESULT hr;

	if (!dnp_code_frame_may_be_asked_for(word))
		return 0;
	dnp_forks_hold();
	hr = dnp_com(
		dnp_agent.info.com, GetFunctionFromIP3, (const uint8_t *)pc, &function, &rejit);
	dnp_forks_release();
	if (FAILED(hr) || !function)
		return 0;
	dnp_code_frame_is_known(word);
	return function;
}

static uint32_t r2r_frame(
	struct dnp_frames *frames, dnp_frame_word word, uintptr_t pc, unsigned *nature)
{
	FunctionID function = r2r_function(word, pc);
	uint32_t number = function ? dnp_methods_number(function) : 0;

	if (!number) {
		*nature |= DNP_NATURE_UNKNOWN;
		return named(frames, NAMED_UNKNOWN);
	}
	if (is_r2r_part(pc))
		*nature |= DNP_NATURE_PART;
	return method_frame(frames, number, DNP_FRAME_R2R, nature);
}

static uint32_t elf_module(struct dnp_frames *frames, const struct dnp_elf_module *module)
{
	uint32_t *known = dnp_u64map_get(&frames->elf, module->id), index;
	struct dnp_str path = dnp_str(module->path);

	if (known)
		return *known;
	index = define_module(frames,
		&(struct dnp_rec_module){
			.kind = DNP_MODULE_NATIVE,
			.path = path,
			.name = base_name(path),
			.build_id = {(const char *)module->build_id, module->build_id_bytes},
			.base = module->bias,
		});
	dnp_u64map_put(&frames->elf, module->id, index);
	return index;
}

/* Whether it is a library whose name begins so. */
static bool is_library(const struct dnp_elf_module *module, const char *name)
{
	struct dnp_str base = base_name(dnp_str(module->path));
	size_t prefix = strlen(dnp_library_prefix);

	return !strncmp(base.p, dnp_library_prefix, prefix) &&
		!strncmp(base.p + prefix, name, strlen(name));
}

static bool is_runtime(const struct dnp_elf_module *module)
{
	return is_library(module, "coreclr");
}

/* Libraries of the runtime whose work is known by where it is done. */
static unsigned native_flags(const struct dnp_elf_module *module, int collecting)
{
	if (is_library(module, "clrjit"))
		return DNP_FRAME_JIT;
	if (is_library(module, "clrgc"))
		return DNP_FRAME_GC;
	return collecting && is_runtime(module) ? DNP_FRAME_GC : 0;
}

/* Walks find what has just been loaded, too; the list may not have it yet. */
static const struct dnp_elf_module *module_at(uintptr_t pc, uint64_t time_ns)
{
	const struct dnp_elf_module *module = dnp_module_find_at(pc, time_ns);

	if (module || dnp_modules_refresh() <= 0)
		return module;
	return dnp_module_find_at(pc, time_ns);
}

static uint32_t native_frame(
	struct dnp_frames *frames, uintptr_t pc, uint64_t time_ns, int collecting, unsigned *nature)
{
	const struct dnp_elf_module *module = module_at(pc, time_ns);
	uint64_t function, key;
	unsigned flags;
	uint32_t *known, frame;

	if (!module) {
		*nature |= DNP_NATURE_UNKNOWN;
		return named(frames, NAMED_UNLOADED);
	}
	if (is_runtime(module))
		*nature |= DNP_NATURE_RUNTIME;
	if (!dnp_native_function(module, pc, &function))
		function = pc - module->bias;
	flags = native_flags(module, collecting);
	/* Offsets in files stay far below 2^44: the key holds module, kind and offset. */
	key = (uint64_t)module->id << 46 | (uint64_t)flags << 44 |
		(function & ((UINT64_C(1) << 44) - 1));
	known = dnp_u64map_get(&frames->native, key);
	if (known)
		return *known;
	frame = define(frames,
		&(struct dnp_rec_frame){
			.kind = DNP_FRAME_NATIVE,
			.module = elf_module(frames, module),
			.function = function,
			.flags = flags,
		});
	dnp_u64map_put(&frames->native, key, frame);
	return frame;
}

static uint32_t kernel_frame(struct dnp_frames *frames, uintptr_t address)
{
	/* The word keeps 56 bits of an address whose upper bits are all set. */
	uint64_t pc = (uint64_t)address | UINT64_C(0xff) << DNP_FRAME_SHIFT;
	uint32_t *known = dnp_u64map_get(&frames->kernel, pc), frame;

	if (known)
		return *known;
	if (!frames->kernel_module)
		frames->kernel_module = define_module(frames,
			&(struct dnp_rec_module){
				.kind = DNP_MODULE_KERNEL,
				.path = dnp_str("[kernel]"),
				.name = dnp_str("[kernel]"),
			});
	frame = define(frames,
		&(struct dnp_rec_frame){
			.kind = DNP_FRAME_KERNEL,
			.module = frames->kernel_module,
			.function = pc,
		});
	dnp_u64map_put(&frames->kernel, pc, frame);
	return frame;
}

static uint32_t label_frame(struct dnp_frames *frames, uint32_t number)
{
	uint32_t *known = dnp_u64map_get(&frames->labels, number), frame;
	char buffer[DNP_LABEL_BYTES_MAX];
	struct dnp_text text;

	if (known)
		return *known;
	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_knowledge_label(number, &text);
	frame = define(frames,
		&(struct dnp_rec_frame){.kind = DNP_FRAME_LABEL, .name = dnp_text_since(&text, 0)});
	dnp_u64map_put(&frames->labels, number, frame);
	return frame;
}

/*
 * A stub is stepped over by the code that called it, if that is known: where a thread runs in one
 * that was called by the first unknown code, nobody has said yet what it is.
 */
static uint32_t unknown_frame(
	struct dnp_frames *frames, dnp_frame_word word, uint64_t time_ns, unsigned *nature)
{
	uintptr_t pc = dnp_code_of_frame(word);
	enum dnp_knowledge_of known =
		DNP_FRAME_ADDR(word) ? dnp_knowledge_ask(pc) : DNP_KNOWLEDGE_NONE;

	if (known == DNP_KNOWLEDGE_METHOD)
		return jit_frame(frames, pc, time_ns, nature);
	if (known == DNP_KNOWLEDGE_STUB && (word & DNP_FRAME_EXACT))
		return named(frames, NAMED_STUB);
	*nature |= DNP_NATURE_UNKNOWN;
	return named(frames, NAMED_UNKNOWN);
}

static uint32_t look_up(struct dnp_frames *frames, dnp_frame_word word, uint64_t time_ns,
	int collecting, unsigned *nature)
{
	uintptr_t pc = dnp_code_of_frame(word);

	switch (DNP_FRAME_KIND(word)) {
	case DNP_WALK_JIT:
	case DNP_WALK_DYNAMIC: return jit_frame(frames, pc, time_ns, nature);
	case DNP_WALK_R2R: return r2r_frame(frames, word, pc, nature);
	case DNP_WALK_NATIVE:
		if (word == DNP_FRAME_HOLE)
			return named(frames, NAMED_NATIVE);
		return native_frame(frames, pc, time_ns, collecting, nature);
	case DNP_WALK_KERNEL: return kernel_frame(frames, DNP_FRAME_ADDR(word));
	case DNP_WALK_STUB: return named(frames, NAMED_STUB);
	case DNP_WALK_NOT_YET: return named(frames, NAMED_NOT_YET);
	case DNP_WALK_READY: return named(frames, NAMED_READY);
	case DNP_WALK_LABEL: return label_frame(frames, (uint32_t)DNP_FRAME_ADDR(word));
	default: return unknown_frame(frames, word, time_ns, nature);
	}
}

uint32_t dnp_frames_of(struct dnp_frames *frames, dnp_frame_word word, uint64_t time_ns,
	int collecting, unsigned *nature)
{
	uint64_t generation = dnp_generation();
	struct cached *slot =
		&frames->cache[word * UINT64_C(0x9e3779b97f4a7c15) >> 51 & (CACHE_SLOTS - 1)];
	uint32_t frame;

	prepare(frames);
	if (generation != frames->generation || !frames->since_ns) {
		frames->generation = generation;
		frames->since_ns = dnp_now_ns();
	}
	if (time_ns < frames->since_ns)
		return look_up(frames, word, time_ns, collecting, nature);
	if (slot->word == word && slot->generation == generation &&
		slot->collecting == !!collecting && slot->frame) {
		*nature = slot->nature;
		return slot->frame;
	}
	frame = look_up(frames, word, time_ns, collecting, nature);
	if (frame == frames->named[NAMED_UNLOADED])
		return frame; /* code may come there at any time */
	*slot = (struct cached){
		.word = word,
		.generation = generation,
		.frame = frame,
		.collecting = !!collecting,
		.nature = (uint8_t)*nature,
	};
	return frame;
}

void dnp_frames_load_jit(void)
{
	jit = dnp_code_load_jit();
}

void dnp_frames_list(void)
{
	dnp_modules_refresh();
}

void dnp_frames_build(void (*meanwhile)(void))
{
	dnp_native_build(meanwhile);
}

void dnp_frames_reclaim(uint64_t before_ns)
{
	dnp_codemap_reclaim(dnp_walk_codemap(), before_ns);
	dnp_r2r_reclaim(before_ns);
	dnp_native_reclaim(before_ns);
	dnp_methods_reclaim(before_ns);
}

size_t dnp_frames_bytes(const struct dnp_frames *frames)
{
	struct dnp_codemap_stats code;
	struct dnp_native_stats native;

	dnp_codemap_stats(dnp_walk_codemap(), &code);
	dnp_native_stats(&native);
	return sizeof(*frames) + code.bytes + native.bytes +
		(frames->native.capacity + frames->kernel.capacity + frames->elf.capacity +
			frames->modules.capacity + frames->methods.capacity +
			frames->labels.capacity) *
		16;
}

void dnp_frames_free(struct dnp_frames *frames)
{
	if (!frames)
		return;
	dnp_u64map_done(&frames->native);
	dnp_u64map_done(&frames->kernel);
	dnp_u64map_done(&frames->modules);
	dnp_u64map_done(&frames->elf);
	dnp_u64map_done(&frames->methods);
	dnp_u64map_done(&frames->labels);
	dnp_vec_done(&frames->natures);
	dnp_mem_unmap(frames, sizeof(*frames));
}

void dnp_frames_unload_jit(void)
{
	if (jit)
		dnp_library_close(jit);
	jit = NULL;
}
