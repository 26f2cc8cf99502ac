/* SPDX-License-Identifier: MIT */
#include "agent/losses.h"

#include "test.h"

TEST(losses_of_weight_are_not_added_to_samples)
{
	struct dnp_losses losses = {0};

	dnp_losses_add(&losses, "cpu", "samples", 3);
	dnp_losses_add(&losses, "alloc", "bytes", 4096);
	dnp_losses_add(&losses, "gc", "ns", 0);
	dnp_losses_add(&losses, "mark", "marks", 2);
	dnp_losses_add(&losses, "lock", "ns", UINT64_MAX);
	CHECK_EQ(losses.count, 5);
	CHECK_STR(losses.weights, "alloc:bytes:4096,lock:ns:18446744073709551615");
}
