/* SPDX-License-Identifier: MIT */
/*
 * What is said over the control socket of a process that has the agent.
 *
 * The socket lies where the runtime puts its own for diagnostics: in $TMPDIR, or /tmp, of the
 * target. Its name is DNP_CONTROL_NAME with the process id as the target itself knows it and the
 * time at which it began (field 22 of /proc/PID/stat): together they name a process for ever. It is
 * SOCK_SEQPACKET, so that a message comes whole or not at all, has mode 0600, and serves the user
 * that the process belongs to, and root.
 *
 * One connection, one request, one answer. A request may bring a descriptor (SCM_RIGHTS), to which
 * the result goes. Numbers are in the machine's byte order: both ends are on one machine.
 *
 *   uint32  DNP_CONTROL_MAGIC
 *   uint16  DNP_CONTROL_VERSION; these two stay as they are in all versions
 *   uint16  enum dnp_control_kind
 *   uint32  value, see there
 *   uint32  bytes of the text that follows, printable, without a zero
 *
 * No memory but the caller's, no system calls. Any thread.
 */
#ifndef DNP_FORMAT_CONTROL_H
#define DNP_FORMAT_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define DNP_CONTROL_MAGIC   UINT32_C(0x43504e44) /* "DNPC" */
#define DNP_CONTROL_VERSION 1u

/* pid, start time (unsigned long long) */
#define DNP_CONTROL_NAME "dnprof-%d-%llu-socket"

/* Bytes of the longest message. */
#define DNP_CONTROL_MAX  512u
#define DNP_CONTROL_HEAD 16u
#define DNP_CONTROL_TEXT (DNP_CONTROL_MAX - DNP_CONTROL_HEAD)

enum dnp_control_kind {
	/*
	 * Request: the stacks of all threads, now, as a recording into the descriptor that comes
	 * with it: a file in memory (memfd_create), which nobody can make wait. value: after how
	 * many milliseconds nobody will look at the answer any more.
	 */
	DNP_CONTROL_STACK = 1,
	/* Answer: done. value: how many threads there were. */
	DNP_CONTROL_DONE = 2,
	/* Answer: not done. value: an errno; text: why, and what to do. */
	DNP_CONTROL_ERROR = 3,
};

struct dnp_control_message {
	enum dnp_control_kind kind;
	uint32_t value;
	struct dnp_str text; /* borrowed */
};

/* Encodes; returns the length. What does not fit of the text is left out. */
size_t dnp_control_put(uint8_t out[DNP_CONTROL_MAX], const struct dnp_control_message *message);

/*
 * Decodes a packet of n bytes, which may be anything; the text borrows from it. 0,
 * -EPROTONOSUPPORT: it is a message of another version, -EBADMSG: it is none, or damaged.
 */
int dnp_control_get(const void *packet, size_t n, struct dnp_control_message *message);

#endif
