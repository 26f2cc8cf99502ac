/* SPDX-License-Identifier: MIT */
/*
 * As one beside the profiler: whether the runtime knows of us.
 *
 * CoreCLR (8 to 10) counts those beside the profiler, and when a profiler goes, of whichever kind,
 * it counts one less. At none it tells nobody beside the profiler anything, and to ask it for our
 * detach ends the program.
 */
#ifndef DNP_AGENT_BESIDE_H
#define DNP_AGENT_BESIDE_H

#include <stdbool.h>

/*
 * Asks the runtime: has it suspended for a moment, of which it should tell us. While nothing is
 * recorded, recorder.
 */
bool dnp_beside_is_known(void);

/* The runtime tells of a suspension. Any thread. */
void dnp_beside_told(void);

#endif
