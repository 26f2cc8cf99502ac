/* SPDX-License-Identifier: MIT */
/* Code compiled ahead of time, in an image made here: a method with handlers, and one without. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clr/r2r.h"
#include "os/mem.h"
#include "unwind/code.h"
#include "unwind/walk.h"

/* Where things are in the image. */
enum {
	IMAGE_BYTES = 0x4000,
	CODE = 0x1000,
	BODY = CODE,
	FINALLY = CODE + 0x40,
	CATCH = CODE + 0x80,
	FILTER = CODE + 0xc0,
	PLAIN = CODE + 0x100, /* another method, without handlers */
	CODE_BYTES = 0x140,
	DATA = 0x2000,
	FUNCTIONS = DATA,
	UNWIND_BODY = DATA + 0x100,
	UNWIND_HANDLER = DATA + 0x120,
	CLR_HEADER = DATA + 0x200,
	R2R_HEADER = DATA + 0x300,
	METHODS = DATA + 0x400,
	CLAUSES = DATA + 0x500,
};

static uint8_t *image;

static void put16(uint32_t at, unsigned value)
{
	uint16_t v = (uint16_t)value;

	memcpy(image + at, &v, sizeof(v));
}

static void put32(uint32_t at, uint32_t value)
{
	memcpy(image + at, &value, sizeof(value));
}

static void put_words(uint32_t at, const uint32_t *words, size_t n)
{
	memcpy(image + at, words, n * sizeof(words[0]));
}

static void put_section(uint32_t at, uint32_t rva, uint32_t bytes, uint32_t flags)
{
	put32(at + 8, bytes);
	put32(at + 12, rva);
	put32(at + 36, flags);
}

static void put_headers(void)
{
	enum { PE = 0x80, OPTIONAL = PE + 24, DIRECTORIES = OPTIONAL + 112, SECTIONS = PE + 264 };

	put16(0, 0x5a4d);
	put32(0x3c, PE);
	put32(PE, 0x4550);
	put16(PE + 6, 2);    /* sections */
	put16(PE + 20, 240); /* bytes of the optional header */
	put16(OPTIONAL, 0x20b);
	put32(OPTIONAL + 56, IMAGE_BYTES);
	put32(OPTIONAL + 108, 16);
	put32(DIRECTORIES + 8 * 3, FUNCTIONS);
	put32(DIRECTORIES + 8 * 3 + 4, 5 * 12);
	put32(DIRECTORIES + 8 * 14, CLR_HEADER);
	put32(DIRECTORIES + 8 * 14 + 4, 72);
	put_section(SECTIONS, CODE, CODE_BYTES, 0x20000000);
	put_section(SECTIONS + 40, DATA, 0x1000, 0);
}

/*
 * push rbp; sub rsp, 0x20; lea rbp, [rsp + 0x20], and the same without rbp for handlers, of which
 * one takes over the frame of its method.
 */
static void put_code(void)
{
	static const uint8_t body[] = {0x55, 0x48, 0x83, 0xec, 0x20, 0x48, 0x8d, 0x6c, 0x24, 0x20};
	static const uint8_t handler[] = {0x48, 0x83, 0xec, 0x28};
	/* mov rbp, [rdi]; mov [rsp + 0x20], rbp; lea rbp, [rbp + 0x10] */
	static const uint8_t taking[] = {
		0x48, 0x8b, 0x2f, 0x48, 0x89, 0x6c, 0x24, 0x20, 0x48, 0x8d, 0x6d, 0x10};
	static const uint8_t unwind_body[] = {1, 5, 2, 0, 5, 0x32, 1, 0x50};
	static const uint8_t unwind_handler[] = {1, 4, 1, 0, 4, 0x42, 0, 0};
	static const uint32_t starts[] = {BODY, FINALLY, CATCH, FILTER, PLAIN};

	memset(image + CODE, 0x90, CODE_BYTES);
	for (size_t i = 0; i < 5; i++) {
		bool is_body = starts[i] == BODY || starts[i] == PLAIN;

		memcpy(image + starts[i], is_body ? body : handler,
			is_body ? sizeof(body) : sizeof(handler));
		put_words(FUNCTIONS + 12 * (uint32_t)i,
			(uint32_t[]){starts[i], starts[i] + 0x40,
				is_body ? UNWIND_BODY : UNWIND_HANDLER},
			3);
	}
	memcpy(image + FILTER + sizeof(handler), taking, sizeof(taking));
	memcpy(image + UNWIND_BODY, unwind_body, sizeof(unwind_body));
	memcpy(image + UNWIND_HANDLER, unwind_handler, sizeof(unwind_handler));
}

static void put_clauses(void)
{
	static const uint32_t clauses[3][6] = {
		{2, 0x10, 0x20, FINALLY - BODY, CATCH - BODY, 0},
		{0, 0x10, 0x20, CATCH - BODY, FILTER - BODY, 0},
		{1, 0x10, 0x20, CATCH - BODY, FILTER - BODY, FILTER - BODY},
	};

	put32(CLR_HEADER + 64, R2R_HEADER);
	put_words(R2R_HEADER, (uint32_t[]){0x00525452, 9, 0, 1, 104, METHODS, 2 * 8}, 7);
	put_words(METHODS, (uint32_t[]){BODY, CLAUSES, UINT32_MAX, CLAUSES + sizeof(clauses)}, 4);
	put_words(CLAUSES, clauses[0], 18);
}

static void make_image(void)
{
	image = dnp_mem_map(IMAGE_BYTES);
	CHECK(image);
	put_headers();
	put_code();
	put_clauses();
}

static void drop_image(void)
{
	CHECK(dnp_r2r_remove((uintptr_t)image));
	dnp_r2r_done();
	dnp_mem_unmap(image, IMAGE_BYTES);
}

static enum dnp_r2r_part part_at(uint32_t rva, uintptr_t *body)
{
	uintptr_t pc = (uintptr_t)image + rva;
	const struct dnp_r2r_image *found = dnp_r2r_find(pc);
	struct dnp_r2r_function function, method = {0};
	enum dnp_r2r_part part;

	CHECK(found && dnp_r2r_function_at(found, pc, &function));
	part = dnp_r2r_part_of(found, &function, &method);
	*body = method.begin - (uintptr_t)image;
	return part;
}

TEST(r2r_handlers_are_known_by_their_clauses)
{
	uintptr_t body;

	make_image();
	CHECK_EQ(dnp_r2r_add((uintptr_t)image), 0);
	CHECK_EQ(part_at(BODY + 1, &body), DNP_R2R_BODY);
	CHECK_EQ(part_at(FINALLY + 1, &body), DNP_R2R_FINALLY);
	CHECK_EQ(body, BODY);
	CHECK_EQ(part_at(CATCH, &body), DNP_R2R_CATCH);
	CHECK_EQ(body, BODY);
	CHECK_EQ(part_at(FILTER + 0x3f, &body), DNP_R2R_CATCH);
	CHECK_EQ(part_at(PLAIN, &body), DNP_R2R_BODY);
	drop_image();
}

TEST(r2r_clauses_that_make_no_sense_are_none)
{
	static const struct {
		uint32_t at, value;
	} damage[] = {
		{CLR_HEADER + 64, 0},                  /* no header of precompiled code */
		{CLR_HEADER + 64, IMAGE_BYTES * 1000}, /* outside of everything */
		{R2R_HEADER, 0x12345678},              /* something else */
		{R2R_HEADER + 12, UINT32_MAX},         /* too many sections */
		{R2R_HEADER + 20, IMAGE_BYTES},        /* the table is outside of the image */
		{METHODS + 12, CLAUSES - 1},           /* ends before it begins */
		{METHODS + 12, IMAGE_BYTES},           /* ends outside of the image */
	};
	uintptr_t body;

	for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		make_image();
		put32(damage[i].at, damage[i].value);
		CHECK_EQ(dnp_r2r_add((uintptr_t)image), 0);
		CHECK_EQ(part_at(FINALLY, &body), DNP_R2R_BODY);
		CHECK_EQ(part_at(CATCH, &body), DNP_R2R_BODY);
		drop_image();
	}
}

/* Before it is nothing, or the end of another one. */
TEST(r2r_a_frame_where_a_function_begins_is_of_that_one)
{
	static const uint32_t begins[] = {BODY, PLAIN};
	uintptr_t base;

	make_image();
	base = (uintptr_t)image;
	CHECK_EQ(dnp_r2r_add(base), 0);
	for (size_t i = 0; i < 2; i++) {
		dnp_frame_word word = dnp_walk_frame(base + begins[i], false);

		CHECK_EQ(DNP_FRAME_KIND(word), DNP_WALK_R2R);
		CHECK(word & DNP_FRAME_EXACT);
		CHECK_EQ(dnp_code_of_frame(word), base + begins[i]);
		CHECK_EQ(dnp_code_of_frame(word & ~DNP_FRAME_EXACT), base + begins[i]);
		word = dnp_walk_frame(base + begins[i] + 8, false);
		CHECK(!(word & DNP_FRAME_EXACT));
		CHECK_EQ(dnp_code_of_frame(word), base + begins[i] + 7);
	}
	drop_image();
}

/* CoreCLR ends the process when it is asked for what a precompiled image has between functions. */
TEST(r2r_nobody_asks_whose_code_an_unknown_part_of_an_image_is)
{
	uintptr_t base;

	make_image();
	base = (uintptr_t)image;
	CHECK(mprotect(image, IMAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	CHECK(dnp_code_may_be_asked_for(base));
	CHECK_EQ(dnp_r2r_add(base), 0);
	CHECK(!dnp_code_may_be_asked_for(base));
	CHECK(!dnp_code_may_be_asked_for(base + CODE));
	CHECK(!dnp_code_may_be_asked_for(base + CODE + CODE_BYTES));
	CHECK(!dnp_code_may_be_asked_for(base + IMAGE_BYTES - 1));
	drop_image();
}

static bool asked_for(uint32_t rva, dnp_frame_word exact)
{
	return dnp_code_frame_may_be_asked_for(
		(uint64_t)DNP_WALK_R2R << DNP_FRAME_SHIFT | ((uintptr_t)image + rva) | exact);
}

/* As for what is between functions; a walk that went astray may meet such methods. */
TEST(r2r_nobody_asks_whose_code_a_method_is_that_was_never_called)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};

	make_image();
	memcpy(image + PLAIN + 0x10, call, sizeof(call));
	CHECK_EQ(dnp_r2r_add((uintptr_t)image), 0);
	CHECK(!asked_for(PLAIN, 0));
	CHECK(!asked_for(PLAIN + 0x11, 0));
	CHECK(!asked_for(CODE + CODE_BYTES, DNP_FRAME_EXACT));
	/* A thread is there, or has been. */
	CHECK(asked_for(PLAIN + 0x11, DNP_FRAME_EXACT));
	CHECK(asked_for(PLAIN + 0x15, 0));
	/* What the runtime finds once it finds again. */
	dnp_code_frame_is_known(dnp_walk_frame((uintptr_t)image + CATCH + 8, true));
	CHECK(asked_for(PLAIN + 0x11, 0));
	CHECK(asked_for(CATCH + 1, 0));
	CHECK(!asked_for(FINALLY + 1, 0));
	dnp_code_frame_is_known(dnp_walk_frame((uintptr_t)image + PLAIN + 8, true));
	CHECK(asked_for(CATCH + 1, 0));
	CHECK(dnp_code_frame_may_be_asked_for((uint64_t)DNP_WALK_JIT << DNP_FRAME_SHIFT | 1));
	drop_image();
}

/* As the runtime maps an image that nobody has told of yet. */
TEST(r2r_nobody_asks_whose_code_a_file_is)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *mapped = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	CHECK(mapped != MAP_FAILED);
	CHECK(!dnp_code_may_be_asked_for((uintptr_t)mapped));
	CHECK(!dnp_code_may_be_asked_for((uintptr_t)mapped + 8191));
	CHECK(!dnp_code_may_be_asked_for((uintptr_t)make_image));
	close(fd);
}

TEST(r2r_code_made_at_run_time_may_be_asked_for)
{
	char *anonymous = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);
	char *twice, *data;

	CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
	twice = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(anonymous != MAP_FAILED && twice != MAP_FAILED && data != MAP_FAILED);
	CHECK(dnp_code_may_be_asked_for((uintptr_t)anonymous + 4095));
	CHECK(dnp_code_may_be_asked_for((uintptr_t)twice));
	CHECK(!dnp_code_may_be_asked_for((uintptr_t)data));
	CHECK(!dnp_code_may_be_asked_for(0));
	CHECK(!dnp_code_may_be_asked_for(UINTPTR_MAX));
	CHECK(!dnp_code_may_be_asked_for((uintptr_t)&fd));
	close(fd);
}

/* ---- Composite images */

/* As a file: its headers, then its code and data where they are in memory. */
static void *map_composite(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	void *mapped;

	make_image();
	CHECK(fd >= 0 && write(fd, image, IMAGE_BYTES) == IMAGE_BYTES);
	dnp_mem_unmap(image, IMAGE_BYTES);
	mapped = mmap(NULL, IMAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(mapped != MAP_FAILED);
	close(fd);
	return mapped;
}

/* An assembly whose code is in a file of that name. */
static void make_component(const char *name)
{
	enum { DIRECTORIES = 0x80 + 24 + 112, NAME = DATA + 0x400 };

	make_image();
	put32(DIRECTORIES + 8 * 3, 0);
	put32(DIRECTORIES + 8 * 3 + 4, 0);
	put_words(R2R_HEADER,
		(uint32_t[]){0x00525452, 9, 0, 1, 116, NAME, (uint32_t)strlen(name) + 1}, 7);
	strcpy((char *)image + NAME, name);
}

TEST(r2r_code_of_a_component_is_in_the_composite_image)
{
	char path[64];
	const char *name = path + sizeof("/tmp/") - 1;
	uint8_t *composite;

	snprintf(path, sizeof(path), "/tmp/composite-%d.r2r.dll", getpid());
	composite = map_composite(path);
	make_component(name);
	CHECK_EQ(dnp_r2r_add((uintptr_t)image), 0);
	CHECK_EQ(dnp_r2r_add((uintptr_t)image), 0); /* the next one of many */
	CHECK(dnp_r2r_find((uintptr_t)composite + PLAIN));
	CHECK(!dnp_r2r_find((uintptr_t)image + PLAIN));
	dnp_mem_unmap(image, IMAGE_BYTES);
	image = composite;
	unlink(path);
	drop_image();
}

TEST(r2r_a_composite_image_that_is_not_there)
{
	make_component("nobody-has-this.r2r.dll");
	CHECK_EQ(dnp_r2r_add((uintptr_t)image), -ENOENT);
	put32(R2R_HEADER + 24, 3); /* a name without its end */
	CHECK_EQ(dnp_r2r_add((uintptr_t)image), -ENOEXEC);
	put32(R2R_HEADER + 24, 0x10000); /* outside of the image */
	CHECK_EQ(dnp_r2r_add((uintptr_t)image), -ENOEXEC);
	dnp_mem_unmap(image, IMAGE_BYTES);
}

/* Within a handler, behind its sub rsp; both ways lie on the stack. Where does the walk go on? */
static uint32_t caller_at(uint32_t place)
{
	uintptr_t stack[16] = {0}, base = (uintptr_t)image;
	struct dnp_stacks stacks = {.now = {(uintptr_t)stack, (uintptr_t)(stack + 16)}};
	struct dnp_regs regs = {
		.pc = base + place, .sp = (uintptr_t)stack, .bp = (uintptr_t)(stack + 12)};
	dnp_frame_word frames[16];
	enum dnp_walk_stop stop;
	size_t n;

	stack[5] = base + PLAIN + 0x10; /* who called the handler: sub rsp, 0x28 */
	stack[12] = (uintptr_t)(stack + 15);
	stack[13] = base + PLAIN + 0x20; /* who called the method: rbp + 8 */
	n = dnp_walk(&regs, stacks, frames, 16, &stop);
	CHECK(n >= 2);
	return (uint32_t)(DNP_FRAME_ADDR(frames[1]) - base);
}

TEST(r2r_a_catch_handler_leaves_the_frame_of_its_method)
{
	make_image();
	CHECK_EQ(dnp_r2r_add((uintptr_t)image), 0);
	CHECK_EQ(caller_at(FINALLY + 0x10), PLAIN + 0x10);
	CHECK_EQ(caller_at(CATCH + 0x10), PLAIN + 0x20);
	CHECK_EQ(caller_at(FILTER + 0x10), PLAIN + 0x20);
	/* Before it has taken it over: at each of the three instructions that do. */
	CHECK_EQ(caller_at(FILTER + 4), PLAIN + 0x10);
	CHECK_EQ(caller_at(FILTER + 7), PLAIN + 0x10);
	CHECK_EQ(caller_at(FILTER + 12), PLAIN + 0x10);
	CHECK_EQ(caller_at(CATCH + 4), PLAIN + 0x20);
	drop_image();
}
