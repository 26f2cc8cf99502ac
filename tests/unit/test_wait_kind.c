/* SPDX-License-Identifier: MIT */
/* What threads wait for, by the method and by the system call that they wait in. */
#include "capture/wait_kind.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test.h"

static void check_method(const char *name, enum dnp_wait_kind kind)
{
	enum dnp_wait_kind found = dnp_wait_kind_of_method(dnp_str(name));

	if (found != kind)
		FAIL("%s: %d, not %d", name, found, kind);
}

/* Names as stacks have them, by the method of .NET that the program called. */
TEST(wait_kinds_of_methods)
{
	check_method("System.Threading.Thread.Sleep(int)", DNP_WAIT_SLEEP);
	check_method("System.Threading.Thread.Sleep", DNP_WAIT_SLEEP);
	check_method("System.Threading.Thread.Join(int)", DNP_WAIT_JOIN);
	check_method("System.Threading.Monitor.Enter(object, ref bool)", DNP_WAIT_LOCK);
	check_method("System.Threading.Monitor.Wait(object)", DNP_WAIT_EVENT);
	check_method("System.Threading.Lock.Enter()", DNP_WAIT_LOCK);
	check_method("System.Threading.ReaderWriterLockSlim.EnterWriteLock()", DNP_WAIT_LOCK);
	check_method("System.Threading.SemaphoreSlim.Wait()", DNP_WAIT_SEMAPHORE);
	check_method("System.Threading.ManualResetEventSlim.Wait(int)", DNP_WAIT_EVENT);
	check_method("System.Threading.WaitHandle.WaitOne()", DNP_WAIT_EVENT);
	check_method("System.Threading.Tasks.Task.Wait()", DNP_WAIT_EVENT);
	check_method("System.Net.Sockets.Socket.Receive(System.Span<byte>)", DNP_WAIT_SOCKET);
	check_method("System.Net.Sockets.SocketAsyncEngine.EventLoop()", DNP_WAIT_RUNTIME);
	check_method("System.IO.Pipes.PipeStream.Read(byte[], int, int)", DNP_WAIT_PIPE);
	check_method("System.Diagnostics.Process.WaitForExit()", DNP_WAIT_PROCESS);
	check_method("System.Threading.PortableThreadPool+WorkerThread.WorkerThreadStart()",
		DNP_WAIT_OTHER); /* it may be at work */
	check_method("System.Threading.LowLevelLifoSemaphore.WaitForSignal(int)", DNP_WAIT_POOL);
	check_method("System.GC.Collect(int)", DNP_WAIT_GC);
	check_method("System.GC._Collect(int, int)", DNP_WAIT_GC);
}

TEST(wait_kinds_that_methods_do_not_tell)
{
	check_method("System.Threading.Thread.StartCallback()", DNP_WAIT_OTHER);
	check_method("System.Threading.Tasks.Task.InnerInvoke()", DNP_WAIT_OTHER);
	check_method("System.Threading.LockCookie", DNP_WAIT_OTHER);
	check_method("Mine.System.Threading.Thread.Sleep(int)", DNP_WAIT_OTHER);
	check_method("System.Threading.Thread.Slee", DNP_WAIT_OTHER);
	check_method("", DNP_WAIT_OTHER);
	/* No end of it but its length. */
	CHECK_EQ(dnp_wait_kind_of_method((struct dnp_str){"System.Threading.Thread.Sleep", 10}),
		DNP_WAIT_OTHER);
}

static enum dnp_wait_kind of_call(long number, int fd)
{
	return dnp_wait_kind_of_call(number, (uint64_t)(int64_t)fd);
}

TEST(wait_kinds_of_calls)
{
	CHECK_EQ(of_call(SYS_nanosleep, 0), DNP_WAIT_SLEEP);
	CHECK_EQ(of_call(SYS_clock_nanosleep, 1), DNP_WAIT_SLEEP);
	CHECK_EQ(of_call(SYS_wait4, 1), DNP_WAIT_PROCESS);
	CHECK_EQ(of_call(SYS_recvmsg, 1), DNP_WAIT_SOCKET);
	CHECK_EQ(of_call(SYS_accept4, 1), DNP_WAIT_SOCKET);
	CHECK_EQ(of_call(SYS_epoll_wait, 1), DNP_WAIT_SOCKET);
	CHECK_EQ(of_call(SYS_flock, 1), DNP_WAIT_FILE);
	CHECK_EQ(of_call(SYS_fsync, 1), DNP_WAIT_FILE);
	/* These say nothing: a futex is in all that programs wait for. */
	CHECK_EQ(of_call(SYS_futex, 1), DNP_WAIT_OTHER);
	CHECK_EQ(of_call(-1, 0), DNP_WAIT_OTHER);
}

/* The same calls on what they are called on. */
TEST(wait_kinds_of_descriptors)
{
	static const long calls[] = {SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_sendfile};
	int pipes[2], sockets[2], file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int folder = open("/", O_RDONLY | O_CLOEXEC),
	    device = open("/dev/null", O_RDWR | O_CLOEXEC);

	CHECK(!pipe(pipes) && !socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	CHECK(file >= 0 && folder >= 0 && device >= 0);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		CHECK_EQ(of_call(calls[i], pipes[0]), DNP_WAIT_PIPE);
		CHECK_EQ(of_call(calls[i], sockets[1]), DNP_WAIT_SOCKET);
		CHECK_EQ(of_call(calls[i], file), DNP_WAIT_FILE);
		CHECK_EQ(of_call(calls[i], folder), DNP_WAIT_FILE);
		CHECK_EQ(of_call(calls[i], device), DNP_WAIT_OTHER);
		CHECK_EQ(of_call(calls[i], -1), DNP_WAIT_OTHER);
	}
	close(pipes[0]);
	CHECK_EQ(of_call(SYS_read, pipes[0]), DNP_WAIT_OTHER); /* meanwhile closed */
	close(pipes[1]);
	close(sockets[0]);
	close(sockets[1]);
	close(file);
	close(folder);
	close(device);
}

/* poll has its descriptors in memory of the thread, which may have gone. */
TEST(wait_kinds_of_polls)
{
	int pipes[2];
	struct pollfd fds[2];

	CHECK(!pipe(pipes));
	fds[0] = (struct pollfd){.fd = pipes[0]};
	fds[1] = (struct pollfd){.fd = -1};
	CHECK_EQ(dnp_wait_kind_of_call(SYS_poll, (uint64_t)(uintptr_t)fds), DNP_WAIT_PIPE);
	CHECK_EQ(dnp_wait_kind_of_call(SYS_ppoll, (uint64_t)(uintptr_t)&fds[1]), DNP_WAIT_OTHER);
	CHECK_EQ(dnp_wait_kind_of_call(SYS_poll, 0), DNP_WAIT_OTHER);
	CHECK_EQ(dnp_wait_kind_of_call(SYS_poll, 4096), DNP_WAIT_OTHER);
	close(pipes[0]);
	close(pipes[1]);
}
