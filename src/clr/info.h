/* SPDX-License-Identifier: MIT */
/*
 * What the runtime offers to a profiler: ICorProfilerInfo to ICorProfilerInfo15, one table.
 *
 * An older runtime's table is shorter. `struct dnp_info` holds the object together with the number
 * of the newest interface it answered; ask dnp_info_has() before a call that is not in the oldest
 * runtime the caller supports (.NET 8 answers up to ICorProfilerInfo14).
 */
#ifndef DNP_CLR_INFO_H
#define DNP_CLR_INFO_H

#include <stdbool.h>

#include "clr/com.h"
#include "clr/prf.h"

/*
 * The enumerators: Next fills up to `cap` elements, says how many in `fetched`, and returns
 * S_FALSE when it had fewer than asked for. The caller releases them.
 */
#define DNP_ENUMERATOR(iface, element)                                                             \
	typedef struct iface iface;                                                                \
	struct iface##Vtbl {                                                                       \
		DNP_UNKNOWN_SLOTS(iface);                                                          \
		HRESULT(DNP_COM *Skip)(iface * self, uint32_t n);                                  \
		HRESULT(DNP_COM *Reset)(iface * self);                                             \
		HRESULT(DNP_COM *Clone)(iface * self, iface **enumerator);                         \
		HRESULT(DNP_COM *GetCount)(iface * self, uint32_t *n);                             \
		HRESULT(DNP_COM *Next)                                                             \
		(iface * self, uint32_t cap, element *elements, uint32_t *fetched);                \
	};                                                                                         \
	struct iface {                                                                             \
		const struct iface##Vtbl *vtbl;                                                    \
	}

DNP_ENUMERATOR(ICorProfilerObjectEnum, ObjectID);
DNP_ENUMERATOR(ICorProfilerFunctionEnum, COR_PRF_FUNCTION);
DNP_ENUMERATOR(ICorProfilerModuleEnum, ModuleID);
DNP_ENUMERATOR(ICorProfilerThreadEnum, ThreadID);
DNP_ENUMERATOR(ICorProfilerMethodEnum, COR_PRF_METHOD);

typedef struct IMethodMalloc IMethodMalloc;

struct IMethodMallocVtbl {
	DNP_UNKNOWN_SLOTS(IMethodMalloc);
	void *(DNP_COM *Alloc)(IMethodMalloc *self, uint32_t bytes);
};

struct IMethodMalloc {
	const struct IMethodMallocVtbl *vtbl;
};

typedef struct ICorProfilerFunctionControl ICorProfilerFunctionControl;

struct ICorProfilerFunctionControlVtbl {
	DNP_UNKNOWN_SLOTS(ICorProfilerFunctionControl);
	HRESULT(DNP_COM *SetCodegenFlags)(ICorProfilerFunctionControl *self, uint32_t flags);
	HRESULT(DNP_COM *SetILFunctionBody)
	(ICorProfilerFunctionControl *self, uint32_t header_bytes, const uint8_t *header);
	HRESULT(DNP_COM *SetILInstrumentedCodeMap)
	(ICorProfilerFunctionControl *self, uint32_t n_entries, COR_IL_MAP *entries);
};

struct ICorProfilerFunctionControl {
	const struct ICorProfilerFunctionControlVtbl *vtbl;
};

typedef struct ICorProfilerAssemblyReferenceProvider ICorProfilerAssemblyReferenceProvider;

struct ICorProfilerAssemblyReferenceProviderVtbl {
	DNP_UNKNOWN_SLOTS(ICorProfilerAssemblyReferenceProvider);
	HRESULT(DNP_COM *AddAssemblyReference)
	(ICorProfilerAssemblyReferenceProvider *self, const COR_PRF_ASSEMBLY_REFERENCE_INFO *info);
};

struct ICorProfilerAssemblyReferenceProvider {
	const struct ICorProfilerAssemblyReferenceProviderVtbl *vtbl;
};

typedef struct ICorProfilerInfo ICorProfilerInfo;

#define DNP_INFO_SELF(...) (ICorProfilerInfo * self, ##__VA_ARGS__)

struct ICorProfilerInfoVtbl {
	DNP_UNKNOWN_SLOTS(ICorProfilerInfo);
#define DNP_INFO(iface, slot, name, params) HRESULT(DNP_COM *name) DNP_INFO_SELF params;
#include "clr/info.def"
};

struct ICorProfilerInfo {
	const struct ICorProfilerInfoVtbl *vtbl;
};

struct dnp_info {
	ICorProfilerInfo *com; /* owned: one reference */
	int version; /* 1 to 15: com answers ICorProfilerInfo<version> and all before it */
};

/*
 * Takes the newest interface the runtime has out of what Initialize was given. Returns the
 * runtime's error when it has none; `info` is then empty. Once per load, on the callback's thread.
 */
HRESULT dnp_info_open(struct dnp_info *info, IUnknown *unknown);

/* 10 of .NET 10.0.1; 0: it does not say. Where ICorProfilerInfo may be called. */
uint16_t dnp_info_runtime_major(const struct dnp_info *info);

/* Gives the reference back; the object stays valid while the runtime holds the profiler. */
void dnp_info_close(struct dnp_info *info);

/* True if the runtime has the method: dnp_info_has(info, GetFunctionFromIP3). Any thread. */
#define dnp_info_has(info, method)                                                                 \
	dnp_info_has_slot((info), offsetof(struct ICorProfilerInfoVtbl, method) / sizeof(void *))
bool dnp_info_has_slot(const struct dnp_info *info, size_t slot);

#endif
