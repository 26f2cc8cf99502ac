/* SPDX-License-Identifier: MIT */
/*
 * The object the runtime calls: ICorProfilerCallback to ICorProfilerCallback11, one table.
 *
 * A profiler writes down what it wants to hear of and has the rest filled in:
 *
 *	static HRESULT DNP_COM on_thread_created(ICorProfilerCallback *self, ThreadID thread);
 *
 *	static struct ICorProfilerCallbackVtbl table = {
 *		.ThreadCreated = on_thread_created,
 *	};
 *	static struct ICorProfilerCallback object = {.vtbl = &table};
 *
 *	dnp_callback_complete(&table);	(before the runtime sees the object)
 *
 * An empty slot then returns S_OK and does nothing; QueryInterface answers IUnknown and
 * ICorProfilerCallback to ICorProfilerCallback11; AddRef and Release count, and nothing is freed:
 * the object belongs to the profiler.
 */
#ifndef DNP_CLR_CALLBACK_H
#define DNP_CLR_CALLBACK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "clr/com.h"
#include "clr/info.h"
#include "clr/prf.h"

typedef struct ICorProfilerCallback ICorProfilerCallback;

#define DNP_CALLBACK_SELF(...) (ICorProfilerCallback * self, ##__VA_ARGS__)

struct ICorProfilerCallbackVtbl {
	DNP_UNKNOWN_SLOTS(ICorProfilerCallback);
#define DNP_CALLBACK(iface, slot, name, params) HRESULT(DNP_COM *name) DNP_CALLBACK_SELF params;
#include "clr/callback.def"
};

struct ICorProfilerCallback {
	const struct ICorProfilerCallbackVtbl *vtbl; /* borrowed; must be first */
	_Atomic uint32_t references;                 /* of AddRef and Release, starts at 0 */
};

/* Gives each empty slot its default. Idempotent, so a race of two equal calls does no harm. */
void dnp_callback_complete(struct ICorProfilerCallbackVtbl *table);

/* True for IUnknown and ICorProfilerCallback to ICorProfilerCallback11. Any thread. */
bool dnp_callback_answers(const struct dnp_guid *iid);

#endif
