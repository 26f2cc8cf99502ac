/* SPDX-License-Identifier: MIT */
/* What is other on Windows than elsewhere: names, devices, zones, channels. */
#include <io.h>
#include <stdio.h>
#include <windows.h>

#include "base/clean.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/file_sink.h"
#include "os/library.h"
#include "os/mem.h"
#include "os/process.h"
#include "os/thread.h"
#include "os/thread_word.h"
#include "os/watch.h"
#include "os/windows/channel.h"
#include "os/windows/mapped_code.h"
#include "os/windows/wide.h"

#include "test.h"

TEST(names_of_files_are_utf8)
{
	static const char name[] = "dnprof-test-\xc3\xa9-\xe6\x97\xa5.txt";
	struct dnp_sink_file file;

	CHECK_EQ(dnp_sink_file_open(&file, name, NULL), 0);
	CHECK_EQ(dnp_sink_file_commit(&file, NULL), 0);
	CHECK(GetFileAttributesW(L"dnprof-test-\x00e9-\x65e5.txt") != INVALID_FILE_ATTRIBUTES);
	CHECK(DeleteFileW(L"dnprof-test-\x00e9-\x65e5.txt"));
	CHECK_EQ(dnp_sink_file_open(&file, "not utf-8: \xff", NULL), -EILSEQ);
}

TEST(text_keeps_what_it_says)
{
	static const char text[] = "a \xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80";
	auto_free wchar_t *wide = dnp_wide(text);
	auto_free char *narrow = wide ? dnp_narrow(wide) : NULL;

	CHECK(narrow);
	CHECK_STR(narrow, text);
}

TEST(environment_keeps_what_it_says)
{
	wchar_t value[8];

	CHECK(!getenv("DNP_X"));
	CHECK(SetEnvironmentVariableW(L"DNP_X", L"\x0141\x65e5"));
	CHECK_STR(getenv("DNP_X"), "\xc5\x81\xe6\x97\xa5");
	CHECK_EQ(setenv("DNP_X", "other", 0), 0);
	CHECK_STR(getenv("DNP_X"), "\xc5\x81\xe6\x97\xa5");
	CHECK_EQ(setenv("DNP_X", "\xc5\x82", 1), 0);
	CHECK_EQ(GetEnvironmentVariableW(L"DNP_X", value, 8), 1);
	CHECK_EQ(*value, 0x142);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(unsetenv("DNP_X"), 0);
		CHECK(!getenv("DNP_X"));
	}
}

#define LONG_UNITS 300

/* That name with so many letters behind it. */
static wchar_t *lengthen(const char *name)
{
	static char text[LONG_UNITS + 64];

	snprintf(text, sizeof(text), "%s%0*d", name, LONG_UNITS, 0);
	return dnp_wide_path(text);
}

static bool begins_with(const wchar_t *path, const wchar_t *begin)
{
	return !wcsncmp(path, begin, wcslen(begin)) && !path[wcslen(begin) + LONG_UNITS] &&
		path[wcslen(begin)] == L'0';
}

TEST(name_may_be_longer_than_the_oldest_functions_take)
{
	auto_free wchar_t *brief = dnp_wide_path("a/b"), *on_drive = lengthen("C:/a/../");
	auto_free wchar_t *on_host = lengthen("\\\\host\\share\\a\\");
	auto_free wchar_t *so_meant = lengthen("\\\\?\\C:\\a\\"), *relative = lengthen("a/");
	wchar_t folder[MAX_PATH], expected[MAX_PATH + 16];

	CHECK(!wcscmp(brief, L"a/b"));
	CHECK(begins_with(on_drive, L"\\\\?\\C:\\"));
	CHECK(begins_with(on_host, L"\\\\?\\UNC\\host\\share\\a\\"));
	CHECK(begins_with(so_meant, L"\\\\?\\C:\\a\\"));
	CHECK(GetCurrentDirectoryW(MAX_PATH, folder));
	swprintf(expected, MAX_PATH + 16, L"\\\\?\\%ls\\a\\", folder);
	CHECK(begins_with(relative, expected));
}

TEST(files_have_long_names)
{
	char path[LONG_UNITS + 2] = "", file[LONG_UNITS + 64];
	int fd;

	for (int i = 0; i < 2; i++) {
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s%0*d-XXXXXX",
			i ? "\\" : "", LONG_UNITS / 2 - 8, 0);
		CHECK_EQ(dnp_folder_create(path), 0);
	}
	snprintf(file, sizeof(file), "%s\\file", path);
	fd = dnp_file_create_new(file);
	CHECK(fd >= 0);
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(dnp_file_kind(file), DNP_FILE_REGULAR);
	*strchr(path, '\\') = '\0';
	dnp_folder_remove(path);
	CHECK_EQ(dnp_file_kind(path), DNP_FILE_NONE);
}

TEST(drive_is_no_part_of_a_name)
{
	CHECK_EQ(dnp_path_base_at("C:\\a\\b", 6), 5);
	CHECK_EQ(dnp_path_base_at("C:b", 3), 2);
	CHECK_EQ(dnp_path_base_at("ab:c", 4), 0);
	CHECK_EQ(dnp_path_base_at("C:/b:c", 6), 3);
}

TEST(device_is_not_replaced)
{
	struct dnp_err err = {0};
	struct dnp_sink_file file;

	CHECK_EQ(dnp_sink_file_open(&file, "NUL", &err), -EINVAL);
	CHECK(strstr(err.text, "not a regular file"));
}

/* Closes what it is given when somebody has had time to try. */
static DWORD WINAPI close_soon(void *file)
{
	Sleep(100);
	CloseHandle(file);
	return 0;
}

/* Who looks at each new file holds it, as one that may not be renamed. */
TEST(file_that_is_looked_at_gets_its_name_when_it_is_not)
{
	char path[] = "dnprof-test-XXXXXX", to[sizeof(path) + 2];
	int fd = dnp_file_create(path);
	HANDLE file, thread;

	CHECK(fd >= 0);
	CHECK_EQ(_close(fd), 0);
	snprintf(to, sizeof(to), "%s-2", path);
	file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
	CHECK(file != INVALID_HANDLE_VALUE);
	thread = CreateThread(NULL, 0, close_soon, file, 0, NULL);
	CHECK(thread);
	CHECK_EQ(dnp_file_rename(path, to), 0);
	CHECK_EQ(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
	CHECK_EQ(dnp_file_kind(path), DNP_FILE_NONE);
	CHECK_EQ(dnp_file_kind(to), DNP_FILE_REGULAR);
	dnp_file_remove(to);
}

TEST(clocks_go_on)
{
	uint64_t begin = dnp_now_ns(), date = dnp_unix_ns(), cpu = dnp_thread_cpu_ns(0);

	dnp_sleep_until_ns(begin + 20000000);
	CHECK(dnp_now_ns() >= begin + 20000000);
	CHECK(dnp_unix_ns() > date);
	CHECK(dnp_thread_cpu_ns(0) >= cpu);
	CHECK_EQ(dnp_thread_cpu_ns(0x7ffffff0), 0);
}

TEST(time_has_its_zone)
{
	char text[48], utc[32];

	CHECK(dnp_unix_text(UINT64_C(1769903999) * 1000000000, text, sizeof(text)));
	CHECK_EQ(strspn(text, "0123456789-: +UTC"), strlen(text));
	snprintf(utc, sizeof(utc), "%.19s", "2026-01-31 23:59:59");
	if (strstr(text, "UTC"))
		CHECK(!strncmp(text, utc, 19));
	CHECK(!dnp_unix_text(0, text, 8));
}

/* Read-only, or for code; at a place of its own below 2 GiB. */
static void *map_low(DWORD protection, DWORD access)
{
	HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, protection, 0, 65536, NULL);
	void *view = NULL;

	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	for (uintptr_t at = 0x30000000; section && !view && at < 0x70000000; at += 0x1000000)
		view = MapViewOfFileEx(section, access, 0, 0, 65536, (void *)at);
	if (section)
		CloseHandle(section);
	return view;
}

TEST(code_that_is_mapped_is_found)
{
	uintptr_t low_end = (uintptr_t)1 << 31;
	void *private = VirtualAlloc(
		(void *)0x2f000000, 65536, MEM_RESERVE | MEM_COMMIT, PAGE_EXECUTE_READWRITE);
	void *data = map_low(PAGE_READWRITE, FILE_MAP_WRITE), *code;

	CHECK(private && data);
	CHECK(!dnp_mapped_code_is_below(0, low_end));
	code = map_low(PAGE_EXECUTE_READWRITE, FILE_MAP_READ | FILE_MAP_EXECUTE);
	CHECK(code);
	CHECK(dnp_mapped_code_is_below(0, low_end));
	CHECK(!dnp_mapped_code_is_below(0, (uintptr_t)code));
	UnmapViewOfFile(code);
	CHECK(!dnp_mapped_code_is_below(0, low_end));
	UnmapViewOfFile(data);
	VirtualFree(private, 0, MEM_RELEASE);
}

static bool is_memory(void *page)
{
	MEMORY_BASIC_INFORMATION region;

	return VirtualQuery(page, &region, sizeof(region)) && region.State == MEM_COMMIT;
}

TEST(address_space_is_memory_once_it_is_asked_for)
{
	const size_t bytes = (size_t)1 << 32, page = 4096;
	char *space = dnp_mem_reserve(bytes);

	CHECK(space);
	CHECK(!is_memory(space));
	CHECK_EQ(dnp_mem_commit(space + 2 * page, 3 * page), 0);
	space[2 * page] = 1;
	CHECK_EQ(dnp_mem_commit(space + page, 3 * page), 0);
	CHECK_EQ(space[2 * page], 1);
	CHECK(is_memory(space + page) && is_memory(space + 4 * page));
	CHECK(!is_memory(space + 5 * page));
	dnp_mem_decommit(space, bytes);
	CHECK(!is_memory(space + 2 * page));
	CHECK_EQ(dnp_mem_commit(space, 3 * page), 0);
	CHECK_EQ(space[2 * page], 0);
	dnp_mem_unmap(space, bytes);
}

static void *look_at_word(void *context)
{
	void **seen = context;

	seen[0] = *dnp_thread_word_place();
	dnp_thread_word_set(seen);
	seen[1] = *dnp_thread_word_place();
	return NULL;
}

TEST(each_thread_has_a_word)
{
	struct dnp_own_thread thread;
	void *seen[2] = {seen, NULL};

	CHECK_EQ(dnp_thread_word_open(), 0);
	CHECK_EQ(dnp_thread_word_set(&thread), 0);
	CHECK_EQ(dnp_own_thread_start(&thread, look_at_word, seen), 0);
	dnp_own_thread_join(&thread);
	CHECK(!seen[0] && seen[1] == seen);
	CHECK(*dnp_thread_word_place() == &thread);
}

/* Slots behind the first 64 are not in the thread's description. */
TEST(no_word_is_left)
{
	while (TlsAlloc() < TLS_MINIMUM_AVAILABLE)
		;
	CHECK_EQ(dnp_thread_word_open(), -ENOTSUP);
	CHECK_EQ(dnp_thread_word, 0);
}

/* ---- Channels: both ends in this process */

static int make_file(char *path)
{
	int fd = dnp_file_create_new(path);

	CHECK(fd >= 0);
	CHECK_EQ(dnp_file_write_all(fd, "recorded", 8), 0);
	return fd;
}

static bool is_same_file(int a, int b)
{
	BY_HANDLE_FILE_INFORMATION one, other;

	return GetFileInformationByHandle((HANDLE)_get_osfhandle(a), &one) &&
		GetFileInformationByHandle((HANDLE)_get_osfhandle(b), &other) &&
		one.nFileIndexLow == other.nFileIndexLow &&
		one.nFileIndexHigh == other.nFileIndexHigh;
}

/* Waits for what the other end has sent. */
static int await(int connection, struct dnp_channel_message *message)
{
	int failed;

	while ((failed = dnp_channel_receive(connection, message)) == -EAGAIN)
		Sleep(1);
	return failed;
}

static int await_client(void)
{
	bool same_user = false;
	int pid, connection;

	while ((connection = dnp_channel_accept(&pid, &same_user)) == -EAGAIN)
		Sleep(1);
	CHECK(connection >= 0 && same_user);
	CHECK_EQ(pid, dnp_process_id());
	return connection;
}

static int connect_to_self(void)
{
	int pid = dnp_process_id();

	return dnp_channel_connect(pid, dnp_process_start_ticks(pid), dnp_now_ns());
}

TEST(channel_passes_messages_and_files)
{
	char path[] = "channel-test.tmp", hello[] = "hello", answer[] = "answer";
	uint8_t room[64];
	struct dnp_channel_message message = {.bytes = room, .room = sizeof(room)};
	int client, server, file = make_file(path);

	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(connect_to_self(), -ENOENT);
	CHECK_EQ(dnp_channel_listen(), 0);
	CHECK_EQ(dnp_channel_listen(), -EACCES); /* the name is taken, by whomever */
	client = connect_to_self();
	CHECK(client >= 0);
	server = await_client();
	CHECK_EQ(dnp_channel_receive(server, &message), -EAGAIN);

	CHECK_EQ(dnp_channel_send(client, hello, sizeof(hello), file, true), 0);
	CHECK_EQ(await(server, &message), 0);
	CHECK_EQ(message.n, sizeof(hello));
	CHECK_STR((char *)room, "hello");
	CHECK_EQ(message.n_files, 1);
	CHECK(is_same_file(message.files[0], file) && dnp_file_is_readable_back(message.files[0]));
	CHECK_EQ(close(message.files[0]), 0);

	/* What was sent arrives after its sender has let go of the connection. */
	CHECK_EQ(dnp_channel_send(server, answer, sizeof(answer), file, false), 0);
	dnp_channel_drop(server);
	CHECK_EQ(await(client, &message), 0);
	CHECK_STR((char *)room, "answer");
	CHECK_EQ(message.n_files, 1);
	CHECK(is_same_file(message.files[0], file));
	CHECK(!dnp_file_is_readable_back(message.files[0])); /* to be read, not written */
	CHECK_EQ(close(message.files[0]), 0);

	dnp_channel_close(client);
	dnp_channel_shut();
	CHECK_EQ(connect_to_self(), -ENOENT);
	dnp_watch_close();
	CHECK_EQ(close(file), 0);
	dnp_file_remove(path);
}

static bool is_open_anywhere(const char *path)
{
	HANDLE alone = CreateFileA(path, GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);

	CHECK(alone != INVALID_HANDLE_VALUE || GetLastError() == ERROR_SHARING_VIOLATION);
	if (alone != INVALID_HANDLE_VALUE)
		CloseHandle(alone);
	return alone == INVALID_HANDLE_VALUE;
}

/* From then on it is the other end's alone. */
TEST(file_that_was_sent_is_let_go_when_more_is_asked)
{
	char path[] = "channel-test-2.tmp", answer[] = "answer", more[] = "more";
	uint8_t room[64];
	struct dnp_channel_message message = {.bytes = room, .room = sizeof(room)};
	int client, server, file = make_file(path);

	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(dnp_channel_listen(), 0);
	client = connect_to_self();
	server = await_client();
	CHECK_EQ(dnp_channel_send(server, answer, sizeof(answer), file, false), 0);
	CHECK_EQ(close(file), 0);
	CHECK_EQ(await(client, &message), 0);
	CHECK_EQ(message.n_files, 1);
	CHECK_EQ(close(message.files[0]), 0);
	CHECK(is_open_anywhere(path));
	CHECK_EQ(dnp_channel_send(client, more, sizeof(more), -1, true), 0);
	CHECK_EQ(await(server, &message), 0);
	CHECK(!is_open_anywhere(path));
	dnp_channel_close(client);
	dnp_channel_drop(server);
	dnp_channel_shut();
	dnp_watch_close();
	dnp_file_remove(path);
}

/* What who has connected gives to be written to, and the other end opens by its name. */
TEST(file_in_memory_goes_with_whoever_has_it_open_last)
{
	wchar_t name[512];
	char read_back[5];
	int given, made = dnp_file_in_memory(NULL);
	HANDLE file, again;

	CHECK(made >= 0);
	CHECK(dnp_file_is_in_memory(made));
	file = (HANDLE)_get_osfhandle(made);
	CHECK(GetFinalPathNameByHandleW(file, name, 512, FILE_NAME_NORMALIZED));
	again = CreateFileW(name, GENERIC_READ | GENERIC_WRITE,
		FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0,
		NULL);
	CHECK(again != INVALID_HANDLE_VALUE);
	given = _open_osfhandle((intptr_t)again, 0);
	CHECK_EQ(dnp_file_write_all(given, "hello", 5), 0);
	CHECK_EQ(close(given), 0);
	CHECK_EQ(dnp_file_read_at(made, read_back, 5, 0), 5);
	CHECK(!memcmp(read_back, "hello", 5));
	CHECK(GetFileAttributesW(name) != INVALID_FILE_ATTRIBUTES);
	CHECK_EQ(close(made), 0);
	CHECK_EQ(GetFileAttributesW(name), INVALID_FILE_ATTRIBUTES);
}

TEST(file_in_memory_needs_a_folder)
{
	wchar_t before[MAX_PATH];
	struct dnp_err err = {0};

	CHECK(GetEnvironmentVariableW(L"TMP", before, MAX_PATH));
	CHECK(SetEnvironmentVariableW(L"TMP", L"C:\\no\\such"));
	CHECK_EQ(dnp_file_in_memory(&err), -ENOENT);
	CHECK(strstr(err.text, "cannot make a temporary file"));
	CHECK(SetEnvironmentVariableW(L"TMP", before));
}

TEST(channel_tells_that_the_other_end_has_gone)
{
	uint8_t room[64];
	struct dnp_channel_message message = {.bytes = room, .room = sizeof(room)};
	int client, server;

	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(dnp_channel_listen(), 0);
	client = connect_to_self();
	server = await_client();
	CHECK(!dnp_channel_has_news(server));
	dnp_channel_close(client);
	CHECK_EQ(await(server, &message), -EPIPE);
	CHECK(dnp_channel_has_news(server));
	CHECK(dnp_channel_send(server, room, sizeof(room), -1, false) < 0);
	dnp_channel_drop(server);
	dnp_channel_shut();
	dnp_watch_close();
}

/* What somebody else says in the place of a process does not count as its word. */
TEST(channel_of_another_process_is_not_spoken_to)
{
	int pid = dnp_process_parent_id();
	wchar_t name[128];
	HANDLE pipe;

	swprintf(name, 128, L"\\\\.\\pipe\\dnprof-%d-%d-socket", pid, 42);
	pipe = CreateNamedPipeW(name, PIPE_ACCESS_DUPLEX, PIPE_TYPE_MESSAGE, 1, 64, 64, 0, NULL);
	CHECK(pipe != INVALID_HANDLE_VALUE);
	CHECK_EQ(dnp_channel_connect(pid, 42, dnp_now_ns()), -EBADE);
	CloseHandle(pipe);
}

static DWORD WINAPI let_go(void *pipe)
{
	Sleep(100);
	CloseHandle(pipe);
	return 0;
}

/* What is left of an agent that was here before goes in a moment. */
TEST(channel_waits_for_its_name)
{
	int pid = dnp_process_id(), client;
	HANDLE pipe, thread;
	wchar_t name[128];

	swprintf(name, 128, L"\\\\.\\pipe\\dnprof-%d-%llu-socket", pid,
		(unsigned long long)dnp_process_start_ticks(pid));
	pipe = CreateNamedPipeW(name, PIPE_ACCESS_DUPLEX, PIPE_TYPE_MESSAGE,
		PIPE_UNLIMITED_INSTANCES, 64, 64, 0, NULL);
	CHECK(pipe != INVALID_HANDLE_VALUE);
	thread = CreateThread(NULL, 0, let_go, pipe, 0, NULL);
	CHECK(thread);
	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(dnp_channel_listen(), 0);
	WaitForSingleObject(thread, INFINITE);
	CloseHandle(thread);
	client = connect_to_self();
	CHECK(client >= 0);
	dnp_channel_close(client);
	dnp_channel_shut();
	dnp_watch_close();
}

/* Its clients may be stopped: one that was answered, one that was dropped, one nobody has seen. */
TEST(channel_has_its_name_no_longer_than_it_listens)
{
	char answer[] = "answer";
	uint8_t room[64];
	struct dnp_channel_message message = {.bytes = room, .room = sizeof(room)};
	int answered, dropped, unseen, server;

	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(dnp_channel_listen(), 0);
	dropped = connect_to_self();
	dnp_channel_drop(await_client());
	answered = connect_to_self();
	server = await_client();
	CHECK_EQ(dnp_channel_send(server, answer, sizeof(answer), -1, false), 0);
	unseen = connect_to_self();
	CHECK(dropped >= 0 && answered >= 0 && unseen >= 0);
	dnp_channel_shut();
	dnp_channel_drop(server);
	CHECK_EQ(connect_to_self(), -ENOENT);
	CHECK_EQ(dnp_channel_listen(), 0);
	CHECK_EQ(await(answered, &message), 0);
	CHECK_STR((char *)room, "answer");
	CHECK_EQ(await(answered, &message), -EPIPE);
	CHECK_EQ(await(dropped, &message), -EPIPE);
	CHECK_EQ(await(unseen, &message), -EPIPE);
	dnp_channel_close(answered);
	dnp_channel_close(dropped);
	dnp_channel_close(unseen);
	dnp_channel_shut();
	dnp_watch_close();
}

/* Whoever is slow has all the same what was said to him, if there is a place for the next one. */
TEST(channel_keeps_what_the_other_end_has_not_taken_yet)
{
	char words[][4] = {"one", "two"};
	uint8_t room[64];
	struct dnp_channel_message message = {.bytes = room, .room = sizeof(room)};
	bool same_user;
	int client, server, pid;

	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(dnp_channel_listen(), 0);
	client = connect_to_self();
	server = await_client();
	for (int i = 0; i < 2; i++)
		CHECK_EQ(dnp_channel_send(server, words[i], sizeof(words[i]), -1, false), 0);
	dnp_channel_drop(server);
	CHECK_EQ(dnp_channel_accept(&pid, &same_user), -EAGAIN);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(await(client, &message), 0);
		CHECK_STR((char *)room, words[i]);
	}
	dnp_channel_close(client);
	dnp_channel_shut();
	dnp_watch_close();
}

/* A pipe of that process with which nothing can be agreed is not called somebody else's. */
TEST(channel_that_cannot_be_set_up_is_not_anothers)
{
	int pid = dnp_process_id();
	wchar_t name[128];
	HANDLE pipe;

	swprintf(name, 128, L"\\\\.\\pipe\\dnprof-%d-%d-socket", pid, 42);
	pipe = CreateNamedPipeW(name, PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE, 1, 64, 64, 0, NULL);
	CHECK(pipe != INVALID_HANDLE_VALUE);
	CHECK_EQ(dnp_channel_connect(pid, 42, dnp_now_ns()), -ECONNRESET);
	CloseHandle(pipe);
}

/* Who asks for more places than there are has to wait; who listens goes on. */
TEST(channel_has_so_many_places)
{
	int clients[DNP_WATCH_FDS], servers[DNP_WATCH_FDS], n = 0, pid;
	bool same_user;

	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(dnp_channel_listen(), 0);
	while ((clients[n] = connect_to_self()) >= 0) {
		servers[n] = dnp_channel_accept(&pid, &same_user);
		if (servers[n++] < 0)
			break;
	}
	CHECK(n >= 4 && n < DNP_WATCH_FDS);
	for (int i = 0; i < n; i++) {
		if (clients[i] >= 0)
			dnp_channel_close(clients[i]);
		if (servers[i] >= 0)
			dnp_channel_drop(servers[i]);
	}
	clients[0] = connect_to_self();
	CHECK(clients[0] >= 0);
	servers[0] = await_client();
	dnp_channel_close(clients[0]);
	dnp_channel_drop(servers[0]);
	dnp_channel_shut();
	dnp_watch_close();
}
