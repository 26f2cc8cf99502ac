# SPDX-License-Identifier: MIT
"""dnprof record of processes that run: it shows what a profiler from the start shows, and leaves them as they were."""
import os
import tempfile
import time
from pathlib import Path

import pytest

import attached
import harness
from attached import Cycles, Footprint, Running, is_loaded
from harness import LOOSE, NEWEST, SOAK, cases, chance, dnprof, program, record, report, shares, tasks_named, used_s, wait_for


def seen_first(samples):
    """At most so many stacks are not whole since they were the first that had a piece of code which the runtime does not
    list: some ten pieces, and others that it makes meanwhile."""
    return LOOSE * (10 + 0.005 * samples)


def recorded_of(running, out, *options):
    """What `dnprof record` shows of it."""
    dnprof("record", "-q", "-o", out, *options, running.pid).expect()
    return report(out)


# ---- What it shows

@pytest.mark.measured
@pytest.mark.parametrize("name", cases(["cpu", "mix"], ["cpu"]))
def test_same_as_from_the_start(tmp_path, tfm, name):
    """The same methods; of arithmetic the same shares, too (mix compiles and warms up for long)."""
    result, begun = record(tmp_path, program(tfm, name, "--seconds", 4), hz=1999)
    with Running(program(tfm, name, "--seconds", 600)) as running:
        later = recorded_of(running, tmp_path / "later.dnp", "-F", 1999, "-d", 6)
    later.check_few_lost()
    assert later.cpu["unresolved"] == 0
    assert later.cpu["failed"] <= seen_first(later.samples)
    first, second = ({m: r.total(m) for m in result.truth["methods"]} for r in (begun, later))
    assert min(sum(first.values()), sum(second.values())) > 1000 // LOOSE
    assert all(second.values()), second
    if name == "cpu":
        for method, share in shares(first).items():
            by_chance = chance(share, sum(first.values())) + chance(share, sum(second.values()))
            assert abs(share - shares(second)[method]) < LOOSE * 0.02 + by_chance, (method, first, second)


def test_program_sets_the_ids_of_its_user(tmp_path):
    """While a recording goes on, and when it is over."""
    when = tmp_path / "when"
    with Running(program(NEWEST, "identity", "--seconds", 0.5, "--when", when), 0) as it:
        it.record_when_told("cpu,wall,alloc", tmp_path / "out.dnp", when, "the changes")


def test_descriptors_are_out_of_the_way(tmp_path):
    """A daemon closes all descriptors that it might have, and its files then have the numbers of what was there."""
    out = tmp_path / "out.dnp"
    with Running(program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as it:
        dnprof("attach", it.pid).expect()
        dnprof("start", "-o", out, it.pid).expect()
        numbers = [int(number) for number in os.listdir(f"/proc/{it.pid}/fd")
                   if os.readlink(f"/proc/{it.pid}/fd/{number}").startswith(str(tmp_path))]
        dnprof("detach", it.pid).expect()
    assert numbers and min(numbers) >= 1024, numbers


def test_socket_that_is_removed_is_made_again(tmp_path):
    """As by who cleans /tmp: the recording can be ended all the same."""
    with Running(program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as it:
        dnprof("attach", it.pid).expect()
        dnprof("start", "-o", tmp_path / "out.dnp", it.pid).expect()
        control, = it.folder.glob("dnprof-*-socket")
        before = control.stat().st_ino
        control.unlink()
        wait_for(lambda: control.exists() and control.stat().st_ino != before, "another socket")
        dnprof("stop", it.pid).expect()
        dnprof("detach", it.pid).expect()
        assert not control.exists()
    assert report(tmp_path / "out.dnp").data["complete"]


def test_threads_have_their_names(tmp_path, tfm):
    """Each that uses time while it is recorded: two tenths of a second, of which a thousandth would do."""
    with Running(program(tfm, "threads8", "--seconds", 600)) as running:
        dnprof("attach", "-q", running.pid).expect()
        dnprof("start", "-F", 997, "-o", tmp_path / "out.dnp", running.pid).expect()
        workers = [task for i in range(8) for task in tasks_named(running.pid, f"worker-{i}")]
        before = {task: used_s(task) for task in workers}
        wait_for(lambda: all(used_s(task) > before[task] + 0.2 for task in workers), "some time of each thread")
        dnprof("stop", running.pid).expect()
    threads = report(tmp_path / "out.dnp").threads()
    assert {f"worker-{i}" for i in range(8)} <= threads.keys(), threads


@pytest.mark.measured
def test_code_from_before_has_its_names(tmp_path, tfm):
    """Methods that were compiled before, by the JIT and ahead of time (System.Private.CoreLib is), and generic ones."""
    with Running(program(tfm, "mix", "--seconds", 600)) as running:
        recorded = recorded_of(running, tmp_path / "out.dnp", "-F", 1999, "-d", 3)
    assert recorded.cpu["unresolved"] == 0
    managed = [m for m in recorded.data["methods"] if m["kind"] == "managed"]
    assert all(m["name"] and m["module"] for m in managed)
    assert {"truth.dll", "System.Private.CoreLib.dll"} <= {m["module"] for m in managed}
    assert recorded.incomplete() <= seen_first(recorded.samples)


@pytest.mark.slow
def test_wall(tmp_path, tfm):
    """Threads that wait since long before, too."""
    with Running(program(tfm, "deadlock", "--seconds", 600, "--rests")) as running:
        recorded = recorded_of(running, tmp_path / "out.dnp", "-e", "wall", "-d", 1)
    stuck = [path for path, _ in recorded.stacks() if "Truth.Deadlock.TakeSecond" in map(harness.plain, path)]
    assert stuck and recorded.threads().keys() >= {"stuck-left", "stuck-right"}


# ---- What it leaves

#: Maps that the runtime itself makes at the first attach, and keeps.
KEPT_MAPS = 24


def test_nothing_is_left(tmp_path, tfm):
    with Running(program(tfm, "deadlock", "--seconds", 600, "--rests")) as running:
        first = Footprint.of(running.pid)
        before = set(harness.tasks(running.pid))
        recordings = ("cpu", "wall", "cpu,wall", "wall")
        for events in recordings:
            recorded_of(running, tmp_path / "out.dnp", "-e", events, "-d", 0.3)
            wait_for(lambda: not is_loaded(running.pid), "the unloading")
            last = Footprint.of(running.pid)
            last.check(first)
            assert last.descriptors == first.descriptors
            assert [t for t in last.threads if t[0] != "."] == [t for t in first.threads if t[0] != "."]
        # The runtime has one to compile, now and then, and the one that took the library away may not be quite gone.
        assert len(set(harness.tasks(running.pid)) - before) < len(recordings)
        assert last.maps <= first.maps + KEPT_MAPS


@pytest.mark.slow
def test_idle_agent_sleeps(tmp_path):
    """Attached and stopped: one thread that is never woken, no timer, no counter, no handler."""
    with Running(program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as running:
        first = Footprint.of(running.pid)
        dnprof("attach", "-q", running.pid).expect()
        with open(tmp_path / "raw.dnp", "w+b") as file:
            attached.ask(running.pid, attached.START, 0, "event=cpu", file.fileno())
            attached.ask(running.pid, attached.STOP)
        idle = Footprint.of(running.pid)
        assert [t for t in idle.threads if t.startswith("dnprof")] == ["dnprof"]
        assert idle.handlers == first.handlers and idle.timers == ""
        assert not [d for d in idle.descriptors if "perf_event" in d]
        task, = tasks_named(running.pid, "dnprof")

        def is_asleep(seconds):
            def times():
                """How often it ran; nothing while it runs, or waits for a processor."""
                sleeps = (task / "stat").read_text().rpartition(")")[2].split()[0] == "S"
                return sleeps and (task / "schedstat").read_text()

            before = times()
            time.sleep(seconds)
            return before and times() == before

        # It may be about to close the last connection. What wakes it now and then does so within five seconds, most of it
        # sooner.
        wait_for(lambda: is_asleep(5 if SOAK else 2), "its rest")
        attached.ask(running.pid, attached.DETACH)
        wait_for(lambda: not is_loaded(running.pid), "the unloading")
        Footprint.of(running.pid).check(first)


# ---- Again and again, under load

LOADS = ("cpu", "alloc", "exceptions", "shortthreads", "crowd")
#: At least so many before a program ends by itself.
SOME = 2 if SOAK else 1


@pytest.mark.measured
@pytest.mark.parametrize("name", cases(LOADS, ["exceptions", "crowd"], ["crowd"]))
def test_cycles(tmp_path, tfm, name):
    """Arithmetic, allocation with collections, exceptions, threads that come and go, and hundreds at a time."""
    seconds = 4 if name in ("shortthreads", "crowd") else 6
    alone = harness.run(program(tfm, name, "--seconds", 0.3)).expect().truth
    cycles = Cycles(tmp_path / "cycle.dnp", program(tfm, name, "--seconds", seconds))
    assert len(cycles.times) >= SOME
    assert cycles.result.truth.keys() == alone.keys()
    assert cycles.prints[-1].rss_kb < max(2 * max(p.rss_kb for p in cycles.prints[:2]), 100_000)


@pytest.mark.slow
@pytest.mark.measured
@pytest.mark.parametrize("options", ["event=cpu,wall;interval_ns=2000000", "event=cpu;engine=snapshot;interval_ns=10000000"])
def test_cycles_of_other_events(tmp_path, options):
    assert len(Cycles(tmp_path / "cycle.dnp", program(NEWEST, "alloc", "--seconds", 6), options).times) >= SOME


@pytest.mark.slow
@pytest.mark.measured
def test_cycles_of_a_server(tmp_path):
    """Each request is answered, and rightly: it checks that itself."""
    requests = 4000 if SOAK else 2500
    cycles = Cycles(tmp_path / "cycle.dnp", program(NEWEST, "--requests", requests, app="server"),
                    "event=cpu,wall;interval_ns=1000000")
    assert len(cycles.times) >= SOME
    calls = cycles.result.truth["calls"]
    assert calls["Server.Handlers.Get"] == calls["Server.Handlers.Sum"] == calls["Server.Handlers.Fail"] == 4 * requests
