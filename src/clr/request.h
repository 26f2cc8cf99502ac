/* SPDX-License-Identifier: MIT */
/*
 * Requests that a server of ASP.NET Core works on. It tells of each when it begins and when it is
 * over (DiagnosticListener "Microsoft.AspNetCore", Microsoft.AspNetCore.Hosting.HttpRequestIn), and
 * the EventSource "Microsoft-Diagnostics-DiagnosticSource" passes on what it is asked for: the
 * source's name, the event's, and pairs of a name and a value, all as text.
 */
#ifndef DNP_CLR_REQUEST_H
#define DNP_CLR_REQUEST_H

#include <stdbool.h>

#include "base/text.h"
#include "clr/com.h"

/* Keywords of the EventSource: what its listeners tell, and no lists of listeners by name. */
#define DNP_KEYWORD_DIAGNOSTIC_EVENTS UINT64_C(0x802)

/*
 * Of System.Threading.Tasks.TplEventSource: that ids of activities flow with `await` and tasks, and
 * that it tells of each that a thread gets (SetActivityId), which is that of no activity in the
 * end.
 */
#define DNP_KEYWORD_TASKS_ACTIVITIES UINT64_C(0x40080)
#define DNP_EVENT_SET_ACTIVITY       25u

/* What it is to be asked for, as the `filterData` of its provider. */
extern const WCHAR dnp_request_arguments[];
/* Word of DNP_REQUEST_MATCHED, too. */
extern const WCHAR dnp_request_arguments_matched[];

enum dnp_request_moment {
	DNP_REQUEST_BEGINS,
	DNP_REQUEST_MATCHED, /* routing has found who is to answer; it may again, for an error */
	DNP_REQUEST_ENDS,
};

struct dnp_request {
	enum dnp_request_moment moment;
	uint64_t id; /* of its activity: all events of a request have the same */
	/* Texts in `room`, empty where they are not told. */
	struct dnp_str trace; /* the trace that it belongs to */
	/*
	 * Not escaped, and with the base that the program is at; of one that is matched what
	 * routing has seen, without what was taken off before.
	 */
	struct dnp_str method, path;
	struct dnp_str status; /* of one that ends: 200 … */
	/* Of one that is matched or ends its path as dnp_request_route has it, with "/…" for
	 * what was taken off. */
	struct dnp_str route;
	bool routed; /* nothing in that is what somebody has asked for: of one that is matched */
};

#define DNP_REQUEST_PATH_BYTES 1024u /* longer ones are cut */

struct dnp_request_room {
	char method[32], status[16], id[128];
	char path[DNP_REQUEST_PATH_BYTES], values[DNP_REQUEST_PATH_BYTES];
	char route[DNP_REQUEST_PATH_BYTES];
};

/*
 * Reads a payload. 0; -ENOMSG: it is about something else; -EBADMSG: about a request, but not as
 * is known.
 */
int dnp_request_read(
	const uint8_t *data, size_t n, struct dnp_request *request, struct dnp_request_room *room);

/* Leaves nothing of a path in it but a route that is the program's own. */
void dnp_request_hide_path(struct dnp_request *request);

#define DNP_REQUEST_NO_ROUTE "/…" /* in place of a path */

/* Reads a payload of SetActivityId: a number for that activity, 0: there is none. 0 or -EBADMSG. */
int dnp_request_activity(const uint8_t *data, size_t n, uint64_t *activity);

/*
 * A path by the values that the program's routing took out of it, "[id, 7],[page, 2]": each part of
 * /items/7/2 that is one of them is its name then, /items/{id}/{page}. Names of controllers and
 * such are values, too, and stay. Where a value stands in the path more than once, it is the last
 * of these. Appends. False: of a path that routing has seen something may be left that is not the
 * program's own: not all values are told, or one is no run of whole segments.
 */
bool dnp_request_route(struct dnp_str path, struct dnp_str values, struct dnp_text *out);

#endif
