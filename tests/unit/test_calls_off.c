/* SPDX-License-Identifier: MIT */
/* Hooks behind the end of a recording: what they ask the system for. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/clean.h"
#include "capture/calls.h"
#include "test.h"

#define TOP ((uintptr_t)0x7fff00000000)

static uint32_t index_of(int tid)
{
	(void)tid;
	return 7;
}

static volatile sig_atomic_t asked;

static void on_refused(int signo)
{
	(void)signo;
	asked = 1;
}

/* From now on a thread that asks for its id gets a signal in place of it. */
static void refuse_ids(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {DNP_ARRAY_SIZE(steps), steps};

	CHECK(signal(SIGSYS, on_refused) != SIG_ERR);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		SKIP("no seccomp filters here");
}

/* Hooks stay in compiled code: new threads come here at each call, for as long as the program runs.
 */
TEST(calls_behind_the_end_make_no_system_call)
{
	CHECK_EQ(dnp_calls_open(DNP_CALLS_TREE, index_of), 0);
	refuse_ids();
	dnp_calls_switch(false);
	dnp_calls_enter_miss(&dnp_call_methods[1], TOP);
	CHECK(!asked);
	dnp_calls_switch(true);
	dnp_calls_enter_miss(&dnp_call_methods[1], TOP);
	CHECK(asked);
}
