/* SPDX-License-Identifier: MIT */
#include "read/visit.h"

#include <errno.h>

#include "format/chunk.h"
#include "read/recording.h"

struct visit {
	const struct dnp_visitor *visitor;
	void *arg;
	uint64_t time_ns;
	uint64_t *damaged;
};

/* Only these two move the time; the compiler drops the calls for all others. */
static inline void advance(uint64_t *time_ns, enum dnp_rec id, const void *rec)
{
	if (id == DNP_REC_base)
		*time_ns = ((const struct dnp_rec_base *)rec)->time_ns;
	else if (id == DNP_REC_sample)
		*time_ns += (uint64_t)((const struct dnp_rec_sample *)rec)->delta_ns;
}

#define DNP_RECORD(id, name, doc)                                                                  \
	static int visit_##name(struct visit *visit, struct dnp_str body)                          \
	{                                                                                          \
		struct dnp_rec_##name rec;                                                         \
                                                                                                   \
		if (!visit->visitor->name && DNP_REC_##name != DNP_REC_base)                       \
			return 0;                                                                  \
		if (dnp_get_##name((const uint8_t *)body.p, body.n, &rec)) {                       \
			*visit->damaged += body.n;                                                 \
			return 0;                                                                  \
		}                                                                                  \
		advance(&visit->time_ns, DNP_REC_##name, &rec);                                    \
		if (!visit->visitor->name)                                                         \
			return 0;                                                                  \
		return visit->visitor->name(visit->arg, &rec, visit->time_ns);                     \
	}
#define U(field, doc)
#define I(field, doc)
#define S(field, doc)
#define DNP_RECORD_END(name)
#include "format/rec.def"

static int visit_record(struct visit *visit, uint64_t id, struct dnp_str body)
{
	switch (id) {
#define DNP_RECORD(id, name, doc)                                                                  \
	case id:                                                                                   \
		return visit_##name(visit, body);
#define U(field, doc)
#define I(field, doc)
#define S(field, doc)
#define DNP_RECORD_END(name)
#include "format/rec.def"
	default: return 0; /* of a newer writer */
	}
}

static int visit_chunk(void *arg, const struct dnp_chunk *chunk)
{
	struct visit *visit = arg;
	struct dnp_str body;
	uint64_t id;
	size_t at = 0;
	int status;

	visit->time_ns = 0;
	while ((status = dnp_rec_next(chunk->payload, chunk->length, &at, &id, &body)) > 0) {
		status = visit_record(visit, id, body);
		if (status)
			return status;
	}
	if (status < 0)
		*visit->damaged += chunk->length - at;
	return 0;
}

int dnp_recording_visit(const struct dnp_recording *recording, const struct dnp_visitor *visitor,
	void *arg, uint64_t *damaged)
{
	struct visit visit = {.visitor = visitor, .arg = arg, .damaged = damaged};

	return dnp_recording_each_chunk(recording, visit_chunk, &visit);
}
