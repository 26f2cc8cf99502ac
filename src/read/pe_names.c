/* SPDX-License-Identifier: MIT */
/* Of PE files, which are read where they may be any: no more comes of that than wrong names. */
#include "read/native_names.h"

#include <errno.h>

#include "os/image.h"
#include "read/pe_symbols.h"

static int tell(const struct dnp_wanted_names *names, const struct dnp_symbols *symbols)
{
	int status = 0;

	for (size_t i = 0; i < names->n && !status; i++) {
		const char *name = dnp_symbols_find(symbols, names->wanted[i].function);

		if (name)
			status = names->found(names->arg, &names->wanted[i], dnp_str(name));
	}
	return status;
}

/* There is one root, which is what it was for the process. */
int dnp_native_names(const struct dnp_wanted_names *names)
{
	struct dnp_symbols symbols = {0};
	struct dnp_file_bytes file;
	int status;

	if (!names->module || names->wanted->kernel)
		return -ENOENT;
	status = dnp_image_load(names->module->path, &file);
	if (status)
		return status;
	status = dnp_symbols_add_pe(&symbols, file.p, file.n, names->module->build_id);
	if (!status)
		status = tell(names, &symbols);
	dnp_symbols_done(&symbols);
	dnp_file_unmap(file.p, file.n);
	return status;
}
