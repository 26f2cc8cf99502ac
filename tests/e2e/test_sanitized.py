# SPDX-License-Identifier: MIT
"""Programs with an agent in them that was built with a sanitizer. `script/test` builds it, names it in
DNPROF and the sanitizer's library, which has to be loaded first, in SANITIZER_PRELOAD."""
import os
import re
import time
from pathlib import Path

import pytest

from harness import DNPROF, NEWEST, PATIENCE_S, cases, dnprof, dnprof_again, program, record, report, run, start, wait_for

PRELOAD = os.environ.get("SANITIZER_PRELOAD")
FINDINGS = re.compile(r"(ERROR|WARNING): \w+Sanitizer|runtime error:")

#: What the thread sanitizer does to a program.
NOT_UNDER_TSAN = {
    "exceptions": "the thread sanitizer does not hand SIGFPE on, so the program dies",
    "signals": "the thread sanitizer runs handlers late and on its own terms, so the program finds them on another stack",
    "fork": "all is slower, so a thread of the runtime may hold a lock at the fork, for which the child's exit handlers"
            " then wait for ever",
    "safepoints": "the thread sanitizer keeps the runtime's signal until the thread calls something of it, which a thread that"
                  " only computes never does: so it cannot be stopped",
}

#: Programs whose threads work, come and go, or run code that goes.
THREADS = ["threads8", "shortthreads", "unload"]

#: Of programs that are to run under it, see sanitizer().
ENVIRONMENT = {}

pytestmark = pytest.mark.skipif(not PRELOAD, reason="SANITIZER_PRELOAD names no sanitizer's library")


def before_sanitizer(folder, name):
    """What is loaded before its library, made from tests/e2e."""
    path = folder / f"lib{name}.so"
    run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-o", path, Path(__file__).with_name(f"{name}.c")]).expect()
    return f"{path}:{PRELOAD}"


@pytest.fixture(scope="session", autouse=True)
def sanitizer(tmp_path_factory):
    """The thread sanitizer hands signals on late, with registers of before, by which the runtime would end the program (late.c)."""
    ENVIRONMENT["LD_PRELOAD"] = before_sanitizer(tmp_path_factory.mktemp("late"), "late") if "tsan" in PRELOAD else PRELOAD


PROGRAMS = ["threads8", "shortthreads", "exceptions", "native", "unload", "async", "signals", "fork"]


@pytest.mark.parametrize("name", cases(PROGRAMS, PROGRAMS, PROGRAMS[1:]))
def test_sanitized(tmp_path, name):
    """Threads that start and end, signals, code that goes away: nothing that the sanitizer would say."""
    if "tsan" in PRELOAD and name in NOT_UNDER_TSAN:
        pytest.skip(NOT_UNDER_TSAN[name])
    result, report = record(tmp_path, program(NEWEST, name, "--seconds", 1), hz=1999, timeout=3 * PATIENCE_S,
                            env=ENVIRONMENT)
    assert not FINDINGS.search(result.err), result
    assert report.samples > 0


@pytest.mark.parametrize("name", cases(["alloc", *THREADS[1:]], ["alloc", *THREADS[1:]], ["alloc"]))
def test_sanitized_events(tmp_path, name):
    """Events whose stacks the threads take themselves, while samples of time come in between."""
    if "tsan" in PRELOAD and name in NOT_UNDER_TSAN:
        pytest.skip(NOT_UNDER_TSAN[name])
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", "cpu,alloc=100k", "-F", 2999, "-o", out, "--",
                          *program(NEWEST, name, "--seconds", 1), timeout=3 * PATIENCE_S, env=ENVIRONMENT).expect()
    assert not FINDINGS.search(result.err), result
    assert report(out, options=("-e", "alloc")).samples > 0


def test_sanitized_marks(tmp_path):
    """What the program says, managed and native."""
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", "cpu,mark", "-o", out, "--",
                          *program(NEWEST, "marks", "--native", "--seconds", 1), timeout=3 * PATIENCE_S,
                          env=ENVIRONMENT).expect()
    assert not FINDINGS.search(result.err), result
    shown = report(out, options=("-e", "mark"))
    spans = {s["name"]: s["count"] for s in shown.data["spans"]}
    missing = result.truth["spans"]["outer"]["count"] - spans["outer"]
    assert 0 <= missing <= shown.data["events"]["mark"]["lost"]


def test_sanitized_locks(tmp_path):
    """Threads that wait for each other in turns, while one of ours looks at those that have the lock."""
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", "cpu,lock", "-F", 499, "-o", out, "--",
                          *program(NEWEST, "locks", "--seconds", 1), timeout=3 * PATIENCE_S, env=ENVIRONMENT).expect()
    assert not FINDINGS.search(result.err), result
    assert report(out, options=("-e", "lock")).data["events"]["lock"]["samples"] > 0


@pytest.mark.parametrize("name", ["thrown", "compiled", "loaded", "unload"])
def test_sanitized_happenings(tmp_path, name):
    """Exceptions, compilations and loads, in threads that come and go, while methods and classes do."""
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", "cpu,exception,jit,load", "-F", 2999, "-o", out, "--",
                          *program(NEWEST, name, "--seconds", 1), timeout=3 * PATIENCE_S, env=ENVIRONMENT).expect()
    assert not FINDINGS.search(result.err), result
    assert report(out, options=("-e", "load")).samples > 0


@pytest.mark.parametrize("events, name", [
    ("gc,safepoint", "safepoints"), ("cpu,gc,safepoint,alloc=100k -F 997 --live", "leaks"),
    pytest.param("cpu,alloc=exact -F 997", "alloc", marks=pytest.mark.slow),
    ("cpu,transition=10us -F 997", "native"), ("cpu,gc,safepoint -F 997", "garbage")])
def test_sanitized_runtime(tmp_path, events, name):
    """What the runtime does to the program's threads and objects, and calls out of managed code."""
    if "tsan" in PRELOAD and name in NOT_UNDER_TSAN:
        pytest.skip(NOT_UNDER_TSAN[name])
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", *events.split(), "-o", out, "--",
                          *program(NEWEST, name, "--seconds", 1), timeout=3 * PATIENCE_S, env=ENVIRONMENT).expect()
    assert not FINDINGS.search(result.err), result
    assert report(out).data["events"]


@pytest.mark.parametrize("name", cases(THREADS, THREADS, ["shortthreads"]))
def test_sanitized_stacks(tmp_path, name):
    """The same while somebody asks for the stacks of all threads again and again."""
    asked = 0
    with start([DNPROF, "run", "-q", "-o", tmp_path / "out.dnp", "--", *program(NEWEST, name, "--seconds", 3)],
               env={**ENVIRONMENT, "TMPDIR": str(tmp_path)}) as run:
        while run.process.poll() is None:
            for socket in tmp_path.glob("dnprof-*-socket"):
                result = dnprof("stack", "--timeout", PATIENCE_S, socket.name.split("-")[1], env=ENVIRONMENT)
                assert not FINDINGS.search(result.err), result
                asked += result.status == 0
            time.sleep(0.05)
        result = run.end().expect()
    assert not FINDINGS.search(result.err), result
    assert asked > 0


@pytest.fixture
def preload(tmp_path):
    """The sanitizer's library where the runtime suspends its threads all the time: the thread sanitizer would have
    them stop with a lock held (tests/e2e/prompt.c). Not for engines whose own handler has that signal as well: it
    is looked at by the sanitizer, which may be interrupted then."""
    return before_sanitizer(tmp_path, "prompt") if "tsan" in PRELOAD else PRELOAD


@pytest.mark.parametrize("name", cases(THREADS, THREADS, ["threads8"]))
def test_snapshots_sanitized(tmp_path, name, preload):
    """Threads that end while others look at them."""
    result, report = record(tmp_path, program(NEWEST, name, "--seconds", 1), hz=97, timeout=3 * PATIENCE_S,
                            options=("--engine", "snapshot", "-e", "cpu,wall"), env={"LD_PRELOAD": preload})
    assert not FINDINGS.search(result.err), result
    assert report.samples > 0


@pytest.mark.parametrize("events, name", cases(
    [(events, name) for events in ("wall", "cpu,wall") for name in ("wall", "crowd", "async")],
    [("cpu,wall", name) for name in ("wall", "crowd", "async")], [("cpu,wall", "crowd")]))
def test_wall_sanitized(tmp_path, name, events):
    """A thread of ours that looks at all others, while these come and go."""
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", events, "-F", 499, "-o", out, "--",
                          *program(NEWEST, name, "--seconds", 1), timeout=3 * PATIENCE_S, env=ENVIRONMENT).expect()
    assert not FINDINGS.search(result.err), result
    assert report(out, options=("-e", "wall")).data["events"]["wall"]["samples"] > 0


@pytest.mark.parametrize("events, name", [("cpu,wall", "threads8"), ("cpu,wall", "shortthreads"), ("cpu,wall", "unload"),
                                          ("cpu,mark", "marks --native")])
def test_coming_and_going_sanitized(tmp_path, name, events):
    """The library comes to a program that runs, and is unloaded, twice: what was its memory is nobody's then."""
    if "tsan" in PRELOAD:
        pytest.skip("the thread sanitizer knows nothing of libraries that are unloaded, and takes the next for the last")
    with start(program(NEWEST, *name.split(), "--seconds", 600), env={**ENVIRONMENT, "TMPDIR": str(tmp_path)}) as run:
        pid = run.process.pid
        wait_for(lambda: list(tmp_path.glob("dotnet-diagnostic-*")), "the runtime's socket")
        for n in range(2):
            result = dnprof("record", "-q", "-d", 1, "-F", 997, "-e", events, "-o", tmp_path / f"{n}.dnp", "--timeout", PATIENCE_S, pid)
            assert not FINDINGS.search(result.expect().err), result
            wait_for(lambda: "libdnprof" not in Path(f"/proc/{pid}/maps").read_text(), "the library's end")
            assert report(tmp_path / f"{n}.dnp").samples > 0
        assert run.process.poll() is None, run.end()
        run.process.terminate()
        assert not FINDINGS.search(run.end().err)
