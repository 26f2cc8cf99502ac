/* SPDX-License-Identifier: MIT */
/*
 * Hooks of depth `events` (call_events.h): hook.inc says how they are called.
 *
 * The registers that an enter hook is given are its own, too. Nothing but the event and `head` is
 * written in the usual path.
 *
 * An event is method | kind << 20 | (ticks / 16) << 22: of the counter's 64 bits 4 … 45.
 */
#include "capture/call_ring.h"
#include "capture/x86_64/hook.inc"

#define KIND_LEAVE    0x100000
#define KIND_TAILCALL 0x200000

/* r11 = the thread's ring, r10 = head; to 8: where there is none, or no room; to 9: when off. */
.macro RING
	cmp	dword ptr dnp_call_events_off[rip], 0
	jne	9f
	OWN	r11
	test	r11, r11
	jz	8f
	mov	r11, [r11 + DNP_CALLS_RING]
	mov	r10, [r11 + DNP_CALL_RING_HEAD]
	cmp	r10, [r11 + DNP_CALL_RING_LIMIT]
	jae	8f
.endm

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

FUNCTION dnp_hook_events_enter
	RING
	mov	ENTER_SPARE, rdx
	TIME
	mov	edx, [ENTER_ID + DNP_CALL_METHOD_NUMBER]
	or	rax, rdx
	PUT
	mov	rdx, ENTER_SPARE
9:	ret
	EVENT_ENTER_BY_C dnp_hook_events_enter, DNP_CALL_METHOD_NUMBER
END dnp_hook_events_enter

/* A call's end; the two hooks differ in its kind alone. */
.macro END_HOOK name, kind
FUNCTION \name
	RING
	mov	r8, rax
	mov	r9, rdx
	TIME
	mov	edx, [END_ID + DNP_CALL_METHOD_NUMBER]
	or	edx, \kind
	or	rax, rdx
	PUT
	mov	rax, r8
	mov	rdx, r9
9:	ret
	EVENT_END_BY_C \name, DNP_CALL_METHOD_NUMBER, (\kind >> 20)
END \name
	BEHIND_EVENT_END_BY_C \name, DNP_CALL_METHOD_NUMBER, (\kind >> 20)
.endm

	END_HOOK dnp_hook_events_leave, KIND_LEAVE
	END_HOOK dnp_hook_events_tailcall, KIND_TAILCALL

	KEEPING_VECTORS dnp_call_events_slow_kept, dnp_call_events_slow
