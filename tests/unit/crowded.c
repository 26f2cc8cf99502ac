/* SPDX-License-Identifier: MIT */
#include "crowded.h"

#include "aggregate/profile.h"
#include "test.h"

static struct crowded_site site_of(const struct dnp_live_site *site, uint64_t lot)
{
	struct dnp_range range = dnp_label_range(&site->at.sum, lot);

	return (struct crowded_site){(double)site->at.sum.weight, range.low, range.high};
}

static void put_live(const struct dnp_profile *profile, struct crowded *crowded)
{
	struct dnp_live live;

	CHECK_EQ(dnp_live_init(&live, profile), 0);
	crowded->sites = (unsigned)live.sites.n;
	for (size_t i = 0; i < live.sites.n; i++) {
		const struct dnp_live_site *site = &live.sites.p[i];
		const char *type =
			dnp_profile_string(profile, profile->frames.p[site->at.type].name);

		crowded->site[!strcmp(type, "B")] = site_of(site, live.mean_bytes);
	}
	crowded->mean_bytes = live.mean_bytes;
	crowded->asked_bytes = live.asked_bytes;
	crowded->most = live.most;
	crowded->watched = live.watched;
	crowded->unseen = live.unseen.samples;
	dnp_live_done(&live);
}

struct crowded crowded_read(const char *path)
{
	struct crowded crowded = {0};
	struct dnp_profile profile;
	struct dnp_input input;

	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_file(&input, path, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	CHECK_EQ(dnp_profile_init(&profile, DNP_SUMS, NULL), 0);
	CHECK_EQ(dnp_profile_add(&profile, &input, NULL), 0);
	dnp_profile_finish(&profile);
	for (size_t i = 0; i < profile.events.p[0].rows.n; i++)
		crowded.kept += profile.events.p[0].rows.slots[i].weight;
	put_live(&profile, &crowded);
	dnp_profile_done(&profile);
	dnp_input_done(&input);
	return crowded;
}
