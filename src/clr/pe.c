/* SPDX-License-Identifier: MIT */
#include "clr/pe.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	DOS_NEW_HEADER = 0x3c,
	FILE_HEADER = 4,      /* behind "PE\0\0" */
	OPTIONAL_HEADER = 24, /* likewise */
	OPTIONAL_PE32_PLUS = 0x20b,
	OPTIONAL_IMAGE_BYTES = 56,
	OPTIONAL_DIRECTORY_COUNT = 108,
	OPTIONAL_DIRECTORIES = 112,
	DIRECTORY_EXCEPTIONS = 3,
	DIRECTORY_CLR = 14,
	SECTION_BYTES = 40,
	RUNTIME_FUNCTION_BYTES = 12,
};

#define SECTION_EXECUTABLE 0x20000000U

/* The number at an offset; outside of the header it is 0, which no check below accepts. */
static uint32_t u16(const uint8_t *header, size_t n, size_t at)
{
	uint16_t value = 0;

	if (at + sizeof(value) <= n)
		memcpy(&value, header + at, sizeof(value));
	return value;
}

static uint32_t u32(const uint8_t *header, size_t n, size_t at)
{
	uint32_t value = 0;

	if (at + sizeof(value) <= n)
		memcpy(&value, header + at, sizeof(value));
	return value;
}

const struct dnp_pe_section *dnp_pe_section_of(
	const struct dnp_pe *pe, uint32_t rva, uint32_t bytes)
{
	for (uint32_t i = 0; i < pe->n_sections; i++) {
		const struct dnp_pe_section *section = &pe->sections[i];

		if (rva >= section->rva && rva - section->rva <= section->bytes &&
			bytes <= section->bytes - (rva - section->rva))
			return section;
	}
	return NULL;
}

static bool read_sections(const uint8_t *header, size_t n, size_t at, struct dnp_pe *pe)
{
	for (uint32_t i = 0; i < pe->n_sections; i++, at += SECTION_BYTES) {
		struct dnp_pe_section *section = &pe->sections[i];

		if (at + SECTION_BYTES > n)
			return false;
		section->bytes = u32(header, n, at + 8);
		section->rva = u32(header, n, at + 12);
		section->executable = (u32(header, n, at + 36) & SECTION_EXECUTABLE) != 0;
		if (section->rva > pe->image_bytes ||
			section->bytes > pe->image_bytes - section->rva)
			return false;
	}
	return true;
}

int dnp_pe_parse(const uint8_t *header, size_t n, struct dnp_pe *pe)
{
	size_t start = u32(header, n, DOS_NEW_HEADER), optional = start + OPTIONAL_HEADER;
	size_t directory = optional + OPTIONAL_DIRECTORIES + 8 * DIRECTORY_EXCEPTIONS;

	memset(pe, 0, sizeof(*pe));
	if (n > DNP_PE_HEADER_MAX || u16(header, n, 0) != 0x5a4d ||
		u32(header, n, start) != 0x4550 || u16(header, n, optional) != OPTIONAL_PE32_PLUS ||
		u32(header, n, optional + OPTIONAL_DIRECTORY_COUNT) <= DIRECTORY_EXCEPTIONS)
		return -ENOEXEC;
	pe->image_bytes = u32(header, n, optional + OPTIONAL_IMAGE_BYTES);
	pe->exceptions_rva = u32(header, n, directory);
	pe->exceptions_bytes = u32(header, n, directory + 4);
	pe->n_sections = u16(header, n, start + FILE_HEADER + 2);
	if (!pe->n_sections || pe->n_sections > DNP_PE_SECTIONS_MAX ||
		!read_sections(
			header, n, optional + u16(header, n, start + FILE_HEADER + 16), pe) ||
		(pe->exceptions_bytes &&
			(pe->exceptions_bytes < RUNTIME_FUNCTION_BYTES ||
				!dnp_pe_section_of(pe, pe->exceptions_rva, pe->exceptions_bytes))))
		return -ENOEXEC;
	/* Optional, so one that is cut off counts as none. */
	directory = optional + OPTIONAL_DIRECTORIES + 8 * DIRECTORY_CLR;
	if (u32(header, n, optional + OPTIONAL_DIRECTORY_COUNT) > DIRECTORY_CLR) {
		pe->clr_rva = u32(header, n, directory);
		pe->clr_bytes = u32(header, n, directory + 4);
	}
	return 0;
}
