/* SPDX-License-Identifier: MIT */
/*
 * The requests that a server of ASP.NET Core works on, as spans: the server tells of each when it
 * begins and when it is over, on the thread that is at it then.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capture/engine.h"
#include "capture/said.h"
#include "clr/prf.h"
#include "clr/request.h"

#define EVENT  "request"
#define SOURCE "Microsoft.AspNetCore.Hosting.HttpRequestIn"

static struct dnp_said said;
static _Atomic bool came;               /* any */
static _Atomic uint64_t not_understood; /* events */

/* ---- Routes of requests that go on, where paths are not to be recorded */

#define ROUTES      4096u
#define LOOKS       8u /* at places for one */
#define ROUTE_BYTES 240

struct route {
	uint64_t id; /* of the request; 0: none */
	uint32_t n;
	char text[ROUTE_BYTES];
};

static pthread_mutex_t routes_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static struct route *routes; /* ROUTES, owned; NULL: paths are recorded */

/* With the lock; NULL: it is not there. */
static struct route *route_of(uint64_t id)
{
	for (uint64_t i = id; routes && i < id + LOOKS; i++)
		if (routes[i % ROUTES].id == id)
			return &routes[i % ROUTES];
	return NULL;
}

static struct route *free_route(uint64_t from)
{
	for (uint64_t i = from; routes && i < from + LOOKS; i++)
		if (!routes[i % ROUTES].id)
			return &routes[i % ROUTES];
	return NULL;
}

/* One that is too long, or finds no room, is not known. */
static void keep_route(uint64_t id, struct dnp_str text)
{
	struct route *route;

	pthread_mutex_lock(&routes_lock);
	route = text.n <= ROUTE_BYTES && !route_of(id) ? free_route(id) : NULL;
	if (route) {
		route->id = id;
		route->n = (uint32_t)text.n;
		memcpy(route->text, text.p, text.n);
	}
	pthread_mutex_unlock(&routes_lock);
}

static bool take_route(uint64_t id, struct dnp_text *text)
{
	struct route *route;

	pthread_mutex_lock(&routes_lock);
	route = route_of(id);
	if (route) {
		dnp_text_put(text, (struct dnp_str){route->text, route->n});
		route->id = 0;
	}
	pthread_mutex_unlock(&routes_lock);
	return route;
}

static void close_routes(void)
{
	pthread_mutex_lock(&routes_lock);
	free(routes);
	routes = NULL;
	pthread_mutex_unlock(&routes_lock);
}

static int open_routes(void)
{
	routes = calloc(ROUTES, sizeof(*routes));
	return routes ? 0 : -ENOMEM;
}

/* ---- What the server tells */

static void say(const struct dnp_request *request)
{
	bool ends = request->moment == DNP_REQUEST_ENDS;
	char buffer[DNP_REQUEST_PATH_BYTES + 64];
	struct dnp_saying saying = {
		.kind = ends ? DNP_SAYING_END : DNP_SAYING_BEGIN,
		.id = request->id,
	};
	struct dnp_text name;

	dnp_text_init(&name, buffer, sizeof(buffer));
	dnp_text_put(&name, request->method);
	if (ends || request->path.n)
		dnp_text_puts(&name, " ");
	dnp_text_put(&name, ends ? request->route : request->path);
	saying.text = ends ? request->status : dnp_text_since(&name, 0);
	saying.more = ends ? dnp_text_since(&name, 0) : request->trace;
	dnp_say_so(&said, &saying);
}

/* The path stays here; of one that ends the route is told that was found for it first. */
static void say_without_path(struct dnp_request *request)
{
	char buffer[ROUTE_BYTES];
	struct dnp_text route;

	dnp_request_hide_path(request);
	if (request->moment == DNP_REQUEST_MATCHED) {
		keep_route(request->id, request->route);
		return;
	}
	dnp_text_init(&route, buffer, sizeof(buffer));
	if (request->moment == DNP_REQUEST_ENDS && take_route(request->id, &route))
		request->route = dnp_text_since(&route, 0);
	say(request);
}

/* The thread goes on with something else. */
static void turn(const struct dnp_delivered *delivered)
{
	struct dnp_saying saying = {.kind = DNP_SAYING_TURN};

	if (delivered->id != DNP_EVENT_SET_ACTIVITY)
		return;
	if (dnp_request_activity(delivered->data, delivered->bytes, &saying.id))
		atomic_fetch_add_explicit(&not_understood, 1, memory_order_relaxed);
	else
		dnp_say_so(&said, &saying);
}

static void request_delivered(const struct dnp_delivered *delivered)
{
	struct dnp_request_room room;
	struct dnp_request request;
	int failed;

	if (delivered->provider == DNP_PROVIDER_TASKS)
		turn(delivered);
	if (delivered->provider != DNP_PROVIDER_DIAGNOSTIC)
		return;
	failed = dnp_request_read(delivered->data, delivered->bytes, &request, &room);
	if (failed == -ENOMSG)
		return;
	atomic_store_explicit(&came, true, memory_order_relaxed);
	if (failed)
		atomic_fetch_add_explicit(&not_understood, 1, memory_order_relaxed);
	else if (said.setting->options->no_messages)
		say_without_path(&request);
	else if (request.moment != DNP_REQUEST_MATCHED) /* which somebody else has asked for */
		say(&request);
}

/* Which threads work for them is of use beside something else alone. */
static bool are_followed(void)
{
	return strcmp(said.setting->options->event, EVENT) != 0;
}

static void request_wishes(struct dnp_provider_wish *wishes)
{
	struct dnp_provider_wish *wish = &wishes[DNP_PROVIDER_DIAGNOSTIC];

	dnp_wish(wish, DNP_KEYWORD_DIAGNOSTIC_EVENTS, COR_PRF_EVENTPIPE_INFORMATIONAL);
	wish->arguments = said.setting->options->no_messages ? dnp_request_arguments_matched
							     : dnp_request_arguments;
	if (are_followed())
		dnp_wish(&wishes[DNP_PROVIDER_TASKS], DNP_KEYWORD_TASKS_ACTIVITIES,
			COR_PRF_EVENTPIPE_INFORMATIONAL);
}

static int request_start(
	const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	atomic_store(&came, false);
	atomic_store(&not_understood, 0);
	if (dnp_said_open(&said, setting, index) ||
		(setting->options->no_messages && open_routes()))
		return dnp_err(err, -ENOMEM, "no memory for the program's requests; free some");
	return 0;
}

/* No event is delivered by now. */
static void request_stop(void)
{
}

static const char *request_source(void)
{
	return SOURCE;
}

static const char *request_note(void)
{
	return said.setting->options->no_messages
		? "paths were not recorded (--no-messages), routes were; " DNP_REQUEST_NO_ROUTE
		  " is any path of which it is not known what of it is a route"
		: "";
}

static void request_thread_end(struct dnp_thread *thread)
{
	said.setting->announce(thread);
}

static void request_forget(void)
{
	dnp_said_close(&said);
	close_routes();
}

static void request_write(struct dnp_writer *writer, int last)
{
	dnp_said_write(&said, writer);
	if (last && !atomic_load_explicit(&came, memory_order_relaxed))
		dnp_engine_note(&dnp_engine_request, said.event, writer,
			"no request came; only servers of ASP.NET Core tell of theirs, "
			"where " DNP_EVENT_SOURCE_SWITCH " is not false");
}

static uint64_t request_lost(void)
{
	return dnp_said_lost(&said);
}

static void request_failures(unsigned index, dnp_failure_tell tell)
{
	uint64_t turns;

	pthread_mutex_lock(&said.lock);
	turns = said.lost_turns;
	pthread_mutex_unlock(&said.lock);
	tell(index, "event of an unknown layout",
		atomic_load_explicit(&not_understood, memory_order_relaxed));
	tell(index, "turn of a thread to another request, for which there was no room", turns);
}

const struct dnp_engine dnp_engine_request = {
	.event = EVENT,
	.unit = "requests",
	.happens = true,
	.wishes = request_wishes,
	.delivered = request_delivered,
	.start = request_start,
	.source = request_source,
	.note = request_note,
	.thread_end = request_thread_end,
	.write = request_write,
	.stop = request_stop,
	.forget = request_forget,
	.lost = request_lost,
	.failures = request_failures,
};
