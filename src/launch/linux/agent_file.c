/* SPDX-License-Identifier: MIT */
#include "launch/agent_file.h"

#include <string.h>

#include "base/clean.h"
#include "launch/library.h"

static int check_load(const char *path, struct dnp_err *err)
{
	char why[400];
	int ret = dnp_library_try(path, why, sizeof(why));

	if (ret)
		dnp_err(err, ret, "the agent cannot load: %s; build or install dnprof again", why);
	return ret;
}

int dnp_agent_file_find(char path[PATH_MAX], struct dnp_err *err)
{
	static const char *const places[] = {"libdnprof.so", "../lib/dnprof/libdnprof.so"};
	char self[PATH_MAX], candidate[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n < 0 ? 0 : n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return dnp_err(
			err, -ENOENT, "cannot find the agent: /proc is not mounted; mount it");
	slash[1] = '\0';
	for (size_t i = 0; i < DNP_ARRAY_SIZE(places); i++) {
		n = snprintf(candidate, sizeof(candidate), "%s%s", self, places[i]);
		if ((size_t)n < sizeof(candidate) && realpath(candidate, path))
			return check_load(path, err);
	}
	return dnp_err(err, -ENOENT,
		"cannot find the agent: no libdnprof.so in %s or ../lib/dnprof; build or install "
		"dnprof again",
		self);
}
