/* SPDX-License-Identifier: MIT */
#include "clr/native_calls.h"
#include "test.h"

TEST(calls_are_found_in_il)
{
	static const uint8_t il[] = {
		0x1e,                               /* tiny header */
		0x02,                               /* ldarg.0 */
		0x28, 0x05, 0x00, 0x00, 0x0a,       /* call of a member of another module */
		0x28, 0x34, 0x12, 0x00, 0x06,       /* call of a method of this one */
		0x20, 0x28, 0x00, 0x00, 0x06, 0x06, /* ldc.i4 that looks like one, before a call */
		0x29, 0x02, 0x00, 0x00, 0x11,       /* calli */
		0x28, 0x01, 0x00, 0x00,             /* cut off */
	};
	size_t at = 0;

	CHECK_EQ(dnp_il_next_call(il, sizeof(il), &at), 0x06001234);
	CHECK_EQ(dnp_il_next_call(il, sizeof(il), &at), 0x06060000);
	CHECK_EQ(dnp_il_next_call(il, sizeof(il), &at), 0x11000002);
	CHECK_EQ(dnp_il_next_call(il, sizeof(il), &at), 0);
	at = 0;
	CHECK_EQ(dnp_il_next_call(il, 0, &at), 0);
	CHECK_EQ(dnp_il_next_call(il, 4, &at), 0);
}
