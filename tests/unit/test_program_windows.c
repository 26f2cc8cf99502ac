/* SPDX-License-Identifier: MIT */
/* Which files of Windows can be profiled, and which are libraries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "launch/program.h"
#include "test.h"

#define TEXT_AT 0x1000u /* where the section would be loaded */

/* A file of one section with some text in it. */
struct file {
	IMAGE_DOS_HEADER dos;
	IMAGE_NT_HEADERS64 nt;
	IMAGE_SECTION_HEADER section;
	union {
		char text[128];
		IMAGE_COR20_HEADER clr;
	};
	char behind[64]; /* in no section, as the payload of a bundle */
};

static struct file make(const char *text)
{
	struct file f = {
		.dos = {.e_magic = IMAGE_DOS_SIGNATURE, .e_lfanew = offsetof(struct file, nt)},
		.nt = {.Signature = IMAGE_NT_SIGNATURE,
			.FileHeader = {.Machine = IMAGE_FILE_MACHINE_AMD64,
				.NumberOfSections = 1,
				.SizeOfOptionalHeader = sizeof(IMAGE_OPTIONAL_HEADER64)},
			.OptionalHeader = {.Magic = IMAGE_NT_OPTIONAL_HDR64_MAGIC,
				.NumberOfRvaAndSizes = IMAGE_NUMBEROF_DIRECTORY_ENTRIES}},
		.section = {.VirtualAddress = TEXT_AT,
			.PointerToRawData = offsetof(struct file, text),
			.SizeOfRawData = sizeof(f.text)},
	};

	memcpy(f.text, text, strlen(text));
	return f;
}

static IMAGE_DATA_DIRECTORY *directory(struct file *f, unsigned i)
{
	return &f->nt.OptionalHeader.DataDirectory[i];
}

static enum dnp_program_kind kind_of_named(const char *path, const void *bytes, size_t n)
{
	struct dnp_program program = {.path = path ? strdup(path) : NULL};

	dnp_program_classify(&program, bytes, n);
	CHECK(program.what[0]);
	dnp_program_done(&program);
	return program.kind;
}

static enum dnp_program_kind kind_of(const struct file *f)
{
	return kind_of_named("x.exe", f, sizeof(*f));
}

TEST(program_dotnet)
{
	struct file f = make("xxhostfxr_mainxx");

	CHECK_EQ(kind_of(&f), DNP_PROGRAM_DOTNET);
	f = make("coreclr_initialize");
	CHECK_EQ(kind_of(&f), DNP_PROGRAM_DOTNET);
	f = make("");
	memcpy(f.text, L"hostfxr.dll", sizeof(L"hostfxr.dll"));
	CHECK_EQ(kind_of(&f), DNP_PROGRAM_DOTNET);
}

TEST(program_native)
{
	struct file f = make("hostfx");

	CHECK_EQ(kind_of(&f), DNP_PROGRAM_OTHER);
	strcpy(f.behind, "hostfxr");
	CHECK_EQ(kind_of(&f), DNP_PROGRAM_OTHER);
	f = make("DotNetRuntimeDebugHeader");
	CHECK_EQ(kind_of(&f), DNP_PROGRAM_NATIVEAOT);
}

TEST(program_foreign)
{
	struct file f = make("hostfxr");

	f.nt.FileHeader.Machine = IMAGE_FILE_MACHINE_I386;
	CHECK_EQ(kind_of(&f), DNP_PROGRAM_FOREIGN);
	f.nt.FileHeader.Machine = IMAGE_FILE_MACHINE_ARMNT;
	CHECK_EQ(kind_of(&f), DNP_PROGRAM_FOREIGN);
}

TEST(program_of_the_framework)
{
	struct file f = make("");

	f.nt.FileHeader.Machine = IMAGE_FILE_MACHINE_I386; /* of code for any processor, too */
	*directory(&f, IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR) =
		(IMAGE_DATA_DIRECTORY){TEXT_AT, sizeof(f.clr)};
	CHECK_EQ(kind_of(&f), DNP_PROGRAM_DOTNET);
	CHECK_EQ(kind_of_named("x.DLL", &f, sizeof(f)), DNP_PROGRAM_OTHER);
	f.clr.Flags = COMIMAGE_FLAGS_32BITREQUIRED;
	CHECK_EQ(kind_of(&f), DNP_PROGRAM_FOREIGN);
}

TEST(program_library)
{
	struct file f = make("");

	CHECK_STR(dnp_program_not_library(&f, sizeof(f)), "a program, no library");
	f.nt.FileHeader.Characteristics = IMAGE_FILE_DLL;
	CHECK(!dnp_program_not_library(&f, sizeof(f)));
	CHECK_EQ(kind_of(&f), DNP_PROGRAM_OTHER);
	CHECK_STR(dnp_program_not_library(&f, offsetof(struct file, behind) - 1), "cut short");
	f.nt.FileHeader.Machine = IMAGE_FILE_MACHINE_ARMNT;
	CHECK_STR(dnp_program_not_library(&f, sizeof(f)), "a library for another processor");
	f.nt.FileHeader.Machine = IMAGE_FILE_MACHINE_I386;
	CHECK_STR(dnp_program_not_library(&f, sizeof(f)), "a 32-bit library");
	CHECK_STR(dnp_program_not_library("MZ", 2), "no library");
	CHECK_STR(dnp_program_not_library("", 0), "an empty file");
}

TEST(program_no_image)
{
	CHECK_EQ(kind_of_named("x.bat", "@echo off", 9), DNP_PROGRAM_OTHER);
	CHECK_EQ(kind_of_named(NULL, "MZ", 2), DNP_PROGRAM_OTHER);
	CHECK_EQ(kind_of_named(NULL, "", 0), DNP_PROGRAM_OTHER);
}

/* What a file says of itself may be anything: each length, and each byte of the headers. */
TEST(program_of_any_bytes)
{
	struct file f = make("hostfxr");
	uint8_t *bytes = (uint8_t *)&f;

	*directory(&f, IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR) =
		(IMAGE_DATA_DIRECTORY){TEXT_AT, sizeof(f.clr)};
	for (size_t n = 0; n < sizeof(f); n++) {
		void *copy = malloc(n + !n);

		memcpy(copy, &f, n);
		kind_of_named("x.exe", copy, n);
		dnp_program_not_library(copy, n);
		free(copy);
	}
	for (size_t i = 0; i < offsetof(struct file, text); i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			bytes[i] ^= (uint8_t)(1u << bit);
			kind_of(&f);
			dnp_program_not_library(&f, sizeof(f));
			bytes[i] ^= (uint8_t)(1u << bit);
		}
}

TEST(program_is_found_as_the_system_finds_it)
{
	struct dnp_program program;
	struct dnp_err err = {0};

	CHECK_EQ(dnp_program_find(&program, "cmd", &err), 0);
	CHECK(!_stricmp(strrchr(program.path, '\\'), "\\cmd.exe"));
	CHECK_EQ(program.kind, DNP_PROGRAM_OTHER);
	CHECK_EQ(dnp_program_check(&program, &err), -ENOEXEC);
	CHECK(strstr(err.text, "not .NET"));
	dnp_program_done(&program);
	CHECK_EQ(dnp_program_find(&program, "no-such-program", &err), -ENOENT);
	CHECK(strstr(err.text, "PATH"));
	dnp_program_done(&program);
	CHECK_EQ(dnp_program_find(&program, ".\\no-such-program", &err), -ENOENT);
	dnp_program_done(&program);
	CHECK_EQ(dnp_program_find(&program, ".", &err), -EISDIR);
	dnp_program_done(&program);
	CHECK_EQ(dnp_program_find(&program, "kernel32.dll", &err), -ENOEXEC);
	CHECK(strstr(err.text, "a library"));
	dnp_program_done(&program);
}
