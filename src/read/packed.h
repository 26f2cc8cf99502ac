/* SPDX-License-Identifier: MIT */
/*
 * Chunks of records, packed (DNP_CHUNK_PACKED): a finished recording is rewritten so, which makes
 * it two to four times smaller. What records in the target never packs.
 */
#ifndef DNP_READ_PACKED_H
#define DNP_READ_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * The records in a packed payload, in memory that the caller frees. 0, -EBADMSG: damaged, or larger
 * than a payload may be, -ENOMEM.
 */
int dnp_unpack(const uint8_t *payload, size_t n, uint8_t **records, size_t *n_records);

/*
 * Rewrites the recordings in a file with packed chunks; the file is replaced in one step. One that
 * has problems is left as it is: its damage stays where it can be told. 0 or -errno.
 */
int dnp_pack_file(const char *path, struct dnp_err *err);

#endif
