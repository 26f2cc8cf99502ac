/* SPDX-License-Identifier: MIT */
/* Whole stacks of this very program: every function on the way is known. */
#include "test.h"

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include "clr/codemap.h"
#include "os/generation.h"
#include "os/modules.h"
#include "os/x86_64/context.h"
#include "unwind/native.h"
#include "unwind/walk.h"

#define FRAMES_MAX 4096

static dnp_frame_word frames[FRAMES_MAX];
static size_t n_frames;
static dnp_frame_word again[FRAMES_MAX];
static struct dnp_regs registers[FRAMES_MAX];
static size_t n_again;
static enum dnp_walk_stop stopped;
static volatile int sink;

static struct dnp_stack_range own_stack(void)
{
	struct dnp_stack_range range;
	pthread_attr_t attr;
	void *base;
	size_t size;

	CHECK(pthread_getattr_np(pthread_self(), &attr) == 0);
	CHECK(pthread_attr_getstack(&attr, &base, &size) == 0);
	pthread_attr_destroy(&attr);
	range.low = (uintptr_t)base;
	range.high = (uintptr_t)base + size;
	return range;
}

static struct dnp_stack_range range, alternative;
static uintptr_t runtime_thread;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	struct dnp_stacks stacks = {.now = range, .runtime_thread = runtime_thread};
	struct dnp_regs regs = dnp_regs_of(context);

	(void)signal;
	(void)info;
	n_frames = dnp_walk(&regs, stacks, frames, FRAMES_MAX, &stopped);
	n_again = dnp_walk_registers(&regs, stacks, again, registers, FRAMES_MAX, &stopped);
}

static void prepare(void)
{
#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer calls handlers later, from a frame of its own");
#endif
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	CHECK(dnp_native_refresh() >= 0);
	range = own_stack();
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

/* The number of frames whose function is the one that begins at `function`. */
static size_t frames_of(const void *function)
{
	size_t n = 0;

	for (size_t i = 0; i < n_frames; i++) {
		uintptr_t pc = DNP_FRAME_ADDR(frames[i]) - (frames[i] & DNP_FRAME_EXACT ? 0 : 1);
		const struct dnp_elf_module *module = dnp_module_find(pc);
		uint64_t start;

		if (module && dnp_native_function(module, pc, &start) &&
			start + module->bias == (uintptr_t)function)
			n++;
	}
	return n;
}

__attribute__((noinline)) static void leaf(void)
{
	raise(SIGUSR1);
	sink++;
}

__attribute__((noinline)) static void with_frame_pointer(void)
{
	leaf();
	sink++;
}

__attribute__((noinline)) static void with_alloca(size_t n)
{
	volatile char *p = alloca(n);

	p[0] = 1;
	with_frame_pointer();
	sink += p[0];
}

__attribute__((noinline)) static int recursive(int depth)
{
	int below = depth ? recursive(depth - 1) : 0;

	if (!depth)
		with_alloca(100);
	sink++;
	return below + 1;
}

TEST(walk_reaches_the_start_through_all_kinds_of_functions)
{
	const volatile int depth = 50; /* lest copies of the function be made for the first few */

	prepare();
	recursive(depth);
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_of(leaf), 1);
	CHECK_EQ(frames_of(with_frame_pointer), 1);
	CHECK_EQ(frames_of(with_alloca), 1);
	CHECK_EQ(frames_of(recursive), 51);
	CHECK(frames[0] & DNP_FRAME_EXACT);
	CHECK_EQ(DNP_FRAME_KIND(frames[0]), DNP_WALK_NATIVE);
}

/* Of a library by that name; once modules have been listed. */
static int frames_in(const char *path)
{
	int n = 0;

	for (size_t i = 0; i < n_frames; i++) {
		const struct dnp_elf_module *module = dnp_module_find(DNP_FRAME_ADDR(frames[i]));

		n += module && !strcmp(module->path, path);
	}
	return n;
}

TEST(library_that_is_just_being_loaded_is_known)
{
	void *library;

	if (!dlsym(RTLD_DEFAULT, "_dl_find_object"))
		SKIP("this C library does not tell handlers of what was just loaded");
	prepare();
	library = dlopen(NEW_LIBRARY, RTLD_NOW);
	CHECK(library);
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_in(NEW_LIBRARY), 0);
	CHECK_EQ(dnp_native_refresh(), 1);
	CHECK_EQ(frames_in(NEW_LIBRARY), 22);
	CHECK_EQ(dlclose(library), 0);
}

TEST(registers_of_each_frame_are_those_to_go_on_with)
{
	prepare();
	recursive(5);
	CHECK_EQ(n_again, n_frames);
	for (size_t i = 0; i < n_frames; i++) {
		CHECK_EQ(again[i], frames[i]);
		CHECK_EQ(registers[i].pc, DNP_FRAME_ADDR(frames[i]));
		CHECK(registers[i].sp >= range.low && registers[i].sp <= range.high);
		CHECK(!i || registers[i].sp > registers[i - 1].sp);
	}
}

/* ---- A signal that interrupts a handler: the stack goes through two signal frames */

__attribute__((noinline)) static void inside_handler(int signal)
{
	(void)signal;
	leaf();
	sink++;
}

TEST(walk_goes_through_signal_frames)
{
	struct sigaction action = {.sa_handler = inside_handler};

	prepare();
	CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
	raise(SIGUSR2);
	sink++;
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_of(leaf), 1);
	CHECK_EQ(frames_of(inside_handler), 1);
	CHECK_EQ(frames_of(test_walk_goes_through_signal_frames), 1);
	size_t exact = 0;

	for (size_t i = 0; i < n_frames; i++)
		exact += (frames[i] & DNP_FRAME_EXACT) != 0;
	CHECK_EQ(exact, 2); /* the leaf, and the instruction that SIGUSR2 interrupted */
}

__attribute__((noinline)) static int compare_and_walk(const void *a, const void *b)
{
	leaf();
	return *(const int *)a - *(const int *)b;
}

TEST(walk_goes_through_a_library_that_calls_back)
{
	int numbers[] = {3, 1, 2};

	prepare();
	qsort(numbers, 3, sizeof(numbers[0]), compare_and_walk);
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_of(compare_and_walk), 1);
	CHECK_EQ(frames_of(test_walk_goes_through_a_library_that_calls_back), 1);
}

static void *in_a_thread(void *arg)
{
	range = own_stack();
	with_alloca(*(const size_t *)arg);
	return NULL;
}

/*
 * As CoreCLR's: a function returns here instead of to its caller. The words are rdi[0] rax, rdx,
 * rcx, r12 to r15, rbx, rbp, and rdi[9], made for the address to return to.
 */
void hijack_stub(void);
void hijack_worker(uintptr_t *words);
asm(".text\n"
    ".type hijack_stub, @function\n"
    "hijack_stub:\n"
    ".cfi_startproc\n"
    "push %rax\n .cfi_adjust_cfa_offset 8\n"
    "push %rbp\n .cfi_adjust_cfa_offset 8\n"
    "push %rbx\n .cfi_adjust_cfa_offset 8\n"
    "push %r15\n .cfi_adjust_cfa_offset 8\n"
    "push %r14\n .cfi_adjust_cfa_offset 8\n"
    "push %r13\n .cfi_adjust_cfa_offset 8\n"
    "push %r12\n .cfi_adjust_cfa_offset 8\n"
    "push %rcx\n .cfi_adjust_cfa_offset 8\n"
    "push %rdx\n .cfi_adjust_cfa_offset 8\n"
    "push %rax\n .cfi_adjust_cfa_offset 8\n"
    "mov %rsp, %rdi\n"
    "call hijack_worker\n"
    "pop %rax\n .cfi_adjust_cfa_offset -8\n"
    "pop %rdx\n .cfi_adjust_cfa_offset -8\n"
    "pop %rcx\n .cfi_adjust_cfa_offset -8\n"
    "pop %r12\n .cfi_adjust_cfa_offset -8\n"
    "pop %r13\n .cfi_adjust_cfa_offset -8\n"
    "pop %r14\n .cfi_adjust_cfa_offset -8\n"
    "pop %r15\n .cfi_adjust_cfa_offset -8\n"
    "pop %rbx\n .cfi_adjust_cfa_offset -8\n"
    "pop %rbp\n .cfi_adjust_cfa_offset -8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size hijack_stub, . - hijack_stub\n");

static uintptr_t taken_away;
static bool comes_before; /* the signal does, and the address is put back behind it */

/* What a runtime knows of a thread, the two words of interest amid others. */
static uintptr_t object[300];

__attribute__((used)) void hijack_worker(uintptr_t *words)
{
	if (comes_before)
		raise(SIGUSR1);
	words[9] = taken_away;
	if (!comes_before)
		raise(SIGUSR1);
	sink++;
}

/* Of the return address that is at rbp + 8. */
static void tell_of_return(const uintptr_t *frame)
{
	object[126] = frame[1]; /* in two of the parts that are read */
	object[127] = (uintptr_t)&frame[1];
}

static void take_away(uintptr_t *frame)
{
	tell_of_return(frame);
	taken_away = frame[1];
	frame[1] = (uintptr_t)hijack_stub;
}

__attribute__((noinline)) static void is_hijacked(void)
{
	take_away(__builtin_frame_address(0));
	asm volatile("" ::: "memory");
}

__attribute__((noinline)) static void calls_what_is_hijacked(void)
{
	sink += __builtin_frame_address(0) != NULL;
	is_hijacked();
	sink++;
}

/* The caller is managed; of others nobody tells. */
static void tell_of_the_caller(void (*caller)(void))
{
	struct dnp_codemap *map = dnp_codemap_new();
	struct dnp_code told = {.begin = (uintptr_t)caller,
		.bytes = 64,
		.method = 1,
		.born_ns = 1,
		.rule = {.cfa = DNP_CFA_BP, .off = 16, .bp_slot = -2}};

	CHECK(map && dnp_codemap_add(map, &told, 1) == 0);
	dnp_walk_use(map);
}

TEST(walk_goes_on_from_where_a_return_address_was_taken_away)
{
	prepare();
	tell_of_the_caller(calls_what_is_hijacked);
	calls_what_is_hijacked();
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_of(hijack_stub), 1);
	CHECK_EQ(frames_of(calls_what_is_hijacked), 1);
}

TEST(walk_goes_on_from_there_before_the_address_was_put_back)
{
	prepare();
	tell_of_the_caller(calls_what_is_hijacked);
	runtime_thread = (uintptr_t)object;
	comes_before = true;
	calls_what_is_hijacked();
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_of(hijack_stub), 1);
	CHECK_EQ(frames_of(calls_what_is_hijacked), 1);
}

TEST(walk_ends_there_before_the_address_was_put_back_and_nobody_says_which)
{
	prepare();
	tell_of_the_caller(calls_what_is_hijacked);
	comes_before = true;
	calls_what_is_hijacked();
	CHECK_EQ(stopped, DNP_STOP_NO_RULE);
	CHECK_EQ(frames_of(hijack_stub), 1);
	CHECK_EQ(frames_of(calls_what_is_hijacked), 0);
}

static void check_before_the_return(void);

/* As is_hijacked, and a signal comes before it returns. */
__attribute__((noinline)) static void is_hijacked_and_goes_on(void)
{
	take_away(__builtin_frame_address(0));
	raise(SIGUSR1);
	check_before_the_return();
	asm volatile("" ::: "memory");
}

__attribute__((noinline)) static void calls_what_goes_on(void)
{
	sink += __builtin_frame_address(0) != NULL;
	is_hijacked_and_goes_on();
	sink++;
}

static void check_before_the_return(void)
{
	CHECK_EQ(frames_of(is_hijacked_and_goes_on), 1);
	CHECK_EQ(frames_of(hijack_stub), runtime_thread ? 0 : 1);
	CHECK_EQ(frames_of(calls_what_goes_on), runtime_thread ? 1 : 0);
	CHECK_EQ(stopped, runtime_thread ? DNP_STOP_END : DNP_STOP_NO_RULE);
}

TEST(walk_goes_on_through_a_method_whose_return_address_was_taken_away)
{
	prepare();
	tell_of_the_caller(calls_what_goes_on);
	runtime_thread = (uintptr_t)object;
	calls_what_goes_on();
}

/* As of what reflection calls on .NET 8 and 9; later from the stub, too. */
TEST(walk_goes_on_to_native_code_whose_call_was_to_return_there)
{
	prepare();
	runtime_thread = (uintptr_t)object;
	calls_what_goes_on();
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_of(hijack_stub), 1);
	CHECK_EQ(frames_of(calls_what_goes_on), 1);
}

TEST(walk_ends_where_nobody_says_what_was_taken_away)
{
	prepare();
	tell_of_the_caller(calls_what_goes_on);
	calls_what_goes_on();
}

/* As if it had returned there just now. */
__attribute__((noinline)) static void walk_from_the_stub(void)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	struct dnp_regs regs = {
		.pc = (uintptr_t)hijack_stub, .sp = (uintptr_t)&frame[2], .bp = frame[0]};
	struct dnp_stacks stacks = {.now = range, .runtime_thread = runtime_thread};

	tell_of_return(frame);
	n_frames = dnp_walk(&regs, stacks, frames, FRAMES_MAX, &stopped);
}

__attribute__((noinline)) static void calls_what_has_returned(void)
{
	sink += __builtin_frame_address(0) != NULL;
	walk_from_the_stub();
	sink++;
}

TEST(walk_goes_on_where_the_stub_begins)
{
	prepare();
	tell_of_the_caller(calls_what_has_returned);
	runtime_thread = (uintptr_t)object;
	calls_what_has_returned();
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_of(hijack_stub), 1);
	CHECK_EQ(frames_of(walk_from_the_stub), 0);
	CHECK_EQ(frames_of(calls_what_has_returned), 1);
}

TEST(walk_ends_where_the_stub_begins_and_nobody_says_what_was_taken_away)
{
	prepare();
	tell_of_the_caller(calls_what_has_returned);
	calls_what_has_returned();
	CHECK_EQ(stopped, DNP_STOP_NO_RULE);
	CHECK_EQ(n_frames, 1);
}

/*
 * As CoreCLR's, with the description that it has: a thread goes on with the registers that are in a
 * context.
 */
extern const char restore_stub[], restore_stub_moves[], restore_stub_jumps[],
	restore_stub_returns[];
asm(".text\n"
    ".type restore_stub, @function\n"
    "restore_stub:\n"
    ".cfi_startproc\n"
    "push %rbp\n .cfi_def_cfa %rbp, 0\n .cfi_offset %rbp, -16\n"
    "mov %rdi, %r10\n"
    "mov %rsi, %r11\n"
    "testb $0x2, 0x30(%r10)\n"
    "mov 0xa0(%r10), %rbp\n"
    "testb $0x1, 0x30(%r10)\n"
    "je restore_stub_ends\n"
    "mov 0xf8(%r10), %rax\n"
    "restore_stub_moves:\n"
    "mov 0x98(%r10), %rsp\n"
    "restore_stub_jumps:\n"
    "jmp *%rax\n"
    "restore_stub_ends:\n"
    "pop %rbp\n"
    "restore_stub_returns:\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size restore_stub, . - restore_stub\n");

/* Stands there, called by the function that has those registers, or about to go on in it. */
static void stands_at(const char *pc, struct dnp_regs regs, uintptr_t *words)
{
	struct dnp_stack_range room = {(uintptr_t)words, range.high};

	regs.ax = regs.pc;
	regs.pc = (uintptr_t)pc;
	if (pc != restore_stub_jumps)
		regs.sp = (uintptr_t)words;
	n_frames = dnp_walk(&regs, (struct dnp_stacks){.now = room}, frames, FRAMES_MAX, &stopped);
}

__attribute__((noinline)) static void goes_on_here(void)
{
	uintptr_t words[2] = {1};
	struct dnp_regs regs = dnp_regs_here();

	stands_at(restore_stub_jumps, regs, words);
	sink++;
}

TEST(walk_goes_on_where_a_restored_context_does)
{
	prepare();
	goes_on_here();
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_of(restore_stub), 1);
	CHECK_EQ(frames_of(goes_on_here), 1);
}

/* A frame as of a call of the stub, whose caller is `pc` with `bp`; the stub has its own already.
 */
static size_t callers_at(const char *place, uintptr_t *words)
{
	struct dnp_regs both[2],
		regs = {.pc = (uintptr_t)place, .sp = (uintptr_t)words, .bp = 8, .ax = 8};
	struct dnp_stacks stacks = {.now = {(uintptr_t)words, (uintptr_t)(words + 3)}};
	size_t n = dnp_walk_registers(&regs, stacks, frames, both, 2, &stopped);

	CHECK_EQ(n, 2);
	CHECK_EQ(both[1].pc, (uintptr_t)goes_on_here + 1);
	return (both[1].sp - (uintptr_t)words) / 8 * 10 + (both[1].bp == 0x1230);
}

TEST(walk_leaves_what_restores_a_context_by_its_own_frame)
{
	uintptr_t words[3] = {0x1230, (uintptr_t)goes_on_here + 1};
	uintptr_t returns[3] = {(uintptr_t)goes_on_here + 1};

	prepare();
	CHECK_EQ(callers_at(restore_stub + 1, words), 21);
	CHECK_EQ(callers_at(restore_stub_moves, words), 21);
	CHECK_EQ(callers_at(restore_stub_returns, returns), 10);
	/* Nowhere to go on. */
	stands_at(restore_stub_jumps, (struct dnp_regs){.pc = 0}, words);
	CHECK_EQ(stopped, DNP_STOP_BAD_STACK);
	CHECK_EQ(n_frames, 1);
}

/* The frame is by a register that no rule knows, from the second instruction on; and no
 * description.
 */
extern const char by_another_register[], without_description[];
asm(".text\n"
    ".type by_another_register, @function\n"
    "by_another_register:\n"
    ".cfi_startproc\n"
    "nop\n .cfi_def_cfa %rsi, 8\n"
    ".fill 15, 1, 0x90\n"
    ".cfi_endproc\n"
    ".size by_another_register, . - by_another_register\n"
    ".fill 64, 1, 0x90\n"
    "without_description:\n"
    ".fill 64, 1, 0x90\n");

/* Where what looks like the address to return to is on top. */
static size_t frames_at(const char *place)
{
	uintptr_t words[3] = {(uintptr_t)goes_on_here + 1};
	struct dnp_regs regs = {.pc = (uintptr_t)place, .sp = (uintptr_t)words};
	struct dnp_stacks stacks = {.now = {(uintptr_t)words, (uintptr_t)(words + 3)}};

	dnp_generation_bump(); /* what was known of it is looked up again */
	return dnp_walk(&regs, stacks, frames, 2, &stopped);
}

static void check_descriptions(void)
{
	CHECK_EQ(frames_at(by_another_register), 2);
	CHECK_EQ(frames_at(by_another_register + 1), 1);
	CHECK_EQ(stopped, DNP_STOP_NO_RULE);
	CHECK_EQ(frames_at(without_description), 2);
	CHECK_EQ(DNP_FRAME_ADDR(frames[1]), (uintptr_t)goes_on_here + 1);
}

TEST(walk_ends_where_a_description_is_not_understood_and_goes_on_where_there_is_none)
{
	CHECK(dnp_modules_refresh() >= 0);
	check_descriptions();
	dnp_native_build(NULL);
	check_descriptions();
}

TEST(walk_ends_where_the_thread_starts)
{
	size_t bytes = 5000;
	pthread_t thread;

	prepare();
	CHECK_EQ(pthread_create(&thread, NULL, in_a_thread, &bytes), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_of(in_a_thread), 1);
	CHECK_EQ(frames_of(with_alloca), 1);
}

/* ---- A handler on a stack of its own; the walk goes back to the one it interrupted */

static void on_signal_elsewhere(int signal, siginfo_t *info, void *context)
{
	struct dnp_regs regs = dnp_regs_of(context);
	struct dnp_stacks stacks = {.now = alternative, .below = range};

	(void)signal;
	(void)info;
	n_frames = dnp_walk(&regs, stacks, frames, FRAMES_MAX, &stopped);
}

TEST(walk_crosses_from_a_handlers_stack_to_the_threads)
{
	static char memory[1 << 16];
	stack_t other = {.ss_sp = memory, .ss_size = sizeof(memory)};
	struct sigaction outer = {.sa_handler = inside_handler, .sa_flags = SA_ONSTACK};
	struct sigaction inner = {
		.sa_sigaction = on_signal_elsewhere, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	prepare();
	alternative =
		(struct dnp_stack_range){(uintptr_t)memory, (uintptr_t)memory + sizeof(memory)};
	CHECK(sigaltstack(&other, NULL) == 0);
	CHECK(sigaction(SIGUSR2, &outer, NULL) == 0);
	CHECK(sigaction(SIGUSR1, &inner, NULL) == 0);
	raise(SIGUSR2);
	sink++;
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_of(inside_handler), 1);
	CHECK_EQ(frames_of(test_walk_crosses_from_a_handlers_stack_to_the_threads), 1);
}

/* ---- Registers and stacks that make no sense */

TEST(walk_of_a_deep_stack_stops_when_the_array_is_full)
{
	prepare();
	recursive(FRAMES_MAX + 100);
	CHECK_EQ(stopped, DNP_STOP_DEPTH);
	CHECK_EQ(n_frames, FRAMES_MAX);
}

TEST(walk_reads_nothing_outside_of_the_stack)
{
	static uintptr_t stack[64];
	enum dnp_walk_stop stop;
	struct dnp_regs regs = {.pc = (uintptr_t)&qsort, .sp = (uintptr_t)stack};
	struct dnp_stacks small = {.now = {(uintptr_t)stack, (uintptr_t)stack + sizeof(stack)}};

	prepare();
	regs.pc += 1; /* behind the first push, as it may be */
	for (uintptr_t sp = 0; sp < 2; sp++) {
		regs.sp = sp ? UINTPTR_MAX - 8 : 8;
		regs.bp = regs.sp;
		CHECK(dnp_walk(&regs, small, frames, FRAMES_MAX, &stop) >= 1);
		CHECK_EQ(stop, DNP_STOP_BAD_STACK);
	}
	/* A return address into no code that is known. */
	regs.pc = (uintptr_t)&qsort;
	regs.sp = (uintptr_t)stack;
	stack[0] = 0x123456789;
	CHECK_EQ(dnp_walk(&regs, small, frames, FRAMES_MAX, &stop), 2);
	CHECK_EQ(stop, DNP_STOP_UNKNOWN);
	CHECK_EQ(DNP_FRAME_KIND(frames[1]), DNP_WALK_UNKNOWN);
	CHECK_EQ(dnp_walk(&regs, small, frames, 0, &stop), 0);
}

/* Elsewhere the walk went astray. */
TEST(walk_that_finds_no_caller_is_whole_at_the_end_of_the_stack)
{
	static uintptr_t stack[64];
	enum dnp_walk_stop stop;
	struct dnp_regs regs = {.pc = (uintptr_t)&qsort};
	struct dnp_stacks whole = {.now = {(uintptr_t)stack, (uintptr_t)(stack + 64)}};

	prepare();
	regs.sp = (uintptr_t)(stack + 63);
	CHECK_EQ(dnp_walk(&regs, whole, frames, FRAMES_MAX, &stop), 1);
	CHECK_EQ(stop, DNP_STOP_END);
	regs.sp = (uintptr_t)stack;
	CHECK_EQ(dnp_walk(&regs, whole, frames, FRAMES_MAX, &stop), 1);
	CHECK_EQ(stop, DNP_STOP_BAD_STACK);
}
