/* SPDX-License-Identifier: MIT */
#include "capture/nesting.h"

#include <string.h>

void dnp_nesting_begin(struct dnp_nesting nesting, struct dnp_nested begun)
{
	if (*nesting.n == nesting.room) {
		--*nesting.n;
		memmove(nesting.open, nesting.open + 1, *nesting.n * sizeof(*nesting.open));
	}
	nesting.open[(*nesting.n)++] = begun;
}

void dnp_nesting_drop(struct dnp_nesting nesting)
{
	uint64_t others_ns = nesting.open[--*nesting.n].others_ns;

	if (*nesting.n)
		nesting.open[*nesting.n - 1].others_ns += others_ns;
}

bool dnp_nesting_take(struct dnp_nesting nesting, uint64_t what, struct dnp_nested *taken)
{
	uint32_t n = *nesting.n;

	while (n && nesting.open[n - 1].what != what)
		n--;
	if (!n)
		return false;
	while (*nesting.n > n)
		dnp_nesting_drop(nesting);
	*taken = nesting.open[--*nesting.n];
	return true;
}

const struct dnp_nested *dnp_nesting_innermost(struct dnp_nesting nesting)
{
	return *nesting.n ? &nesting.open[*nesting.n - 1] : NULL;
}

void dnp_nesting_over(struct dnp_nesting nesting, const struct dnp_nested *taken, uint64_t now_ns)
{
	if (*nesting.n)
		nesting.open[*nesting.n - 1].others_ns += now_ns - taken->begin_ns;
}
