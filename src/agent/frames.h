/* SPDX-License-Identifier: MIT */
/*
 * Addresses in samples → frames of a recording. All of it is the recorder's alone.
 */
#ifndef DNP_AGENT_FRAMES_H
#define DNP_AGENT_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "store/drain.h"

/* The modules and frames that one recording has so far. */
struct dnp_frames;

enum dnp_frames_span {
	DNP_FRAMES_RECORDING, /* the recording of this process: there is one at a time */
	DNP_FRAMES_DUMP,      /* a moment; no code is reclaimed (dnp_frames_reclaim) meanwhile */
};

/* `writer` is borrowed. NULL: no memory. */
struct dnp_frames *dnp_frames_new(struct dnp_writer *writer, enum dnp_frames_span span);
void dnp_frames_free(struct dnp_frames *frames);

/*
 * The frame index of an address that was walked at `time_ns`; defines the frame in the recording
 * when it is new. *nature: enum dnp_nature, 0 before.
 */
uint32_t dnp_frames_of(struct dnp_frames *frames, dnp_frame_word word, uint64_t time_ns,
	int collecting, unsigned *nature);

/* Defines the methods whose calls are recorded and that are new since the last time. */
void dnp_frames_traced(struct dnp_frames *frames);

/* Memory that it and the tables of code hold, about. */
size_t dnp_frames_bytes(const struct dnp_frames *frames);

/*
 * Loads the JIT's library, which the runtime will load a moment later: so its unwind tables are
 * there before it first works.
 */
void dnp_frames_load_jit(void);
void dnp_frames_unload_jit(void);

/* Takes over what the dynamic linker loaded and unloaded. Any thread. */
void dnp_frames_list(void);

/*
 * Builds tables of what is new, which makes walks through it fast and names in it cheap. It takes
 * milliseconds; `meanwhile`, if not NULL, is called now and then. Any thread.
 */
void dnp_frames_build(void (*meanwhile)(void));

/* Frees what died before `before_ns`: no walk and no sample can need it any more. */
void dnp_frames_reclaim(uint64_t before_ns);

#endif
