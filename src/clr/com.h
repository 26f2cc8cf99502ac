/* SPDX-License-Identifier: MIT */
/*
 * COM as CoreCLR speaks it to a profiler, in plain C: an object is a pointer to a table of
 * functions, each of which takes the object first. The names of types are the CLR's.
 *
 * The tables are made from lists of slots (callback.def, info.def, metadata.def); the .c file of
 * each list asserts every slot's index.
 */
#ifndef DNP_CLR_COM_H
#define DNP_CLR_COM_H

#include <stddef.h>
#include <stdint.h>

#include "clr/guid.h"

/* The calling convention of COM methods and of the CLR's hooks. */
#ifdef _WIN32
#define DNP_COM __stdcall
#else
#define DNP_COM
#endif

typedef int32_t HRESULT;
typedef int BOOL;
typedef uint16_t WCHAR; /* UTF-16, never wchar_t */

#define SUCCEEDED(hr) ((HRESULT)(hr) >= 0)
#define FAILED(hr)    ((HRESULT)(hr) < 0)

/* Calls a method: dnp_com(info, GetEventMask2, &low, &high). */
#define dnp_com(object, method, ...) ((object)->vtbl->method((object), ##__VA_ARGS__))

/* The three methods every table begins with, for an object of the given type. */
#define DNP_UNKNOWN_SLOTS(type)                                                                    \
	HRESULT(DNP_COM *QueryInterface)(type * self, const struct dnp_guid *iid, void **object);  \
	uint32_t(DNP_COM *AddRef)(type * self);                                                    \
	uint32_t(DNP_COM *Release)(type * self)

typedef struct IUnknown IUnknown;

struct IUnknownVtbl {
	DNP_UNKNOWN_SLOTS(IUnknown);
};

struct IUnknown {
	const struct IUnknownVtbl *vtbl;
};

typedef struct IClassFactory IClassFactory;

struct IClassFactoryVtbl {
	DNP_UNKNOWN_SLOTS(IClassFactory);
	HRESULT(DNP_COM *CreateInstance)
	(IClassFactory *self, IUnknown *outer, const struct dnp_guid *iid, void **object);
	HRESULT(DNP_COM *LockServer)(IClassFactory *self, BOOL lock);
};

struct IClassFactory {
	const struct IClassFactoryVtbl *vtbl;
};

#endif
