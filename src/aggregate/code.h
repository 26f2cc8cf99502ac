/* SPDX-License-Identifier: MIT */
/* What a recorded frame is called and what kind of code it is. */
#ifndef DNP_AGGREGATE_CODE_H
#define DNP_AGGREGATE_CODE_H

#include "aggregate/profile.h"
#include "base/framework.h"
#include "base/sink.h"

/* What a run of native frames is called that is one frame. */
#define DNP_CODE_NATIVE_RUN "[native]"

enum dnp_code dnp_code_of(const struct dnp_rec_frame *frame, const struct dnp_rec_module *module);

/*
 * Whether the frame stays in stacks of managed frames alone. What has no code of its own, and
 * stands for a managed method or for all of a stack, does, and so do labels.
 */
bool dnp_code_is_managed(const struct dnp_rec_frame *frame, enum dnp_code code);

/*
 * Whether the frame is of what tells of events, and so not where one happened: the agent's own, or
 * the classes by which managed parts of the runtime tell of theirs (System.Threading.Lock does), or
 * look for who catches an exception, where the agent left the walk of them to later.
 */
bool dnp_code_tells(const struct dnp_rec_frame *frame, const struct dnp_rec_module *module);

/*
 * The name as shown: Namespace.Type.Method(…), library!symbol, [k] symbol, [what it is].
 * `symbol` is what was looked up for a native or kernel frame, NULL where nothing is known.
 */
void dnp_code_name(struct dnp_sink *out, const struct dnp_rec_frame *frame,
	const struct dnp_rec_module *module, const struct dnp_str *symbol);

/* The module's name as shown. */
struct dnp_str dnp_code_module(const struct dnp_rec_module *module);

#endif
