/* SPDX-License-Identifier: MIT */
/*
 * Unit tests that register themselves. Each runs in a process of its own, so that one that crashes
 * or loops takes no other with it; one that leaves more descriptors open than it found fails.
 * A test program is test.c and the files with TEST()s; it prints TAP (see `main` in test.c).
 *
 *	TEST(varint_roundtrip)
 *	{
 *		CHECK(n == 3);
 *		CHECK_EQ(value, 300);
 *		CHECK_STR(text, "300");
 *	}
 *
 * A failed check ends its test. SKIP(reason) ends a test that cannot run here.
 */
#ifndef DNP_TEST_H
#define DNP_TEST_H

#include <stdint.h>
#include <string.h>

/* As gcc has it. */
#ifdef __clang__
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* NOLINT(bugprone-reserved-identifier) */
#elif __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1 /* NOLINT(bugprone-reserved-identifier) */
#endif
#endif

/*
 * What comes for certain, on whatever machine, has come by then: a limit for hangs, never for how
 * fast something is. A test that is not over somewhat later is ended.
 */
#define TEST_HANG_S  300
#define TEST_HANG_NS (TEST_HANG_S * UINT64_C(1000000000))

/* Rounds of what is done many times: fewer for a sanitizer, which takes several times as long. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TEST_ROUNDS(n) ((n) / 8)
#else
#define TEST_ROUNDS(n) (n)
#endif

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

void test_register(struct test *test);
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(__printf__, 3, 4)));
_Noreturn void test_skip(const char *reason);

/* Ends a child that a test has forked; not by _exit, where the thread sanitizer asks for threads of
 * the parent's. */
_Noreturn void test_end_child(int status);

/* Bytes: the most memory that this process has had at once. */
uint64_t test_peak_memory(void);

#define TEST(name)                                                                                 \
	static void test_##name(void);                                                             \
	__attribute__((constructor)) static void register_##name(void)                             \
	{                                                                                          \
		static struct test test = {#name, test_##name, NULL};                              \
                                                                                                   \
		test_register(&test);                                                              \
	}                                                                                          \
	static void test_##name(void)

#define FAIL(...)    test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP(reason) test_skip(reason)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			FAIL("%s", #condition);                                                    \
	} while (0)

#define CHECK_EQ(have, want)                                                                       \
	do {                                                                                       \
		long long have_ = (long long)(have), want_ = (long long)(want);                    \
                                                                                                   \
		if (have_ != want_)                                                                \
			FAIL("%s is %lld, not %lld", #have, have_, want_);                         \
	} while (0)

#define CHECK_STR(have, want)                                                                      \
	do {                                                                                       \
		const char *have_ = (have), *want_ = (want);                                       \
                                                                                                   \
		if (strcmp(have_, want_))                                                          \
			FAIL("%s is \"%s\", not \"%s\"", #have, have_, want_);                     \
	} while (0)

#endif
