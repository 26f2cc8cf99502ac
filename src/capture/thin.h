/* SPDX-License-Identifier: MIT */
/*
 * Which of many happenings are kept, by lot, so that sums of weights have no bias: one that stands
 * for less than is wanted stays with the probability amount by wanted, and then weighs what was
 * wanted (Horvitz and Thompson 1952).
 */
#ifndef DNP_CAPTURE_THIN_H
#define DNP_CAPTURE_THIN_H

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

#endif
