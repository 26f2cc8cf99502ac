/* SPDX-License-Identifier: MIT */
#include "agent/answer.h"

#include "base/str.h"
#include "os/channel.h"

/* An answer that does not fit into the client's buffer at once is lost: it takes none. */
int dnp_answer_send(
	int fd, enum dnp_control_kind kind, uint32_t value, const char *text, int passed)
{
	static uint8_t packet[DNP_CONTROL_MAX]; /* the recorder's, too large for its stack */
	size_t n =
		dnp_control_put(packet, &(struct dnp_control_message){kind, value, dnp_str(text)});

	return dnp_channel_send(fd, packet, n, passed, false);
}
