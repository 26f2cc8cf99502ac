/* SPDX-License-Identifier: MIT */
#include "os/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int dnp_library_keep(void)
{
	static const char here;
	Dl_info info;
	void *library;

	if (!dladdr(&here, &info) || !info.dli_fname)
		return -ENOENT;
	library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	return library ? 0 : -ENOENT;
}

const char dnp_path_slash = '/';
const char dnp_library_prefix[] = "lib", dnp_library_suffix[] = ".so";
const bool dnp_library_lets_through = false; /* the runtime ends the program */

void *dnp_library_open(const char *path)
{
	return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

void dnp_library_close(void *library)
{
	dlclose(library);
}

void *dnp_library_function(void *library, const char *symbol)
{
	return dlsym(library, symbol);
}

const char *dnp_library_error(void)
{
	return dlerror();
}

void *dnp_library_symbol(const char *library, const char *symbol)
{
	char name[64];
	void *loaded, *found;

	snprintf(name, sizeof(name), "%s%s%s", dnp_library_prefix, library, dnp_library_suffix);
	loaded = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	found = dlsym(loaded ? loaded : RTLD_DEFAULT, symbol);
	if (loaded)
		dlclose(loaded);
	return found;
}

size_t dnp_path_base_at(const char *path, size_t n)
{
	const char *slash = n ? memrchr(path, '/', n) : NULL;

	return slash ? (size_t)(slash + 1 - path) : 0;
}
