/* SPDX-License-Identifier: MIT */
/*
 * Packets of a trace of Perfetto, one at a time, and those of them that are always alike. Numbers
 * of fields are those of perfetto_trace.proto (github.com/google/perfetto, protos/).
 */
#ifndef DNP_EXPORT_PERFETTO_PACKET_H
#define DNP_EXPORT_PERFETTO_PACKET_H

#include "base/protobuf.h"
#include "base/sink.h"
#include "base/str.h"

enum dnp_perfetto_field {
	PACKET_FTRACE_EVENTS = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10, /* trusted_packet_sequence_id */
	PACKET_TRACK_EVENT = 11,
	PACKET_SYSTEM_INFO = 45,
	PACKET_TRACK_DESCRIPTOR = 60,
};

enum dnp_perfetto_bundle {
	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	BUNDLE_LOST = 3, /* lost_events: some before the first of this bundle */
	BUNDLE_COMPACT = 4,
};

/* Events of the kernel's. */
enum dnp_perfetto_event {
	EVENT_TIMESTAMP = 1,
	EVENT_PID = 2,
	EVENT_WAKING = 20,
	EVENT_NEW_TASK = 235,
	EVENT_PROCESS_FREE = 240,
};

enum dnp_perfetto_track_event { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };

#define PRIO_NORMAL 120u

struct dnp_packets {
	struct dnp_sink *sink;      /* borrowed */
	struct dnp_protobuf packet; /* the one in the making */
	int error;                  /* -ENOMEM: what was written means nothing */
};

void dnp_packets_done(struct dnp_packets *out);

/* What is put into out->packet in between is a packet's. */
size_t dnp_packet_open(struct dnp_packets *out);
void dnp_packet_close(struct dnp_packets *out, size_t opened);

/* An event of the kernel's on processor 0, by that thread; its own fields come in between. */
struct dnp_packet_event {
	size_t packet, bundle, event, kind;
};
struct dnp_packet_event dnp_packet_event_open(
	struct dnp_packets *out, uint64_t time_ns, uint64_t tid, enum dnp_perfetto_event kind);
void dnp_packet_event_close(struct dnp_packets *out, struct dnp_packet_event it);

/* Times are CLOCK_MONOTONIC, which stands in the place of the usual CLOCK_BOOTTIME. */
void dnp_packet_clocks(struct dnp_packets *out, uint64_t time_ns, uint64_t unix_ns);
/* "Linux 6.18.1": by it readers understand how threads left. */
void dnp_packet_system(struct dnp_packets *out, const char *os);

/* A thread of a process, known from that time on. */
void dnp_packet_thread(
	struct dnp_packets *out, uint64_t time_ns, uint64_t pid, uint64_t tid, struct dnp_str name);

/* A track of its own, or one of a thread; and what happens on it. A name that is empty: none. */
void dnp_packet_track(struct dnp_packets *out, uint64_t track, const char *name);
void dnp_packet_thread_track(
	struct dnp_packets *out, uint64_t track, uint64_t pid, uint64_t tid, struct dnp_str name);
void dnp_packet_track_event(struct dnp_packets *out, uint64_t time_ns, uint64_t track,
	enum dnp_perfetto_track_event type, struct dnp_str name);

#endif
