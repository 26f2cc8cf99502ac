/* SPDX-License-Identifier: MIT */
#include "base/near.h"

#include <ctype.h>
#include <stdbool.h>

#include "base/pattern.h"

/* What is longer is compared by its beginning. */
#define BYTES_MAX 255

enum cost {
	COST_CASE = 1,
	COST_MORE = 2, /* a letter too many, or too few */
	COST_OTHER = 3,
	COST_PART = 3, /* a part of the name is not there, as the namespace */
};

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned differ(char a, char b)
{
	if (a == b)
		return 0;
	return tolower((unsigned char)a) == tolower((unsigned char)b) ? COST_CASE : COST_OTHER;
}

static bool joins(char c)
{
	return c == '.' || c == '+';
}

/* The row before the pattern's first letter: what of the name's beginning is left out. */
static void first_row(struct dnp_str name, unsigned row[])
{
	for (size_t j = 0; j <= name.n; j++)
		row[j] = j && joins(name.p[j - 1]) ? COST_PART : (unsigned)j * COST_MORE;
}

static void next_row(char c, struct dnp_str name, unsigned row[])
{
	unsigned diagonal = row[0];

	row[0] += c == '*' ? 0 : COST_MORE;
	for (size_t j = 1; j <= name.n; j++) {
		unsigned above = row[j];

		if (c == '*')
			row[j] = least(above, row[j - 1]);
		else
			row[j] = least(diagonal + differ(c, name.p[j - 1]),
				least(above, row[j - 1]) + COST_MORE);
		diagonal = above;
	}
}

/* The name may go on where a part of it ends. */
static unsigned at_end(struct dnp_str name, const unsigned row[])
{
	unsigned cost = row[name.n];

	for (size_t j = 1; j < name.n; j++)
		if (joins(name.p[j]))
			cost = least(cost, row[j] + COST_PART);
	return cost;
}

/* Arguments are compared where the pattern has some. */
static struct dnp_str shorten(struct dnp_str name, struct dnp_str pattern)
{
	if (!(pattern.n && memchr(pattern.p, '(', pattern.n)))
		name = dnp_name_bare(name);
	if (name.n > BYTES_MAX)
		name.n = BYTES_MAX;
	return name;
}

unsigned dnp_near(struct dnp_str pattern, struct dnp_str name)
{
	unsigned row[BYTES_MAX + 1], letters = 0, cost, limit;

	if (pattern.n > BYTES_MAX)
		return DNP_NEAR_NOT;
	name = shorten(name, pattern);
	first_row(name, row);
	for (size_t i = 0; i < pattern.n; i++) {
		next_row(pattern.p[i], name, row);
		letters += pattern.p[i] != '*';
	}
	cost = at_end(name, row);
	limit = letters * 2 / 3;
	return cost <= (limit < COST_OTHER ? COST_OTHER : limit) ? cost : DNP_NEAR_NOT;
}

void dnp_nearest_offer(struct dnp_nearest *nearest, unsigned cost, const char *name)
{
	size_t at = nearest->n;

	for (size_t i = 0; i < nearest->n; i++)
		if (!strcmp(nearest->list[i].name, name))
			return;
	while (at && nearest->list[at - 1].cost > cost)
		at--;
	if (cost == DNP_NEAR_NOT || at == DNP_NEAREST)
		return;
	nearest->n += nearest->n < DNP_NEAREST;
	for (size_t i = nearest->n - 1; i > at; i--)
		nearest->list[i] = nearest->list[i - 1];
	nearest->list[at].name = name;
	nearest->list[at].cost = cost;
}

void dnp_nearest_put(const struct dnp_nearest *nearest, struct dnp_text *out)
{
	for (size_t i = 0; i < nearest->n; i++) {
		dnp_text_puts(out, i ? ", " : "");
		dnp_text_puts(out, nearest->list[i].name);
	}
}
