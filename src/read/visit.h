/* SPDX-License-Identifier: MIT */
/*
 * Goes through a recording's records in order. For each kind of record the visitor may have a
 * function; it gets the record (its strings borrow from the file) and, if it wants samples, the
 * time that the recording has come to: a sample's own, or that of the sample before. What it
 * returns, if not 0, ends the visit and is returned.
 */
#ifndef DNP_READ_VISIT_H
#define DNP_READ_VISIT_H

#include "format/rec.h"

struct dnp_recording;

struct dnp_visitor {
#define DNP_RECORD(id, name, doc)                                                                  \
	int (*name)(void *arg, const struct dnp_rec_##name *rec, uint64_t time_ns);
#define U(field, doc)
#define I(field, doc)
#define S(field, doc)
#define DNP_RECORD_END(name)
#include "format/rec.def"
};

/* *damaged grows by the bytes of records that cannot be decoded; they are skipped. */
int dnp_recording_visit(const struct dnp_recording *recording, const struct dnp_visitor *visitor,
	void *arg, uint64_t *damaged);

#endif
