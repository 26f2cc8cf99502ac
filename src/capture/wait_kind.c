/* SPDX-License-Identifier: MIT */
#include "capture/wait_kind.h"

#include <stdbool.h>
#include <string.h>

#include "base/clean.h"

/* How names begin; the first that fits. */
static const struct {
	const char *prefix;
	enum dnp_wait_kind kind;
} methods[] = {
	{"System.Threading.Thread.Sleep", DNP_WAIT_SLEEP},
	{"System.Threading.Thread.UninterruptibleSleep", DNP_WAIT_SLEEP},
	{"System.Threading.Thread.Join", DNP_WAIT_JOIN},
	{"System.Threading.Monitor.Enter", DNP_WAIT_LOCK},
	{"System.Threading.Monitor.TryEnter", DNP_WAIT_LOCK},
	{"System.Threading.Monitor.ReliableEnter", DNP_WAIT_LOCK},
	{"System.Threading.Monitor.Wait", DNP_WAIT_EVENT},
	{"System.Threading.Monitor.ObjWait", DNP_WAIT_EVENT},
	{"System.Threading.Lock.", DNP_WAIT_LOCK},
	{"System.Threading.ReaderWriterLock", DNP_WAIT_LOCK},
	{"System.Threading.SpinLock.", DNP_WAIT_LOCK},
	{"System.Threading.SemaphoreSlim.", DNP_WAIT_SEMAPHORE},
	{"System.Threading.ManualResetEventSlim.", DNP_WAIT_EVENT},
	{"System.Threading.CountdownEvent.", DNP_WAIT_EVENT},
	{"System.Threading.Barrier.", DNP_WAIT_EVENT},
	{"System.Threading.WaitHandle.", DNP_WAIT_EVENT},
	{"System.Threading.Tasks.Task.Wait", DNP_WAIT_EVENT},
	{"System.Threading.Tasks.Task.InternalWait", DNP_WAIT_EVENT},
	{"System.Threading.Tasks.Task.SpinThenBlockingWait", DNP_WAIT_EVENT},
	{"System.Threading.LowLevelLifoSemaphore.", DNP_WAIT_POOL},
	{"System.Threading.PortableThreadPool+GateThread.", DNP_WAIT_POOL},
	{"System.Threading.PortableThreadPool+WaitThread.", DNP_WAIT_POOL},
	{"System.Threading.PortableThreadPool+IOCompletionPoller.", DNP_WAIT_POOL},
	{"System.Threading.TimerQueue.TimerThread", DNP_WAIT_RUNTIME},
	{"System.Net.Sockets.SocketAsyncEngine.EventLoop", DNP_WAIT_RUNTIME},
	{"System.Net.Sockets.", DNP_WAIT_SOCKET},
	{"System.IO.Pipes.", DNP_WAIT_PIPE},
	{"System.Diagnostics.Process.WaitForExit", DNP_WAIT_PROCESS},
	{"System.GC.Collect", DNP_WAIT_GC},
	{"System.GC._Collect", DNP_WAIT_GC},
};

static bool begins_with(struct dnp_str name, const char *prefix)
{
	size_t n = strlen(prefix);

	return name.n >= n && !memcmp(name.p, prefix, n);
}

enum dnp_wait_kind dnp_wait_kind_of_method(struct dnp_str name)
{
	for (size_t i = 0; i < DNP_ARRAY_SIZE(methods); i++)
		if (begins_with(name, methods[i].prefix))
			return methods[i].kind;
	return DNP_WAIT_OTHER;
}
