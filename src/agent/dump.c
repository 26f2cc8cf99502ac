/* SPDX-License-Identifier: MIT */
#include "agent/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/frames.h"
#include "agent/unwalked.h"
#include "base/clean.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/stop.h"
#include "os/syscalls.h"
#include "os/thread.h"
#include "store/chain.h"
#include "store/intern.h"
#include "unwind/target.h"

#define INTERN_SLOTS (UINT32_C(1) << 16)
#define TRIES        5 /* at a thread that always moves */

/* For one to stop: it has to get a processor first. Less, when that was in vain for so long. */
#define PATIENCE_NS UINT64_C(1000000000)
#define IN_VAIN_NS  UINT64_C(3000000000)

struct dump {
	struct dnp_writer writer;
	struct dnp_frames *frames; /* owned */
	struct dnp_intern intern;
	dnp_frame_word *words; /* owned: one stack */
	struct dnp_chain chain;
	unsigned how;        /* enum dnp_target_how */
	uint64_t in_vain_ns; /* waited for threads that did not stop */
	int threads;
	int failed; /* -errno */
	bool (*go_on)(void *context);
	void *context;
};

/* Interns one stack, walked at time_ns; returns its leaf. */
static uint32_t put_stack(struct dump *dump, const struct dnp_target_stack *stack, uint64_t time_ns)
{
	uint32_t node = 0, below = 0;

	dnp_intern_make_room(&dump->intern, (uint32_t)stack->n);
	for (size_t i = stack->n; i-- > 0;) {
		unsigned nature = 0;
		int is_new;
		uint32_t frame = dnp_frames_of(dump->frames, stack->frames[i], time_ns, 0, &nature);
		uint32_t under = node;

		/* A method and the part of it that it calls are one frame to those who wrote it. */
		if (nature & DNP_NATURE_PART && frame == below)
			continue;
		below = frame;
		node = dnp_intern_node(&dump->intern, under, frame, &is_new);
		if (is_new)
			dnp_chain_add(&dump->chain, under, node, frame);
	}
	dnp_chain_write(&dump->chain);
	return node;
}

static void put_thread(struct dump *dump, int tid)
{
	struct dnp_thread *thread = dnp_thread_find(tid);
	const char *given = thread ? dnp_thread_given_name(thread) : NULL;
	char name[32];

	dnp_thread_name(tid, name, sizeof(name));
	dnp_write_thread(&dump->writer,
		&(struct dnp_rec_thread){
			.index = (uint64_t)dump->threads,
			.tid = (uint64_t)tid,
			.start_ns = thread ? thread->start_ns : dnp_now_ns(),
			.cpu_ns = dnp_thread_cpu_ns(tid),
			.flags = thread ? atomic_load(&thread->flags) : 0,
			.name = dnp_str(given ? given : name),
		});
}

static const char *why_not(int failed)
{
	switch (-failed) {
	case EAGAIN: return "it did not keep still";
	case ETIMEDOUT: return "it could not be stopped";
	case EFAULT: return "its stack cannot be read";
	default: return strerror(-failed);
	}
}

static const char *why_cut(enum dnp_walk_stop stop)
{
	switch (stop) {
	case DNP_STOP_END: return "";
	case DNP_STOP_DEPTH: return "deeper than is walked";
	case DNP_STOP_BAD_STACK: return "an address outside of the stack";
	case DNP_STOP_NO_RULE: return "code without unwind information";
	default: return "an address in no code that is known";
	}
}

static void put_state(
	struct dump *dump, const struct dnp_target_stack *stack, int failed, uint64_t time_ns)
{
	const char *call = stack->asleep ? dnp_syscall_name((int)stack->syscall) : NULL;

	dnp_write_thread_state(&dump->writer,
		&(struct dnp_rec_thread_state){
			.thread = (uint64_t)dump->threads,
			.time_ns = time_ns,
			.state = failed && failed != -EFAULT ? DNP_THREAD_UNSEEN
				: stack->asleep              ? DNP_THREAD_WAITING
							     : DNP_THREAD_RUNNING,
			.call = dnp_str(call),
			.call_number = stack->asleep ? stack->syscall : -1,
			.missing = dnp_str(failed ? why_not(failed) : why_cut(stack->stop)),
		});
}

static void put_sample(struct dump *dump, const struct dnp_target_stack *stack, uint64_t time_ns)
{
	unsigned flags = stack->asleep ? DNP_SAMPLE_WAITING : 0;

	if (stack->stop == DNP_STOP_DEPTH)
		flags |= DNP_SAMPLE_TRUNCATED;
	else if (stack->stop != DNP_STOP_END)
		flags |= DNP_SAMPLE_INCOMPLETE;
	dnp_write_sample_at(&dump->writer, time_ns,
		&(struct dnp_rec_sample){
			.thread = (uint64_t)dump->threads,
			.node = put_stack(dump, stack, time_ns),
			.weight = 1,
			.flags = flags,
		});
}

static int walk_once(struct dump *dump, int tid, struct dnp_target_stack *stack)
{
	const struct dnp_thread *thread = dnp_thread_find(tid);
	uint64_t begin_ns = dnp_now_ns();
	int failed = -EAGAIN;

	*stack = (struct dnp_target_stack){
		.frames = dump->words,
		.max = dnp_threads_depth(),
		.patience_ns = dump->in_vain_ns < IN_VAIN_NS ? PATIENCE_NS : 0,
		.runtime_thread = thread ? thread->managed : 0,
		.stack = thread ? dnp_thread_told_stack(thread) : (struct dnp_stack_range){0},
	};
	for (unsigned i = 0; i < TRIES && failed == -EAGAIN; i++)
		failed = dnp_target_walk(tid, NULL, dump->how, stack);
	if (failed == -ETIMEDOUT)
		dump->in_vain_ns += dnp_now_ns() - begin_ns;
	return failed;
}

/* Again, as long as code in which it ended or may have gone astray becomes known by asking. */
static int walk(struct dump *dump, int tid, struct dnp_target_stack *stack)
{
	uint32_t learnt = 0;
	int failed;

	do {
		failed = walk_once(dump, tid, stack);
		learnt = failed ? 0 : dnp_unwalked_learn(stack->frames, learnt, stack->n);
	} while (learnt && dump->go_on(dump->context));
	return failed;
}

static int dump_thread(int tid, void *context)
{
	struct dump *dump = context;
	struct dnp_target_stack stack;
	uint64_t time_ns = dnp_now_ns();
	int failed;

	if (dnp_thread_is_own(tid))
		return 0;
	failed = walk(dump, tid, &stack);
	if (failed == -ESRCH)
		return 0;
	put_thread(dump, tid);
	put_state(dump, &stack, failed, time_ns);
	if (!failed)
		put_sample(dump, &stack, time_ns);
	dump->threads++;
	if (!dump->go_on(dump->context))
		dump->failed = -ECANCELED;
	return dump->failed;
}

static void write_all(struct dump *dump)
{
	dnp_agent_write_process(&dump->writer, dnp_now_ns(), dnp_unix_ns());
	dnp_write_event(&dump->writer,
		&(struct dnp_rec_event){
			.name = dnp_str("stack"),
			.unit = dnp_str("samples"),
			.source = dnp_str("one moment"),
		});
	dnp_frames_list();
	dnp_frames_build(NULL);
	dnp_thread_each(dump_thread, dump);
	dnp_write_end(&dump->writer,
		&(struct dnp_rec_end){.time_ns = dnp_now_ns(), .reason = DNP_END_STOP});
}

static int make_room(struct dump *dump)
{
	size_t depth = dnp_threads_depth();

	dump->words = malloc(depth * sizeof(*dump->words));
	dump->frames = dnp_frames_new(&dump->writer, DNP_FRAMES_DUMP);
	dump->chain.writer = &dump->writer;
	if (!dump->words || !dump->frames)
		return -ENOMEM;
	return dnp_intern_init(&dump->intern, INTERN_SLOTS);
}

int dnp_dump_write(int fd, bool (*go_on)(void *context), void *context)
{
	struct dump dump = {.how = DNP_TARGET_ASLEEP, .go_on = go_on, .context = context};
	struct dnp_err ignored; /* then threads that run cannot be walked, which is told of each */
	int failed = dnp_writer_open(&dump.writer, fd, dnp_now_ns() ^ (uint64_t)getpid() << 32);
	int closed;

	if (failed)
		return failed;
	if (!dnp_stop_open(&ignored))
		dump.how |= DNP_TARGET_STOP;
	failed = make_room(&dump);
	if (!failed)
		write_all(&dump);
	if (dump.how & DNP_TARGET_STOP)
		dnp_stop_close();
	closed = dnp_writer_close(&dump.writer);
	dnp_frames_free(dump.frames);
	dnp_intern_done(&dump.intern);
	free(dump.words);
	if (!failed)
		failed = dump.failed ? dump.failed : closed;
	return failed ? failed : dump.threads;
}
