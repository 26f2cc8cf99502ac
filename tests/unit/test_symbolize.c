/* SPDX-License-Identifier: MIT */
/* Names of native functions: of this very program, and of the C library. */
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/clean.h"
#include "os/clock.h"
#include "read/elf_symbols.h"
#include "read/symbolize.h"
#include "read/visit.h"

#include "recording.h"
#include "test.h"

__attribute__((noinline)) int test_symbolize_known(int x);

int test_symbolize_known(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3;
}

/* The file and the address in it of a function that is loaded here. */
static uint64_t place_of(const void *function, const char **path)
{
	struct link_map *map;
	Dl_info info;

	CHECK(dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP));
	*path = *map->l_name ? map->l_name : "/proc/self/exe";
	return (uintptr_t)function - map->l_addr;
}

static int add_file(struct dnp_symbols *symbols, const char *path, struct dnp_str build_id)
{
	int fd = dnp_symbols_open_file(path);

	return fd < 0 ? fd : dnp_symbols_add_elf(symbols, fd, -1, build_id);
}

TEST(symbols_of_this_program)
{
	struct dnp_symbols symbols = {0};
	const char *path;
	uint64_t address = place_of((const void *)(uintptr_t)test_symbolize_known, &path);

	CHECK_EQ(add_file(&symbols, path, (struct dnp_str){0}), 0);
	dnp_symbols_sort(&symbols);
	CHECK_STR(dnp_symbols_find(&symbols, address), "test_symbolize_known");
	CHECK_STR(dnp_symbols_find(&symbols, address + 1), "test_symbolize_known");
	CHECK(!dnp_symbols_find(&symbols, 0));
	CHECK(!dnp_symbols_find(&symbols, UINT64_MAX));
	dnp_symbols_done(&symbols);
}

TEST(symbols_of_another_build)
{
	struct dnp_symbols symbols = {0};

	CHECK_EQ(add_file(&symbols, "/proc/self/exe", dnp_str("not this one")), -ESTALE);
	CHECK_EQ(add_file(&symbols, "/nowhere/at/all", dnp_str("")), -ENOENT);
	CHECK_EQ(add_file(&symbols, "/dev/zero", dnp_str("")), -EINVAL);
	CHECK_EQ(symbols.list.n, 0);
	dnp_symbols_done(&symbols);
}

/* The build id of the kernel's image, out of the first note of that type. */
static int find_vdso_id(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct dnp_str *id = arg;

	(void)size;
	if (strncmp(info->dlpi_name, "linux-vdso", 10) != 0)
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr); /* NOLINT */
		const char *end = at + segment->p_memsz;

		while (segment->p_type == PT_NOTE && at < end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = (const char *)(note + 1);
			const char *bytes = name + ((note->n_namesz + 3U) & ~3U);

			if (note->n_type == NT_GNU_BUILD_ID && !strcmp(name, "GNU"))
				*id = (struct dnp_str){bytes, note->n_descsz};
			at = bytes + ((note->n_descsz + 3U) & ~3U);
		}
	}
	return 1;
}

TEST(symbols_of_the_vdso)
{
	struct dnp_symbols symbols = {0};
	struct dnp_str id = {0};
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	const char *path;

	dl_iterate_phdr(find_vdso_id, &id);
	if (!vdso || !id.n)
		SKIP("the kernel maps no code here");
	CHECK_EQ(dnp_symbols_add_elf(
			 &symbols, dnp_symbols_open_vdso(), -1, dnp_str("another kernel")),
		-ESTALE);
	CHECK_EQ(dnp_symbols_add_elf(&symbols, dnp_symbols_open_vdso(), -1, id), 0);
	dnp_symbols_sort(&symbols);
	CHECK_STR(dnp_symbols_find(&symbols, place_of(dlsym(vdso, "__vdso_getcpu"), &path)),
		"getcpu");
	dnp_symbols_done(&symbols);
	dlclose(vdso);
}

TEST(symbols_of_stubs)
{
	struct dnp_symbols symbols = {0};
	bool found = false;
	const char *path;

	place_of((const void *)(uintptr_t)test_symbolize_known, &path);
	CHECK_EQ(add_file(&symbols, path, (struct dnp_str){0}), 0);
	dnp_symbols_sort(&symbols);
	for (size_t i = 0; i < symbols.list.n && !found; i++)
		found = !strcmp(dnp_symbols_find(&symbols, symbols.list.p[i].start), "[plt]");
	CHECK(found);
	dnp_symbols_done(&symbols);
}

TEST(symbols_demangle)
{
	auto_free char *name = dnp_demangle("_ZN3GCX4waitEPKc");

	CHECK(!dnp_demangle("malloc"));
	CHECK(!dnp_demangle("_Zqqq"));
	if (!dlopen("libstdc++.so.6", RTLD_NOW))
		SKIP("there is no libstdc++ here");
	CHECK_STR(name, "GCX::wait(char const*)");
}

static int count_symbols(void *arg, const struct dnp_rec_symbol *rec, uint64_t time_ns)
{
	size_t *count = arg;

	(void)time_ns;
	CHECK(rec->module == 3 && rec->name.n == 20);
	CHECK(!memcmp(rec->name.p, "test_symbolize_known", 20));
	++*count;
	return 0;
}

/* The known function, and two that are none. */
static struct recording record_known(void)
{
	struct recording rec = recording_new(99);
	const char *path;
	uint64_t address = place_of((const void *)(uintptr_t)test_symbolize_known, &path);

	RECORD(&rec, process, .pid = 1);
	RECORD(&rec, module, .index = 3, .kind = DNP_MODULE_NATIVE, .path = dnp_str(path));
	RECORD(&rec, frame, .index = 0, .kind = DNP_FRAME_NATIVE, .module = 3, .function = address);
	RECORD(&rec, frame, .index = 1, .kind = DNP_FRAME_NATIVE, .module = 3, .function = 1);
	RECORD(&rec, frame, .index = 2, .kind = DNP_FRAME_NATIVE, .module = 9, .function = address);
	recording_flush(&rec);
	return rec;
}

TEST(symbolize_appends)
{
	static const struct dnp_visitor visitor = {.symbol = count_symbols};
	struct recording rec = record_known();
	struct dnp_sink_memory names;
	struct dnp_input input;
	uint64_t damaged = 0;
	size_t found, count = 0;

	dnp_sink_memory_init(&names);
	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_bytes(&input, "a", rec.bytes.p, rec.bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	CHECK_EQ(dnp_symbolize(&input.recordings.p[0], &names.sink, &found), 0);
	CHECK_EQ(found, 1);
	CHECK_EQ(dnp_input_add_bytes(&input, "b", names.bytes.p, names.bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	CHECK_EQ(input.recordings.p[0].problems.n, 0);
	CHECK_EQ(dnp_recording_visit(&input.recordings.p[0], &visitor, &count, &damaged), 0);
	CHECK_EQ(count, 1);
	CHECK_EQ(dnp_symbolize(&input.recordings.p[0], &names.sink, &found), 0);
	CHECK_EQ(found, 0);
	dnp_input_done(&input);
	dnp_vec_done(&names.bytes);
	recording_done(&rec);
}

/* The difference of these, and of theirs to the clocks here, may be any number. */
TEST(symbolize_takes_any_times)
{
	static const uint64_t times[] = {0, 1, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(times) * DNP_ARRAY_SIZE(times); i++) {
		struct recording rec = recording_new(99);
		struct dnp_sink_memory names;
		struct dnp_input input;
		size_t found;

		RECORD(&rec, process, .pid = 1, .start_ns = times[i % DNP_ARRAY_SIZE(times)],
			.start_unix_ns = times[i / DNP_ARRAY_SIZE(times)]);
		RECORD(&rec, frame, .kind = DNP_FRAME_KERNEL, .function = 1);
		recording_flush(&rec);
		dnp_sink_memory_init(&names);
		dnp_input_init(&input);
		CHECK_EQ(dnp_input_add_bytes(&input, "a", rec.bytes.p, rec.bytes.n, NULL), 0);
		CHECK_EQ(dnp_input_finish(&input, NULL), 0);
		CHECK_EQ(dnp_symbolize(&input.recordings.p[0], &names.sink, &found), 0);
		CHECK_EQ(found, 0);
		dnp_input_done(&input);
		dnp_vec_done(&names.bytes);
		recording_done(&rec);
	}
}

/* Of code that all kernels have. */
static uint64_t kernel_address(void)
{
	auto_fclose FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address;
	char type, line[1024], name[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %c %511s", &address, &type, name) == 3 &&
			!strcmp(name, "vfs_read"))
			return address;
	return 0;
}

/* Which says of its functions where they begin, and not how long they are. */
TEST(kernel_symbols_reach_to_the_next)
{
	static const char text[] = "ffffffff81000000 T long_one\n"
				   "ffffffff81003000 t next_one\t[module]\n"
				   "ffffffff81100000 T last_one\n";
	static const struct dnp_wanted wanted[] = {{.function = UINT64_C(0xffffffff81002000)},
		{.function = UINT64_C(0xffffffff81003010)},
		{.function = UINT64_C(0xffffffff81080000)}};
	struct dnp_symbols symbols = {0};
	int fd = memfd_create("kallsyms", 0);

	CHECK(fd >= 0 && write(fd, text, sizeof(text) - 1) == sizeof(text) - 1);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	CHECK_EQ(dnp_symbols_add_kernel(&symbols, fd, wanted, 3), 0);
	dnp_symbols_sort(&symbols);
	CHECK_STR(dnp_symbols_find(&symbols, wanted[0].function), "long_one");
	CHECK_STR(dnp_symbols_find(&symbols, wanted[1].function), "next_one");
	CHECK(!dnp_symbols_find(&symbols, wanted[2].function));
	dnp_symbols_done(&symbols);
}

TEST(symbolize_names_the_kernel)
{
	struct recording rec = recording_new(99);
	struct dnp_sink_memory names;
	struct dnp_input input;
	size_t found;

	if (!kernel_address())
		SKIP("the kernel does not say where its functions are");
	RECORD(&rec, process, .pid = 1, .start_ns = dnp_now_ns(), .start_unix_ns = dnp_unix_ns());
	RECORD(&rec, frame, .kind = DNP_FRAME_KERNEL, .function = kernel_address() + 1);
	recording_flush(&rec);
	dnp_sink_memory_init(&names);
	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_bytes(&input, "a", rec.bytes.p, rec.bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	CHECK_EQ(dnp_symbolize(&input.recordings.p[0], &names.sink, &found), 0);
	CHECK_EQ(found, 1);
	CHECK(memmem(names.bytes.p, names.bytes.n, "vfs_read", 8));
	dnp_input_done(&input);
	dnp_vec_done(&names.bytes);
	recording_done(&rec);
}

/* What libdw does when it reads a file that was made for that; NULL: what it is for. */
static void (*made_to)(void);
static int *did_it; /* shared with the process that reads */

Dwfl_Module *dwfl_report_elf(
	Dwfl *dwfl, const char *name, const char *file, int fd, GElf_Addr base, bool add_vaddr)
{
	__typeof__(&dwfl_report_elf) real;

	if (made_to)
		made_to();
	*(void **)&real = dlsym(RTLD_NEXT, "dwfl_report_elf");
	return real(dwfl, name, file, fd, base, add_vaddr);
}

/* How many names there are, and whether nothing else came of it. */
static size_t names_where(void (*made)(void))
{
	struct recording rec = record_known();
	struct dnp_sink_memory names;
	struct dnp_input input;
	size_t found;

	did_it = mmap(
		NULL, sizeof(*did_it), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(did_it != MAP_FAILED);
	made_to = made;
	dnp_sink_memory_init(&names);
	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_bytes(&input, "a", rec.bytes.p, rec.bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	CHECK_EQ(dnp_symbolize(&input.recordings.p[0], &names.sink, &found), 0);
	CHECK_EQ(*did_it, 0);
	made_to = NULL;
	munmap(did_it, sizeof(*did_it));
	dnp_input_done(&input);
	dnp_vec_done(&names.bytes);
	recording_done(&rec);
	return found;
}

static void crash(void)
{
	syscall(SYS_exit_group, 139);
}

/* As many a machine does: there is more of it than of memory. */
static void take_memory(void)
{
	size_t n = (size_t)5 << 30;

	*did_it = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0) != MAP_FAILED;
}

/* All that takes rights; it may still read its file. */
static void use_rights(void)
{
	char byte;

	*did_it = open("/dev/null", O_WRONLY) >= 0 || open("/etc/passwd", O_RDONLY) >= 0 ||
		socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || !kill(getppid(), 0) ||
		syscall(SYS_getpid) > 0 || write(STDERR_FILENO, "", 1) >= 0 ||
		pread(0, &byte, 1, 0) != 1 || fork() >= 0;
}

/* Names of functions that nobody asked for, and of another module; then one that was, and rubbish.
 */
static void lie(void)
{
	const char *path;
	uint64_t address = place_of((const void *)(uintptr_t)test_symbolize_known, &path);
	struct dnp_rec_symbol other = {3, address + 1, dnp_str("other")},
			      known = {3, address, dnp_str("known")};
	uint8_t bytes[200];
	size_t n = dnp_put_symbol(bytes, 100, &known);

	n += dnp_put_symbol(bytes + n, 100, &other);
	if (write(3, bytes, n) == (ssize_t)n && write(3, "\x7f\xff\xff", 3) == 3)
		syscall(SYS_exit_group, 0);
	*did_it = 1;
}

TEST(symbols_are_read_where_nothing_comes_of_it)
{
	CHECK_EQ(names_where(NULL), 1);
	CHECK_EQ(names_where(crash), 0);
	CHECK_EQ(names_where(use_rights), 1);
	CHECK_EQ(names_where(lie), 1);
	CHECK_EQ(names_where(take_memory), 1);
}
