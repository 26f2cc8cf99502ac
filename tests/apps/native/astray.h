/* SPDX-License-Identifier: MIT */
#ifndef TRUTH_ASTRAY_H
#define TRUTH_ASTRAY_H

#include <stdint.h>

/* Computes for so many rounds, one at least, seemingly called from there; what `caller` is. */
uintptr_t truth_astray(uintptr_t caller, uint64_t rounds);

#endif
