/* SPDX-License-Identifier: MIT */
/* Files of modules whose names come from recordings, which anybody may have made. For Windows. */
#ifndef DNP_OS_IMAGE_H
#define DNP_OS_IMAGE_H

#include "base/str.h"
#include "os/file.h"

/*
 * Maps a regular file that is named from its drive on (C:\…); others are not opened: a device may
 * act on that, and another machine's share learns who asks. 0 or -errno, -EINVAL: it is none. Pair:
 * dnp_file_unmap.
 */
int dnp_image_load(struct dnp_str path, struct dnp_file_bytes *bytes);

#endif
