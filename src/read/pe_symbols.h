/* SPDX-License-Identifier: MIT */
/*
 * The functions of a PE file (x64): what it exports, and its COFF symbols, which files have that
 * MinGW's linker made. Addresses are offsets in the image.
 *
 * A name is that of the function in the file's table of functions (.pdata) that it begins in, and
 * goes no further than that. Functions without a frame are not in the table: a name among them goes
 * as far as the next name, function or padding.
 */
#ifndef DNP_READ_PE_SYMBOLS_H
#define DNP_READ_PE_SYMBOLS_H

#include "base/str.h"
#include "read/symbols.h"

/*
 * Adds them to none, and sorts. The bytes may be any: nothing outside of them is read, and time and
 * memory are bounded by their number. 0, -ENOMEM, -ENOEXEC: it is no such file, -EBADMSG: it has
 * another build id (as in `module` of format/rec.def; checked where it is not empty).
 */
int dnp_symbols_add_pe(
	struct dnp_symbols *symbols, const uint8_t *bytes, size_t n, struct dnp_str build_id);

#endif
