/* SPDX-License-Identifier: MIT */
/* What an agent says of itself: the answer to DNP_CONTROL_STATUS, taken apart. */
#ifndef DNP_LAUNCH_STATUS_H
#define DNP_LAUNCH_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Texts are cut where they are too long; unknown keys do not matter. */
struct dnp_status {
	char version[32]; /* of dnprof */
	char runtime[32];
	char state[16];  /* attached, recording, detaching */
	char slot[16];   /* main, notification */
	char how[16];    /* startup, attach */
	char events[64]; /* "cpu,wall"; of the recording */
	uint64_t since_unix_ns, samples, bytes, threads;
	uint64_t lost;          /* but for what has the unit bytes or ns */
	char lost_weights[256]; /* "alloc:bytes:4096,lock:ns:250": how much of that */
	uint64_t client; /* the process that asked for the recording, 0: none that is known */
	bool held;       /* it ends when that process does */
	bool awaited;    /* the command line that began it makes of it what it was asked for */
	bool detachable;
	char reason[256];  /* not detachable: why */
	char failure[256]; /* nothing is recorded: why the last recording ended early, if it did */
};

/* What is not said stays 0. */
void dnp_status_parse(struct dnp_status *status, struct dnp_str text);

/* What is lost of an event that counts bytes or time; borrowed of the status. */
struct dnp_lost_weight {
	struct dnp_str event, unit;
	uint64_t lost;
};

/* Takes the next one off what is left of a status's lost_weights. False: there is none. */
bool dnp_lost_weight_next(struct dnp_str *left, struct dnp_lost_weight *next);

#endif
