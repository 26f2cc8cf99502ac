/* SPDX-License-Identifier: MIT */
/*
 * All records that say when they are of do so as `time_ns`. Other times may be of before the
 * recording: when a thread began, or a wait.
 */
#include "read/oldest.h"

#include <string.h>

#include "read/visit.h"

static void saw(uint64_t *oldest, uint64_t time_ns)
{
	if (time_ns && time_ns < *oldest)
		*oldest = time_ns;
}

#define DNP_RECORD(id, name, doc)                                                                  \
	static int look_at_##name(void *arg, const struct dnp_rec_##name *rec, uint64_t time_ns)   \
	{                                                                                          \
		(void)arg;                                                                         \
		(void)rec;                                                                         \
		(void)time_ns;
#define U(field, doc)                                                                              \
	if (!strcmp(#field, "time_ns"))                                                            \
		saw(arg, rec->field);
#define I(field, doc)
#define S(field, doc)
#define DNP_RECORD_END(name)                                                                       \
	return 0;                                                                                  \
	}
#include "format/rec.def"

static const struct dnp_visitor visitor = {
#define DNP_RECORD(id, name, doc) .name = look_at_##name,
#define U(field, doc)
#define I(field, doc)
#define S(field, doc)
#define DNP_RECORD_END(name)
#include "format/rec.def"
};

uint64_t dnp_recording_oldest(const struct dnp_recording *recording)
{
	uint64_t oldest = UINT64_MAX, damaged = 0;

	dnp_recording_visit(recording, &visitor, &oldest, &damaged);
	return oldest == UINT64_MAX ? 0 : oldest;
}
