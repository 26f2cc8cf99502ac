/* SPDX-License-Identifier: MIT */
/*
 * The first slots for thread-local storage lie in the description of a thread itself, where x64
 * code has always reached them with one instruction: at 0x1480 from what gs points to (winternl.h:
 * TEB.TlsSlots; the compiler's own __declspec(thread) relies on its neighbours in the same way).
 * Those further on are in a list of their own, which the system makes when a thread uses it first:
 * no hook could do that.
 */
#include "os/thread_word.h"

#include <errno.h>
#include <windows.h>

#define SLOTS_AT ((ptrdiff_t)0x1480)

ptrdiff_t dnp_thread_word;
void *dnp_thread_no_word;

static DWORD slot = TLS_OUT_OF_INDEXES;

static ptrdiff_t place_of(DWORD index)
{
	return SLOTS_AT + (ptrdiff_t)(index * sizeof(void *));
}

/* Whether the word there is the slot's, whatever it is set to. */
static BOOL is_place(DWORD index)
{
	static char marks[2];
	void *const volatile *place = (void **)(void *)(dnp_thread_pointer() + place_of(index));

	for (int i = 0; i < 2; i++)
		if (!TlsSetValue(index, &marks[i]) || *place != &marks[i])
			return FALSE;
	return TlsSetValue(index, NULL) && !*place;
}

/* A slot that is taken is NULL in each thread, and in those to come. */
int dnp_thread_word_open(void)
{
	DWORD index;

	if (dnp_thread_word)
		return 0;
	index = TlsAlloc();
	if (index == TLS_OUT_OF_INDEXES)
		return -ENOTSUP;
	if (index >= TLS_MINIMUM_AVAILABLE || !is_place(index)) {
		TlsFree(index);
		return -ENOTSUP;
	}
	slot = index;
	dnp_thread_word = place_of(index);
	return 0;
}

int dnp_thread_word_set(void *value)
{
	return TlsSetValue(slot, value) ? 0 : -EINVAL;
}
