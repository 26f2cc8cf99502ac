/* SPDX-License-Identifier: MIT */
#include "format/control.h"

#include <errno.h>
#include <string.h>

struct head {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	uint32_t value;
	uint32_t text_bytes;
};

_Static_assert(sizeof(struct head) == DNP_CONTROL_HEAD, "the head has no holes");

static unsigned char plain(char c)
{
	unsigned char byte = (unsigned char)c;

	return byte < ' ' || byte == 0x7f ? ' ' : byte;
}

size_t dnp_control_put(uint8_t out[DNP_CONTROL_MAX], const struct dnp_control_message *message)
{
	size_t n = message->text.n < DNP_CONTROL_TEXT ? message->text.n : DNP_CONTROL_TEXT;
	struct head head = {
		.magic = DNP_CONTROL_MAGIC,
		.version = DNP_CONTROL_VERSION,
		.kind = (uint16_t)message->kind,
		.value = message->value,
		.text_bytes = (uint32_t)n,
	};

	memcpy(out, &head, sizeof(head));
	for (size_t i = 0; i < n; i++)
		out[sizeof(head) + i] = plain(message->text.p[i]);
	return sizeof(head) + n;
}

static int check_text(struct dnp_str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (plain(text.p[i]) != (unsigned char)text.p[i])
			return -EBADMSG;
	return 0;
}

int dnp_control_get(const void *packet, size_t n, struct dnp_control_message *message)
{
	struct head head;

	if (n < sizeof(head))
		return -EBADMSG;
	memcpy(&head, packet, sizeof(head));
	if (head.magic != DNP_CONTROL_MAGIC)
		return -EBADMSG;
	if (head.version != DNP_CONTROL_VERSION)
		return -EPROTONOSUPPORT;
	if (head.kind < DNP_CONTROL_STACK || head.kind > DNP_CONTROL_LAST || n > DNP_CONTROL_MAX ||
		head.text_bytes != n - sizeof(head))
		return -EBADMSG;
	*message = (struct dnp_control_message){
		.kind = (enum dnp_control_kind)head.kind,
		.value = head.value,
		.text = {(const char *)packet + sizeof(head), head.text_bytes},
	};
	return check_text(message->text);
}
