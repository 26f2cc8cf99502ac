/* SPDX-License-Identifier: MIT */
#include "launch/processes.h"

#include <string.h>

#include "base/clean.h"
#include "launch/control.h"
#include "launch/process.h"
#include "launch/target.h"
#include "os/library.h"

static void done(struct dnp_seen *seen)
{
	dnp_runtime_done(&seen->runtime);
	free(seen->command);
	seen->command = NULL;
}

static void ask(struct dnp_seen *seen, uint64_t patience_ns)
{
	struct dnp_err err = {0};

	if (!seen->runtime.readable) {
		snprintf(seen->why, sizeof(seen->why), "%s", dnp_seen_unreadable(seen));
		return;
	}
	if (!seen->runtime.agent)
		return;
	seen->asked = !dnp_control_status(seen->pid, patience_ns, &seen->status, &err);
	if (!seen->asked) {
		const char *words = strstr(err.text, ": "); /* "cannot ask process N: " */

		snprintf(seen->why, sizeof(seen->why), "%.255s", words ? words + 2 : err.text);
	}
}

/* -ENOENT: it is not .NET; -ESRCH: it has gone. */
static int look(struct dnp_seen *seen, pid_t pid, uint64_t patience_ns)
{
	int status;

	*seen = (struct dnp_seen){.pid = pid};
	status = dnp_runtime_look(&seen->runtime, pid);
	if (!status && !seen->runtime.found)
		status = -ENOENT;
	if (!status)
		status = dnp_seen_read(seen);
	if (status) {
		done(seen);
		return status;
	}
	ask(seen, patience_ns);
	return 0;
}

static int add(struct dnp_processes *processes, const struct dnp_seen *seen)
{
	return dnp_vec_push(&processes->list, *seen);
}

static int by_pid(const void *left, const void *right)
{
	const struct dnp_seen *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

struct finding {
	struct dnp_processes *processes;
	uint64_t patience_ns;
};

static int find(pid_t pid, void *context)
{
	const struct finding *finding = context;
	struct dnp_seen seen;

	if (look(&seen, pid, finding->patience_ns) || !add(finding->processes, &seen))
		return 0;
	done(&seen);
	return -ENOMEM;
}

int dnp_processes_find(struct dnp_processes *processes, uint64_t patience_ns, struct dnp_err *err)
{
	struct finding finding = {processes, patience_ns};
	int ret;

	*processes = (struct dnp_processes){0};
	ret = dnp_process_each(find, &finding);
	if (ret) {
		dnp_processes_done(processes);
		return ret == -ENOMEM
			? dnp_err(err, ret, "cannot list processes: out of memory; free some")
			: dnp_err(err, ret, "cannot list processes: %s: %s; %s", dnp_process_list,
				  strerror(-ret), dnp_process_list_remedy);
	}
	if (processes->list.n)
		qsort(processes->list.p, processes->list.n, sizeof(*processes->list.p), by_pid);
	return 0;
}

int dnp_processes_find_one(
	struct dnp_processes *processes, pid_t pid, uint64_t patience_ns, struct dnp_err *err)
{
	struct dnp_target target;
	struct dnp_seen seen;
	int status = dnp_target_find(&target, pid, err);

	*processes = (struct dnp_processes){0};
	if (status)
		return status;
	status = look(&seen, pid, patience_ns);
	if (status == -ENOENT)
		return dnp_err(err, status,
			"cannot ask process %d: no .NET runtime was seen in it; 'dnprof status' "
			"lists the processes that have one",
			(int)pid);
	if (status == -ESRCH)
		return dnp_target_ended(&target, err);
	if (!status && add(processes, &seen)) {
		done(&seen);
		status = -ENOMEM;
	}
	return status ? dnp_err(err, status, "cannot ask process %d: %s; try again", (int)pid,
				strerror(-status))
		      : 0;
}

void dnp_processes_done(struct dnp_processes *processes)
{
	for (size_t i = 0; i < processes->list.n; i++)
		done(&processes->list.p[i]);
	dnp_vec_done(&processes->list);
}

static struct dnp_str base_name(struct dnp_str path)
{
	size_t at = path.n ? dnp_path_base_at(path.p, path.n) : 0;

	return (struct dnp_str){path.p + at, path.n - at};
}

/* Whether it is the host that runs others' assemblies. */
static bool is_host(struct dnp_str name)
{
	return dnp_str_eq(name, dnp_str("dotnet")) || dnp_str_eq(name, dnp_str("dotnet.exe"));
}

struct dnp_str dnp_seen_name(const struct dnp_seen *seen)
{
	struct dnp_str rest = {seen->command, seen->command_bytes};
	struct dnp_str first, word;

	if (!dnp_str_cut(&rest, '\0', &first))
		return dnp_str("");
	if (!is_host(base_name(first)))
		return base_name(first);
	while (dnp_str_cut(&rest, '\0', &word))
		if (word.n > 4 && !memcmp(word.p + word.n - 4, ".dll", 4))
			return base_name(word);
	return base_name(first);
}
