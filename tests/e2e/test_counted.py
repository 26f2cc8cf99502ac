# SPDX-License-Identifier: MIT
"""No sample is lost without being counted: what the kernel delivered to each thread, as another process sees it by ptrace,
against what the recording has of that thread."""
import collections
import json

import pytest

import records
from harness import DNPROF, NEWEST, NOT_SAMPLED, ROOT, dnprof, program, run

HZ = 9997
#: A thread may have one under way when its sampler stops, which is rare.
UNDER_WAY = 3


@pytest.fixture(scope="module")
def witness(tmp_path_factory):
    path = tmp_path_factory.mktemp("witness") / "witness"
    run(["gcc", "-O2", "-Wall", "-Wextra", "-o", path, ROOT / "tests/e2e/witness.c"]).expect()
    if run([path, "/dev/null", "true"]).status:
        pytest.skip("processes may not be traced here")
    return path


def delivered(path):
    """{tid: (signals of samplers, intervals they stood for)}"""
    lines = [tuple(map(int, line.split())) for line in path.read_text().splitlines()]
    return {tid: (signals, intervals) for tid, signals, intervals in lines}


def recorded(path):
    """{tid: [samples, their weights, units lost]}, and weights in all. What is shown as not sampled is no signal's."""
    tids, found, weights, no_frame, no_node = {}, collections.defaultdict(lambda: [0, 0, 0]), 0, None, None
    for name, it in records.read(path, "thread", "frame", "stack", "sample", "loss"):
        if name == "thread":
            tids[it.index] = it.tid
        elif name == "frame":
            no_frame = it.index if it.name == NOT_SAMPLED.encode() else no_frame
        elif name == "stack":
            no_node = it.first if not it.parent and records.varint(it.frames, 0)[0] == no_frame else no_node
        elif name == "loss":
            found[tids[it.thread]][2] += it.count
        else:
            weights += it.weight
            if it.node != no_node:
                found[tids[it.thread]][0] += 1
                found[tids[it.thread]][1] += it.weight
    return found, weights


@pytest.mark.parametrize("source", ["perf", "timer"])
def test_signals_are_samples_or_lost(tmp_path, witness, source):
    """To the last one: each of some 20,000 signals (timers: hundreds, as often as the kernel ticks) is one sample. Where it says
    how many intervals it stands for (a timer's overruns), the sample weighs as much."""
    out, seen = tmp_path / "out.dnp", tmp_path / "seen"
    result = run([witness, seen, DNPROF, "run", "-q", "-F", HZ, "--source", source, "-o", out, "--",
                  *program(NEWEST, "threads8", "--seconds", 2)])
    if source == "perf" and "not allowed" in result.err:
        pytest.skip("perf events are not allowed here")
    assert result.status in (0, 3) and result.truth["program"] == "threads8", result
    signals, (samples, weights) = delivered(seen), recorded(out)
    assert sum(n for n, _ in signals.values()) > (10_000 if source == "perf" else 200)
    missing = 0
    for tid, (n, intervals) in signals.items():
        taken, weight, lost = samples.get(tid, (0, 0, 0))
        gap = n - taken - lost
        missing += max(gap, 0)
        assert gap >= 0 or lost, f"thread {tid}: {n} signals, {taken} samples"
        assert source == "perf" or gap or weight + lost == intervals, f"thread {tid}: {intervals} intervals, {weight} sampled, {lost} lost"
    assert missing <= UNDER_WAY
    assert not set(samples) - set(signals), "samples of threads that had no signal"
    shown = json.loads(dnprof("report", "--json", out).stdout)["events"]["cpu"]
    assert (shown["samples"], shown["lost"]) == (weights, sum(lost for _, _, lost in samples.values()))
