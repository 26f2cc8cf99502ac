/* SPDX-License-Identifier: MIT */
/*
 * The few fields of a PE32+ header that walking through code compiled ahead of time takes.
 * Source: "PE format" (Microsoft Learn). Trusts nothing.
 */
#ifndef DNP_CLR_PE_H
#define DNP_CLR_PE_H

#include <stddef.h>
#include <stdint.h>

#define DNP_PE_HEADER_MAX   4096
#define DNP_PE_SECTIONS_MAX 16

struct dnp_pe_section {
	uint32_t rva, bytes;
	uint32_t executable; /* 0 or 1 */
};

struct dnp_pe {
	uint32_t image_bytes;
	uint32_t exceptions_rva,
		exceptions_bytes;    /* the table of runtime functions; bytes 0: none */
	uint32_t clr_rva, clr_bytes; /* the runtime's own header; bytes 0: none */
	uint32_t n_sections;
	struct dnp_pe_section sections[DNP_PE_SECTIONS_MAX];
};

/* Reads the first n bytes of an image. 0, or -ENOEXEC: no PE32+ image, or one that makes no sense.
 */
int dnp_pe_parse(const uint8_t *header, size_t n, struct dnp_pe *pe);

/* The section that holds [rva, rva + bytes), or NULL. */
const struct dnp_pe_section *dnp_pe_section_of(
	const struct dnp_pe *pe, uint32_t rva, uint32_t bytes);

#endif
