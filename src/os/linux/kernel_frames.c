/* SPDX-License-Identifier: MIT */
#include "os/linux/kernel_frames.h"

#ifdef __x86_64__
#include <asm/perf_regs.h>
#define USER_PC       (UINT64_C(1) << PERF_REG_X86_IP)
#define SYSCALL_BYTES 2 /* of the instruction */
#else
#error "no user registers for this processor"
#endif

void dnp_kernel_frames_ask(struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
	attr->sample_regs_user = USER_PC;
	attr->exclude_callchain_user = 1;
	attr->sample_max_stack = DNP_KERNEL_STACK_MAX;
}

static SIGSAFE uint64_t word(const struct dnp_kernel_record *record, uint64_t i)
{
	return record->ring[(record->at + i) & record->mask];
}

/*
 * A system call that is to be made again goes on at its instruction; the kernel noted the one
 * behind it.
 */
SIGSAFE bool dnp_kernel_record_is_at(const struct dnp_kernel_record *record, uint64_t pc)
{
	uint64_t nr = word(record, 0), user;

	if (nr > record->words || nr + 3 > record->words ||
		word(record, nr + 1) == PERF_SAMPLE_REGS_ABI_NONE)
		return false;
	user = word(record, nr + 2);
	return user == pc || user == pc + SYSCALL_BYTES;
}

/* The kernel's addresses follow a marker. */
SIGSAFE size_t dnp_kernel_record_frames(
	const struct dnp_kernel_record *record, uint64_t *frames, size_t max)
{
	uint64_t nr = word(record, 0);
	bool in_kernel = false;
	size_t n = 0;

	for (uint64_t i = 0; i < nr && i < record->words; i++) {
		uint64_t ip = word(record, 1 + i);

		if (ip >= (uint64_t)PERF_CONTEXT_MAX)
			in_kernel = ip == (uint64_t)PERF_CONTEXT_KERNEL;
		else if (in_kernel && n < max)
			frames[n++] = ip;
	}
	return n;
}
