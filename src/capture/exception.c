/* SPDX-License-Identifier: MIT */
/*
 * Which exceptions are thrown, and where: all of them, also those that are caught. The runtime says
 * so when it begins to look for who catches one, on the thread that threw it, which goes on only
 * after the answer: so the stack is the one that it was thrown on.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "capture/catches.h"
#include "capture/engine.h"
#include "capture/happened.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "clr/names.h"
#include "clr/prf.h"
#include "os/clock.h"
#include "os/gate.h"
#include "os/library.h"
#include "os/modules.h"
#include "unwind/code.h"

/* Written in start, before the gate opens. */
static const struct dnp_engine_setting *setting;
static unsigned event;

static struct dnp_gate gate;
static _Atomic uint64_t of_no_type;

/*
 * Since .NET 9 the runtime looks for who catches an exception in managed code, if it is not asked
 * to do as before: these frames are not the program's. It is the one or the other for all of them.
 */
enum dispatch { NOT_KNOWN, IN_NATIVE, IN_MANAGED };

static _Atomic enum dispatch dispatch;

/* Of one method the runtime may not tell what it is, and of the next it does. */
static enum dispatch ask(dnp_frame_word frame)
{
	uintptr_t pc = dnp_code_of_frame(frame);
	char buffer[DNP_LABEL_BYTES_MAX];
	FunctionID function = 0;
	uint32_t n_type_args = 0;
	ClassID class_id = 0;
	struct dnp_text name;
	ModuleID module;
	mdToken token;

	dnp_text_init(&name, buffer, sizeof(buffer));
	if (FAILED(dnp_com(
		    setting->info->com, GetFunctionFromIP, (const uint8_t *)pc, &function)) ||
		FAILED(dnp_com(setting->info->com, GetFunctionInfo2, function, 0, &class_id,
			&module, &token, 0, &n_type_args, NULL)) ||
		FAILED(dnp_class_name(setting->info, class_id, &name)))
		return NOT_KNOWN;
	return dnp_str_eq(dnp_text_since(&name, 0), dnp_str("System.Runtime.EH")) ? IN_MANAGED
										  : IN_NATIVE;
}

/* Whether that is what looks: the topmost managed frame of a thread that throws. */
static bool looks(dnp_frame_word frame)
{
	enum dispatch known = atomic_load_explicit(&dispatch, memory_order_relaxed);

	if (known == NOT_KNOWN && dnp_code_frame_may_be_asked_for(frame)) {
		known = ask(frame);
		if (known != NOT_KNOWN)
			atomic_store(&dispatch, known);
	}
	return known == IN_MANAGED;
}

/* The object stays where it is until the runtime has its answer. 0: it does not tell. */
static ClassID class_of(uintptr_t object)
{
	ClassID class_id = 0;

	return object &&
			SUCCEEDED(
				dnp_com(setting->info->com, GetClassFromObject, object, &class_id))
		? class_id
		: 0;
}

static uint32_t label_of(ClassID class_id)
{
	if (class_id)
		return setting->class_label(class_id);
	atomic_fetch_add_explicit(&of_no_type, 1, memory_order_relaxed);
	return DNP_LABEL_OTHER;
}

/* Whether exceptions do not go through that, as they do through what the runtime has on the stack.
 */
static bool is_barrier(dnp_frame_word frame)
{
	uintptr_t runtime = (uintptr_t)setting->info->com->vtbl->GetFunctionFromIP;

	return !dnp_library_lets_through && DNP_FRAME_KIND(frame) == DNP_WALK_NATIVE &&
		dnp_module_find(dnp_code_of_frame(frame)) != dnp_module_find(runtime);
}

/* The outermost managed frame that it can come to; 0: it is not known. */
static dnp_frame_word root_of(const struct dnp_walked *walked)
{
	dnp_frame_word root = 0;

	for (uint32_t i = 1; i < walked->n; i++)
		if (dnp_frame_is_managed(walked->frames[i]))
			root = walked->frames[i];
		else if (root == walked->frames[i - 1] && is_barrier(walked->frames[i]))
			return root;
	return walked->stop == DNP_STOP_END ? root : 0;
}

static void find_root(struct dnp_thread *thread, const struct dnp_happening *happening,
	const struct dnp_walked *walked)
{
	dnp_frame_word root = root_of(walked);

	(void)happening;
	if (root)
		dnp_catches_root(thread, root);
}

/* Its message first: the name of a type may make a collection, and the object another one. */
static void store(uintptr_t object)
{
	ClassID class_id = class_of(object);
	uint64_t time_ns = dnp_now_ns(), number = dnp_catches_thrown(object, class_id);
	struct dnp_happening happening = {
		.event = event,
		.label = label_of(class_id),
		.time_ns = time_ns,
		.weight = 1,
		.value = number,
		.tells = looks,
		.walked = find_root,
	};

	dnp_happened(setting, &happening);
	dnp_catches_search();
}

static void exception_thrown(uintptr_t object)
{
	if (!dnp_gate_enter(&gate, 1))
		return;
	store(object);
	dnp_gate_leave(&gate);
}

static void exception_handling(enum dnp_handling what, uintptr_t function, uintptr_t object)
{
	if (!dnp_gate_enter(&gate, 1))
		return;
	dnp_catches_handling(what, function, class_of(object));
	dnp_gate_leave(&gate);
}

static int exception_start(
	const struct dnp_engine_setting *given, unsigned index, struct dnp_err *err)
{
	if (dnp_catches_open(given, index))
		return dnp_err(err, -ENOMEM, "no memory for exceptions that are on their way");
	setting = given;
	event = index;
	atomic_store(&dispatch, NOT_KNOWN);
	atomic_store(&of_no_type, 0);
	dnp_gate_open(&gate, 1);
	return 0;
}

static void exception_stop(void)
{
	dnp_gate_open(&gate, 0);
}

static void exception_thread_end(struct dnp_thread *thread)
{
	dnp_catches_thread_end(thread);
}

static const char *exception_source(void)
{
	return "ExceptionThrown";
}

static const char *exception_note(void)
{
	return setting->options->no_messages ? "messages were not recorded (--no-messages)" : "";
}

static void exception_failures(unsigned index, dnp_failure_tell tell)
{
	tell(index, "exception of no known type",
		atomic_load_explicit(&of_no_type, memory_order_relaxed));
	tell(index, "exception of which is not told what became of it", dnp_catches_lost());
}

const struct dnp_engine dnp_engine_exception = {
	.event = "exception",
	.unit = "exceptions",
	.walks = true,
	.happens = true,
	.events_low = COR_PRF_MONITOR_EXCEPTIONS,
	.thrown = exception_thrown,
	.handling = exception_handling,
	.thread_end = exception_thread_end,
	.walking_since = dnp_catches_looking_since,
	.write = dnp_catches_write,
	.start = exception_start,
	.source = exception_source,
	.note = exception_note,
	.stop = exception_stop,
	.forget = dnp_catches_forget,
	.failures = exception_failures,
};
