/* SPDX-License-Identifier: MIT */
#include "agent/control.h"

#include <errno.h>
#include <unistd.h>

#include "agent/answer.h"
#include "agent/requests.h"
#include "format/control.h"
#include "os/channel.h"
#include "os/clock.h"

#define CLIENTS 8
#define ASK_NS  UINT64_C(2000000000) /* how long a client may be silent */

struct client {
	int fd;            /* owned, -1: none */
	int pid;           /* at its other end, 0: in no process that we can see */
	uint64_t until_ns; /* UINT64_MAX: it stays */
};

static struct {
	bool open;
	struct client clients[CLIENTS];
} control;

int dnp_control_open(void)
{
	int failed;

	for (unsigned i = 0; i < CLIENTS; i++)
		control.clients[i].fd = -1;
	failed = dnp_channel_listen();
	control.open = !failed;
	return failed;
}

void dnp_control_tell(const char *folder)
{
	dnp_channel_tell(folder);
}

static void drop(struct client *client)
{
	if (client->fd < 0)
		return;
	dnp_channel_drop(client->fd);
	client->fd = -1;
}

void dnp_control_close(void)
{
	if (!control.open)
		return;
	dnp_channel_shut();
	for (unsigned i = 0; i < CLIENTS; i++)
		drop(&control.clients[i]);
	control.open = false;
}

static void refuse(int fd, int error, const char *text)
{
	dnp_answer_send(fd, DNP_CONTROL_ERROR, (uint32_t)error, text, -1);
}

/* A free place; where there is none, that of the client who has been silent longest. */
static struct client *find_place(void)
{
	struct client *oldest = &control.clients[0];

	for (unsigned i = 0; i < CLIENTS; i++) {
		if (control.clients[i].fd < 0)
			return &control.clients[i];
		if (control.clients[i].until_ns < oldest->until_ns)
			oldest = &control.clients[i];
	}
	drop(oldest);
	return oldest;
}

static void accept_clients(void)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		bool same_user;
		int pid, fd = dnp_channel_accept(&pid, &same_user);

		if (fd < 0)
			return;
		if (same_user) {
			*find_place() = (struct client){fd, pid, dnp_now_ns() + ASK_NS};
			continue;
		}
		refuse(fd, EPERM,
			"it belongs to another user; ask as the user that it runs as, or as root");
		dnp_channel_drop(fd);
	}
}

/* True: the connection is to stay. */
static bool handle(
	struct client *client, struct dnp_channel_message *request, bool (*meanwhile)(void))
{
	struct dnp_control_message message;
	struct dnp_asker asker = {
		.fd = client->fd,
		.pid = client->pid,
		.given = request->n_files == 1 ? request->files[0] : -1,
		.meanwhile = meanwhile,
	};
	int failed = dnp_control_get(request->bytes, request->n, &message);
	bool stays = false;

	if (failed == -EPROTONOSUPPORT)
		refuse(client->fd, EPROTONOSUPPORT,
			"the agent in it is dnprof " DNP_VERSION
			"; use the dnprof of that version");
	else if (failed)
		refuse(client->fd, EBADMSG,
			"the request is not understood; use the dnprof of version " DNP_VERSION);
	else
		stays = dnp_requests_handle(&asker, &message);
	if (request->n_files == 1 && asker.given < 0)
		request->n_files = 0;
	return stays;
}

static void serve_client(struct client *client, bool (*meanwhile)(void))
{
	static uint8_t packet[DNP_CONTROL_MAX + 1]; /* a byte more: what is longer does not pass */
	struct dnp_channel_message request = {.bytes = packet, .room = sizeof(packet)};
	int failed = dnp_channel_receive(client->fd, &request);
	bool stays = client->until_ns == UINT64_MAX;

	if (!failed)
		stays = handle(client, &request, meanwhile);
	for (unsigned i = 0; i < request.n_files; i++)
		close(request.files[i]);
	if (failed == -EAGAIN ? dnp_now_ns() < client->until_ns : !failed && stays) {
		if (stays)
			client->until_ns = UINT64_MAX;
		return;
	}
	dnp_requests_gone(client->fd);
	drop(client);
}

void dnp_control_serve(bool (*meanwhile)(void))
{
	if (!control.open)
		return;
	accept_clients();
	for (unsigned i = 0; i < CLIENTS; i++)
		if (control.clients[i].fd >= 0)
			serve_client(&control.clients[i], meanwhile);
}

uint64_t dnp_control_deadline(void)
{
	uint64_t deadline = UINT64_MAX;

	for (unsigned i = 0; control.open && i < CLIENTS; i++)
		if (control.clients[i].fd >= 0 && control.clients[i].until_ns < deadline)
			deadline = control.clients[i].until_ns;
	return deadline;
}
