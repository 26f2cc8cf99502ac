/* SPDX-License-Identifier: MIT */
/*
 * Which threads of this process have had no processor for a while, by their clocks: those stand
 * still. And, once the switches around such a moment are known, since when and until when.
 */
#ifndef DNP_SWITCHES_WAITS_H
#define DNP_SWITCHES_WAITS_H

#include "switches/taker.h"

/*
 * The threads whose clocks have stood for so long, each once until it has moved again; at most max,
 * the others the next time. Any thread, one at a time.
 */
size_t dnp_waits_look(struct dnp_taker *taker, uint64_t least_ns, int *tids, size_t max);

/*
 * One of these was found to wait when its clock stood there, perhaps not where it had been seen to
 * stand: it had run again before it waited.
 */
void dnp_waits_seen(struct dnp_taker *taker, int tid, uint64_t cpu_ns);

/* It turned out that one of these does not wait: it is told of again if its clock goes on standing.
 */
void dnp_waits_again(struct dnp_taker *taker, int tid);

enum dnp_wait_news {
	DNP_WAIT_NOT_YET, /* the switches up to that moment are not known yet */
	DNP_WAIT_NONE,    /* it had a processor then, or nobody knows any more */
	DNP_WAIT_GOES_ON, /* until_ns: up to where that is known */
	DNP_WAIT_OVER,
};

/*
 * What is known of the time around a moment in which a thread had no processor; *thread is its
 * index in the recording, where it is defined if it was not. As dnp_taker_write, and before it:
 * that forgets what it has written.
 */
struct dnp_wait_time {
	uint64_t thread, since_ns, until_ns;
};
enum dnp_wait_news dnp_waits_find(struct dnp_taker *taker, struct dnp_writer *writer, int tid,
	uint64_t time_ns, struct dnp_wait_time *found);

#endif
