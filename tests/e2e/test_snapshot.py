# SPDX-License-Identifier: MIT
"""Threads walked by the runtime itself, which is suspended for it (--engine snapshot)."""
import contextlib
import os
import re
import signal

import pytest

from harness import (DNPROF, FIRST_FILES, LOOSE, NEWEST, NOT_SAMPLED, READY, SOAK, cases, dnprof, is_sequence, plain, program, record,
                     report, run, start, steady, wait_for, wait_for_samples)

HZ = 97
SNAPSHOT = ("--engine", "snapshot")
#: What is on its way to a handler, or unloaded, and threads that end and begin all the time.
HARD = ("alloc", "exceptions", "shortthreads", "unload", "async", "native")


def snap(tmp_path, argv, event="cpu", **more):
    out = tmp_path / "out.dnp"
    result, _ = record(tmp_path, argv, hz=more.pop("hz", HZ), options=(*SNAPSHOT, "-e", event), **more)
    return result, {e: report(out, options=("-e", e)) for e in event.split(",")}


@contextlib.contextmanager
def one_processor():
    """Programs that are started meanwhile have one."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def told(seen, event):
    return seen.data["events"][event]


def check_stacks(seen, event):
    """All of them begin where threads begin."""
    assert sum(n for _, n in seen.stacks()) == told(seen, event)["samples"]
    for path, _ in seen.stacks():
        assert FIRST_FILES.match(path[0]) or path[0] in ("[native]", NOT_SAMPLED, READY), path


@pytest.mark.measured
@pytest.mark.parametrize("name", cases(HARD, ["exceptions", "shortthreads", "unload"], ["exceptions"]))
def test_programs(tmp_path, tfm, name):
    """No crash, no hang, and all CPU time of managed threads is there."""
    argv = program(tfm, name, "--seconds", 1.5)
    result, seen = snap(tmp_path, argv)
    cpu = told(seen["cpu"], "cpu")
    assert result.complaints() == []
    assert seen["cpu"].data["complete"] and not seen["cpu"].data["problems"]
    assert cpu["note"].startswith("safepoint-biased: ")
    assert cpu["source"] == "runtime suspension"
    seen["cpu"].check_few_lost()
    # The runtime's own threads and those of native libraries are not seen. Of a short thread it is chance whether it has
    # a sample, so that five standard deviations are more or less.
    whole = result.truth["process_cpu_ns"] / cpu["interval_ns"]
    least, most = whole * 0.3 / LOOSE, whole * (1 + LOOSE * 0.1)
    assert least - 5 * least ** 0.5 < cpu["samples"] < most + 5 * whole ** 0.5
    assert any(plain(f).startswith("Truth.") for path, _ in seen["cpu"].stacks() for f in path)
    assert set(cpu["failures"]) <= {
        "CORPROF_E_SUSPENSION_IN_PROGRESS", "CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD",
        "CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX", "CORPROF_E_STACKSNAPSHOT_UNSAFE", "E_NOTIMPL",
        "bad stack", "no rule", "unknown code"}, cpu["failures"]


def test_unharmed(tmp_path):
    for name in ("exceptions", "unload"):
        argv = program(NEWEST, name, "--seconds", 0.1)
        alone = run(argv).expect()
        snapped, _ = snap(tmp_path, argv, "cpu,wall")
        assert steady(snapped.truth) == steady(alone.truth)
        assert snapped.stderr == alone.stderr


@pytest.mark.measured
def test_biased(tmp_path, tfm):
    """A loop over Math.Sin has no safe point: it is hardly seen, though it takes its share."""
    result, seen = snap(tmp_path, program(tfm, "cpu", "--seconds", 2))
    methods = result.truth["methods"]
    share = methods["Truth.Cpu.Sines"] / sum(methods.values())
    own = sum(n for path, n in seen["cpu"].stacks() if plain(path[-1]) == "Truth.Cpu.Sines")
    inside = sum(n for path, n in seen["cpu"].stacks() if "Truth.Cpu.Run" in map(plain, path))
    # Half of its share at most is promised.
    assert own / inside < share * (1 - 0.5 / LOOSE)
    check_stacks(seen["cpu"], "cpu")


def test_refusals_are_told(tmp_path):
    """A runtime that collects garbage is suspended already; how often that was so is in the report."""
    _, seen = snap(tmp_path, program(NEWEST, "alloc", "--seconds", 2), hz=499)
    cpu = told(seen["cpu"], "cpu")
    assert cpu["failures"]["CORPROF_E_SUSPENSION_IN_PROGRESS"] > 0
    seen["cpu"].check_few_lost()


def test_natives_stand_between(tmp_path, tfm):
    """The library that managed code calls, and is called back by, is on the stacks."""
    _, seen = snap(tmp_path, program(tfm, "native", "--seconds", 1), "cpu,wall", hz=997)
    library = re.compile(r"^(libc\.so\.6!.*(qsort|msort)|libtruth_\w+\.so!)")
    managed = re.compile(r"^Truth\.")
    assert any(is_sequence(path, managed, library, managed)
               for path, _ in seen["wall"].stacks() + seen["cpu"].stacks())


@pytest.mark.measured
@pytest.mark.slow
def test_wall(tmp_path, tfm):
    """Threads that sleep are seen as often as those that work, in what they sleep in."""
    _, seen = snap(tmp_path, program(tfm, "deadlock", "--seconds", 3), "wall")
    threads = {t["name"]: t for t in seen["wall"].data["threads"]}
    stuck = [threads["stuck-left"], threads["stuck-right"]]
    assert all(t["waiting"] >= t["samples"] * (1 - LOOSE * 0.2) for t in stuck), stuck
    assert stuck[0]["samples"] == pytest.approx(stuck[1]["samples"], rel=LOOSE * 0.1)
    asleep = [path for path, _ in seen["wall"].stacks()
              if path[-1].startswith("libc.so.6!") and any(plain(f).startswith("Truth.") for f in path)]
    assert asleep, "what a thread sleeps in stands at the leaf"
    check_stacks(seen["wall"], "wall")


def test_time_is_split_as_the_clocks_split_it(tmp_path, tfm):
    """Eight threads compute on one processor: what they are said to have run is their CPU time, however little they got."""
    with one_processor():
        _, seen = snap(tmp_path, program(tfm, "threads8", "--seconds", 1), "wall")
    interval_ns = told(seen["wall"], "wall")["interval_ns"]
    threads = [t for t in seen["wall"].data["threads"] if t["cpu_ns"] > 8 * interval_ns]
    assert threads
    for t in threads:
        # What is less than a sample is nobody's, and a thread that has not ended may have some more to tell of.
        assert abs((t["samples"] - t["waiting"]) * interval_ns - t["cpu_ns"]) < 4 * interval_ns, t
    assert sum(n for _, n in seen["wall"].with_frame(READY)) > 0


@pytest.mark.parametrize("tfm", ["net8.0", NEWEST])
def test_stopped_threads_are_not_native(tmp_path, tfm):
    """One that is stopped falls asleep only when it gets a processor, of which there is one: until then it looks as if it ran on."""
    with one_processor():
        _, seen = snap(tmp_path, program(tfm, "cpu", "--seconds", 1))
    of_program = seen["cpu"].with_frame("Truth.Cpu.Run")
    assert sum(n for path, n in of_program if path[-1] == "[native]") < 0.5 * sum(n for _, n in of_program)


@pytest.mark.measured
def test_native_threads_that_have_gone(tmp_path, tfm):
    """The runtime does not know it yet: what others do meanwhile is theirs, once."""
    result, seen = snap(tmp_path, program(tfm, "lent", "--seconds", 3))
    interval_ns = told(seen["cpu"], "cpu")["interval_ns"]
    sampled = {t["name"]: t["samples"] * interval_ns for t in seen["cpu"].data["threads"]}
    for name, ns in result.truth["threads"].items():
        assert sampled[name] < ns * (1 + LOOSE * 0.2) + LOOSE * interval_ns, (name, sampled[name], ns)


def test_recording_ends_before_the_program(tmp_path):
    """At any moment, also while the runtime is suspended: the program goes on."""
    for i in range(0, 5, 1 if SOAK else 2):
        argv = program(NEWEST, "alloc", "--seconds", 0.5)
        result = dnprof("run", "-q", *SNAPSHOT, "-F", 97, "-d", f"{200 + 37 * i}ms", "-o", tmp_path / "x.dnp",
                        "--", *argv).expect()
        assert result.truth["work"] > 0
        assert report(tmp_path / "x.dnp").data["complete"]


def test_threads_half_way_through_their_exit(tmp_path, tfm):
    _, seen = snap(tmp_path, program(tfm, "atexit", "--seconds", 0.5), "cpu,wall")
    assert told(seen["wall"], "wall")["samples"] > 0
    seen["cpu"].check_few_lost()


def test_a_thread_that_cannot_be_stopped(tmp_path, tfm):
    """The runtime waits for it, with all its threads, and so do we; the program may notice."""
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", *SNAPSHOT, "-o", out, "--", *program(tfm, "endless", "--seconds", 0.5))
    assert report(out).data["complete"]


def test_program_is_killed(tmp_path):
    """Whatever the sampler is doing: the process goes, and what was recorded is there."""
    out = tmp_path / "out.dnp"
    command = [DNPROF, "run", "-q", *SNAPSHOT, "-o", out, "--", *program(NEWEST, "cpu", "--seconds", 600)]
    with start(command) as started:
        pid = started.child("truth")
        wait_for_samples(pid)
        wait_for(lambda: dnprof("report", out).status != 1, "samples that are written")
        os.kill(pid, signal.SIGKILL)
        result = started.end()
    assert result.status == 128 + signal.SIGKILL
    assert "signal 9 ended the program" in dnprof("report", out).expect(3).err


def test_fast_snapshots_are_warned_of(tmp_path):
    out = tmp_path / "out.dnp"
    argv = program(NEWEST, "cpu", "--seconds", 0.1)
    quiet = dnprof("run", "-q", *SNAPSHOT, "-o", out, "--", *argv).expect()
    assert quiet.complaints() == []
    assert report(out).cpu["interval_ns"] == 1_000_000_000 // 97
    loud = dnprof("run", "-q", *SNAPSHOT, "-F", 199, "-o", out, "--", *argv).expect()
    assert any("--engine snapshot stops the whole program" in line for line in loud.complaints())


def test_forked_children(tmp_path):
    """A child that leaves by exit() passes through the runtime. One that was forked while that is suspended would
    wait for ever: about one of forty, if forks did not wait. One of nine thousand does without dnprof as well, and as
    many with it: the program's own collections suspend the runtime, too; so more than two of 300 are seen once in a
    hundred and sixty thousand runs."""
    argv = program(NEWEST, "forks", "--exits", "--burns", "--work", 300, "--patience-ms", 10_000)
    result, seen = record(tmp_path, argv, hz=997, options=(*SNAPSHOT, "-e", "cpu,wall"))
    assert result.truth["work"] == 300
    assert seen.samples > 0
    assert result.truth["hung"] <= 2
