/* SPDX-License-Identifier: MIT */
#include "export/perfetto_packet.h"

#define TRACE_PACKET 1
#define SEQUENCE     1u

enum clock { CLOCK_IS_REALTIME = 1, CLOCK_IS_MONOTONIC = 3, CLOCK_IS_BOOTTIME = 6 };

void dnp_packets_done(struct dnp_packets *out)
{
	dnp_vec_done(&out->packet.bytes);
}

size_t dnp_packet_open(struct dnp_packets *out)
{
	out->packet.bytes.n = 0;
	return dnp_protobuf_open(&out->packet, TRACE_PACKET);
}

void dnp_packet_close(struct dnp_packets *out, size_t opened)
{
	dnp_protobuf_u64(&out->packet, PACKET_SEQUENCE, SEQUENCE);
	dnp_protobuf_close(&out->packet, opened);
	if (out->packet.error)
		out->error = out->packet.error;
	else
		dnp_sink_write(out->sink, out->packet.bytes.p, out->packet.bytes.n);
}

struct dnp_packet_event dnp_packet_event_open(
	struct dnp_packets *out, uint64_t time_ns, uint64_t tid, enum dnp_perfetto_event kind)
{
	struct dnp_packet_event it;

	it.packet = dnp_packet_open(out);
	it.bundle = dnp_protobuf_open(&out->packet, PACKET_FTRACE_EVENTS);
	dnp_protobuf_u64(&out->packet, BUNDLE_CPU, 0);
	it.event = dnp_protobuf_open(&out->packet, BUNDLE_EVENT);
	dnp_protobuf_u64(&out->packet, EVENT_TIMESTAMP, time_ns);
	dnp_protobuf_u64(&out->packet, EVENT_PID, tid);
	it.kind = dnp_protobuf_open(&out->packet, kind);
	return it;
}

void dnp_packet_event_close(struct dnp_packets *out, struct dnp_packet_event it)
{
	dnp_protobuf_close(&out->packet, it.kind);
	dnp_protobuf_close(&out->packet, it.event);
	dnp_protobuf_close(&out->packet, it.bundle);
	dnp_packet_close(out, it.packet);
}

static void put_clock(struct dnp_protobuf *packet, enum clock clock, uint64_t time_ns)
{
	size_t at = dnp_protobuf_open(packet, 1);

	dnp_protobuf_u64(packet, 1, clock);
	dnp_protobuf_u64(packet, 2, time_ns);
	dnp_protobuf_close(packet, at);
}

void dnp_packet_clocks(struct dnp_packets *out, uint64_t time_ns, uint64_t unix_ns)
{
	size_t packet = dnp_packet_open(out);
	size_t at = dnp_protobuf_open(&out->packet, PACKET_CLOCK_SNAPSHOT);

	put_clock(&out->packet, CLOCK_IS_BOOTTIME, time_ns);
	put_clock(&out->packet, CLOCK_IS_MONOTONIC, time_ns);
	put_clock(&out->packet, CLOCK_IS_REALTIME, unix_ns);
	dnp_protobuf_close(&out->packet, at);
	dnp_packet_close(out, packet);
}

void dnp_packet_system(struct dnp_packets *out, const char *os)
{
	const char *blank = strchr(os, ' ');
	size_t packet = dnp_packet_open(out);
	size_t at = dnp_protobuf_open(&out->packet, PACKET_SYSTEM_INFO);
	size_t utsname = dnp_protobuf_open(&out->packet, 1);

	dnp_protobuf_str(
		&out->packet, 1, (struct dnp_str){os, blank ? (size_t)(blank - os) : strlen(os)});
	dnp_protobuf_text(&out->packet, 3, blank ? blank + 1 : "");
	dnp_protobuf_close(&out->packet, utsname);
	dnp_protobuf_close(&out->packet, at);
	dnp_packet_close(out, packet);
}

void dnp_packet_thread(
	struct dnp_packets *out, uint64_t time_ns, uint64_t pid, uint64_t tid, struct dnp_str name)
{
	size_t packet = dnp_packet_open(out), tree, at;

	dnp_protobuf_u64(&out->packet, PACKET_TIMESTAMP, time_ns);
	tree = dnp_protobuf_open(&out->packet, PACKET_PROCESS_TREE);
	at = dnp_protobuf_open(&out->packet, 2);
	dnp_protobuf_u64(&out->packet, 1, tid);
	dnp_protobuf_str(&out->packet, 2, name);
	dnp_protobuf_u64(&out->packet, 3, pid);
	dnp_protobuf_close(&out->packet, at);
	dnp_protobuf_close(&out->packet, tree);
	dnp_packet_close(out, packet);
}

void dnp_packet_track(struct dnp_packets *out, uint64_t track, const char *name)
{
	size_t packet = dnp_packet_open(out);
	size_t at = dnp_protobuf_open(&out->packet, PACKET_TRACK_DESCRIPTOR);

	dnp_protobuf_u64(&out->packet, 1, track);
	dnp_protobuf_text(&out->packet, 2, name);
	dnp_protobuf_close(&out->packet, at);
	dnp_packet_close(out, packet);
}

void dnp_packet_thread_track(
	struct dnp_packets *out, uint64_t track, uint64_t pid, uint64_t tid, struct dnp_str name)
{
	size_t packet = dnp_packet_open(out);
	size_t at = dnp_protobuf_open(&out->packet, PACKET_TRACK_DESCRIPTOR), of;

	dnp_protobuf_u64(&out->packet, 1, track);
	of = dnp_protobuf_open(&out->packet, 4);
	dnp_protobuf_u64(&out->packet, 1, pid);
	dnp_protobuf_u64(&out->packet, 2, tid);
	dnp_protobuf_str(&out->packet, 5, name);
	dnp_protobuf_close(&out->packet, of);
	dnp_protobuf_close(&out->packet, at);
	dnp_packet_close(out, packet);
}

void dnp_packet_track_event(struct dnp_packets *out, uint64_t time_ns, uint64_t track,
	enum dnp_perfetto_track_event type, struct dnp_str name)
{
	size_t packet = dnp_packet_open(out), at;

	dnp_protobuf_u64(&out->packet, PACKET_TIMESTAMP, time_ns);
	at = dnp_protobuf_open(&out->packet, PACKET_TRACK_EVENT);
	dnp_protobuf_u64(&out->packet, 9, type);
	dnp_protobuf_u64(&out->packet, 11, track);
	if (name.n)
		dnp_protobuf_str(&out->packet, 23, name);
	dnp_protobuf_close(&out->packet, at);
	dnp_packet_close(out, packet);
}
