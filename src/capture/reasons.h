/* SPDX-License-Identifier: MIT */
/* Calls to the runtime that did not work, counted by their results. Any thread; no lock. */
#ifndef DNP_CAPTURE_REASONS_H
#define DNP_CAPTURE_REASONS_H

#include "base/clean.h"
#include "capture/engine.h"
#include "clr/hresult.h"

#define DNP_REASONS_MAX 24 /* the last one is for all others */

/* Zeroed. */
struct dnp_reasons {
	struct dnp_reason {
		_Atomic HRESULT result;
		_Atomic uint64_t count;
	} each[DNP_REASONS_MAX];
};

SIGSAFE void dnp_reasons_count(struct dnp_reasons *reasons, HRESULT hr);

/* Each by the runtime's name for it. */
void dnp_reasons_tell(struct dnp_reasons *reasons, unsigned event, dnp_failure_tell tell);

#endif
