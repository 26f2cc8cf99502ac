/* SPDX-License-Identifier: MIT */
/*
 * Says what a library that a .NET program calls, or a native program that hosts .NET, is doing, for
 * whoever records it with `dnprof -e mark`: points and spans on the time line of its threads. C99
 * or C++11, on Linux by gcc or clang, on Windows (x64) by Microsoft's compiler, too; elsewhere all
 * calls do nothing.
 *
 *   dnprof_mark("cache warm");
 *   uint64_t span = dnprof_span_begin("order");
 *   …
 *   dnprof_span_end(span);
 *
 * There is nothing to link or to load. Each program or library that includes this has a gate of its
 * own, which a note in its file points to; on Windows each of its sources has one, in a section of
 * that name. While nobody records, a call is a load and a branch. Whoever records finds the gate
 * and opens it; and before it leaves the process it closes it and waits until no call is inside any
 * more, so none runs into code that has gone. A library that is loaded while somebody records finds
 * him by his note, and opens its gate itself before anything of its own runs, but for constructors
 * of a priority below 101; on Windows the loader tells who records.
 *
 * Any thread may call, but no signal handler. Texts are UTF-8, copied, and 1024 bytes of them kept.
 */
#ifndef DNPROF_MARK_H
#define DNPROF_MARK_H

#include <stdint.h>

#if !defined(DNPROF_MARK_TYPES_ONLY) && defined(__linux__) && defined(__ELF__) && defined(__GNUC__)
#define DNPROF_MARK_NOTES
#include <elf.h>
#include <stddef.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum dnprof_say { DNPROF_SAY_POINT = 0, DNPROF_SAY_BEGIN = 1, DNPROF_SAY_END = 2 };

/* An id, of a span that begins; else 0. */
typedef uint64_t (*dnprof_mark_function)(enum dnprof_say what, uint64_t id, const char *text);

/* Between programs and who records them: fields are only added, with another kind of note. */
struct dnprof_mark_gate {
	dnprof_mark_function say; /* NULL: nobody records */
	uint64_t inside;          /* calls that may be using `say` */
};

#define DNPROF_MARK_NOTE      "dnprof" /* owner of the notes */
#define DNPROF_MARK_NOTE_TYPE 1        /* it holds the gate's distance from itself, 32 bits */
/* Of who records: the same of a gate whose `say` is what all are to have now. */
#define DNPROF_MARK_NOTE_RECORDER 2

#define DNPROF_MARK_SECTION ".dnprof" /* on Windows: entries, and zeros between them */

struct dnprof_mark_entry {
	char owner[8]; /* DNPROF_MARK_NOTE, and zeros */
	uint64_t type; /* DNPROF_MARK_NOTE_TYPE */
	struct dnprof_mark_gate gate;
};

#ifndef DNPROF_MARK_TYPES_ONLY
#ifdef DNPROF_MARK_NOTES

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Phdr dnprof_mark_segment;
#else
typedef Elf32_Phdr dnprof_mark_segment;
#endif

/* What <link.h> has only for those who ask for all of GNU. */
struct dnprof_mark_module {
	uintptr_t base;
	const char *name;
	const dnprof_mark_segment *segments;
	uint16_t n;
};

__attribute__((weak)) extern int dnprof_mark_modules(
	int (*visit)(struct dnprof_mark_module *module, size_t size, void *arg),
	void *arg) __asm__("dl_iterate_phdr");

/* A note, as who records and this header write it. */
struct dnprof_mark_note {
	uint32_t owner_bytes, bytes, type;
	char owner[8]; /* with what pads it */
	int32_t gate;  /* less this field's own address */
};

/* One for all that is linked into the same program or library. */
__attribute__((weak, visibility("hidden"), used)) struct dnprof_mark_gate dnprof_mark_gate = {0, 0};

__asm__(".pushsection .note.dnprof, \"a\", \"note\"\n"
	".balign 4\n"
	".4byte 7, 4, 1\n"
	".asciz \"dnprof\"\n"
	".balign 4\n"
	".4byte dnprof_mark_gate - .\n"
	".popsection\n");

/* Takes over what who records gives, if this is his note; not 0: it was. */
static inline int dnprof_mark_take(uintptr_t at, const struct dnprof_mark_note *note)
{
	const struct dnprof_mark_gate *gate;
	dnprof_mark_function say;

	if (note->type != DNPROF_MARK_NOTE_RECORDER ||
		note->owner_bytes != sizeof(DNPROF_MARK_NOTE) ||
		note->bytes != sizeof(note->gate) ||
		__builtin_memcmp(note->owner, DNPROF_MARK_NOTE, sizeof(DNPROF_MARK_NOTE)) != 0)
		return 0;
	gate = (const struct dnprof_mark_gate *)(at + offsetof(struct dnprof_mark_note, gate) +
		(uintptr_t)(intptr_t)note->gate);
	say = __atomic_load_n(&gate->say, __ATOMIC_SEQ_CST);
	if (say && !__atomic_load_n(&dnprof_mark_gate.say, __ATOMIC_SEQ_CST))
		__atomic_store_n(&dnprof_mark_gate.say, say, __ATOMIC_SEQ_CST);
	return say != 0;
}

/* Whether notes are there at all: of what is in memory, some files tell more than they load. */
static inline int dnprof_mark_has(
	const struct dnprof_mark_module *module, const dnprof_mark_segment *notes)
{
	for (uint16_t i = 0; i < module->n; i++) {
		const dnprof_mark_segment *segment = &module->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_R &&
			notes->p_vaddr >= segment->p_vaddr &&
			notes->p_vaddr + notes->p_memsz <= segment->p_vaddr + segment->p_filesz)
			return 1;
	}
	return 0;
}

static inline int dnprof_mark_look(
	const struct dnprof_mark_module *module, const dnprof_mark_segment *notes)
{
	uintptr_t at = module->base + notes->p_vaddr;
	size_t left = notes->p_memsz, step;
	struct dnprof_mark_note note;

	if (!dnprof_mark_has(module, notes))
		return 0;
	for (; left >= sizeof(note); at += step, left -= step) {
		__builtin_memcpy(&note, (const void *)at, sizeof(note));
		if (dnprof_mark_take(at, &note))
			return 1;
		step = offsetof(struct dnprof_mark_note, owner) +
			(((size_t)note.owner_bytes + 3) & ~(size_t)3) +
			(((size_t)note.bytes + 3) & ~(size_t)3);
		if (step > left)
			return 0;
	}
	return 0;
}

/*
 * The dynamic linker holds a lock meanwhile that whoever records needs to look for gates: he closes
 * his own first, so either he finds ours open, or we find his closed. And his library stays.
 */
__attribute__((unused)) static int dnprof_mark_visit(
	struct dnprof_mark_module *module, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (uint16_t i = 0; i < module->n; i++)
		if (module->segments[i].p_type == PT_NOTE && module->segments[i].p_align <= 4 &&
			dnprof_mark_look(module, &module->segments[i]))
			return 1;
	return 0;
}

/* Once for each source file of a library; the first has found who records, if anybody does. */
__attribute__((weak, visibility("hidden"))) void dnprof_mark_loaded(void);
__attribute__((weak, visibility("hidden"), used, constructor(101))) void dnprof_mark_loaded(void)
{
	if (dnprof_mark_modules && !__atomic_load_n(&dnprof_mark_gate.say, __ATOMIC_RELAXED))
		(void)dnprof_mark_modules(dnprof_mark_visit, 0);
}

#define DNPROF_MARK_GATE dnprof_mark_gate

#elif defined(_WIN64) && (defined(__x86_64__) || defined(_M_X64)) &&                               \
	(defined(__GNUC__) || defined(_MSC_VER))

#ifdef __GNUC__
__attribute__((section(DNPROF_MARK_SECTION)))
#else
#pragma section(DNPROF_MARK_SECTION, read, write)
__declspec(allocate(DNPROF_MARK_SECTION))
#endif
static struct dnprof_mark_entry dnprof_mark_entry = {
	DNPROF_MARK_NOTE, DNPROF_MARK_NOTE_TYPE, {0, 0}};

#define DNPROF_MARK_GATE dnprof_mark_entry.gate

#endif

#ifdef DNPROF_MARK_GATE

#ifdef __GNUC__
#define DNPROF_MARK_SELDOM     __attribute__((cold, noinline, unused))
#define DNPROF_MARK_IS(it)     (__builtin_expect((it) != 0, 0) != 0)
#define DNPROF_MARK_ADD(to, n) ((void)__atomic_fetch_add(&(to), (uint64_t)(n), __ATOMIC_SEQ_CST))
#define DNPROF_MARK_READ(it)   __atomic_load_n(&(it), __ATOMIC_SEQ_CST)
#else
__int64 _InterlockedExchangeAdd64(__int64 volatile *, __int64);
#pragma intrinsic(_InterlockedExchangeAdd64)
#define DNPROF_MARK_SELDOM     __declspec(noinline)
#define DNPROF_MARK_IS(it)     ((it) != 0)
#define DNPROF_MARK_ADD(to, n) ((void)_InterlockedExchangeAdd64((__int64 volatile *)&(to), (n)))
#define DNPROF_MARK_READ(it)   (*(dnprof_mark_function volatile *)&(it))
#endif

static inline int dnprof_mark_is_on(void)
{
	return DNPROF_MARK_IS(DNPROF_MARK_READ(DNPROF_MARK_GATE.say));
}

/* Sequentially consistent with who closes the gate: it sees us inside, or we see it closed. */
DNPROF_MARK_SELDOM static uint64_t dnprof_mark_say(
	enum dnprof_say what, uint64_t id, const char *text)
{
	dnprof_mark_function say;
	uint64_t result = 0;

	DNPROF_MARK_ADD(DNPROF_MARK_GATE.inside, 1);
	say = DNPROF_MARK_READ(DNPROF_MARK_GATE.say);
	if (say)
		result = say(what, id, text);
	DNPROF_MARK_ADD(DNPROF_MARK_GATE.inside, -1);
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
