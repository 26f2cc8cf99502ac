/* SPDX-License-Identifier: MIT */
/*
 * What a page shows in tables besides stacks: what an event's samples are about, what became of
 * exceptions, requests and spans, collections. The same as the report's, as values to sort by.
 */
#ifndef DNP_EXPORT_PAGE_TABLES_H
#define DNP_EXPORT_PAGE_TABLES_H

#include "aggregate/profile.h"
#include "base/json.h"

/* A member `tables` of the open object, if the event has any. 0 or -ENOMEM. */
int dnp_page_tables(const struct dnp_profile *profile, uint32_t event, struct dnp_json *json);

#endif
