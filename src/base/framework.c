/* SPDX-License-Identifier: MIT */
#include "base/framework.h"

#include "base/clean.h"

struct dnp_str dnp_basename(struct dnp_str path)
{
	/* On Windows a path begins with a drive, or with two of its slashes. */
	bool windows = path.n > 2 && path.p[path.p[1] == ':' ? 2 : 1] == '\\' &&
		(path.p[1] == ':' || path.p[0] == '\\');
	size_t at = path.n;

	if (!at)
		return path; /* it may be no text at all */
	while (at && path.p[at - 1] != '/' && !(windows && path.p[at - 1] == '\\'))
		at--;
	return (struct dnp_str){path.p + at, path.n - at};
}

static bool starts(struct dnp_str str, const char *text)
{
	return str.n >= strlen(text) && !memcmp(str.p, text, strlen(text));
}

static bool has(struct dnp_str str, const char *text)
{
	return str.n && memmem(str.p, str.n, text, strlen(text));
}

/* The assembly's name, as its file is called. */
static struct dnp_str stem(struct dnp_str path)
{
	static const char ending[] = ".dll";
	struct dnp_str file = dnp_basename(path);
	size_t n = strlen(ending);

	if (file.n > n && !memcmp(file.p + file.n - n, ending, n))
		file.n -= n;
	return file;
}

bool dnp_framework_has(struct dnp_str name, struct dnp_str path)
{
	static const char *const prefixes[] = {"System.", "Microsoft."};
	static const char *const names[] = {"System", "mscorlib", "netstandard", "WindowsBase"};

	if (!name.n)
		name = stem(path);
	for (size_t i = 0; name.n && i < DNP_ARRAY_SIZE(prefixes); i++)
		if (starts(name, prefixes[i]))
			return true;
	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		if (dnp_str_eq(name, dnp_str(names[i])))
			return true;
	return has(path, "/shared/Microsoft.") || has(path, "\\shared\\Microsoft.");
}
