/* SPDX-License-Identifier: MIT */
#include "format/control.h"

#include <errno.h>

#include "test.h"

static uint8_t packet[DNP_CONTROL_MAX + 1];
static struct dnp_control_message got;

static size_t put(enum dnp_control_kind kind, uint32_t value, const char *text)
{
	return dnp_control_put(packet, &(struct dnp_control_message){kind, value, dnp_str(text)});
}

TEST(control_roundtrip)
{
	size_t n = put(DNP_CONTROL_ERROR, EBUSY, "why: this; do that …");

	CHECK_EQ(dnp_control_get(packet, n, &got), 0);
	CHECK_EQ(got.kind, DNP_CONTROL_ERROR);
	CHECK_EQ(got.value, EBUSY);
	CHECK_EQ(got.text.n, strlen("why: this; do that …"));
	CHECK(!memcmp(got.text.p, "why: this; do that …", got.text.n));
	n = put(DNP_CONTROL_STACK, UINT32_MAX, "");
	CHECK_EQ(n, DNP_CONTROL_HEAD);
	CHECK_EQ(dnp_control_get(packet, n, &got), 0);
	CHECK_EQ(got.value, UINT32_MAX);
	CHECK_EQ(got.text.n, 0);
}

TEST(control_text_is_cut_and_made_plain)
{
	char text[2 * DNP_CONTROL_MAX];
	size_t n;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[1] = '\033';
	n = put(DNP_CONTROL_ERROR, 1, text);
	CHECK_EQ(n, DNP_CONTROL_MAX);
	CHECK_EQ(dnp_control_get(packet, n, &got), 0);
	CHECK_EQ(got.text.n, DNP_CONTROL_TEXT);
	CHECK_EQ(got.text.p[1], ' ');
}

TEST(control_every_cut_and_every_length_is_refused)
{
	size_t n = put(DNP_CONTROL_ERROR, 1, "text");

	for (size_t i = 0; i <= sizeof(packet); i++)
		CHECK_EQ(dnp_control_get(packet, i, &got), i == n ? 0 : -EBADMSG);
}

TEST(control_damage_is_refused)
{
	size_t n = put(DNP_CONTROL_DONE, 7, "text");

	packet[n - 1] = '\n';
	CHECK_EQ(dnp_control_get(packet, n, &got), -EBADMSG);
	n = put((enum dnp_control_kind)99, 7, "");
	CHECK_EQ(dnp_control_get(packet, n, &got), -EBADMSG);
	n = put((enum dnp_control_kind)0, 7, "");
	CHECK_EQ(dnp_control_get(packet, n, &got), -EBADMSG);
	n = put(DNP_CONTROL_DONE, 7, "");
	packet[0] ^= 1;
	CHECK_EQ(dnp_control_get(packet, n, &got), -EBADMSG);
}

/* Whatever else another version has, it says so at the same place. */
TEST(control_another_version_is_told)
{
	size_t n = put((enum dnp_control_kind)99, 7, "what this version does not know");

	packet[4]++;
	CHECK_EQ(dnp_control_get(packet, n, &got), -EPROTONOSUPPORT);
	CHECK_EQ(dnp_control_get(packet, n - 5, &got), -EPROTONOSUPPORT);
}
