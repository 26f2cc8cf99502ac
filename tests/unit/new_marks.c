/* SPDX-License-Identifier: MIT */
/* A library that says something while it is being loaded; see test_mark_gates.c. */
#include <dnprof/mark.h>

__attribute__((constructor)) static void begin(void)
{
	dnprof_mark("loaded");
}

__attribute__((visibility("default"))) void say_again(void);
void say_again(void)
{
	dnprof_mark("again");
}
