/* SPDX-License-Identifier: MIT */
/*
 * Writes messages of Protocol Buffers in memory, field by field, any depth.
 *
 *	size_t at = dnp_protobuf_open(&message, 4);
 *	dnp_protobuf_u64(&message, 1, 7);
 *	dnp_protobuf_close(&message, at);
 *
 * A zeroed one is empty; dnp_vec_done(&message.bytes) frees it. Writing never fails in between:
 * memory that was not to be had is told by `error`, and what is written then means nothing.
 * The encoding: protobuf.dev, "Encoding".
 */
#ifndef DNP_BASE_PROTOBUF_H
#define DNP_BASE_PROTOBUF_H

#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"

struct dnp_protobuf {
	struct dnp_vec_of(uint8_t) bytes;
	int error; /* -ENOMEM, or -EOVERFLOW: a message of 256 MiB */
};

/* Any of the integer types without zigzag, bool, enum; negative ones as int64 has them. */
void dnp_protobuf_u64(struct dnp_protobuf *message, uint32_t field, uint64_t value);
/* A string; what is not UTF-8 is replaced. */
void dnp_protobuf_str(struct dnp_protobuf *message, uint32_t field, struct dnp_str value);
void dnp_protobuf_text(struct dnp_protobuf *message, uint32_t field, const char *value);

/* What follows up to its close is a message, or the elements of a packed field. */
size_t dnp_protobuf_open(struct dnp_protobuf *message, uint32_t field);
void dnp_protobuf_close(struct dnp_protobuf *message, size_t opened);
/* Whole bytes that were written elsewhere, as a field. */
void dnp_protobuf_bytes(struct dnp_protobuf *message, uint32_t field, const void *bytes, size_t n);
/* All fields of another one, at the end of this one. */
void dnp_protobuf_append(struct dnp_protobuf *message, const struct dnp_protobuf *fields);
/* An element of a packed field. */
void dnp_protobuf_varint(struct dnp_protobuf *message, uint64_t value);

#endif
