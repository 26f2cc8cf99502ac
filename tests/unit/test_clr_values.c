/* SPDX-License-Identifier: MIT */
#include "clr/values.h"

#include <errno.h>
#include <string.h>

#include "format/values.h"
#include "test.h"

/* Types known to the tests, by ClassID; no token ends in 3. */
enum { POINT = 1, COLOR, MAYBE_INT = 4, NESTED, ENDLESS, MONEY = 8, LARGE };

static bool type_of(void *context, const uint8_t *blob, size_t n, struct dnp_value_type *type)
{
	(void)context;
	if (n == 2 && blob[0] == 0x11) /* VALUETYPE, a token of one byte: the class */
		*type = (struct dnp_value_type){0x11, blob[1]};
	else if (n == 2 && blob[0] == 0x13) /* VAR */
		*type = (struct dnp_value_type){blob[1] ? 0x1c : 0x08, 0};
	else
		return false;
	return true;
}

static bool layout_of(void *context, uintptr_t class_id, struct dnp_value_layout *layout)
{
	static const struct dnp_value_layout layouts[] = {
		[POINT] = {DNP_SHAPE_STRUCT, 8, POINT, 2, {{0, {0x08, 0}}, {4, {0x08, 0}}}},
		[COLOR] = {DNP_SHAPE_ENUM, 1, COLOR, 1, {{0, {0x04, 0}}}},
		[MAYBE_INT] = {DNP_SHAPE_NULLABLE, 8, MAYBE_INT, 2,
			{{0, {0x02, 0}}, {4, {0x08, 0}}}},
		[NESTED] = {DNP_SHAPE_STRUCT, 24, NESTED, 3,
			{{8, {0x0e, 0}}, {16, {0x11, POINT}}, {0, {0x11, COLOR}}}},
		[ENDLESS] = {DNP_SHAPE_STRUCT, 4, ENDLESS, 1, {{0, {0x11, ENDLESS}}}},
		[MONEY] = {.kind = DNP_SHAPE_DECIMAL, .bytes = 16},
		[LARGE] = {DNP_SHAPE_STRUCT, 600, LARGE, 1, {{592, {0x0a, 0}}}},
	};

	(void)context;
	if (!class_id || class_id >= DNP_ARRAY_SIZE(layouts))
		return false;
	*layout = layouts[class_id];
	return true;
}

static bool is_out(void *context, uint32_t index)
{
	(void)context;
	return index == 3;
}

static const struct dnp_value_types types = {type_of, layout_of, is_out, NULL};

/* Memory that references lead to: all that starts in `heap`. */
static _Alignas(8) uint8_t heap[1024];

static size_t read_heap(uintptr_t address, void *to, size_t n)
{
	uintptr_t low = (uintptr_t)heap;

	if (address < low || address >= low + sizeof(heap))
		return 0;
	if (n > low + sizeof(heap) - address)
		n = low + sizeof(heap) - address;
	memcpy(to, (const uint8_t *)address, n); /* NOLINT(performance-no-int-to-ptr) */
	return n;
}

#define STRING_WORD 0x5000u

static uint32_t type_of_word(uintptr_t word)
{
	return (uint32_t)word;
}

static const struct dnp_values_memory memory = {read_heap, type_of_word, STRING_WORD, 2, 8, 12};

static uintptr_t put_string(size_t at, const uint16_t *units, uint32_t n)
{
	uintptr_t word = STRING_WORD;

	memcpy(heap + at, &word, sizeof(word));
	memcpy(heap + at + 8, &n, sizeof(n));
	memcpy(heap + at + 12, units, 2 * (size_t)n);
	return (uintptr_t)(heap + at);
}

static struct dnp_str name_of(void *context, uint32_t type)
{
	static const char *const names[] = {"", "Point", "Color", "", "Maybe", "Nested"};

	(void)context;
	return dnp_str(type < DNP_ARRAY_SIZE(names) ? names[type] : "Order");
}

static struct dnp_values_plan plan;
static char text[2048];

static const char *show(const struct dnp_values *values)
{
	struct dnp_text out;

	dnp_text_init(&out, text, sizeof(text));
	CHECK_EQ(dnp_values_text(values->p, values->n, name_of, NULL, &out), 0);
	return text;
}

/* The arguments of a method of which each starts at 16 times its index of `frame`. */
static const char *args_of(
	const uint8_t *blob, size_t n, const uint8_t *frame, uint32_t n_ranges, size_t room)
{
	COR_PRF_FUNCTION_ARGUMENT_RANGE ranges[16];
	static uint8_t buffer[1024];
	struct dnp_values values;

	CHECK_EQ(dnp_values_plan(&plan, blob, n, &types), 0);
	for (uint32_t i = 0; i < n_ranges; i++)
		ranges[i] = (COR_PRF_FUNCTION_ARGUMENT_RANGE){(uintptr_t)frame + 16 * i, 16};
	dnp_values_init(&values, buffer, room);
	dnp_values_take_args(&plan, ranges, n_ranges, &memory, &values);
	CHECK(values.n <= room);
	return show(&values);
}

#define SIG(...)  (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define ARGS(...) args_of(__VA_ARGS__, 1024)

TEST(values_numbers)
{
	static const struct {
		_Alignas(16) uint8_t bytes[16];
	} frame[] = {{{1}}, {{0x41}}, {{0xff}}, {{0xff}}, {{0xfe, 0xff}}, {{0xfe, 0xff}},
		{{0xff, 0xff, 0xff, 0xff}}, {{0xff, 0xff, 0xff, 0xff}}};
	static const double numbers[][2] = {{0.1}, {-1.0 / 0.0}, {1e300}, {-120}, {1000}, {-0.0},
		{1e16}, {1e17}, {1.5e17}, {1234567890123456}, {100.5}, {0.0001}, {1.2345e-05},
		{4.9e-324}, {1.7976931348623157e308}};
	static const float floats[][4] = {{0.1f}, {16777216.0f}, {50}, {1e8f}, {1e10f},
		{123456790.0f}, {1.5e-5f}, {3.4028235e38f}};
	static const int64_t longs[][2] = {{INT64_MIN, 0}, {-1, 0}};

	CHECK_STR(ARGS(SIG(0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9), frame[0].bytes, 8),
		"true, 'A', -1, 255, -2, 65534, -1, 4294967295");
	CHECK_STR(ARGS(SIG(0, 2, 1, 0x0a, 0x0b), (const uint8_t *)longs, 2),
		"-9223372036854775808, 18446744073709551615");
	CHECK_STR(ARGS(SIG(0, 2, 1, 0x18, 0x19), (const uint8_t *)longs, 2),
		"-9223372036854775808, 18446744073709551615");
	/* As .NET 10 writes them. */
	CHECK_STR(ARGS(SIG(0, 15, 1, 0x0d, 0x0d, 0x0d, 0x0d, 0x0d, 0x0d, 0x0d, 0x0d, 0x0d, 0x0d,
			       0x0d, 0x0d, 0x0d, 0x0d, 0x0d),
			  (const uint8_t *)numbers, 15),
		"0.1, -Infinity, 1E+300, -120, 1000, -0, 10000000000000000, 1E+17, 1.5E+17, "
		"1234567890123456, 100.5, 0.0001, 1.2345E-05, 5E-324, 1.7976931348623157E+308");
	CHECK_STR(ARGS(SIG(0, 8, 1, 0x0c, 0x0c, 0x0c, 0x0c, 0x0c, 0x0c, 0x0c, 0x0c),
			  (const uint8_t *)floats, 8),
		"0.1, 16777216, 50, 100000000, 1E+10, 123456790, 1.5E-05, 3.4028235E+38");
	CHECK_STR(ARGS(SIG(0, 0, 1), frame[0].bytes, 0), "");
}

TEST(values_this_is_left_out)
{
	static const uint32_t frame[][4] = {{77}, {5}};

	CHECK_STR(ARGS(SIG(0x20, 1, 1, 0x08), (const uint8_t *)frame, 2), "5");
}

TEST(values_missing_ranges)
{
	static const uint32_t frame[][4] = {{7}};

	CHECK_STR(ARGS(SIG(0, 2, 1, 0x08, 0x08), (const uint8_t *)frame, 1), "7, …");
}

TEST(values_strings_and_objects)
{
	static const uint16_t hello[] = {'h', '"', 0xfc, 0xd83d, 0xde00, 0xd800, '\n', 0x202e};
	uint16_t many[66];
	uintptr_t frame[6][2] = {{0}, {0}, {0}, {0}, {0}, {(uintptr_t)heap + sizeof(heap)}};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(many); i++)
		many[i] = i == 63 ? 0xd83d : i == 64 ? 0xde00 : 'x';
	frame[1][0] = put_string(0, hello, DNP_ARRAY_SIZE(hello));
	frame[2][0] = put_string(64, many, DNP_ARRAY_SIZE(many));
	frame[3][0] = frame[1][0];
	memcpy(heap + 512, (uintptr_t[]){99}, sizeof(uintptr_t));
	frame[4][0] = (uintptr_t)heap + 512;
	CHECK_STR(ARGS(SIG(0, 3, 1, 0x0e, 0x0e, 0x0e), (const uint8_t *)frame, 3),
		"null, \"h\\\"ü😀\xef\xbf\xbd\\n\\u202e\", "
		"\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"…");
	/* A string where the signature says object; an object; one that cannot be read. */
	CHECK_STR(ARGS(SIG(0, 3, 1, 0x1c, 0x12, 0x05, 0x1d, 0x08), (const uint8_t *)frame[3], 3),
		"\"h\\\"ü😀\xef\xbf\xbd\\n\\u202e\", <Order>, ?");
	CHECK_STR(ARGS(SIG(0, 1, 1, 0x0e), (const uint8_t *)frame[5], 1), "?");
}

TEST(values_structs)
{
	uintptr_t frame[3][2] = {{0}};
	int32_t point[] = {3, -4};

	memcpy(frame[0], point, sizeof(point));
	CHECK_STR(ARGS(SIG(0, 1, 1, 0x11, POINT), (const uint8_t *)frame, 1), "Point{3, -4}");
	memcpy(frame[0], (int32_t[]){1, 9}, 8);
	CHECK_STR(ARGS(SIG(0, 2, 1, 0x11, MAYBE_INT, 0x11, MAYBE_INT), (const uint8_t *)frame, 2),
		"9, null");
	memcpy(frame[0], (int8_t[]){-2}, 1);
	CHECK_STR(ARGS(SIG(0, 1, 1, 0x11, COLOR), (const uint8_t *)frame, 1), "(Color)-2");
	memcpy(frame[0], (uint32_t[]){0x80020000, 0, 1250, 0}, 16);
	CHECK_STR(ARGS(SIG(0, 1, 1, 0x11, MONEY), (const uint8_t *)frame, 1), "-12.50");
	/* Fields that lie behind what there is, types without an end, types nobody knows. */
	CHECK_STR(ARGS(SIG(0, 1, 1, 0x11, LARGE), (const uint8_t *)frame, 1), "Order{?}");
	CHECK_STR(ARGS(SIG(0, 1, 1, 0x11, ENDLESS), (const uint8_t *)frame, 1),
		"Order{Order{Order{Order{Order{Order{?}}}}}}");
	CHECK_STR(ARGS(SIG(0, 2, 1, 0x11, 100, 0x13, 0), (const uint8_t *)frame[1], 2), "?, 0");
}

TEST(values_nested_struct)
{
	_Alignas(8) uint8_t frame[32] = {0xff};
	COR_PRF_FUNCTION_ARGUMENT_RANGE range = {(uintptr_t)frame, 24};
	uint8_t buffer[256];
	struct dnp_values values;
	uintptr_t string = put_string(0, (const uint16_t[]){'a'}, 1);

	memcpy(frame + 8, &string, 8);
	memcpy(frame + 16, (int32_t[]){5, 6}, 8);
	CHECK_EQ(dnp_values_plan(&plan, SIG(0, 0, 0x11, NESTED), &types), 0);
	dnp_values_init(&values, buffer, sizeof(buffer));
	dnp_values_take_result(&plan, &range, &memory, &values);
	CHECK_STR(show(&values), "Nested{\"a\", Point{5, 6}, (Color)-1}");
}

TEST(values_refs)
{
	uintptr_t string = put_string(0, (const uint16_t[]){'r'}, 1);
	uintptr_t frame[5][2] = {{(uintptr_t)heap + 128}, {(uintptr_t)heap + 136}, {0}, {16}, {16}};

	memcpy(heap + 128, &string, 8);
	memcpy(heap + 136, (int32_t[]){7, 8}, 8);
	CHECK_STR(ARGS(SIG(0, 5, 1, 0x10, 0x0e, 0x10, 0x11, POINT, 0x10, 0x08, 0x10, 0x08, 0x0f,
			       0x01),
			  (const uint8_t *)frame, 5),
		"ref \"r\", ref Point{7, 8}, null, out, 0x10");
	frame[0][0] = 16;
	/* Modifiers in front, as `in` arguments have; an address of nothing. */
	CHECK_STR(ARGS(SIG(0, 1, 1, 0x10, 0x1f, 0x05, 0x08), (const uint8_t *)frame, 1), "ref ?");
	CHECK_STR(ARGS(SIG(0, 1, 1, 0x1f, 0x05, 0x10, 0x08), (const uint8_t *)frame, 1), "ref ?");
}

TEST(values_no_room)
{
	static const uint32_t frame[][4] = {{1000000}, {1000000}, {1000000}};

	CHECK_STR(args_of(SIG(0, 3, 1, 0x08, 0x08, 0x08), (const uint8_t *)frame, 3, 10),
		"1000000, 1000000, …");
	CHECK_STR(args_of(SIG(0, 3, 1, 0x08, 0x08, 0x08), (const uint8_t *)frame, 3, 1), "…");
}

TEST(values_bad_signatures)
{
	CHECK_EQ(dnp_values_plan(&plan, SIG(0, 2, 1, 0x08), &types), -EBADMSG);
	CHECK_EQ(dnp_values_plan(&plan, SIG(6, 1), &types), -EBADMSG);
	CHECK_EQ(dnp_values_plan(&plan, SIG(0), &types), -EBADMSG);
	CHECK_EQ(dnp_values_plan(&plan, SIG(0, 0x81, 0, 1), &types), -EBADMSG);
}

/* More shapes than a plan has: arguments are shown while there is room, all of one or nothing. */
TEST(values_large_plan)
{
	static uint8_t blob[3 + 255 * 2] = {0, 0x80, 200, 1};
	static uint8_t frame[16];
	static COR_PRF_FUNCTION_ARGUMENT_RANGE ranges[200];
	uint8_t buffer[4096];
	struct dnp_values values;

	for (size_t i = 0; i < 200; i++) {
		blob[4 + 2 * i] = 0x11;
		blob[5 + 2 * i] = POINT;
		ranges[i] = (COR_PRF_FUNCTION_ARGUMENT_RANGE){(uintptr_t)frame, 8};
	}
	CHECK_EQ(dnp_values_plan(&plan, blob, 4 + 400, &types), 0);
	CHECK(plan.n_shapes <= DNP_PLAN_SHAPES && plan.n_shapes % 3 == 1);
	dnp_values_init(&values, buffer, sizeof(buffer));
	dnp_values_take_args(&plan, ranges, 200, &memory, &values);
	CHECK_EQ(values.p[values.n - 1], DNP_VALUE_MORE);
}

TEST(values_dates)
{
	struct dnp_values values;
	uint8_t buffer[256];
	static const uint64_t dates[] = {
		UINT64_C(638448068960000000) | UINT64_C(1) << 62, 0, UINT64_C(3155378975999999999)};
	static const int64_t spans[] = {-15000000, INT64_MIN, 0, INT64_C(937840000000)};

	dnp_values_init(&values, buffer, sizeof(buffer));
	for (size_t i = 0; i < DNP_ARRAY_SIZE(dates); i++)
		dnp_values_put_bytes(&values, DNP_VALUE_DATE, &dates[i], 8);
	CHECK_STR(show(&values),
		"2024-02-29T12:34:56Z, 0001-01-01T00:00:00, 9999-12-31T23:59:59.9999999");
	dnp_values_init(&values, buffer, sizeof(buffer));
	for (size_t i = 0; i < DNP_ARRAY_SIZE(spans); i++)
		dnp_values_put_bytes(&values, DNP_VALUE_SPAN, &spans[i], 8);
	CHECK_STR(show(&values),
		"-00:00:01.5000000, -10675199.02:48:05.4775808, 00:00:00, 1.02:03:04");
}

TEST(values_damaged_text)
{
	static const uint8_t nested[] = {22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 22, 1};
	static const uint8_t string[] = {18, 20, 'a'};
	struct dnp_text out;

	dnp_text_init(&out, text, sizeof(text));
	CHECK_EQ(dnp_values_text(nested, sizeof(nested), name_of, NULL, &out), -EBADMSG);
	dnp_text_init(&out, text, sizeof(text));
	CHECK_EQ(dnp_values_text(string, sizeof(string), name_of, NULL, &out), -EBADMSG);
	CHECK_STR(text, "?");
}
