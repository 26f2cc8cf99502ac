/* SPDX-License-Identifier: MIT */
#include "launch/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clean.h"

#define TIME_FORMAT "%Y%m%d-%H%M%S"

/* Appends to text[PATH_MAX]; false: too long. */
static bool append(char *text, size_t *used, const char *more, size_t n)
{
	if (n >= PATH_MAX - *used)
		return false;
	memcpy(text + *used, more, n);
	*used += n;
	text[*used] = '\0';
	return true;
}

/* pid 0: %p is not allowed. */
static int expand(const char *pattern, pid_t pid, char out[PATH_MAX], struct dnp_err *err)
{
	char number[16], now[32];
	time_t seconds = time(NULL);
	struct tm tm;
	size_t used = 0;

	snprintf(number, sizeof(number), "%d", (int)pid);
	strftime(now, sizeof(now), TIME_FORMAT, localtime_r(&seconds, &tm));
	out[0] = '\0';
	for (const char *p = pattern; *p; p++) {
		const char *piece = p;
		size_t n = 1;

		if (*p == '%') {
			p++;
			if (*p == 'p' && pid)
				piece = number;
			else if (*p == 't')
				piece = now;
			else if (*p == '%')
				piece = "%";
			else
				return dnp_err(err, -EINVAL,
					"cannot use the name '%s': '%%%.1s' cannot stand there; "
					"use %%p "
					"(process id, in the file's name), %%t (time) or %%%%",
					pattern, p);
			n = strlen(piece);
		}
		if (!append(out, &used, piece, n))
			return dnp_err(err, -ENAMETOOLONG,
				"cannot use the name given with -o: it is too long; choose a "
				"shorter one");
	}
	return 0;
}

/* Splits pattern: the folder, expanded and absolute, and what stands for the file. */
static int split(struct dnp_output *output, const char *pattern, struct dnp_err *err)
{
	const char *slash = strrchr(pattern, '/');
	const char *file = slash ? slash + 1 : pattern;
	char folder[PATH_MAX], shown[PATH_MAX];
	auto_free char *prefix = slash
		? strndup(pattern, (size_t)(slash - pattern) + (slash == pattern))
		: strdup(".");
	int ret;

	if (!prefix)
		return -ENOMEM;
	if (!*file || !strcmp(file, ".") || !strcmp(file, ".."))
		return dnp_err(err, -EISDIR,
			"cannot write to %s: it is a folder; give a file's name", pattern);
	ret = expand(prefix, 0, shown, err);
	if (ret)
		return ret;
	if (!realpath(shown, folder))
		return dnp_err(err, -errno,
			"cannot write to '%s': %s: %s; choose another place with -o", pattern,
			shown, strerror(errno));
	output->pattern = strdup(file);
	output->folder = strdup(folder);
	return output->pattern && output->folder ? 0 : -ENOMEM;
}

int dnp_output_open(struct dnp_output *output, const char *pattern, struct dnp_err *err)
{
	char path[PATH_MAX];
	int ret;

	*output = (struct dnp_output){0};
	ret = split(output, pattern, err);
	if (!ret)
		ret = expand(output->pattern, 1, path, err);
	if (!ret && asprintf(&output->work, "%s/.dnprof-XXXXXX", output->folder) < 0) {
		output->work = NULL;
		ret = -ENOMEM;
	}
	if (!ret && !mkdtemp(output->work)) {
		ret = dnp_err(err, -errno, "cannot write to %s: %s; choose another place with -o",
			pattern, strerror(errno));
		free(output->work);
		output->work = NULL;
	}
	if (ret)
		dnp_output_done(output);
	return ret;
}

/* A plain file, or nothing, has the name. */
static int check_place(const char *path, struct dnp_err *err)
{
	const char *what;
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0
				       : dnp_err(err, -errno,
						 "cannot write to %s: %s; choose another "
						 "place with -o",
						 path, strerror(errno));
	if (S_ISREG(st.st_mode))
		return 0;
	what = S_ISLNK(st.st_mode)    ? "a symbolic link"
		: S_ISDIR(st.st_mode) ? "a folder"
				      : "no plain file";
	return dnp_err(err, -EEXIST, "cannot write to %s: it is %s; choose another name with -o",
		path, what);
}

int dnp_output_name(struct dnp_output *output, pid_t pid, struct dnp_err *err)
{
	char file[PATH_MAX];
	int ret = expand(output->pattern, pid, file, err);

	if (ret)
		return ret;
	if (asprintf(&output->path, "%s/%s", strcmp(output->folder, "/") ? output->folder : "",
		    file) < 0) {
		output->path = NULL;
		return -ENOMEM;
	}
	return check_place(output->path, err);
}

char *dnp_output_work(const struct dnp_output *output, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", output->work, name) < 0 ? NULL : path;
}

int dnp_output_place(
	const struct dnp_output *output, const char *from, const char *to, struct dnp_err *err)
{
	auto_free char *path = dnp_output_work(output, from);

	if (!path)
		return -ENOMEM;
	if (rename(path, to))
		return dnp_err(err, -errno, "cannot write to %s: %s; choose another place with -o",
			to, strerror(errno));
	return 0;
}

/* The private folder is flat but for one level (children's recordings). */
static void remove_tree(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (unlinkat(fd, entry->d_name, 0) && (errno == EISDIR || errno == EPERM))
			remove_tree(fd, entry->d_name);
	}
	closedir(dir);
	unlinkat(parent, name, AT_REMOVEDIR);
}

void dnp_output_clean(struct dnp_output *output)
{
	if (output->work)
		remove_tree(AT_FDCWD, output->work);
	free(output->work);
	output->work = NULL;
}

void dnp_output_done(struct dnp_output *output)
{
	dnp_output_clean(output);
	free(output->pattern);
	free(output->folder);
	free(output->path);
	*output = (struct dnp_output){0};
}
