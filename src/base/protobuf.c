/* SPDX-License-Identifier: MIT */
#include "base/protobuf.h"

#include "base/utf8.h"

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2 };

#define VARINT_MAX   10u
#define LENGTH_BYTES 4u /* of a message whose length is not known before: 28 bits */
#define LENGTH_MAX   ((size_t)1 << (7 * LENGTH_BYTES))

/* Room for n more bytes; NULL: none. The caller moves the count. */
static uint8_t *room(struct dnp_protobuf *message, size_t n)
{
	if (message->error || dnp_vec_reserve(&message->bytes, message->bytes.n + n)) {
		message->error = message->error ? message->error : -ENOMEM;
		return NULL;
	}
	return message->bytes.p + message->bytes.n;
}

void dnp_protobuf_varint(struct dnp_protobuf *message, uint64_t value)
{
	uint8_t *out = room(message, VARINT_MAX);

	if (!out)
		return;
	for (; value >= 0x80; value >>= 7)
		*out++ = (uint8_t)(value | 0x80);
	*out++ = (uint8_t)value;
	message->bytes.n = (size_t)(out - message->bytes.p);
}

static void key(struct dnp_protobuf *message, uint32_t field, enum wire wire)
{
	dnp_protobuf_varint(message, (uint64_t)field << 3 | wire);
}

void dnp_protobuf_u64(struct dnp_protobuf *message, uint32_t field, uint64_t value)
{
	key(message, field, WIRE_VARINT);
	dnp_protobuf_varint(message, value);
}

static void append(struct dnp_protobuf *message, const void *bytes, size_t n)
{
	uint8_t *out = n ? room(message, n) : NULL;

	if (!out)
		return;
	memcpy(out, bytes, n);
	message->bytes.n += n;
}

void dnp_protobuf_bytes(struct dnp_protobuf *message, uint32_t field, const void *bytes, size_t n)
{
	key(message, field, WIRE_BYTES);
	dnp_protobuf_varint(message, n);
	append(message, bytes, n);
}

void dnp_protobuf_append(struct dnp_protobuf *message, const struct dnp_protobuf *fields)
{
	if (fields->error)
		message->error = fields->error;
	append(message, fields->bytes.p, fields->bytes.n);
}

size_t dnp_protobuf_open(struct dnp_protobuf *message, uint32_t field)
{
	key(message, field, WIRE_BYTES);
	if (room(message, LENGTH_BYTES))
		message->bytes.n += LENGTH_BYTES;
	return message->bytes.n;
}

/* The length in all of its bytes, also where fewer would do: readers take that. */
void dnp_protobuf_close(struct dnp_protobuf *message, size_t opened)
{
	size_t length = message->bytes.n - opened;

	if (!message->error && length >= LENGTH_MAX)
		message->error = -EOVERFLOW;
	if (message->error)
		return;
	for (size_t i = 0; i < LENGTH_BYTES; i++)
		message->bytes.p[opened - LENGTH_BYTES + i] =
			(uint8_t)((length >> 7 * i & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

void dnp_protobuf_str(struct dnp_protobuf *message, uint32_t field, struct dnp_str value)
{
	size_t opened = dnp_protobuf_open(message, field);

	for (size_t at = 0; at < value.n;) {
		uint8_t *out = room(message, 4);

		if (!out)
			return;
		message->bytes.n += dnp_utf8_put((char *)out, dnp_utf8_next(value, &at));
	}
	dnp_protobuf_close(message, opened);
}

void dnp_protobuf_text(struct dnp_protobuf *message, uint32_t field, const char *value)
{
	dnp_protobuf_str(message, field, dnp_str(value));
}
