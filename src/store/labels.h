/* SPDX-License-Identifier: MIT */
/*
 * What events are about: types, methods, reasons, as text that has a number. A sample carries the
 * number as its leaf frame, and the recording defines the frame when it meets it first.
 *
 * Numbers are of one recording. Text is bounded: what is new when there is no room any more is one
 * label, "[other]".
 */
#ifndef DNP_STORE_LABELS_H
#define DNP_STORE_LABELS_H

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
/* The same of a type: another one for another type. The first time counts for `unloadings`. */
uint32_t dnp_label_of_type(struct dnp_str text, uintptr_t type, unsigned unloadings);

struct dnp_label {
	struct dnp_str text; /* borrowed, good until dnp_labels_forget */
	uintptr_t type;      /* ClassID, 0: it is not of a type */
	unsigned unloadings; /* of modules that had begun when the type was there for sure */
};

/* Of a number that was given. Any thread, as above. */
struct dnp_label dnp_label_get(uint32_t number);

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
