/* SPDX-License-Identifier: MIT */
/* Arrays, strings, UTF-8, sinks, JSON, base64. */
#include <stdio.h>

#include "base/base64.h"
#include "base/clean.h"
#include "base/json.h"
#include "base/sink.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "base/vec.h"

#include "test.h"

TEST(map_keeps_all)
{
	struct dnp_map map = {0};

	for (uint32_t i = 0; i < 10000; i++)
		CHECK_EQ(dnp_map_set(&map, (uint64_t)i * 0x100000001, i), 0);
	CHECK_EQ(dnp_map_set(&map, 5 * UINT64_C(0x100000001), 77), 0);
	CHECK_EQ(map.n, 10000);
	for (uint32_t i = 0; i < 10000; i++)
		CHECK_EQ(dnp_map_get(&map, (uint64_t)i * 0x100000001), i == 5 ? 77 : i);
	CHECK_EQ(dnp_map_get(&map, 3), DNP_NONE);
	dnp_map_done(&map);
}

TEST(strings_are_one)
{
	struct dnp_strings strings;
	uint32_t a, b, c, zero;

	CHECK_EQ(dnp_strings_init(&strings), 0);
	CHECK_EQ(dnp_strings_add(&strings, dnp_str(""), &zero), 0);
	CHECK_EQ(zero, 0);
	for (int i = 0; i < 1000; i++) {
		char text[16];

		snprintf(text, sizeof(text), "name%d", i);
		CHECK_EQ(dnp_strings_add(&strings, dnp_str(text), &a), 0);
		CHECK_EQ(a, i + 1);
	}
	CHECK_EQ(dnp_strings_add(&strings, dnp_str("name500"), &b), 0);
	CHECK_EQ(b, 501);
	CHECK_STR(dnp_strings_get(&strings, b), "name500");
	CHECK_EQ(dnp_strings_add(&strings, (struct dnp_str){"a\0b", 3}, &c), 0);
	CHECK_STR(dnp_strings_get(&strings, c), "a b");
	dnp_strings_done(&strings);
}

static uint32_t first_code(const char *text, size_t *used)
{
	*used = 0;
	return dnp_utf8_next(dnp_str(text), used);
}

TEST(utf8_decodes_only_what_is_valid)
{
	static const struct {
		const char *text;
		uint32_t code;
		size_t used;
	} cases[] = {{"a", 'a', 1}, {"ä", 0xe4, 2}, {"€", 0x20ac, 3}, {"😀", 0x1f600, 4},
		{"\x80", DNP_UTF8_BAD, 1}, {"\xc0\x80", DNP_UTF8_BAD, 1},
		{"\xe0\x80\x80", DNP_UTF8_BAD, 1}, {"\xed\xa0\x80", DNP_UTF8_BAD, 1},
		{"\xf4\x90\x80\x80", DNP_UTF8_BAD, 1}, {"\xe2\x82", DNP_UTF8_BAD, 1}};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(cases); i++) {
		size_t used;

		CHECK_EQ(first_code(cases[i].text, &used), cases[i].code);
		CHECK_EQ(used, cases[i].used);
	}
}

TEST(utf8_puts_back_what_it_decodes)
{
	for (uint32_t code = 1; code < 0x110000; code += code < 0x1000 ? 1 : 97) {
		char out[5] = {0};
		size_t used;

		if (code >= 0xd800 && code < 0xe000)
			continue;
		CHECK_EQ(dnp_utf8_put(out, code), strlen(out));
		CHECK_EQ(first_code(out, &used), code);
		CHECK_EQ(used, strlen(out));
	}
}

TEST(utf8_columns)
{
	CHECK_EQ(dnp_utf8_columns(dnp_str("abc")), 3);
	CHECK_EQ(dnp_utf8_columns(dnp_str("日本")), 4);
	CHECK_EQ(dnp_utf8_columns(dnp_str("e\xcc\x81")), 1);
	CHECK_EQ(dnp_utf8_columns(dnp_str("\x1b[1m")), 4);
}

/* The memory's text, terminated. */
static const char *text_of(struct dnp_sink_memory *memory)
{
	CHECK_EQ(memory->sink.error, 0);
	dnp_sink_write(&memory->sink, "", 1);
	return memory->bytes.p;
}

TEST(json_escapes_and_separates)
{
	struct dnp_sink_memory memory;
	struct dnp_json json = {.sink = &memory.sink};

	dnp_sink_memory_init(&memory);
	dnp_json_open(&json, NULL, '{');
	dnp_json_u64(&json, "n", UINT64_MAX);
	dnp_json_open(&json, "a", '[');
	dnp_json_open(&json, NULL, '[');
	dnp_json_close(&json, ']');
	dnp_json_text(&json, NULL, "</script> & \"\\\n\xe2\x80\xa8 ä\xff\x1b");
	dnp_json_close(&json, ']');
	dnp_json_bool(&json, "b", true);
	dnp_json_close(&json, '}');
	CHECK_STR(text_of(&memory),
		"{\"n\":18446744073709551615,\"a\":[[],\"\\u003c/script\\u003e \\u0026 \\\"\\\\"
		"\\u000a\\u2028 ä\xef\xbf\xbd\\u001b\"],\"b\":true}");
	dnp_vec_done(&memory.bytes);
}

TEST(base64_of_all_lengths)
{
	static const char *const want[] = {
		"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};

	for (size_t n = 0; n < DNP_ARRAY_SIZE(want); n++) {
		struct dnp_sink_memory memory;
		struct dnp_sink_base64 base64;

		dnp_sink_memory_init(&memory);
		dnp_sink_base64_init(&base64, &memory.sink);
		for (size_t i = 0; i < n; i++)
			dnp_sink_write(&base64.sink, &"foobar"[i], 1);
		CHECK_EQ(dnp_sink_base64_finish(&base64), 0);
		CHECK_STR(text_of(&memory), want[n]);
		dnp_vec_done(&memory.bytes);
	}
}
