/* SPDX-License-Identifier: MIT */
/*
 * A fuzz target is one file with this function; it aborts when something is wrong. libFuzzer and
 * AFL++ call it with inputs of their own, replay.c with those of corpus/NAME in every build.
 */
#ifndef DNP_TESTS_FUZZ_H
#define DNP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
