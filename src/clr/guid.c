/* SPDX-License-Identifier: MIT */
#include "clr/guid.h"

const struct dnp_guid dnp_clsid_agent = {
	0x7a88f714, 0xc4c5, 0x43ba, {0x9a, 0xe1, 0xc7, 0xc0, 0x08, 0xc0, 0xdd, 0xc7}};
const struct dnp_guid dnp_clsid_agent_notify = {
	0x2cbaf7a9, 0x3706, 0x408d, {0xb1, 0x4c, 0x73, 0x15, 0xfb, 0x31, 0x10, 0xbd}};

#define DNP_IID(name, d1, d2, d3, ...)                                                             \
	const struct dnp_guid dnp_iid_##name = {d1, d2, d3, {__VA_ARGS__}};
#include "clr/iid.def"
