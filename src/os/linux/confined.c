/* SPDX-License-Identifier: MIT */
#include "os/confined.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/vec.h"
#include "os/file_sink.h"

#define ANSWER_FD    3 /* 2 is nobody's: a library may have something to say */
#define HIGH_FD      16
#define CPU_SECONDS  10
#define MEMORY_BYTES (UINT64_C(4) << 30) /* more than it begins with */
#define ANSWER_MAX   (64u << 20)
#define READ_BYTES   65536u

#define ALLOW(call)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

/* None of these waits for anybody: who does not compute has answered, and who does will end. */
static int allow_little(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		REFUSE, /* other numbers for the same calls */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read),
		ALLOW(pread64),
		ALLOW(write),
		ALLOW(lseek),
		ALLOW(fstat),
		ALLOW(newfstatat), /* what libc calls for fstat() */
		ALLOW(close),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(mprotect),
		ALLOW(madvise),
		ALLOW(brk),
		ALLOW(rt_sigreturn),
		ALLOW(exit_group),
		REFUSE,
	};
	const struct sock_fprog program = {DNP_ARRAY_SIZE(filter), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* What this process has mapped already counts. */
static int limit_memory(void)
{
	auto_fclose FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages;
	rlim_t bytes;

	if (!file || fscanf(file, "%llu", &pages) != 1)
		return -1;
	bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_BYTES;
	return setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
}

static int limit_cpu(void)
{
	return setrlimit(RLIMIT_CPU, &(struct rlimit){CPU_SECONDS, CPU_SECONDS});
}

static int close_from(int first)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (fd >= first && fd != dirfd(dir))
			close(fd);
	}
	return closedir(dir);
}

/* Its files, the answer, and no other descriptor. */
static int take_files(const int *files, int answer)
{
	int high[ANSWER_FD + 1] = {-1, -1, -1, -1};

	for (int i = 0; i < DNP_CONFINED_FILES; i++)
		if (files[i] >= 0)
			high[i] = fcntl(files[i], F_DUPFD, HIGH_FD);
	high[ANSWER_FD] = fcntl(answer, F_DUPFD, HIGH_FD);
	for (int i = 0; i <= ANSWER_FD; i++)
		if (high[i] < 0)
			close(i);
		else if (dup2(high[i], i) < 0)
			return -1;
	return close_from(ANSWER_FD + 1);
}

static _Noreturn void be_confined(const struct dnp_confined_work *work, int answer)
{
	static struct dnp_sink_fd out;

	/* Nobody looks into it, and nothing of it is left behind. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || take_files(work->files, answer) || limit_memory() ||
		limit_cpu() || prctl(PR_SET_DUMPABLE, 0) || allow_little())
		_exit(1);
	dnp_sink_fd_init(&out, ANSWER_FD);
	/* Before libc's own end a sanitizer asks the system for more than is allowed here. */
	syscall(SYS_exit_group, work->run(work->context, &out.sink) || dnp_sink_fd_flush(&out));
	__builtin_unreachable();
}

static int take_answer(int fd, struct dnp_file_bytes *answer)
{
	struct dnp_vec_of(uint8_t) all = {0};
	int failed;
	ssize_t n;

	do {
		failed = dnp_vec_reserve(&all, all.n + READ_BYTES);
		n = failed ? 0 : read(fd, all.p + all.n, READ_BYTES);
		if (n > 0)
			all.n += (size_t)n;
		else if (n < 0 && errno != EINTR)
			failed = -errno;
		if (all.n > ANSWER_MAX)
			failed = -EBADMSG;
	} while (n && !failed);
	if (failed)
		dnp_vec_done(&all);
	else
		*answer = (struct dnp_file_bytes){.p = all.p, .n = all.n};
	return failed;
}

/* Where children are nobody's business (SIGCHLD ignored) it is not known how this one ended. */
static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status ? -EBADMSG : 0;
}

int dnp_confined_run(const struct dnp_confined_work *work, struct dnp_file_bytes *answer)
{
	int ends[2], failed, ended;
	pid_t pid;

	*answer = (struct dnp_file_bytes){0};
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		be_confined(work, ends[1]);
	failed = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (!failed)
		failed = take_answer(ends[0], answer);
	close(ends[0]);
	ended = pid > 0 ? wait_for(pid) : 0;
	if (failed || !ended)
		return failed;
	free((void *)(uintptr_t)answer->p);
	*answer = (struct dnp_file_bytes){0};
	return ended;
}
