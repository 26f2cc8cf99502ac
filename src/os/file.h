/* SPDX-License-Identifier: MIT */
/*
 * Files by their names, which are UTF-8 on Windows. Any thread; not for handlers. What can fail
 * returns -errno.
 */
#ifndef DNP_OS_FILE_H
#define DNP_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* All bytes of a file. */
struct dnp_file_bytes {
	const uint8_t *p; /* owned */
	size_t n;
	bool mapped; /* they are read when they are looked at */
};

/*
 * Maps an ordinary file of this user's alone that nobody has open for writing; reads a pipe, what
 * cannot be mapped, and what others may write to, to its end. -EISDIR: it is a folder, -ENODEV: a
 * device. Pair: dnp_file_unmap where they are mapped, else free(). Where a mapped file is cut short
 * later, the look at what is gone ends this process with a line that says so (SIGBUS): for programs
 * of the command line only.
 */
int dnp_file_load(const char *path, struct dnp_file_bytes *bytes);
void dnp_file_unmap(const uint8_t *bytes, size_t n);

/* Gives back the memory of mapped bytes, which come again when they are looked at. */
void dnp_file_drop(const uint8_t *bytes, size_t n);

/* For reading; a link is not followed. The descriptor is the caller's to close. */
int dnp_file_open(const char *path);
/* As many bytes from there as are there, at most n: how many, or -errno. */
ssize_t dnp_file_read_at(int fd, void *bytes, size_t n, uint64_t at);

/* One write of at most a gibibyte: how many bytes of it were taken, or -errno. */
ssize_t dnp_file_write(int fd, const void *bytes, size_t n);

/* For writing at its end; a link is not followed. The descriptor is the caller's to close. */
int dnp_file_append(const char *path);

/*
 * Makes a file that did not exist, for its user alone, and puts a name of its own for the XXXXXX
 * that `path` ends with. The descriptor is the caller's to close.
 */
int dnp_file_create(char *path);

/*
 * The same, but where the system can it has no name yet, so that nothing is left where this process
 * is killed. dnp_file_name gives it one, in `path`. 0 or -errno; it may be asked again.
 */
int dnp_file_begin(char *path);
int dnp_file_name(int fd, char *path);

/*
 * The same without such a name: -EEXIST where something has that one. For reading and writing.
 */
int dnp_file_create_new(const char *path);

/*
 * Another descriptor of that file, out of the program's way where there is room; the caller's to
 * close. -errno.
 */
int dnp_file_again(int fd);

/*
 * Which file a descriptor is of, by device and number on it: a program that closes descriptors that
 * are not its own may have another there later. All 0: none, or the system does not tell.
 */
struct dnp_file_id {
	uint64_t device, number;
};
struct dnp_file_id dnp_file_id(int fd);
static inline bool dnp_file_is(int fd, struct dnp_file_id id)
{
	struct dnp_file_id now = dnp_file_id(fd);

	return now.device == id.device && now.number == id.number;
}

/*
 * Whether a descriptor that this process was started with is of that file, by device and number on
 * it; if so, no child of this process inherits it from now on. 0 or -errno, -ENOENT: it is not.
 */
int dnp_file_inherited(int fd, uint64_t device, uint64_t number);

/* Whether it is an ordinary file, open for reading and writing: neither waits for anybody. */
bool dnp_file_is_readable_back(int fd);

/*
 * A file in memory, without a name, that tells its kind; where the system has none (Windows), one
 * with a name of its own among its user's temporary files, which goes when nobody has it open any
 * more. The caller's to close. -errno with err.
 */
int dnp_file_in_memory(struct dnp_err *err);
bool dnp_file_is_in_memory(int fd);

/* The whole path of a file or folder that exists, without links; owned. NULL and errno. */
char *dnp_file_full(const char *path);

/* Makes a folder for its user alone, with a name of its own as dnp_file_create. 0 or -errno. */
int dnp_folder_create(char *path);
/* The one of this user's temporary files; owned by the caller, NULL: no memory. */
char *dnp_folder_temporary(void);
/*
 * Calls `look` with each name in a folder, but for its own and its parent's, in no order, until it
 * does not return 0: that, 0, or -errno where the folder cannot be read.
 */
int dnp_folder_each(const char *path, int (*look)(const char *name, void *context), void *context);
/* Removes a folder, with files and folders of files in it. No link is followed. */
void dnp_folder_remove(const char *path);
/*
 * Whether a folder is this process's user's, or the owner's by that number (on Windows the system's
 * or an administrator's): 0, -EPERM or another -errno. A link is no folder.
 */
int dnp_folder_is_own(const char *path, uint32_t owner);
/* Whether this user may make files in a folder: 0 or -errno. */
int dnp_folder_check(const char *path);

/* Puts a file, or replaces the one, at `to`, in one step: nobody ever sees a part of it. */
int dnp_file_rename(const char *from, const char *to);
/* The same, but what is there stays: -EEXIST, whatever it is. */
int dnp_file_rename_new(const char *from, const char *to);
/* Whose the file at `path` is, and who may do what with it: the same for an open one. 0 or -errno.
 */
int dnp_file_own_as(int fd, const char *path);
void dnp_file_remove(const char *path);

enum dnp_file_kind {
	DNP_FILE_NONE, /* nothing is there, or nobody may know */
	DNP_FILE_REGULAR,
	DNP_FILE_LINK, /* which nobody follows */
	DNP_FILE_FOLDER,
	DNP_FILE_SPECIAL, /* a device, a pipe, a socket */
};
enum dnp_file_kind dnp_file_kind(const char *path); /* of none, errno says why */

/* What any system has: reads to the end into *bytes (not mapped), and writes all. */
int dnp_file_read_all(int fd, struct dnp_file_bytes *bytes);
int dnp_file_write_all(int fd, const void *bytes, size_t n);

#endif
