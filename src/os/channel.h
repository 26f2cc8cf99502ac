/* SPDX-License-Identifier: MIT */
/*
 * A channel between processes of one machine: messages that come whole or not at all, and that may
 * bring an open file. One end listens under a name that tells its process (format/control.h), and
 * serves the user whom that belongs to (on Linux root, too). Connections are small numbers.
 *
 * On Linux it is a socket, and files go as descriptors. On Windows it is a named pipe: who listens
 * opens the file that is sent to it by its name, and sees to it that it is the same; who has
 * connected takes a duplicate of the handle out of the other process, which keeps it until the
 * connection ends or something more is asked by it.
 *
 * One thread.
 */
#ifndef DNP_OS_CHANNEL_H
#define DNP_OS_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNP_CHANNEL_FILES 8

struct dnp_channel_message {
	uint8_t *bytes; /* the receiver's, borrowed */
	size_t room;    /* there; what is longer is cut to this */
	size_t n;
	int files[DNP_CHANNEL_FILES]; /* descriptors, the receiver's to close */
	unsigned n_files;
};

/* ---- Who listens: one a process, looked at by its watch (os/watch.h, open by now) */

/* 0 or -errno. Nobody else of another user can connect from the first moment on. */
int dnp_channel_listen(void);
/* Has its name there again, if somebody has removed it. On the watch's thread. */
void dnp_channel_keep(void);
/* No name, no connection is left. */
void dnp_channel_shut(void);

/*
 * Where its name lies in a folder: makes a link of that name in `folder`, which leads there,
 * wherever TMPDIR led (format/session.h). Where that fails, what a process that is killed has there
 * stays.
 */
void dnp_channel_tell(const char *folder);

/*
 * The next who has connected, from then on looked at by the watch, or -EAGAIN: nobody has. *pid:
 * its process, 0: in none that can be seen. *same_user: whether it may ask.
 */
int dnp_channel_accept(int *pid, bool *same_user);

/*
 * Ends a connection; what was sent arrives all the same. On Windows it has half a second for that
 * after dnp_channel_shut.
 */
void dnp_channel_drop(int connection);

/* ---- Both ends */

/*
 * Sends a message, and with it a file, which stays open here; -1: none. `waits`: as long as the
 * other end has no room; else what finds none is lost, -EAGAIN. -EPIPE, -ECONNRESET: nobody is at
 * the other end. 0 or -errno.
 */
int dnp_channel_send(int connection, void *bytes, size_t n, int file, bool waits);

/*
 * The next message that has come; does not wait. 0; -EAGAIN: none has; -EPIPE: the other end has
 * gone; or another -errno.
 */
int dnp_channel_receive(int connection, struct dnp_channel_message *message);

/* Whether the other end has gone, or does not wait for an answer but has said more. */
bool dnp_channel_has_news(int connection);

/* ---- Who has connected (launch/target.h) */

/* From now on nothing is received but what has come by now. */
void dnp_channel_deafen(int connection);
void dnp_channel_close(int connection);

#endif
