/* SPDX-License-Identifier: MIT */
/*
 * The two events by which the runtime tells of a thread that waits for a lock which another one has
 * (Microsoft-Windows-DotNETRuntime): Monitor, and since .NET 9 System.Threading.Lock. Both come on
 * the thread that waits.
 */
#ifndef DNP_CLR_CONTENTION_H
#define DNP_CLR_CONTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNP_EVENT_CONTENTION_START 81u
#define DNP_EVENT_CONTENTION_STOP  91u

#define DNP_KEYWORD_CONTENTION UINT64_C(0x4000)

/* … and of one that waits for a handle, or in Monitor.Wait, since .NET 9. */
#define DNP_EVENT_WAIT_HANDLE_START 301u
#define DNP_EVENT_WAIT_HANDLE_STOP  302u

#define DNP_KEYWORD_WAIT_HANDLE UINT64_C(0x40000000000)

struct dnp_contention {
	/* Of Monitor the address of what the runtime keeps of it, of Lock a handle's number. */
	uint64_t lock;
	/*
	 * The object that is locked. Of Monitor it stays there for the callback: the thread is one
	 * that a collection waits for. Of Lock it may have moved.
	 */
	uintptr_t object;
	int owner; /* the thread that has the lock, by the system's id; 0: nobody had it any more */
};

/* Reads a payload: 0, or -EBADMSG: it is not what is known. */
int dnp_contention_start(
	const uint8_t *data, size_t n, uint32_t version, struct dnp_contention *contention);
/* *ns: how long the wait was, by the runtime's clock. */
int dnp_contention_stop(const uint8_t *data, size_t n, uint32_t version, uint64_t *ns);

/* *monitor: it is a Monitor that somebody else is to pulse. */
int dnp_wait_handle_start(const uint8_t *data, size_t n, bool *monitor);

/*
 * Whether it is a Monitor, if memory is there: handles are counted from 4 on by 4, and nobody has
 * so many that addresses of the runtime's begin among them (which may be as low as under Wine).
 */
#define DNP_HANDLES_END UINT64_C(0x100000)

static inline int dnp_contention_is_monitor(const struct dnp_contention *contention)
{
	return contention->lock >= DNP_HANDLES_END && contention->lock % sizeof(uint64_t) == 0;
}

#endif
