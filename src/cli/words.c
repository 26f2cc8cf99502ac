/* SPDX-License-Identifier: MIT */
#include "cli/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int dnp_words_split(struct dnp_words *words, const char *text)
{
	int depth = 0;
	char *from;

	if (!text)
		return 0;
	words->text = strdup(text);
	if (!words->text)
		return -ENOMEM;
	from = words->text;
	for (char *at = from; *at; at++) {
		depth += *at == '(' || *at == '<' || *at == '[';
		depth -= *at == ')' || *at == '>' || *at == ']';
		if (*at != ',' || depth > 0)
			continue;
		*at = '\0';
		if (dnp_vec_push(&words->list, from))
			return -ENOMEM;
		from = at + 1;
	}
	return dnp_vec_push(&words->list, from);
}

void dnp_words_done(struct dnp_words *words)
{
	dnp_vec_done(&words->list);
	free(words->text);
}
