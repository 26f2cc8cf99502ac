# SPDX-License-Identifier: MIT
"""
Events of programs that run already, which dnprof.exe comes to, under Wine: each as exact as from the program's start, and
nothing is left. The programs, the truths and the checks are those of the tests of each event.
"""
import contextlib
import json
from pathlib import Path

import pytest

import test_alloc
import test_exception
import test_gc
import test_jit
import test_leaks
import test_lock
import test_mark
import test_safepoint
import test_thrown
from harness import PATIENCE_S, Result, check_whole, dnprof, refused, report, wait_for
from test_windows import on_windows, pytestmark, truth, windows_path, wine  # noqa: F401: fixtures and marks
from test_windows_attach import CYCLES, PATIENT, Running
from test_windows_events import TICK_NS, check_marks

pytestmark = [*pytestmark, pytest.mark.slow]

#: What the runtime itself delivers: under Wine only to programs whose code is written in place.
DELIVERED = ("alloc", "gc", "jit", "lock", "request")
IN_PLACE = {"DOTNET_EnableWriteXorExecute": "0"}
ALL = "cpu,wall,switch,alloc,exception,gc,jit,load,lock,mark,request,safepoint"


class Told(Running):
    """A program that does nothing until it is told to."""

    def __init__(self, truth, *arguments, when, env=None):
        super().__init__(truth, *arguments, "--when", windows_path(when), env={**IN_PLACE, **(env or {})})
        self.when, self.arguments = when, arguments

    def behind(self, what):
        return self.when.with_name(f"{self.when.name}.{what}")

    def go(self, ended=lambda: None):
        """Has it begin, and end after ENDED; what it left behind."""
        wait_for(self.behind("ready").exists, "the program to stand")
        self.when.touch()
        wait_for(self.behind("done").exists, "the program to do what it does")
        ended()
        self.when.unlink()
        stdout, stderr = self.process.communicate(timeout=PATIENCE_S)
        return Result(self.argv, self.process.returncode, stdout, stderr).expect()

    def record(self, events, out, *options):
        """All that it does from its beginning until it says that it is over, into stopped.dnp; what it left behind."""
        def end():
            on_windows("stop", "-q", *PATIENT, "-o", out.with_name("stopped.dnp"), self.pid).expect()
            on_windows("detach", *PATIENT, self.pid).expect()
            wait_for(self.is_clean, "the agent to leave")

        options = (*PATIENT, *options)
        wait_for(self.behind("ready").exists, "the program to stand")
        on_windows("record", "-q", "-d", 0.1, "-e", "cpu," + events, *options, "-o", out.with_name("before.dnp"), self.pid).expect()
        wait_for(self.is_clean, "the agent to leave")
        on_windows("attach", *PATIENT, self.pid).expect()
        on_windows("start", "-e", events, *options, "-o", out, self.pid).expect()
        return self.go(end)


@pytest.fixture
def record(truth, tmp_path):  # noqa: F811
    """Records what a program does after it had run for a while, the second time: (what it left behind, the recording)."""
    def run(events, *arguments, env=None):
        with Told(truth, *arguments, when=tmp_path / "when", env=env) as running:
            return running.record(events, tmp_path / "out.dnp"), tmp_path / "stopped.dnp"
    return run


def shown(out, event, *options):
    return report(out, options=("-e", event, "-n", 0, *options))


def test_exceptions(record):
    result, out = record("exception", *test_exception.THROWING)
    seen = shown(out, "exception")
    test_exception.check(result, seen)
    test_exception.check_places(seen)


def test_what_becomes_of_exceptions(record):
    result, out = record("exception", "thrown")
    test_thrown.check(result.truth, shown(out, "exception"))


def test_collections(record):
    result, out = record("gc", *test_gc.GARBAGE)
    test_gc.check(result.truth, shown(out, "gc"))
    test_gc.check_places(result.truth, shown(out, "gc"))


def test_compiled_methods(record):
    result, out = record("jit", "compiled", env=test_jit.ONE_TIER)
    test_jit.check_compiled(out, result.truth, before=0)


def test_what_is_loaded(record):
    result, out = record("load", "loaded")
    test_jit.check_loaded(out, result.truth | {"known": 0})


def test_waits_for_locks_and_their_owners(record):
    result, out = record("lock", "locks", "--work", 1)
    test_lock.check(result, shown(out, "lock"))
    test_lock.check_owners(result, shown(out, "lock-owner"))


@pytest.mark.measured
def test_safepoints(record):
    result, out = record(test_safepoint.EVENTS, "safepoints")
    test_safepoint.check(out, result.truth)


def test_marks(record):
    check_marks(*record("mark", *test_mark.SAYING, "--native"))


def test_allocations_and_clocks(truth, tmp_path):  # noqa: F811
    """With other recordings before and after."""
    with Running(truth, *test_alloc.BUSY, env=IN_PLACE) as running:
        on_windows("attach", *PATIENT, running.pid).expect()
        for events in ("alloc=100k", "cpu,switch", "cpu,alloc=1m,switch"):
            on_windows("start", "-q", *PATIENT, "-e", events, "-o", tmp_path / "begun.dnp", running.pid).expect()
            wait_for(lambda: running.seen()["agent"]["samples"] > 50, "samples")
            on_windows("stop", "-q", *PATIENT, "-o", tmp_path / "out.dnp", running.pid).expect()
    seen = shown(tmp_path / "out.dnp", "alloc")
    assert {"Truth.Alloc+Node", "System.Byte[]"} <= set(test_alloc.types(seen))
    seen.check_few_lost("alloc")
    switches = shown(tmp_path / "out.dnp", "switch").data
    assert switches["events"]["switch"]["sampled"] and sum(thread["cpu_ns"] for thread in switches["threads"]) > 0


@pytest.mark.measured
def test_a_leak_is_found_and_no_handle_is_left(truth, tmp_path):  # noqa: F811
    """Where the agent came twice the runtime has no handle more in the end than where it never was."""
    argv = (truth, "leaks", "--work", 2500, "--one-in", 200, "--collect", 100, "--handles")
    when = tmp_path / "when"
    with Told(*argv, when=when) as running:
        recorded = running.record("alloc=100k", tmp_path / "out.dnp", "--live").truth
    for said in ("ready", "done"):
        running.behind(said).unlink()
    with Told(*argv, when=when) as running:
        without = running.go().truth
    it = test_leaks.shown(tmp_path / "stopped.dnp")
    test_leaks.check(recorded, it)
    assert it.data["events"]["live"]["samples"] > 100
    assert abs(recorded["handles"] - without["handles"]) < 50, (recorded["handles"], without["handles"])


def test_who_serves_nobody(truth, tmp_path):  # noqa: F811
    with Running(truth, "async", "--seconds", 3600, env=IN_PLACE) as running:
        on_windows("record", "-q", *PATIENT, "-d", 0.5, "-e", "request", "-o", tmp_path / "t.dnp", running.pid).expect()
    assert "request: 0 requests" in dnprof("report", tmp_path / "t.dnp").expect().out


def threads_of(running):
    """Names of those that are not the runtime's own, which come and go as it likes."""
    names = []
    for task in Path(f"/proc/{running.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):
            names.append((task / "comm").read_text().strip())
    return sorted(name for name in names if not name.startswith(".NET"))


@pytest.mark.parametrize("program", (("mix",), ("alloc",), ("locks",), ("marks", "--native")), ids=lambda words: words[0])
def test_nothing_is_left_after_many_times(truth, tmp_path, program):  # noqa: F811
    """All events at once, again and again, amid what happens: what the first has brought, of the runtime's own, stays. Gates
    of native code open again."""
    had = None
    with Running(truth, *program, "--seconds", 3600, env=IN_PLACE) as running:
        for i in range(CYCLES):
            out = tmp_path / f"{i}.dnp"
            on_windows("record", "-q", *PATIENT, "-d", 0.5, "-e", ALL, "-o", out, running.pid).expect()
            wait_for(running.is_clean, "the library to be unloaded")
            # Wine tells that a thread has ended a moment before it has.
            wait_for(lambda: not [name for name in threads_of(running) if name.startswith("dnprof")], "its threads to end")
            had = had or threads_of(running)
            read = json.loads(dnprof("report", "--json", out).expect().out)
            assert read["complete"]
            check_whole(read["events"]["cpu"])
            said = {m["name"] for m in shown(out, "mark").data["marks"]}
            assert ("native point" in said) == ("--native" in program)
        # The program's own come and go.
        wait_for(lambda: len(threads_of(running)) <= len(had), f"no more threads than {had}")
        assert running.process.poll() is None, "the program has ended"


# What would harm the program

def test_what_would_end_the_program_is_refused(truth, tmp_path):  # noqa: F811
    """Nothing is recorded, nothing is left, and what does no harm is recorded."""
    with Running(truth, "alloc", "--seconds", 3600) as running:
        for events in DELIVERED:
            ended = on_windows("record", "-d", 1, *PATIENT, "-e", "cpu," + events, "-o", "t.dnp", running.pid, cwd=tmp_path)
            refused(ended, 1, f"'cpu,{events}' cannot be recorded in this program", "would end it", "DOTNET_EnableWriteXorExecute=0")
            wait_for(running.is_clean, "the agent to leave")
            assert not list(tmp_path.iterdir())
        on_windows("record", "-q", *PATIENT, "-d", 1, "-e", "cpu,wall,exception,load,switch,mark,safepoint", "-o", tmp_path / "t.dnp",
                   running.pid).expect()
        wait_for(running.is_clean, "the agent to leave")
        assert running.process.poll() is None, "the program has ended"


@pytest.mark.parametrize("events, words", (
    ("trace", ("calls be traced from a program's start only", "dnprof run -e trace -- COMMAND")),
    ("cpu,transition", ("transitions from a program's start only", "dnprof run -e cpu,transition -- COMMAND")),
    ("alloc=exact", ("every object from a program's start only", "dnprof run -e alloc=exact -- COMMAND")),
))
def test_what_has_to_be_there_from_the_start(tmp_path, events, words):
    for command in (("record", "-d", 1), ("start",)):
        refused(on_windows(*command, "-e", events, "-o", "t.dnp", 8, cwd=tmp_path), 2, *words)
    assert not list(tmp_path.iterdir())
