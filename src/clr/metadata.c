/* SPDX-License-Identifier: MIT */
#include "clr/metadata.h"

/* Each slot is where the runtime has it. */
#define DNP_METADATA(iface, slot, ret, name, params)                                               \
	_Static_assert(offsetof(struct IMetaDataImportVtbl, name) == (slot) * sizeof(void *),      \
		#iface "::" #name " is not at slot " #slot);
#include "clr/metadata.def"

#define DNP_METADATA_ASSEMBLY(iface, slot, ret, name, params)                                      \
	_Static_assert(                                                                            \
		offsetof(struct IMetaDataAssemblyImportVtbl, name) == (slot) * sizeof(void *),     \
		#iface "::" #name " is not at slot " #slot);
#include "clr/metadata_assembly.def"

_Static_assert(offsetof(struct IMetaDataImportVtbl, EnumGenericParams) == 65 * sizeof(void *),
	"IMetaDataImport2 starts at slot 65");
_Static_assert(sizeof(struct IMetaDataImportVtbl) == 73 * sizeof(void *),
	"IMetaDataImport2 ends at slot 73");
_Static_assert(sizeof(struct IMetaDataAssemblyImportVtbl) == 17 * sizeof(void *),
	"IMetaDataAssemblyImport ends at slot 17");
