/* SPDX-License-Identifier: MIT */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <windows.h>

#include "base/clean.h"
#include "os/library.h"
#include "os/windows/error.h"
#include "os/windows/private.h"
#include "os/windows/wide.h"

/* Others may read, write, rename and remove what we have open, as on other systems. */
#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static HANDLE open_there(const wchar_t *path, DWORD access, DWORD flags)
{
	return CreateFileW(path, access, SHARE_ALL, NULL, OPEN_EXISTING, flags, NULL);
}

/* As a descriptor of the C library, which owns the handle then; -errno. */
static int descriptor_of(HANDLE file, int flags)
{
	int fd = _open_osfhandle((intptr_t)file, flags | O_BINARY | _O_NOINHERIT);

	if (fd < 0) {
		CloseHandle(file);
		return -EMFILE;
	}
	return fd;
}

static int map(HANDLE file, struct dnp_file_bytes *bytes)
{
	LARGE_INTEGER size;
	HANDLE mapping;
	void *view;

	if (!GetFileSizeEx(file, &size) || !size.QuadPart)
		return -ENODATA;
	mapping = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
	if (!mapping)
		return dnp_windows_error();
	view = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
	CloseHandle(mapping); /* the view keeps it */
	if (!view)
		return dnp_windows_error();
	*bytes = (struct dnp_file_bytes){view, (size_t)size.QuadPart, true};
	return 0;
}

static int load(HANDLE file, struct dnp_file_bytes *bytes)
{
	DWORD type = GetFileType(file);
	int fd, status;

	if (type == FILE_TYPE_CHAR) {
		CloseHandle(file);
		return -ENODEV;
	}
	if (type == FILE_TYPE_DISK && !map(file, bytes)) {
		CloseHandle(file);
		return 0;
	}
	fd = descriptor_of(file, O_RDONLY);
	if (fd < 0)
		return fd;
	status = dnp_file_read_all(fd, bytes);
	_close(fd);
	return status;
}

static bool is_folder(const wchar_t *path)
{
	DWORD attributes = GetFileAttributesW(path);

	return attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY;
}

int dnp_file_load(const char *path, struct dnp_file_bytes *bytes)
{
	auto_free wchar_t *wide = dnp_wide_path(path);
	HANDLE file;

	if (!wide)
		return -errno;
	if (is_folder(wide))
		return -EISDIR;
	file = open_there(wide, GENERIC_READ, FILE_ATTRIBUTE_NORMAL);
	return file == INVALID_HANDLE_VALUE ? dnp_windows_error() : load(file, bytes);
}

void dnp_file_unmap(const uint8_t *bytes, size_t n)
{
	(void)n;
	UnmapViewOfFile(bytes);
}

/* Unlocking pages that were never locked takes them out of the working set: so it is documented. */
void dnp_file_drop(const uint8_t *bytes, size_t n)
{
	VirtualUnlock((void *)(uintptr_t)bytes, n);
}

int dnp_file_open(const char *path)
{
	auto_free wchar_t *wide = dnp_wide_path(path);
	HANDLE file;

	if (!wide)
		return -errno;
	file = open_there(wide, GENERIC_READ, FILE_FLAG_OPEN_REPARSE_POINT);
	return file == INVALID_HANDLE_VALUE ? dnp_windows_error() : descriptor_of(file, O_RDONLY);
}

/* Whole pages are mapped from multiples of this on. */
#define MAP_STEP UINT64_C(65536)

/*
 * By a mapping: reading otherwise moves the place at which an agent writes, which a handle out of
 * its process has in common with it.
 */
static ssize_t copy_mapped(HANDLE mapping, void *bytes, size_t n, uint64_t at)
{
	uint64_t from = at / MAP_STEP * MAP_STEP;
	size_t before = (size_t)(at - from);
	const char *view =
		MapViewOfFile(mapping, FILE_MAP_READ, (DWORD)(from >> 32), (DWORD)from, before + n);

	if (!view)
		return dnp_windows_error();
	memcpy(bytes, view + before, n);
	UnmapViewOfFile(view);
	return (ssize_t)n;
}

ssize_t dnp_file_read_at(int fd, void *bytes, size_t n, uint64_t at)
{
	HANDLE file = (HANDLE)_get_osfhandle(fd), mapping;
	LARGE_INTEGER size;
	ssize_t got;

	if (!GetFileSizeEx(file, &size))
		return dnp_windows_error();
	if (at >= (uint64_t)size.QuadPart)
		return 0;
	if (n > (uint64_t)size.QuadPart - at)
		n = (size_t)((uint64_t)size.QuadPart - at);
	mapping = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
	if (!mapping)
		return dnp_windows_error();
	got = copy_mapped(mapping, bytes, n, at);
	CloseHandle(mapping);
	return got;
}

/* Not the C library's, which does not tell a full disk from other failures everywhere. */
ssize_t dnp_file_write(int fd, const void *bytes, size_t n)
{
	HANDLE file = (HANDLE)_get_osfhandle(fd);
	DWORD done;

	if (file == INVALID_HANDLE_VALUE)
		return -EBADF;
	return WriteFile(file, bytes, (DWORD)n, &done, NULL) ? (ssize_t)done : dnp_windows_error();
}

int dnp_file_append(const char *path)
{
	auto_free wchar_t *wide = dnp_wide_path(path);
	HANDLE file;

	if (!wide)
		return -errno;
	file = open_there(wide, FILE_APPEND_DATA, FILE_FLAG_OPEN_REPARSE_POINT);
	if (file == INVALID_HANDLE_VALUE)
		return dnp_windows_error();
	return descriptor_of(file, O_WRONLY | O_APPEND);
}

#define PATH_UNITS_MAX 32767 /* a length of the system's, in bytes, has 16 bits */
#define RANDOM_LETTERS 6
#define ATTEMPTS       100

/* Six letters at the end of a name that others hardly use; that nobody did is seen when it is made.
 */
static void choose_letters(char *end, unsigned attempt)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	LARGE_INTEGER now;
	uint64_t number;

	QueryPerformanceCounter(&now);
	number = ((uint64_t)now.QuadPart << 16) ^ GetCurrentProcessId() ^ (uint64_t)attempt << 40;
	number *= UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 0; i < RANDOM_LETTERS; i++, number /= 36)
		end[i - RANDOM_LETTERS] = letters[(number >> 16) % 36];
}

static int create(const char *path, struct dnp_private *mine)
{
	auto_free wchar_t *wide = dnp_wide_path(path);
	HANDLE file;

	if (!wide)
		return -errno;
	file = CreateFileW(wide, GENERIC_WRITE, SHARE_ALL, &mine->attributes, CREATE_NEW,
		FILE_ATTRIBUTE_NORMAL, NULL);
	if (file == INVALID_HANDLE_VALUE)
		return dnp_windows_error();
	return descriptor_of(file, O_WRONLY);
}

int dnp_file_create(char *path)
{
	struct dnp_private mine;
	int status = dnp_private_init(&mine), fd = status ? status : -EEXIST;

	for (unsigned i = 0; fd == -EEXIST && i < ATTEMPTS; i++) {
		choose_letters(path + strlen(path), i);
		fd = create(path, &mine);
	}
	return fd;
}

int dnp_file_begin(char *path)
{
	return dnp_file_create(path);
}

int dnp_file_name(int fd, char *path)
{
	(void)fd;
	(void)path;
	return 0;
}

static int create_new(const wchar_t *path, struct dnp_private *mine)
{
	HANDLE file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, SHARE_ALL, &mine->attributes,
		CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);

	if (file == INVALID_HANDLE_VALUE)
		return dnp_windows_error();
	return descriptor_of(file, O_RDWR);
}

int dnp_file_create_new(const char *path)
{
	auto_free wchar_t *wide = dnp_wide_path(path);
	struct dnp_private mine;
	int status = wide ? dnp_private_init(&mine) : -errno;

	return status ? status : create_new(wide, &mine);
}

int dnp_file_again(int fd)
{
	HANDLE process = GetCurrentProcess(), again;

	if (!DuplicateHandle(process, (HANDLE)_get_osfhandle(fd), process, &again, 0, FALSE,
		    DUPLICATE_SAME_ACCESS))
		return dnp_windows_error();
	return descriptor_of(again, O_RDWR);
}

/* Descriptors are each library's own here: nobody else closes them. */
struct dnp_file_id dnp_file_id(int fd)
{
	(void)fd;
	return (struct dnp_file_id){0};
}

/* Processes are given names of files here. */
int dnp_file_inherited(int fd, uint64_t device, uint64_t number)
{
	(void)fd;
	(void)device;
	(void)number;
	return -ENOENT;
}

bool dnp_file_is_readable_back(int fd)
{
	HANDLE file = (HANDLE)_get_osfhandle(fd);
	char byte;
	DWORD n;

	/* What may be written to says so when nothing is. */
	return file != INVALID_HANDLE_VALUE && GetFileType(file) == FILE_TYPE_DISK &&
		ReadFile(file, &byte, 0, &n, NULL) && WriteFile(file, &byte, 0, &n, NULL);
}

char *dnp_file_full(const char *path)
{
	auto_free wchar_t *wide = dnp_wide(path);
	auto_free wchar_t *there = dnp_wide_path(path);
	auto_free wchar_t *full = calloc(PATH_UNITS_MAX, sizeof(*full));
	char *narrow;
	size_t n;

	if (!wide || !there || !full)
		return NULL;
	if (!GetFullPathNameW(wide, PATH_UNITS_MAX, full, NULL) ||
		GetFileAttributesW(there) == INVALID_FILE_ATTRIBUTES) {
		errno = -dnp_windows_error();
		return NULL;
	}
	narrow = dnp_narrow(full);
	n = narrow ? strlen(narrow) : 0;
	/* As on other systems, but for the root of a drive. */
	if (n > 3 && narrow[n - 1] == '\\')
		narrow[n - 1] = '\0';
	return narrow;
}

static int create_folder(const char *path, struct dnp_private *mine)
{
	auto_free wchar_t *wide = dnp_wide_path(path);

	if (!wide)
		return -errno;
	return CreateDirectoryW(wide, &mine->attributes) ? 0 : dnp_windows_error();
}

int dnp_folder_create(char *path)
{
	struct dnp_private mine;
	int status = dnp_private_init_folder(&mine), made = status ? status : -EEXIST;

	for (unsigned i = 0; made == -EEXIST && i < ATTEMPTS; i++) {
		choose_letters(path + strlen(path), i);
		made = create_folder(path, &mine);
	}
	return made;
}

char *dnp_folder_temporary(void)
{
	wchar_t wide[MAX_PATH + 1] = L".\\";

	GetTempPathW(DNP_ARRAY_SIZE(wide), wide);
	return dnp_narrow(wide);
}

/* What dnp_folder_each does, with names as the system has them. */
static int each_entry(const wchar_t *folder,
	int (*look)(const WIN32_FIND_DATAW *entry, void *context), void *context)
{
	auto_free wchar_t *pattern = calloc(wcslen(folder) + 3, sizeof(*pattern));
	WIN32_FIND_DATAW entry;
	HANDLE all;
	int ret = 0;

	if (!pattern)
		return -ENOMEM;
	wcscat(wcscpy(pattern, folder), L"\\*");
	all = FindFirstFileW(pattern, &entry);
	if (all == INVALID_HANDLE_VALUE)
		return dnp_windows_error();
	do
		if (wcscmp(entry.cFileName, L".") && wcscmp(entry.cFileName, L".."))
			ret = look(&entry, context);
	while (!ret && FindNextFileW(all, &entry));
	FindClose(all);
	return ret;
}

struct each {
	int (*look)(const char *name, void *context);
	void *context;
};

static int look_at_name(const WIN32_FIND_DATAW *entry, void *context)
{
	const struct each *each = context;
	auto_free char *name = dnp_narrow(entry->cFileName);

	return name ? each->look(name, each->context) : -ENOMEM;
}

int dnp_folder_each(const char *path, int (*look)(const char *name, void *context), void *context)
{
	auto_free wchar_t *wide = dnp_wide_path(path);

	return wide ? each_entry(wide, look_at_name, &(struct each){look, context}) : -errno;
}

struct tree {
	const wchar_t *folder;
	unsigned depth; /* of folders in it that are removed, too */
};

static void remove_tree(const struct tree *tree);

static int remove_entry(const WIN32_FIND_DATAW *entry, void *context)
{
	const struct tree *tree = context;
	const wchar_t *name = entry->cFileName;
	auto_free wchar_t *path = calloc(wcslen(tree->folder) + wcslen(name) + 2, sizeof(*path));

	if (!path)
		return 0;
	wcscat(wcscat(wcscpy(path, tree->folder), L"\\"), name);
	if (!(entry->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY))
		DeleteFileW(path);
	else if (tree->depth && !(entry->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT))
		remove_tree(&(struct tree){path, tree->depth - 1});
	return 0;
}

static void remove_tree(const struct tree *tree)
{
	each_entry(tree->folder, remove_entry, (void *)(uintptr_t)tree);
	RemoveDirectoryW(tree->folder);
}

void dnp_folder_remove(const char *path)
{
	auto_free wchar_t *wide = dnp_wide_path(path);

	if (wide)
		remove_tree(&(struct tree){wide, 1});
}

int dnp_folder_is_own(const char *path, uint32_t owner)
{
	auto_free wchar_t *wide = dnp_wide_path(path);

	(void)owner;
	return wide ? dnp_private_check_folder(wide) : -errno;
}

int dnp_folder_check(const char *path)
{
	auto_free wchar_t *wide = dnp_wide_path(path);

	return wide && is_folder(wide) ? 0 : -ENOENT;
}

#define REPLACE_TRIES    200u
#define REPLACE_PAUSE_MS 10u

static bool may_pass(const wchar_t *to)
{
	switch (GetLastError()) {
	case ERROR_SHARING_VIOLATION: return true;
	case ERROR_ACCESS_DENIED: return GetFileAttributesW(to) != INVALID_FILE_ATTRIBUTES;
	default: return false;
	}
}

/*
 * A file that somebody has open is not replaced, nor given another name: for a moment that may be
 * an agent that is about to close it, or who looks at each new file.
 */
static int move(const wchar_t *from, const wchar_t *to, DWORD flags)
{
	for (unsigned i = 0; !MoveFileExW(from, to, flags); i++) {
		int failed = dnp_windows_error();

		if (i == REPLACE_TRIES || !may_pass(to))
			return failed;
		Sleep(REPLACE_PAUSE_MS);
	}
	return 0;
}

static int move_named(const char *from, const char *to, DWORD flags)
{
	auto_free wchar_t *wide_from = dnp_wide_path(from);
	auto_free wchar_t *wide_to = dnp_wide_path(to);

	if (!wide_from || !wide_to)
		return -errno;
	return move(wide_from, wide_to, flags);
}

int dnp_file_rename(const char *from, const char *to)
{
	return move_named(from, to, MOVEFILE_REPLACE_EXISTING);
}

int dnp_file_rename_new(const char *from, const char *to)
{
	return move_named(from, to, 0);
}

/* A new file has the rights of its folder. */
int dnp_file_own_as(int fd, const char *path)
{
	(void)fd;
	(void)path;
	return 0;
}

void dnp_file_remove(const char *path)
{
	auto_free wchar_t *wide = dnp_wide_path(path);

	if (wide)
		DeleteFileW(wide);
}

/* NUL, CON and the like are devices in every folder. */
static bool is_special(const wchar_t *path)
{
	HANDLE file = open_there(path, 0, FILE_FLAG_OPEN_REPARSE_POINT);
	bool special;

	if (file == INVALID_HANDLE_VALUE)
		return false;
	special = GetFileType(file) != FILE_TYPE_DISK;
	CloseHandle(file);
	return special;
}

/* Of what systems keep beside a file the mark says the same: that it is compressed, or elsewhere.
 */
static bool is_link(const wchar_t *path)
{
	HANDLE file =
		open_there(path, 0, FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS);
	FILE_ATTRIBUTE_TAG_INFO info;
	bool known;

	if (file == INVALID_HANDLE_VALUE)
		return true;
	known = GetFileInformationByHandleEx(file, FileAttributeTagInfo, &info, sizeof(info));
	CloseHandle(file);
	return !known || IsReparseTagNameSurrogate(info.ReparseTag);
}

enum dnp_file_kind dnp_file_kind(const char *path)
{
	auto_free wchar_t *wide = dnp_wide_path(path);
	DWORD attributes = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;

	/* A stream of a file, which may not be there, and is given no other name. */
	if (wide && strchr(dnp_path_base(path), ':'))
		return DNP_FILE_SPECIAL;
	if (attributes == INVALID_FILE_ATTRIBUTES) {
		errno = wide ? -dnp_windows_error() : EILSEQ;
		return DNP_FILE_NONE;
	}
	if (attributes & FILE_ATTRIBUTE_REPARSE_POINT && is_link(wide))
		return DNP_FILE_LINK;
	if (attributes & FILE_ATTRIBUTE_DIRECTORY)
		return DNP_FILE_FOLDER;
	return is_special(wide) ? DNP_FILE_SPECIAL : DNP_FILE_REGULAR;
}
