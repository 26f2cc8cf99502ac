// SPDX-License-Identifier: MIT
// node read.mjs TRACE: a trace of Perfetto as its own schema has it, as JSON: the switches of each processor in the
// order of time with what readers infer from them, threads, what stands on tracks.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const protobuf = createRequire(join(here, '../../../web/package.json'))('protobufjs');
const schema = protobuf.loadSync(join(here, 'perfetto_trace.proto'));
const trace = schema.lookupType('perfetto.protos.Trace').decode(readFileSync(process.argv[2]));
const number = (value) => BigInt(value.toString());
const said = { clocks: {}, utsname: null, processes: [], threads: [], began: [], ended: [], woken: [], slices: [], tracks: [], marks: [],
  lostBefore: [], bundles: 0, discarded: 0 };

const cpus = new Map(); // → [{ ts, state, pid, comm }]

function addBundle(bundle) {
  for (const event of bundle.event) {
    const at = number(event.timestamp);
    if (event.taskNewtask) said.began.push({ at, tid: event.taskNewtask.pid, by: event.pid, name: event.taskNewtask.comm });
    if (event.schedWaking) said.woken.push({ at, tid: event.schedWaking.pid, by: event.pid });
    if (event.schedProcessFree) said.ended.push({ at, tid: event.schedProcessFree.pid });
  }
  const sched = bundle.compactSched;
  if (!sched) return;
  said.bundles++;
  const n = sched.switchTimestamp.length;
  for (const other of [sched.switchPrevState, sched.switchNextPid, sched.switchNextPrio, sched.switchNextCommIndex])
    if (other.length !== n) throw new Error(`${other.length} values for ${n} switches`);
  if (!cpus.has(bundle.cpu)) cpus.set(bundle.cpu, []);
  let at = 0n;
  for (let i = 0; i < n; i++) {
    at += number(sched.switchTimestamp[i]);
    if (i === 0 && bundle.lostEvents) said.lostBefore.push({ cpu: bundle.cpu, at });
    const name = sched.internTable[sched.switchNextCommIndex[i]];
    if (name === undefined) throw new Error(`no name ${sched.switchNextCommIndex[i]}`);
    cpus.get(bundle.cpu).push({ at, state: Number(sched.switchPrevState[i]), tid: sched.switchNextPid[i], name });
  }
}

function addTree(tree, packet) {
  for (const p of tree.processes) said.processes.push({ pid: p.pid, cmdline: p.cmdline });
  for (const t of tree.threads) said.threads.push({ at: number(packet.timestamp), tid: t.tid, pid: t.tgid, name: t.name });
}

for (const packet of trace.packet) {
  if (packet.clockSnapshot)
    for (const clock of packet.clockSnapshot.clocks) said.clocks[clock.clockId] = number(clock.timestamp);
  if (packet.systemInfo) said.utsname = packet.systemInfo.utsname;
  if (packet.processTree) addTree(packet.processTree, packet);
  if (packet.ftraceEvents) addBundle(packet.ftraceEvents);
  if (packet.trackDescriptor) {
    const { uuid, name, thread } = packet.trackDescriptor;
    said.tracks.push({ uuid: number(uuid), name, tid: thread ? Number(thread.tid) : null });
  }
  if (packet.trackEvent) {
    const { type, trackUuid, name } = packet.trackEvent;
    said.marks.push({ at: number(packet.timestamp), type, track: number(trackUuid), name });
  }
}

// As trace_processor does: in the order of time; the first switch of a processor makes no slice.
for (const [cpu, switches] of cpus) {
  switches.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  said.discarded += switches[0].tid !== 0;
  for (let i = 1; i < switches.length; i++) {
    const { at, tid, name } = switches[i];
    const next = switches[i + 1];
    if (tid !== 0) said.slices.push({ cpu, tid, name, from: at, to: next ? next.at : null, state: next ? next.state : null });
  }
}
process.stdout.write(JSON.stringify(said, (key, value) => (typeof value === 'bigint' ? Number(value) : value)));
