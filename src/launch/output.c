/* SPDX-License-Identifier: MIT */
#include "launch/output.h"

#include <limits.h>
#include <string.h>
#include <time.h>

#include "base/clean.h"
#include "os/file.h"
#include "os/library.h"

#define TIME_FORMAT "%Y%m%d-%H%M%S"

static int no_memory(struct dnp_err *err)
{
	return dnp_err(err, -ENOMEM, "cannot write the output: out of memory; free some");
}

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

/* The n-th name of this second. */
static void tell_time(char *text, size_t size, unsigned n)
{
	time_t seconds = time(NULL);
	struct tm tm;
	size_t used = strftime(text, size, TIME_FORMAT, localtime_r(&seconds, &tm));

	if (n > 1)
		snprintf(text + used, size - used, ".%u", n);
}

/* pid 0: %p is not allowed. *timed: the time is in it, which is the n-th name of it then. */
static int expand(const char *pattern, pid_t pid, unsigned n_th, char out[PATH_MAX], bool *timed,
	struct dnp_err *err)
{
	char number[16], now[32];
	size_t used = 0;

	snprintf(number, sizeof(number), "%d", (int)pid);
	tell_time(now, sizeof(now), n_th);
	*timed = false;
	out[0] = '\0';
	for (const char *p = pattern; *p; p++) {
		const char *piece = p;
		size_t n = 1;

		if (*p == '%') {
			p++;
			if (*p == 'p' && pid)
				piece = number;
			else if (*p == 't')
				piece = now, *timed = true;
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

/* Without the slash behind it, but of a root; behind a drive alone there is none. */
static size_t folder_bytes(const char *path, size_t n)
{
	bool root = n < 2 || path[n - 1] == ':' || path[n - 2] == ':';

	return root ? n : n - 1;
}

/* Splits pattern: the folder, expanded and absolute, and what stands for the file. */
static int split(struct dnp_output *output, const char *pattern, struct dnp_err *err)
{
	size_t n = dnp_path_base_at(pattern, strlen(pattern));
	const char *file = pattern + n;
	auto_free char *prefix = n ? strndup(pattern, folder_bytes(pattern, n)) : strdup(".");
	char shown[PATH_MAX];
	bool timed;
	int ret;

	if (!prefix)
		return no_memory(err);
	if (!*file || !strcmp(file, ".") || !strcmp(file, ".."))
		return dnp_err(err, -EISDIR,
			"cannot write to %s: it is a folder; give a file's name", pattern);
	ret = expand(prefix, 0, 1, shown, &timed, err);
	if (ret)
		return ret;
	output->folder = dnp_file_full(shown);
	if (!output->folder)
		return dnp_err(err, -errno,
			"cannot write to '%s': %s: %s; choose another place with -o", pattern,
			shown, strerror(errno));
	output->pattern = strdup(file);
	return output->pattern ? 0 : no_memory(err);
}

/* A root ends with one. */
static int before_slash(const char *folder)
{
	size_t n = strlen(folder);

	return (int)(folder[n - 1] == dnp_path_slash ? n - 1 : n);
}

/* The path of a file in an absolute folder; owned, NULL: no memory. */
static char *within(const char *folder, const char *file)
{
	char *path;

	return asprintf(&path, "%.*s%c%s", before_slash(folder), folder, dnp_path_slash, file) < 0
		? NULL
		: path;
}

int dnp_output_open(struct dnp_output *output, const char *pattern, struct dnp_err *err)
{
	char path[PATH_MAX];
	bool timed;
	int ret;

	*output = (struct dnp_output){0};
	ret = split(output, pattern, err);
	if (!ret)
		ret = expand(output->pattern, 1, 1, path, &timed, err);
	if (!ret && !(output->work = within(output->folder, DNP_OUTPUT_WORK "XXXXXX")))
		ret = no_memory(err);
	if (!ret && (ret = dnp_folder_create(output->work))) {
		dnp_err(err, ret, "cannot write to %s: %s; choose another place with -o", pattern,
			strerror(-ret));
		free(output->work);
		output->work = NULL;
	}
	if (ret)
		dnp_output_done(output);
	return ret;
}

int dnp_output_log(struct dnp_output *output, const char *path, struct dnp_err *err)
{
	size_t n = dnp_path_base_at(path, strlen(path));
	auto_free char *prefix = n ? strndup(path, n) : strdup(".");
	auto_free char *folder = prefix ? dnp_file_full(prefix) : NULL;

	if (prefix && !folder)
		return dnp_err(err, -errno,
			"cannot write the log to %s: %s; name another file with LOG_FILENAME", path,
			strerror(errno));
	free(output->log);
	output->log = folder ? within(folder, path + n) : NULL;
	return output->log ? 0 : no_memory(err);
}

static bool is_log(const struct dnp_output *output, const char *path)
{
	return output->log && dnp_path_same(output->log, path);
}

/* A plain file, or nothing, has the name, and it is not that of the log. */
static int check_place(const struct dnp_output *output, struct dnp_err *err)
{
	const char *path = output->path, *what;

	if (is_log(output, path))
		return dnp_err(err, -EEXIST,
			"cannot write the log to %s: that is what -o names; name another file with "
			"LOG_FILENAME, or with -o",
			path);
	switch (dnp_file_kind(path)) {
	case DNP_FILE_NONE:
		return errno == ENOENT ? 0
				       : dnp_err(err, -errno,
						 "cannot write to %s: %s; choose another "
						 "place with -o",
						 path, strerror(errno));
	case DNP_FILE_REGULAR: return 0;
	case DNP_FILE_LINK: what = "a symbolic link"; break;
	case DNP_FILE_FOLDER: what = "a folder"; break;
	default: what = "no plain file"; break;
	}
	return dnp_err(err, -EEXIST, "cannot write to %s: it is %s; choose another name with -o",
		path, what);
}

#define NAMES_MAX 1000u

/* The n-th name for a recording beside the result; owned, NULL: no memory. */
static char *beside(const struct dnp_output *output, unsigned n)
{
	char *path;
	int written = n > 1 ? asprintf(&path, "%s.%u.dnp", output->path, n)
			    : asprintf(&path, "%s.dnp", output->path);

	return written < 0 ? NULL : path;
}

/*
 * Somebody's result has the name, or will have it: its recording lies beside it. Where the log goes
 * no recording lies.
 */
static bool is_taken(const struct dnp_output *output)
{
	auto_free char *recording = beside(output, 1);

	return dnp_file_kind(output->path) == DNP_FILE_REGULAR ||
		(recording &&
			(is_log(output, recording) || dnp_file_kind(recording) != DNP_FILE_NONE));
}

/* *again: another one will do, and this one is taken. */
static int name(
	struct dnp_output *output, pid_t pid, unsigned n_th, bool *again, struct dnp_err *err)
{
	char file[PATH_MAX];
	int ret = expand(output->pattern, pid, n_th, file, again, err);

	if (ret)
		return ret;
	output->timed = *again;
	output->pid = (int)pid;
	free(output->path);
	output->path = within(output->folder, file);
	if (!output->path)
		return no_memory(err);
	*again = *again && is_taken(output);
	return check_place(output, err);
}

int dnp_output_name(struct dnp_output *output, pid_t pid, struct dnp_err *err)
{
	bool again = true;
	int ret = 0;

	for (unsigned n = 1; !ret && again && n <= NAMES_MAX; n++)
		ret = name(output, pid, n, &again, err);
	return ret;
}

char *dnp_output_work(const struct dnp_output *output, const char *name)
{
	char *path;

	return asprintf(&path, "%s%c%s", output->work, dnp_path_slash, name) < 0 ? NULL : path;
}

static int cannot_place(const char *path, int code, struct dnp_err *err)
{
	return dnp_err(err, code, "cannot write to %s: %s; choose another place with -o", path,
		strerror(-code));
}

int dnp_output_place(
	const struct dnp_output *output, const char *from, const char *to, struct dnp_err *err)
{
	auto_free char *path = dnp_output_work(output, from);
	int ret;

	if (!path)
		return no_memory(err);
	ret = dnp_file_rename(path, to);
	return ret ? cannot_place(to, ret, err) : 0;
}

/* The first that nothing has. */
static int place_beside(const struct dnp_output *output, char **place, struct dnp_err *err)
{
	auto_free char *from = dnp_output_work(output, DNP_OUTPUT_RECORDING);
	int ret = -EEXIST;

	if (!from)
		return no_memory(err);
	for (unsigned n = 1; ret == -EEXIST && n <= NAMES_MAX; n++) {
		free(*place);
		*place = beside(output, n);
		if (!*place)
			return no_memory(err);
		ret = is_log(output, *place) ? -EEXIST : dnp_file_rename_new(from, *place);
	}
	return ret ? cannot_place(*place, ret, err) : 0;
}

/* Who began in the same second may have taken the name since it was chosen. */
static int place_new(struct dnp_output *output, struct dnp_err *err)
{
	auto_free char *from = dnp_output_work(output, DNP_OUTPUT_RECORDING);
	int ret = -EEXIST;

	if (!from)
		return no_memory(err);
	for (unsigned n = 1; ret == -EEXIST && n <= NAMES_MAX; n++) {
		ret = dnp_file_rename_new(from, output->path);
		if (ret == -EEXIST && dnp_output_name(output, output->pid, err))
			return err->code;
	}
	return ret ? cannot_place(output->path, ret, err) : 0;
}

/*
 * The same beside a result that is still to be written. Whose recording lies beside a name has that
 * name: nobody else writes there until it goes, and then the result is there.
 */
static int place_beside_new(struct dnp_output *output, char **place, struct dnp_err *err)
{
	auto_free char *from = dnp_output_work(output, DNP_OUTPUT_RECORDING);
	int ret = -EEXIST;

	for (unsigned n = 1; ret == -EEXIST && n <= NAMES_MAX; n++) {
		free(*place);
		*place = beside(output, 1);
		if (!from || !*place)
			return no_memory(err);
		ret = dnp_file_rename_new(from, *place);
		if (!ret && dnp_file_kind(output->path) != DNP_FILE_NONE) {
			free(from);
			from = *place;
			*place = NULL;
			ret = -EEXIST;
		}
		if (ret == -EEXIST && dnp_output_name(output, output->pid, err))
			return err->code;
	}
	return ret ? cannot_place(output->path, ret, err) : 0;
}

static int place_itself(struct dnp_output *output, char **place, struct dnp_err *err)
{
	int ret = output->timed ? place_new(output, err)
				: dnp_output_place(output, DNP_OUTPUT_RECORDING, output->path, err);

	if (ret)
		return ret;
	*place = strdup(output->path);
	return *place ? 0 : no_memory(err);
}

int dnp_output_place_recording(
	struct dnp_output *output, bool raw, char **path, struct dnp_err *err)
{
	char *place = NULL;
	int ret;

	if (raw)
		ret = place_itself(output, &place, err);
	else if (output->timed)
		ret = place_beside_new(output, &place, err);
	else
		ret = place_beside(output, &place, err);
	if (ret) {
		free(place);
		return ret;
	}
	free(*path);
	*path = place;
	return 0;
}

bool dnp_output_is_unplaced(const char *path)
{
	size_t file = dnp_path_base_at(path, strlen(path));
	size_t folder = file ? dnp_path_base_at(path, file - 1) : 0;

	return !strcmp(path + file, DNP_OUTPUT_RECORDING) &&
		!strncmp(path + folder, DNP_OUTPUT_WORK, strlen(DNP_OUTPUT_WORK));
}

void dnp_output_clean(struct dnp_output *output)
{
	if (output->work)
		dnp_folder_remove(output->work);
	free(output->work);
	output->work = NULL;
}

char *dnp_output_leave(struct dnp_output *output)
{
	char *work = output->work;

	output->work = NULL;
	return work;
}

void dnp_output_done(struct dnp_output *output)
{
	dnp_output_clean(output);
	free(output->pattern);
	free(output->folder);
	free(output->path);
	free(output->log);
	*output = (struct dnp_output){0};
}
