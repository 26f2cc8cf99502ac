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
 * On Windows it is a named pipe of that name, with the ticks of a FILETIME; see os/channel.h.
 *
 * One connection, one request, one answer; only a connection that DNP_CONTROL_START holds takes
 * more of them, one after the other. Requests and answers may bring a descriptor (SCM_RIGHTS).
 * Numbers are in the machine's byte order: both ends are on one machine.
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
#define DNP_CONTROL_VERSION 2u

/* pid, start time (unsigned long long) */
#define DNP_CONTROL_NAME "dnprof-%d-%llu-socket"

/* Bytes of the longest message: too many for the stacks of our own threads. */
#define DNP_CONTROL_MAX  32768u
#define DNP_CONTROL_HEAD 16u
#define DNP_CONTROL_TEXT (DNP_CONTROL_MAX - DNP_CONTROL_HEAD)

/*
 * In a process that has the agent either one recording is made or none. It is begun at the
 * program's start by `dnprof run`, or by DNP_CONTROL_START.
 */
enum dnp_control_kind {
	/*
	 * Request: the stacks of all threads, now, as a recording into the descriptor that comes
	 * with it: a file in memory (memfd_create), which nobody can make wait. value: after how
	 * many milliseconds nobody will look at the answer any more. The answer's value: how many
	 * threads there were.
	 */
	DNP_CONTROL_STACK = 1,
	/* Answer: done. value, text, a descriptor: see the requests. */
	DNP_CONTROL_DONE = 2,
	/* Answer: not done. value: an errno; text: why, and what to do. */
	DNP_CONTROL_ERROR = 3,
	/*
	 * Nobody asked: the recording that this connection holds has ended by itself and is whole
	 * and closed. value: enum dnp_end_reason (format/rec.h); text: what went wrong, empty:
	 * nothing. The connection stays until the client ends it, for DETACH say; one that ends
	 * without this: the process has died.
	 */
	DNP_CONTROL_END = 4,
	/*
	 * Request: begin to record, into the regular file that comes with it, empty and open for
	 * reading and writing. text: what and how (format/agent_options.h), without a place for
	 * the recording. value: enum dnp_control_start. The answer comes when samples are taken.
	 * EBUSY: a recording is made already.
	 */
	DNP_CONTROL_START = 5,
	/*
	 * Request: end the recording. The answer comes when it is whole and closed and brings it,
	 * as a descriptor that was opened as START's was. Its value: enum dnp_control_stopped; text
	 * says why the end is missing. ENODATA: nothing is recorded.
	 */
	DNP_CONTROL_STOP = 6,
	/*
	 * Request: have all that was seen until now in the file. The answer brings the recording
	 * as that of STOP does; where its offset is must not matter: the agent goes on to write.
	 * ENODATA: nothing is recorded.
	 */
	DNP_CONTROL_FLUSH = 7,
	/* Request: how things stand. The answer's text: DNP_STATUS_… below. */
	DNP_CONTROL_STATUS = 8,
	/*
	 * Request: end the recording if there is one, and leave the process. The answer comes when
	 * nothing can hinder that any more but the runtime itself, which unloads the library some
	 * 0.3 s later. value: enum dnp_control_detach. EBUSY: see there.
	 */
	DNP_CONTROL_DETACH = 9,

	DNP_CONTROL_LAST = DNP_CONTROL_DETACH
};

/* Flags of DNP_CONTROL_START. */
enum dnp_control_start {
	DNP_START_HOLD = 1,   /* the recording ends when this connection does, whoever ends it */
	DNP_START_DETACH = 2, /* and then the agent leaves the process */
};

/* Flags of the answer to DNP_CONTROL_STOP. */
enum dnp_control_stopped {
	DNP_STOPPED_CUT = 1,     /* the recording's end is missing */
	DNP_STOPPED_AWAITED = 2, /* the command that began it waits for its end */
};

/* Flags of DNP_CONTROL_DETACH. */
enum dnp_control_detach {
	DNP_DETACH_OWN = 1, /* not where that would end a recording that this connection does not
			     * hold: somebody else's, begun meanwhile */
};

/*
 * The text of STATUS: `key=value` joined by single spaces; in values every byte but letters, digits
 * and `/._-+:,@` is written as %XX. The keys in their order:
 *
 *   version              of dnprof
 *   runtime              version of the runtime, as 10.0.1
 *   state                attached (nothing is recorded), recording, detaching
 *   slot                 main, notification: as what the runtime knows the agent
 *   how                  startup, attach: how it came here
 *   detachable           yes, no
 *   reason               if not: why not, a sentence
 *   threads              of the process
 * while it does not:
 *   failure              why the last recording ended early, a sentence; only if one did
 * while it records:
 *   events               as after -e, joined by commas
 *   since_unix_ns        when it began
 *   samples, lost, bytes so far
 *   client               process that asked for it, as it is known in the target; 0: nobody that
 *                        can be named
 *   held                 yes: it ends when that client does; no
 *   awaited              yes: the 'dnprof run' or 'dnprof record' that began it waits for its end;
 * no
 */

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
