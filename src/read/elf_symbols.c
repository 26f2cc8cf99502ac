/* SPDX-License-Identifier: MIT */
#include "read/elf_symbols.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/file.h"

#define UNSIZED      4096u         /* how far a symbol without a size may reach */
#define KERNEL_REACH (64u * 1024u) /* … where none has: up to the next one, and not further */

/* The name ends where a character of `end` stands. */
static int add(struct dnp_symbols *symbols, const char *name, const char *end, uint64_t start,
	uint64_t size, uint32_t rank)
{
	struct dnp_str text = {name, strcspn(name, end)};

	return dnp_symbols_add(symbols, text, start, start + (size ? size : UNSIZED), rank);
}

/* Without the version behind it: memcpy@@GLIBC_2.14. */
#define VERSION "@"

/* Of several names for one place: sized, global, without leading underscores. */
static uint32_t rank_of(const char *name, const GElf_Sym *sym)
{
	return (sym->st_size ? 0u : 4u) + (GELF_ST_BIND(sym->st_info) == STB_LOCAL ? 2u : 0u) +
		(name[0] == '_' && name[1] != 'Z' ? 1u : 0u);
}

static bool is_function(const GElf_Sym *sym)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && sym->st_value);
}

static int add_symtab(struct dnp_symbols *symbols, Dwfl_Module *module)
{
	int n = dwfl_module_getsymtab(module);

	for (int i = 1; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr address;
		const char *name =
			dwfl_module_getsym_info(module, i, &sym, &address, NULL, NULL, NULL);

		if (!name || !*name || sym.st_shndx == SHN_UNDEF || !is_function(&sym))
			continue;
		if (add(symbols, name, VERSION, address, sym.st_size, rank_of(name, &sym)))
			return -ENOMEM;
	}
	return 0;
}

/* Stubs that calls into other files go through; no symbol says so. */
static int add_stubs(struct dnp_symbols *symbols, Dwfl_Module *module)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	Elf_Scn *section = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || strncmp(name, ".plt", 4) || !(header.sh_flags & SHF_EXECINSTR))
			continue;
		if (add(symbols, "[plt]", "", header.sh_addr + bias, header.sh_size, 0))
			return -ENOMEM;
	}
	return 0;
}

static bool same_build(Dwfl_Module *module, struct dnp_str build_id)
{
	const unsigned char *bits;
	GElf_Addr where;
	int n;

	if (!build_id.n)
		return true;
	n = dwfl_module_build_id(module, &bits, &where);
	return n > 0 && (size_t)n == build_id.n && !memcmp(bits, build_id.p, build_id.n);
}

/*
 * A regular file; the path may come from anywhere, so nothing else is opened: some devices act when
 * they are.
 */
int dnp_symbols_open_file(const char *path)
{
	auto_close int found = open(path, O_PATH | O_CLOEXEC);
	char again[32];
	struct stat st;
	int fd;

	if (found < 0 || fstat(found, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	fd = open(again, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int dnp_symbols_open_debug(struct dnp_str build_id)
{
	char path[160] = "/usr/lib/debug/.build-id/";
	size_t at = strlen(path);

	if (build_id.n < 2 || build_id.n > 64)
		return -ENOENT;
	for (size_t i = 0; i < build_id.n; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%s%02x", i == 1 ? "/" : "",
			(unsigned char)build_id.p[i]);
	strcpy(path + at, ".debug");
	return dnp_symbols_open_file(path);
}

/* How long the file was that the kernel mapped here: its section headers come last. */
static size_t image_bytes(const Elf64_Ehdr *image)
{
	return image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
}

int dnp_symbols_open_vdso(void)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	const Elf64_Ehdr *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	int fd;

	if (!image)
		return -ENOENT;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, image, image_bytes(image)) != (ssize_t)image_bytes(image)) {
		close(fd);
		return -EIO;
	}
	return fd;
}

int dnp_symbols_open_kernel(void)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int debug_fd; /* of the only file that is read at a time; -1: none */

/* libdwfl closes what it gets. */
static int find_debug(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **found)
{
	int fd = debug_fd;

	(void)module, (void)userdata, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)found;
	debug_fd = -1;
	return fd;
}

int dnp_symbols_add_elf(struct dnp_symbols *symbols, int fd, int debug, struct dnp_str build_id)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_debug,
		.section_address = dwfl_offline_section_address,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module;
	int status;

	debug_fd = debug;
	if (!dwfl) {
		close(fd);
		return -ENOMEM;
	}
	/* At 0 and with the file's own addresses: what it says is what we get. Takes fd. */
	module = dwfl_report_elf(dwfl, "", "", fd, 0, true);
	if (!module) {
		close(fd);
		status = -EINVAL;
	} else {
		dwfl_report_end(dwfl, NULL, NULL);
		status = same_build(module, build_id) ? add_symtab(symbols, module) : -ESTALE;
		if (!status)
			status = add_stubs(symbols, module);
	}
	dwfl_end(dwfl);
	return status;
}

static uint64_t read_hex(const char **at)
{
	uint64_t value = 0;

	for (;; ++*at) {
		char c = **at;

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return value;
	}
}

/* Does one of them lie in what a symbol of the kernel may reach? */
static bool is_wanted(const struct dnp_wanted *wanted, size_t n, uint64_t start)
{
	size_t low = 0, high = n; /* the first that is not below start is in [low, high] */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wanted[middle].function < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && wanted[low].function - start < KERNEL_REACH;
}

/* "ffffffff81000000 T name[\t[module]]"; some hundred thousand of them. */
static int add_kernel_line(struct dnp_symbols *symbols, const char *line,
	const struct dnp_wanted *wanted, size_t n, bool *told)
{
	const char *type = line;
	uint64_t address = read_hex(&type);

	if (!address || type[0] != ' ' || !type[1] || !strchr("tTwW", type[1]) || type[2] != ' ')
		return 0;
	*told = true;
	if (!is_wanted(wanted, n, address))
		return 0;
	return add(symbols, type + 3, "\t", address, KERNEL_REACH, 0);
}

/* Not by stdio, which wants to know more of a descriptor than the system may tell here. */
int dnp_symbols_add_kernel(
	struct dnp_symbols *symbols, int fd, const struct dnp_wanted *wanted, size_t n)
{
	struct dnp_file_bytes bytes;
	int status = dnp_file_read_all(fd, &bytes);
	auto_free char *text = status ? NULL : (char *)(uintptr_t)bytes.p;
	char *end = text ? text + bytes.n : NULL;
	bool told = false;

	close(fd);
	for (char *line = text, *next; line < end && !status; line = next) {
		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			break;
		*next++ = '\0';
		status = add_kernel_line(symbols, line, wanted, n, &told);
	}
	if (status)
		return status;
	return told ? 0 : -EPERM;
}

typedef char *demangle_fn(const char *, char *, size_t *, int *);

static demangle_fn *find_demangle(void)
{
	static demangle_fn *demangle;
	static bool tried;
	void *library = tried ? NULL : dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);

	tried = true;
	if (library)
		*(void **)&demangle = dlsym(library, "__cxa_demangle");
	return demangle;
}

void dnp_demangle_prepare(void)
{
	find_demangle();
}

/* Without libstdc++ such names stay mangled. */
char *dnp_demangle(const char *name)
{
	demangle_fn *demangle = strncmp(name, "_Z", 2) ? NULL : find_demangle();
	int status;

	return demangle ? demangle(name, NULL, NULL, &status) : NULL;
}
