/* SPDX-License-Identifier: MIT */
/*
 * What events are about: types, methods, reasons, as text that has a number. A sample carries the
 * number as its leaf frame, and the recording defines the frame when it meets it first.
 *
 * Numbers are of one recording. Text is bounded: what is new when there is no room any more is one
 * label, "[other]", and counted.
 */
#ifndef DNP_STORE_LABELS_H
#define DNP_STORE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "unwind/walk.h"

#define DNP_LABELS_MAX       16384u
#define DNP_LABEL_BYTES_MAX  1024u /* of one; longer ones are cut by those who make them */
#define DNP_LABELS_BYTES_MAX (UINT32_C(4) << 20)

#define DNP_LABEL_OTHER 0u

/*
 * The number of a text, the same for the same text. Any thread, outside of handlers; takes a leaf
 * lock for a moment.
 */
uint32_t dnp_label(struct dnp_str text);
/*
 * The same of a type: another one for another type. `unloadings` is of now; that of the first time
 * is kept. Once its module was unloaded there may be another type of the same text and ClassID: it
 * has the same number only where that has no name that is of one of them alone (dnp_label_passes).
 */
uint32_t dnp_label_of_type(struct dnp_str text, uintptr_t type, unsigned unloadings);

struct dnp_label {
	struct dnp_str text; /* borrowed, good until dnp_labels_forget */
	uintptr_t type;      /* ClassID, 0: it is not of a type */
	unsigned unloadings; /* of modules that had begun when the type was there for sure */
	bool passes, passed; /* see dnp_label_passes */
	uintptr_t with;      /* ModuleID that takes it along, 0: any may */
};

/* Of a number that was given. Any thread, as above. */
struct dnp_label dnp_label_get(uint32_t number);

/*
 * A type's label goes by a name that says more than its text does, and its type may be unloaded: so
 * once that module is, or any where it is 0, the number is of nothing new. Any thread, as above;
 * while that type is there.
 */
void dnp_label_passes(uint32_t number, uintptr_t with);

/* The module is about to be unloaded. Any thread, as above. */
void dnp_labels_unloading(uintptr_t module);

/* How often there was no room for a new one, so far. Any thread, as above. */
uint64_t dnp_labels_refused(void);

/* The label as the leaf of a stack. */
static inline dnp_frame_word dnp_label_frame(uint32_t number)
{
	return (dnp_frame_word)DNP_WALK_LABEL << DNP_FRAME_SHIFT | number;
}

/* The recording has ended, and nobody asks for a label any more. */
void dnp_labels_forget(void);

/* Memory that they hold, about. */
size_t dnp_labels_bytes(void);

#endif
