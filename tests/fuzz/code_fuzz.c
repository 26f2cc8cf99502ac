/* SPDX-License-Identifier: MIT */
/* Any bytes as managed code, as its description, and as what the runtime says of its structures. */
#include "fuzz.h"

#include "unwind/contract.h"
#include "unwind/x86_64/decode.h"
#include "unwind/x86_64/unwind_info.h"

#define OFFSETS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dnp_code_header_layout layout;
	struct dnp_prolog prolog;
	struct dnp_rule rule;

	dnp_prolog_decode(data, n, &prolog);
	dnp_prolog_rule(&prolog, &rule);
	for (size_t i = 0; i < n && i < OFFSETS; i++) {
		dnp_epilog_rule(data, n, 0x1000, i, &rule);
		dnp_behind_call(data, i);
		dnp_unwind_info_rule(data, n, (uint32_t)i, &rule);
	}
	dnp_unwind_info_rule(data, n, DNP_UNWIND_BODY, &rule);
	dnp_contract_parse((const char *)data, n, &layout);
	return 0;
}
