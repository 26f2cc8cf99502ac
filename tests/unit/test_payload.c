/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "clr/allocation.h"
#include "clr/collection.h"
#include "clr/compilation.h"
#include "clr/contention.h"
#include "clr/payload.h"
#include "clr/request.h"

/* A payload in the making. */
struct made {
	uint8_t bytes[2048];
	size_t n;
};

static void put(struct made *made, const void *from, size_t n)
{
	memcpy(made->bytes + made->n, from, n);
	made->n += n;
}

static void put_u32(struct made *made, uint32_t value)
{
	put(made, &value, sizeof(value));
}

static void put_u64(struct made *made, uint64_t value)
{
	put(made, &value, sizeof(value));
}

static void put_text(struct made *made, const char *ascii)
{
	do
		put(made, (const char[2]){*ascii, 0}, 2);
	while (*ascii++);
}

static const char *type_of(const char *raw)
{
	static char buffer[256];
	struct dnp_payload payload;
	struct made made = {0};
	struct dnp_text text;

	put_text(&made, raw);
	payload = dnp_payload(made.bytes, made.n);
	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_payload_type(&payload, &text);
	CHECK(dnp_payload_ok(&payload));
	CHECK(payload.p == payload.end);
	return buffer;
}

TEST(types_are_written_as_everywhere_else)
{
	CHECK_STR(type_of("System.String"), "System.String");
	CHECK_STR(type_of("System.Byte[]"), "System.Byte[]");
	CHECK_STR(type_of("System.Int32[,]"), "System.Int32[,]");
	CHECK_STR(type_of("System.Collections.Generic.List`1[System.Int32]"),
		"System.Collections.Generic.List<System.Int32>");
	CHECK_STR(type_of("D`2[System.String,L`1[System.Int32[]]][]"),
		"D<System.String, L<System.Int32[]>>[]");
	CHECK_STR(type_of("App.Outer`1+Inner[System.Char[,]]"), "App.Outer<System.Char[,]>+Inner");
	CHECK_STR(type_of("D`2+E[A,L`1+F`1[B[],C]][]"), "D<A, L<B[]>+F<C>>+E[]");
	CHECK_STR(type_of("S`1[System.Int32]*[]"), "S<System.Int32>*[]");
	CHECK_STR(type_of("App.Program+<>c__DisplayClass0_0"), "App.Program+<>c__DisplayClass0_0");
	CHECK_STR(type_of(""), "");
}

TEST(characters_that_mean_something_stand_for_themselves_in_a_name)
{
	CHECK_STR(type_of("Dyn.Type\\,Odd\\+Na\\[me\\]"), "Dyn.Type,Odd+Na[me]");
	CHECK_STR(type_of("A\\\\b\\&c\\*[]"), "A\\b&c*[]");
	CHECK_STR(type_of("App.C+<I<A\\,B>-M>d__1`1[System.Int32]"),
		"App.C+<I<A,B>-M>d__1<System.Int32>");
	CHECK_STR(type_of("L`1[A\\,B]"), "L<A,B>");
}

TEST(names_of_types_that_are_not_whole_are_written_as_far_as_they_go)
{
	CHECK_STR(type_of("Open`1"), "Open");
	CHECK_STR(type_of("None[A,B]"), "None<A, B>");
	CHECK_STR(type_of("Two`2[A]"), "Two<A>");
	CHECK_STR(type_of("One`1[A,B]"), "One<A><B>");
	CHECK_STR(type_of("Cut`2[A,B`1[C"), "Cut<A, B<C>>");
	CHECK_STR(type_of("Cut\\"), "Cut\\");
	CHECK_STR(type_of("A],B"), "A],B");
	CHECK_STR(type_of("X`99999999999999[A]"), "X<A>");
	CHECK_STR(type_of("X`"), "X`");
}

TEST(payload_that_ends_early_is_bad_and_reads_as_zero)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5};
	struct dnp_payload payload = dnp_payload(bytes, sizeof(bytes));
	char buffer[16];
	struct dnp_text text;

	CHECK_EQ(dnp_payload_u32(&payload), 0x04030201);
	CHECK(dnp_payload_ok(&payload));
	CHECK_EQ(dnp_payload_u16(&payload), 0);
	CHECK(!dnp_payload_ok(&payload));
	CHECK_EQ(dnp_payload_u64(&payload), 0);
	payload = dnp_payload(bytes, sizeof(bytes));
	dnp_payload_skip_text(&payload);
	CHECK(!dnp_payload_ok(&payload));
	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_payload_text(&payload, &text);
	CHECK_EQ(text.n, 0);
}

static struct made tick(uint64_t amount, uint64_t size)
{
	struct made made = {0};

	put_u32(&made, (uint32_t)amount);
	put_u32(&made, 0);
	put(&made, "\x08", 2);
	put_u64(&made, amount);
	put_u64(&made, 0x7f00);
	put_text(&made, "System.String");
	put_u32(&made, 0);
	put_u64(&made, 0x7f10);
	put_u64(&made, size);
	return made;
}

TEST(tick_tells_type_size_and_amount)
{
	struct made made = tick(UINT64_C(5) << 32, 32);
	struct dnp_allocation allocation;
	struct dnp_text type;
	char buffer[64];

	dnp_text_init(&type, buffer, sizeof(buffer));
	CHECK_EQ(dnp_allocation_tick(made.bytes, made.n, 4, &allocation), 0);
	dnp_allocation_type(&allocation, &type);
	CHECK(allocation.amount == UINT64_C(5) << 32);
	CHECK(dnp_allocation_tick_amount(made.bytes, made.n) == allocation.amount);
	CHECK(!dnp_allocation_tick_amount(made.bytes, 17));
	CHECK_EQ(allocation.bytes, 32);
	CHECK_STR(type.p, "System.String");
	CHECK_EQ(dnp_allocation_tick(made.bytes, made.n - 1, 4, &allocation), -EBADMSG);
	CHECK_EQ(dnp_allocation_tick(made.bytes, made.n, 3, &allocation), -EBADMSG);
}

TEST(sampled_object_tells_type_and_size)
{
	struct dnp_allocation allocation;
	struct made made = {0};
	struct dnp_text type;
	char buffer[64];

	put_u32(&made, 1);
	put(&made, "\x08", 2);
	put_u64(&made, 0x7f00);
	put_text(&made, "System.Byte[]");
	put_u64(&made, 0x7f10);
	put_u64(&made, 100024);
	put_u64(&made, 17);
	dnp_text_init(&type, buffer, sizeof(buffer));
	CHECK_EQ(dnp_allocation_sampled(made.bytes, made.n, &allocation), 0);
	dnp_allocation_type(&allocation, &type);
	CHECK_EQ(allocation.bytes, 100024);
	CHECK_STR(type.p, "System.Byte[]");
	CHECK_EQ(dnp_allocation_sampled_bytes(made.bytes, made.n, 0), 100024);
	CHECK_EQ(dnp_allocation_sampled_bytes(made.bytes, 39, 0), 0);
	CHECK_EQ(dnp_allocation_sampled(made.bytes, made.n - 1, &allocation), -EBADMSG);
	/* Of a version that adds a field. */
	put_u64(&made, 1);
	CHECK_EQ(dnp_allocation_sampled_bytes(made.bytes, made.n, 1), 100024);
}

TEST(object_stands_for_its_size_by_its_probability)
{
	static const uint64_t sizes[] = {
		1, 24, 100, 8192, 102400, 1000000, 4000000, 5000000, UINT64_C(1) << 40};
	double rate = -log1p(-1.0 / DNP_ALLOCATION_MEAN_BYTES);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		double size = (double)sizes[i], truth = size / -expm1(-size * rate);
		double off = dnp_allocation_stands_for(sizes[i]) / truth - 1;

		CHECK(off < 1e-9 && off > -1e-9);
	}
}

static struct made contention_start(uint64_t lock, uint64_t owner)
{
	struct made made = {0};

	put(&made, (const char[3]){0}, 3); /* ContentionFlags, ClrInstanceID */
	put_u64(&made, lock);
	put_u64(&made, 0x7f0000001000); /* AssociatedObjectID */
	put_u64(&made, owner);
	return made;
}

TEST(a_wait_for_a_handle_begins)
{
	struct made made = {0};
	bool monitor = true;

	put(&made, (const char[1]){0}, 1); /* WaitSource */
	put_u64(&made, 0x7f0000001000);    /* AssociatedObjectID */
	put(&made, (const char[2]){0}, 2); /* ClrInstanceID */
	CHECK_EQ(dnp_wait_handle_start(made.bytes, made.n, &monitor), 0);
	CHECK(!monitor);
	made.bytes[0] = 1;
	CHECK_EQ(dnp_wait_handle_start(made.bytes, made.n, &monitor), 0);
	CHECK(monitor);
	for (size_t n = 0; n < made.n; n++)
		CHECK_EQ(dnp_wait_handle_start(made.bytes, n, &monitor), -EBADMSG);
}

TEST(a_wait_for_a_lock_begins)
{
	struct made made = contention_start(0x7f0000002000, 4711);
	struct dnp_contention contention;

	CHECK_EQ(dnp_contention_start(made.bytes, made.n, 2, &contention), 0);
	CHECK_EQ(contention.lock, 0x7f0000002000);
	CHECK_EQ(contention.object, 0x7f0000001000);
	CHECK_EQ(contention.owner, 4711);
	CHECK(dnp_contention_is_monitor(&contention));
	CHECK_EQ(dnp_contention_start(made.bytes, made.n, 1, &contention), -EBADMSG);
	CHECK_EQ(dnp_contention_start(made.bytes, made.n - 1, 2, &contention), -EBADMSG);
	made = contention_start(348, UINT64_MAX);
	CHECK_EQ(dnp_contention_start(made.bytes, made.n, 2, &contention), 0);
	CHECK_EQ(contention.owner, 0);
	CHECK(!dnp_contention_is_monitor(&contention));
	made = contention_start(0x1249e30, 1); /* as low as addresses are under Wine */
	CHECK_EQ(dnp_contention_start(made.bytes, made.n, 2, &contention), 0);
	CHECK(dnp_contention_is_monitor(&contention));
}

static int stop_after(double ns, uint64_t *out)
{
	struct made made = {0};

	put(&made, (const char[3]){0}, 3);
	put(&made, &ns, sizeof(ns));
	return dnp_contention_stop(made.bytes, made.n, 1, out);
}

TEST(a_wait_for_a_lock_is_over)
{
	uint64_t ns;

	CHECK_EQ(stop_after(1234567.0, &ns), 0);
	CHECK_EQ(ns, 1234567);
	CHECK_EQ(stop_after(-1, &ns), -EBADMSG);
	CHECK_EQ(stop_after(1e30, &ns), -EBADMSG);
	CHECK_EQ(stop_after((double)NAN, &ns), -EBADMSG);
	CHECK_EQ(dnp_contention_stop(NULL, 0, 1, &ns), -EBADMSG);
	CHECK_EQ(dnp_contention_stop(NULL, 0, 0, &ns), -EBADMSG);
}

static struct made loaded(uint32_t flags)
{
	struct made made = {0};

	put_u64(&made, 0x7f00);
	put_u64(&made, 0x7e00);
	put_u64(&made, 0x7d00);
	put_u32(&made, 120);
	put_u32(&made, 0x06000001);
	put_u32(&made, flags);
	put_text(&made, "App.Box`1[System.Int32]");
	put_text(&made, "Fill");
	put_text(&made, "instance void (int32)");
	return made;
}

TEST(compiled_method_tells_name_and_tier)
{
	static const struct {
		uint32_t flags;
		bool jitted, rejected;
		const char *tier;
	} cases[] = {
		{0x8 | 3 << 7, true, false, "tier 0"},
		{0x8 | 0x40 | 2 << 7, true, true, "optimized"},
		{0x8 | 5 << 7, true, false, "tier 1, on-stack replacement"},
		{0, false, false, "unknown tier"},
	};
	struct dnp_compilation compilation;
	struct dnp_text name;
	char buffer[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made made = loaded(cases[i].flags);

		dnp_text_init(&name, buffer, sizeof(buffer));
		CHECK_EQ(dnp_compilation_loaded(made.bytes, made.n, &compilation, &name), 0);
		CHECK(compilation.method == 0x7f00 && compilation.address == 0x7d00);
		CHECK_EQ(compilation.bytes, 120);
		CHECK(compilation.jitted == cases[i].jitted);
		CHECK(compilation.rejected == cases[i].rejected);
		CHECK_STR(compilation.tier, cases[i].tier);
		CHECK_STR(name.p, "App.Box<System.Int32>.Fill");
		CHECK_EQ(dnp_compilation_loaded(made.bytes, 36, &compilation, &name), -EBADMSG);
	}
}

static const char *route_of(const char *path, const char *values)
{
	static char buffer[64];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_request_route(dnp_str(path), dnp_str(values), &text);
	return buffer;
}

TEST(route_has_names_where_the_path_has_values)
{
	CHECK_STR(route_of("/items/7", "[id, 7]"), "/items/{id}");
	CHECK_STR(route_of("/a/1/b/1/c", "[x, 1],[y, 1]"), "/a/{x}/b/{y}/c");
	CHECK_STR(route_of("/files/a/b.txt", "[rest, a/b.txt]"), "/files/{rest}");
	CHECK_STR(route_of("/a, b/x],y", "[name, a, b],[other, x],y]"), "/{name}/{other}");
	/* The last of several, for what stands before is rather the program's own. */
	CHECK_STR(route_of("/any/any", "[x, any]"), "/any/{x}");
	CHECK_STR(route_of("/api/Items/by/Items/items",
			  "[action, By],[controller, Items],[id, Items]"),
		"/api/Items/by/{id}/items");
	CHECK_STR(route_of("/1/1/1", "[x, 1],[y, 1]"), "/1/{x}/{y}");
	/* Parts of segments, between what differs in kind; whole ones first. */
	CHECK_STR(route_of("/img-7", "[id, 7]"), "/img-{id}");
	CHECK_STR(route_of("/v1/orders/5", "[ver, 1],[id, 5]"), "/v{ver}/orders/{id}");
	CHECK_STR(route_of("/file/a.b.txt", "[name, a.b],[ext, txt]"), "/file/{name}.{ext}");
	CHECK_STR(route_of("/7/img-7", "[id, 7]"), "/{id}/img-7");
	/* What chose the code stays. */
	CHECK_STR(route_of("/77/7", "[id, 7]"), "/77/{id}");
	CHECK_STR(route_of("/77", "[id, 7]"), "/77");
	CHECK_STR(route_of("/Home/Index/5", "[controller, Home],[action, Index],[id, 5]"),
		"/Home/Index/{id}");
	CHECK_STR(route_of("/items", ""), "/items");
	CHECK_STR(route_of("/items", "["), "/items");
	CHECK_STR(route_of("/items", "[id]"), "/items");
	CHECK_STR(route_of("/items", "[id, ]"), "/items");
	CHECK_STR(route_of("", "[id, 7]"), "");
}

static bool is_known(const char *path, const char *values)
{
	char buffer[256];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	return dnp_request_route(dnp_str(path), dnp_str(values), &text);
}

/* Nothing of what somebody asked for is left, or it is said that this is not known. */
TEST(route_is_known_where_every_value_is_found)
{
	static char all[DNP_REQUEST_PATH_BYTES];

	CHECK(is_known("/items/7", "[id, 7]"));
	CHECK(is_known("/a/1/b/1/c", "[x, 1],[y, 1]"));
	CHECK(is_known("/Home/Index/5", "[controller, Home],[action, Index],[id, 5]"));
	CHECK(is_known("/api/items", "[action, List],[controller, Items]"));
	CHECK(is_known("/About", "[page, /About]"));
	CHECK(is_known("/items", ""));
	CHECK(!is_known("/items/7", "[id, 8]"));
	CHECK(!is_known("/items/7-secret", "[id, 7],[name, secret]"));
	CHECK(!is_known("/items/7", "[id, 7],[name"));
	CHECK(!is_known("/items/secret],[b, 7", "[name, secret],[b, 7]"));
	CHECK(!is_known("/items/3", "[page, 3]"));
	CHECK(!is_known("/items/delete", "[handler, delete]"));
	CHECK(!is_known("/img-7", "[id, 7]"));
	memset(all, 'x', sizeof(all) - 1);
	CHECK(!is_known(all, "[id, 7]"));
	memcpy(all, "[id, 7],[n, ", 12);
	all[sizeof(all) - 2] = ']'; /* where the buffer ends: there may have been more */
	CHECK(!is_known("/items/7", all));
}

#define ACTIVITY "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static struct made request(const char *event, const char *id, const char *const *pairs, uint16_t n)
{
	struct made made = {0};
	uint16_t count = (uint16_t)(n + 1);

	put_text(&made, "Microsoft.AspNetCore");
	put_text(&made, event);
	put(&made, &count, sizeof(count));
	put_text(&made, "Id");
	put_text(&made, id);
	for (unsigned i = 0; i < 2u * n; i++)
		put_text(&made, pairs[i]);
	return made;
}

#define EVENT   "Microsoft.AspNetCore.Hosting.HttpRequestIn"
#define MATCHED "Microsoft.AspNetCore.Routing.EndpointMatched"

static void check_text(struct dnp_str text, const char *wanted)
{
	CHECK(dnp_str_eq(text, dnp_str(wanted)));
}

TEST(request_tells_what_was_asked_for_and_what_came_of_it)
{
	static const char *const pairs[] = {"Method", "GET", "Base", "/shop", "Path", "/items/7",
		"Status", "200", "Values", "[id, 7]"};
	struct made made = request(EVENT ".Start", ACTIVITY, pairs, 3);
	struct dnp_request_room room;
	struct dnp_request begun, ended;

	CHECK_EQ(dnp_request_read(made.bytes, made.n, &begun, &room), 0);
	CHECK_EQ(begun.moment, DNP_REQUEST_BEGINS);
	check_text(begun.trace, "4bf92f3577b34da6a3ce929d0e0e4736");
	check_text(begun.method, "GET");
	check_text(begun.path, "/shop/items/7");
	made = request(EVENT ".Stop", ACTIVITY, pairs, 5);
	CHECK_EQ(dnp_request_read(made.bytes, made.n, &ended, &room), 0);
	CHECK(ended.moment == DNP_REQUEST_ENDS && ended.id == begun.id);
	check_text(ended.status, "200");
	check_text(ended.route, "/shop/items/{id}");
	for (size_t n = 200; n < made.n; n++)
		CHECK_EQ(dnp_request_read(made.bytes, n, &ended, &room), -EBADMSG);
	made = request(EVENT ".Stop", "|a.1.", pairs, 5);
	CHECK_EQ(dnp_request_read(made.bytes, made.n, &ended, &room), 0);
	CHECK(ended.id != begun.id);
	check_text(ended.trace, "|a.1.");
}

TEST(request_has_no_path_where_it_is_to_have_none)
{
	static const char *const pairs[] = {
		"Method", "GET", "Path", "/items/7", "Status", "200", "Values", "[id, 7]"};
	struct made made = request(EVENT ".Start", ACTIVITY, pairs, 2);
	struct dnp_request_room room;
	struct dnp_request out;

	CHECK_EQ(dnp_request_read(made.bytes, made.n, &out, &room), 0);
	dnp_request_hide_path(&out);
	check_text(out.path, "");
	/* The path that was asked for is not always the one in which routing found the values. */
	made = request(EVENT ".Stop", ACTIVITY, pairs, 4);
	CHECK_EQ(dnp_request_read(made.bytes, made.n, &out, &room), 0);
	dnp_request_hide_path(&out);
	check_text(out.path, "");
	check_text(out.route, "/…");
}

TEST(route_is_of_what_routing_has_seen)
{
	static const char *const pairs[] = {
		"Method", "GET", "Taken", "", "Path", "/items/7", "Values", "[id, 7]"};
	static const char *const taken[] = {
		"Method", "GET", "Taken", "/secret-name", "Path", "/items/7", "Values", "[id, 7]"};
	static const char *const part[] = {"Method", "GET", "Path", "/item-7", "Values", "[id, 7]"};
	struct made made = request(MATCHED, ACTIVITY, pairs, 4);
	struct dnp_request_room room;
	struct dnp_request out;

	CHECK_EQ(dnp_request_read(made.bytes, made.n, &out, &room), 0);
	CHECK_EQ(out.moment, DNP_REQUEST_MATCHED);
	dnp_request_hide_path(&out);
	check_text(out.route, "/items/{id}");
	made = request(MATCHED, ACTIVITY, taken, 4);
	CHECK_EQ(dnp_request_read(made.bytes, made.n, &out, &room), 0);
	dnp_request_hide_path(&out);
	check_text(out.route, "/…/items/{id}");
	made = request(MATCHED, ACTIVITY, part, 3);
	CHECK_EQ(dnp_request_read(made.bytes, made.n, &out, &room), 0);
	check_text(out.route, "/item-{id}");
	dnp_request_hide_path(&out);
	check_text(out.route, "/…");
	/* None was taken: it is all the program's own. */
	made = request(MATCHED, ACTIVITY, part, 2);
	CHECK_EQ(dnp_request_read(made.bytes, made.n, &out, &room), 0);
	dnp_request_hide_path(&out);
	check_text(out.route, "/item-7");
}

TEST(request_is_told_from_all_else)
{
	struct made made = request(EVENT ".Exception", ACTIVITY, NULL, 0);
	struct dnp_request_room room;
	struct dnp_request out;

	CHECK_EQ(dnp_request_read(made.bytes, made.n, &out, &room), -ENOMSG);
	made = request(EVENT ".Start", "", NULL, 0);
	CHECK_EQ(dnp_request_read(made.bytes, made.n, &out, &room), -EBADMSG);
	made.n = 2 * sizeof("Microsoft.AspNetCore");
	CHECK_EQ(dnp_request_read(made.bytes, made.n, &out, &room), -ENOMSG);
	made.n = 0;
	put_text(&made, "System.Net.Http");
	CHECK_EQ(dnp_request_read(made.bytes, made.n, &out, &room), -ENOMSG);
	CHECK_EQ(dnp_request_read(NULL, 0, &out, &room), -ENOMSG);
}

static struct dnp_gc_event gc_event(uint32_t id, uint32_t version, const struct made *made)
{
	struct dnp_gc_event event;

	CHECK_EQ(dnp_gc_event_read(id, version, made->bytes, made->n, &event), 0);
	CHECK_EQ(event.id, id);
	if (made->n)
		CHECK_EQ(dnp_gc_event_read(id, version, made->bytes, 3, &event), -EBADMSG);
	CHECK_EQ(dnp_gc_event_read(id, version, made->bytes, made->n, &event), 0);
	return event;
}

TEST(collection_tells_number_generation_and_reason)
{
	struct made made = {0};
	struct dnp_gc_event event;

	put_u32(&made, 12);
	put_u32(&made, 2);
	put_u32(&made, 4);
	put_u32(&made, 1);
	put(&made, "\0", 2);
	put_u64(&made, 0);
	event = gc_event(DNP_GC_START, 2, &made);
	CHECK(event.number == 12 && event.generation == 2 && event.reason == 4 && event.background);
	event = gc_event(DNP_GC_END, 1, &made);
	CHECK_EQ(event.number, 12);
	CHECK_EQ(dnp_gc_event_read(10, 1, made.bytes, made.n, &event), -ENOMSG);
	made.n = 0;
	CHECK_EQ(gc_event(DNP_GC_TRIGGERED, 0, &made).id, DNP_GC_TRIGGERED);
}

TEST(suspension_tells_whether_it_is_for_a_collection)
{
	for (uint32_t reason = 0; reason < 8; reason++) {
		struct made made = {0};

		put_u32(&made, reason);
		put_u32(&made, 0);
		CHECK_EQ(gc_event(DNP_GC_SUSPEND_BEGIN, 1, &made).for_gc,
			reason == 1 || reason == 6);
	}
}

TEST(histories_tell_sizes_of_generations)
{
	struct made made = {0};
	struct dnp_gc_event event;

	put(&made, "\0", 2);
	for (int i = 0; i < 6; i++)
		put_u64(&made, 9);
	for (int i = 0; i < 6; i++)
		put_u32(&made, 9);
	put_u64(&made, 9);
	put_u32(&made, DNP_GC_GENERATIONS);
	for (uint64_t g = 0; g < DNP_GC_GENERATIONS; g++)
		for (uint64_t i = 0; i < 10; i++)
			put_u64(&made, 100 * g + i);
	event = gc_event(DNP_GC_HEAP_HISTORY, 3, &made);
	for (uint64_t g = 0; g < DNP_GC_GENERATIONS; g++)
		CHECK(event.before[g] == 100 * g && event.after[g] == 100 * g + 3 &&
			event.survived[g] == 200 * g + 7 + 8);
	CHECK_EQ(dnp_gc_event_read(DNP_GC_HEAP_HISTORY, 2, made.bytes, made.n, &event), -EBADMSG);
	CHECK_EQ(dnp_gc_event_read(DNP_GC_HEAP_HISTORY, 3, made.bytes, made.n - 80, &event),
		-EBADMSG);
	made.n = 0;
	put_u64(&made, 1 << 20);
	for (uint32_t i = 2; i < 6; i++)
		put_u32(&made, i);
	put_u32(&made, 0x3);
	event = gc_event(DNP_GC_GLOBAL_HISTORY, 4, &made);
	CHECK(event.heaps == 2 && event.background && event.compacting);
}
