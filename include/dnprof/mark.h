/* SPDX-License-Identifier: MIT */
/*
 * Says what a native program, or a library that a .NET program calls, is doing, for whoever records
 * it with `dnprof -e mark`: points and spans on the time line of its threads. C99 or C++11, and
 * gcc's or clang's extensions; elsewhere, and on other systems than Linux, all calls do nothing.
 *
 *   dnprof_mark("cache warm");
 *   uint64_t span = dnprof_span_begin("order");
 *   …
 *   dnprof_span_end(span);
 *
 * There is nothing to link or to load. Each program or library that includes this has a gate of its
 * own, which a note in its file points to. While nobody records, a call is a load and a branch.
 * Whoever records finds the note and opens the gate; and before it leaves the process it closes it
 * and waits until no call is inside any more, so none runs into code that has gone. A library that
 * is loaded during a recording is found within some 20 ms.
 *
 * Any thread may call, but no signal handler. Texts are UTF-8, copied, and 1024 bytes of them kept.
 */
#ifndef DNPROF_MARK_H
#define DNPROF_MARK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dnprof_say { DNPROF_SAY_POINT = 0, DNPROF_SAY_BEGIN = 1, DNPROF_SAY_END = 2 };

/* Between programs and who records them: fields are only added, with another kind of note. */
struct dnprof_mark_gate {
	/* NULL: nobody records. An id, of a span that begins; else 0. */
	uint64_t (*say)(enum dnprof_say what, uint64_t id, const char *text);
	uint64_t inside; /* calls that may be using `say` */
};

#define DNPROF_MARK_NOTE      "dnprof" /* owner of the note */
#define DNPROF_MARK_NOTE_TYPE 1        /* it holds the gate's distance from itself, 32 bits */

#ifndef DNPROF_MARK_TYPES_ONLY
#if defined(__linux__) && defined(__ELF__) && defined(__GNUC__)

/* One for all that is linked into the same program or library. */
__attribute__((weak, visibility("hidden"), used)) struct dnprof_mark_gate dnprof_mark_gate = {0, 0};

__asm__(".pushsection .note.dnprof, \"a\", \"note\"\n"
	".balign 4\n"
	".4byte 7, 4, 1\n"
	".asciz \"dnprof\"\n"
	".balign 4\n"
	".4byte dnprof_mark_gate - .\n"
	".popsection\n");

static inline int dnprof_mark_is_on(void)
{
	return __builtin_expect(__atomic_load_n(&dnprof_mark_gate.say, __ATOMIC_RELAXED) != 0, 0) !=
		0;
}

/* Sequentially consistent with who closes the gate: it sees us inside, or we see it closed. */
__attribute__((cold, noinline, unused)) static uint64_t dnprof_mark_say(
	enum dnprof_say what, uint64_t id, const char *text)
{
	uint64_t (*say)(enum dnprof_say, uint64_t, const char *);
	uint64_t result = 0;

	__atomic_fetch_add(&dnprof_mark_gate.inside, 1, __ATOMIC_SEQ_CST);
	say = __atomic_load_n(&dnprof_mark_gate.say, __ATOMIC_SEQ_CST);
	if (say)
		result = say(what, id, text);
	__atomic_fetch_sub(&dnprof_mark_gate.inside, 1, __ATOMIC_SEQ_CST);
	return result;
}

#else
#define dnprof_mark_is_on()             0
#define dnprof_mark_say(what, id, text) ((void)(what), (void)(id), (void)(text), (uint64_t)0)
#endif

/* Marks this moment. To make the text only if somebody records, ask dnprof_mark_is_on(). */
static inline void dnprof_mark(const char *text)
{
	if (dnprof_mark_is_on())
		(void)dnprof_mark_say(DNPROF_SAY_POINT, 0, text);
}

/* Begins a span. Its id, for its end; 0: nobody records. */
static inline uint64_t dnprof_span_begin(const char *name)
{
	return dnprof_mark_is_on() ? dnprof_mark_say(DNPROF_SAY_BEGIN, 0, name) : 0;
}

/* Ends a span, on any thread. Does nothing with 0. */
static inline void dnprof_span_end(uint64_t id)
{
	if (id && dnprof_mark_is_on())
		(void)dnprof_mark_say(DNPROF_SAY_END, id, "");
}

#endif

#ifdef __cplusplus
}
#endif

#endif
