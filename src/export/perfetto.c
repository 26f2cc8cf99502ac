/* SPDX-License-Identifier: MIT */
/*
 * Switches as a trace of Perfetto: for each processor who had it, as if the kernel's scheduler had
 * been traced (FtraceEventBundle.compact_sched), with the threads and when they began and ended.
 *
 * An event of compact_sched is a switch to a thread and says how the one before left; of a
 * processor that our threads leave we do not know who has it next, so it is given to the idle task.
 * The first event of a processor only tells readers whom it has: that is the idle task, too, when
 * recording began. Readers sort; events of one bundle ascend.
 *
 * What is no switch stands on tracks: times in which switches are missing, by processor; why a
 * thread waited, and what it marked; and where clocks were looked at, when it was seen to have run.
 */
#include <inttypes.h>
#include <stdio.h>

#include "aggregate/spans.h"
#include "export/event.h"
#include "export/perfetto_packet.h"
#include "export/switches.h"
#include "export/tracks.h"

enum compact {
	COMPACT_TIMESTAMP = 1, /* the first absolute, others since the one before */
	COMPACT_PREV_STATE = 2,
	COMPACT_NEXT_PID = 3,
	COMPACT_NEXT_PRIO = 4,
	COMPACT_NAMES = 5,     /* intern_table */
	COMPACT_NEXT_COMM = 6, /* index in it */
};

/* How a thread leaves, as the kernel has it since 4.14. */
enum state {
	STATE_RUNNABLE = 0,
	STATE_SLEEPS = 1,  /* interruptible */
	STATE_DEAD = 0x10, /* EXIT_DEAD */
	STATE_PREEMPTED = 0x100,
};

#define BUNDLE_EVENTS 4096u
#define CLONE_THREAD  UINT64_C(0x10000)
#define PID_MAX       UINT64_C(4194304) /* Linux: ids are below it (PID_MAX_LIMIT) */
#define IDLE          UINT32_MAX        /* in place of a thread */

struct cpu {
	uint64_t number;
	/* The bundle in the making: packed fields, and the names that it has. */
	struct dnp_protobuf timestamps, states, pids, prios, comms, names;
	struct dnp_map interned; /* thread → its name's index */
	uint32_t events, named;
	uint64_t last_ns; /* of the last event */
	bool lost;        /* events before this bundle */
	/* Its present thread: until when, and how that ends. */
	bool busy;
	uint64_t until_ns;
	uint32_t how;
	size_t losses; /* those of the process up to here are told */
};

struct perfetto {
	struct dnp_packets to;
	struct dnp_map tracks; /* of threads that have one, of all processes */
	struct dnp_vec_of(struct cpu) cpus;
	struct dnp_map by_number; /* of a processor → place in cpus */
	uint64_t start_ns;        /* of the earliest process; CLOCK_MONOTONIC */
	struct dnp_tracks spans;  /* of a process */
};

/* ---- Processes and threads */

static void put_process(struct perfetto *out, const struct dnp_switch_source *source)
{
	const struct dnp_process *process = source->process;
	size_t packet = dnp_packet_open(&out->to), tree, at;

	dnp_protobuf_u64(
		&out->to.packet, PACKET_TIMESTAMP, source->switches->recording->process.start_ns);
	tree = dnp_protobuf_open(&out->to.packet, PACKET_PROCESS_TREE);
	at = dnp_protobuf_open(&out->to.packet, 1);
	dnp_protobuf_u64(&out->to.packet, 1, process->pid);
	for (size_t i = 0; i < process->command.n; i++)
		dnp_protobuf_text(&out->to.packet, 3,
			dnp_profile_string(source->profile, process->command.p[i]));
	dnp_protobuf_close(&out->to.packet, at);
	dnp_protobuf_close(&out->to.packet, tree);
	dnp_packet_close(&out->to, packet);
}

/* Threads of others stand for all that a processor does for them: an id that no thread has. */
static uint64_t tid_of(const struct dnp_switch_source *source, uint32_t number)
{
	const struct dnp_switch_thread *thread = &source->switches->threads.p[number];

	return thread->flags & DNP_THREAD_OTHERS ? PID_MAX + 1 + number : thread->tid;
}

static uint64_t pid_of(const struct dnp_switch_source *source, uint32_t number)
{
	bool others = source->switches->threads.p[number].flags & DNP_THREAD_OTHERS;

	return others ? PID_MAX : source->process->pid;
}

/* That it begins and ends: else a thread that has its id later is taken for the same. */
static void put_life(struct perfetto *out, const struct dnp_switch_source *source, uint32_t number)
{
	const struct dnp_switch_thread *thread = &source->switches->threads.p[number];
	uint64_t pid = source->process->pid;
	struct dnp_packet_event it;

	if (thread->flags & DNP_THREAD_OTHERS)
		return;
	if (!(thread->flags & DNP_THREAD_LATE) && thread->tid != pid) {
		it = dnp_packet_event_open(&out->to, thread->start_ns, pid, EVENT_NEW_TASK);
		dnp_protobuf_u64(&out->to.packet, 1, thread->tid);
		dnp_protobuf_str(&out->to.packet, 2, thread->name);
		dnp_protobuf_u64(&out->to.packet, 3, CLONE_THREAD);
		dnp_packet_event_close(&out->to, it);
	}
	if (thread->end_ns) {
		it = dnp_packet_event_open(
			&out->to, thread->end_ns, thread->tid, EVENT_PROCESS_FREE);
		dnp_protobuf_str(&out->to.packet, 1, thread->name);
		dnp_protobuf_u64(&out->to.packet, 2, thread->tid);
		dnp_packet_event_close(&out->to, it);
	}
}

/* Named a moment after it began: readers have heard of that then. */
static void put_thread(
	struct perfetto *out, const struct dnp_switch_source *source, uint32_t number)
{
	const struct dnp_switch_thread *thread = &source->switches->threads.p[number];

	put_life(out, source, number);
	dnp_packet_thread(&out->to, thread->start_ns + 1, pid_of(source, number),
		tid_of(source, number), thread->name);
}

/* ---- Beside the switches */

/* The track of a thread; described when it is first needed. */
static uint64_t track_of(
	struct perfetto *out, const struct dnp_switch_source *source, uint32_t number)
{
	const struct dnp_switch_thread *thread = &source->switches->threads.p[number];
	uint64_t track = (uint64_t)(source->number + 1) << 33 | number;

	if (dnp_map_get(&out->tracks, track) != DNP_NONE)
		return track;
	dnp_packet_thread_track(&out->to, track, source->process->pid, thread->tid, thread->name);
	if (dnp_map_set(&out->tracks, track, 0))
		out->to.error = -ENOMEM;
	return track;
}

static uint64_t loss_track_of(
	struct perfetto *out, const struct dnp_switch_source *source, uint64_t cpu)
{
	uint64_t track =
		(uint64_t)(source->number + 1) << 33 | UINT64_C(1) << 32 | (cpu & UINT32_MAX);
	char name[64];

	if (dnp_map_get(&out->tracks, track) != DNP_NONE)
		return track;
	snprintf(name, sizeof(name), "Switches lost, CPU %" PRIu64, cpu);
	dnp_packet_track(&out->to, track, name);
	if (dnp_map_set(&out->tracks, track, 0))
		out->to.error = -ENOMEM;
	return track;
}

static void put_stretch(
	struct perfetto *out, uint64_t track, uint64_t from_ns, uint64_t until_ns, const char *name)
{
	dnp_packet_track_event(&out->to, from_ns, track, TYPE_BEGIN, dnp_str(name));
	dnp_packet_track_event(&out->to, until_ns, track, TYPE_END, dnp_str(""));
}

static void put_loss(
	void *arg, const struct dnp_switch_source *source, const struct dnp_rec_switch_loss *loss)
{
	char name[64];

	snprintf(name, sizeof(name), "%" PRIu64 " lost", loss->count);
	put_stretch(
		arg, loss_track_of(arg, source, loss->cpu), loss->from_ns, loss->until_ns, name);
}

/* One of the tracks of spans: those on the same do not overlap, and none follows one without end.
 */
static uint64_t span_track_of(
	struct perfetto *out, const struct dnp_switch_source *source, const struct dnp_span *span)
{
	uint64_t end_ns = span->ended ? span->end_ns : UINT64_MAX;
	uint64_t track = (uint64_t)(source->number + 1) << 33 | UINT64_C(3) << 31;
	char name[32];
	size_t number = 0;

	if (dnp_tracks_take(&out->spans, span->begin_ns, end_ns, &number))
		out->to.error = -ENOMEM;
	track |= number;
	if (dnp_map_get(&out->tracks, track) != DNP_NONE)
		return track;
	snprintf(name, sizeof(name), "Spans %zu", number + 1);
	dnp_packet_track(&out->to, track, name);
	if (dnp_map_set(&out->tracks, track, 0))
		out->to.error = -ENOMEM;
	return track;
}

/* One that had not ended has no end there, either. */
static void put_span(void *arg, const struct dnp_switch_source *source, uint32_t thread,
	const struct dnp_span *span)
{
	struct perfetto *out = arg;
	/* In the recording's own time. */
	uint64_t base_ns =
		source->switches->recording->process.start_ns - source->process->start_ns;
	struct dnp_span_title title = dnp_span_title(source->profile, span);
	uint64_t track;

	if (span->point && thread == DNP_NONE)
		return;
	track = span->point ? track_of(out, source, thread) : span_track_of(out, source, span);
	dnp_packet_track_event(&out->to, base_ns + span->begin_ns, track,
		span->point ? TYPE_INSTANT : TYPE_BEGIN, dnp_str(title.text));
	if (span->ended)
		dnp_packet_track_event(
			&out->to, base_ns + span->end_ns, track, TYPE_END, dnp_str(""));
}

/* One that is not over lasts as long as the recording. */
static void put_wait(void *arg, const struct dnp_switch_source *source, uint32_t thread,
	const struct dnp_rec_wait *wait)
{
	uint64_t until_ns = wait->until_ns ? wait->until_ns : source->switches->end_ns;
	char name[64];

	if (until_ns <= wait->since_ns)
		return;
	snprintf(name, sizeof(name), "waits: %s", dnp_wait_name((enum dnp_wait_kind)wait->kind));
	put_stretch(arg, track_of(arg, source, thread), wait->since_ns, until_ns, name);
}

/* By whom, and when: from there on the thread could run. */
static void put_wakeup(void *arg, const struct dnp_switch_source *source, uint32_t thread,
	const struct dnp_rec_wakeup *wakeup)
{
	struct perfetto *out = arg;
	struct dnp_packet_event it;

	if (wakeup->by_name.n)
		dnp_packet_thread(
			&out->to, wakeup->time_ns, wakeup->by_pid, wakeup->by_tid, wakeup->by_name);
	it = dnp_packet_event_open(&out->to, wakeup->time_ns, wakeup->by_tid, EVENT_WAKING);
	dnp_protobuf_str(&out->to.packet, 1, source->switches->threads.p[thread].name);
	dnp_protobuf_u64(&out->to.packet, 2, source->switches->threads.p[thread].tid);
	dnp_protobuf_u64(&out->to.packet, 3, PRIO_NORMAL);
	dnp_protobuf_u64(&out->to.packet, 4, 1);
	dnp_packet_event_close(&out->to, it);
}

/* ---- Switches */

static void put_packed(struct dnp_protobuf *packet, enum compact field, struct dnp_protobuf *values)
{
	if (values->error)
		packet->error = values->error;
	dnp_protobuf_bytes(packet, field, values->bytes.p, values->bytes.n);
	values->bytes.n = 0;
}

static void put_bundle(struct perfetto *out, struct cpu *cpu)
{
	size_t packet = dnp_packet_open(&out->to), bundle, at;

	bundle = dnp_protobuf_open(&out->to.packet, PACKET_FTRACE_EVENTS);
	dnp_protobuf_u64(&out->to.packet, BUNDLE_CPU, cpu->number);
	if (cpu->lost)
		dnp_protobuf_u64(&out->to.packet, BUNDLE_LOST, 1);
	at = dnp_protobuf_open(&out->to.packet, BUNDLE_COMPACT);
	put_packed(&out->to.packet, COMPACT_TIMESTAMP, &cpu->timestamps);
	put_packed(&out->to.packet, COMPACT_PREV_STATE, &cpu->states);
	put_packed(&out->to.packet, COMPACT_NEXT_PID, &cpu->pids);
	put_packed(&out->to.packet, COMPACT_NEXT_PRIO, &cpu->prios);
	put_packed(&out->to.packet, COMPACT_NEXT_COMM, &cpu->comms);
	dnp_protobuf_append(&out->to.packet, &cpu->names);
	dnp_protobuf_close(&out->to.packet, at);
	dnp_protobuf_close(&out->to.packet, bundle);
	dnp_packet_close(&out->to, packet);
	cpu->names.bytes.n = 0;
	cpu->events = cpu->named = 0;
	cpu->lost = false;
	dnp_map_done(&cpu->interned);
}

/* The index of a thread's name in the bundle. */
static uint32_t intern(struct perfetto *out, struct cpu *cpu, uint32_t thread, struct dnp_str name)
{
	uint32_t number = dnp_map_get(&cpu->interned, thread);

	if (number != DNP_NONE)
		return number;
	dnp_protobuf_str(&cpu->names, COMPACT_NAMES, name);
	if (dnp_map_set(&cpu->interned, thread, cpu->named))
		out->to.error = -ENOMEM;
	return cpu->named++;
}

static void put_switch(struct perfetto *out, struct cpu *cpu,
	const struct dnp_switch_source *source, uint64_t time_ns, enum state state, uint32_t thread)
{
	struct dnp_str name = dnp_str("swapper");
	uint64_t tid = 0;

	if (thread != IDLE) {
		name = source->switches->threads.p[thread].name;
		tid = tid_of(source, thread);
	}
	dnp_protobuf_varint(&cpu->timestamps, cpu->events ? time_ns - cpu->last_ns : time_ns);
	dnp_protobuf_varint(&cpu->states, state);
	dnp_protobuf_varint(&cpu->pids, tid);
	dnp_protobuf_varint(&cpu->prios, PRIO_NORMAL);
	dnp_protobuf_varint(&cpu->comms, intern(out, cpu, thread, name));
	cpu->last_ns = time_ns;
	if (++cpu->events == BUNDLE_EVENTS)
		put_bundle(out, cpu);
}

/* Losses of the processor up to a time: the next bundle tells of them. */
static void pass_losses(struct perfetto *out, struct cpu *cpu, const struct dnp_switches *switches,
	uint64_t time_ns)
{
	for (; cpu->losses < switches->losses.n; cpu->losses++) {
		const struct dnp_rec_switch_loss *loss = &switches->losses.p[cpu->losses];

		if (loss->cpu != cpu->number)
			continue;
		if (loss->until_ns > time_ns)
			break;
		if (cpu->events)
			put_bundle(out, cpu);
		cpu->lost = true;
	}
}

static enum state state_of(uint32_t how)
{
	switch (how) {
	case DNP_SLICE_PREEMPTED: return STATE_PREEMPTED;
	case DNP_SLICE_ENDED: return STATE_DEAD;
	default: return STATE_SLEEPS; /* it waits; or that is not known */
	}
}

/* NULL: no memory. */
static struct cpu *cpu_of(
	struct perfetto *out, const struct dnp_switch_source *source, uint32_t number)
{
	uint32_t place = dnp_map_get(&out->by_number, number);
	struct cpu *cpu;

	if (place != DNP_NONE)
		return &out->cpus.p[place];
	place = (uint32_t)out->cpus.n;
	if (dnp_vec_push(&out->cpus, (struct cpu){.number = number}) ||
		dnp_map_set(&out->by_number, number, place)) {
		out->to.error = -ENOMEM;
		return NULL;
	}
	cpu = &out->cpus.p[place];
	put_switch(out, cpu, source, out->start_ns, STATE_RUNNABLE, IDLE);
	return cpu;
}

/* Its thread leaves, at the latest at that time; true: right then, for the next one. */
static bool leave(struct perfetto *out, struct cpu *cpu, const struct dnp_switch_source *source,
	uint64_t latest_ns)
{
	if (!cpu->busy || cpu->until_ns >= latest_ns)
		return cpu->busy;
	put_switch(out, cpu, source, cpu->until_ns, state_of(cpu->how), IDLE);
	return false;
}

static void put_slice(void *arg, const struct dnp_switch_source *source, uint32_t thread,
	const struct dnp_slice_at *slice)
{
	struct perfetto *out = arg;
	uint64_t start_ns = slice->start_ns;
	struct cpu *cpu;
	bool follows;

	if (!dnp_slice_has_cpu(slice)) {
		put_stretch(out, track_of(out, source, thread), slice->start_ns, slice->end_ns,
			slice->how == DNP_SLICE_SAMPLED ? "ran at some time" : "ran");
		return;
	}
	cpu = cpu_of(out, source, slice->cpu);
	if (!cpu)
		return;
	if (start_ns < cpu->last_ns) /* of a recording that is damaged */
		start_ns = cpu->last_ns;
	follows = leave(out, cpu, source, start_ns);
	pass_losses(out, cpu, source->switches, start_ns);
	put_switch(
		out, cpu, source, start_ns, follows ? state_of(cpu->how) : STATE_RUNNABLE, thread);
	cpu->busy = true;
	cpu->until_ns = slice->end_ns > start_ns ? slice->end_ns : start_ns;
	cpu->how = slice->how;
}

/* ---- A process */

static void begin(void *arg, const struct dnp_switch_source *source)
{
	struct perfetto *out = arg;
	const struct dnp_switches *switches = source->switches;

	if (!source->number) {
		dnp_packet_clocks(&out->to, out->start_ns, source->profile->start_unix_ns);
		dnp_packet_system(
			&out->to, dnp_profile_string(source->profile, source->process->os));
	}
	put_process(out, source);
	for (uint32_t i = 0; i < switches->threads.n; i++)
		if (switches->threads.p[i].wanted)
			put_thread(out, source, i);
	for (size_t i = 0; i < out->cpus.n; i++)
		out->cpus.p[i].losses = 0;
	dnp_tracks_done(&out->spans);
}

/* A thread that has its processor still when the recording ends does not leave it. */
static void end(void *arg, const struct dnp_switch_source *source)
{
	struct perfetto *out = arg;

	for (size_t i = 0; i < out->cpus.n; i++) {
		struct cpu *cpu = &out->cpus.p[i];

		if (cpu->busy && cpu->how != DNP_SLICE_RUNS)
			leave(out, cpu, source, UINT64_MAX);
		cpu->busy = false;
		if (cpu->events)
			put_bundle(out, cpu);
		cpu->last_ns = 0; /* the next process may have begun before */
	}
}

static void perfetto_done(struct perfetto *out)
{
	for (size_t i = 0; i < out->cpus.n; i++) {
		struct cpu *cpu = &out->cpus.p[i];

		dnp_vec_done(&cpu->timestamps.bytes);
		dnp_vec_done(&cpu->states.bytes);
		dnp_vec_done(&cpu->pids.bytes);
		dnp_vec_done(&cpu->prios.bytes);
		dnp_vec_done(&cpu->comms.bytes);
		dnp_vec_done(&cpu->names.bytes);
		dnp_map_done(&cpu->interned);
	}
	dnp_vec_done(&out->cpus);
	dnp_tracks_done(&out->spans);
	dnp_packets_done(&out->to);
	dnp_map_done(&out->tracks);
	dnp_map_done(&out->by_number);
}

static uint64_t earliest(const struct dnp_profile *profile, const struct dnp_input *input)
{
	uint64_t start_ns = UINT64_MAX;

	for (size_t i = 0; input && i < profile->processes.n; i++)
		if (input->recordings.p[i].process.start_ns < start_ns)
			start_ns = input->recordings.p[i].process.start_ns;
	return start_ns;
}

static int write_perfetto(const struct dnp_profile *profile,
	const struct dnp_export_options *options, struct dnp_sink *sink, struct dnp_err *err)
{
	static const struct dnp_switch_format format = {
		.begin = begin,
		.slice = put_slice,
		.loss = put_loss,
		.wait = put_wait,
		.wakeup = put_wakeup,
		.span = put_span,
		.end = end,
	};
	struct perfetto out = {.to.sink = sink, .start_ns = earliest(profile, options->input)};
	int status = dnp_switches_write(profile, options, &format, &out, sink, err);

	if (!status && out.to.error)
		status = dnp_err(
			err, out.to.error, "cannot write the switches: out of memory; free some");
	perfetto_done(&out);
	return status;
}

const struct dnp_exporter dnp_export_perfetto = {
	.name = "perfetto",
	.extensions = ".pftrace .perfetto-trace .perfetto",
	.switches = true,
	.write = write_perfetto,
};
