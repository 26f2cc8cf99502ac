/* SPDX-License-Identifier: MIT */
/* Recordings made in memory (recording.h), read back and put together. */
#ifndef DNP_TEST_PROFILED_H
#define DNP_TEST_PROFILED_H

#include "aggregate/profile.h"
#include "aggregate/tree.h"

#include "recording.h"
#include "test.h"

static inline void read_recording(struct dnp_input *input, const struct recording *rec)
{
	dnp_input_init(input);
	CHECK_EQ(dnp_input_add_bytes(input, "t", rec->bytes.p, rec->bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_finish(input, NULL), 0);
}

static inline void profile_recording(struct dnp_profile *profile, struct dnp_input *input,
	const struct recording *rec, const struct dnp_filter *filter, enum dnp_detail detail)
{
	read_recording(input, rec);
	CHECK_EQ(dnp_profile_init(profile, detail, filter), 0);
	CHECK_EQ(dnp_profile_add(profile, input, NULL), 0);
	dnp_profile_finish(profile);
}

/* One with its first event's tree. The test makes `rec` before. */
struct fixture {
	struct recording rec;
	struct dnp_input input;
	struct dnp_profile profile;
	struct dnp_tree tree;
};

static inline void load(struct fixture *f, const struct dnp_filter *filter, enum dnp_detail detail)
{
	profile_recording(&f->profile, &f->input, &f->rec, filter, detail);
	CHECK(f->profile.events.n > 0);
	CHECK_EQ(dnp_tree_init(&f->tree, &f->profile, 0), 0);
}

static inline void done(struct fixture *f)
{
	dnp_tree_done(&f->tree);
	dnp_profile_done(&f->profile);
	dnp_input_done(&f->input);
	recording_done(&f->rec);
}

static inline const char *name_of(const struct fixture *f, uint32_t frame)
{
	return dnp_profile_string(&f->profile, f->profile.frames.p[frame].name);
}

static inline const struct dnp_method *method(const struct fixture *f, const char *name)
{
	for (size_t i = 0; i < f->tree.methods.n; i++)
		if (!strcmp(name_of(f, f->tree.methods.p[i].frame), name))
			return &f->tree.methods.p[i];
	FAIL("there is no method %s", name);
}

#endif
