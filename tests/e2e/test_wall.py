# SPDX-License-Identifier: MIT
"""Time that passes, by thread and by method, against what the programs measured themselves; and that
nobody is woken up for it."""
import collections
import os
import re
import signal
import sys

import pytest

import attached
from harness import (DNPROF, LOOSE, NEWEST, READY, cases, chance, check_whole, dnprof, dnprof_again, is_sequence, program, report,
                     shares, start, tasks_named, thread_names, wait_for, wait_for_samples)

HZ = 199


def record(tmp_path, argv, *, hz=HZ, events="wall", shown="wall", **more):
    """(What the program left behind, the report of the event that is asked for.)"""
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", events, "-F", hz, "-o", out, "--", *argv, **more).expect()
    return result, report(out, options=("-e", shown, "-n", 0))


def event(report, name="wall"):
    return report.data["events"][name]


def time_by_thread(report):
    return {name: n * event(report)["interval_ns"] for name, n in report.threads().items()}


def assert_read(report, promise=0.01):
    """Nearly all stacks could be taken, and are whole."""
    part = LOOSE * promise
    report.check_few_lost()
    assert event(report)["failed"] <= part * event(report)["samples"], event(report)
    assert report.incomplete() <= 2 * part * event(report)["samples"]


@pytest.mark.measured
def test_each_thread_counts_the_same(tmp_path, tfm):
    """Two hundred threads that wait and two that work as well: each has samples for as long as it lived."""
    result, report = record(tmp_path, program(tfm, "wall", "--seconds", 3))
    least, most = result.truth["threads"], result.truth["threads_at_most"]
    seen = time_by_thread(report)
    assert len(least) == 202
    # What the rounding of weights leaves open: two intervals at most.
    open_ns, part = LOOSE * 2 * event(report)["interval_ns"], LOOSE * 0.02
    for name in least:
        assert least[name] * (1 - part) - open_ns <= seen.get(name, 0) <= most[name] * (1 + part) + open_ns, name
    assert list(report.data["events"]) == ["wall"]
    assert_read(report)


@pytest.mark.measured
def test_what_threads_wait_for(tmp_path, tfm):
    """The stacks of sleepers, with the managed methods that sent them to sleep."""
    _, report = record(tmp_path, program(tfm, "sleepers", "--seconds", 1))
    for stack in (["Truth.Sleepers.Sleep", "System.Threading.Thread.Sleep"],
                  ["Truth.Sleepers.Wait", "System.Threading.Monitor.Wait"],
                  ["Truth.Sleepers.Event", "System.Threading.ManualResetEventSlim.Wait"],
                  ["Truth.Sleepers.Task", "System.Threading.Tasks.Task.Wait"],
                  ["Truth.Sleepers.Accept", "System.Net.Sockets.Socket.Accept"],
                  ["Truth.Sleepers.Natively", re.compile(r"libc\.so\.6!")]):
        found = report.with_frame(stack[0])
        right = sum(n for path, n in found if is_sequence(path, "Truth.Program.Main", *stack)
                    or is_sequence(path, *stack))
        assert right > (1 - LOOSE * 0.05) * sum(n for _, n in found) > 0, stack
    waiting = event(report)["waiting"] / event(report)["samples"]
    assert 1 - LOOSE * 0.1 < waiting < 1
    assert_read(report)


@pytest.mark.measured
def test_shares_of_time(tmp_path, tfm):
    """What two threads do in turn: compute, sleep, wait for a lock, wait for a socket."""
    result, report = record(tmp_path, program(tfm, "wall", "--few", "--seconds", 5))
    truth = result.truth["methods"]
    expected, got = shares(truth), shares({m: report.total(m) for m in truth})
    # Each has about a quarter. Of a thousand looks five standard deviations are 7 points, of the two hundred that there are on
    # a busy machine, which bound what they cost, 15.
    for method in truth:
        assert 0 < got[method] == pytest.approx(expected[method], abs=LOOSE * 0.07), method
    assert report.total("Truth.Wall.Compute") > 0
    assert_read(report, 0.05)


TURNS = "turns of all threads, and "


def turns_seen(out, truth, threads):
    """(The report, {what the threads of `turns` did: ns}): running, ready, and each method that sleeps."""
    whole, its = (report(out, options=("-e", "wall", "-n", 0, *only)) for only in ((), ("--thread", "turn-*")))
    seen = its.data["threads"]
    assert len(seen) == threads
    assert event(whole)["source"].startswith(TURNS)
    counts = {m: its.total(m) for m in truth["methods"]}
    counts |= {"running": sum(t.get("running", 0) for t in seen), "all": sum(t["samples"] for t in seen)}
    counts["ready"] = sum(n for _, n in its.with_frame(READY))
    return whole, {name: n * event(whole)["interval_ns"] for name, n in counts.items()}


def turns(tmp_path, threads, *, events="wall", **more):
    """(What the program says, the report, what its threads did)."""
    argv = program(NEWEST, "turns", *(["--eight"] if threads == 8 else []), "--seconds", 3)
    truth = record(tmp_path, argv, events=events, **more)[0].truth
    return truth, *turns_seen(tmp_path / "out.dnp", truth, threads)


def check_could_have(truth, whole, seen, threads):
    """None of what the kernel has booked in their turns is missing, but for what makes no whole interval of a thread's, and one
    wait at most of each that was woken, but looked as if it slept on; what they waited before and after comes to it."""
    check_whole(event(whole))
    assert truth["ready_ns"] - truth["longest_ready_ns"] - 2 * threads * event(whole)["interval_ns"] <= seen["ready"]


@pytest.mark.parametrize("threads, more", cases([(2, {}), (8, {}), (8, {"events": "cpu,wall"}), (2, {"events": "wall,cpu"})],
                                                [(8, {"events": "cpu,wall"}), (2, {})]))
def test_what_ran_and_what_could_have(tmp_path, threads, more):
    """By the kernel's own account, however busy the machine is: nobody who runs is shown asleep, for he cannot be seen running."""
    truth, report, seen = turns(tmp_path, threads, **more)
    check_could_have(truth, report, seen, threads)
    assert seen["running"] == pytest.approx(truth["ran_ns"], rel=0.02, abs=3 * threads * event(report)["interval_ns"])
    slept = seen["all"] - seen["running"] - seen["ready"]
    assert 0 < sum(seen[m] for m in truth["methods"]) <= slept + truth["ran_ns"]
    # Looks weigh more or less, so that there are fewer than what they stand for, and fewer still of equal weight.
    assert 0 < event(report)["equal_looks"] <= event(report)["looks"] <= event(report)["samples"]
    assert any(m["self_error"] > 0 for m in report.data["methods"])


def test_what_could_have_when_the_sampler_has_to_wait_itself(tmp_path):
    """For most of a second at a time: the threads have ended when it would ask what they waited since its last look."""
    def on_one_processor():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    out, argv = tmp_path / "out.dnp", program(NEWEST, "turns", "--seconds", 3)
    with start([sys.executable, "-c", "while True: pass"], preexec_fn=on_one_processor), \
            start([DNPROF, "run", "-q", "-e", "wall", "-F", HZ, "-o", out, "--", *argv], preexec_fn=on_one_processor) as run:
        pid = run.child("truth")
        sampler, = wait_for(lambda: tasks_named(pid, "dnprof-wall"), "the sampler")
        os.sched_setscheduler(int(sampler.name), os.SCHED_IDLE, os.sched_param(0))
        truth = run.end().expect().truth
    whole, seen = turns_seen(out, truth, 2)
    assert truth["ready_ns"] > 0
    check_could_have(truth, whole, seen, 2)


@pytest.mark.measured
@pytest.mark.parametrize("threads", [2, 8])
def test_where_threads_slept(tmp_path, threads):
    truth, report, seen = turns(tmp_path, threads, hz=997)
    expected, got = shares(truth["methods"]), shares({m: seen[m] for m in truth["methods"]})
    for method in expected:
        assert got[method] == pytest.approx(expected[method], abs=LOOSE * 0.07), method
    assert_read(report, 0.05)


def test_nobody_is_woken(tmp_path, tfm):
    """Short waits in native code, by threads that are about to sleep as often as they sleep."""
    result, report = record(tmp_path, program(tfm, "naps", "--seconds", 3), hz=1999)
    assert result.truth["interrupted"] == {}
    nappers = [t for t in report.data["threads"] if t["name"].startswith("napper-")]
    assert sum(t.get("running", 0) for t in nappers) > 0, "no thread was ever seen running, so none was in danger"
    assert sum(t.get("waiting", 0) for t in nappers) > 0


@pytest.mark.measured
@pytest.mark.parametrize("shown", ["cpu", "wall"])
def test_together(tmp_path, shown):
    """CPU time comes out as it does alone, and time that passes, too."""
    result, report = record(tmp_path, program(NEWEST, "threads8", "--seconds", 2), hz=1999,
                            events="cpu,wall", shown=shown)
    assert set(report.data["events"]) == {"cpu", "wall"}
    truth, seen = result.truth["threads"], report.threads()
    assert set(truth) <= set(seen)
    if shown == "cpu":
        expected, got = shares(truth), shares({t: seen[t] for t in truth})
        for thread in truth:
            by_chance = chance(expected[thread], report.samples)
            assert got[thread] == pytest.approx(expected[thread], abs=max(LOOSE * 0.02, by_chance)), thread
        clock_ns = sum(t["cpu_ns"] for t in report.data["threads"])
        assert report.samples * report.cpu["interval_ns"] == pytest.approx(clock_ns, rel=LOOSE * 0.15)
    else:
        time = time_by_thread(report)
        assert all(time[t] >= (1 - LOOSE * 0.02) * ns - LOOSE * 0.02e9 for t, ns in truth.items()), "no less than its CPU time"


@pytest.mark.parametrize("name", cases(["crowd", "shortthreads"], ["crowd"]))
def test_threads_that_come_and_go(tmp_path, name):
    result, report = record(tmp_path, program(NEWEST, name, "--seconds", 1), hz=997)
    assert result.truth["threads_started"] > 0
    kind = {"crowd": "crowd-", "shortthreads": "short-"}[name]
    assert sum(n for thread, n in report.threads().items() if thread.startswith(kind)) > 0
    report.check_few_lost()


def test_other_programs(tmp_path, tfm):
    """Tasks, exceptions and signals go on as they do alone; they check themselves."""
    for name in ("async", "exceptions", "signals"):
        _, report = record(tmp_path, program(tfm, name, "--seconds", 0.7), hz=1999)
        assert event(report)["samples"] > 0


def test_below_generated_code(tmp_path, tfm):
    """Where threads sleep is read again until code that was compiled before the agent came is known."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(program(tfm, "below", "--when", when), 0) as it:
        it.wait_until_ready(when)
        dnprof("record", "-q", "-e", "wall", "-d", 3, "-o", out, it.pid).expect()
        when.touch()
        it.started.end().expect()
    whole, cut = collections.Counter(), collections.Counter()
    for path, n in report(out).stacks():
        if "Truth.Below.Park()" in path:
            way = [frame for frame in path if re.fullmatch(r"Truth\.Below\.(Dynamic|Compiled|Multicast|Inward)\(\)", frame)]
            (whole if way else cut)[(way or path)[0]] += n
    assert len(whole) == 4, (whole, cut)
    # The first look at each, and those until the recorder has had its turn.
    assert cut.total() < whole.total() / 4, (whole, cut)


def test_no_thread_is_left(tmp_path):
    """When the recording ends before the program does, its threads end, too."""
    with start([DNPROF, "run", "-q", "-e", "wall", "-o", tmp_path / "out.dnp", "--",
                *program(NEWEST, "idle", "--seconds", 600)]) as run:
        pid = run.child("truth")

        def own_threads():
            return [name for name in thread_names(pid) if name.startswith("dnprof")]

        wait_for(lambda: "dnprof-wall" in own_threads(), "the sampler")
        wait_for(lambda: "busy-0" in thread_names(pid), "the program's work")
        wait_for_samples(pid)
        dnprof("stop", pid).expect()
        wait_for(lambda: "dnprof-wall" not in own_threads(), "the sampler's end")
        assert "busy-0" in thread_names(pid)
        os.kill(pid, signal.SIGTERM)
        run.end().expect(128 + signal.SIGTERM)
    seen = report(tmp_path / "out.dnp", options=("-e", "wall", "-n", 0))
    assert event(seen)["samples"] > 0
