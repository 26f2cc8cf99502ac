/* SPDX-License-Identifier: MIT */
/* What test.c leaves to the system: a process for each test. */
#ifndef DNP_TEST_RUN_H
#define DNP_TEST_RUN_H

#include "test.h"

#define TEST_SKIPPED 77

/* Runs a test in a process of its own. 0: passed, 1: failed, TEST_SKIPPED. */
int test_run_alone(const struct test *test);

/* In that process. */
_Noreturn void test_run_here(const struct test *test);

/* Open ones of this process; -1: nobody knows. */
int test_count_descriptors(void);

#endif
