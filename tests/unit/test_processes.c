/* SPDX-License-Identifier: MIT */
#include "launch/processes.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launch/process.h"
#include "launch/program.h"
#include "test.h"

static struct dnp_status status;

static void parse(const char *text)
{
	dnp_status_parse(&status, dnp_str(text));
}

TEST(status_of_a_recording)
{
	parse("version=0.6.0 runtime=10.0.12 state=recording slot=main how=attach detachable=yes "
	      "threads=50 "
	      "events=cpu,wall since_unix_ns=1700000000000000000 samples=12 lost=3 bytes=4096 "
	      "client=77 held=yes");
	CHECK_STR(status.version, "0.6.0");
	CHECK_STR(status.runtime, "10.0.12");
	CHECK_STR(status.state, "recording");
	CHECK_STR(status.slot, "main");
	CHECK_STR(status.how, "attach");
	CHECK_STR(status.events, "cpu,wall");
	CHECK_STR(status.reason, "");
	CHECK_EQ(status.detachable, 1);
	CHECK_EQ(status.held, 1);
	CHECK_EQ(status.threads, 50);
	CHECK_EQ(status.since_unix_ns, UINT64_C(1700000000000000000));
	CHECK_EQ(status.samples, 12);
	CHECK_EQ(status.lost, 3);
	CHECK_EQ(status.bytes, 4096);
	CHECK_EQ(status.client, 77);
}

TEST(status_values_are_unescaped)
{
	parse("detachable=no reason=hooks%20are%20set%3B%20end%20the%20program%25 state=a%2");
	CHECK_EQ(status.detachable, 0);
	CHECK_STR(status.reason, "hooks are set; end the program%");
	CHECK_STR(status.state, "a%2");
}

TEST(status_tells_what_is_lost_in_its_unit)
{
	struct dnp_lost_weight one;
	struct dnp_str left;

	parse("lost=3 lost_weights=alloc:bytes:4096,lock:ns:250");
	CHECK_EQ(status.lost, 3);
	left = dnp_str(status.lost_weights);
	CHECK(dnp_lost_weight_next(&left, &one));
	CHECK(dnp_str_eq(one.event, dnp_str("alloc")) && dnp_str_eq(one.unit, dnp_str("bytes")));
	CHECK_EQ(one.lost, 4096);
	CHECK(dnp_lost_weight_next(&left, &one));
	CHECK(dnp_str_eq(one.event, dnp_str("lock")) && dnp_str_eq(one.unit, dnp_str("ns")));
	CHECK_EQ(one.lost, 250);
	CHECK(!dnp_lost_weight_next(&left, &one));
	left = dnp_str("alloc:bytes");
	dnp_lost_weight_next(&left, &one);
	CHECK(!dnp_lost_weight_next(&left, &one));
}

/* A newer agent says more, a damaged one anything. */
TEST(status_takes_what_it_knows)
{
	char text[2000];

	parse("colour=red state=attached =x samples=nine lost state=");
	CHECK_STR(status.state, "");
	CHECK_EQ(status.samples, 0);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "state=", 6);
	parse(text);
	CHECK_EQ(strlen(status.state), sizeof(status.state) - 1);
	parse("");
	CHECK_STR(status.version, "");
}

static const char *version(const char *number)
{
	static char out[32];

	dnp_runtime_version(number, out);
	return out;
}

TEST(runtime_versions)
{
	CHECK_STR(version("10.0.1226.42308"), "10.0.12");
	CHECK_STR(version("8.0.3126.42015"), "8.0.31");
	CHECK_STR(version("9.0.24.52809"), "9.0.0");
	CHECK_STR(version(""), "");
	CHECK_STR(version("a version that is much longer than any"),
		"a version that is much longer t");
}

TEST(runtime_versions_of_folders)
{
	char out[32];

	CHECK(dnp_runtime_folder_version(
		"/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so", out));
	CHECK_STR(out, "10.0.12");
	CHECK(dnp_runtime_folder_version("/x/Microsoft.NETCore.App/9.0.0-rc.1/libcoreclr.so", out));
	CHECK_STR(out, "9.0.0-rc.1");
	CHECK(!dnp_runtime_folder_version("/srv/app/libcoreclr.so", out));
	CHECK(!dnp_runtime_folder_version("/Microsoft.NETCore.App/libcoreclr.so", out));
	CHECK(!dnp_runtime_folder_version("/Microsoft.NETCore.App/10.0.12/sub/libcoreclr.so", out));
}

#define NAME_OF(words)                                                                             \
	dnp_seen_name(&(struct dnp_seen){                                                          \
		.command = (char *)(uintptr_t)(words), .command_bytes = sizeof(words) - 1})

TEST(processes_are_called_what_people_call_them)
{
	CHECK(dnp_str_eq(NAME_OF("/srv/app/shop\0--port\08080\0"), dnp_str("shop")));
	CHECK(dnp_str_eq(NAME_OF("dotnet\0/srv/shop.dll\0x.dll\0"), dnp_str("shop.dll")));
	CHECK(dnp_str_eq(
		NAME_OF("/usr/bin/dotnet\0exec\0--depsfile\0a.json\0b/c.dll\0"), dnp_str("c.dll")));
	CHECK(dnp_str_eq(NAME_OF("/usr/bin/dotnet\0build\0"), dnp_str("dotnet")));
	CHECK(dnp_str_eq(NAME_OF(""), dnp_str("")));
}

TEST(runtime_is_not_seen_where_there_is_none)
{
	struct dnp_runtime runtime;

	CHECK_EQ(dnp_runtime_look(&runtime, getpid()), 0);
	CHECK(runtime.readable);
	CHECK(!runtime.found && !runtime.library && !runtime.agent && !runtime.profiler);
	CHECK(!strncmp(runtime.libc, "glibc 2.", 8));
	dnp_runtime_done(&runtime);
	CHECK_EQ(dnp_runtime_look(&runtime, 0x7fffffff), -ESRCH);
}

TEST(names_of_symbols_in_a_library)
{
	CHECK(dnp_program_names("/proc/self/exe", "memmem"));
	CHECK(!dnp_program_names("/proc/self/exe", "DllGetClassObject"));
	CHECK(!dnp_program_names("/dev/null", "memmem"));
	CHECK(!dnp_program_names("/nowhere", "memmem"));
}

/* Of a program in one file no library tells that a runtime is in it. */
TEST(runtime_is_known_by_its_thread)
{
	CHECK(!dnp_process_has_runtime(getpid()));
	CHECK_EQ(prctl(PR_SET_NAME, ".NET SynchManag"), 0);
	CHECK(dnp_process_has_runtime(getpid()));
}
