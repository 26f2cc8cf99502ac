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
	cmp	[r10 + FRAME_SP], r15
	jbe	9f
	cmp	r10, [r11 + CALLS_LIMIT]
	jae	9f
	mov	rax, [r10 + FRAME_NODE]
	cmp	[rax + NODE_CHILD_METHOD], r14d
	jne	7f
	mov	eax, [rax + NODE_CHILD]
6:	\node_at rax
	add	qword ptr [rax + NODE_WORD], ONE_CALL
.endm

/* r11d = the places in block r15 of the method that is in each part of xmm8; zero: none. */
.macro	PLACES_IN_BLOCK
	movdqa	xmm9, xmm8
	movdqa	xmm10, xmm8
	pcmpeqd	xmm9, [r15]
	pcmpeqd	xmm10, [r15 + 16]
	packssdw xmm9, xmm10
	packsswb xmm9, xmm9
	pmovmskb r11d, xmm9
	and	r11d, PLACES_MASK
.endm

/*
 * It is another one: in the block of the node rax, or in the further one where it has its place
 * (calls_miss.c). Vector registers from xmm8 on are free. r15 waits in the frame that is to be.
 */
.macro	ENTER_OTHER frame_bytes
7:	mov	[r10 + \frame_bytes + FRAME_SP], r15
	mov	r15d, [rax + NODE_WORD]
	and	r15d, BLOCK_MASK
	jz	8f
	shl	r15, BLOCK_SHIFT
	add	r15, [r11 + CALLS_BLOCKS]
	movd	xmm8, r14d
	pshufd	xmm8, xmm8, 0
	PLACES_IN_BLOCK
	jnz	5f
	mov	eax, [r15 + BLOCK_N]
	test	eax, eax
	jz	8f
	imul	r11d, r14d, HASH
	imul	rax, r11
	shr	rax, 32
	mov	r15d, [r15 + BLOCK_FIRST]
	add	r15, rax
	shl	r15, BLOCK_SHIFT
	OWN	r11
	add	r15, [r11 + CALLS_BLOCKS]
	PLACES_IN_BLOCK
	jz	8f
	mov	rax, [r10 + FRAME_NODE]
5:	tzcnt	r11d, r11d
	mov	r15d, [r15 + r11 * 4 + BLOCK_NODE]
	mov	[rax + NODE_CHILD], r15d
	mov	[rax + NODE_CHILD_METHOD], r14d
	mov	eax, r15d
	OWN	r11
	mov	r15, [r10 + \frame_bytes + FRAME_SP]
	jmp	6b
8:	mov	r15, [r10 + \frame_bytes + FRAME_SP]
.endm

.macro	ENTER_MISS
9:	KEEP_ARGUMENTS
	sub	rsp, 8
	.cfi_adjust_cfa_offset 8
	mov	rdi, r14
	mov	rsi, r15
	call	dnp_calls_enter_miss
	add	rsp, 8
	.cfi_adjust_cfa_offset -8
	BACK_ARGUMENTS
	ret
.endm

FUNCTION dnp_hook_tree_enter
	FIND_CHILD NODE_AT
	mov	[r10 + FRAME_BYTES + FRAME_SP], r15
	mov	[r10 + FRAME_BYTES + FRAME_NODE], rax
	add	r10, FRAME_BYTES
	mov	[r11 + CALLS_TOP], r10
	ret
	ENTER_OTHER FRAME_BYTES
	ENTER_MISS
END dnp_hook_tree_enter

.macro	TREE_END name, counter, miss
FUNCTION \name
	OWN	r11
	test	r11, r11
	jz	8f
	mov	r10, [r11 + CALLS_TOP]
	cmp	[r10 + FRAME_SP], rsi
	jne	9f
	sub	r10, FRAME_BYTES
	inc	qword ptr [r11 + \counter]
	mov	[r11 + CALLS_TOP], r10
8:	ret
9:	KEEP_RESULTS
	mov	rdi, rsi
	call	\miss
	BACK_RESULTS
	ret
END \name
.endm

	TREE_END dnp_hook_tree_leave, CALLS_LEAVES, dnp_calls_leave_miss
	TREE_END dnp_hook_tree_tailcall, CALLS_TAILCALLS, dnp_calls_tailcall_miss

/* The clock is read last, so that the hook's own time is the caller's. */
FUNCTION dnp_hook_time_enter
	FIND_CHILD TIMED_NODE_AT
	mov	[r10 + TIMED_FRAME_BYTES + FRAME_SP], r15
	mov	[r10 + TIMED_FRAME_BYTES + FRAME_NODE], rax
	mov	qword ptr [r10 + TIMED_FRAME_BYTES + FRAME_CHILDREN], 0
	add	r10, TIMED_FRAME_BYTES
	mov	r11, rdx
	rdtsc
	shl	rdx, 32
	or	rax, rdx
	mov	[r10 + FRAME_BEGIN], rax
	mov	rdx, r11
	OWN	r11
	mov	[r11 + CALLS_TOP], r10
	ret
	ENTER_OTHER TIMED_FRAME_BYTES
	ENTER_MISS
END dnp_hook_time_enter

/* And first, for the same reason. */
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
	cmp	[r10 + FRAME_SP], rsi
	jne	9f
	mov	rdi, [r10 + FRAME_NODE]
	sub	rdx, [r10 + FRAME_BEGIN]
	add	[rdi + NODE_TOTAL], rdx
	add	[r10 - TIMED_FRAME_BYTES + FRAME_CHILDREN], rdx
	cmp	rdx, [rdi + NODE_SHORTEST]
	jae	1f
	mov	[rdi + NODE_SHORTEST], rdx
1:	cmp	rdx, [rdi + NODE_LONGEST]
	jbe	2f
	mov	[rdi + NODE_LONGEST], rdx
2:	sub	rdx, [r10 + FRAME_CHILDREN]
	add	[rdi + NODE_SELF], rdx
	sub	r10, TIMED_FRAME_BYTES
	inc	qword ptr [r11 + \counter]
	mov	[r11 + CALLS_TOP], r10
8:	mov	rax, r8
	mov	rdx, r9
	ret
9:	KEEP	r8
	KEEP	r9
	KEEP	rcx
	mov	rdi, rsi
	mov	rsi, rdx
	call	\miss
	BACK	rcx
	BACK	rdx
	BACK	rax
	ret
END \name
.endm

	TIME_END dnp_hook_time_leave, CALLS_LEAVES, dnp_calls_leave_timed_miss
	TIME_END dnp_hook_time_tailcall, CALLS_TAILCALLS, dnp_calls_tailcall_timed_miss

	KEEPING_VECTORS dnp_calls_of_thread_kept, dnp_calls_of_thread
	KEEPING_VECTORS dnp_calls_enlarge_kept, dnp_calls_enlarge
