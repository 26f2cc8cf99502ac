/* SPDX-License-Identifier: MIT */
#include "export/share.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clean.h"
#include "os/clock.h"

#define LONG_NS UINT64_C(120000000000) /* from here on in minutes */

uint64_t dnp_share_least(const struct dnp_tree *tree, double min_percent)
{
	double least = (double)tree->total[0] * min_percent / 100.0;

	if (tree->calls && least == 0.0)
		return 0;
	return least <= 1.0 ? 1 : (uint64_t)least + ((double)(uint64_t)least < least);
}

bool dnp_event_has_looks(const struct dnp_event *event)
{
	return event->waiting && event->interval_ns && !event->in_ns && event->looks;
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

struct dnp_number dnp_format_estimate(const struct dnp_label_sum *sum)
{
	struct dnp_number count = dnp_format_count((uint64_t)(sum->count + 0.5)), number;

	snprintf(number.text, sizeof(number.text), "%s%.40s", sum->variance > 0 ? "~" : "",
		count.text);
	return number;
}

struct dnp_number dnp_format_duration(uint64_t ns)
{
	struct dnp_number number;
	double s = (double)ns / 1e9;

	if (ns < 999500)
		snprintf(number.text, sizeof(number.text), "%" PRIu64 " µs", (ns + 500) / 1000);
	else if (ns < 999500000)
		snprintf(number.text, sizeof(number.text), "%" PRIu64 " ms",
			(ns + 500000) / 1000000);
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

/* Three digits of a value in the largest of these units that it has a whole one of. */
static struct dnp_number in_units(double value, double step, const char *const *units, size_t n)
{
	struct dnp_number number;
	size_t unit = 0;

	for (; value >= 999.5 && unit + 1 < n; unit++)
		value /= step;
	snprintf(number.text, sizeof(number.text), "%.*f %s",
		value < 9.995           ? 2
			: value < 99.95 ? 1
					: 0,
		value, units[unit]);
	return number;
}

struct dnp_number dnp_format_ns(uint64_t ns)
{
	static const char *const units[] = {"µs", "ms", "s"};
	struct dnp_number number;

	if (ns >= 1000)
		return in_units((double)ns / 1e3, 1e3, units, DNP_ARRAY_SIZE(units));
	snprintf(number.text, sizeof(number.text), "%" PRIu64 " ns", ns);
	return number;
}

struct dnp_number dnp_format_bytes(uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	struct dnp_number number;

	if (bytes >= 1024)
		return in_units((double)bytes / 1024, 1024, units, DNP_ARRAY_SIZE(units));
	snprintf(number.text, sizeof(number.text), "%" PRIu64 " B", bytes);
	return number;
}

struct dnp_number dnp_format_weight(const struct dnp_event *event, uint64_t weight)
{
	if (event->in_bytes)
		return dnp_format_bytes(weight);
	if (event->in_ns)
		return weight < LONG_NS ? dnp_format_ns(weight) : dnp_format_duration(weight);
	return dnp_format_count(weight);
}

struct dnp_number dnp_format_lost(const struct dnp_event *event, uint64_t lost)
{
	bool counted = event->calls || (!lost && event->in_ns);

	return counted ? dnp_format_count(lost) : dnp_format_weight(event, lost);
}

struct dnp_number dnp_format_time(uint64_t unix_ns)
{
	struct dnp_number number;

	if (!unix_ns || !dnp_unix_text(unix_ns, number.text, sizeof(number.text)))
		snprintf(number.text, sizeof(number.text), "at an unknown time");
	return number;
}
