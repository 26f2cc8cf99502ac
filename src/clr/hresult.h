/* SPDX-License-Identifier: MIT */
/* HRESULTs, and the COM that gives them. */
#ifndef DNP_CLR_HRESULT_H
#define DNP_CLR_HRESULT_H

#include "base/hresult.h"
#include "clr/com.h"

#endif
