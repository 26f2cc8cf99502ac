/* SPDX-License-Identifier: MIT */
#include "os/generation.h"

_Atomic uint64_t dnp_code_generation;
