/* SPDX-License-Identifier: MIT */
/* What is part of .NET, and what is the program's own. */
#ifndef DNP_BASE_FRAMEWORK_H
#define DNP_BASE_FRAMEWORK_H

#include <stdbool.h>

#include "base/str.h"

/* The file name of a path. Borrows from it. */
struct dnp_str dnp_basename(struct dnp_str path);

/*
 * Whether an assembly is part of .NET: by its name, or by the folder of the shared framework that
 * its file lies in. `name` empty: that of the file; either may be empty. Allocates nothing; any
 * thread.
 */
bool dnp_framework_has(struct dnp_str name, struct dnp_str path);

#endif
