/* SPDX-License-Identifier: MIT */
/*
 * A module's metadata: IMetaDataImport with IMetaDataImport2, and IMetaDataAssemblyImport for the
 * manifest. Both come from ICorProfilerInfo::GetModuleMetaData; the caller releases them.
 *
 * Lengths of names count the terminating zero, both in what the caller passes and in what it gets;
 * a name that does not fit is cut and the call returns CLDB_S_TRUNCATION.
 */
#ifndef DNP_CLR_METADATA_H
#define DNP_CLR_METADATA_H

#include "clr/com.h"
#include "clr/prf.h"

typedef void *HCORENUM; /* starts NULL, CloseEnum ends it */

typedef struct IMetaDataImport IMetaDataImport;

#define DNP_METADATA_SELF(...) (IMetaDataImport * self, ##__VA_ARGS__)

struct IMetaDataImportVtbl {
	DNP_UNKNOWN_SLOTS(IMetaDataImport);
#define DNP_METADATA(iface, slot, ret, name, params) ret(DNP_COM *name) DNP_METADATA_SELF params;
#include "clr/metadata.def"
};

struct IMetaDataImport {
	const struct IMetaDataImportVtbl *vtbl;
};

typedef struct IMetaDataAssemblyImport IMetaDataAssemblyImport;

#define DNP_METADATA_ASSEMBLY_SELF(...) (IMetaDataAssemblyImport * self, ##__VA_ARGS__)

struct IMetaDataAssemblyImportVtbl {
	DNP_UNKNOWN_SLOTS(IMetaDataAssemblyImport);
#define DNP_METADATA_ASSEMBLY(iface, slot, ret, name, params)                                      \
	ret(DNP_COM *name) DNP_METADATA_ASSEMBLY_SELF params;
#include "clr/metadata_assembly.def"
};

struct IMetaDataAssemblyImport {
	const struct IMetaDataAssemblyImportVtbl *vtbl;
};

#endif
