/* SPDX-License-Identifier: MIT */
#include "os/spawn.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/clean.h"
#include "os/windows/console.h"
#include "os/windows/error.h"
#include "os/windows/wide.h"

/* ---- One line of all words, such that a program takes them apart again */

struct line {
	wchar_t *text; /* owned */
	size_t n, room;
	bool failed; /* no memory */
};

static void put(struct line *line, wchar_t unit)
{
	if (line->n == line->room) {
		size_t room = line->room ? line->room * 2 : 256;
		wchar_t *more = line->failed ? NULL : realloc(line->text, room * sizeof(*more));

		if (!more) {
			line->failed = true;
			return;
		}
		line->text = more;
		line->room = room;
	}
	line->text[line->n++] = unit;
}

static void put_times(struct line *line, wchar_t unit, size_t times)
{
	while (times--)
		put(line, unit);
}

/*
 * In quotes, if it needs them. Backslashes stand for themselves, but for those in front of a quote:
 * each of them, and the quote, takes one more (CommandLineToArgvW).
 */
static void put_word(struct line *line, const wchar_t *word)
{
	size_t slashes = 0;

	if (*word && !word[wcscspn(word, L" \t\"")]) {
		for (; *word; word++)
			put(line, *word);
		return;
	}
	put(line, L'"');
	for (; *word; word++) {
		if (*word == L'\\') {
			slashes++;
			continue;
		}
		put_times(line, L'\\', *word == L'"' ? 2 * slashes + 1 : slashes);
		slashes = 0;
		put(line, *word);
	}
	put_times(line, L'\\', 2 * slashes);
	put(line, L'"');
}

static wchar_t *line_of(char *const *command)
{
	struct line line = {0};

	for (size_t i = 0; command[i]; i++) {
		auto_free wchar_t *word = dnp_wide(command[i]);

		if (i)
			put(&line, L' ');
		if (word)
			put_word(&line, word);
		else
			line.failed = true;
	}
	put(&line, L'\0');
	if (!line.failed)
		return line.text;
	free(line.text);
	return NULL;
}

/* ---- The process */

static HANDLE handle(uintptr_t number)
{
	return (HANDLE)number; /* NOLINT(performance-no-int-to-ptr) */
}

static int refused(const char *program, struct dnp_err *err)
{
	DWORD error = GetLastError();
	int failed = error == ERROR_BAD_EXE_FORMAT ? -ENOEXEC : dnp_windows_error();

	if (failed == -EIO)
		return dnp_err(err, failed,
			"cannot start %s: Windows gives its error %lu; see whether it starts alone",
			program, error);
	return dnp_err(err, failed, "cannot start %s: %s; see whether it is there and runs",
		program, strerror(-failed));
}

int dnp_spawn(struct dnp_spawned *child, char *const *command, struct dnp_err *err)
{
	auto_free wchar_t *line = line_of(command);
	STARTUPINFOW startup = {.cb = sizeof(startup)};
	PROCESS_INFORMATION made;

	*child = (struct dnp_spawned){0};
	if (!line)
		return dnp_err(err, -ENOMEM, "cannot start %s: %s", *command, strerror(ENOMEM));
	if (!CreateProcessW(
		    NULL, line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &startup, &made))
		return refused(*command, err);
	*child = (struct dnp_spawned){
		.pid = (int)made.dwProcessId,
		.process = (uintptr_t)made.hProcess,
		.thread = (uintptr_t)made.hThread,
	};
	return 0;
}

void dnp_spawned_go(const struct dnp_spawned *child)
{
	dnp_console_speak_as_before();
	ResumeThread(handle(child->thread));
}

bool dnp_spawned_wait(const struct dnp_spawned *child, unsigned timeout_ms, uint32_t *status)
{
	DWORD code = 0;

	if (WaitForSingleObject(handle(child->process), timeout_ms) != WAIT_OBJECT_0)
		return false;
	dnp_console_speak_utf8();
	GetExitCodeProcess(handle(child->process), &code);
	*status = code;
	return true;
}

void dnp_spawned_abandon(struct dnp_spawned *child)
{
	TerminateProcess(handle(child->process), 1);
	dnp_spawned_done(child);
}

void dnp_spawned_done(struct dnp_spawned *child)
{
	if (child->process)
		CloseHandle(handle(child->process));
	if (child->thread)
		CloseHandle(handle(child->thread));
	*child = (struct dnp_spawned){0};
}

/* ---- ctrl-C */

static _Atomic unsigned interrupts;

/* On a thread of the system's. */
static BOOL WINAPI on_control(DWORD what)
{
	if (what != CTRL_C_EVENT && what != CTRL_BREAK_EVENT)
		return FALSE;
	atomic_fetch_add(&interrupts, 1);
	return TRUE;
}

void dnp_interrupts_count(void)
{
	SetConsoleCtrlHandler(on_control, TRUE);
}

unsigned dnp_interrupts(void)
{
	return atomic_load(&interrupts);
}
