/* SPDX-License-Identifier: MIT */
#include "clr/request.h"

#include <errno.h>
#include <uchar.h>

#include "base/clean.h"
#include "clr/payload.h"

#define EVENT   u"Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn"
#define REQUEST u"Id=*Activity.Id;Method=Request.Method"
#define PATH    u";Base=Request.PathBase.Value;Path=Request.Path.Value"
#define VALUES  u";Values=Request.RouteValues.*Enumerate"
#define RESULT  u";Status=Response.StatusCode"
#define START   EVENT u".Start@Activity1Start:-" REQUEST PATH
#define STOP    EVENT u".Stop@Activity1Stop:-" REQUEST PATH RESULT
/* What routing sees of a path is what the program's middleware has made of it. */
#define MATCH                                                                                      \
	u"Microsoft.AspNetCore/"                                                                   \
	u"Microsoft.AspNetCore.Routing.EndpointMatched:"                                           \
	u"-" REQUEST u";Taken=Request.PathBase.Value;Path=Request.Path.Value" VALUES

/*
 * The server asks whether anybody listens to the activity by its own name, which no event has,
 * before it makes one.
 */
#define ARGUMENTS u"FilterAndPayloadSpecs=\"" EVENT u":-\n" START u"\n" STOP

const WCHAR dnp_request_arguments[] = ARGUMENTS VALUES u"\"";
const WCHAR dnp_request_arguments_matched[] = ARGUMENTS u"\n" MATCH u"\"";

#define SOURCE     "Microsoft.AspNetCore"
#define NAME_START "Microsoft.AspNetCore.Hosting.HttpRequestIn.Start"
#define NAME_STOP  "Microsoft.AspNetCore.Hosting.HttpRequestIn.Stop"
#define NAME_MATCH "Microsoft.AspNetCore.Routing.EndpointMatched"

#define PAIRS_MAX 64u /* more than were asked for */

/* ---- Routes */

/* "[name, value]" off the front of *rest. Where a value has what ends one, the rest is lost. */
static bool take_value(struct dnp_str *rest, struct dnp_str *name, struct dnp_str *value)
{
	struct dnp_str pair = *rest;
	const char *middle, *end;

	if (!rest->n || *rest->p != '[')
		return false;
	pair.p++;
	pair.n--;
	middle = memmem(pair.p, pair.n, ", ", 2);
	end = memmem(pair.p, pair.n, "],[", 3);
	if (!end)
		end = pair.p + pair.n - 1;
	if (!middle || middle > end || *end != ']')
		return false;
	*name = (struct dnp_str){pair.p, (size_t)(middle - pair.p)};
	*value = (struct dnp_str){middle + 2, (size_t)(end - middle) - 2};
	rest->n -= (size_t)(end + 2 - rest->p) < rest->n ? (size_t)(end + 2 - rest->p) : rest->n;
	rest->p = end + 2;
	return true;
}

/* By which the program chose what to run: that is told best by what they are. */
static bool is_choice(struct dnp_str name)
{
	static const char *const names[] = {"controller", "action", "area", "page", "handler"};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		if (dnp_str_eq(name, dnp_str(names[i])))
			return true;
	return false;
}

/* Of these what is a name in the program for sure, not what somebody asked for. */
static bool is_code(struct dnp_str name, struct dnp_str value)
{
	if (dnp_str_eq(name, dnp_str("page"))) /* of Razor; else its number, say */
		return value.n && value.p[0] == '/';
	return dnp_str_eq(name, dnp_str("controller")) || dnp_str_eq(name, dnp_str("action")) ||
		dnp_str_eq(name, dnp_str("area"));
}

/* A value that the program's routing took, and where it stands in the path. */
struct spot {
	struct dnp_str name, value;
	const char *at; /* NULL: nowhere */
};

#define SPOTS_MAX 32u

/* The last place up to `end` where a run of whole segments of the path is that value, or NULL. */
static const char *find_whole(struct dnp_str path, const char *end, struct dnp_str value)
{
	if (!value.n || (size_t)(end - path.p) < value.n + 1)
		return NULL;
	for (const char *at = end - value.n; at > path.p; at--)
		if (at[-1] == '/' && (at + value.n == path.p + path.n || at[value.n] == '/') &&
			!memcmp(at, value.p, value.n))
			return at;
	return NULL;
}

enum { OTHER, LETTER, DIGIT };

static int kind_of(char c)
{
	if (c >= '0' && c <= '9')
		return DIGIT;
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80 ? LETTER
											    : OTHER;
}

static bool is_edge(char a, char b)
{
	return kind_of(a) != kind_of(b) || kind_of(a) == OTHER;
}

/* The same of a part of a segment, as routing has it in img-{id} or {name}.{ext}. */
static const char *find_part(struct dnp_str path, const char *end, struct dnp_str value)
{
	if (!value.n || (size_t)(end - path.p) < value.n + 1)
		return NULL;
	for (const char *at = end - value.n; at > path.p; at--)
		if (!memcmp(at, value.p, value.n) && is_edge(at[-1], *at) &&
			(at + value.n == path.p + path.n || is_edge(at[value.n - 1], at[value.n])))
			return at;
	return NULL;
}

/* From the end on: a value is rather like what stands before it than like what stands behind it. */
static bool find_all(struct dnp_str path, struct spot *spots, unsigned n)
{
	const char *end = path.p + path.n;
	bool known = true;

	for (struct spot *spot = spots + n; spot-- > spots;) {
		if (is_choice(spot->name)) {
			known = known && is_code(spot->name, spot->value);
			continue;
		}
		spot->at = find_whole(path, end, spot->value);
		known = known && spot->at;
		if (!spot->at)
			spot->at = find_part(path, end, spot->value);
		if (spot->at)
			end = spot->at;
	}
	return known;
}

static void put_route(
	struct dnp_str path, const struct spot *spots, unsigned n, struct dnp_text *out)
{
	for (unsigned i = 0; i < n; i++) {
		const char *at = spots[i].at;

		if (!at)
			continue;
		dnp_text_put(out, (struct dnp_str){path.p, (size_t)(at - path.p)});
		dnp_text_puts(out, "{");
		dnp_text_put(out, spots[i].name);
		dnp_text_puts(out, "}");
		path.n -= (size_t)(at - path.p) + spots[i].value.n;
		path.p = at + spots[i].value.n;
	}
	dnp_text_put(out, path);
}

/* All of it has come: a text that is cut ends where there is no more room. */
static bool is_whole(struct dnp_str text)
{
	return text.n < DNP_REQUEST_PATH_BYTES - 8;
}

bool dnp_request_route(struct dnp_str path, struct dnp_str values, struct dnp_text *out)
{
	struct spot spots[SPOTS_MAX] = {0};
	bool whole = is_whole(path) && is_whole(values), known;
	unsigned n = 0;

	/* Values come as they stand in the path, and in that order. */
	while (n < SPOTS_MAX && take_value(&values, &spots[n].name, &spots[n].value))
		n++;
	known = find_all(path, spots, n);
	put_route(path, spots, n, out);
	return known && whole && !values.n;
}

/* ---- Payloads */

/* Parts of a request as they come; some may come in any order, or not at all. */
struct parts {
	struct dnp_text id, method, path, taken, status, values, other;
};

static struct dnp_text *part_of(struct parts *parts, struct dnp_str name)
{
	const struct {
		const char *name;
		struct dnp_text *text;
	} all[] = {
		{"Id", &parts->id},
		{"Method", &parts->method},
		{"Base", &parts->path},
		{"Path", &parts->path},
		{"Taken", &parts->taken},
		{"Status", &parts->status},
		{"Values", &parts->values},
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(all); i++)
		if (dnp_str_eq(name, dnp_str(all[i].name)))
			return all[i].text;
	return &parts->other;
}

static int read_pairs(struct dnp_payload *payload, struct parts *parts)
{
	uint16_t n = dnp_payload_u16(payload);
	char buffer[32];
	struct dnp_text name;

	if (n > PAIRS_MAX)
		return -EBADMSG;
	for (uint16_t i = 0; i < n && dnp_payload_ok(payload); i++) {
		dnp_text_init(&name, buffer, sizeof(buffer));
		dnp_payload_text(payload, &name);
		dnp_payload_text(payload, part_of(parts, dnp_text_since(&name, 0)));
	}
	return dnp_payload_ok(payload) ? 0 : -EBADMSG;
}

static uint64_t hash_of(struct dnp_str text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (size_t i = 0; i < text.n; i++)
		hash = (hash ^ (uint8_t)text.p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Of 00-trace-span-flags (W3C) the trace; else the whole id, which begins with it. */
static struct dnp_str trace_of(struct dnp_str id)
{
	struct dnp_str rest = id, part;

	if (id.n == 55 && dnp_str_cut(&rest, '-', &part) && part.n == 2 &&
		dnp_str_cut(&rest, '-', &part) && part.n == 32)
		return part;
	return id;
}

int dnp_request_activity(const uint8_t *data, size_t n, uint64_t *activity)
{
	static const uint8_t none[16];
	struct dnp_str id = {(const char *)data, n};

	if (n < sizeof(none))
		return -EBADMSG;
	id.n = sizeof(none);
	*activity = memcmp(data, none, sizeof(none)) ? hash_of(id) : 0;
	return 0;
}

static bool takes(struct dnp_payload *payload, const char *wanted)
{
	struct dnp_payload at = *payload;
	char buffer[64];
	struct dnp_text name;

	dnp_text_init(&name, buffer, sizeof(buffer));
	dnp_payload_text(&at, &name);
	if (!dnp_str_eq(dnp_text_since(&name, 0), dnp_str(wanted)))
		return false;
	*payload = at;
	return true;
}

static bool is_request(struct dnp_payload *payload, enum dnp_request_moment *moment)
{
	static const char *const names[] = {
		[DNP_REQUEST_BEGINS] = NAME_START,
		[DNP_REQUEST_MATCHED] = NAME_MATCH,
		[DNP_REQUEST_ENDS] = NAME_STOP,
	};

	if (!takes(payload, SOURCE))
		return false;
	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		if (takes(payload, names[i])) {
			*moment = (enum dnp_request_moment)i;
			return true;
		}
	return false;
}

static void put_all(
	struct dnp_request *request, const struct parts *parts, struct dnp_request_room *room)
{
	struct dnp_text route;

	request->id = hash_of(dnp_text_since(&parts->id, 0));
	request->trace = trace_of(dnp_text_since(&parts->id, 0));
	request->method = dnp_text_since(&parts->method, 0);
	request->path = dnp_text_since(&parts->path, 0);
	request->status = dnp_text_since(&parts->status, 0);
	if (request->moment == DNP_REQUEST_BEGINS)
		return;
	dnp_text_init(&route, room->route, sizeof(room->route));
	if (parts->taken.n)
		dnp_text_puts(&route, DNP_REQUEST_NO_ROUTE);
	request->routed =
		dnp_request_route(request->path, dnp_text_since(&parts->values, 0), &route) &&
		request->moment == DNP_REQUEST_MATCHED;
	request->route = dnp_text_since(&route, 0);
}

int dnp_request_read(
	const uint8_t *data, size_t n, struct dnp_request *request, struct dnp_request_room *room)
{
	struct dnp_payload payload = dnp_payload(data, n);
	struct parts parts;
	char other[8], taken[8];

	*request = (struct dnp_request){0};
	if (!is_request(&payload, &request->moment))
		return -ENOMSG;
	dnp_text_init(&parts.id, room->id, sizeof(room->id));
	dnp_text_init(&parts.method, room->method, sizeof(room->method));
	dnp_text_init(&parts.path, room->path, sizeof(room->path));
	dnp_text_init(&parts.status, room->status, sizeof(room->status));
	dnp_text_init(&parts.values, room->values, sizeof(room->values));
	dnp_text_init(&parts.taken, taken, sizeof(taken));
	dnp_text_init(&parts.other, other, sizeof(other));
	if (read_pairs(&payload, &parts) || !parts.id.n)
		return -EBADMSG;
	put_all(request, &parts, room);
	return 0;
}

void dnp_request_hide_path(struct dnp_request *request)
{
	request->path = dnp_str("");
	if (!request->routed)
		request->route = dnp_str(DNP_REQUEST_NO_ROUTE);
}
