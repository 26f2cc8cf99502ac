/* SPDX-License-Identifier: MIT */
/*
 * A named pipe of messages, an instance for each connection. A read is going on at each of them all
 * the time, so that its event tells of what comes, and of an end that goes.
 */
#include "os/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/clean.h"
#include "format/control.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/watch.h"
#include "os/windows/channel.h"
#include "os/windows/error.h"
#include "os/windows/private.h"
#include "os/windows/timer.h"

/* Of control messages; a file's name comes on top. */
#define PATH_UNITS   1024u
#define PACKET_BYTES (DNP_CONTROL_MAX + PATH_UNITS * sizeof(wchar_t) + sizeof(struct trailer) + 1)
#define PIPE_BYTES   (2 * PACKET_BYTES)

/* One listens; the watch has room for no more. */
#define ENDS DNP_WATCH_FDS

/* A write to a pipe that has room is over in no time. */
#define WRITE_MS 100

/* At the end: so long those who were sent something are given to take it. */
#define LAST_NS UINT64_C(500000000)

/* For so long a name that is taken may become free, and is looked at so often. */
#define LET_GO_NS UINT64_C(2000000000)
#define LOOK_MS   10

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

/* Ends each message: the file that comes with it. */
struct trailer {
	uint64_t handle;     /* in the process of who listens, when it has sent it; 0: none */
	uint64_t number;     /* else the file of this number on that volume, */
	uint32_t volume;     /* whose name stands in front of this: */
	uint32_t name_bytes; /* UTF-16, no zero; 0: none */
};

enum state {
	FREE,
	LISTENING, /* nobody has connected yet */
	CONNECTED,
	LINGERING, /* dropped, but the other end may not have taken yet what it was sent */
};

static struct end {
	enum state state;
	HANDLE pipe, event; /* owned */
	OVERLAPPED going;   /* the connecting or reading that goes on */
	DWORD failed;       /* it could not begin: why */
	HANDLE offered;     /* owned: until the other end has gone, NULL: none */
	HANDLE other;       /* owned: the process that listens; NULL: this one does */
	bool known;         /* this one does, and who has connected is the same user */
	bool sent;          /* this one does, and something was sent to the other end */
	uint8_t *packet;    /* owned */
} ends[ENDS];

/* Until then those who were sent something may take it, when nobody listens any more. */
static uint64_t last_ns;

static void name_pipe(wchar_t name[128], int pid, uint64_t start_ticks)
{
	char plain[96];

	snprintf(plain, sizeof(plain), "\\\\.\\pipe\\" DNP_CONTROL_NAME, pid,
		(unsigned long long)start_ticks);
	for (size_t i = 0; !i || plain[i - 1]; i++)
		name[i] = (wchar_t)plain[i];
}

/* ---- Ends */

static int number_of(const struct end *end)
{
	return (int)(end - ends);
}

static struct end *free_end(void)
{
	for (unsigned i = 0; i < ENDS; i++)
		if (ends[i].state == FREE)
			return &ends[i];
	return NULL;
}

/* What goes on uses memory of ours: it has to be over before that goes. */
static void cancel(struct end *end)
{
	DWORD n;

	if (!end->failed && CancelIoEx(end->pipe, &end->going))
		GetOverlappedResult(end->pipe, &end->going, &n, TRUE);
}

/*
 * A pipe has its name for as long as anybody has an end of it, also one to which nobody is at the
 * other end: who does not get to close his, stopped or waiting for his console, would keep the name
 * from the next agent. So his end is taken from him.
 */
static void release(struct end *end)
{
	if (end->pipe != INVALID_HANDLE_VALUE) {
		cancel(end);
		if (!end->other)
			DisconnectNamedPipe(end->pipe);
		CloseHandle(end->pipe);
	}
	if (end->event)
		CloseHandle(end->event);
	if (end->offered)
		CloseHandle(end->offered);
	if (end->other)
		CloseHandle(end->other);
	free(end->packet);
	*end = (struct end){0};
}

/* A place for the pipe, which is taken over, also when that fails. NULL and *failed. */
static struct end *take_end(HANDLE pipe, enum state state, int *failed)
{
	struct end *end = free_end();

	if (!end) {
		CloseHandle(pipe);
		*failed = -EMFILE;
		return NULL;
	}
	*end = (struct end){.state = state, .pipe = pipe, .failed = ERROR_IO_INCOMPLETE};
	end->event = CreateEventW(NULL, TRUE, FALSE, NULL);
	end->packet = malloc(PACKET_BYTES);
	if (end->event && end->packet)
		return end;
	release(end);
	*failed = -ENOMEM;
	return NULL;
}

/* Whether that is what calls say when the other end is closed. */
static bool has_gone(DWORD error)
{
	return error == ERROR_BROKEN_PIPE || error == ERROR_NO_DATA ||
		error == ERROR_PIPE_NOT_CONNECTED;
}

/* Notes what a call that begins something has returned. */
static void note_begun(struct end *end, BOOL begun)
{
	DWORD error = begun ? ERROR_SUCCESS : GetLastError();

	end->failed = error == ERROR_IO_PENDING || error == ERROR_MORE_DATA ? 0 : error;
	if (end->failed)
		SetEvent(end->event);
}

static void begin_read(struct end *end)
{
	end->going = (OVERLAPPED){.hEvent = end->event};
	ResetEvent(end->event);
	note_begun(end, ReadFile(end->pipe, end->packet, PACKET_BYTES, NULL, &end->going));
}

/* ---- Who listens */

static HANDLE make_pipe(DWORD first)
{
	struct dnp_private mine;
	wchar_t name[128];

	if (dnp_private_init(&mine)) {
		SetLastError(ERROR_ACCESS_DENIED);
		return INVALID_HANDLE_VALUE;
	}
	name_pipe(name, dnp_process_id(), dnp_process_start_ticks(dnp_process_id()));
	return CreateNamedPipeW(name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | first,
		PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE | PIPE_REJECT_REMOTE_CLIENTS,
		PIPE_UNLIMITED_INSTANCES, PIPE_BYTES, PIPE_BYTES, 0, &mine.attributes);
}

/* Somebody may have connected before this asks for it. */
static void begin_listening(struct end *end)
{
	end->going = (OVERLAPPED){.hEvent = end->event};
	ResetEvent(end->event);
	note_begun(end, ConnectNamedPipe(end->pipe, &end->going));
}

/* An instance that waits for the next one. */
static int open_instance(DWORD first)
{
	HANDLE pipe = make_pipe(first);
	struct end *end;
	int failed = 0;

	if (pipe == INVALID_HANDLE_VALUE)
		return dnp_windows_error();
	end = take_end(pipe, LISTENING, &failed);
	if (!end)
		return failed;
	failed = dnp_watch_add((int)(intptr_t)end->event);
	if (failed)
		release(end);
	else
		begin_listening(end);
	return failed;
}

/* Whether somebody has that name: asked besides, as not each system keeps to the flag (Wine). */
static bool is_taken(void)
{
	wchar_t name[128];

	name_pipe(name, dnp_process_id(), dnp_process_start_ticks(dnp_process_id()));
	return WaitNamedPipeW(name, 1) || GetLastError() == ERROR_SEM_TIMEOUT;
}

/* The agent that was here before may have let go of the name a moment ago, and the system not yet.
 */
int dnp_channel_listen(void)
{
	uint64_t until_ns = dnp_now_ns() + LET_GO_NS;

	while (is_taken()) {
		if (dnp_now_ns() >= until_ns)
			return -EACCES;
		Sleep(LOOK_MS);
	}
	return open_instance(FILE_FLAG_FIRST_PIPE_INSTANCE);
}

/* A pipe goes with its process. */
/* The name of a pipe is there as long as it is open. */
void dnp_channel_keep(void)
{
}

void dnp_channel_tell(const char *folder)
{
	(void)folder;
}

static struct end *listening(void)
{
	for (unsigned i = 0; i < ENDS; i++)
		if (ends[i].state == LISTENING)
			return &ends[i];
	return NULL;
}

static void forget(struct end *end)
{
	dnp_watch_remove((int)(intptr_t)end->event);
	release(end);
}

/* What was sent and is not taken when the other end loses its own is lost. */
static void forget_last(struct end *end)
{
	if (end->sent)
		dnp_timer_wait(end->event, last_ns);
	forget(end);
}

void dnp_channel_shut(void)
{
	for (unsigned i = 0; i < ENDS; i++)
		if (ends[i].state == LISTENING)
			forget(&ends[i]);
	last_ns = dnp_now_ns() + LAST_NS;
	for (unsigned i = 0; i < ENDS; i++)
		if (ends[i].state == LINGERING)
			forget_last(&ends[i]);
}

/* Of a token, or of this process's. */
static bool ask_user(HANDLE token, void *user, DWORD room)
{
	DWORD n;

	return GetTokenInformation(token, TokenUser, user, room, &n);
}

static bool has_own_user(HANDLE token)
{
	union {
		TOKEN_USER user;
		char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
	} theirs, own;
	HANDLE process;
	bool known;

	if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &process))
		return false;
	known = ask_user(process, &own, sizeof(own)) && ask_user(token, &theirs, sizeof(theirs));
	CloseHandle(process);
	return known && EqualSid(own.user.User.Sid, theirs.user.User.Sid);
}

/*
 * The pipe's list of access lets nobody else in; this asks once more, of who has said something,
 * as nobody is known before that: this thread speaks as the other end does for as long as it takes
 * to have its token.
 */
static bool is_same_user(const struct end *end)
{
	HANDLE token = NULL;
	bool same;

	if (!ImpersonateNamedPipeClient(end->pipe))
		return false;
	if (!OpenThreadToken(GetCurrentThread(), TOKEN_QUERY, TRUE, &token))
		token = NULL;
	if (!RevertToSelf()) {
		if (token)
			CloseHandle(token);
		return false;
	}
	same = token && has_own_user(token);
	if (token)
		CloseHandle(token);
	return same;
}

/* Those whose other ends have gone. */
static void end_lingering(bool all)
{
	for (unsigned i = 0; i < ENDS; i++)
		if (ends[i].state == LINGERING &&
			(all || WaitForSingleObject(ends[i].event, 0) == WAIT_OBJECT_0))
			forget(&ends[i]);
}

/* Whether somebody has connected: to begin with it, another instance waits for the next. */
static bool has_connected(struct end *end)
{
	DWORD n;

	if (end->failed == ERROR_PIPE_CONNECTED)
		return true;
	return !end->failed && GetOverlappedResult(end->pipe, &end->going, &n, FALSE);
}

/* Who came and went before it was looked at has left an instance that serves the next. */
static void listen_again(struct end *end)
{
	DisconnectNamedPipe(end->pipe);
	begin_listening(end);
}

int dnp_channel_accept(int *pid, bool *same_user)
{
	struct end *end = listening();
	ULONG client = 0;

	end_lingering(false);
	if (!end || WaitForSingleObject(end->event, 0) != WAIT_OBJECT_0)
		return -EAGAIN;
	if (!has_connected(end)) {
		listen_again(end);
		return -EAGAIN;
	}
	/* There is always one of ours, so that nobody else can take the name. */
	if (open_instance(0)) {
		end_lingering(true);
		if (open_instance(0)) {
			listen_again(end);
			return -EAGAIN;
		}
	}
	end->state = CONNECTED;
	GetNamedPipeClientProcessId(end->pipe, &client);
	*pid = (int)client;
	*same_user = true; /* nobody else can connect, see is_same_user */
	begin_read(end);
	return number_of(end);
}

void dnp_channel_drop(int connection)
{
	struct end *end = &ends[connection];

	if (!listening())
		forget_last(end);
	else if (end->sent && WaitForSingleObject(end->event, 0) == WAIT_TIMEOUT)
		end->state = LINGERING;
	else
		forget(end);
}

/* ---- Who connects */

static int connect_failed(void)
{
	switch (GetLastError()) {
	case ERROR_PIPE_BUSY:
	case ERROR_SEM_TIMEOUT: return -EAGAIN;
	default: return dnp_windows_error();
	}
}

/* As one who lets nobody do anything in his name but ask for it. */
static int open_pipe(const wchar_t *name, uint64_t until_ns, HANDLE *pipe)
{
	uint64_t now_ns;

	for (;;) {
		*pipe = CreateFileW(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
			FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION,
			NULL);
		if (*pipe != INVALID_HANDLE_VALUE)
			return 0;
		now_ns = dnp_now_ns();
		if (GetLastError() != ERROR_PIPE_BUSY || now_ns >= until_ns)
			return connect_failed();
		WaitNamedPipeW(name, 10);
	}
}

/* One whose other end has gone since is not known to be anybody's. */
static int look_at_server(HANDLE pipe, int pid)
{
	DWORD mode = PIPE_READMODE_MESSAGE;
	ULONG server = 0;

	if (!GetNamedPipeServerProcessId(pipe, &server))
		return -ECONNRESET;
	if ((int)server != pid)
		return -EBADE;
	return SetNamedPipeHandleState(pipe, &mode, NULL, NULL) ? 0 : -ECONNRESET;
}

int dnp_channel_connect(int pid, uint64_t start_ticks, uint64_t until_ns)
{
	wchar_t name[128];
	struct end *end;
	HANDLE pipe;
	int failed;

	name_pipe(name, pid, start_ticks);
	failed = open_pipe(name, until_ns, &pipe);
	if (failed)
		return failed;
	failed = look_at_server(pipe, pid);
	if (failed) {
		CloseHandle(pipe);
		return failed;
	}
	end = take_end(pipe, CONNECTED, &failed);
	if (!end)
		return failed;
	end->other = OpenProcess(PROCESS_DUP_HANDLE, FALSE, (DWORD)pid);
	if (!end->other) {
		release(end);
		return -EACCES;
	}
	begin_read(end);
	return number_of(end);
}

int dnp_channel_event(int connection)
{
	return (int)(intptr_t)ends[connection].event;
}

/* The read that goes on ends, with what has come by then, or as if the other end had gone. */
void dnp_channel_deafen(int connection)
{
	struct end *end = &ends[connection];

	if (!end->failed && CancelIoEx(end->pipe, &end->going))
		WaitForSingleObject(end->event, INFINITE);
}

void dnp_channel_close(int connection)
{
	release(&ends[connection]);
}

/* ---- Messages */

/* Which file it is that goes with a message, for who listens: its name, in front of the trailer. */
static int put_name(HANDLE file, uint8_t *bytes, struct trailer *trailer)
{
	BY_HANDLE_FILE_INFORMATION info;
	wchar_t name[PATH_UNITS];
	DWORD n = GetFinalPathNameByHandleW(file, name, PATH_UNITS, FILE_NAME_NORMALIZED);

	if (!n || !GetFileInformationByHandle(file, &info))
		return dnp_windows_error();
	if (n >= PATH_UNITS)
		return -ENAMETOOLONG;
	*trailer = (struct trailer){
		.number = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow,
		.volume = info.dwVolumeSerialNumber,
		.name_bytes = (uint32_t)(n * sizeof(*name)),
	};
	memcpy(bytes, name, trailer->name_bytes);
	return 0;
}

/* For who has connected: a handle of this process's own, that it may take. */
static int put_offer(struct end *end, HANDLE file, struct trailer *trailer)
{
	HANDLE process = GetCurrentProcess(), again;

	if (!DuplicateHandle(process, file, process, &again, 0, FALSE, DUPLICATE_SAME_ACCESS))
		return dnp_windows_error();
	if (end->offered)
		CloseHandle(end->offered);
	end->offered = again;
	*trailer = (struct trailer){.handle = (uint64_t)(uintptr_t)again};
	return 0;
}

static int write_failed(void)
{
	return has_gone(GetLastError()) ? -EPIPE : dnp_windows_error();
}

static int write_all(HANDLE pipe, const void *bytes, size_t n, bool waits)
{
	OVERLAPPED going = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
	DWORD written;
	int failed = 0;

	if (!going.hEvent)
		return dnp_windows_error();
	if (!WriteFile(pipe, bytes, (DWORD)n, NULL, &going) && GetLastError() != ERROR_IO_PENDING) {
		failed = write_failed();
	} else {
		if (WaitForSingleObject(going.hEvent, waits ? INFINITE : WRITE_MS) != WAIT_OBJECT_0)
			CancelIoEx(pipe, &going);
		if (!GetOverlappedResult(pipe, &going, &written, TRUE))
			failed = GetLastError() == ERROR_OPERATION_ABORTED ? -EAGAIN
									   : write_failed();
	}
	CloseHandle(going.hEvent);
	return failed;
}

int dnp_channel_send(int connection, void *bytes, size_t n, int file, bool waits)
{
	static uint8_t packet[PACKET_BYTES]; /* of the one thread, too large for its stack */
	struct end *end = &ends[connection];
	struct trailer trailer = {0};
	int failed = 0;

	if (n > DNP_CONTROL_MAX)
		return -EMSGSIZE;
	memcpy(packet, bytes, n);
	if (file >= 0 && end->other)
		failed = put_name((HANDLE)_get_osfhandle(file), packet + n, &trailer);
	else if (file >= 0)
		failed = put_offer(end, (HANDLE)_get_osfhandle(file), &trailer);
	if (failed)
		return failed;
	n += trailer.name_bytes;
	memcpy(packet + n, &trailer, sizeof(trailer));
	end->sent = !end->other;
	return write_all(end->pipe, packet, n + sizeof(trailer), waits);
}

static int descriptor_of(HANDLE file)
{
	int fd = _open_osfhandle((intptr_t)file, O_RDWR | O_BINARY | _O_NOINHERIT);

	if (fd < 0)
		CloseHandle(file);
	return fd;
}

static bool is_that(HANDLE file, const struct trailer *trailer)
{
	BY_HANDLE_FILE_INFORMATION info;

	return GetFileInformationByHandle(file, &info) &&
		info.dwVolumeSerialNumber == trailer->volume &&
		((uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow) == trailer->number;
}

/* What this end was told to open, as one who listens. -1: it cannot be. */
static int open_named(const uint8_t *bytes, const struct trailer *trailer)
{
	wchar_t name[PATH_UNITS + 1];
	HANDLE file;

	if (!trailer->name_bytes || trailer->name_bytes > PATH_UNITS * sizeof(*name))
		return -1;
	memcpy(name, bytes, trailer->name_bytes);
	name[trailer->name_bytes / sizeof(*name)] = L'\0';
	file = CreateFileW(name, GENERIC_READ | GENERIC_WRITE, SHARE_ALL, NULL, OPEN_EXISTING,
		FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	if (file == INVALID_HANDLE_VALUE)
		return -1;
	if (is_that(file, trailer))
		return descriptor_of(file);
	CloseHandle(file);
	return -1;
}

/*
 * What this end was offered, as one who has connected, for reading. It has its place in the file
 * together with the handle that the other process goes on to write by: that is not to be moved.
 */
static int take_offered(const struct end *end, const struct trailer *trailer)
{
	HANDLE there = (HANDLE)(uintptr_t)trailer->handle; /* NOLINT(performance-no-int-to-ptr) */
	HANDLE file;

	if (!there ||
		!DuplicateHandle(
			end->other, there, GetCurrentProcess(), &file, FILE_GENERIC_READ, FALSE, 0))
		return -1;
	if (GetFileType(file) == FILE_TYPE_DISK)
		return descriptor_of(file);
	CloseHandle(file);
	return -1;
}

/* Takes the message apart that has come, of n bytes, which may be anything. */
static void take(struct end *end, size_t n, struct dnp_channel_message *message)
{
	struct trailer trailer = {0};
	int file;

	if (n >= sizeof(trailer)) {
		n -= sizeof(trailer);
		memcpy(&trailer, end->packet + n, sizeof(trailer));
	}
	if (trailer.name_bytes > n)
		trailer = (struct trailer){0};
	n -= trailer.name_bytes;
	file = end->other ? take_offered(end, &trailer) : open_named(end->packet + n, &trailer);
	message->n = n < message->room ? n : message->room;
	memcpy(message->bytes, end->packet, message->n);
	if (file >= 0)
		message->files[message->n_files++] = file;
}

/*
 * Who asks for something more has taken the file that came with the answer before, or does not want
 * it: who has it open here would be in the way of who gives it another name there.
 */
static void drop_offer(struct end *end)
{
	if (end->offered)
		CloseHandle(end->offered);
	end->offered = NULL;
}

/* One that is too long comes without its end, which is thrown away: it is understood as little. */
static int ended_read(struct end *end, DWORD *n)
{
	if (end->failed)
		return has_gone(end->failed) ? -EPIPE : -EIO;
	if (GetOverlappedResult(end->pipe, &end->going, n, FALSE))
		return 0;
	switch (GetLastError()) {
	case ERROR_IO_INCOMPLETE: return -EAGAIN;
	case ERROR_MORE_DATA: return -EMSGSIZE;
	default: return -EPIPE;
	}
}

int dnp_channel_receive(int connection, struct dnp_channel_message *message)
{
	struct end *end = &ends[connection];
	DWORD n;
	int failed = ended_read(end, &n);

	message->n = message->n_files = 0;
	if (failed)
		return failed;
	if (!end->other && !end->known && !is_same_user(end))
		return -EACCES;
	end->known = true;
	drop_offer(end);
	take(end, n, message);
	begin_read(end);
	return 0;
}

bool dnp_channel_has_news(int connection)
{
	return WaitForSingleObject(ends[connection].event, 0) == WAIT_OBJECT_0;
}
