/* SPDX-License-Identifier: MIT */
#include "launch/finding.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clean.h"
#include "launch/linux/ipc.h"
#include "launch/linux/place.h"
#include "os/sampler.h"

/* linux/proc_ns.h, PROC_USER_INIT_INO: the user namespace in which privileges count everywhere. */
#define FIRST_USER_NAMESPACE 0xeffffffdu

/* ---- The machine */

static long setting(const char *name)
{
	char path[128];
	auto_fclose FILE *file = NULL;
	long value;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	file = fopen(path, "re");
	return file && fscanf(file, "%ld", &value) == 1 ? value : DNP_FACT_UNKNOWN;
}

/* Addresses are 0 for who may not know them. */
static bool tells_names(void)
{
	auto_fclose FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address;

	for (int i = 0; file && i < 100 && fscanf(file, "%llx %*[^\n]", &address) == 1; i++)
		if (address)
			return true;
	return false;
}

void dnp_find_machine(struct dnp_facts *facts)
{
	struct utsname name;
	struct timespec tick = {0};

	if (!uname(&name)) {
		snprintf(facts->kernel, sizeof(facts->kernel), "%s", name.release);
		snprintf(facts->machine, sizeof(facts->machine), "%s", name.machine);
	}
	facts->perf_paranoid = setting("perf_event_paranoid");
	facts->kptr_restrict = setting("kptr_restrict");
	facts->ptrace_scope = setting("yama/ptrace_scope");
	facts->perf_mlock_kb = setting("perf_event_mlock_kb");
	facts->processors = sysconf(_SC_NPROCESSORS_ONLN);
	/* The coarse clock moves with each tick. */
	if (!clock_getres(CLOCK_MONOTONIC_COARSE, &tick) && tick.tv_nsec)
		facts->tick_hz = 1000000000 / tick.tv_nsec;
	facts->kernel_names = tells_names();
	facts->caller = geteuid();
}

/* ---- Who asks, or whom it is about */

/* What stands behind `key` in a file of lines "key value"; false: nothing. */
static bool line_of(const char *path, const char *key, char *out, size_t room)
{
	auto_fclose FILE *file = fopen(path, "re");
	char line[512];
	size_t n = strlen(key);

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, n))
			continue;
		snprintf(out, room, "%s", line + n + strspn(line + n, " \t"));
		return true;
	}
	return false;
}

static uint64_t number_of(const char *path, const char *key, int base, uint64_t otherwise)
{
	char text[256];

	return line_of(path, key, text, sizeof(text)) ? strtoull(text, NULL, base) : otherwise;
}

/* The soft limit of a line of /proc/PID/limits. */
static uint64_t limit_of(const char *path, const char *key)
{
	char text[256];

	if (!line_of(path, key, text, sizeof(text)) || !strncmp(text, "unlimited", 9))
		return UINT64_MAX;
	return strtoull(text, NULL, 10);
}

static uint64_t count_entries(const char *path)
{
	DIR *folder = opendir(path);
	uint64_t n = 0;

	for (struct dirent *entry; folder && (entry = readdir(folder));)
		n += entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return n;
}

static void read_process(struct dnp_facts *facts, const char *folder)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/status", folder);
	facts->uid = (uid_t)number_of(path, "Uid:", 10, 0);
	facts->privileges = number_of(path, "CapEff:", 16, 0);
	facts->seccomp = (long)number_of(path, "Seccomp:", 10, 0);
	facts->threads = number_of(path, "Threads:", 10, 0);
	facts->caught = number_of(path, "SigCgt:", 16, 0);
	facts->signals = number_of(path, "SigQ:", 10, 0);
	snprintf(path, sizeof(path), "%s/limits", folder);
	facts->files_max = limit_of(path, "Max open files");
	facts->memlock_max = limit_of(path, "Max locked memory");
	facts->signals_max = limit_of(path, "Max pending signals");
	snprintf(path, sizeof(path), "%s/fd", folder);
	facts->files = count_entries(path);
	snprintf(path, sizeof(path), "%s/ns/user", folder);
	facts->user_namespace = !stat(path, &st) && st.st_ino != FIRST_USER_NAMESPACE;
}

/* Where sockets and copies of the library go. */
static void judge_folder(struct dnp_facts *facts, const char *path, int folder)
{
	struct statvfs st;

	snprintf(facts->folder_path, sizeof(facts->folder_path), "%.255s", path);
	if (folder < 0)
		snprintf(facts->folder, sizeof(facts->folder), "%.200s: %s; make it, or set TMPDIR",
			path, strerror(-folder));
	else if (!fstatvfs(folder, &st) && (st.f_flag & ST_RDONLY))
		snprintf(facts->folder, sizeof(facts->folder),
			"%.200s cannot be written to: its file system is read-only; set TMPDIR to "
			"a folder that can, for the program",
			path);
}

/* ---- Of programs that the caller starts */

static int try_switches(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.context_switch = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static void try_events(struct dnp_facts *facts)
{
	struct dnp_err err = {0};
	int kernel;

	/* As the agent finds out, by asking the kernel. */
	dnp_sampler_probe(DNP_SAMPLER_AUTO, &kernel, &err);
	facts->perf_error = -err.code;
	facts->switches_error = try_switches();
}

void dnp_find_own(struct dnp_facts *facts)
{
	const char *variable = getenv("TMPDIR");
	const char *path = variable && *variable ? variable : "/tmp";
	auto_close int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	read_process(facts, "/proc/self");
	facts->threads = 0; /* those of the program that will be started count */
	judge_folder(facts, path, folder < 0 ? -errno : folder);
	if (!*facts->folder && access(path, W_OK))
		snprintf(facts->folder, sizeof(facts->folder),
			"%.200s cannot be written to: %s; set TMPDIR to a folder that can", path,
			strerror(errno));
	try_events(facts);
	dnp_runtime_look(&facts->runtime, getpid());
}

/* ---- Of a process that runs */

static void find_socket(struct dnp_facts *facts, const struct dnp_target *target)
{
	char name[DNP_IPC_NAME_ROOM];
	auto_close int folder = dnp_ipc_folder(target, name);
	struct stat st;

	facts->has_socket = folder >= 0 && !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) &&
		S_ISSOCK(st.st_mode);
	dnp_find_switched_off(facts, target);
}

/* Copies the library there where it has to be, and takes it away again. */
static void try_place(struct dnp_facts *facts, const struct dnp_target *target, const char *library)
{
	struct dnp_place place;
	struct dnp_err err = {0};

	if (dnp_place_open(&place, target, library, &err))
		dnp_find_keep(facts->place, &err);
	else
		dnp_place_done(&place);
}

int dnp_find_process(
	struct dnp_facts *facts, const char *library, uint64_t patience_ns, struct dnp_err *err)
{
	struct dnp_target target;
	auto_free char *variable = NULL;
	auto_close int folder = -1;
	char path[32];
	int failed = dnp_target_find(&target, facts->pid, err);

	if (!failed && dnp_runtime_look(&facts->runtime, facts->pid))
		failed = dnp_target_ended(&target, err);
	if (failed)
		return failed;
	snprintf(path, sizeof(path), "/proc/%d", (int)facts->pid);
	read_process(facts, path);
	facts->state = target.process.state;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)facts->pid);
	dnp_find_kind(facts, path);
	if (!facts->runtime.readable)
		return 0;
	variable = dnp_target_variable(&target, "TMPDIR");
	folder = dnp_target_open_folder(&target);
	judge_folder(facts, variable && *variable ? variable : "/tmp", folder);
	find_socket(facts, &target);
	if (!*facts->agent_file && facts->runtime.found)
		try_place(facts, &target, library);
	dnp_find_answer(facts, patience_ns);
	return 0;
}
