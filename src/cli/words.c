/* SPDX-License-Identifier: MIT */
#include "cli/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"

int dnp_words_split(struct dnp_words *words, const char *text)
{
	struct dnp_str rest = dnp_str(text), word;
	char *to;

	if (!text)
		return 0;
	words->text = to = malloc(rest.n + 1);
	if (!to)
		return -ENOMEM;
	/* Each word and its zero take no more than it and its comma did. */
	while (dnp_pattern_cut(&rest, &word)) {
		memcpy(to, word.p, word.n);
		to[word.n] = '\0';
		if (dnp_vec_push(&words->list, to))
			return -ENOMEM;
		to += word.n + 1;
	}
	return 0;
}

void dnp_words_done(struct dnp_words *words)
{
	dnp_vec_done(&words->list);
	free(words->text);
}
