/* SPDX-License-Identifier: MIT */
/* What `dnprof doctor` says of the machine and of who asks, which each system has of its own. */
#ifndef DNP_CLI_DOCTOR_H
#define DNP_CLI_DOCTOR_H

#include "base/json.h"
#include "launch/facts.h"

/* The system by its name, as "Linux 6.1.0, x86_64". */
void dnp_doctor_system(const struct dnp_facts *facts, struct dnp_sink *out);

/* A line, which it ends. */
void dnp_doctor_line(const struct dnp_facts *facts, struct dnp_sink *out);

/* The same as members of an open object. */
void dnp_doctor_json(struct dnp_json *json, const struct dnp_facts *facts);

#endif
