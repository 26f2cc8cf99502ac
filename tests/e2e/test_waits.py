# SPDX-License-Identifier: MIT
"""-e switch: what threads wait for, on which stacks, against programs whose waits are known."""
import collections
import json
import re

import pytest

import records
from harness import LOOSE, NEWEST, cases, dnprof, dnprof_again, is_sequence, program, refused, report
from test_doctor import refuse_perf_events
from test_stack import names, stacks_when, waits, while_they_sleep

MANAGED, R2R = 2, 3  # DNP_FRAME_...

KINDS = ["other", "lock", "sleep", "socket", "file", "pipe", "gc", "pool", "event", "semaphore", "join", "process",
         "runtime"]

# Of each thread of the program `waits`: what it waits for, the system call, and the program's own method.
WAITS = {
    "sleep": ("sleep", "futex", "Truth.Waits.Sleep"),
    "lock": ("lock", "futex", "Truth.Waits.Lock"),
    "event": ("event", "futex", "Truth.Waits.Event"),
    "semaphore": ("semaphore", "futex", "Truth.Waits.Semaphore"),
    "socket": ("socket", "recv(msg|from)", "Truth.Waits.Receive"),
    "pipe": ("pipe", "read", "Truth.Waits.Read"),
    "file": ("file", "flock", "Truth.Waits.TakeFile"),
}


def record(tmp_path, argv, *options, name="waits.dnp", **more):
    out = tmp_path / name
    result = dnprof_again("run", "-q", "-e", "switch", *options, "-o", out, "--", *argv, **more).expect()
    return result, out


class Recorded:
    """Threads, slices, waits and stacks of a recording, as they stand there."""

    def __init__(self, path):
        self.names, self.gaps, self.waits = {}, collections.defaultdict(list), collections.defaultdict(list)
        self.stats, self.weight, self.samples = None, collections.Counter(), collections.defaultdict(list)
        self.nodes, frames, ends, events, time_ns = {}, {}, {}, {}, 0
        for name, it in records.read(path, "event", "thread", "thread_name", "slices", "wait", "wait_stats", "stack",
                                     "frame", "base", "sample"):
            if name == "event":
                events[it.index] = it.name
            elif name == "thread":
                self.names[it.index] = it.name.decode()
            elif name == "thread_name":
                self.names[it.thread] = it.name.decode()
            elif name == "frame":
                frames[it.index] = (it.name.decode(), it.kind)
            elif name == "stack":
                self.take_stack(it, frames)
            elif name == "wait":
                self.waits[it.thread].append(it)
            elif name == "wait_stats":
                self.stats = it
            elif name == "base":
                time_ns = it.time_ns
            elif name == "sample":
                time_ns += it.delta_ns
                if events[it.event] == b"wait":
                    self.weight[it.thread] += it.weight
                else:
                    self.samples[it.thread].append((time_ns, it.node))
            elif name == "slices":
                for begin, end, _, how in records.slices(it):
                    if it.thread in ends:
                        self.gaps[it.thread].append((ends[it.thread], begin))
                    ends[it.thread] = end

    def take_stack(self, it, frames):
        at, parent, node = 0, it.parent, it.first
        while at < len(it.frames):
            frame, at = records.varint(it.frames, at)
            self.nodes[node] = (parent, *frames[frame])
            parent, node = node, node + 1

    def stack(self, node):
        """The outermost frame first."""
        return [name.split("(")[0] for name, _ in self.frames(node)]

    def frames(self, node):
        """(name, kind) of each frame, the outermost first."""
        found = []
        while node:
            node, name, kind = self.nodes[node]
            found.append((name, kind))
        return found[::-1]

    def managed(self, node):
        """Those that the runtime walks: methods, and no stubs."""
        return [name for name, kind in self.frames(node) if kind in (MANAGED, R2R)]

    def of(self, name):
        """(index, waits) of the thread of that name."""
        index = next(i for i, n in self.names.items() if n == name)
        return index, self.waits[index]


@pytest.mark.measured
def test_known_waits(tmp_path, tfm):
    """Each kind of wait: when it began and ended, what for, in what call, and on which managed stack."""
    result, path = record(tmp_path, program(tfm, "waits", "--seconds", 2))
    recorded = Recorded(path)
    found = managed = 0
    for name, (kind, call, method) in WAITS.items():
        index, seen = recorded.of(name)
        assert seen, (name, result.truth["laps"])
        # A machine that is busy makes threads wait elsewhere, too; the program's way is the usual one.
        right = [w for w in seen if KINDS[w.kind] == kind and re.fullmatch(call, w.call.decode())]
        assert len(right) >= (1 - LOOSE * 0.2) * len(seen), (
            name, [(KINDS[w.kind], w.call, recorded.stack(w.node)) for w in seen])
        for wait in right:
            stack = recorded.stack(wait.node)
            found += 1
            managed += is_sequence(stack, "Truth.Crew.Run", method) or method in stack
        # To the nanosecond what the switches say.
        gaps = set(recorded.gaps[index])
        ended = [(w.since_ns, w.until_ns) for w in seen if w.until_ns]
        assert len(set(ended)) == len(ended) and len(set(ended) - gaps) <= 1, (name, set(ended) - gaps)
        assert all(until - since >= 5e6 for since, until in ended)
        assert recorded.weight[index] >= sum(until - since for since, until in ended)
    assert managed >= (1 - LOOSE * 0.05) * found, (managed, found)


@pytest.mark.measured
def test_as_the_runtime_walks_it(tmp_path, tfm):
    """In the same waits, whatever they are for, the runtime's own walk of the suspended program gives the same managed
    frames, one for one. It takes turns of 10 ms; what it has walked in the third one of a wait it has walked in that."""
    path = tmp_path / "both.dnp"
    dnprof_again("run", "-q", "-e", "wall,switch", "--engine", "snapshot", "-F", 97, "-o", path, "--",
           *program(tfm, "waits", "--seconds", 2)).expect()
    recorded = Recorded(path)
    compared, differences = collections.Counter(), []
    for name, (kind, _, method) in WAITS.items():
        index, seen = recorded.of(name)
        for wait in seen:
            if KINDS[wait.kind] != kind or not wait.until_ns:
                continue
            ours = recorded.managed(wait.node)
            for time_ns, node in recorded.samples[index]:
                if not wait.since_ns + 25e6 < time_ns < wait.until_ns:
                    continue
                compared[name] += 1
                theirs = recorded.managed(node)
                if ours != theirs or not is_sequence(ours, method):
                    differences.append((name, ours, theirs))
    assert not differences, (len(differences), compared, differences[:3])
    assert set(compared) == set(WAITS), compared


#: No collections but those that are asked for: the youngest generation may have a gigabyte.
LARGE = {"DOTNET_GCgen0size": "40000000"}


def within(wait, spans):
    """The span of time that a wait began in."""
    return next((s for s in spans if s["begin_ns"] <= wait.since_ns <= s["end_ns"]), None)


@pytest.mark.measured
@pytest.mark.parametrize("server", cases(["0", "1"], ["0", "1"], ["1"]))
def test_collections(tmp_path, tfm, server):
    """Who is stopped for a collection waits for that, and nobody else does, whatever the collector does meanwhile."""
    for i in range(3):  # on a machine that is very busy memory may run out, so that there are others
        result, path = record(tmp_path, program(tfm, "collections", "--seconds", 2), name=f"{i}.dnp",
                              env={**LARGE, "DOTNET_gcServer": server})
        truth, recorded = result.truth, Recorded(path)
        spans = truth["collections"]
        if truth["all"] == sum(s["count"] for s in spans):
            break
    else:
        pytest.fail("collections that nobody asked for")
    stopping, background = ([s for s in spans if s["background"] == which] for which in (False, True))
    for index, waits in recorded.waits.items():
        for wait in waits:
            if KINDS[wait.kind] == "gc" and wait.since_ns >= spans[0]["begin_ns"]:
                assert within(wait, spans), (recorded.names[index], wait, recorded.stack(wait.node))
    # Whom the runtime holds it tells of; who wants memory meanwhile is known once it has told of one (docs/timeline.md).
    held = min(wait.until_ns for name in ("spin", "native") for wait in recorded.of(name)[1]
               if KINDS[wait.kind] == "gc" and wait.until_ns)
    for name, method in ("spin", "Spin"), ("native", "Native"), ("alloc", "Allocate"):
        _, waits = recorded.of(name)
        # On a busy machine one may be on its way still when the first collection begins.
        stopped = [wait for wait in waits if within(wait, stopping) and (name != "alloc" or wait.since_ns >= held)
                   and f"Truth.Collections.{method}" in recorded.stack(wait.node)]
        others = [(wait, within(wait, stopping), recorded.stack(wait.node)) for wait in stopped if KINDS[wait.kind] != "gc"]
        assert stopped and not others, f"{name} {len(stopped)} {held} {others}"
    locks = [w for w in recorded.of("lock")[1] if w.until_ns - w.since_ns >= 20e6]
    for some in ([w for w in locks if within(w, background)], [w for w in locks if not within(w, spans)]):
        kinds = collections.Counter(KINDS[wait.kind] for wait in some)
        assert kinds["lock"] >= (1 - LOOSE * 0.2) * len(some) > 0, kinds


@pytest.mark.slow
def test_as_seen_when_it_stands(tmp_path, tfm):
    """Frame for frame the stacks that `dnprof stack` shows of the same threads, which go on waiting."""
    kinds = ["sleep", "wait", "event", "task", "accept"]
    methods = {"sleep": "Sleep", "wait": "Wait", "event": "Event", "task": "Task", "accept": "Accept"}

    def asleep(stacks):
        return all(len([t for t in stacks.named(f"{kind}-[0-9]+") if waits(t, "Truth.Sleepers." + methods[kind])]) == 20
                   for kind in kinds)
    stacks = while_they_sleep(tmp_path, tfm, lambda pid: stacks_when(pid, asleep, "all threads asleep"), "-e", "switch")
    paths = collections.defaultdict(set)
    for path, _ in report(tmp_path / "out.dnp", options=("-e", "wait", "-n", 0)).stacks():
        paths[next((n for n in path if n.startswith("Truth.Sleepers.")), None)].add(path)
    for kind in kinds:
        wanted = {tuple(names(t)) for t in stacks.named(f"{kind}-[0-9]+")}
        seen = {path for found in paths.values() for path in found if f"Truth.Sleepers.{methods[kind]}" in
                [n.split("(")[0] for n in path]}
        assert len(wanted & seen) >= 1 and not wanted - seen, (kind, wanted - seen, seen)


def test_report_of_waits(tmp_path):
    """The table by kind, as text and JSON; the tree and stacks of an event of its own."""
    _, path = record(tmp_path, program(NEWEST, "waits", "--seconds", 1))
    data = json.loads(dnprof("report", "--json", "-e", "switch", path).expect().stdout)
    threads = {t["name"]: t for t in data["threads"]}
    for name, (kind, _, _) in WAITS.items():
        kinds = {w["kind"]: w for w in threads[name]["waits"]}
        assert kinds[kind]["count"] >= 1 and kinds[kind]["longest_ns"] <= kinds[kind]["ns"], kinds
        assert sum(w["ns"] for w in kinds.values()) <= threads[name]["blocked_ns"] + threads[name]["preempted_ns"] + 1e8
    wait = data["events"]["wait"]
    assert wait["unit"] == "ns" and wait["least_ns"] == 5_000_000
    waited = json.loads(dnprof("report", "--json", "-e", "wait", path).expect().stdout)["threads"]
    assert sum(t["waiting_ns"] for t in waited) > 0
    assert all((t["waiting_ns"], t["running_ns"]) == (t["waiting"], t["running"]) for t in waited)
    assert 0 < wait["seen"] <= wait["waits"] + len(data["threads"])
    text = dnprof("report", "-e", "switch", path).expect().out
    assert "Waits whose stacks are known (-e wait)" in text
    assert re.search(r"^ +[\d.]+ m?s +\d+ +\d+ ms   semaphore +\d+   semaphore$", text, re.M), text
    tree = dnprof("report", "-e", "wait", path).expect().out
    assert re.search(r"^  stacks of [\d,]+ of [\d,]+ waits that took 5 ms or longer and ended", tree, re.M)
    assert "Truth.Waits.Semaphore()" in tree
    dnprof("report", "-e", "wait", "-o", tmp_path / "w.collapsed", path).expect()
    lines = (tmp_path / "w.collapsed").read_text().splitlines()
    total = sum(int(line.rpartition(" ")[2]) for line in lines if not line.startswith("#"))
    assert total == sum(root["total"] for root in report(path, options=("-e", "wait")).roots())


def test_collapsed_at_once(tmp_path):
    out = tmp_path / "w.collapsed"
    dnprof("run", "-q", "-e", "switch", "-o", out, "--", *program(NEWEST, "waits", "--seconds", 0.5)).expect()
    assert "Truth.Waits.Give(" in out.read_text()


def test_as_long_as_asked_for(tmp_path):
    """None of them without being asked for; only longer ones."""
    _, path = record(tmp_path, program(NEWEST, "waits", "--seconds", 0.5), "--wait", 0)
    data = report(path).data
    assert list(data["events"]) == ["switch"] and not any(t["waits"] for t in data["threads"])
    _, path = record(tmp_path, program(NEWEST, "waits", "--seconds", 1), "--wait", "1s", name="long.dnp")
    threads = {t["name"]: t for t in report(path).data["threads"]}
    assert not any(w["count"] for w in threads["sleep"]["waits"] if w["longest_ns"] < 1e9)
    assert {w["kind"] for w in threads[".NET Finalizer"]["waits"]} == {"runtime"}
    for value, words in (("soon", "not a time"), ("5", "not a time"), ("10us", "out of range")):
        refused(dnprof("run", "-e", "switch", "--wait", value, "true"), 2, words)
    refused(dnprof("run", "--wait", "5ms", "true"), 2, "--wait is about switches")
    refused(dnprof("run", "-e", "switch", "--wait", 0, "-o", tmp_path / "x.collapsed", "true"), 2, "switches have none")


def test_where_perf_events_are_forbidden(tmp_path):
    """The clocks that are looked at then say since when."""
    _, path = record(tmp_path, program(NEWEST, "waits", "--seconds", 1), preexec_fn=refuse_perf_events)
    data = report(path, options=("-e", "switch")).data
    assert data["events"]["switch"]["sampled"]
    threads = {t["name"]: t for t in data["threads"]}
    for name, (kind, _, _) in WAITS.items():
        assert kind in {w["kind"] for w in threads[name]["waits"]}, threads[name]


