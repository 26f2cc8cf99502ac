/* SPDX-License-Identifier: MIT */
/* Names that may have been meant by a pattern that matches none. */
#ifndef DNP_CLI_NEAR_H
#define DNP_CLI_NEAR_H

#include <limits.h>

#include "base/str.h"

#define DNP_NEAR_NOT UINT_MAX

/*
 * How far a pattern is from matching a name: 0 where it does, DNP_NEAR_NOT where it is not near at
 * all. A wrong letter costs more than one of the wrong case; to forget the namespace, or the
 * method, costs as much as a letter.
 */
unsigned dnp_near(struct dnp_str pattern, struct dnp_str name);

#endif
