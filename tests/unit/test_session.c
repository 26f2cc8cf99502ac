/* SPDX-License-Identifier: MIT */
#include "format/session.h"

#include <sys/mman.h>

#include "test.h"

static struct dnp_session *map(void)
{
	struct dnp_session *session = mmap(
		NULL, DNP_SESSION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(session != MAP_FAILED);
	return session;
}

TEST(session_slots_are_distinct_and_run_out)
{
	struct dnp_session *session = map();

	for (int i = 0; i < DNP_SESSION_SLOTS; i++) {
		struct dnp_session_slot *slot = dnp_session_slot_take(session, 1000 + i);

		CHECK(slot == &session->slots[i]);
		CHECK_EQ(slot->pid, 1000 + i);
	}
	CHECK(!dnp_session_slot_take(session, 1));
	CHECK(!dnp_session_slot_take(session, 2));
	CHECK_EQ(session->refused, 2);
}

TEST(session_slots_of_those_who_have_ended_are_taken_again)
{
	struct dnp_session *session = map();
	struct dnp_session_slot *slot = NULL;

	for (int i = 0; i < DNP_SESSION_SLOTS; i++) {
		slot = dnp_session_slot_take(session, 1000 + i);
		slot->samples = 10;
		slot->lost = 1;
		dnp_session_slot_set(slot, i == 7 ? DNP_SLOT_FAILED : DNP_SLOT_RECORDING);
	}
	dnp_session_slot_set(slot, DNP_SLOT_ENDED);
	CHECK(dnp_session_slot_take(session, 7) == slot);
	CHECK_EQ(slot->pid, 7);
	CHECK_EQ(slot->samples, 0);
	CHECK_EQ(dnp_session_slot_state(slot), DNP_SLOT_FREE);
	CHECK(!dnp_session_slot_take(session, 8));
	CHECK_EQ(session->refused, 1);
	CHECK_EQ(session->past_samples, 10);
	CHECK_EQ(session->past_lost, 1);
}

TEST(session_state_follows_the_reason)
{
	struct dnp_session *session = map();
	struct dnp_session_slot *slot = dnp_session_slot_take(session, 7);

	CHECK_EQ(dnp_session_slot_state(slot), DNP_SLOT_FREE);
	strcpy(slot->reason, "why");
	dnp_session_slot_set(slot, DNP_SLOT_FAILED);
	CHECK_EQ(dnp_session_slot_state(&session->slots[0]), DNP_SLOT_FAILED);
	CHECK_STR(session->slots[0].reason, "why");
}
