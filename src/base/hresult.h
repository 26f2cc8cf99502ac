/* SPDX-License-Identifier: MIT */
/*
 * HRESULTs by the CLR's names: S_OK, E_FAIL, CORPROF_E_STACKSNAPSHOT_UNSAFE, …; Win32 errors as
 * HRESULT_ERROR_MOD_NOT_FOUND and so on.
 */
#ifndef DNP_BASE_HRESULT_H
#define DNP_BASE_HRESULT_H

#include <stdint.h>

typedef int32_t HRESULT;

enum {
#define DNP_HRESULT(name, value, meaning)       name = (HRESULT)(value),
#define DNP_HRESULT_WIN32(name, error, meaning) HRESULT_##name = (HRESULT)(0x80070000u | (error)),
#include "base/hresult.def"
};

/*
 * The symbol of a result ("CORPROF_E_PROFILER_DETACHING"), or NULL for one that is not in the
 * list: print the number then. Any thread, any place.
 */
const char *dnp_hresult_name(HRESULT hr);

/*
 * What a result means, one sentence. Never NULL: for a result that is not in the list it says
 * whether it is a success or a failure. Any thread, any place.
 */
const char *dnp_hresult_text(HRESULT hr);

#endif
