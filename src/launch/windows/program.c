/* SPDX-License-Identifier: MIT */
/* Source: "PE Format" (Microsoft Learn). What a file says of itself may be anything. */
#include "launch/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/clean.h"
#include "os/file.h"
#include "os/windows/wide.h"

#if defined(__x86_64__)
#define OWN_MACHINE IMAGE_FILE_MACHINE_AMD64
#elif defined(__aarch64__)
#define OWN_MACHINE IMAGE_FILE_MACHINE_ARM64
#else
#error "no agent for this processor"
#endif

#define PATH_UNITS 32768u
#define TEXT_MAX   32u /* of what is looked for in a file */

/* What the system does not start. */
static const char assembly[] = "an assembly", library[] = "a library";
static const char no_program[] = "no program", empty[] = "an empty file";

const char dnp_program_profiled[] = "64-bit programs of its own processor";

/* ---- The file of a program or library */

struct view {
	const uint8_t *p;
	size_t n;
};

struct image {
	struct view file;
	IMAGE_FILE_HEADER header;
	uint64_t optional; /* where the optional header is */
	uint16_t magic;    /* of that */
};

/* False: not all of it is there. */
static bool get(struct view file, uint64_t at, void *to, size_t n)
{
	if (at > file.n || n > file.n - at)
		return false;
	memcpy(to, file.p + at, n);
	return true;
}

static bool read_image(struct view file, struct image *image)
{
	IMAGE_DOS_HEADER dos;
	uint32_t signature;
	uint64_t at;

	if (!get(file, 0, &dos, sizeof(dos)) || dos.e_magic != IMAGE_DOS_SIGNATURE)
		return false;
	at = (uint32_t)dos.e_lfanew;
	image->file = file;
	image->optional = at + sizeof(signature) + sizeof(image->header);
	return get(file, at, &signature, sizeof(signature)) && signature == IMAGE_NT_SIGNATURE &&
		get(file, at + sizeof(signature), &image->header, sizeof(image->header)) &&
		get(file, image->optional, &image->magic, sizeof(image->magic));
}

/* Zeros: there is none. How many there are stands right before them. */
static IMAGE_DATA_DIRECTORY directory_of(const struct image *image, unsigned i)
{
	uint64_t at = image->optional +
		(image->magic == IMAGE_NT_OPTIONAL_HDR64_MAGIC
				? offsetof(IMAGE_OPTIONAL_HEADER64, DataDirectory)
				: offsetof(IMAGE_OPTIONAL_HEADER32, DataDirectory));
	IMAGE_DATA_DIRECTORY found = {0};
	uint32_t count = 0;

	if (!get(image->file, at - sizeof(count), &count, sizeof(count)) || i >= count ||
		!get(image->file, at + i * sizeof(found), &found, sizeof(found)))
		return (IMAGE_DATA_DIRECTORY){0};
	return found;
}

static bool section_of(const struct image *image, unsigned i, IMAGE_SECTION_HEADER *section)
{
	uint64_t at = image->optional + image->header.SizeOfOptionalHeader +
		(uint64_t)i * sizeof(*section);

	return i < image->header.NumberOfSections &&
		get(image->file, at, section, sizeof(*section));
}

/* As much of a section as the file has. */
static struct view stored(const struct image *image, const IMAGE_SECTION_HEADER *section)
{
	size_t at = section->PointerToRawData, n = section->SizeOfRawData;

	if (at > image->file.n)
		at = image->file.n;
	if (n > image->file.n - at)
		n = image->file.n - at;
	return (struct view){image->file.p + at, n};
}

/* Where the file has what is loaded from there on; a view of nothing: nowhere. */
static struct view loaded_at(const struct image *image, IMAGE_DATA_DIRECTORY place)
{
	IMAGE_SECTION_HEADER section;

	for (unsigned i = 0; section_of(image, i, &section); i++) {
		struct view view = stored(image, &section);
		size_t offset = place.VirtualAddress - (size_t)section.VirtualAddress;

		if (place.VirtualAddress < section.VirtualAddress || offset >= view.n)
			continue;
		view = (struct view){view.p + offset, view.n - offset};
		if (place.Size < view.n)
			view.n = place.Size;
		return view;
	}
	return (struct view){image->file.p, 0};
}

static bool is_whole(const struct image *image)
{
	IMAGE_SECTION_HEADER section;
	unsigned n = image->header.NumberOfSections;

	for (unsigned i = 0; i < n; i++)
		if (!section_of(image, i, &section) ||
			stored(image, &section).n != section.SizeOfRawData)
			return false;
	return n;
}

/*
 * Whether a text stands in what gets loaded, in bytes or in UTF-16; what a bundle has behind its
 * sections is not looked at.
 */
static bool loaded_has(const struct image *image, const char *text)
{
	size_t n = strlen(text);
	char wide[2 * TEXT_MAX] = "";
	IMAGE_SECTION_HEADER section;

	for (size_t i = 0; i < n; i++)
		wide[2 * i] = text[i];
	for (unsigned i = 0; section_of(image, i, &section); i++) {
		struct view view = stored(image, &section);

		if (memmem(view.p, view.n, text, n) || memmem(view.p, view.n, wide, 2 * n))
			return true;
	}
	return false;
}

/* ---- What it is */

static void classify(struct dnp_program *program, enum dnp_program_kind kind, const char *what)
{
	program->kind = kind;
	snprintf(program->what, sizeof(program->what), "%s", what);
}

/* What has code for the .NET Framework says whether it is for 32 bits only. */
static void classify_framework(
	struct dnp_program *program, const struct image *image, IMAGE_DATA_DIRECTORY place)
{
	struct view view = loaded_at(image, place);
	IMAGE_COR20_HEADER header = {0};

	get(view, 0, &header, sizeof(header));
	if (header.Flags & COMIMAGE_FLAGS_32BITREQUIRED)
		classify(program, DNP_PROGRAM_FOREIGN, "a 32-bit program");
	else
		classify(program, DNP_PROGRAM_DOTNET, "a program for the .NET Framework");
}

static void classify_native(struct dnp_program *program, const struct image *image)
{
	if (image->header.Machine == IMAGE_FILE_MACHINE_I386)
		classify(program, DNP_PROGRAM_FOREIGN, "a 32-bit program");
	else if (image->header.Machine != OWN_MACHINE)
		classify(program, DNP_PROGRAM_FOREIGN, "a program for another processor");
	else if (loaded_has(image, "hostfxr") || loaded_has(image, "coreclr_initialize"))
		/* Hosts name the entry points of hostfxr or of CoreCLR that they call. */
		classify(program, DNP_PROGRAM_DOTNET, "a .NET program");
	else if (loaded_has(image, "DotNetRuntimeDebugHeader"))
		/* The debugger's entry to NativeAOT's runtime is exported from each such program.
		 */
		classify(program, DNP_PROGRAM_NATIVEAOT, "a native program");
	else
		classify(program, DNP_PROGRAM_OTHER, "a native program");
}

/* Whether a file of that name is an assembly and no program, whatever is in it. */
static bool is_called(const struct dnp_program *program, const char *ending)
{
	size_t n = program->path ? strlen(program->path) : 0;

	return n > strlen(ending) && !_stricmp(program->path + n - strlen(ending), ending);
}

void dnp_program_classify(struct dnp_program *program, const void *bytes, size_t n)
{
	IMAGE_DATA_DIRECTORY clr;
	struct image image;

	if (is_called(program, ".bat") || is_called(program, ".cmd")) {
		classify(program, DNP_PROGRAM_OTHER, "a batch file");
		return;
	}
	if (!read_image((struct view){bytes, n}, &image)) {
		classify(program, DNP_PROGRAM_OTHER, n ? no_program : empty);
		return;
	}
	clr = directory_of(&image, IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR);
	if (clr.Size && is_called(program, ".dll"))
		classify(program, DNP_PROGRAM_OTHER, assembly);
	else if (image.header.Characteristics & IMAGE_FILE_DLL)
		classify(program, DNP_PROGRAM_OTHER, library);
	else if (clr.Size)
		classify_framework(program, &image, clr);
	else
		classify_native(program, &image);
}

const char *dnp_program_not_library(const void *bytes, size_t n)
{
	struct image image;

	if (!read_image((struct view){bytes, n}, &image))
		return n ? "no library" : empty;
	if (image.header.Machine == IMAGE_FILE_MACHINE_I386)
		return "a 32-bit library";
	if (image.header.Machine != OWN_MACHINE)
		return "a library for another processor";
	if (!(image.header.Characteristics & IMAGE_FILE_DLL))
		return "a program, no library";
	return is_whole(&image) ? NULL : "cut short";
}

static int load(const char *path, struct dnp_file_bytes *bytes)
{
	int failed = dnp_file_load(path, bytes);

	if (failed)
		*bytes = (struct dnp_file_bytes){0};
	return failed;
}

static void unload(struct dnp_file_bytes *bytes)
{
	if (bytes->mapped)
		dnp_file_unmap(bytes->p, bytes->n);
	else
		free((void *)(uintptr_t)bytes->p);
}

const char *dnp_program_library(const char *path)
{
	const char *what = "not to be read";
	struct dnp_file_bytes bytes;

	if (!load(path, &bytes))
		what = dnp_program_not_library(bytes.p, bytes.n);
	unload(&bytes);
	return what;
}

bool dnp_program_names(const char *path, const char *name)
{
	struct dnp_file_bytes bytes;
	struct image image;
	struct view names;
	bool found = false;

	if (!load(path, &bytes) && read_image((struct view){bytes.p, bytes.n}, &image)) {
		names = loaded_at(&image, directory_of(&image, IMAGE_DIRECTORY_ENTRY_EXPORT));
		found = memmem(names.p, names.n, name, strlen(name) + 1);
	}
	unload(&bytes);
	return found;
}

/* ---- Which file a command is */

/*
 * As the system looks for it: beside this program, here, in its own folders, in those of PATH; with
 * the ending of programs first.
 */
static char *search(const char *command)
{
	auto_free wchar_t *wide = dnp_wide(command);
	auto_free wchar_t *found = calloc(PATH_UNITS, sizeof(*found));

	if (!wide || !found ||
		(!SearchPathW(NULL, wide, L".exe", PATH_UNITS, found, NULL) &&
			!SearchPathW(NULL, wide, NULL, PATH_UNITS, found, NULL)))
		return NULL;
	return dnp_narrow(found);
}

static int not_found(const char *command, struct dnp_err *err)
{
	if (!dnp_folder_check(command))
		return dnp_err(
			err, -EISDIR, "cannot start %s: it is a folder; name the program", command);
	if (command[strcspn(command, "\\/:")])
		return dnp_err(err, -ENOENT, "cannot start %s: %s; check its path", command,
			strerror(ENOENT));
	return dnp_err(err, -ENOENT,
		"cannot start %s: it is in no folder of PATH; give its full path", command);
}

static int look_into(struct dnp_program *program, struct dnp_err *err)
{
	struct dnp_file_bytes bytes;
	int failed = load(program->path, &bytes);

	if (failed)
		return dnp_err(err, failed, "cannot read %s: %s; dnprof has to see what it starts",
			program->path, strerror(-failed));
	dnp_program_classify(program, bytes.p, bytes.n);
	unload(&bytes);
	return 0;
}

/* What the system would not start. */
static int check_starts(const struct dnp_program *program, const char *command, struct dnp_err *err)
{
	if (!strcmp(program->what, assembly))
		return dnp_err(err, -ENOEXEC,
			"cannot start %s: it is %s; start it with 'dotnet %s'", command,
			program->what, command);
	if (!strcmp(program->what, library) || !strcmp(program->what, no_program) ||
		!strcmp(program->what, empty))
		return dnp_err(err, -ENOEXEC, "cannot start %s: it is %s; name a program", command,
			program->what);
	return 0;
}

int dnp_program_find(struct dnp_program *program, const char *command, struct dnp_err *err)
{
	int failed;

	*program = (struct dnp_program){.path = search(command)};
	if (!program->path || dnp_file_kind(program->path) == DNP_FILE_FOLDER)
		return not_found(command, err);
	failed = look_into(program, err);
	return failed ? failed : check_starts(program, command, err);
}
