/* SPDX-License-Identifier: MIT */
/*
 * Which of many happenings are kept, by lot, so that sums of weights have no bias: one that stands
 * for less than is wanted stays with the probability amount by wanted, and then weighs what was
 * wanted (Horvitz and Thompson 1952).
 */
#ifndef DNP_CAPTURE_THIN_H
#define DNP_CAPTURE_THIN_H

#include <stddef.h>
#include <stdint.h>

/* From one turn to the next. */
#define DNP_LOT_STEP UINT64_C(0x9e3779b97f4a7c15)

/*
 * A lot in [0, 1): another one for each turn, which comes DNP_LOT_STEP further each time, from
 * anywhere (splitmix64, Steele and others 2014).
 */
static inline double dnp_lot(uint64_t turn)
{
	uint64_t z = turn;

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* What a happening is to weigh that stands for that amount; 0: it is not kept. */
static inline uint64_t dnp_thin(double amount, double lot, uint64_t wanted)
{
	if (amount >= (double)wanted)
		return (uint64_t)(amount + 0.5);
	return lot * (double)wanted < amount ? wanted : 0;
}

#define DNP_SHORTAGE_MAX                                                                           \
	12u /* one stands for no more than 4096; what finds no room then is lost                   \
	     */

/*
 * How much more is to be wanted of those that come now, as a power of two, where room for them runs
 * short because the recorder gets no turn: the same while there is enough room, and four times as
 * much whenever half of the rest is gone. So each half lasts twice as long as the one before.
 */
static inline unsigned dnp_shortage(size_t room, size_t enough)
{
	unsigned shift = 0;

	for (; room < enough && shift < DNP_SHORTAGE_MAX; room *= 2)
		shift += 2;
	return shift;
}

#endif
