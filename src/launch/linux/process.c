/* SPDX-License-Identifier: MIT */
#include "launch/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/clean.h"

/* A thread that every CoreCLR on Linux starts first and keeps. */
#define RUNTIME_THREAD ".NET SynchManag"

const char dnp_process_list[] = "/proc", dnp_process_list_remedy[] = "mount it";

int dnp_process_read(struct dnp_process *process, pid_t pid)
{
	char path[32], line[1024];
	auto_fclose FILE *file = NULL;
	unsigned long long user, system, start;
	const char *fields;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	n = file ? fread(line, 1, sizeof(line) - 1, file) : 0;
	line[n] = '\0';
	/* The name stands in brackets and may hold any byte; the last bracket ends it. */
	fields = strrchr(line, ')');
	if (!fields ||
		sscanf(fields,
			") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d "
			"%*d %*d %llu",
			&process->state, &user, &system, &start) != 4)
		return -ESRCH;
	process->cpu_ns = (user + system) * (1000000000u / (unsigned long)sysconf(_SC_CLK_TCK));
	process->start_ticks = start;
	return 0;
}

bool dnp_process_maps(pid_t pid, const char *text)
{
	char path[32], line[4200];
	auto_fclose FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		const char *name = strrchr(line, '/');

		if (name && strstr(name, text))
			return true;
	}
	return false;
}

bool dnp_process_has_agent(pid_t pid)
{
	return dnp_process_maps(pid, "libdnprof.so");
}

bool dnp_process_has_runtime_library(pid_t pid)
{
	return dnp_process_maps(pid, "libcoreclr.so");
}

bool dnp_process_has_runtime_thread(pid_t pid)
{
	char path[300];
	DIR *folder;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
		char name[32] = "";
		auto_fclose FILE *file = NULL;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", (int)pid, entry->d_name);
		file = fopen(path, "re");
		found = file && fgets(name, sizeof(name), file) &&
			!strncmp(name, RUNTIME_THREAD, strlen(RUNTIME_THREAD));
	}
	if (folder)
		closedir(folder);
	return found;
}

bool dnp_process_has_runtime(pid_t pid)
{
	return dnp_process_has_runtime_library(pid) || dnp_process_has_runtime_thread(pid);
}

int dnp_process_open_root(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}
