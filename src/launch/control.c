/* SPDX-License-Identifier: MIT */
#include "launch/control.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/clean.h"
#include "format/control.h"
#include "launch/process.h"
#include "os/clock.h"

#define SECOND_NS UINT64_C(1000000000)
#define ENDING_NS UINT64_C(2000000000)

/* The process that is asked. */
struct target {
	pid_t pid;
	int inner_pid; /* as the process itself knows it */
	struct dnp_process process;
	uint64_t patience_ns;
};

/* The number that stands behind `key` in /proc/PID/status, the last in its line; -1: none. */
static int status_number(pid_t pid, const char *key)
{
	char path[32], line[256];
	auto_fclose FILE *file = NULL;
	size_t n = strlen(key);

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, key, n) && last)
			return atoi(last + 1);
	}
	return -1;
}

static int find_target(struct target *target, struct dnp_err *err)
{
	int group;

	if (dnp_process_read(&target->process, target->pid))
		return dnp_err(err, -ESRCH,
			"cannot ask process %d: there is no such process; 'ps' or 'pgrep' name "
			"those that run",
			(int)target->pid);
	if (target->process.state == 'Z')
		return dnp_err(err, -ESRCH,
			"cannot ask process %d: it has ended; its parent has not taken notice yet",
			(int)target->pid);
	group = status_number(target->pid, "Tgid:");
	if (group > 0 && group != target->pid)
		return dnp_err(err, -ESRCH,
			"cannot ask process %d: that is a thread of process %d; give that number",
			(int)target->pid, group);
	target->inner_pid = status_number(target->pid, "NSpid:");
	if (target->inner_pid < 0)
		target->inner_pid = target->pid;
	return 0;
}

static int no_rights(const struct target *target, struct dnp_err *err)
{
	return dnp_err(err, -EACCES,
		"cannot ask process %d: it belongs to another user; ask as the user that it runs "
		"as, or as root",
		(int)target->pid);
}

/* A variable of the environment that the process was started with; owned by the caller. */
static char *initial_variable(pid_t pid, const char *name)
{
	char path[32];
	auto_fclose FILE *file = NULL;
	auto_free char *line = NULL;
	size_t room = 0, n = strlen(name);

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	file = fopen(path, "re");
	while (file && getdelim(&line, &room, '\0', file) > 0)
		if (!strncmp(line, name, n) && line[n] == '=')
			return strdup(line + n + 1);
	return NULL;
}

/* The folder that the target's socket lies in, as an O_PATH descriptor; or -errno. */
static int open_folder(const struct target *target)
{
	auto_free char *folder = initial_variable(target->pid, "TMPDIR");
	auto_free char *path = NULL;
	int fd;

	if (!folder || !*folder) {
		free(folder);
		folder = strdup("/tmp");
	}
	if (!folder ||
		asprintf(&path, "/proc/%d/%s/%s", (int)target->pid, *folder == '/' ? "root" : "cwd",
			folder) < 0)
		return -ENOMEM;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static struct sockaddr_un make_address(const struct target *target, int folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[64];

	snprintf(name, sizeof(name), DNP_CONTROL_NAME, target->inner_pid,
		(unsigned long long)target->process.start_ticks);
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder, name);
	return address;
}

/* Nobody listens there. Why, as well as it can be known. */
static int no_agent(const struct target *target, struct dnp_err *err)
{
	if (dnp_process_maps(target->pid, "libdnprof.so"))
		return dnp_err(err, -ENOENT,
			"cannot ask process %d: the agent in it has no socket in its TMPDIR; it "
			"has been removed, could not be made there, or the program is ending",
			(int)target->pid);
	if (dnp_process_maps(target->pid, "libcoreclr.so"))
		return dnp_err(err, -ENOENT,
			"cannot ask process %d: the agent is not in it; start the program with "
			"'dnprof run'",
			(int)target->pid);
	return dnp_err(err, -ENOENT,
		"cannot ask process %d: no .NET runtime was seen in it; it has to be a .NET "
		"program, started with 'dnprof run'",
		(int)target->pid);
}

/* Whoever has made the socket: it has to be the process that was meant. */
static bool is_targets(int fd, const struct target *target)
{
	struct ucred peer = {0};
	socklen_t n = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) && peer.pid == target->pid;
}

static int open_socket(uint64_t patience_ns)
{
	struct timeval patience = {
		(time_t)(patience_ns / SECOND_NS), (suseconds_t)(patience_ns % SECOND_NS / 1000)};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static int failed_connect(const struct target *target, int error, struct dnp_err *err)
{
	if (error == EACCES || error == EPERM)
		return no_rights(target, err);
	if (error == ENOENT || error == ENOTDIR || error == ECONNREFUSED)
		return no_agent(target, err);
	return dnp_err(err, -error, "cannot ask process %d: its socket: %s; try again",
		(int)target->pid, strerror(error));
}

/* A connection to the agent, or -errno with err. */
static int connect_to(const struct target *target, struct dnp_err *err)
{
	auto_close int folder = open_folder(target);
	struct sockaddr_un address;
	int fd;

	if (folder < 0)
		return failed_connect(target, -folder, err);
	address = make_address(target, folder);
	fd = open_socket(target->patience_ns);
	if (fd < 0)
		return failed_connect(target, -fd, err);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		int error = errno;

		close(fd);
		return failed_connect(target, error, err);
	}
	if (!is_targets(fd, target)) {
		close(fd);
		return dnp_err(err, -EPERM,
			"cannot ask process %d: its socket was made by another process; remove %s "
			"from its TMPDIR",
			(int)target->pid, strrchr(address.sun_path, '/') + 1);
	}
	return fd;
}

static int send_request(int fd, const struct dnp_control_message *message, int passed)
{
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {0};
	uint8_t packet[DNP_CONTROL_MAX];
	struct iovec bytes = {packet, dnp_control_put(packet, message)};
	struct msghdr header = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&header);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rights), &passed, sizeof(int));
	return sendmsg(fd, &header, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static bool has_ended(const struct target *target, struct dnp_process *now)
{
	return dnp_process_read(now, target->pid) || now->state == 'Z' ||
		now->start_ticks != target->process.start_ticks;
}

/* A process that ends closes its sockets a moment before. */
static bool has_ended_soon(const struct target *target, struct dnp_process *now)
{
	uint64_t deadline_ns = dnp_now_ns() + ENDING_NS;

	while (!has_ended(target, now)) {
		if (dnp_now_ns() >= deadline_ns)
			return false;
		dnp_sleep_until_ns(dnp_now_ns() + ENDING_NS / 50);
	}
	return true;
}

static int no_answer(const struct target *target, int error, struct dnp_err *err)
{
	bool timed_out = error == EAGAIN || error == EINTR;
	struct dnp_process now;
	int pid = (int)target->pid;

	if (timed_out ? has_ended(target, &now) : has_ended_soon(target, &now))
		return dnp_err(err, -ESRCH,
			"cannot ask process %d: it ended meanwhile; run it again", pid);
	if (!timed_out)
		return dnp_err(err, -ECONNRESET,
			"cannot ask process %d: its agent ended the connection; try again", pid);
	if (now.state == 'T' || now.state == 't')
		return dnp_err(err, -ETIMEDOUT,
			"cannot ask process %d: it is stopped, by a signal or a debugger; let it "
			"go on ('kill -CONT %d')",
			pid, pid);
	return dnp_err(err, -ETIMEDOUT,
		"cannot ask process %d: no answer within %.1f s; give it more time with --timeout",
		pid, (double)target->patience_ns / 1e9);
}

static int refused(
	const struct target *target, const struct dnp_control_message *answer, struct dnp_err *err)
{
	int error = answer->value > 0 && answer->value < 4096 ? (int)answer->value : EPROTO;

	return dnp_err(err, -error, "cannot ask process %d: %.*s", (int)target->pid,
		(int)answer->text.n, answer->text.p);
}

/* Waits for the answer and judges it. */
static int take_answer(int fd, const struct target *target, struct dnp_err *err)
{
	uint8_t packet[DNP_CONTROL_MAX + 1];
	struct dnp_control_message answer;
	ssize_t n = recv(fd, packet, sizeof(packet), 0);
	int failed;

	if (n <= 0)
		return no_answer(target, n ? errno : ECONNRESET, err);
	failed = dnp_control_get(packet, (size_t)n, &answer);
	if (!failed && answer.kind == DNP_CONTROL_ERROR)
		return refused(target, &answer, err);
	if (failed || answer.kind != DNP_CONTROL_DONE)
		return dnp_err(err, failed ? failed : -EPROTO,
			"cannot ask process %d: the agent in it is of another version; use the "
			"dnprof that it came with",
			(int)target->pid);
	return 0;
}

int dnp_control_stack(pid_t pid, uint64_t patience_ns, int *fd, struct dnp_err *err)
{
	struct target target = {.pid = pid, .patience_ns = patience_ns};
	struct dnp_control_message request = {
		.kind = DNP_CONTROL_STACK,
		.value = (uint32_t)(patience_ns / 1000000),
	};
	int failed = find_target(&target, err);
	auto_close int connection = failed ? -1 : connect_to(&target, err);
	auto_close int memory = -1;

	if (failed || connection < 0)
		return failed ? failed : connection;
	memory = memfd_create("dnprof-stack", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memory < 0)
		return dnp_err(err, -errno, "cannot make a file in memory: %s; free some memory",
			strerror(errno));
	failed = send_request(connection, &request, memory);
	if (failed)
		return no_answer(&target, -failed, err);
	failed = take_answer(connection, &target, err);
	if (failed)
		return failed;
	*fd = memory;
	memory = -1;
	return 0;
}

void dnp_control_remove(pid_t pid, uint64_t start_ticks)
{
	const char *folder = getenv("TMPDIR");
	auto_free char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s/" DNP_CONTROL_NAME, folder && *folder ? folder : "/tmp", (int)pid,
		    (unsigned long long)start_ticks) < 0) {
		path = NULL;
		return;
	}
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode) && st.st_uid == geteuid())
		unlink(path);
}
