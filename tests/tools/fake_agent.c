/* SPDX-License-Identifier: MIT */
/*
 * A library that does to the launcher what the agent does, with a recording made up in advance.
 * FAKE_AGENT says what happens:
 *
 *   whole    (default) the recording is there and ended at once
 *   stop     it ends when the launcher asks for it, or when the program exits
 *   deaf     it does not end when asked
 *   cut      it has no end
 *   fail     nothing is recorded; the slot says why
 *   late     the same, a second after it was loaded
 *   loaded   nothing is recorded and the slot stays at LOADED
 *   silent   nothing is recorded, no slot is taken
 *
 * FAKE_SOCKET names a folder that it makes its control socket in, besides.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "format/agent_options.h"
#include "format/control.h"
#include "format/session.h"
#include "recording.h"

static struct dnp_agent_options options;
static struct dnp_session *session;
static struct dnp_session_slot *slot;
static struct recording rec;
static int output = -1;
static _Atomic int ended;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t start_ticks(void)
{
	char line[1024] = "";
	unsigned long long ticks = 0;
	FILE *file = fopen("/proc/self/stat", "re");

	if (file && fgets(line, sizeof(line), file))
		sscanf(strrchr(line, ')'),
			") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
			"%*d %llu",
			&ticks);
	if (file)
		fclose(file);
	return ticks;
}

static int open_output(void)
{
	char path[PATH_MAX + 64];
	struct stat st;

	if (options.fd >= 0) {
		if (options.pid != getpid() || fstat(options.fd, &st) || st.st_dev != options.dev ||
			st.st_ino != options.ino)
			return -1;
		fcntl(options.fd, F_SETFD, FD_CLOEXEC);
		return options.fd;
	}
	snprintf(path, sizeof(path), "%s/%d-%llu.dnp", options.dir, getpid(),
		(unsigned long long)start_ticks());
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static void open_session(void)
{
	int fd = open(options.session, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	session = mmap(NULL, DNP_SESSION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (session == MAP_FAILED || session->magic != DNP_SESSION_MAGIC) {
		session = NULL;
		return;
	}
	slot = dnp_session_slot_take(session, getpid());
	if (slot)
		slot->start_ticks = start_ticks();
}

static void make_socket(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *folder = getenv("FAKE_SOCKET");
	char link[2 * PATH_MAX];
	int here, fd;

	if (!folder || !slot)
		return;
	snprintf(address.sun_path, sizeof(address.sun_path), DNP_CONTROL_NAME, getpid(),
		(unsigned long long)start_ticks());
	here = open(".", O_PATH | O_CLOEXEC);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (chdir(folder) || bind(fd, (const struct sockaddr *)&address, sizeof(address)) ||
		fchdir(here))
		perror("fake agent");
	snprintf(link, sizeof(link), "%.*s/%s",
		(int)(strrchr(options.session, '/') - options.session), options.session,
		address.sun_path);
	if (symlink(folder, link))
		perror("fake agent");
}

static void flush(void)
{
	recording_flush(&rec);
	if (write(output, rec.bytes.p, rec.bytes.n) < 0)
		perror("fake agent");
	rec.bytes.n = 0;
}

static void begin(void)
{
	uint64_t frames[] = {0};

	rec = recording_new((uint64_t)getpid() << 32 | 0x5eed);
	RECORD(&rec, process, .pid = (uint64_t)getpid(), .start_ns = now_ns(),
		.start_unix_ns = 1700000000000000000, .command = {"fake\0", 5},
		.runtime = dnp_str("10.0.0"), .cpus = 1);
	RECORD(&rec, event, .index = 0, .name = dnp_str(options.event), .unit = dnp_str("samples"),
		.interval_ns = options.interval_ns);
	RECORD(&rec, thread, .index = 0, .tid = (uint64_t)getpid(), .name = dnp_str("main"));
	RECORD(&rec, module, .index = 0, .kind = DNP_MODULE_MANAGED, .name = dnp_str("Fake"));
	RECORD(&rec, frame, .index = 0, .kind = DNP_FRAME_MANAGED, .name = dnp_str("Fake.Main()"));
	recording_stack(&rec, 1, 0, frames, 1);
	RECORD(&rec, base, .time_ns = now_ns());
	for (int i = 0; i < 100; i++)
		RECORD(&rec, sample, .delta_ns = 1000, .node = 1, .weight = 1);
	flush();
	if (slot) {
		slot->samples = 100;
		dnp_session_slot_set(slot, DNP_SLOT_RECORDING);
	}
}

static void end(void)
{
	if (output < 0 || ended++)
		return;
	RECORD(&rec, end, .time_ns = now_ns(), .reason = DNP_END_STOP);
	flush();
	if (slot)
		dnp_session_slot_set(slot, DNP_SLOT_ENDED);
}

static void *wait_for_stop(void *argument)
{
	while (!session->stop)
		usleep(10000);
	end();
	return argument;
}

static void record(const char *how)
{
	static pthread_t thread;

	output = open_output();
	if (output < 0)
		return;
	begin();
	if (!strcmp(how, "whole"))
		end();
	else if (!strcmp(how, "stop") && session)
		pthread_create(&thread, NULL, wait_for_stop, NULL);
}

__attribute__((destructor)) static void at_exit(void)
{
	const char *how = getenv("FAKE_AGENT");

	if (how && !strcmp(how, "stop"))
		end();
}

__attribute__((visibility("default"))) int DllGetClassObject(
	const void *class, const void *interface, void **object);

int DllGetClassObject(const void *class, const void *interface, void **object)
{
	const char *text = getenv(DNP_OPTIONS_ENV), *how = getenv("FAKE_AGENT");

	(void)class;
	(void)interface;
	(void)object;
	how = how ? how : "whole";
	if (!text || dnp_agent_options_parse(&options, text, NULL) || !strcmp(how, "silent"))
		return -1;
	open_session();
	make_socket();
	if (slot)
		dnp_session_slot_set(slot, DNP_SLOT_LOADED);
	if (!strcmp(how, "late"))
		usleep(1000000);
	if ((!strcmp(how, "fail") || !strcmp(how, "late")) && slot) {
		strcpy(slot->reason,
			"no timers: Resource temporarily unavailable; raise ulimit -i");
		dnp_session_slot_set(slot, DNP_SLOT_FAILED);
	} else if (strcmp(how, "loaded")) {
		record(how);
	}
	return -1;
}
