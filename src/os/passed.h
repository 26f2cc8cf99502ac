/* SPDX-License-Identifier: MIT */
/* Descriptors that go with messages to another process. */
#ifndef DNP_OS_PASSED_H
#define DNP_OS_PASSED_H

#include <stddef.h>

/*
 * Sends n bytes through a socket, and with them a descriptor, which stays open here; passed -1:
 * none. `flags` as of sendmsg; no signal comes where the other side has gone. 0 or -errno. Any
 * thread.
 */
int dnp_send_with_fd(int socket, void *bytes, size_t n, int passed, int flags);

#endif
