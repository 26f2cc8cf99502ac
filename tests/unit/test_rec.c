/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "format/chunk.h"
#include "format/rec.h"
#include "format/varint.h"
#include "test.h"

TEST(varint_roundtrip_at_every_size)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int delta = -1; delta <= 1; delta++) {
			uint64_t value = (UINT64_C(1) << bit) + (uint64_t)(int64_t)delta, back;
			uint8_t bytes[DNP_VARINT_MAX];
			uint8_t *end = dnp_varint_put(bytes, value);

			CHECK_EQ(end - bytes, dnp_varint_size(value));
			CHECK(dnp_varint_get(bytes, end, &back) == end);
			CHECK(back == value);
			CHECK(!dnp_varint_get(bytes, end - 1, &back));
			CHECK(dnp_unzigzag(dnp_zigzag((int64_t)value)) == (int64_t)value);
		}
	}
}

TEST(varint_longer_than_64_bits_is_refused)
{
	uint8_t bytes[16];
	uint64_t value;

	memset(bytes, 0x80, sizeof(bytes));
	CHECK(!dnp_varint_get(bytes, bytes + sizeof(bytes), &value));
}

TEST(record_roundtrip)
{
	struct dnp_rec_frame frame = {
		.index = 300,
		.kind = DNP_FRAME_MANAGED,
		.function = UINT64_MAX,
		.name = dnp_str("A.B.C(int)"),
	};
	struct dnp_rec_sample sample = {.delta_ns = -1000001, .node = 70000, .weight = 1};
	uint8_t bytes[128];
	size_t n = dnp_put_frame(bytes, sizeof(bytes), &frame), at = 0;
	struct dnp_rec_sample sample_back;
	struct dnp_rec_frame frame_back;
	struct dnp_str body;
	uint64_t id;

	CHECK(n);
	n += dnp_put_sample(bytes + n, sizeof(bytes) - n, &sample);
	CHECK_EQ(dnp_rec_next(bytes, n, &at, &id, &body), 1);
	CHECK_EQ(id, DNP_REC_frame);
	CHECK_EQ(dnp_get_frame((const uint8_t *)body.p, body.n, &frame_back), 0);
	CHECK_EQ(frame_back.index, 300);
	CHECK(frame_back.function == UINT64_MAX);
	CHECK_EQ(frame_back.name.n, 10);
	CHECK(!memcmp(frame_back.name.p, "A.B.C(int)", 10));
	CHECK_EQ(dnp_rec_next(bytes, n, &at, &id, &body), 1);
	CHECK_EQ(id, DNP_REC_sample);
	CHECK_EQ(dnp_get_sample((const uint8_t *)body.p, body.n, &sample_back), 0);
	CHECK_EQ(sample_back.delta_ns, -1000001);
	CHECK_EQ(dnp_rec_next(bytes, n, &at, &id, &body), 0);
}

TEST(fields_at_the_end_that_are_zero_are_left_out)
{
	struct dnp_rec_sample sample = {.delta_ns = 5, .node = 7, .weight = 1}, back;
	uint8_t bytes[64];

	/* id, bytes of body, delta, event, thread, node, weight */
	CHECK_EQ(dnp_put_sample(bytes, sizeof(bytes), &sample), 7);
	CHECK_EQ(bytes[1], 5);
	CHECK_EQ(dnp_put_sample(bytes, 6, &sample), 0);
	sample.value = 9;
	CHECK_EQ(dnp_put_sample(bytes, sizeof(bytes), &sample), 9);
	CHECK_EQ(dnp_get_sample(bytes + 2, 7, &back), 0);
	CHECK_EQ(back.weight, 1);
	CHECK_EQ(back.flags, 0);
	CHECK_EQ(back.value, 9);
}

TEST(record_of_zeros_has_no_body)
{
	struct dnp_rec_thread_name none = {0}, back = {.thread = 1};
	uint8_t bytes[8];
	size_t at = 0;
	struct dnp_str body;
	uint64_t id;

	CHECK_EQ(dnp_put_thread_name(bytes, sizeof(bytes), &none), 2);
	CHECK_EQ(dnp_rec_next(bytes, 2, &at, &id, &body), 1);
	CHECK_EQ(body.n, 0);
	CHECK_EQ(dnp_get_thread_name((const uint8_t *)body.p, body.n, &back), 0);
	CHECK_EQ(back.thread, 0);
	CHECK(back.name.p != NULL);
}

TEST(record_that_does_not_fit_writes_nothing)
{
	struct dnp_rec_problem problem = {.text = dnp_str("a sentence")};
	uint8_t bytes[32];

	memset(bytes, 0xee, sizeof(bytes));
	CHECK_EQ(dnp_put_problem(bytes, 5, &problem), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		CHECK_EQ(bytes[i], 0xee);
}

TEST(record_of_an_older_writer_reads_as_zero_where_it_ends)
{
	const uint8_t body[] = {5, 7}; /* event, samples … of stats end after the second field */
	struct dnp_rec_stats stats;

	CHECK_EQ(dnp_get_stats(body, sizeof(body), &stats), 0);
	CHECK_EQ(stats.time_ns, 5);
	CHECK_EQ(stats.event, 7);
	CHECK_EQ(stats.samples, 0);
}

TEST(string_that_an_older_writer_did_not_know_is_empty)
{
	const uint8_t body[] = {5, 7}; /* event and thread */
	struct dnp_rec_call_nodes nodes;

	CHECK_EQ(dnp_get_call_nodes(body, sizeof(body), &nodes), 0);
	CHECK_EQ(nodes.thread, 7);
	CHECK_EQ(nodes.nodes.n, 0);
	CHECK(nodes.nodes.p != NULL); /* readers go to its end by adding n */
}

TEST(record_with_a_string_beyond_its_body_is_damaged)
{
	const uint8_t body[] = {0, 200, 1, 'x'};
	struct dnp_rec_problem problem;

	CHECK_EQ(dnp_get_problem(body, sizeof(body), &problem), -EBADMSG);
}

TEST(chunk_is_whole_or_says_why_not)
{
	struct dnp_chunk_header header, broken;
	uint8_t payload[100];

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)i;
	dnp_chunk_seal(&header, DNP_CHUNK_RECORDS, 42, 7, payload, sizeof(payload));
	CHECK_EQ(dnp_chunk_check(&header, payload, sizeof(payload)), 0);
	CHECK_EQ(dnp_chunk_check(&header, payload, sizeof(payload) - 1), -ENODATA);
	payload[50] ^= 1;
	CHECK_EQ(dnp_chunk_check(&header, payload, sizeof(payload)), -EBADMSG);
	payload[50] ^= 1;
	broken = header;
	broken.sequence++;
	CHECK_EQ(dnp_chunk_check(&broken, payload, sizeof(payload)), -EBADMSG);
	broken = header;
	broken.version++;
	CHECK_EQ(dnp_chunk_check(&broken, payload, sizeof(payload)), -ENOTSUP);
	broken = header;
	broken.magic ^= 1;
	CHECK_EQ(dnp_chunk_check(&broken, payload, sizeof(payload)), -EPROTO);
}
