/* SPDX-License-Identifier: MIT */
#include "format/call_codec.h"

#include <errno.h>
#include <string.h>

#include "format/varint.h"

#define SHORT_TIMES 60 /* units of time that stand in the first byte */

static inline uint32_t guess_at(const struct dnp_call_place *place)
{
	return (place->method * 0x9e3779b1u + place->last * 0x85ebca6bu) >> 20;
}

_Static_assert(DNP_CALL_GUESSES == 1 << (32 - 20), "the hash has as many values as the table");

/* How many calls an end of `method` ends; 0: it is none of them. The innermost is `top`. */
static uint32_t ended_by(const struct dnp_call_place *top, uint32_t open, uint32_t method)
{
	for (uint32_t i = 0; i < open && i < DNP_CALL_SEARCH; i++)
		if (top[-(ptrdiff_t)i].method == method)
			return i + 1;
	return 0;
}

/* ---- Encoder */

void dnp_call_encoder_begin(struct dnp_call_encoder *encoder, uint8_t *out, size_t room,
	uint64_t depth, struct dnp_call_carry *carry)
{
	if (room > DNP_CALL_BLOCK_MAX)
		room = DNP_CALL_BLOCK_MAX;
	encoder->out = out;
	encoder->end = out + room;
	encoder->time = 0;
	encoder->depth = depth;
	encoder->carry = carry;
	encoder->count = 0;
	encoder->open = 0;
	encoder->places[0] = (struct dnp_call_place){0};
	memset(encoder->guesses, 0, sizeof(encoder->guesses));
}

static inline uint8_t *put_bytes(uint8_t *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*out++ = (uint8_t)(value >> 8 * i);
	return out;
}

static uint8_t *put_long(uint8_t *out, enum dnp_call_code code, uint64_t time)
{
	unsigned size = time <= UINT8_MAX ? 0 : time <= UINT16_MAX ? 1 : time <= UINT32_MAX ? 2 : 3;

	*out++ = (uint8_t)(code | (SHORT_TIMES + size) << 2);
	return put_bytes(out, time, 1u << size);
}

static inline uint8_t *put(uint8_t *out, enum dnp_call_code code, uint64_t time)
{
	if (__builtin_expect(time >= SHORT_TIMES, 0))
		return put_long(out, code, time);
	*out++ = (uint8_t)(code | time << 2);
	return out;
}

static inline uint8_t *put_told(
	uint8_t *out, uint32_t method, enum dnp_call_kind kind, uint64_t time)
{
	out = put(out, DNP_CALL_TOLD, time);
	return dnp_varint_put(out, (uint64_t)method << 2 | kind);
}

/* As ended_by, of the calls from before the block. */
static uint32_t ended_before(const struct dnp_call_carry *carry, uint32_t method)
{
	for (uint32_t i = 0; carry && i < carry->n && i < DNP_CALL_SEARCH; i++)
		if (carry->method[carry->n - 1 - i] == method)
			return i + 1;
	return 0;
}

/* An end while no call of the block is open. */
static void end_before(struct dnp_call_encoder *encoder, uint32_t method, enum dnp_call_kind kind)
{
	struct dnp_call_carry *carry = encoder->carry;
	uint32_t known = carry ? carry->n : 0, ended = ended_before(carry, method);

	/* Of those that are not known it is the innermost. */
	if (!ended && known < DNP_CALL_SEARCH && known < encoder->depth)
		ended = known + 1;
	if (!ended) {
		encoder->kinds[kind]--;
		return;
	}
	encoder->kinds[DNP_CALL_UNWOUND] += ended - 1;
	encoder->depth -= ended;
	if (carry)
		carry->n = ended < known ? known - ended : 0;
}

void dnp_call_encoder_end(struct dnp_call_encoder *encoder)
{
	struct dnp_call_carry *carry = encoder->carry;
	uint32_t from = 1, keep;

	if (!carry)
		return;
	if (encoder->open > DNP_CALL_CARRIED)
		from += encoder->open - DNP_CALL_CARRIED;
	keep = DNP_CALL_CARRIED - (encoder->open + 1 - from);
	if (carry->n > keep) {
		memmove(carry->method, carry->method + carry->n - keep,
			keep * sizeof(*carry->method));
		carry->n = keep;
	}
	for (uint32_t i = from; i <= encoder->open; i++)
		carry->method[carry->n++] = encoder->places[i].method;
}

/*
 * An end that is not that of the innermost call of the block, or none that needs no telling. NULL:
 * it is one for the next block.
 */
static uint8_t *put_other_end(struct dnp_call_encoder *encoder, uint8_t *out, uint32_t method,
	enum dnp_call_kind kind, uint64_t time)
{
	struct dnp_call_place *top = &encoder->places[encoder->open];
	uint32_t *guess = &encoder->guesses[guess_at(top) ^ 1];
	uint32_t ended;

	if (!encoder->open) {
		uint32_t guessed = *guess;

		end_before(encoder, method, kind);
		*guess = top->last = method;
		if (guessed == method && kind != DNP_CALL_UNWOUND)
			return put(out, (enum dnp_call_code)kind, time);
		return put_told(out, method, kind, time);
	}
	ended = ended_by(top, encoder->open, method);
	if (!ended && encoder->open < DNP_CALL_SEARCH && ended_before(encoder->carry, method))
		return NULL;
	encoder->depth -= ended;
	encoder->open -= ended;
	if (ended) {
		encoder->places[encoder->open].last = method;
		/* Those within it: the runtime does not tell of each that an exception ends. */
		encoder->kinds[DNP_CALL_UNWOUND] += ended - 1;
	} else {
		encoder->kinds[kind]--;
	}
	return put_told(out, method, kind, time);
}

_Static_assert((int)DNP_CALL_RETURN == DNP_CALL_LEAVE && (int)DNP_CALL_JUMP == DNP_CALL_TAILCALL,
	"ends that need no telling have the code of their kind");

static inline uint8_t *put_enter(
	struct dnp_call_encoder *encoder, uint8_t *out, uint32_t method, uint64_t time)
{
	struct dnp_call_place *top = &encoder->places[encoder->open++];
	uint32_t *guess = &encoder->guesses[guess_at(top)];

	encoder->depth++;
	top[1] = (struct dnp_call_place){.method = method};
	if (*guess == method)
		return put(out, DNP_CALL_AGAIN, time);
	*guess = method;
	return put_told(out, method, DNP_CALL_ENTER, time);
}

static inline uint8_t *put_end(struct dnp_call_encoder *encoder, uint8_t *out, uint32_t method,
	enum dnp_call_kind kind, uint64_t time)
{
	struct dnp_call_place *top = &encoder->places[encoder->open];

	if (top->method != method || kind == DNP_CALL_UNWOUND)
		return put_other_end(encoder, out, method, kind, time);
	encoder->depth--;
	encoder->open--;
	top[-1].last = method;
	return put(out, (enum dnp_call_code)kind, time);
}

/* Units since the event before. */
static inline uint64_t pass(struct dnp_call_encoder *encoder, uint64_t now)
{
	uint64_t passed = (now - encoder->last) & DNP_CALL_TIME_MASK;

	if (passed > DNP_CALL_TIME_MASK / 2)
		return 0;
	encoder->last = now;
	encoder->time += passed;
	return passed;
}

size_t dnp_call_encoder_add(struct dnp_call_encoder *encoder, const uint64_t *words, size_t n)
{
	uint8_t *out = encoder->out;
	size_t i;

	if (n && !encoder->count)
		encoder->last = dnp_call_word_time(words[0]);
	for (i = 0; i < n; i++) {
		uint32_t method = dnp_call_word_method(words[i]);
		enum dnp_call_kind kind = dnp_call_word_kind(words[i]);
		uint8_t *next;
		uint64_t time;

		if (!method || encoder->end - out < DNP_CALL_EVENT_BYTES)
			break;
		time = pass(encoder, dnp_call_word_time(words[i]));
		next = kind == DNP_CALL_ENTER ? put_enter(encoder, out, method, time)
					      : put_end(encoder, out, method, kind, time);
		if (!next)
			break;
		encoder->kinds[kind]++;
		out = next;
	}
	encoder->out = out;
	encoder->count += (uint32_t)i;
	return i;
}

/* ---- Decoder */

int dnp_call_decoder_begin(
	struct dnp_call_decoder *decoder, const uint8_t *block, size_t n, uint64_t count)
{
	if (count > n)
		return -EBADMSG;
	decoder->in = block;
	decoder->end = block + n;
	decoder->left = count;
	decoder->time = 0;
	decoder->places.n = 0;
	memset(decoder->guesses, 0, sizeof(decoder->guesses));
	return dnp_vec_push(&decoder->places, (struct dnp_call_place){0});
}

void dnp_call_decoder_done(struct dnp_call_decoder *decoder)
{
	dnp_vec_done(&decoder->places);
}

static int get_time(struct dnp_call_decoder *decoder, unsigned code)
{
	size_t bytes = (size_t)1 << (code - SHORT_TIMES);
	uint64_t time = 0;

	if ((size_t)(decoder->end - decoder->in) < bytes)
		return -EBADMSG;
	for (size_t i = 0; i < bytes; i++)
		time |= (uint64_t)*decoder->in++ << 8 * i;
	if (time > DNP_CALL_TIME_MASK)
		return -EBADMSG;
	decoder->time += time;
	return 0;
}

static int get_told(struct dnp_call_decoder *decoder, struct dnp_call_step *step)
{
	uint64_t told;

	decoder->in = dnp_varint_get(decoder->in, decoder->end, &told);
	if (!decoder->in || told >> 2 >> DNP_CALL_METHOD_BITS || told < 4)
		return -EBADMSG;
	step->method = (uint32_t)(told >> 2);
	step->kind = (enum dnp_call_kind)(told & 3);
	return 0;
}

static int enter(struct dnp_call_decoder *decoder, struct dnp_call_step *step)
{
	struct dnp_call_place *top = &decoder->places.p[decoder->places.n - 1];
	uint32_t *guess = &decoder->guesses[guess_at(top)];

	if (!step->method)
		step->method = *guess;
	if (!step->method)
		return -EBADMSG;
	*guess = step->method;
	return dnp_vec_push(&decoder->places, (struct dnp_call_place){.method = step->method});
}

static int end(struct dnp_call_decoder *decoder, struct dnp_call_step *step)
{
	uint32_t open = (uint32_t)decoder->places.n - 1, ended;
	struct dnp_call_place *top = &decoder->places.p[open];

	if (!open) {
		uint32_t *guess = &decoder->guesses[guess_at(top) ^ 1];

		if (!step->method)
			step->method = *guess;
		if (!step->method)
			return -EBADMSG;
		*guess = top->last = step->method;
		return 0;
	}
	if (!step->method)
		step->method = top->method;
	ended = ended_by(top, open, step->method);
	decoder->places.n -= ended;
	if (ended)
		decoder->places.p[open - ended].last = step->method;
	return 0;
}

static int decode(struct dnp_call_decoder *decoder, struct dnp_call_step *step)
{
	static const enum dnp_call_kind kinds[] = {
		[DNP_CALL_AGAIN] = DNP_CALL_ENTER,
		[DNP_CALL_RETURN] = DNP_CALL_LEAVE,
		[DNP_CALL_JUMP] = DNP_CALL_TAILCALL,
	};
	unsigned first, code;
	int status = 0;

	if (decoder->in == decoder->end)
		return -EBADMSG;
	first = *decoder->in++;
	code = first & 3;
	if (first >> 2 < SHORT_TIMES)
		decoder->time += first >> 2;
	else
		status = get_time(decoder, first >> 2);
	if (status)
		return status;
	step->time = decoder->time;
	step->method = 0;
	if (code == DNP_CALL_TOLD)
		status = get_told(decoder, step);
	else
		step->kind = kinds[code];
	if (status)
		return status;
	return step->kind == DNP_CALL_ENTER ? enter(decoder, step) : end(decoder, step);
}

int dnp_call_decoder_next(struct dnp_call_decoder *decoder, struct dnp_call_step *step)
{
	int status;

	if (!decoder->left && decoder->in == decoder->end)
		return 0;
	status = decoder->left ? decode(decoder, step) : -EBADMSG;
	if (status) {
		decoder->in = decoder->end;
		decoder->left = 0;
		return status;
	}
	decoder->left--;
	return 1;
}
