/* SPDX-License-Identifier: MIT */
/*
 * The arrays of a page, in their order: what is listed is what is written.
 *
 * Little-endian, each padded with zero bytes to a multiple of 8:
 *   strings       utf8: every string ended by a zero byte; string 0 is ""
 *   frame.name, frame.module   u32: strings      frame.kind  u8: enum dnp_code
 *   frame.managed   u8: 1: stays where native frames are left out
 *   node.parent, node.frame    u32: node 0 is the root, parents before children
 *   EVENT.time    u32: in time_unit_ns since the start, ascending
 *   EVENT.thread, EVENT.node, EVENT.weight       u32; in weight_ns or weight_bytes, where given
 *   EVENT.waiting   u8: 1: the thread did not run; only where there are such samples
 *
 * Of an event that counts calls, whose weights are time in weight_ns:
 *   EVENT.calls.time, .thread, .node, .weight    u32: calls that began
 *   EVENT.spans.node u32, EVENT.spans.shortest, .longest  f32: ns; where single calls were timed
 *   EVENT.durations.time, .thread, .node, .weight  u32: calls that ended; node:
 *                   frame * 128 + bucket
 *   EVENT.slices.threads   u32: pairs of thread and number of slices
 *   EVENT.slices.end, .length, .node, .calls       varint: as page_calls.h has them
 *
 * Of an event of switches, as page_runs.h has them:
 *   EVENT.runs.threads u32, EVENT.runs.slices      varint
 *   EVENT.clocks.threads u32, EVENT.clocks.readings  varint
 *   EVENT.losses    varint
 *   EVENT.waits.thread, .node, .call  u32         EVENT.waits.kind  u8: enum dnp_wait_kind
 *   EVENT.waits.times  varint
 *   EVENT.strings   utf8: as strings, of what page_beside.h has
 *   EVENT.marks.thread, .text  u32                EVENT.marks.times, .lengths  varint
 *   EVENT.wakers.thread (plus 1; 0: not in the page), .pid, .tid, .name  u32
 *   EVENT.wakes.thread, .by  u32                  EVENT.wakes.times  varint
 */
#ifndef DNP_EXPORT_ARRAYS_H
#define DNP_EXPORT_ARRAYS_H

#include "base/json.h"
#include "export/page_calls.h"
#include "export/page_runs.h"

struct dnp_page {
	const struct dnp_profile *profile;
	const struct dnp_export_options *options;
	unsigned unit_shift;           /* a unit of time is 2^unit_shift microseconds */
	struct dnp_page_calls **calls; /* owned, of each event; NULL: it does not count calls */
	struct dnp_page_runs *runs;    /* owned, of the event of switches; NULL: there is none */
};

/* Members of a list that is open. */
void dnp_arrays_list(const struct dnp_page *page, struct dnp_json *json);
void dnp_arrays_write(const struct dnp_page *page, struct dnp_sink *sink);

#endif
