/* SPDX-License-Identifier: MIT */
#include "clr/native_calls.h"

#include "clr/guid.h"
#include "clr/hresult.h"
#include "clr/metadata.h"

/* ECMA-335 III.3.19, III.3.20, II.22. */
enum { IL_CALL = 0x28, IL_CALLI = 0x29, OPERATION_BYTES = 5 };
enum { TABLE_METHOD = 0x06, TABLE_SIGNATURE = 0x11 };

/* II.23.2.3; UNMANAGED is newer. */
enum { SIG_KIND = 0x0f, SIG_C = 1, SIG_FASTCALL = 4, SIG_UNMANAGED = 9 };

mdToken dnp_il_next_call(const uint8_t *il, size_t n, size_t *at)
{
	for (size_t i = *at; i + OPERATION_BYTES <= n; i++) {
		if ((il[i] == IL_CALL && il[i + 4] == TABLE_METHOD) ||
			(il[i] == IL_CALLI && il[i + 4] == TABLE_SIGNATURE)) {
			*at = i + 1;
			return (mdToken)il[i + 1] | (mdToken)il[i + 2] << 8 |
				(mdToken)il[i + 3] << 16 | (mdToken)il[i + 4] << 24;
		}
	}
	return 0;
}

static bool is_native_signature(IMetaDataImport *import, mdToken token)
{
	const uint8_t *sig = NULL;
	uint32_t n = 0, kind;

	if (FAILED(dnp_com(import, GetSigFromToken, token, &sig, &n)) || !n)
		return false;
	kind = sig[0] & SIG_KIND;
	return (kind >= SIG_C && kind <= SIG_FASTCALL) || kind == SIG_UNMANAGED;
}

static bool is_native(IMetaDataImport *import, mdToken token)
{
	uint32_t attributes = 0;

	if (token >> 24 == TABLE_SIGNATURE)
		return is_native_signature(import, token);
	return SUCCEEDED(dnp_com(import, GetMethodProps, token, NULL, NULL, 0, NULL, &attributes,
		       NULL, NULL, NULL, NULL)) &&
		attributes & mdPinvokeImpl;
}

static bool calls_native(IMetaDataImport *import, const uint8_t *il, size_t n)
{
	mdToken token;
	size_t at = 0;

	while ((token = dnp_il_next_call(il, n, &at)))
		if (is_native(import, token))
			return true;
	return false;
}

static bool where_is(
	const struct dnp_info *info, FunctionID function, ModuleID *module, mdToken *token)
{
	ClassID class_id;

	return SUCCEEDED(dnp_com(
		info->com, GetFunctionInfo2, function, 0, &class_id, module, token, 0, NULL, NULL));
}

/* NULL: there is none. */
static IMetaDataImport *open_metadata(const struct dnp_info *info, ModuleID module)
{
	IUnknown *unknown = NULL;

	if (FAILED(dnp_com(info->com, GetModuleMetaData, module, ofRead, &dnp_iid_IMetaDataImport2,
		    &unknown)))
		return NULL;
	return (IMetaDataImport *)unknown;
}

bool dnp_method_calls_native(const struct dnp_info *info, FunctionID function)
{
	IMetaDataImport *import;
	const uint8_t *il = NULL;
	ModuleID module = 0;
	mdToken token = 0;
	uint32_t n = 0;
	size_t at = 0;
	bool calls;

	if (!where_is(info, function, &module, &token) ||
		FAILED(dnp_com(info->com, GetILFunctionBody, module, token, &il, &n)) || !il ||
		!dnp_il_next_call(il, n, &at))
		return false;
	import = open_metadata(info, module);
	if (!import)
		return false;
	calls = calls_native(import, il, n);
	dnp_com(import, Release);
	return calls;
}

bool dnp_method_is_for_native(const struct dnp_info *info, FunctionID function)
{
	static const WCHAR attribute[] =
		u"System.Runtime.InteropServices.UnmanagedCallersOnlyAttribute";
	IMetaDataImport *import;
	const void *data = NULL;
	ModuleID module = 0;
	mdToken token = 0;
	uint32_t n = 0;
	bool is;

	if (!where_is(info, function, &module, &token))
		return false;
	import = open_metadata(info, module);
	if (!import)
		return false;
	is = dnp_com(import, GetCustomAttributeByName, token, attribute, &data, &n) == S_OK;
	dnp_com(import, Release);
	return is;
}
