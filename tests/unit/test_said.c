/* SPDX-License-Identifier: MIT */
/* What a program says while the recorder gets no turn, as a reader finds it in the file. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agentless.h"
#include "capture/said.h"
#include "os/clock.h"
#include "read/input.h"
#include "read/visit.h"
#include "test.h"

#define EVENT 2u

static const struct dnp_engine_setting setting = {
	.thread = thread_of, .is_ours = is_ours, .own_id = no_id, .announce = announce};

static char path[] = "/tmp/dnprof-test-XXXXXX";
static struct dnp_writer writer;
static struct dnp_said said;

static void begin(void)
{
	int fd;

	dnp_threads_init(64, 3);
	snprintf(path, sizeof(path), "/tmp/dnprof-test-XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	CHECK_EQ(dnp_writer_open(&writer, fd, 7), 0);
	CHECK_EQ(dnp_said_open(&said, &setting, EVENT), 0);
}

/* Until there is no room for another one. */
static void say_too_much(enum dnp_saying_kind kind)
{
	uint64_t before = said.lost + said.lost_turns;

	for (uint64_t i = 1; said.lost + said.lost_turns == before; i++)
		dnp_say_so(&said, &(struct dnp_saying){.kind = kind, .id = i});
}

struct found {
	uint64_t turns, marks, losses, lost;
	uint64_t turns_at_loss; /* that were told before the last loss */
};

static int on_turn(void *arg, const struct dnp_rec_turn *rec, uint64_t time_ns)
{
	struct found *found = arg;

	(void)time_ns;
	found->turns += rec->event == EVENT;
	return 0;
}

static int on_mark(void *arg, const struct dnp_rec_mark *rec, uint64_t time_ns)
{
	struct found *found = arg;

	(void)rec;
	(void)time_ns;
	found->marks++;
	return 0;
}

static int on_loss(void *arg, const struct dnp_rec_loss *rec, uint64_t time_ns)
{
	struct found *found = arg;

	(void)time_ns;
	CHECK_EQ(rec->event, EVENT);
	found->losses++;
	found->lost += rec->count;
	found->turns_at_loss = found->turns;
	return 0;
}

static struct found end(void)
{
	static const struct dnp_visitor visitor = {
		.turn = on_turn, .mark = on_mark, .loss = on_loss};
	struct found found = {0};
	struct dnp_input input;
	uint64_t damaged = 0;

	dnp_said_close(&said);
	CHECK_EQ(dnp_writer_close(&writer), 0);
	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_file(&input, path, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	CHECK_EQ(dnp_recording_visit(&input.recordings.p[0], &visitor, &found, &damaged), 0);
	CHECK_EQ(damaged, 0);
	dnp_input_done(&input);
	unlink(path);
	return found;
}

TEST(since_when_turns_are_missing_is_told)
{
	struct found found;

	begin();
	say_too_much(DNP_SAYING_TURN);
	dnp_said_write(&said, &writer);
	dnp_say_so(&said, &(struct dnp_saying){.kind = DNP_SAYING_TURN, .id = 7});
	dnp_said_write(&said, &writer);
	found = end();
	CHECK_EQ(found.losses, 1);
	CHECK_EQ(found.lost, 0); /* they are counted by themselves */
	CHECK(found.turns > 1000 && found.turns_at_loss == found.turns - 1);
	CHECK_EQ(said.lost_turns, 1);
}

TEST(what_is_said_beyond_the_room_is_counted)
{
	struct found found;

	begin();
	say_too_much(DNP_SAYING_POINT);
	dnp_said_write(&said, &writer);
	dnp_said_write(&said, &writer);
	CHECK_EQ(dnp_said_lost(&said), 1);
	found = end();
	CHECK_EQ(found.losses, 1);
	CHECK_EQ(found.lost, 1);
	CHECK(found.marks > 1000);
}
