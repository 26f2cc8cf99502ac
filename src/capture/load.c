/* SPDX-License-Identifier: MIT */
/*
 * Which assemblies, modules and classes are loaded, and what caused that: the runtime tells of each
 * when it is there, on the thread that needed it.
 */
#include "capture/engine.h"
#include "capture/happened.h"
#include "clr/names.h"
#include "clr/prf.h"
#include "os/clock.h"
#include "os/gate.h"

/* Written in start, before the gate opens. */
static const struct dnp_engine_setting *setting;
static unsigned event;

static struct dnp_gate gate;

typedef void (*put_name_fn)(const struct dnp_info *info, uintptr_t id, struct dnp_text *name);

static uint32_t named(const char *what, put_name_fn put_name, uintptr_t id)
{
	char buffer[DNP_LABEL_BYTES_MAX];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_text_puts(&text, what);
	put_name(setting->info, id, &text);
	return dnp_label(dnp_text_since(&text, 0));
}

static uint32_t label_of(enum dnp_loaded what, uintptr_t id)
{
	switch (what) {
	case DNP_LOADED_ASSEMBLY: return named("assembly ", dnp_assembly_name, id);
	case DNP_LOADED_MODULE: return named("module ", dnp_module_path, id);
	default: return setting->class_label(id);
	}
}

static void store(enum dnp_loaded what, uintptr_t id)
{
	struct dnp_happening happening = {
		.event = event,
		.label = label_of(what, id),
		.time_ns = dnp_now_ns(),
		.weight = 1,
	};

	dnp_happened(setting, &happening);
}

static void load_loaded(enum dnp_loaded what, uintptr_t id)
{
	if (!dnp_gate_enter(&gate, 1))
		return;
	store(what, id);
	dnp_gate_leave(&gate);
}

static int load_start(const struct dnp_engine_setting *given, unsigned index, struct dnp_err *err)
{
	(void)err;
	setting = given;
	event = index;
	dnp_gate_open(&gate, 1);
	return 0;
}

static void load_stop(void)
{
	dnp_gate_open(&gate, 0);
}

static const char *load_source(void)
{
	return "AssemblyLoadFinished, ModuleLoadFinished, ClassLoadFinished";
}

const struct dnp_engine dnp_engine_load = {
	.event = "load",
	.unit = "loads",
	.walks = true,
	.happens = true,
	.events_low = COR_PRF_MONITOR_ASSEMBLY_LOADS | COR_PRF_MONITOR_MODULE_LOADS |
		COR_PRF_MONITOR_CLASS_LOADS,
	.loaded = load_loaded,
	.start = load_start,
	.source = load_source,
	.stop = load_stop,
};
