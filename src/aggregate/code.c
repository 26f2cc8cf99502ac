/* SPDX-License-Identifier: MIT */
#include "aggregate/code.h"

#include <inttypes.h>

#include "base/clean.h"
#include "base/pretty.h"

static bool equals(struct dnp_str str, const char *text)
{
	return str.n == strlen(text) && !memcmp(str.p, text, str.n);
}

static bool starts(struct dnp_str str, const char *text)
{
	return str.n && str.n >= strlen(text) && !memcmp(str.p, text, strlen(text));
}

static bool is_framework(const struct dnp_rec_module *module)
{
	return dnp_framework_has(module->name, module->path);
}

static enum dnp_code native_code(const struct dnp_rec_module *module)
{
	struct dnp_str file = dnp_basename(module->path.n ? module->path : module->name);

	if (equals(file, "libclrjit.so") || equals(file, "clrjit.dll"))
		return DNP_CODE_JIT;
	return starts(file, "libclrgc") || starts(file, "clrgc") ? DNP_CODE_GC : DNP_CODE_NATIVE;
}

/* Runs of native frames that nobody walked are one frame. */
static enum dnp_code other_code(const struct dnp_rec_frame *frame)
{
	return equals(frame->name, DNP_CODE_NATIVE_RUN) ? DNP_CODE_NATIVE : DNP_CODE_OTHER;
}

enum dnp_code dnp_code_of(const struct dnp_rec_frame *frame, const struct dnp_rec_module *module)
{
	if (frame->flags & DNP_FRAME_GC)
		return DNP_CODE_GC;
	if (frame->flags & DNP_FRAME_JIT)
		return DNP_CODE_JIT;
	switch (frame->kind) {
	case DNP_FRAME_NATIVE: return native_code(module);
	case DNP_FRAME_KERNEL: return DNP_CODE_KERNEL;
	case DNP_FRAME_DYNAMIC:
		if (frame->name.n && memmem(frame->name.p, frame->name.n, "IL_STUB", 7))
			return DNP_CODE_OTHER;
		return is_framework(module) ? DNP_CODE_FRAMEWORK : DNP_CODE_USER;
	case DNP_FRAME_MANAGED:
	case DNP_FRAME_R2R: return is_framework(module) ? DNP_CODE_FRAMEWORK : DNP_CODE_USER;
	default: return other_code(frame);
	}
}

bool dnp_code_is_managed(const struct dnp_rec_frame *frame, enum dnp_code code)
{
	if (frame->kind == DNP_FRAME_LABEL)
		return true;
	if (code == DNP_CODE_OTHER && frame->kind == DNP_FRAME_OTHER)
		return !equals(frame->name, "[stub]") && !equals(frame->name, "[unknown]");
	return code == DNP_CODE_USER || code == DNP_CODE_FRAMEWORK;
}

bool dnp_code_tells(const struct dnp_rec_frame *frame, const struct dnp_rec_module *module)
{
	if (frame->kind == DNP_FRAME_NATIVE) {
		struct dnp_str file = dnp_basename(module->path.n ? module->path : module->name);

		return starts(file, "libdnprof.so") || equals(file, "dnprof.dll");
	}
	return (frame->kind == DNP_FRAME_MANAGED || frame->kind == DNP_FRAME_R2R) &&
		(starts(frame->name, "System.Diagnostics.Tracing.NativeRuntimeEventSource.") ||
			starts(frame->name, "System.Runtime.EH."));
}

struct dnp_str dnp_code_module(const struct dnp_rec_module *module)
{
	return module->name.n ? module->name : dnp_basename(module->path);
}

static enum dnp_machine machine(const struct dnp_rec_frame *frame)
{
	if (frame->flags & DNP_FRAME_ASYNC)
		return DNP_MACHINE_ASYNC;
	return frame->flags & DNP_FRAME_ITERATOR ? DNP_MACHINE_ITERATOR : DNP_MACHINE_UNKNOWN;
}

/* As it was written in the source, unless that would have to be cut. */
static void put_managed(struct dnp_sink *out, const struct dnp_rec_frame *frame)
{
	char buffer[4096];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	if (frame->kind != DNP_FRAME_OTHER && frame->kind != DNP_FRAME_LABEL)
		dnp_pretty_name(frame->name, machine(frame), &text);
	if (text.n && !text.cut)
		dnp_sink_str(out, dnp_text_since(&text, 0));
	else
		dnp_sink_str(out, frame->name);
}

void dnp_code_name(struct dnp_sink *out, const struct dnp_rec_frame *frame,
	const struct dnp_rec_module *module, const struct dnp_str *symbol)
{
	if (frame->kind == DNP_FRAME_KERNEL) {
		dnp_sink_puts(out, "[k] ");
		if (symbol)
			dnp_sink_str(out, *symbol);
		else
			dnp_sink_printf(out, "0x%" PRIx64, frame->function);
	} else if (frame->kind == DNP_FRAME_NATIVE) {
		struct dnp_str library = dnp_basename(module->path.n ? module->path : module->name);

		dnp_sink_str(out, library.n ? library : dnp_str("[unknown]"));
		dnp_sink_puts(out, "!");
		if (symbol || frame->name.n)
			dnp_sink_str(out, symbol ? *symbol : frame->name);
		else
			dnp_sink_printf(out, "+0x%" PRIx64, frame->function);
	} else if (frame->name.n) {
		put_managed(out, frame);
	} else {
		dnp_sink_puts(out, "[unknown]");
	}
}
