/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "base/utf8.h"

#include "test.h"

TEST(text_is_terminated_and_whole)
{
	char buffer[16];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	CHECK_STR(buffer, "");
	dnp_text_puts(&text, "one");
	dnp_text_put(&text, (struct dnp_str){" two!", 4});
	CHECK_STR(buffer, "one two");
	CHECK_EQ(text.n, 7);
	CHECK(!text.cut);
	dnp_text_rewind(&text, 3);
	CHECK_STR(buffer, "one");
}

TEST(text_that_fits_exactly_is_not_cut)
{
	char buffer[8];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_text_puts(&text, "1234567");
	CHECK_STR(buffer, "1234567");
	CHECK(!text.cut);
	dnp_text_puts(&text, "8");
	CHECK_STR(buffer, "1234…");
	CHECK(text.cut);
	dnp_text_puts(&text, "9");
	dnp_text_rewind(&text, 0);
	CHECK_STR(buffer, "1234…");
}

/* Every buffer size, with characters of one to four bytes: terminated, and cut between them. */
TEST(text_is_cut_between_characters)
{
	static const char source[] = "aé€😀bé€😀";

	for (size_t cap = 1; cap < sizeof(source); cap++) {
		char buffer[32];
		struct dnp_text text;

		memset(buffer, 'x', sizeof(buffer));
		dnp_text_init(&text, buffer, cap);
		dnp_text_puts(&text, source);
		CHECK(text.cut);
		CHECK(text.n < cap);
		CHECK_EQ(strlen(buffer), text.n);
		CHECK_EQ(buffer[cap], 'x');
		if (cap > 3) {
			CHECK_STR(buffer + text.n - 3, "…");
			CHECK(memcmp(buffer, source, text.n - 3) == 0);
			CHECK((source[text.n - 3] & 0xc0) != 0x80);
		}
	}
}

TEST(text_from_utf16)
{
	static const uint16_t units[] = {'a', 0xe9, 0x20ac, 0xd83d, 0xde00, 0xd83d, 'b', 0xde00};
	char buffer[64];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	dnp_text_put16(&text, units, sizeof(units) / sizeof(units[0]));
	CHECK_STR(buffer,
		"aé€😀\xef\xbf\xbd"
		"b\xef\xbf\xbd");
	dnp_text_init(&text, buffer, 8);
	dnp_text_put16(&text, units, 5);
	CHECK_STR(buffer, "aé…");
}

TEST(whole_characters_that_find_room)
{
	struct dnp_str text = dnp_str("aé✓😀");
	static const size_t fit[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};

	for (size_t room = 0; room < sizeof(fit) / sizeof(*fit); room++)
		CHECK_EQ(dnp_utf8_fit(text, room), fit[room]);
	CHECK_EQ(dnp_utf8_fit(dnp_str(""), 0), 0);
	CHECK_EQ(dnp_utf8_fit(dnp_str("\x80\x80"), 1), 0);
}
