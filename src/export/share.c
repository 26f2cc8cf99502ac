/* SPDX-License-Identifier: MIT */
#include "export/share.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

uint64_t dnp_share_least(const struct dnp_tree *tree, double min_percent)
{
	double least = (double)tree->total[0] * min_percent / 100.0;

	return least <= 1.0 ? 1 : (uint64_t)least + ((double)(uint64_t)least < least);
}

double dnp_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

struct dnp_number dnp_format_count(uint64_t count)
{
	struct dnp_number number;
	char digits[24];
	size_t n = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			number.text[to++] = ',';
		number.text[to++] = digits[i];
	}
	number.text[to] = '\0';
	return number;
}

struct dnp_number dnp_format_duration(uint64_t ns)
{
	struct dnp_number number;
	double s = (double)ns / 1e9;

	if (ns < 1000000)
		snprintf(number.text, sizeof(number.text), "%" PRIu64 " µs", ns / 1000);
	else if (ns < 1000000000)
		snprintf(number.text, sizeof(number.text), "%" PRIu64 " ms", ns / 1000000);
	else if (s < 120)
		snprintf(number.text, sizeof(number.text), s < 9.995 ? "%.2f s" : "%.1f s", s);
	else if (s < 7200)
		snprintf(number.text, sizeof(number.text), "%u min %02u s", (unsigned)(s / 60),
			(unsigned)s % 60);
	else
		snprintf(number.text, sizeof(number.text), "%" PRIu64 " h %02u min",
			(uint64_t)(s / 3600), (unsigned)((uint64_t)(s / 60) % 60));
	return number;
}

struct dnp_number dnp_format_time(uint64_t unix_ns)
{
	struct dnp_number number;
	time_t seconds = (time_t)(unix_ns / 1000000000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) ||
		!strftime(number.text, sizeof(number.text), "%Y-%m-%d %H:%M:%S %Z", &tm))
		snprintf(number.text, sizeof(number.text), "at an unknown time");
	return number;
}
