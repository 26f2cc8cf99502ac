/* SPDX-License-Identifier: MIT */
/* What --request has chosen, and what may have been meant where that is nothing. */
#include <errno.h>

#include "aggregate/requests.h"
#include "base/near.h"
#include "cli/loaded.h"

/* All patterns, as they were given. Owned by the caller. */
static struct dnp_sink_memory list_patterns(const struct dnp_filter *filter)
{
	struct dnp_sink_memory list;

	dnp_sink_memory_init(&list);
	for (size_t i = 0; i < filter->request_count; i++)
		dnp_sink_printf(&list.sink, "%s%s", i ? "," : "", filter->requests[i]);
	dnp_sink_write(&list.sink, "", 1);
	return list;
}

/* How near a pattern is to a name, by itself or without its method. */
static unsigned nearness(const char *pattern, const char *name)
{
	struct dnp_str path = dnp_requests_path(dnp_str(name));
	unsigned whole = dnp_near(dnp_str(pattern), dnp_str(name));
	unsigned rest = path.p ? dnp_near(dnp_str(pattern), path) : DNP_NEAR_NOT;

	return rest < whole ? rest : whole;
}

static int matches_none(const struct dnp_profile *profile, const char *pattern, struct dnp_err *err)
{
	struct dnp_nearest nearest = {0};
	char buffer[640];
	struct dnp_text list;

	for (size_t i = 0; i < profile->requests.names.n; i++) {
		const char *name = dnp_profile_string(profile, profile->requests.names.p[i]);

		dnp_nearest_offer(&nearest, nearness(pattern, name), name);
	}
	dnp_text_init(&list, buffer, sizeof(buffer));
	dnp_nearest_put(&nearest, &list);
	if (list.n)
		return dnp_err(err, -ENOENT,
			"--request '%s' matches none of %llu requests; much like it are: %s",
			pattern, (unsigned long long)profile->requests.all, buffer);
	return dnp_err(err, -ENOENT,
		"--request '%s' matches none of %llu requests; 'dnprof report -e request' shows "
		"what they are called",
		pattern, (unsigned long long)profile->requests.all);
}

static int tell(struct dnp_profile *profile, const char *patterns, struct dnp_err *err)
{
	const struct dnp_chosen_requests *requests = &profile->requests;
	struct dnp_sink_memory text;
	int status;

	dnp_sink_memory_init(&text);
	dnp_sink_printf(&text.sink,
		"only what threads did for %llu of %llu requests is shown: those that match %s",
		(unsigned long long)requests->wanted, (unsigned long long)requests->all, patterns);
	for (size_t i = 0; i < requests->left_out.n; i++)
		dnp_sink_printf(&text.sink, "%s%s", i ? ", " : "; without ",
			dnp_profile_string(profile, requests->left_out.p[i]));
	if (requests->left_out.n)
		dnp_sink_printf(&text.sink, ", of which nobody knows for which request");
	dnp_sink_write(&text.sink, "", 1);
	status = text.sink.error ? -ENOMEM : dnp_profile_problem(profile, text.bytes.p);
	dnp_vec_done(&text.bytes);
	return status ? dnp_err(err, -ENOMEM, "cannot report: out of memory; free some") : 0;
}

/* Of which samples are to be told by request. */
static bool has_others(const struct dnp_profile *profile)
{
	for (size_t i = 0; i < profile->events.n; i++)
		if (!profile->events.p[i].says)
			return true;
	return false;
}

static int judge(struct dnp_profile *profile, const struct dnp_exporter *exporter,
	const char *patterns, struct dnp_err *err)
{
	if (exporter->switches)
		return dnp_err(err, -EINVAL,
			"--request chooses samples, and %s shows switches of threads; leave "
			"--request away",
			exporter->name);
	if (!profile->requests.all)
		return dnp_err(err, -ENODATA,
			"--request: no request was recorded; record them beside what is to be "
			"seen, as -e cpu,request");
	if (!profile->requests.wanted)
		return matches_none(profile, profile->filter.requests[0], err);
	if (!profile->requests.followed && has_others(profile))
		return dnp_err(err, -ENODATA,
			"--request: the recording does not say which thread worked for which "
			"request; record again with this version");
	return tell(profile, patterns, err);
}

int dnp_requests_exist(const struct dnp_profile *profile, struct dnp_err *err)
{
	for (size_t i = 0; i < profile->requests.matched.n; i++)
		if (!profile->requests.matched.p[i])
			return matches_none(profile, profile->filter.requests[i], err);
	return 0;
}

int dnp_loaded_requests(
	struct dnp_loaded *loaded, const struct dnp_exporter *exporter, struct dnp_err *err)
{
	struct dnp_profile *profile = &loaded->profile;
	struct dnp_sink_memory patterns;
	int status;

	if (!profile->filter.request_count)
		return 0;
	patterns = list_patterns(&profile->filter);
	status = patterns.sink.error
		? dnp_err(err, -ENOMEM, "cannot report: out of memory; free some")
		: judge(profile, exporter, patterns.bytes.p, err);
	dnp_vec_done(&patterns.bytes);
	return status;
}
