/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"

#include "os/process.h"

struct dnp_agent dnp_agent;

void dnp_agent_write_process(struct dnp_writer *writer, uint64_t start_ns, uint64_t start_unix_ns)
{
	static char command[32768], executable[4096];
	struct dnp_rec_process rec = {
		.pid = (uint64_t)dnp_process_id(),
		.parent_pid = (uint64_t)dnp_process_parent_id(),
		.start_ns = start_ns,
		.start_unix_ns = start_unix_ns,
		.runtime = dnp_str(dnp_agent.runtime),
		.tool = dnp_str(DNP_VERSION),
		.cpus = dnp_processors(),
		.process_start_ns = dnp_process_start_ns(dnp_process_id()),
	};
	char os[160];

	rec.command = (struct dnp_str){
		command, dnp_process_command(dnp_process_id(), command, sizeof(command))};
	rec.executable = (struct dnp_str){
		executable, dnp_process_executable(executable, sizeof(executable))};
	dnp_system_name(os, sizeof(os));
	rec.os = dnp_str(os);
	dnp_write_process(writer, &rec);
}
