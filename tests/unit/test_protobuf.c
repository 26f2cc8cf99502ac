/* SPDX-License-Identifier: MIT */
/* Messages as the encoding's own description has them, byte by byte. */
#include "base/protobuf.h"
#include "test.h"

static void check(struct dnp_protobuf *message, const char *bytes, size_t n)
{
	CHECK_EQ(message->error, 0);
	CHECK_EQ(message->bytes.n, n);
	CHECK(!memcmp(message->bytes.p, bytes, n));
	dnp_vec_done(&message->bytes);
}

TEST(numbers)
{
	struct dnp_protobuf message = {0};

	dnp_protobuf_u64(&message, 1, 150);
	dnp_protobuf_u64(&message, 2, 0);
	dnp_protobuf_u64(&message, 16, (uint64_t)-2);
	check(&message, "\x08\x96\x01\x10\x00\x80\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 17);
}

/* Lengths that are not known before have four bytes. */
TEST(messages_and_strings)
{
	struct dnp_protobuf message = {0};
	size_t at = dnp_protobuf_open(&message, 3);

	dnp_protobuf_u64(&message, 1, 150);
	dnp_protobuf_close(&message, at);
	dnp_protobuf_text(&message, 2, "a\xffz");
	dnp_protobuf_bytes(&message, 4, "\xff", 1);
	check(&message,
		"\x1a\x83\x80\x80\x00\x08\x96\x01\x12\x85\x80\x80\x00"
		"a\xef\xbf\xbdz\x22\x01\xff",
		21);
}

TEST(packed_fields)
{
	struct dnp_protobuf message = {0}, values = {0};

	dnp_protobuf_varint(&values, 3);
	dnp_protobuf_varint(&values, 270);
	dnp_protobuf_bytes(&message, 4, values.bytes.p, values.bytes.n);
	dnp_protobuf_append(&message, &values);
	dnp_vec_done(&values.bytes);
	check(&message, "\x22\x03\x03\x8e\x02\x03\x8e\x02", 8);
}

TEST(errors_stay)
{
	struct dnp_protobuf message = {.error = -ENOMEM}, all = {0};

	dnp_protobuf_text(&message, 1, "nothing");
	CHECK_EQ(message.bytes.n, 0);
	dnp_protobuf_append(&all, &message);
	CHECK_EQ(all.error, -ENOMEM);
}
