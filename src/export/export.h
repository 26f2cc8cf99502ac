/* SPDX-License-Identifier: MIT */
/* Formats that a profile can be written in: one struct each. Exporters never know where to. */
#ifndef DNP_EXPORT_EXPORT_H
#define DNP_EXPORT_EXPORT_H

#include "aggregate/profile.h"
#include "base/sink.h"

struct dnp_export_options {
	uint32_t event;     /* of the profile */
	size_t top;         /* rows of each list, 0: all */
	double min_percent; /* share of the samples below which nodes of the call tree are left out
			     */
	bool methods, threads, tree; /* parts of the text report */
	bool every_event;            /* of that: all events, `event` first */
	const char *const *about;    /* patterns: methods whose callers and callees are wanted */
	size_t about_count;
	bool each_thread;       /* also those that are many alike, on a line of its own */
	enum dnp_native native; /* what a page begins with; others get a filtered profile */
	enum dnp_state state;   /* the same */
	unsigned columns;       /* of the terminal, 0: lines as long as they get */
	size_t slices_max;      /* that a page may have, 0: as many as browsers open */
	const struct dnp_input
		*input; /* what the profile was made of; NULL: no single calls, no slices */
};

struct dnp_exporter {
	const char *name;
	const char *extensions; /* ".a .b"; empty: only by name */
	enum dnp_detail detail; /* of the rows that it needs */
	bool chooses;  /* gets native frames and all states: who looks at it chooses what to see */
	bool stacks;   /* shows nothing else: it gets no events that have none */
	bool single;   /* has one event's stacks only */
	bool switches; /* shows nothing else: one has to be that of switches */
	/* 0 or -errno with a sentence; errors of the sink are the caller's to find. */
	int (*write)(const struct dnp_profile *profile, const struct dnp_export_options *options,
		struct dnp_sink *sink, struct dnp_err *err);
};

/* Ended by NULL. */
extern const struct dnp_exporter *const dnp_exporters[];

/* By name, or by the ending of a path, the longest that is known; NULL: none. */
const struct dnp_exporter *dnp_exporter_named(const char *name);
const struct dnp_exporter *dnp_exporter_for(const char *path);

extern const struct dnp_exporter dnp_export_text, dnp_export_json, dnp_export_collapsed,
	dnp_export_html, dnp_export_perfetto, dnp_export_chrome, dnp_export_csv;

/* Writes a file that appears whole or not at all. */
int dnp_export_file(const struct dnp_exporter *exporter, const struct dnp_profile *profile,
	const struct dnp_export_options *options, const char *path, struct dnp_err *err);

#endif
