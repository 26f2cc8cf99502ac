# SPDX-License-Identifier: MIT
"""
Events that dnprof.exe records, under Wine: the programs, the truths and the checks are those of the tests of each event, and
dnprof of this system reads the recordings.
"""
import re

import pytest

import test_alloc
import test_exception
import test_gc
import test_jit
import test_leaks
import test_lock
import test_mark
import test_safepoint
import test_transition
import test_waithandle
from harness import ROOT, check_whole, dnprof, incomplete, is_sequence, report, run
from test_windows import compare, compare_files, on_windows, pytestmark, truth, wine  # noqa: F401: fixtures and marks

pytestmark = [*pytestmark, pytest.mark.slow]


@pytest.fixture
def record(truth, tmp_path):
    """Records a program: (what it left behind, the recording)."""
    def run(events, *arguments, options=(), **more):
        out = tmp_path / "out.dnp"
        ended = on_windows("run", "-q", "-e", events, *options, "-o", out, "--", truth, *arguments, **more)
        assert ended.status == 0 and not ended.err, ended
        return ended, out
    return run


def shown(out, event, *options):
    return report(out, options=("-e", event, "-n", 0, *options))


# Exceptions

def test_exceptions_are_counted_where_they_were_thrown(record):
    """Those of the processor, too; and those above native frames, which are on the stack."""
    result, out = record("exception", *test_exception.THROWING)
    seen = shown(out, "exception")
    test_exception.check(result, seen)
    test_exception.check_places(seen)
    native = [path for path, _ in seen.with_frame("Truth.Exceptions.Compare")]
    # Of a method that the other thread has just compiled nothing may be known yet: the stack ends above it.
    whole = [path for path in native if path[0].startswith("ntdll.dll!")]
    assert whole
    for path in whole:
        assert is_sequence(path, "Truth.Exceptions.ThroughNative", re.compile("msvcrt"), "Truth.Exceptions.Compare"), path


@pytest.mark.parametrize("way", test_exception.UNHANDLED)
def test_exception_that_ends_the_program(truth, tmp_path, way):
    """Those above native frames go on below, and are told of a second time."""
    out, told = tmp_path / "out.dnp", tmp_path / "told"
    ended = on_windows("run", "-q", "-e", "exception", "-o", out, "--", truth, "unhandled", way, told)
    assert ended.status == 0xe0434352 & 0xff, ended
    test_exception.check_last(way, told, incomplete(out))


# Collections, and what is compiled and loaded

def test_collections(record):
    result, out = record("gc", *test_gc.GARBAGE)
    seen = shown(out, "gc")
    test_gc.check(result.truth, seen)
    test_gc.check_places(result.truth, seen)


def test_compiled_methods(record):
    result, out = record("jit", "compiled", env=test_jit.ONE_TIER)
    test_jit.check_compiled(out, result.truth)


def test_what_is_loaded(record):
    result, out = record("load", "loaded")
    test_jit.check_loaded(out, result.truth | {"known": 1})


# Allocations

def test_every_object(record):
    """To the object and the byte."""
    result, out = record("alloc=exact", "leaks", "--work", 5)
    item = test_alloc.types(shown(out, "alloc"))["Truth.Leaks+Item"]
    check_whole(shown(out, "alloc").data["events"]["alloc"])
    assert item["count"] == result.truth["made"] + result.truth["live"]["Truth.Leaks.Forget"][0]
    assert item["bytes"] == 216 * item["count"]


@pytest.mark.measured
def test_sampled_allocations(record):
    """Estimates of each type, nearly all within what is said of 95 in 100; and of all together."""
    result, out = record("alloc=100k", "sizes", "--bytes", 10_000_000)
    seen = shown(out, "alloc")
    allocated = {name: sum(places) for name, places in result.truth["types"].items()}
    types = test_alloc.types(seen)
    within = sum(types[n]["bytes_low"] <= b <= types[n]["bytes_high"] for n, b in allocated.items())
    assert within >= 37, within
    whole, lost = sum(allocated.values()), seen.data["events"]["alloc"]["lost"]
    by_chance = (test_alloc.MEAN["100k"] / whole) ** 0.5
    assert sum(types[n]["bytes"] for n in allocated) + lost == pytest.approx(whole, rel=5 * by_chance)


@pytest.mark.measured
def test_a_leak_is_found(record):
    """Objects that are still there, by the places where they were made."""
    result, out = record("alloc=100k", "leaks", "--work", 8000, "--one-in", 2000, "--collect", 200, options=("--live",))
    it = test_leaks.shown(out)
    assert result.truth["collections"] - 1 <= it.data["live"]["collections"]
    test_leaks.check(result.truth, it)


# Locks

def test_waits_for_locks_and_their_owners(record):
    result, out = record("lock", "locks", "--work", 1)
    owners = shown(out, "lock-owner")
    test_lock.check(result, shown(out, "lock"))
    test_lock.check_owners(result, owners)
    # Who holds it asleep is in the kernel; who works all the time is not, but when it looks at the clock.
    waiting = report(out, options=("-e", "lock-owner", "-n", 0, "--state", "waiting"))
    held = {way: sum(n for _, n in waiting.with_frame(f"Truth.Locks.{way}")) for way in test_lock.LOCKED}
    assert held["HoldAsleep"] == sum(n for _, n in owners.with_frame("Truth.Locks.HoldAsleep"))
    assert held["HoldBusy"] < sum(n for _, n in owners.with_frame("Truth.Locks.HoldBusy")) or not owners.with_frame("Truth.Locks.HoldBusy")


@pytest.mark.parametrize("events", ("cpu,lock,exception", "wall,lock=1us,alloc=100k"))
def test_locks_with_others(record, events):
    """Two threads of the profiler take turns at suspending."""
    result, out = record(events, "locks", "--work", 2)
    test_lock.check(result, shown(out, "lock"))


def test_waits_for_handles(record):
    result, out = record("waithandle", *test_waithandle.HANDLES)
    test_waithandle.check(result.truth, shown(out, "waithandle"))


# Calls to native code and back

def test_transitions(record):
    result, out = record("transition", "transitions", "--work", 300, "--threads", 3)
    test_transition.check(result.truth, out, failures={"unknown code"})  # see above


# How long threads take to stand still

@pytest.mark.measured
def test_safepoints(record):
    result, out = record(test_safepoint.EVENTS, "safepoints")
    test_safepoint.check(out, result.truth)


# What the program says

TICK_NS = 100  # of .NET's Stopwatch on Windows

def check_marks(result, out):
    """The program's ticks are no nanoseconds."""
    truth, seen = result.truth, test_mark.shown_of(out)
    for known in truth["spans"].values():
        for name in ("inside_ns", "outside_ns"):
            known[name] *= TICK_NS
    test_mark.check(truth, seen)
    assert seen.data["events"]["mark"]["source"] == "Dnprof.Mark and dnprof/mark.h"


def test_marks(record):
    """By the package and by the header: the first, too, which a library says as soon as it is loaded."""
    check_marks(*record("cpu,mark", *test_mark.SAYING, "--native"))


MARKS = """
#include <dnprof/mark.h>
#ifdef __cplusplus
#define API extern "C" __declspec(dllexport)
#else
#define API __declspec(dllexport)
#endif
API int truth_mark_is_on(void) { return dnprof_mark_is_on(); }
API void truth_mark(const char *text) { dnprof_mark(text); }
API uint64_t truth_span_begin(const char *name) { return dnprof_span_begin(name); }
API void truth_span_end(uint64_t id) { dnprof_span_end(id); }
"""


@pytest.mark.parametrize("language", ["c", "c++"])
def test_marks_as_microsofts_compiler_has_them(truth, tmp_path, language):
    """By clang, which takes its words for it."""
    made, place, out = tmp_path / "marks.obj", tmp_path / "apps", tmp_path / "out.dnp"
    run(["clang", "--target=x86_64-pc-windows-msvc", "-ffreestanding", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include",
         "-x", language, "-c", "-o", made, "-"], stdin=MARKS.encode()).expect()
    place.mkdir()
    for file in truth.parent.iterdir():
        if file.name != "libtruth_nofp.so":
            (place / file.name).symlink_to(file)
    run(["x86_64-w64-mingw32-gcc", "-shared", "-o", place / "libtruth_nofp.so", made]).expect()
    argv = place / truth.name, *test_mark.SAYING, "--native"
    check_marks(on_windows("run", "-q", "-e", "mark", "-o", out, "--", *argv).expect(), out)


def test_requests_of_who_serves_nobody(record):
    _, out = record("request", "deep", "--work", 1)
    text = dnprof("report", out).expect().out
    assert "request: 0 requests" in text and "no request came; only servers of ASP.NET Core tell" in text


# Together

TOGETHER = "cpu,wall,exception,gc,jit,load,lock,alloc,safepoint,transition"


def test_together(record, tmp_path):
    """The same report and page on either system."""
    result, out = record(TOGETHER, *test_exception.THROWING)
    test_exception.check(result, shown(out, "exception"))
    compare(tmp_path, "report", out.name, status=0)
    for event in TOGETHER.split(","):
        compare(tmp_path, "report", "--json", "-e", event, out.name, status=0)
    assert compare_files(tmp_path, "report", out.name, name="page.html")


@pytest.mark.parametrize("events", ("gc", "jit", "alloc", "transition,exception"))
def test_dynamic_methods_that_are_freed(record, events):
    """CoreCLR 10 ends such a program when anybody listens to its own events and code is not written in place."""
    record(events, "mix", "--seconds", 1)


def test_environment_is_the_programs_own(record):
    ended, _ = record("gc", "env")
    assert not ended.out.strip(), ended
