/* SPDX-License-Identifier: MIT */
#include "os/mark_gate.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "os/forks.h"
#include "os/mem.h"

/* The note, as mark.h writes it. */
struct note {
	ElfW(Nhdr) head;
	char owner[8]; /* with what pads it */
	int32_t gate;  /* less this field's own address */
};

/*
 * What libraries that come now are to have: mark.h finds it by the note when one is loaded. No file
 * but this one knows it by name.
 */
struct dnprof_mark_gate dnp_mark_recorder;

__asm__(".pushsection .note.dnprof, \"a\", \"note\"\n"
	".balign 4\n"
	".4byte 7, 4, 2\n"
	".asciz \"dnprof\"\n"
	".balign 4\n"
	".4byte dnp_mark_recorder - .\n"
	".popsection\n");

/* Whether it is what it says: memory of the module's that is written to. */
static bool is_in(const struct dl_phdr_info *info, uintptr_t gate)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W && gate >= begin &&
			gate + sizeof(struct dnprof_mark_gate) <= begin + segment->p_memsz &&
			gate % _Alignof(struct dnprof_mark_gate) == 0)
			return true;
	}
	return false;
}

static void turn_gates(
	const struct dl_phdr_info *info, uintptr_t at, size_t bytes, struct dnp_mark_visit *visit)
{
	struct note note;

	for (size_t step; bytes >= sizeof(note); at += step, bytes -= step) {
		uintptr_t gate;

		if (dnp_mem_read(at, &note, sizeof(note)) < 0)
			return;
		step = sizeof(note.head) + (((size_t)note.head.n_namesz + 3) & ~(size_t)3) +
			(((size_t)note.head.n_descsz + 3) & ~(size_t)3);
		if (step > bytes)
			return;
		if (note.head.n_type != DNPROF_MARK_NOTE_TYPE ||
			note.head.n_namesz != sizeof(DNPROF_MARK_NOTE) ||
			note.head.n_descsz != sizeof(note.gate) ||
			memcmp(note.owner, DNPROF_MARK_NOTE, sizeof(DNPROF_MARK_NOTE)) != 0)
			continue;
		gate = at + offsetof(struct note, gate) + (uintptr_t)(intptr_t)note.gate;
		if (is_in(info, gate))
			dnp_mark_gate_turn((struct dnprof_mark_gate *)gate, visit);
	}
}

/* Notes that are aligned to more than words are of others, and laid out otherwise. */
static int visit_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct dnp_mark_visit *visit = arg;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE && segment->p_align <= sizeof(uint32_t))
			turn_gates(
				info, info->dlpi_addr + segment->p_vaddr, segment->p_memsz, visit);
	}
	return 0;
}

/* With a lock of the dynamic linker's. */
bool dnp_mark_gates_visit(struct dnp_mark_visit *visit)
{
	dnp_forks_hold();
	dl_iterate_phdr(visit_module, visit);
	dnp_forks_release();
	return true;
}

void dnp_mark_gates_later(dnprof_mark_function say)
{
	__atomic_store_n(&dnp_mark_recorder.say, say, __ATOMIC_SEQ_CST);
}
