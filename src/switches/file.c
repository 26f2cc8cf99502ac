/* SPDX-License-Identifier: MIT */
#include "switches/file.h"

#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "os/process.h"
#include "os/thread.h"

#define FLUSH_NS   UINT64_C(500000000) /* what a killed recorder can lose */
#define TEXT_BYTES 32768

static void close_takers(struct dnp_switch_file *file)
{
	dnp_wakers_close(&file->wakers);
	dnp_taker_close(&file->taker);
}

static int open_takers(struct dnp_switch_file *file, unsigned more, struct dnp_err *err)
{
	int failed = dnp_taker_open(&file->taker, file->pid, more & DNP_SWITCH_OTHERS, err);

	if (failed || !(more & DNP_SWITCH_WAKEUPS))
		return failed;
	failed = dnp_wakers_open(&file->wakers, err);
	if (failed)
		close_takers(file);
	return failed;
}

int dnp_switch_file_open(
	struct dnp_switch_file *file, int fd, int pid, unsigned more, struct dnp_err *err)
{
	int failed;

	*file = (struct dnp_switch_file){.pid = pid};
	failed = dnp_writer_open(&file->writer, fd, dnp_now_ns() ^ (uint64_t)pid << 40);
	if (failed)
		return dnp_err(err, failed, "the recording cannot be written: %s; make room for it",
			strerror(-failed));
	failed = open_takers(file, more, err);
	if (failed)
		dnp_writer_close(&file->writer);
	return failed;
}

/* ---- Its head */

/* Each argument with its zero byte; returns the bytes of all that fit. */
static size_t join_command(char *const *command, char *out, size_t capacity)
{
	size_t used = 0;

	for (; *command; command++) {
		size_t n = strlen(*command) + 1;

		if (used + n > capacity)
			break;
		memcpy(out + used, *command, n);
		used += n;
	}
	return used;
}

static void write_process(struct dnp_switch_file *file, char *const *command)
{
	static char words[TEXT_BYTES], executable[4096];
	char os[160] = "";
	struct dnp_rec_process rec = {
		.pid = (uint64_t)file->pid,
		.start_ns = file->begin_ns,
		.start_unix_ns = dnp_unix_ns() - (dnp_now_ns() - file->begin_ns),
		.tool = dnp_str(DNP_VERSION),
		.cpus = dnp_processors(),
		.process_start_ns = dnp_process_start_ns(file->pid),
	};

	rec.command.p = words;
	rec.command.n = command ? join_command(command, words, sizeof(words))
				: dnp_process_command(file->pid, words, sizeof(words));
	rec.executable.p = executable;
	if (!command)
		rec.executable.n =
			dnp_process_executable_of(file->pid, executable, sizeof(executable));
	dnp_system_name(os, sizeof(os));
	rec.os = dnp_str(os);
	dnp_write_process(&file->writer, &rec);
}

static void write_event(struct dnp_switch_file *file)
{
	dnp_write_event(&file->writer,
		&(struct dnp_rec_event){
			.name = dnp_str("switch"),
			.unit = dnp_str("ns"),
			.interval_ns = dnp_taker_interval_ns(&file->taker),
			.source = dnp_str(dnp_taker_source(&file->taker)),
			.note = dnp_str(dnp_taker_reason(&file->taker)),
		});
}

int dnp_switch_file_begin(struct dnp_switch_file *file, char *const *command, struct dnp_err *err)
{
	dnp_thread_hurry(); /* who writes keeps the time line's recorder waiting */
	file->begin_ns = file->flushed_ns = dnp_now_ns();
	write_process(file, command);
	write_event(file);
	return dnp_taker_start(&file->taker, err);
}

/* ---- What follows */

static void take(struct dnp_switch_file *file, bool last)
{
	if (file->wakers.wakeups) {
		dnp_taker_hold(&file->taker);
		dnp_wakers_write(&file->wakers, &file->taker, &file->writer, last);
		if (file->wakers.missing)
			dnp_write_failure(&file->writer,
				&(struct dnp_rec_failure){
					.reason = dnp_str("wake-up, of any process, that the "
							  "system counted and did not tell of"),
					.count = file->wakers.missing,
				});
	}
	dnp_taker_write(&file->taker, &file->writer, last);
}

int dnp_switch_file_write(struct dnp_switch_file *file)
{
	uint64_t now_ns = dnp_now_ns();

	take(file, false);
	if (now_ns - file->flushed_ns > FLUSH_NS) {
		file->flushed_ns = now_ns;
		dnp_writer_flush(&file->writer);
	}
	return dnp_writer_failed(&file->writer);
}

int dnp_switch_file_end(struct dnp_switch_file *file, enum dnp_end_reason reason)
{
	uint64_t end_ns;

	dnp_taker_stop(&file->taker);
	end_ns = dnp_taker_ended_ns(&file->taker);
	if (!end_ns)
		end_ns = dnp_now_ns();
	take(file, true);
	dnp_write_end(&file->writer, &(struct dnp_rec_end){.time_ns = end_ns, .reason = reason});
	close_takers(file);
	return dnp_writer_close(&file->writer);
}

void dnp_switch_file_abandon(struct dnp_switch_file *file)
{
	close_takers(file);
	dnp_writer_close(&file->writer);
}
