/* SPDX-License-Identifier: MIT */
/*
 * Recordings that were read to be shown or written: what report and export have in common.
 *
 *   dnp_loaded_init, _read, _profile, _event, use, _done
 */
#ifndef DNP_CLI_LOADED_H
#define DNP_CLI_LOADED_H

#include "export/export.h"

struct dnp_loaded {
	struct dnp_input input;
	struct dnp_sink_memory names; /* chunks with the names of native functions */
	struct dnp_profile profile;
};

void dnp_loaded_init(struct dnp_loaded *loaded);
void dnp_loaded_done(struct dnp_loaded *loaded);

/* All of these 0, or -errno with a sentence. */
int dnp_loaded_read(struct dnp_loaded *loaded, int argc, char **argv, struct dnp_err *err);

/* The filter's words are to stay as long as the profile. */
int dnp_loaded_profile(struct dnp_loaded *loaded, const struct dnp_exporter *exporter,
	const struct dnp_filter *filter, struct dnp_err *err);

/* Whether the profile's filter of requests chose any; the report then says so. Of _profile. */
int dnp_loaded_requests(
	struct dnp_loaded *loaded, const struct dnp_exporter *exporter, struct dnp_err *err);

/* Whether each pattern of that filter has matched any: 0, or -ENOENT with a sentence. */
int dnp_requests_exist(const struct dnp_profile *profile, struct dnp_err *err);

/* The event of that name (NULL: the first) if the exporter shows it; `output`: where it goes. */
int dnp_loaded_event(struct dnp_loaded *loaded, const struct dnp_exporter *exporter,
	const char *name, const char *output, uint32_t *event, struct dnp_err *err);

/* An exit status: whether all is there that the filter names, after saying what is not. */
int dnp_said_absent(const struct dnp_profile *profile);

/*
 * The same: whether patterns have left anything of the samples and calls that there are. Of the
 * event that is shown (DNP_NONE: no certain one) it depends whether patterns choose anything.
 */
int dnp_said_nothing_left(const struct dnp_profile *profile, uint32_t event);

/*
 * The same for all that was recorded and all that the filter names. The event is the one that was
 * chosen, which exporters that let who looks choose show among others.
 */
int dnp_loaded_whole(
	const struct dnp_loaded *loaded, const struct dnp_exporter *exporter, uint32_t event);

#endif
