/* SPDX-License-Identifier: MIT */
#include "capture/outside.h"

#include "os/clock.h"

int dnp_outside_walk(struct dnp_thread *thread, unsigned how, dnp_frame_word *frames,
	struct dnp_target_stack *stack, uint64_t *walk_ns)
{
	struct dnp_turn *turn = &thread->turn;
	uint64_t begin_ns = dnp_now_ns();
	uintptr_t high = atomic_load_explicit(&turn->stack_high, memory_order_acquire);
	uintptr_t low = atomic_load_explicit(&turn->stack_low, memory_order_relaxed);
	int result;

	*stack = (struct dnp_target_stack){
		.frames = frames,
		.max = dnp_threads_depth(),
		.runtime_thread = atomic_load_explicit(&thread->managed, memory_order_relaxed),
		.stack = high ? (struct dnp_stack_range){low, high} : dnp_thread_told_stack(thread),
	};
	result = dnp_target_walk(thread->tid, NULL, how, stack);
	if (!high && stack->stack.high) {
		atomic_store_explicit(&turn->stack_low, stack->stack.low, memory_order_relaxed);
		atomic_store_explicit(&turn->stack_high, stack->stack.high, memory_order_release);
	}
	*walk_ns = dnp_now_ns() - begin_ns;
	return result;
}
