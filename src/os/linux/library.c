/* SPDX-License-Identifier: MIT */
#include "os/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "os/forks.h"

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

struct twins {
	const char *own; /* path */
	struct dnp_vec_of(char *) paths;
};

/* In the dynamic linker, which has a lock meanwhile. */
static int note_twin(struct dl_phdr_info *info, size_t bytes, void *context)
{
	struct twins *twins = context;
	char *path;

	(void)bytes;
	if (strcmp(info->dlpi_name, twins->own) == 0 ||
		strcmp(dnp_path_base(info->dlpi_name), dnp_path_base(twins->own)) != 0)
		return 0;
	path = strdup(info->dlpi_name);
	if (!path || dnp_vec_push(&twins->paths, path))
		free(path);
	return 0;
}

static void tell_twin(const char *path, const char *symbol,
	void (*tell)(void *exported, void *context), void *context)
{
	/* By its name: the file may have gone. */
	void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *exported = library ? dlsym(library, symbol) : NULL;

	if (exported)
		tell(exported, context);
	if (library)
		dlclose(library);
}

void dnp_library_twins(
	const char *symbol, void (*tell)(void *exported, void *context), void *context)
{
	static const char here;
	struct twins twins = {0};
	Dl_info info;

	if (!dladdr(&here, &info) || !info.dli_fname)
		return;
	twins.own = info.dli_fname;
	/* A child that is forked meanwhile would have that lock for ever (see ask_linker). */
	dnp_forks_hold();
	dl_iterate_phdr(note_twin, &twins);
	dnp_forks_release();
	for (size_t i = 0; i < twins.paths.n; i++) {
		tell_twin(twins.paths.p[i], symbol, tell, context);
		free(twins.paths.p[i]);
	}
	dnp_vec_done(&twins.paths);
}

size_t dnp_path_base_at(const char *path, size_t n)
{
	const char *slash = n ? memrchr(path, '/', n) : NULL;

	return slash ? (size_t)(slash + 1 - path) : 0;
}

bool dnp_path_same(const char *left, const char *right)
{
	return !strcmp(left, right);
}
