/* SPDX-License-Identifier: MIT */
#include "aggregate/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clean.h"
#include "base/text.h"

/* A span of the event, to be sorted by group, then by length. */
struct item {
	const struct dnp_span *span; /* borrowed */
	uint64_t ns;
};

static int by_group(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->span->point != y->span->point)
		return x->span->point - y->span->point;
	if (x->span->group != y->span->group)
		return x->span->group < y->span->group ? -1 : 1;
	if (x->span->ended != y->span->ended)
		return y->span->ended - x->span->ended;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Of `n` of one group: those that ended come first, the shortest before the others. */
static struct dnp_span_sum sum_up(const struct item *items, size_t n)
{
	struct dnp_span_sum sum = {.name = items->span->group, .count = n};

	for (size_t i = 0; i < n && items[i].span->ended; i++) {
		sum.ended++;
		sum.elsewhere += items[i].span->end_thread != items[i].span->thread;
		sum.total_ns += items[i].ns;
		sum.longest_ns = items[i].ns;
	}
	if (sum.ended) { /* of an even number the lower one */
		sum.median_ns = items[(sum.ended - 1) / 2].ns;
		sum.p99_ns = items[(sum.ended * 99 + 99) / 100 - 1].ns;
	}
	return sum;
}

static int by_total(const void *a, const void *b)
{
	const struct dnp_span_sum *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

static int add_sums(struct dnp_span_sums *sums, const struct item *items, size_t n)
{
	for (size_t first = 0, next; first < n; first = next) {
		const struct dnp_span *span = items[first].span;
		struct dnp_span_sum sum;

		next = first + 1;
		while (next < n && items[next].span->group == span->group &&
			items[next].span->point == span->point)
			next++;
		sum = sum_up(items + first, next - first);
		if (span->point ? dnp_vec_push(&sums->points, sum)
				: dnp_vec_push(&sums->spans, sum))
			return -ENOMEM;
	}
	if (sums->spans.n)
		qsort(sums->spans.p, sums->spans.n, sizeof(*sums->spans.p), by_total);
	if (sums->points.n)
		qsort(sums->points.p, sums->points.n, sizeof(*sums->points.p), by_total);
	return 0;
}

static int by_length(const void *a, const void *b)
{
	const struct dnp_span *x = *(const struct dnp_span *const *)a;
	const struct dnp_span *y = *(const struct dnp_span *const *)b;
	uint64_t x_ns = dnp_span_ns(x), y_ns = dnp_span_ns(y);

	if (x_ns != y_ns)
		return x_ns < y_ns ? 1 : -1;
	return (x > y) - (x < y);
}

static int by_begin(const void *a, const void *b)
{
	const struct dnp_span *x = *(const struct dnp_span *const *)a;
	const struct dnp_span *y = *(const struct dnp_span *const *)b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x > y) - (x < y);
}

static int add_each(struct dnp_span_sums *sums, const struct item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct dnp_span *span = items[i].span;

		if (!span->point &&
			(span->ended ? dnp_vec_push(&sums->longest, span)
				     : dnp_vec_push(&sums->open, span)))
			return -ENOMEM;
	}
	if (sums->longest.n)
		qsort(sums->longest.p, sums->longest.n, sizeof(*sums->longest.p), by_length);
	if (sums->open.n)
		qsort(sums->open.p, sums->open.n, sizeof(*sums->open.p), by_begin);
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct dnp_span_result *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

static int add_results(struct dnp_span_sums *sums)
{
	struct dnp_map places = {0};
	int status = 0;

	for (size_t i = 0; i < sums->longest.n && !status; i++) {
		uint32_t name = sums->longest.p[i]->result;
		uint32_t place = name ? dnp_map_get(&places, name) : DNP_NONE;

		if (place != DNP_NONE)
			sums->results.p[place].count++;
		else if (name &&
			(dnp_map_set(&places, name, (uint32_t)sums->results.n) ||
				dnp_vec_push(&sums->results, ((struct dnp_span_result){name, 1}))))
			status = -ENOMEM;
	}
	if (sums->results.n)
		qsort(sums->results.p, sums->results.n, sizeof(*sums->results.p), by_count);
	dnp_map_done(&places);
	return status;
}

int dnp_span_sums_init(
	struct dnp_span_sums *sums, const struct dnp_profile *profile, uint32_t event)
{
	auto_free struct item *items = NULL;
	size_t n = 0;

	*sums = (struct dnp_span_sums){0};
	if (!profile->spans.n)
		return 0;
	items = reallocarray(NULL, profile->spans.n, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < profile->spans.n; i++)
		if (profile->spans.p[i].event == event)
			items[n++] = (struct item){
				&profile->spans.p[i], dnp_span_ns(&profile->spans.p[i])};
	if (n)
		qsort(items, n, sizeof(*items), by_group);
	if (add_sums(sums, items, n) || add_each(sums, items, n))
		return -ENOMEM;
	return add_results(sums);
}

struct dnp_span_title dnp_span_title(const struct dnp_profile *profile, const struct dnp_span *span)
{
	struct dnp_span_title title;
	struct dnp_text text;

	dnp_text_init(&text, title.text, sizeof(title.text));
	dnp_text_puts(&text, dnp_profile_string(profile, span->name));
	if (span->result) {
		dnp_text_puts(&text, " → ");
		dnp_text_puts(&text, dnp_profile_string(profile, span->result));
	}
	return title;
}

void dnp_span_sums_done(struct dnp_span_sums *sums)
{
	dnp_vec_done(&sums->spans);
	dnp_vec_done(&sums->points);
	dnp_vec_done(&sums->longest);
	dnp_vec_done(&sums->open);
	dnp_vec_done(&sums->results);
}
