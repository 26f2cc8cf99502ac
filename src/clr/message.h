/* SPDX-License-Identifier: MIT */
/*
 * The message that an exception was made with: the string in its own field, not what the property
 * Message makes of it, for that is managed code.
 */
#ifndef DNP_CLR_MESSAGE_H
#define DNP_CLR_MESSAGE_H

#include <stdbool.h>

#include "base/text.h"
#include "clr/info.h"

/* Where it is, from the beginning of the objects. */
struct dnp_message_place {
	uint32_t message;       /* in an exception */
	uint32_t length, chars; /* in a string */
};

/*
 * The same for all exceptions: asked for by the class of one. In a callback about an object of that
 * class. False: the runtime does not tell.
 */
bool dnp_message_find(const struct dnp_info *info, ClassID class_id, struct dnp_message_place *at);

/*
 * Puts up to `max` UTF-16 units of it. The object must stay where it is meanwhile; reads so that
 * nothing can fault, and allocates nothing. False: it has none of its own.
 */
bool dnp_message_read(
	const struct dnp_message_place *at, ObjectID object, uint32_t max, struct dnp_text *text);

#endif
