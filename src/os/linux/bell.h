/* SPDX-License-Identifier: MIT */
#ifndef DNP_OS_LINUX_BELL_H
#define DNP_OS_LINUX_BELL_H

/* What is polled for a bell: its descriptor, or -1 where the program has closed that. */
int dnp_bell_polled(int bell);

#endif
