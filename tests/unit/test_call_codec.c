/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/call_codec.h"
#include "format/varint.h"
#include "test.h"

#define EVENTS 200000

static struct dnp_call_encoder encoder;
static struct dnp_call_decoder decoder;
static uint64_t words[EVENTS];
static uint8_t block[DNP_CALL_BLOCK_MAX];

static uint64_t random_state = 88172645463325252u;

/* xorshift64, Marsaglia 2003. */
static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 20) % limit;
}

/* What a program does: methods that call the same ones in the same order, with some choice. */
struct program {
	size_t n;
	uint64_t ticks;
};

static void put(struct program *program, uint32_t method, enum dnp_call_kind kind)
{
	program->ticks += 60 + random_below(random_below(20) ? 200 : 4000);
	if (program->n < EVENTS)
		words[program->n++] = dnp_call_word(method, kind, program->ticks);
}

static void run(struct program *program, uint32_t method, unsigned depth)
{
	unsigned calls = depth < 12 ? method * 2654435761u >> 30 : 0;

	put(program, method, DNP_CALL_ENTER);
	for (unsigned i = 0; i < calls + (depth < 3); i++)
		run(program, 1 + (method * 31 + i * 977 + (random_below(8) ? 0 : 7919)) % 800,
			depth + 1);
	put(program, method,
		random_below(300) ? method % 9 ? DNP_CALL_LEAVE : DNP_CALL_TAILCALL
				  : DNP_CALL_UNWOUND);
}

static void run_program(void)
{
	struct program program = {.ticks = 12345678};

	while (program.n < EVENTS)
		run(&program, 1 + random_below(3), 0);
}

/* Encodes words[from…] into one block, decodes it, compares; how many events were in it. */
static size_t roundtrip(size_t from, size_t n, uint64_t *depth, size_t *bytes)
{
	struct dnp_call_step step;
	uint64_t first = dnp_call_word_time(words[from]), now = first, passed = 0;
	size_t took;

	dnp_call_encoder_begin(&encoder, block, sizeof(block), *depth, NULL);
	took = dnp_call_encoder_add(&encoder, words + from, n);
	*bytes = (size_t)(encoder.out - block);
	*depth = encoder.depth;
	CHECK_EQ(encoder.count, took);
	CHECK_EQ(dnp_call_decoder_begin(&decoder, block, *bytes, took), 0);
	for (size_t i = from; i < from + took; i++) {
		uint64_t then = dnp_call_word_time(words[i]);

		if (((then - now) & DNP_CALL_TIME_MASK) <= DNP_CALL_TIME_MASK / 2) {
			passed += (then - now) & DNP_CALL_TIME_MASK;
			now = then;
		}
		CHECK_EQ(dnp_call_decoder_next(&decoder, &step), 1);
		CHECK_EQ(step.method, dnp_call_word_method(words[i]));
		CHECK_EQ(step.kind, dnp_call_word_kind(words[i]));
		CHECK_EQ(step.time, passed);
	}
	CHECK_EQ(encoder.time, passed);
	CHECK_EQ(dnp_call_decoder_next(&decoder, &step), 0);
	return took;
}

static size_t roundtrip_all(size_t *blocks)
{
	size_t total = 0, bytes;
	uint64_t depth = 0;

	*blocks = 0;
	for (size_t at = 0; at < EVENTS; ++*blocks) {
		size_t took = roundtrip(at, EVENTS - at, &depth, &bytes);

		CHECK(took > 0);
		at += took;
		total += bytes;
	}
	dnp_call_decoder_done(&decoder);
	return total;
}

TEST(a_program_costs_little_and_comes_back)
{
	size_t blocks, bytes;

	run_program();
	bytes = roundtrip_all(&blocks);
	CHECK(blocks > 3);
	CHECK(bytes < EVENTS * 2);
	CHECK_EQ(encoder.kinds[0] + encoder.kinds[1] + encoder.kinds[2] + encoder.kinds[3], EVENTS);
}

TEST(whatever_happens_comes_back)
{
	size_t blocks;

	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t time = i ? dnp_call_word_time(words[i - 1]) : 0;
		uint32_t most = 1u << random_below(43) % 31;

		time = random_below(10) ? time + random_below(most) : time - random_below(1000);
		if (!random_below(1000))
			time += UINT64_C(1) << 40;
		words[i] = time << DNP_CALL_TIME_SHIFT |
			(uint64_t)random_below(4) << DNP_CALL_METHOD_BITS |
			(1 + random_below(random_below(3) ? 5 : 0xfffff));
	}
	roundtrip_all(&blocks);
}

TEST(depth_counts_calls_open_before_the_block_too)
{
	size_t bytes;
	uint64_t depth = 2;

	words[0] = dnp_call_word(7, DNP_CALL_LEAVE, 100);    /* of one from before: 1 */
	words[1] = dnp_call_word(8, DNP_CALL_ENTER, 200);    /* 2 */
	words[2] = dnp_call_word(9, DNP_CALL_ENTER, 300);    /* 3 */
	words[3] = dnp_call_word(10, DNP_CALL_LEAVE, 400);   /* never began: 3 */
	words[4] = dnp_call_word(8, DNP_CALL_UNWOUND, 500);  /* and with it 9: 1 */
	words[5] = dnp_call_word(7, DNP_CALL_TAILCALL, 600); /* 0 */
	words[6] = dnp_call_word(7, DNP_CALL_LEAVE, 700);    /* there is none: 0 */
	words[7] = dnp_call_word(7, DNP_CALL_ENTER, 800);    /* 1 */
	CHECK_EQ(roundtrip(0, 8, &depth, &bytes), 8);
	CHECK_EQ(depth, 1);
	dnp_call_decoder_done(&decoder);
}

TEST(deep_recursion_costs_little_on_its_way_back)
{
	size_t bytes, n = 20000;
	uint64_t depth = n;

	for (size_t i = 0; i < n; i++)
		words[i] = dnp_call_word(1000, DNP_CALL_LEAVE, i * 500);
	CHECK_EQ(roundtrip(0, n, &depth, &bytes), n);
	CHECK_EQ(depth, 0);
	CHECK(bytes < n + 16);
	dnp_call_decoder_done(&decoder);
}

static struct dnp_call_carry carry;

static size_t encode(const uint64_t *from, size_t n)
{
	size_t took;

	dnp_call_encoder_begin(&encoder, block, sizeof(block), encoder.depth, &carry);
	took = dnp_call_encoder_add(&encoder, from, n);
	dnp_call_encoder_end(&encoder);
	return took;
}

/* Exceptions end calls untold, in blocks that these did not begin in, too. */
TEST(encoder_ends_calls_of_earlier_blocks)
{
	for (uint32_t i = 0; i < 6; i++)
		words[i] = dnp_call_word(1 + i, DNP_CALL_ENTER, i * UINT64_C(100));
	words[6] = dnp_call_word(3, DNP_CALL_UNWOUND, 700); /* with 4, 5 and 6 */
	words[7] = dnp_call_word(9, DNP_CALL_LEAVE, 800);   /* began nowhere */
	words[8] = dnp_call_word(1, DNP_CALL_LEAVE, 900);   /* and 2 with it */
	CHECK_EQ(encode(words, 2), 2);
	CHECK_EQ(encode(words + 2, 3), 3);
	CHECK_EQ(encode(words + 5, 4), 1); /* 6, in which 3 does not end */
	CHECK_EQ(encoder.depth, 6);
	CHECK_EQ(encode(words + 6, 3), 3);
	CHECK_EQ(encoder.depth, 0);
	CHECK_EQ(carry.n, 0);
	CHECK_EQ(encoder.kinds[DNP_CALL_ENTER], 6);
	CHECK_EQ(encoder.kinds[DNP_CALL_UNWOUND], 5);
	CHECK_EQ(encoder.kinds[DNP_CALL_LEAVE], 1);
}

/* Of more calls than are carried the innermost ones are known. */
TEST(encoder_carries_innermost_calls)
{
	for (uint32_t i = 0; i < 1000; i++)
		words[i] = dnp_call_word(1 + i, DNP_CALL_ENTER, i * UINT64_C(100));
	for (size_t at = 0; at < 1000; at += 100)
		CHECK_EQ(encode(words + at, 100), 100);
	words[0] = dnp_call_word(990, DNP_CALL_UNWOUND, 200000);
	for (uint32_t i = 1; i < 990; i++)
		words[i] = dnp_call_word(990 - i, DNP_CALL_LEAVE, 200000 + i * UINT64_C(100));
	for (size_t at = 0; at < 990; at += 99)
		CHECK_EQ(encode(words + at, 99), 99);
	CHECK_EQ(encoder.depth, 0);
	CHECK_EQ(encoder.kinds[DNP_CALL_UNWOUND], 11);
	CHECK_EQ(encoder.kinds[DNP_CALL_LEAVE], 989);
}

TEST(encoder_stops_at_what_is_no_event_and_where_room_ends)
{
	uint8_t small[DNP_CALL_EVENT_BYTES + 4];
	size_t took;

	for (size_t i = 0; i < 100; i++)
		words[i] =
			dnp_call_word(1 + (uint32_t)i % 2, DNP_CALL_ENTER, i * UINT64_C(1) << 20);
	words[50] = dnp_call_word(0, DNP_CALL_ENTER, 0);
	dnp_call_encoder_begin(&encoder, block, sizeof(block), 0, NULL);
	CHECK_EQ(dnp_call_encoder_add(&encoder, words, 100), 50);
	CHECK_EQ(dnp_call_encoder_add(&encoder, words + 50, 50), 0);
	CHECK_EQ(dnp_call_encoder_add(&encoder, words + 51, 49), 49);
	CHECK_EQ(encoder.count, 99);
	dnp_call_encoder_begin(&encoder, small, sizeof(small), 0, NULL);
	took = dnp_call_encoder_add(&encoder, words, 50);
	CHECK(took > 0 && took < 5);
	CHECK(encoder.out <= small + sizeof(small));
}

static int decode(const void *bytes, size_t n, uint64_t count)
{
	struct dnp_call_step step;
	int status = dnp_call_decoder_begin(&decoder, bytes, n, count);

	if (status)
		return status;
	while ((status = dnp_call_decoder_next(&decoder, &step)) > 0)
		CHECK(step.method);
	CHECK_EQ(dnp_call_decoder_next(&decoder, &step), 0);
	return status;
}

TEST(decoder_refuses_what_is_no_block)
{
	uint8_t told_none[] = {DNP_CALL_TOLD, 0}, told[] = {DNP_CALL_TOLD, 4};
	uint8_t guess_enter[] = {DNP_CALL_AGAIN}, guess_end[] = {DNP_CALL_RETURN};
	uint8_t cut_time[] = {DNP_CALL_TOLD | 62 << 2, 1, 2, 3};
	uint8_t long_time[] = {DNP_CALL_TOLD | 63 << 2, 0, 0, 0, 0, 0, 4, 0, 0, 4};
	uint8_t cut_method[] = {DNP_CALL_TOLD, 0x84};
	uint8_t behind[] = {DNP_CALL_TOLD, 4, DNP_CALL_RETURN};
	uint8_t large[1 + DNP_VARINT_MAX] = {DNP_CALL_TOLD};
	size_t n_large = (size_t)(dnp_varint_put(large + 1, UINT64_C(1) << 22) - large);

	CHECK_EQ(decode(told, sizeof(told), 1), 0);
	CHECK_EQ(decode(told, 0, 0), 0);
	CHECK_EQ(decode(told, sizeof(told), 3), -EBADMSG);
	CHECK_EQ(decode(told, sizeof(told), 2), -EBADMSG);
	CHECK_EQ(decode(told_none, sizeof(told_none), 1), -EBADMSG);
	CHECK_EQ(decode(guess_enter, sizeof(guess_enter), 1), -EBADMSG);
	CHECK_EQ(decode(guess_end, sizeof(guess_end), 1), -EBADMSG);
	CHECK_EQ(decode(cut_time, sizeof(cut_time), 1), -EBADMSG);
	CHECK_EQ(decode(long_time, sizeof(long_time), 1), -EBADMSG);
	CHECK_EQ(decode(cut_method, sizeof(cut_method), 1), -EBADMSG);
	CHECK_EQ(decode(behind, sizeof(behind), 1), -EBADMSG);
	CHECK_EQ(decode(behind, sizeof(behind), 2), 0);
	CHECK_EQ(decode(large, n_large, 1), -EBADMSG);
	dnp_call_decoder_done(&decoder);
}
