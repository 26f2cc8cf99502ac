/* SPDX-License-Identifier: MIT */
/*
 * A diagnostic port: a socket, or a pipe of Windows, that is made here and that runtimes connect
 * to. One at a time is spoken with, others wait. Who is sent away comes again at once, so that many
 * of them would keep others out: whose turn it is not is set aside. One thread.
 */
#ifndef DNP_LAUNCH_PORT_H
#define DNP_LAUNCH_PORT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct dnp_port;

/* At most so many are set aside; the first of them is sent away for one more. */
#define DNP_PORT_ASIDE 32u

/*
 * Makes it by that name, for this user alone. `interrupt` (launch/interrupt.h; -1: none) ends what
 * waits. 0 or -errno with err: -EADDRINUSE, somebody else has one of that name, for example.
 */
int dnp_port_open(struct dnp_port **port, const char *name, int interrupt, struct dnp_err *err);

/* Removes it, and frees. */
void dnp_port_close(struct dnp_port *port);

/*
 * Waits for somebody to come, *pid. 0, or -EAGAIN: nobody by then (dnp_now_ns()), or somebody who
 * may not and was sent away; -EINTR.
 */
int dnp_port_accept(struct dnp_port *port, uint64_t until_ns, pid_t *pid);

/* Until then he has to be spoken with. */
void dnp_port_limit(struct dnp_port *port, uint64_t until_ns);

/* Passes n bytes. 0 or -errno: -EAGAIN: not in time, -EINTR, -ECONNRESET. */
int dnp_port_send(const struct dnp_port *port, const uint8_t *bytes, size_t n);
int dnp_port_receive(const struct dnp_port *port, uint8_t *bytes, size_t n);

/* Ends the conversation. */
void dnp_port_leave(struct dnp_port *port);

/* The same, but he has to wait until the port closes. */
void dnp_port_set_aside(struct dnp_port *port);

#endif
