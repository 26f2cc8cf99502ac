/* SPDX-License-Identifier: MIT */
/*
 * What a thread waits for: by the managed methods on its stack, else by the system call that it is
 * in. Nothing is allocated; any thread.
 */
#ifndef DNP_CAPTURE_WAIT_KIND_H
#define DNP_CAPTURE_WAIT_KIND_H

#include <stdint.h>

#include "base/str.h"
#include "format/rec.h"

/*
 * What who calls a method of .NET waits for, if he waits in it, by the method's full raw name;
 * DNP_WAIT_OTHER: that does not tell.
 */
enum dnp_wait_kind dnp_wait_kind_of_method(struct dnp_str name);

/* By a system call of this process and its first argument, which may be a descriptor. */
enum dnp_wait_kind dnp_wait_kind_of_call(long number, uint64_t argument);

#endif
