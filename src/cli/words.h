/* SPDX-License-Identifier: MIT */
/* Lists on the command line: what stands between commas; those inside of brackets do not count. */
#ifndef DNP_CLI_WORDS_H
#define DNP_CLI_WORDS_H

#include "base/vec.h"

struct dnp_words {
	struct dnp_vec_of(const char *) list;
	char *text; /* owned */
};

/* Zeroed before; text NULL: no words. 0 or -ENOMEM. */
int dnp_words_split(struct dnp_words *words, const char *text);
void dnp_words_done(struct dnp_words *words);

#endif
