/* SPDX-License-Identifier: MIT */
/*
 * Packs a finished recording, which makes it two to four times smaller. What records in the target
 * never packs.
 */
#ifndef DNP_READ_PACK_H
#define DNP_READ_PACK_H

#include "base/err.h"

/*
 * Rewrites the recordings in a file with packed chunks; the file is replaced in one step. One that
 * has problems is left as it is: its damage stays where it can be told. 0 or -errno.
 */
int dnp_pack_file(const char *path, struct dnp_err *err);

#endif
