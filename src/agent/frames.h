/* SPDX-License-Identifier: MIT */
/*
 * Addresses in samples → frames of the recording. All of it is the recorder's alone.
 */
#ifndef DNP_AGENT_FRAMES_H
#define DNP_AGENT_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "store/drain.h"

/* See struct dnp_drain. */
uint32_t dnp_frame_of(struct dnp_drain *drain, dnp_frame_word word, uint64_t time_ns,
	int collecting, unsigned *nature);

/*
 * Loads the JIT's library, which the runtime will load a moment later: so its unwind tables are
 * there before it first works.
 */
void dnp_frames_load_jit(void);

/* Takes over what the dynamic linker loaded and unloaded. Any thread. */
void dnp_frames_refresh(void);

/* Frees what died before `before_ns`: no walk and no sample can need it any more. */
void dnp_frames_reclaim(uint64_t before_ns);

size_t dnp_frames_bytes(void);
void dnp_frames_done(void);

#endif
