/* SPDX-License-Identifier: MIT */
#include "launch/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clean.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#error "no agent for this processor"
#endif

const char dnp_program_profiled[] = "64-bit programs of its own processor with glibc";

/* A whole file, mapped for reading. */
struct view {
	const unsigned char *p;
	size_t n;
};

static bool contains(struct view view, size_t offset, size_t n)
{
	return offset <= view.n && n <= view.n - offset;
}

static const Elf64_Ehdr *elf_header(struct view file)
{
	if (!contains(file, 0, sizeof(Elf64_Ehdr)) || memcmp(file.p, ELFMAG, SELFMAG))
		return NULL;
	return (const Elf64_Ehdr *)(const void *)file.p;
}

/* The i-th program header; NULL: there is none, or it lies outside of the file. */
static const Elf64_Phdr *elf_segment(struct view file, const Elf64_Ehdr *elf, size_t i)
{
	size_t at = elf->e_phoff + i * sizeof(Elf64_Phdr);

	if (i >= elf->e_phnum || elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff > file.n ||
		at % _Alignof(Elf64_Phdr) || !contains(file, at, sizeof(Elf64_Phdr)))
		return NULL;
	return (const Elf64_Phdr *)(const void *)(file.p + at);
}

/* The bytes of a segment that the file holds. */
static struct view segment_bytes(struct view file, const Elf64_Phdr *segment)
{
	if (!contains(file, segment->p_offset, segment->p_filesz))
		return (struct view){file.p, 0};
	return (struct view){file.p + segment->p_offset, segment->p_filesz};
}

static bool view_has(struct view view, const char *text)
{
	return memmem(view.p, view.n, text, strlen(text)) != NULL;
}

/* Whether text stands in what gets loaded; a bundle's payload behind the segments is not searched.
 */
static bool loaded_has(struct view file, const Elf64_Ehdr *elf, const char *text)
{
	const Elf64_Phdr *segment;

	for (size_t i = 0; (segment = elf_segment(file, elf, i)); i++) {
		if (segment->p_type == PT_LOAD && view_has(segment_bytes(file, segment), text))
			return true;
	}
	return false;
}

static bool interpreter_has(struct view file, const Elf64_Ehdr *elf, const char *text)
{
	const Elf64_Phdr *segment;

	for (size_t i = 0; (segment = elf_segment(file, elf, i)); i++) {
		if (segment->p_type == PT_INTERP && view_has(segment_bytes(file, segment), text))
			return true;
	}
	return false;
}

static void classify(struct dnp_program *program, enum dnp_program_kind kind, const char *what)
{
	program->kind = kind;
	snprintf(program->what, sizeof(program->what), "%s", what);
}

/* Hosts name the entry points of hostfxr or of CoreCLR that they call. */
static bool is_dotnet_host(struct view file, const Elf64_Ehdr *elf)
{
	return loaded_has(file, elf, "hostfxr") || loaded_has(file, elf, "coreclr_initialize");
}

static void classify_elf(struct dnp_program *program, struct view file, const Elf64_Ehdr *elf)
{
	if (elf->e_ident[EI_CLASS] != ELFCLASS64)
		classify(program, DNP_PROGRAM_FOREIGN, "a 32-bit program");
	else if (elf->e_machine != OWN_MACHINE)
		classify(program, DNP_PROGRAM_FOREIGN, "a program for another processor");
	else if (!is_dotnet_host(file, elf))
		/* The debugger's entry to NativeAOT's runtime is exported from each such program.
		 */
		classify(program,
			loaded_has(file, elf, "DotNetRuntimeDebugHeader") ? DNP_PROGRAM_NATIVEAOT
									  : DNP_PROGRAM_OTHER,
			"a native program");
	else if (interpreter_has(file, elf, "ld-musl"))
		classify(program, DNP_PROGRAM_FOREIGN, "a program for the C library musl");
	else
		classify(program, DNP_PROGRAM_DOTNET, "a .NET program");
}

void dnp_program_classify(struct dnp_program *program, const void *bytes, size_t n)
{
	struct view file = {bytes, n};
	const Elf64_Ehdr *elf = elf_header(file);

	if (elf)
		classify_elf(program, file, elf);
	else if (file.n >= 2 && !memcmp(file.p, "#!", 2))
		classify(program, DNP_PROGRAM_OTHER, "a script");
	else if (file.n >= 2 && !memcmp(file.p, "MZ", 2))
		classify(program, DNP_PROGRAM_OTHER, "an assembly or a Windows program");
	else
		classify(program, DNP_PROGRAM_OTHER, "neither a program nor a script");
}

/* A whole file for reading; *map is NULL where it is empty. 0 or -errno. */
static int map_file(const char *path, void **map, size_t *n)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	*map = NULL;
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENODEV;
	*n = (size_t)st.st_size;
	if (!*n)
		return 0;
	*map = mmap(NULL, *n, PROT_READ, MAP_PRIVATE, fd, 0);
	return *map == MAP_FAILED ? -errno : 0;
}

static int look_into(struct dnp_program *program, struct dnp_err *err)
{
	void *map;
	size_t n;
	int ret = map_file(program->path, &map, &n);

	if (ret)
		return dnp_err(err, ret, "cannot read %s: %s; dnprof has to see what it starts",
			program->path, strerror(-ret));
	if (!map) {
		classify(program, DNP_PROGRAM_OTHER, "an empty file");
		return 0;
	}
	dnp_program_classify(program, map, n);
	munmap(map, n);
	return 0;
}

const char *dnp_program_not_library(const void *bytes, size_t n)
{
	struct view file = {bytes, n};
	const Elf64_Ehdr *elf = elf_header(file);

	if (n >= 2 && !memcmp(bytes, "MZ", 2))
		return "an assembly or a Windows library";
	if (!elf)
		return "no library";
	if (elf->e_ident[EI_CLASS] != ELFCLASS64)
		return "a 32-bit library";
	if (elf->e_machine != OWN_MACHINE)
		return "a library for another processor";
	return elf->e_type == ET_DYN ? NULL : "a program, no library";
}

int dnp_program_check_library(const char *path, struct dnp_err *err)
{
	const char *what = "an empty file";
	void *map;
	size_t n;
	int ret = map_file(path, &map, &n);

	if (ret)
		return dnp_err(err, ret, "cannot read the profiler %s: %s; check --profiler-path",
			path, strerror(-ret));
	if (map) {
		what = dnp_program_not_library(map, n);
		munmap(map, n);
	}
	if (what)
		return dnp_err(err, -ELIBBAD,
			"the profiler cannot load: %s is %s; check --profiler-path", path, what);
	return 0;
}

/* Where the file holds what is loaded at `address`; a view of nothing: nowhere. */
static struct view loaded_at(
	struct view file, const Elf64_Ehdr *elf, uint64_t address, uint64_t bytes)
{
	const Elf64_Phdr *segment;

	for (size_t i = 0; (segment = elf_segment(file, elf, i)); i++) {
		struct view view = segment_bytes(file, segment);

		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
			contains(view, address - segment->p_vaddr, bytes))
			return (struct view){view.p + (address - segment->p_vaddr), bytes};
	}
	return (struct view){file.p, 0};
}

/* The names of the dynamic symbols, behind one another. */
static struct view dynamic_names(struct view file, const Elf64_Ehdr *elf)
{
	const Elf64_Phdr *segment = NULL;
	uint64_t address = 0, bytes = 0;
	struct view dynamic;
	Elf64_Dyn entry;

	for (size_t i = 0; (segment = elf_segment(file, elf, i)); i++)
		if (segment->p_type == PT_DYNAMIC)
			break;
	if (!segment)
		return (struct view){file.p, 0};
	dynamic = segment_bytes(file, segment);
	for (size_t at = 0; contains(dynamic, at, sizeof(entry)); at += sizeof(entry)) {
		memcpy(&entry, dynamic.p + at, sizeof(entry));
		if (entry.d_tag == DT_STRTAB)
			address = entry.d_un.d_ptr;
		if (entry.d_tag == DT_STRSZ)
			bytes = entry.d_un.d_val;
	}
	return loaded_at(file, elf, address, bytes);
}

bool dnp_program_names(const char *path, const char *name)
{
	const Elf64_Ehdr *elf;
	struct view file;
	void *map;
	bool found;

	if (map_file(path, &map, &file.n) || !map)
		return false;
	file.p = map;
	elf = elf_header(file);
	found = elf && elf->e_ident[EI_CLASS] == ELFCLASS64 &&
		memmem(dynamic_names(file, elf).p, dynamic_names(file, elf).n, name,
			strlen(name) + 1);
	munmap(map, file.n);
	return found;
}

/* The place behind `mark` in what gets loaded, NULL: it is not there. */
static const unsigned char *loaded_behind(
	struct view file, const Elf64_Ehdr *elf, const char *mark, const unsigned char **end)
{
	const Elf64_Phdr *segment;

	for (size_t i = 0; (segment = elf_segment(file, elf, i)); i++) {
		struct view view = segment_bytes(file, segment);
		const unsigned char *at = segment->p_type == PT_LOAD
			? memmem(view.p, view.n, mark, strlen(mark))
			: NULL;

		if (at) {
			*end = view.p + view.n;
			return at + strlen(mark);
		}
	}
	return NULL;
}

void dnp_program_text(const char *path, const char *mark, char *out, size_t capacity)
{
	const unsigned char *at = NULL, *end = NULL;
	struct view file;
	void *map;
	size_t n = 0;

	*out = '\0';
	if (map_file(path, &map, &file.n) || !map)
		return;
	file.p = map;
	if (elf_header(file))
		at = loaded_behind(file, elf_header(file), mark, &end);
	while (at && at < end && n < capacity - 1 && *at > ' ' && *at < 0x7f)
		out[n++] = (char)*at++;
	out[n] = '\0';
	munmap(map, file.n);
}

static bool is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* NULL: nowhere in PATH, or no memory. */
static char *search_path(const char *command)
{
	const char *list = getenv("PATH");

	if (!list)
		list = "/bin:/usr/bin";
	for (;;) {
		size_t n = strcspn(list, ":");
		char *path;

		if (asprintf(&path, "%.*s%s%s", (int)n, list, n ? "/" : "", command) < 0)
			return NULL;
		if (is_executable(path))
			return path;
		free(path);
		if (!list[n])
			return NULL;
		list += n + 1;
	}
}

static int find_named(struct dnp_program *program, const char *command, struct dnp_err *err)
{
	struct stat st;

	program->path = strdup(command);
	if (!program->path)
		return -ENOMEM;
	if (stat(command, &st))
		return dnp_err(err, -errno, "cannot start %s: %s; check its path", command,
			strerror(errno));
	if (S_ISDIR(st.st_mode))
		return dnp_err(
			err, -EISDIR, "cannot start %s: it is a folder; name the program", command);
	return 0;
}

int dnp_program_find(struct dnp_program *program, const char *command, struct dnp_err *err)
{
	int ret = 0;

	*program = (struct dnp_program){0};
	if (strchr(command, '/'))
		ret = find_named(program, command, err);
	else
		program->path = search_path(command);
	if (!ret && !program->path)
		ret = dnp_err(err, -ENOENT,
			"cannot start %s: it is in no folder of PATH; give its full path", command);
	if (!ret)
		ret = look_into(program, err);
	if (!ret && program->kind == DNP_PROGRAM_OTHER &&
		!strncmp(program->what, "an assembly", 11))
		return dnp_err(err, -ENOEXEC,
			"cannot start %s: it is %s; start it with 'dotnet %s'", command,
			program->what, command);
	if (!ret && !is_executable(program->path))
		ret = dnp_err(err, -EACCES,
			"cannot start %s: it is not executable; mark it so with 'chmod +x'",
			command);
	return ret;
}
