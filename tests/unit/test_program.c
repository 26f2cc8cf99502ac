/* SPDX-License-Identifier: MIT */
#include "launch/program.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/agent_options.h"
#include "launch/environment.h"
#include "test.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

/* A file of one loaded segment with some text in it, and an interpreter. */
struct file {
	Elf64_Ehdr elf;
	Elf64_Phdr segments[2];
	char text[64];
	char interpreter[64];
	char behind[64]; /* in no segment, as the payload of a bundle */
};

static struct file make(const char *text, const char *interpreter)
{
	struct file f = {
		.elf = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
			.e_machine = MACHINE,
			.e_phoff = offsetof(struct file, segments),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2},
		.segments = {{.p_type = PT_LOAD,
				     .p_offset = offsetof(struct file, text),
				     .p_filesz = sizeof(f.text)},
			{.p_type = PT_INTERP,
				.p_offset = offsetof(struct file, interpreter),
				.p_filesz = sizeof(f.interpreter)}},
	};

	strcpy(f.text, text);
	strcpy(f.interpreter, interpreter);
	return f;
}

static enum dnp_program_kind kind_of(const void *bytes, size_t n)
{
	struct dnp_program program = {0};

	dnp_program_classify(&program, bytes, n);
	CHECK(program.what[0]);
	return program.kind;
}

#define GLIBC "/lib64/ld-linux-x86-64.so.2"

TEST(program_dotnet)
{
	struct file f = make("xxhostfxr_mainxx", GLIBC);

	CHECK_EQ(kind_of(&f, sizeof(f)), DNP_PROGRAM_DOTNET);
	f = make("coreclr_initialize", GLIBC);
	CHECK_EQ(kind_of(&f, sizeof(f)), DNP_PROGRAM_DOTNET);
}

TEST(program_native)
{
	struct file f = make("hostfx", GLIBC);

	CHECK_EQ(kind_of(&f, sizeof(f)), DNP_PROGRAM_OTHER);
	strcpy(f.behind, "hostfxr");
	CHECK_EQ(kind_of(&f, sizeof(f)), DNP_PROGRAM_OTHER);
}

TEST(program_nativeaot)
{
	struct file f = make("DotNetRuntimeDebugHeader", GLIBC);

	CHECK_EQ(kind_of(&f, sizeof(f)), DNP_PROGRAM_NATIVEAOT);
}

TEST(program_foreign)
{
	struct file f = make("hostfxr", "/lib/ld-musl-x86_64.so.1");

	CHECK_EQ(kind_of(&f, sizeof(f)), DNP_PROGRAM_FOREIGN);
	f = make("hostfxr", GLIBC);
	f.elf.e_machine = EM_RISCV;
	CHECK_EQ(kind_of(&f, sizeof(f)), DNP_PROGRAM_FOREIGN);
	f = make("hostfxr", GLIBC);
	f.elf.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK_EQ(kind_of(&f, sizeof(f)), DNP_PROGRAM_FOREIGN);
}

TEST(program_library)
{
	struct file f = make("", "");

	f.elf.e_type = ET_DYN;
	CHECK(!dnp_program_not_library(&f, sizeof(f)));
	f.elf.e_type = ET_EXEC;
	CHECK_STR(dnp_program_not_library(&f, sizeof(f)), "a program, no library");
	f.elf.e_machine = EM_RISCV;
	CHECK_STR(dnp_program_not_library(&f, sizeof(f)), "a library for another processor");
	f.elf.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK_STR(dnp_program_not_library(&f, sizeof(f)), "a 32-bit library");
	CHECK_STR(dnp_program_not_library("MZ", 2), "an assembly or a Windows library");
	CHECK_STR(dnp_program_not_library(&f, 20), "no library");
	CHECK_STR(dnp_program_not_library("\x7f", 1), "no library");
}

TEST(program_no_elf)
{
	CHECK_EQ(kind_of("#!/bin/sh\n", 10), DNP_PROGRAM_OTHER);
	CHECK_EQ(kind_of("MZ", 2), DNP_PROGRAM_OTHER);
	CHECK_EQ(kind_of("\177ELF", 4), DNP_PROGRAM_OTHER);
	CHECK_EQ(kind_of("", 0), DNP_PROGRAM_OTHER);
}

TEST(program_segments_outside_of_the_file)
{
	struct file f = make("hostfxr", GLIBC);

	f.segments[0].p_offset = UINT64_MAX - 3;
	CHECK_EQ(kind_of(&f, sizeof(f)), DNP_PROGRAM_OTHER);
	f = make("hostfxr", GLIBC);
	f.elf.e_phoff = UINT64_MAX - 15;
	CHECK_EQ(kind_of(&f, sizeof(f)), DNP_PROGRAM_OTHER);
	f = make("hostfxr", GLIBC);
	CHECK_EQ(kind_of(&f, sizeof(f.elf)), DNP_PROGRAM_OTHER);
}

TEST(program_check_tells_why)
{
	struct dnp_program program = {.path = strdup("/x"), .kind = DNP_PROGRAM_NATIVEAOT};
	struct dnp_err err;

	CHECK_EQ(dnp_program_check(&program, &err), -ENOEXEC);
	CHECK(strstr(err.text, "NativeAOT"));
	program.kind = DNP_PROGRAM_OTHER;
	CHECK_EQ(dnp_program_check(&program, &err), -ENOEXEC);
	CHECK(strstr(err.text, "dnprof timeline") && strstr(err.text, "--children"));
	program.kind = DNP_PROGRAM_DOTNET;
	CHECK_EQ(dnp_program_check(&program, &err), 0);
	dnp_program_done(&program);
}

TEST(environment_is_set)
{
	struct dnp_err err;

	setenv("CORECLR_PROFILER_PATH_64", "/old", 1);
	unsetenv("CORECLR_ENABLE_PROFILING");
	CHECK_EQ(dnp_environment_check(true, &err), 0);
	CHECK_EQ(dnp_environment_set("/agent.so", "fd=3"), 0);
	CHECK_STR(getenv("CORECLR_PROFILER_PATH"), "/agent.so");
	CHECK_STR(getenv("DNPROF_OPTIONS"), "fd=3");
	CHECK(!getenv("CORECLR_PROFILER_PATH_64"));
	CHECK_EQ(dnp_environment_check(true, &err), -EBUSY);
	CHECK_EQ(dnp_environment_check(false, &err), 0);
}

TEST(environment_is_set_beside_another_profiler)
{
	setenv("CORECLR_ENABLE_PROFILING", "1", 1);
	setenv("CORECLR_PROFILER_PATH", "/apm.so", 1);
	unsetenv("CORECLR_ENABLE_NOTIFICATION_PROFILERS");
	setenv("CORECLR_NOTIFICATION_PROFILERS", "/off.so={x};", 1);
	CHECK_EQ(dnp_environment_set("/agent.so", "fd=3"), 0);
	CHECK_STR(getenv("CORECLR_PROFILER_PATH"), "/apm.so");
	CHECK_STR(
		getenv("CORECLR_NOTIFICATION_PROFILERS"), "/agent.so=" DNP_AGENT_NOTIFY_CLSID ";");
	CHECK_STR(getenv("CORECLR_ENABLE_NOTIFICATION_PROFILERS"), "1");
	setenv("CORECLR_NOTIFICATION_PROFILERS_64", "/other.so={x}", 1);
	CHECK_EQ(dnp_environment_set("/agent.so", "fd=3"), 0);
	CHECK_STR(getenv("CORECLR_NOTIFICATION_PROFILERS_64"),
		"/other.so={x};/agent.so=" DNP_AGENT_NOTIFY_CLSID ";");
}
