/* SPDX-License-Identifier: MIT */
/* Numbers, times and rates as users write them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "cli/cli.h"

#define SECOND_NS 1e9
#define MAX_NS    9e18

bool dnp_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;
	unsigned long long number;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || *end || number < min || number > max)
		return false;
	*value = number;
	return true;
}

/* A decimal number above 0 and what stands behind it; no exponents, signs, infinities. */
static bool parse_decimal(const char *text, double *value, const char **rest)
{
	char *end;

	if (strspn(text, "0123456789.") == 0)
		return false;
	if (text[strspn(text, "0123456789.")] == 'e' || strpbrk(text, "xXEpP"))
		return false;
	*value = strtod(text, &end);
	*rest = end;
	return end != text && *value > 0;
}

/* The length of a unit in ns, 0: not one. */
static double unit_ns(const char *unit)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {
		{"ns", 1},
		{"us", 1e3},
		{"ms", 1e6},
		{"s", SECOND_NS},
		{"m", 60 * SECOND_NS},
		{"h", 3600 * SECOND_NS},
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(units); i++) {
		if (!strcmp(unit, units[i].name))
			return units[i].ns;
	}
	return 0;
}

static bool parse_time(const char *text, double bare_ns, uint64_t *ns)
{
	const char *unit;
	double value, scale;

	if (!parse_decimal(text, &value, &unit))
		return false;
	scale = *unit ? unit_ns(unit) : bare_ns;
	value *= scale;
	if (value < 1 || value > MAX_NS)
		return false;
	*ns = (uint64_t)(value + 0.5);
	return true;
}

bool dnp_parse_seconds(const char *text, uint64_t *ns)
{
	return parse_time(text, SECOND_NS, ns);
}

bool dnp_parse_interval(const char *text, uint64_t *ns)
{
	return parse_time(text, 0, ns);
}

bool dnp_parse_bytes(const char *text, uint64_t *bytes)
{
	static const char units[] = "kmg";
	const char *rest, *unit;
	double value;

	if (!parse_decimal(text, &value, &rest))
		return false;
	unit = *rest ? strchr(units, *rest | 0x20) : NULL;
	if (*rest && (!unit || rest[1]))
		return false;
	value *= unit ? (double)(UINT64_C(1) << 10 * (unit - units + 1)) : 1;
	if (value < 1 || value > MAX_NS)
		return false;
	*bytes = (uint64_t)(value + 0.5);
	return true;
}

bool dnp_parse_hz(const char *text, uint64_t *ns)
{
	const char *rest;
	double hz;

	if (!parse_decimal(text, &hz, &rest) || *rest)
		return false;
	hz = SECOND_NS / hz;
	if (hz < 1 || hz > MAX_NS)
		return false;
	*ns = (uint64_t)(hz + 0.5);
	return true;
}
