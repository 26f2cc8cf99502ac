/* SPDX-License-Identifier: MIT */
/*
 * ReadyToRun images (managed code compiled ahead of time) that the runtime has mapped: which
 * function is at an address, and where its UNWIND_INFO is. Everything is read in place.
 *
 * One list per process, published as a sorted array; see codemap.h for what waits for reclaim.
 */
#ifndef DNP_CLR_R2R_H
#define DNP_CLR_R2R_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "clr/pe.h"

struct dnp_r2r_image {
	uintptr_t base;
	uintptr_t low, high; /* from the first to the last byte of code */
	uintptr_t functions; /* the table of runtime functions, in the image */
	uint32_t n_functions;
	uintptr_t methods; /* the table of methods with exception clauses; 0: none */
	uint32_t n_methods;
	uint64_t composite; /* of the file's name, where assemblies share it; 0: it is one's own */
	_Atomic uint32_t called; /* see dnp_r2r_is_called_before; UINT32_MAX: nothing is known */
	struct dnp_pe pe;
};

struct dnp_r2r_function {
	uintptr_t begin, end;
	uintptr_t unwind_info;
	uint32_t unwind_bytes; /* that can be read from there on */
};

/*
 * Takes over the image of a module (ICorProfilerInfo::GetModuleInfo2, base load address), or the
 * composite one that has its code. 0 (also when it is known), -ENOEXEC: it has no code, -EFAULT:
 * not mapped, -ENOENT: the composite one is not, -ENOMEM.
 */
int dnp_r2r_add(uintptr_t base);

/* The module goes away; to be called before it is unmapped. False: it was not known. */
bool dnp_r2r_remove(uintptr_t base);

/* The image whose code is at an address, or NULL. Valid as long as the calling walk runs. */
SIGSAFE const struct dnp_r2r_image *dnp_r2r_find(uintptr_t pc);

/* Whether an address lies anywhere in an image, be it code or not. */
SIGSAFE bool dnp_r2r_is_inside(uintptr_t address);

/* The function of an image at an address; false: there is none. */
SIGSAFE bool dnp_r2r_function_at(
	const struct dnp_r2r_image *image, uintptr_t pc, struct dnp_r2r_function *function);

/*
 * What the runtime has said once: of the methods whose code begins at or before an address, in its
 * image, one has been called. That does not change while the image is there.
 */
bool dnp_r2r_is_called_before(uintptr_t pc);
void dnp_r2r_called_before(uintptr_t pc);

enum dnp_r2r_part {
	DNP_R2R_BODY = 0, /* of a method, or not known to be anything else */
	DNP_R2R_FINALLY,  /* a handler that the method calls: finally, fault */
	DNP_R2R_CATCH,    /* one that the runtime calls in the method's frame: catch, filter */
};

/*
 * What a function of an image is to the method that it was written in; for handlers, *method is
 * where that method's body is.
 */
SIGSAFE enum dnp_r2r_part dnp_r2r_part_of(const struct dnp_r2r_image *image,
	const struct dnp_r2r_function *function, struct dnp_r2r_function *method);

/* See dnp_codemap_reclaim. */
void dnp_r2r_reclaim(uint64_t before_ns);
/* Frees everything; no handler may run any more. */
void dnp_r2r_done(void);

#endif
