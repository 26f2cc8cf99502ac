/* SPDX-License-Identifier: MIT */
/*
 * Hooks for trees of calls, as code compiled by CoreCLR's JIT calls them: hook.inc says how.
 *
 * Where the usual path ends (label 9) calls_miss.c goes on, which is compiled without vector
 * registers; what that calls outside goes through the stubs at the end, which keep all of those
 * that can have arguments.
 *
 * Offsets are those of struct dnp_calls, dnp_call_frame and dnp_call_node, asserted in calls.c.
 */
#include "capture/x86_64/hook.inc"

	.set	CALLS_TOP, 8
	.set	CALLS_LIMIT, 16
	.set	CALLS_LEAVES, 24
	.set	CALLS_TAILCALLS, 32
	.set	CALLS_NODES, 40
	.set	CALLS_BLOCKS, 48

	.set	FRAME_SP, 0
	.set	FRAME_NODE, 8
	.set	FRAME_BEGIN, 16
	.set	FRAME_CHILDREN, 24
	.set	FRAME_BYTES, 16
	.set	TIMED_FRAME_BYTES, 32

	.set	NODE_WORD, 0
	.set	NODE_CHILD, 8
	.set	NODE_CHILD_METHOD, 12
	.set	NODE_TOTAL, 16
	.set	NODE_SELF, 24
	.set	NODE_SHORTEST, 32
	.set	NODE_LONGEST, 40

	.set	ONE_CALL, 1 << 24
	.set	BLOCK_MASK, ONE_CALL - 1
	.set	BLOCK_SHIFT, 6
	.set	BLOCK_FIRST, 28
	.set	BLOCK_NODE, 32
	.set	BLOCK_N, 60
	.set	PLACES_MASK, 0x7f
	.set	HASH, 0x9e3779b1

/* From a node's index to its address, with r11 the state. */
.macro	NODE_AT register
	shl	\register, 4
	add	\register, [r11 + CALLS_NODES]
.endm

.macro	TIMED_NODE_AT register
	lea	\register, [\register + \register * 2]
	NODE_AT	\register
.endm

/*
 * The child that the innermost open call was last called into is the one that is entered now: rax is
 * its node, r10 the frame of its caller, r11 the state. Else to 7, or 9.
 */
.macro	FIND_CHILD node_at
	OWN	r11
	test	r11, r11
	jz	9f
	mov	r10, [r11 + CALLS_TOP]
	cmp	[r10 + FRAME_SP], ENTER_SP
	jbe	9f
	cmp	r10, [r11 + CALLS_LIMIT]
	jae	9f
	mov	rax, [r10 + FRAME_NODE]
	cmp	[rax + NODE_CHILD_METHOD], ENTER_ID_LOW
	jne	7f
	mov	eax, [rax + NODE_CHILD]
6:	\node_at rax
	add	qword ptr [rax + NODE_WORD], ONE_CALL
.endm

/*
 * r11d = the places in the block at ENTER_SP of the method that is in each part of VECTOR_WANTED;
 * zero: none.
 */
.macro	PLACES_IN_BLOCK
	movdqa	VECTOR_FIRST, VECTOR_WANTED
	movdqa	VECTOR_SECOND, VECTOR_WANTED
	pcmpeqd	VECTOR_FIRST, [ENTER_SP]
	pcmpeqd	VECTOR_SECOND, [ENTER_SP + 16]
	packssdw VECTOR_FIRST, VECTOR_SECOND
	packsswb VECTOR_FIRST, VECTOR_FIRST
	pmovmskb r11d, VECTOR_FIRST
	and	r11d, PLACES_MASK
.endm

/*
 * It is another one: in the block of the node rax, or in the further one where it has its place
 * (calls_miss.c). The stack pointer waits in the frame that is to be.
 */
.macro	ENTER_OTHER frame_bytes
7:	mov	[r10 + \frame_bytes + FRAME_SP], ENTER_SP
	mov	ENTER_SP_LOW, [rax + NODE_WORD]
	and	ENTER_SP_LOW, BLOCK_MASK
	jz	8f
	shl	ENTER_SP, BLOCK_SHIFT
	add	ENTER_SP, [r11 + CALLS_BLOCKS]
	movd	VECTOR_WANTED, ENTER_ID_LOW
	pshufd	VECTOR_WANTED, VECTOR_WANTED, 0
	PLACES_IN_BLOCK
	jnz	5f
	mov	eax, [ENTER_SP + BLOCK_N]
	test	eax, eax
	jz	8f
	imul	r11d, ENTER_ID_LOW, HASH
	imul	rax, r11
	shr	rax, 32
	mov	ENTER_SP_LOW, [ENTER_SP + BLOCK_FIRST]
	add	ENTER_SP, rax
	shl	ENTER_SP, BLOCK_SHIFT
	OWN	r11
	add	ENTER_SP, [r11 + CALLS_BLOCKS]
	PLACES_IN_BLOCK
	jz	8f
	mov	rax, [r10 + FRAME_NODE]
5:	tzcnt	r11d, r11d
	mov	ENTER_SP_LOW, [ENTER_SP + r11 * 4 + BLOCK_NODE]
	mov	[rax + NODE_CHILD], ENTER_SP_LOW
	mov	[rax + NODE_CHILD_METHOD], ENTER_ID_LOW
	mov	eax, ENTER_SP_LOW
	OWN	r11
	mov	ENTER_SP, [r10 + \frame_bytes + FRAME_SP]
	jmp	6b
8:	mov	ENTER_SP, [r10 + \frame_bytes + FRAME_SP]
.endm

FUNCTION dnp_hook_tree_enter
	FIND_CHILD NODE_AT
	mov	[r10 + FRAME_BYTES + FRAME_SP], ENTER_SP
	mov	[r10 + FRAME_BYTES + FRAME_NODE], rax
	add	r10, FRAME_BYTES
	mov	[r11 + CALLS_TOP], r10
	ret
	ENTER_OTHER FRAME_BYTES
	ENTER_BY_C dnp_hook_tree_enter, dnp_calls_enter_miss
END dnp_hook_tree_enter

.macro	TREE_END name, counter, miss
FUNCTION \name
	OWN	r11
	test	r11, r11
	jz	8f
	mov	r10, [r11 + CALLS_TOP]
	cmp	[r10 + FRAME_SP], END_SP
	jne	9f
	sub	r10, FRAME_BYTES
	inc	qword ptr [r11 + \counter]
	mov	[r11 + CALLS_TOP], r10
8:	ret
	END_BY_C \name, \miss
END \name
	BEHIND_END_BY_C \name, \miss
.endm

	TREE_END dnp_hook_tree_leave, CALLS_LEAVES, dnp_calls_leave_miss
	TREE_END dnp_hook_tree_tailcall, CALLS_TAILCALLS, dnp_calls_tailcall_miss

/* The clock is read last, so that the hook's own time is the caller's. */
FUNCTION dnp_hook_time_enter
	FIND_CHILD TIMED_NODE_AT
	mov	[r10 + TIMED_FRAME_BYTES + FRAME_SP], ENTER_SP
	mov	[r10 + TIMED_FRAME_BYTES + FRAME_NODE], rax
	add	r10, TIMED_FRAME_BYTES
	mov	r11, rdx
	rdtsc
	shl	rdx, 32
	or	rax, rdx
	mov	[r10 + FRAME_BEGIN], rax
	mov	qword ptr [r10 + FRAME_CHILDREN], 0
	mov	rdx, r11
	OWN	r11
	mov	[r11 + CALLS_TOP], r10
	ret
	ENTER_OTHER TIMED_FRAME_BYTES
	ENTER_BY_C dnp_hook_time_enter, dnp_calls_enter_miss
END dnp_hook_time_enter

/*
 * And first, for the same reason. The call is taken off the stack before its time is added, as in
 * calls_miss.c.
 */
.macro	TIME_END name, counter, miss
FUNCTION \name
	mov	r8, rax
	mov	r9, rdx
	rdtsc
	shl	rdx, 32
	or	rdx, rax
	OWN	r11
	test	r11, r11
	jz	8f
	mov	r10, [r11 + CALLS_TOP]
	cmp	[r10 + FRAME_SP], END_SP_KEPT
	jne	9f
	mov	END_NODE, [r10 + FRAME_NODE]
	sub	rdx, [r10 + FRAME_BEGIN]
	sub	r10, TIMED_FRAME_BYTES
	inc	qword ptr [r11 + \counter]
	mov	[r11 + CALLS_TOP], r10
	add	[END_NODE + NODE_TOTAL], rdx
	add	[r10 + FRAME_CHILDREN], rdx
	cmp	rdx, [END_NODE + NODE_SHORTEST]
	jae	1f
	mov	[END_NODE + NODE_SHORTEST], rdx
1:	cmp	rdx, [END_NODE + NODE_LONGEST]
	jbe	2f
	mov	[END_NODE + NODE_LONGEST], rdx
2:	sub	rdx, [r10 + TIMED_FRAME_BYTES + FRAME_CHILDREN]
	add	[END_NODE + NODE_SELF], rdx
8:	mov	rax, r8
	mov	rdx, r9
	ret
	TIMED_END_BY_C \name, \miss
END \name
	BEHIND_TIMED_END_BY_C \name, \miss
.endm

	TIME_END dnp_hook_time_leave, CALLS_LEAVES, dnp_calls_leave_timed_miss
	TIME_END dnp_hook_time_tailcall, CALLS_TAILCALLS, dnp_calls_tailcall_timed_miss

	KEEPING_VECTORS dnp_calls_of_thread_kept, dnp_calls_of_thread
	KEEPING_VECTORS dnp_calls_enlarge_kept, dnp_calls_enlarge
	KEEPING_VECTORS dnp_calls_more_frames_kept, dnp_calls_more_frames
	KEEPING_VECTORS dnp_calls_more_nodes_kept, dnp_calls_more_nodes
	KEEPING_VECTORS dnp_calls_more_blocks_kept, dnp_calls_more_blocks
