/* SPDX-License-Identifier: MIT */
/*
 * What formats of switches have in common: each is a struct of functions, which get every slice of
 * a profile's threads in the order in which they began, process by process. Memory does not grow
 * with the number of slices.
 */
#ifndef DNP_EXPORT_SWITCHES_H
#define DNP_EXPORT_SWITCHES_H

#include "export/export.h"
#include "read/switches.h"

/* A process whose slices are written. */
struct dnp_switch_source {
	const struct dnp_profile *profile;
	const struct dnp_process *process;
	const struct dnp_switches *switches; /* its threads, those that are `wanted` */
	uint32_t number;                     /* of the process in the profile */
	struct dnp_sink *sink;
};

struct dnp_switch_format {
	void (*begin)(void *arg, const struct dnp_switch_source *source);
	void (*slice)(void *arg, const struct dnp_switch_source *source, uint32_t thread,
		const struct dnp_slice_at *slice);
	void (*loss)(void *arg, const struct dnp_switch_source *source,
		const struct dnp_rec_switch_loss *loss);
	/* What else is known of a thread, after its slices, as the recording has it. May be NULL.
	 */
	void (*wait)(void *arg, const struct dnp_switch_source *source, uint32_t thread,
		const struct dnp_rec_wait *wait);
	void (*wakeup)(void *arg, const struct dnp_switch_source *source, uint32_t thread,
		const struct dnp_rec_wakeup *wakeup);
	/* A span or point of the program's, in the order they began; thread DNP_NONE: not known. */
	void (*span)(void *arg, const struct dnp_switch_source *source, uint32_t thread,
		const struct dnp_span *span);
	void (*end)(void *arg, const struct dnp_switch_source *source); /* may be NULL */
};

/* 0 or -errno with a sentence. */
int dnp_switches_write(const struct dnp_profile *profile, const struct dnp_export_options *options,
	const struct dnp_switch_format *format, void *arg, struct dnp_sink *sink,
	struct dnp_err *err);

/* A time of the process's as time since the profile's start. */
uint64_t dnp_switches_since(const struct dnp_switch_source *source, uint64_t time_ns);

/* A word: waits, preempted, ended, runs, unknown, sampled. */
const char *dnp_switches_how(uint32_t how);

#endif
