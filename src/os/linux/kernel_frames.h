/* SPDX-License-Identifier: MIT */
/* Samples of the kernel's stack, as perf_event_open(2) puts them into a ring. */
#ifndef DNP_OS_LINUX_KERNEL_FRAMES_H
#define DNP_OS_LINUX_KERNEL_FRAMES_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"

#define DNP_KERNEL_STACK_MAX 64 /* frames */

/*
 * What an event asks for: PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER, of which the program
 * counter alone. Fills in the fields of attr that say so.
 */
void dnp_kernel_frames_ask(struct perf_event_attr *attr);

/*
 * Of one record, the words from the number of addresses on: nr, ips[nr], abi, user pc. `ring`: the
 * words of data, mask + 1 (a power of two) of them, of which this one begins at `at`.
 */
struct dnp_kernel_record {
	const uint64_t *ring;
	uint64_t mask, at, words;
};

/* Whether the thread goes on at that instruction. */
SIGSAFE bool dnp_kernel_record_is_at(const struct dnp_kernel_record *record, uint64_t pc);

/* The kernel's frames, leaf first, `max` at most; how many. */
SIGSAFE size_t dnp_kernel_record_frames(
	const struct dnp_kernel_record *record, uint64_t *frames, size_t max);

#endif
