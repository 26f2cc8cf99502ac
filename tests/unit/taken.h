/* SPDX-License-Identifier: MIT */
/* Switches told by hand, of process TAKEN_PID, from TAKEN_FROM on; and what a taker writes of them.
 */
#ifndef DNP_TEST_TAKEN_H
#define DNP_TEST_TAKEN_H

#include "format/slice_codec.h"
#include "store/writer.h"
#include "switches/taker.h"
#include "timeline/timeline.h"

#define US         UINT64_C(1000)
#define MS         UINT64_C(1000000)
#define TAKEN_FROM UINT64_C(1000000000)
#define TAKEN_PID  100

struct taken_slice {
	uint64_t thread;
	struct dnp_slice_at at;
};

struct taken {
	dnprof_timeline timeline;
	struct dnp_taker taker;
	struct dnp_writer writer;
	int fd;
	/* What was written since it was read last; strings hold until the next time. */
	size_t n_threads, n_slices, n_wakeups, n_losses;
	struct dnp_rec_thread threads[16];
	struct taken_slice slices[64];
	struct dnp_rec_wakeup wakeups[16];
	struct dnp_rec_switch_loss losses[64];
};

/* Zeroed before. All is told up to a second after TAKEN_FROM. */
void taken_open(struct taken *taken, int pid);
void taken_close(struct taken *taken);

/* Times are ns since TAKEN_FROM. */
void taken_tell(
	struct taken *taken, int pid, int tid, enum dnp_switch_kind kind, int cpu, uint64_t ns);
/* The process's, on processor 1. */
void taken_tell_own(struct taken *taken, int tid, enum dnp_switch_kind kind, uint64_t ns);

void taken_read(struct taken *taken);

#endif
