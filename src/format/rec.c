/* SPDX-License-Identifier: MIT */
#include "format/rec.h"

#include <errno.h>

#include "format/varint.h"

static const uint8_t *get_str(const uint8_t *in, const uint8_t *end, struct dnp_str *str)
{
	uint64_t n;

	in = dnp_varint_get(in, end, &n);
	if (!in || n > (uint64_t)(end - in))
		return NULL;
	*str = (struct dnp_str){(const char *)in, (size_t)n};
	return in + n;
}

static uint8_t *put_str(uint8_t *out, struct dnp_str str)
{
	out = dnp_varint_put(out, str.n);
	if (str.n)
		memcpy(out, str.p, str.n);
	return out + str.n;
}

/* Bytes of the body of each record: up to the last field that is not 0 or empty. */
#define DNP_RECORD(id, name, doc)                                                                  \
	static size_t size_##name(const struct dnp_rec_##name *rec)                                \
	{                                                                                          \
		size_t n = 0, kept = 0;
#define U(field, doc)                                                                              \
	n += dnp_varint_size(rec->field);                                                          \
	kept = rec->field ? n : kept;
#define I(field, doc)                                                                              \
	n += dnp_varint_size(dnp_zigzag(rec->field));                                              \
	kept = rec->field ? n : kept;
#define S(field, doc)                                                                              \
	n += dnp_varint_size(rec->field.n) + rec->field.n;                                         \
	kept = rec->field.n ? n : kept;
#define DNP_RECORD_END(name)                                                                       \
	return kept;                                                                               \
	}
#include "format/rec.def"

#define DNP_RECORD(id, name, doc)                                                                  \
	size_t dnp_put_##name(uint8_t *out, size_t capacity, const struct dnp_rec_##name *rec)     \
	{                                                                                          \
		size_t body = size_##name(rec);                                                    \
		uint8_t *p = out, *end;                                                            \
                                                                                                   \
		if (dnp_varint_size(id) + dnp_varint_size(body) + body > capacity)                 \
			return 0;                                                                  \
		p = dnp_varint_put(p, id);                                                         \
		p = dnp_varint_put(p, body);                                                       \
		end = p + body;
#define U(field, doc)                                                                              \
	if (p < end)                                                                               \
		p = dnp_varint_put(p, rec->field);
#define I(field, doc)                                                                              \
	if (p < end)                                                                               \
		p = dnp_varint_put(p, dnp_zigzag(rec->field));
#define S(field, doc)                                                                              \
	if (p < end)                                                                               \
		p = put_str(p, rec->field);
#define DNP_RECORD_END(name)                                                                       \
	return (size_t)(p - out);                                                                  \
	}
#include "format/rec.def"

/* A record without any field. */
#define DNP_RECORD(id, name, doc) static const struct dnp_rec_##name none_##name = {
#define U(field, doc)             .field = 0,
#define I(field, doc)             .field = 0,
#define S(field, doc)             .field = {"", 0},
#define DNP_RECORD_END(name)                                                                       \
	}                                                                                          \
	;
#include "format/rec.def"

/* The fields that a body lacks are 0, or empty, or of a writer that did not know them. */
#define DNP_RECORD(id, name, doc)                                                                  \
	int dnp_get_##name(const uint8_t *in, size_t n, struct dnp_rec_##name *rec)                \
	{                                                                                          \
		const uint8_t *end = in + n;                                                       \
                                                                                                   \
		*rec = none_##name;
#define U(field, doc)                                                                              \
	if (in == end)                                                                             \
		return 0;                                                                          \
	in = dnp_varint_get(in, end, &rec->field);                                                 \
	if (!in)                                                                                   \
		return -EBADMSG;
#define I(field, doc)                                                                              \
	if (in == end)                                                                             \
		return 0;                                                                          \
	in = dnp_varint_get(in, end, (uint64_t *)&rec->field);                                     \
	if (!in)                                                                                   \
		return -EBADMSG;                                                                   \
	rec->field = dnp_unzigzag((uint64_t)rec->field);
#define S(field, doc)                                                                              \
	if (in == end)                                                                             \
		return 0;                                                                          \
	in = get_str(in, end, &rec->field);                                                        \
	if (!in)                                                                                   \
		return -EBADMSG;
#define DNP_RECORD_END(name)                                                                       \
	return 0;                                                                                  \
	}
#include "format/rec.def"

int dnp_rec_next(const uint8_t *payload, size_t n, size_t *at, uint64_t *id, struct dnp_str *body)
{
	const uint8_t *end = payload + n;
	const uint8_t *in = payload + *at;

	if (in == end)
		return 0;
	in = dnp_varint_get(in, end, id);
	if (!in)
		return -EBADMSG;
	in = get_str(in, end, body);
	if (!in)
		return -EBADMSG;
	*at = (size_t)(in - payload);
	return 1;
}

const char dnp_rec_schema[] =
#define DNP_RECORD(id, name, doc) "record " #id " " #name ": " doc "\n"
#define U(field, doc)             "  u " #field ": " doc "\n"
#define I(field, doc)             "  i " #field ": " doc "\n"
#define S(field, doc)             "  s " #field ": " doc "\n"
#define DNP_RECORD_END(name)
#include "format/rec.def"
	;
