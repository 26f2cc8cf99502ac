/* SPDX-License-Identifier: MIT */
/*
 * The decoder of call events on any bytes: the first two are the count of events, the rest the
 * block, copied to memory of its exact size, so that a read past it is seen. What it decodes must
 * come back when it is encoded and decoded again.
 */
#include <stdlib.h>
#include <string.h>

#include "format/call_codec.h"
#include "fuzz.h"

static struct dnp_call_encoder encoder;
static struct dnp_call_decoder decoder;

struct event {
	uint64_t time, word;
};

static size_t decode(const uint8_t *block, size_t n, uint64_t count, struct event *events)
{
	struct dnp_call_step step;
	size_t decoded = 0;

	if (dnp_call_decoder_begin(&decoder, block, n, count))
		return 0;
	while (dnp_call_decoder_next(&decoder, &step) > 0) {
		if (decoded == count || !step.method || step.method >> DNP_CALL_METHOD_BITS)
			abort();
		events[decoded++] = (struct event){
			step.time,
			dnp_call_word(step.method, step.kind, step.time * DNP_CALL_TIME_TICKS),
		};
	}
	return decoded;
}

/* Units of time that the encoder takes for a step back are no part of the game. */
static int encodable(const struct event *events, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (events[i].time - events[i - 1].time > DNP_CALL_TIME_MASK / 2)
			return 0;
	return n > 0;
}

static void check_again(const struct event *events, size_t n, struct event *again)
{
	static uint8_t block[DNP_CALL_BLOCK_MAX];
	size_t took = 0;

	dnp_call_encoder_begin(&encoder, block, sizeof(block), 0, NULL);
	while (took < n && dnp_call_encoder_add(&encoder, &events[took].word, 1))
		took++;
	if (decode(block, (size_t)(encoder.out - block), took, again) != took)
		abort();
	for (size_t i = 0; i < took; i++)
		if (again[i].word != events[i].word - (events[0].time << DNP_CALL_TIME_SHIFT))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct event events[UINT16_MAX], again[UINT16_MAX];
	uint64_t count;
	uint8_t *block;
	size_t decoded;

	if (n < 2)
		return 0;
	count = (uint64_t)(data[0] | data[1] << 8);
	block = malloc(n - 2 + !(n - 2));
	if (!block)
		abort();
	memcpy(block, data + 2, n - 2);
	decoded = decode(block, n - 2, count, events);
	if (encodable(events, decoded))
		check_again(events, decoded, again);
	free(block);
	return 0;
}
