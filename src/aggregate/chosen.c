/* SPDX-License-Identifier: MIT */
#include "aggregate/chosen.h"

#include <errno.h>

#include "base/pattern.h"

static void see(struct dnp_search *search, const char *name, bool matches)
{
	search->names++;
	search->found = search->found || matches;
	if (!search->found && *name)
		dnp_nearest_offer(
			&search->nearest, dnp_near(dnp_str(search->pattern), dnp_str(name)), name);
}

void dnp_search_see(struct dnp_search *search, const char *name)
{
	see(search, name, dnp_pattern_match(dnp_str(search->pattern), dnp_str(name)));
}

int dnp_search_end(const struct dnp_search *search, struct dnp_err *err)
{
	char buffer[640];
	struct dnp_text list;

	if (search->found || !search->names)
		return 0;
	dnp_text_init(&list, buffer, sizeof(buffer));
	dnp_nearest_put(&search->nearest, &list);
	if (list.n)
		return dnp_err(err, -ENOENT, "%s '%s' matches none of %zu %s; much like it are: %s",
			search->option, search->pattern, search->names, search->kind, buffer);
	return dnp_err(err, -ENOENT,
		"%s '%s' matches none of %zu %s; without it you see what they are called",
		search->option, search->pattern, search->names, search->kind);
}

static int look_for_thread(const struct dnp_profile *profile, const char *word, struct dnp_err *err)
{
	struct dnp_search search = {.option = "--thread", .pattern = word, .kind = "threads"};

	for (size_t i = 0; i < profile->met_threads.n && !search.found; i++) {
		const struct dnp_met_thread *thread = &profile->met_threads.p[i];
		const char *name = dnp_profile_string(profile, thread->name);

		see(&search, name, dnp_names_thread(word, thread->tid, dnp_str(name)));
	}
	return dnp_search_end(&search, err);
}

static int look_for_function(
	const struct dnp_profile *profile, const char *pattern, struct dnp_err *err)
{
	struct dnp_search search = {.option = "--include", .pattern = pattern, .kind = "functions"};

	/* The first is what they all are below. */
	for (size_t i = 1; i < profile->frames.n && !search.found; i++)
		dnp_search_see(&search, dnp_profile_string(profile, profile->frames.p[i].name));
	return dnp_search_end(&search, err);
}

int dnp_chosen_exist(const struct dnp_profile *profile, struct dnp_err *err)
{
	const struct dnp_filter *filter = &profile->filter;
	int status = 0;

	for (size_t i = 0; i < filter->thread_count && !status; i++)
		status = look_for_thread(profile, filter->threads[i], err);
	for (size_t i = 0; i < filter->include_count && !status; i++)
		status = look_for_function(profile, filter->include[i], err);
	return status;
}
