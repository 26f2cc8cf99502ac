/* SPDX-License-Identifier: MIT */
/*
 * Hooks of depth `events` (call_events.h): hook.inc says how they are called.
 *
 * The registers that an enter hook is given are its own, too. In the usual path a call is put on the
 * thread's shadow stack (calls.h), or taken from it, and its event into the ring. Where that ends
 * (label 9) calls_miss.c goes on, as in trees.
 *
 * An event is method | kind << 20 | (ticks / 16) << 22: of the counter's 64 bits 4 … 45.
 */
#include "capture/call_ring.h"
#include "capture/x86_64/hook.inc"

#define KIND_LEAVE    0x100000
#define KIND_TAILCALL 0x200000

	.set	FRAME_SP, 0
	.set	FRAME_METHOD, 8
	.set	FRAME_BYTES, 16

/* rax = the time in its place; takes rdx. */
.macro TIME
	rdtsc
	shr	eax, 4
	shl	rdx, 50
	shl	rax, 22
	or	rax, rdx
.endm

/* Stores the event in rax; takes rdx and r10. */
.macro PUT
	mov	rdx, [r11 + DNP_CALL_RING_MASK]
	and	rdx, r10
	inc	r10
	mov	[r11 + rdx * 8 + DNP_CALL_RING_EVENTS], rax
	mov	[r11 + DNP_CALL_RING_HEAD], r10
.endm

/* The frame that is to be keeps the stack pointer and is one when the event has room. */
FUNCTION dnp_hook_events_enter
	cmp	dword ptr dnp_call_events_off[rip], 0
	jne	8f
	OWN	r11
	test	r11, r11
	jz	9f
	mov	r10, [r11 + DNP_CALLS_TOP]
	cmp	[r10 + FRAME_SP], ENTER_SP
	jbe	9f
	cmp	r10, [r11 + DNP_CALLS_LIMIT]
	jae	9f
	mov	rax, [r11 + DNP_CALLS_RING]
	mov	[r10 + FRAME_BYTES + FRAME_SP], ENTER_SP
	mov	[r10 + FRAME_BYTES + FRAME_METHOD], ENTER_ID
	mov	ENTER_SP, [rax + DNP_CALL_RING_HEAD]
	cmp	ENTER_SP, [rax + DNP_CALL_RING_LIMIT]
	jae	7f
	add	r10, FRAME_BYTES
	mov	[r11 + DNP_CALLS_TOP], r10
	mov	r11, rax
	mov	r10, ENTER_SP
	mov	ENTER_SPARE, rdx
	TIME
	mov	edx, [ENTER_ID + DNP_CALL_METHOD_NUMBER]
	or	rax, rdx
	PUT
	mov	rdx, ENTER_SPARE
8:	ret
7:	mov	ENTER_SP, [r10 + FRAME_BYTES + FRAME_SP]
	ENTER_BY_C dnp_hook_events_enter, dnp_calls_enter_miss
END dnp_hook_events_enter

/* A call's end; the two hooks differ in its kind alone. While they are off it ends all the same. */
.macro END_HOOK name, kind, miss
FUNCTION \name
	OWN	r11
	test	r11, r11
	jz	8f
	mov	r10, [r11 + DNP_CALLS_TOP]
	cmp	[r10 + FRAME_SP], END_SP
	jne	9f
	mov	r8, [r11 + DNP_CALLS_RING]
	mov	r9, [r8 + DNP_CALL_RING_HEAD]
	cmp	r9, [r8 + DNP_CALL_RING_LIMIT]
	jae	9f
	sub	r10, FRAME_BYTES
	mov	[r11 + DNP_CALLS_TOP], r10
	cmp	dword ptr dnp_call_events_off[rip], 0
	jne	8f
	mov	r11, r8
	mov	r10, r9
	mov	r8, rax
	mov	r9, rdx
	TIME
	mov	edx, [END_ID + DNP_CALL_METHOD_NUMBER]
	or	edx, \kind
	or	rax, rdx
	PUT
	mov	rax, r8
	mov	rdx, r9
8:	ret
	END_BY_C \name, \miss
END \name
	BEHIND_END_BY_C \name, \miss
.endm

	END_HOOK dnp_hook_events_leave, KIND_LEAVE, dnp_calls_leave_miss
	END_HOOK dnp_hook_events_tailcall, KIND_TAILCALL, dnp_calls_tailcall_miss

	KEEPING_VECTORS dnp_call_events_put_kept, dnp_call_events_put
