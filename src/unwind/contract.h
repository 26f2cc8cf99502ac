/* SPDX-License-Identifier: MIT */
/*
 * The runtime's description of its own structures: an exported record that points at JSON, of which
 * the offsets of the header in front of compiled code are taken. Source: dotnet/runtime,
 * docs/design/datacontracts.
 */
#ifndef DNP_UNWIND_CONTRACT_H
#define DNP_UNWIND_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dnp_code_header_layout {
	uint32_t method, n_unwind_infos, unwind_infos; /* offsets */
	bool contract;
};

/* From the JSON text; false when it does not have all three. Trusts nothing. */
bool dnp_contract_parse(const char *json, size_t n, struct dnp_code_header_layout *layout);

/* From the runtime in this process; what CoreCLR 8 to 10 have when it does not say. */
void dnp_contract_read(struct dnp_code_header_layout *layout);

#endif
