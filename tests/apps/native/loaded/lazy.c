/* SPDX-License-Identifier: MIT */
/*
 * A library that calls its own functions through stubs (PLT), bound when they are first called. As
 * the functions do nothing, much of the time goes to the stubs, and right after loading to the
 * dynamic linker's resolver.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default"), noinline))

/* clang-format off */
#define TEN(do, n)                                                                                 \
	do(n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7) do(n##8) do(n##9)
#define HUNDRED(do, n)                                                                             \
	TEN(do, n##0) TEN(do, n##1) TEN(do, n##2) TEN(do, n##3) TEN(do, n##4)                      \
	TEN(do, n##5) TEN(do, n##6) TEN(do, n##7) TEN(do, n##8) TEN(do, n##9)
#define ALL(do)                                                                                    \
	HUNDRED(do, 1) HUNDRED(do, 2) HUNDRED(do, 3) HUNDRED(do, 4) HUNDRED(do, 5)
/* clang-format on */

#define DEFINE(n)                                                                                  \
	EXPORT uint32_t truth_lazy_##n(uint32_t x);                                                \
	EXPORT uint32_t truth_lazy_##n(uint32_t x)                                                 \
	{                                                                                          \
		return x + 1;                                                                      \
	}
#define CALL(n) x = truth_lazy_##n(x);

ALL(DEFINE)

/* Calls 500 functions ROUNDS times; the number of calls. */
EXPORT uint32_t truth_lazy(int rounds);
EXPORT uint32_t truth_lazy(int rounds)
{
	uint32_t x = 0;

	for (int i = 0; i < rounds; i++) {
		ALL(CALL)
	}
	return x;
}
