/* SPDX-License-Identifier: MIT */
#include "launch/linux/place.h"

#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "base/clean.h"

/* Whether a path of the target's is that very file. */
static bool is_there(const struct dnp_target *target, const char *path)
{
	auto_close int fd = dnp_target_open(target, path, O_PATH);
	struct stat here, there;

	return fd >= 0 && !stat(path, &here) && !fstat(fd, &there) && here.st_dev == there.st_dev &&
		here.st_ino == there.st_ino;
}

/* In a child: becomes the target's user and tries. The groups it has besides are left out. */
static _Noreturn void try_read(int root, const char *path, uid_t uid, gid_t gid)
{
	_exit(setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ||
		openat(root, path + 1, O_RDONLY | O_CLOEXEC) < 0);
}

/* Whether the target's user may read the file, where that is another one. */
static bool is_readable(const struct dnp_target *target, const char *path)
{
	auto_close int root = dnp_target_open(target, "/", O_PATH | O_DIRECTORY);
	char folder[32];
	struct stat st;
	int status = -1; /* not known where SIGCHLD is ignored */
	pid_t pid;

	snprintf(folder, sizeof(folder), "/proc/%d", (int)target->pid);
	if (root < 0 || stat(folder, &st))
		return false;
	if (st.st_uid == geteuid())
		return true;
	pid = fork();
	if (!pid)
		try_read(root, path, st.st_uid, st.st_gid);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Whether libraries can be put there and loaded from there. */
static bool is_fit(int folder)
{
	struct statvfs st;

	return !fstatvfs(folder, &st) && !(st.f_flag & (ST_RDONLY | ST_NOEXEC));
}

/* The folder that we have made there, by its name: what has come in its place is not ours. */
static int open_made(const struct dnp_place *place)
{
	int fd =
		openat(place->folder, place->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && st.st_uid == geteuid())
		return fd;
	close(fd);
	return -EPERM;
}

/*
 * A folder of a name that nobody knows, which all may read. The target may put something else there
 * at any moment: once it is open it is the folder that counts, not its name.
 */
static int make_folder(struct dnp_place *place)
{
	uint32_t chance[2];

	if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
		return -EIO;
	snprintf(place->name, sizeof(place->name), "dnprof-%08x%08x", chance[0], chance[1]);
	if (mkdirat(place->folder, place->name, 0700))
		return -errno;
	place->made = open_made(place);
	if (place->made >= 0)
		return fchmod(place->made, 0755) ? -errno : 0;
	unlinkat(place->folder, place->name, AT_REMOVEDIR);
	return place->made;
}

static int copy(int from, int to)
{
	struct stat st;
	off_t at = 0;

	if (fstat(from, &st) || fchmod(to, 0755))
		return -errno;
	while (at < st.st_size) {
		ssize_t n = sendfile(to, from, &at, (size_t)(st.st_size - at));

		if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

static int copy_to_folder(struct dnp_place *place, const char *library)
{
	auto_close int from = open(library, O_RDONLY | O_CLOEXEC);
	auto_close int to = -1;

	if (from < 0)
		return -errno;
	to = openat(place->made, place->file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		0700);
	return to < 0 ? -errno : copy(from, to);
}

/* A command that is ended by ctrl-C leaves no copy behind. */
static void hold_signals(struct dnp_place *place)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &place->old_mask);
}

/* Into a folder of the target's. 0 or -errno, and nothing is left then. */
static int copy_into(struct dnp_place *place, const struct dnp_target *target, const char *folder,
	const char *library)
{
	int ret;

	place->folder = dnp_target_open(target, folder, O_PATH | O_DIRECTORY);
	if (place->folder < 0)
		return place->folder;
	hold_signals(place);
	ret = is_fit(place->folder) ? make_folder(place) : -EROFS;
	if (!ret)
		ret = copy_to_folder(place, library);
	if (!ret &&
		(size_t)snprintf(place->path, sizeof(place->path), "%s/%s/%s", folder, place->name,
			place->file) >= sizeof(place->path))
		ret = -ENAMETOOLONG;
	if (ret)
		dnp_place_done(place);
	return ret;
}

static int put_copy(struct dnp_place *place, const struct dnp_target *target, const char *library)
{
	auto_free char *temporary = dnp_target_variable(target, "TMPDIR");
	const char *folders[] = {"/tmp", "/dev/shm", "/var/tmp", "/run"};
	int first = -ENOENT;

	if (temporary && *temporary == '/')
		first = copy_into(place, target, temporary, library);
	for (size_t i = 0; first && i < DNP_ARRAY_SIZE(folders); i++) {
		int ret = copy_into(place, target, folders[i], library);

		if (!ret)
			return 0;
		if (!i)
			first = ret;
	}
	return first;
}

int dnp_place_open(struct dnp_place *place, const struct dnp_target *target, const char *library,
	struct dnp_err *err)
{
	int ret;

	*place = (struct dnp_place){.folder = -1, .made = -1, .file = strrchr(library, '/') + 1};
	if (is_there(target, library) && is_readable(target, library)) {
		snprintf(place->path, sizeof(place->path), "%s", library);
		return 0;
	}
	ret = put_copy(place, target, library);
	return !ret
		? 0
		: dnp_err(err, ret,
			  "cannot attach to process %d: it cannot see %s, and no folder of its "
			  "TMPDIR, /tmp, /dev/shm, /var/tmp, /run takes a copy: %s; make one of "
			  "them writable, or put the library where it can be seen",
			  (int)target->pid, library, strerror(-ret));
}

void dnp_place_done(struct dnp_place *place)
{
	if (place->folder < 0)
		return;
	if (place->made >= 0) {
		unlinkat(place->made, place->file, 0);
		close(place->made);
		unlinkat(place->folder, place->name, AT_REMOVEDIR);
	}
	close(place->folder);
	place->folder = place->made = -1;
	sigprocmask(SIG_SETMASK, &place->old_mask, NULL);
}
