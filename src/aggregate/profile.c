/* SPDX-License-Identifier: MIT */
#include "aggregate/profile.h"

int dnp_profile_init(struct dnp_profile *profile, bool timed, const struct dnp_filter *filter)
{
	struct dnp_frame all = {.code = DNP_CODE_OTHER};
	uint32_t root;

	*profile = (struct dnp_profile){
		.timed = timed, .filter = filter ? *filter : (struct dnp_filter){0}};
	if (dnp_strings_init(&profile->strings) ||
		dnp_strings_add(&profile->strings, dnp_str("all"), &all.name) ||
		dnp_profile_frame(profile, all, &root))
		return -ENOMEM;
	return dnp_vec_push(&profile->nodes, (struct dnp_node){0, root});
}

void dnp_profile_done(struct dnp_profile *profile)
{
	for (size_t i = 0; i < profile->processes.n; i++)
		dnp_vec_done(&profile->processes.p[i].command);
	for (size_t i = 0; i < profile->events.n; i++) {
		dnp_vec_done(&profile->events.p[i].failures);
		dnp_rows_done(&profile->events.p[i].rows);
	}
	dnp_strings_done(&profile->strings);
	dnp_vec_done(&profile->frames);
	dnp_vec_done(&profile->nodes);
	dnp_vec_done(&profile->processes);
	dnp_vec_done(&profile->threads);
	dnp_vec_done(&profile->events);
	dnp_vec_done(&profile->problems);
	dnp_map_done(&profile->frame_map);
	free(profile->node_slots);
	profile->node_slots = NULL;
}

int dnp_profile_frame(struct dnp_profile *profile, struct dnp_frame frame, uint32_t *index)
{
	/* Strings are far fewer than 2^30: the three numbers fit without collision. */
	uint64_t key = (uint64_t)frame.name << 33 | (uint64_t)frame.module << 3 | frame.code;

	*index = dnp_map_get(&profile->frame_map, key);
	if (*index != DNP_NONE)
		return 0;
	*index = (uint32_t)profile->frames.n;
	if (dnp_vec_push(&profile->frames, frame))
		return -ENOMEM;
	return dnp_map_set(&profile->frame_map, key, *index);
}

static size_t node_home(const struct dnp_profile *profile, uint32_t parent, uint32_t frame)
{
	return dnp_hash((uint64_t)parent << 32 | frame) & (profile->node_capacity - 1);
}

static uint32_t find_node(const struct dnp_profile *profile, uint32_t parent, uint32_t frame)
{
	size_t mask = profile->node_capacity - 1;
	size_t i = node_home(profile, parent, frame);

	for (; profile->node_slots[i] != DNP_NONE; i = (i + 1) & mask) {
		const struct dnp_node *node = &profile->nodes.p[profile->node_slots[i]];

		if (node->parent == parent && node->frame == frame)
			break;
	}
	return profile->node_slots[i];
}

/* Puts the newest nodes, which are not in the table yet, there. */
static void settle_nodes(struct dnp_profile *profile)
{
	size_t mask = profile->node_capacity - 1;

	for (; profile->settled < profile->nodes.n; profile->settled++) {
		const struct dnp_node *node = &profile->nodes.p[profile->settled];
		size_t i = node_home(profile, node->parent, node->frame);

		while (profile->node_slots[i] != DNP_NONE)
			i = (i + 1) & mask;
		profile->node_slots[i] = (uint32_t)profile->settled;
	}
}

int dnp_profile_reserve_nodes(struct dnp_profile *profile, size_t more)
{
	size_t want = profile->nodes.n + more, capacity = 64;
	uint32_t *slots;

	if (dnp_vec_reserve(&profile->nodes, want))
		return -ENOMEM;
	while (capacity / 4 * 3 < want)
		capacity *= 2;
	if (capacity <= profile->node_capacity)
		return 0;
	slots = reallocarray(NULL, capacity, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, capacity * sizeof(*slots));
	free(profile->node_slots);
	profile->node_slots = slots;
	profile->node_capacity = capacity;
	profile->settled = 1; /* the root is nobody's child */
	settle_nodes(profile);
	return 0;
}

/*
 * A node on top of the newest one is new itself, without a look. Chains of those wait, while the
 * memory of their slots is fetched, until the next node that has to be looked for.
 */
uint32_t dnp_profile_node(struct dnp_profile *profile, uint32_t parent, uint32_t frame)
{
	if (!parent || parent + 1 != profile->nodes.n) {
		uint32_t found;

		settle_nodes(profile);
		found = find_node(profile, parent, frame);
		if (found != DNP_NONE)
			return found;
	}
	profile->nodes.p[profile->nodes.n++] = (struct dnp_node){parent, frame};
	__builtin_prefetch(&profile->node_slots[node_home(profile, parent, frame)], 1);
	return (uint32_t)(profile->nodes.n - 1);
}

int dnp_profile_problem(struct dnp_profile *profile, const char *text)
{
	uint32_t number;

	if (dnp_strings_add(&profile->strings, dnp_str(text), &number))
		return -ENOMEM;
	for (size_t i = 0; i < profile->problems.n; i++)
		if (profile->problems.p[i] == number)
			return 0;
	return dnp_vec_push(&profile->problems, number);
}

int dnp_profile_missing(struct dnp_profile *profile, const char *text)
{
	if (!profile->incomplete &&
		dnp_strings_add(&profile->strings, dnp_str(text), &profile->missing))
		return -ENOMEM;
	profile->incomplete = true;
	return dnp_profile_problem(profile, text);
}

static uint64_t earliest_start(const struct dnp_input *input)
{
	uint64_t earliest = UINT64_MAX;

	for (size_t i = 0; i < input->recordings.n; i++) {
		const struct dnp_recording *recording = &input->recordings.p[i];

		if (recording->has_process && recording->process.start_unix_ns < earliest)
			earliest = recording->process.start_unix_ns;
	}
	return earliest == UINT64_MAX ? 0 : earliest;
}

static int add_one(struct dnp_profile *profile, const struct dnp_recording *recording)
{
	uint64_t start_ns = 0;

	if (recording->has_process)
		start_ns = recording->process.start_unix_ns - profile->start_unix_ns;
	for (size_t i = 0; i < recording->problems.n; i++)
		if (dnp_profile_missing(profile, recording->problems.p[i]))
			return -ENOMEM;
	return dnp_profile_load(profile, recording, start_ns);
}

int dnp_profile_add(struct dnp_profile *profile, const struct dnp_input *input, struct dnp_err *err)
{
	profile->start_unix_ns = earliest_start(input);
	for (size_t i = 0; i < input->recordings.n; i++)
		if (add_one(profile, &input->recordings.p[i]))
			return dnp_err(err, -ENOMEM,
				"cannot read the recording: out of memory; read fewer files at "
				"once, or part of the time");
	return 0;
}

void dnp_profile_finish(struct dnp_profile *profile)
{
	for (size_t i = 0; i < profile->events.n; i++)
		dnp_rows_finish(&profile->events.p[i].rows);
}

uint32_t dnp_profile_event(const struct dnp_profile *profile, const char *name)
{
	for (uint32_t i = 0; i < profile->events.n; i++)
		if (!strcmp(dnp_profile_string(profile, profile->events.p[i].name), name))
			return i;
	return DNP_NONE;
}
