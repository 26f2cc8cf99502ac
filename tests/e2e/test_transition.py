# SPDX-License-Identifier: MIT
"""Calls from managed to native code and back, each way of them, against how often the program made them."""
import re
import subprocess

import pytest

from harness import (DNPROF, NEWEST, cases, check_whole, dnprof, dnprof_again, is_sequence, plain, program, refused, report,
                     start, tasks_named, wait_for, wait_for_samples)

#: Calls of threads that the program does not count: those of .NET itself.
OWN = "Truth.Transitions"
#: How .NET asks for the time, by system.
CLOCKS = ("Interop+Sys.GetTimestamp", "Interop+Kernel32.QueryPerformanceCounter")


def record(tmp_path, tfm, *args, events="transition", options=(), work=300):
    """(What the program left behind, the recording.)"""
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", events, "-o", out, *options, "--",
                    *program(tfm, "transitions", "--work", work, *args))
    return result.expect(), out


def shown(out, way="transition", *options):
    return report(out, options=("-e", way, "-n", 0, *options))


def short(name):
    """`Nap` of `Truth.Transitions.Nap(long)`, and what the program calls calls without a name."""
    if name == "[function pointer]":
        return "pointer"
    name = plain(name)
    return name.removesuffix(".__PInvoke").split(".")[-1] if name.startswith(OWN) else name


def calls(seen):
    return {short(t["name"]): t for t in seen.data["types"]}


def check(truth, out, failures=frozenset()):
    """All are counted, and take as long as they do; stacks fail for these reasons at most."""
    to, back = shown(out), shown(out, "transition-in")
    for event, seen in (("transition", to), ("transition-in", back)):
        it = seen.data["events"][event]
        check_whole(it)
        assert it["unit"] == "ns" and set(it.get("failures", ())) <= failures, it
    out_of, into = calls(to), calls(back)
    assert {name: out_of[name]["count"] for name in truth["out"]} == truth["out"]
    assert {name: into[name]["count"] for name in truth["in"]} == truth["in"]
    for name, least_ns in truth["least_ns"].items():
        assert out_of[name]["ns"] >= least_ns and out_of[name]["ns"] >= out_of[name]["longest_ns"]
    assert out_of["Nap"]["longest_ns"] >= truth["longest_ns"]
    for name, most_ns in truth["most_ns"].items():  # without what was called back
        assert out_of[name]["ns"] <= most_ns
    clock = next(name for name in CLOCKS if name in out_of)
    counted = into["Called"]["ns"] + into["Invoke"]["ns"] + out_of[clock]["ns"]
    assert counted >= truth["inside_ns"]  # of twice that: what the profiler takes in between is nobody's
    left = {name: t["unfinished"] for name, t in out_of.items() if t["unfinished"] and name in truth["out"]}
    assert not left
    return to, back


def test_all_are_counted(tmp_path, tfm):
    result, out = record(tmp_path, tfm, "--threads", 3)
    to, back = check(result.truth, out)
    assert all(t["unfinished"] == 0 for t in back.data["types"])


def test_stacks(tmp_path, tfm):
    """Long calls have one each, and weigh what they took; what called, and what it called back, is on it."""
    result, out = record(tmp_path, tfm)
    to, back = shown(out), shown(out, "transition-in")
    naps = [(path, ns) for path, ns in to.stacks() if short(path[-1]) == "Nap"]
    assert sum(ns for _, ns in naps) == calls(to)["Nap"]["ns"] and calls(to)["Nap"]["samples"] == result.truth["out"]["Nap"]
    assert all(is_sequence(path, f"{OWN}.Play", f"{OWN}.Nap") for path, _ in naps)
    called = [path for path, _ in back.stacks() if short(path[-1]) == "Called"]
    assert called and all(is_sequence(path, f"{OWN}.GoBack", re.compile("truth_each"), f"{OWN}.Called") for path in called)
    assert to.incomplete() == back.incomplete() == 0


@pytest.mark.measured
@pytest.mark.parametrize("events", cases(["transition", "transition=20us"], ["transition"]))
def test_short_ones_by_lot(tmp_path, events):
    """What samples stand for in all is what all took, within chance."""
    _, out = record(tmp_path, NEWEST, "--hot", events=events, work=50_000)
    exact = calls(shown(out))["Plain"]
    assert exact["count"] == 20 * 50_000
    # By a filter counts do not know of: they are estimates then.
    sampled, counted = calls(shown(out, "transition", "--include", f"{OWN}.*")), calls(shown(out))
    # What a sample stands for is no call's length.
    assert all(t["longest_ns"] <= counted[name]["longest_ns"] for name, t in sampled.items())
    by_samples = sampled["Plain"]
    assert by_samples["samples"] == exact["samples"] > 0 and "unfinished" not in by_samples
    # Each weighs at least this, so their number has no greater deviation than that of so many.
    least_ns = by_samples["ns"] / by_samples["samples"]
    assert abs(by_samples["ns"] - exact["ns"]) <= 5 * (exact["ns"] * max(least_ns, 20_000)) ** 0.5 + 0.001 * exact["ns"]


def test_exceptions_and_ends(tmp_path, tfm):
    """Calls that an exception ended, threads that ended amid one, and one that has not come back."""
    result, out = record(tmp_path, tfm, "--end")
    to, _ = check(result.truth, out)
    for name in ("Vanish", "Stay"):
        assert (calls(to)[name]["count"], calls(to)[name]["unfinished"]) == (0, 1)
    assert not {"truth_missing", "Absent"} & set(calls(to))  # the exception comes before anything is told


def test_threads(tmp_path):
    """Each thread has its own counts."""
    result, out = record(tmp_path, NEWEST, "--threads", 2)
    one = calls(shown(out, "transition", "--thread", "crossing-1"))
    assert {name: one[name]["count"] * 2 for name in result.truth["out"]} == result.truth["out"]


def test_together(tmp_path, tfm):
    """With traced calls, of which these are some, and all else that happens."""
    result, out = record(tmp_path, tfm, events="cpu,alloc,exception,jit,switch,trace,transition",
                         options=("--transitions", "--depth", "time"))
    check(result.truth, out)
    traced = {}
    for m in report(out, options=("-e", "trace", "-n", 0)).data["methods"]:
        if plain(m["name"]).startswith(OWN):
            traced[short(m["name"])] = traced.get(short(m["name"]), 0) + m["calls"]
    assert all(traced[name] == n for name, n in result.truth["out"].items() if name in ("Plain", "Inlined", "Each", "Nap"))


def test_beside_trace_that_does_not_want_them(tmp_path):
    result, out = record(tmp_path, NEWEST, events="trace,transition")
    check(result.truth, out)
    traced = [plain(m["name"]) for m in report(out, options=("-e", "trace", "-n", 0)).data["methods"]]
    assert f"{OWN}.Play" in traced and f"{OWN}.Nap" not in traced


def test_snapshot_engine(tmp_path, tfm):
    result, out = record(tmp_path, tfm, events="cpu,transition", options=("--engine", "snapshot"))
    check(result.truth, out)


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(["native", "unload", "shortthreads", "mix", "fork", "async", "exceptions", "deep", "osr",
                                        "signals"],
                                       ["native", "unload", "shortthreads", "fork", "exceptions"]))
def test_programs(tmp_path, tfm, name):
    """They check their own results, errno among them."""
    out = tmp_path / "out.dnp"
    dnprof_again("run", "-q", "-e", "transition=10us,cpu", "-o", out, "--", *program(tfm, name, "--seconds", 0.4)).expect()
    assert shown(out).data["types"]


def test_children(tmp_path):
    out = tmp_path / "out.dnp"
    truth = " ".join(map(str, program(NEWEST, "transitions", "--work", 50)))
    result = dnprof("run", "-q", "--children", "-e", "transition", "-o", out, "--", "sh", "-c", f"{truth}; {truth}").expect()
    seen = calls(shown(out))
    assert {name: seen[name]["count"] for name in result.truth["out"]} == {k: 2 * n for k, n in result.truth["out"].items()}


def stays(pid):
    """Whether the thread is there, in pause()."""
    return any((task / "syscall").read_text().startswith("34 ") for task in tasks_named(pid, "staying"))


def test_end_amid_a_call(tmp_path, tfm):
    """The recording ends while a thread is in native code; the agent stays, since the runtime goes on telling."""
    out = tmp_path / "out.dnp"
    with start([DNPROF, "run", "-q", "-e", "transition", "-o", out, "--", *program(tfm, "transitions", "--work", 20, "--end", "--wait")],
               stdin=subprocess.PIPE) as it:
        pid = it.child("transitions")
        wait_for(lambda: stays(pid), "a thread in native code")
        dnprof("stop", pid).expect()
        refused(dnprof("detach", pid), 1, r"CORPROF_E_IMMUTABLE_FLAGS_SET")
        # Others can be recorded all the same, and nobody counts any more.
        dnprof("start", "-e", "wall", "-o", tmp_path / "wall.dnp", pid).expect()
        wait_for_samples(pid)
        assert "CORPROF_E_IMMUTABLE_FLAGS_SET" in dnprof("detach", pid).expect(1).err
        it.process.stdin.close()
        it.process.stdin = None
        result = it.end().expect()
    assert report(tmp_path / "wall.dnp").data["events"]["wall"]["samples"] > 0
    assert calls(shown(out))["Stay"]["unfinished"] == 1
    assert {name: calls(shown(out))[name]["count"] for name in ("Plain", "Nap")} == {n: result.truth["out"][n] for n in ("Plain", "Nap")}


def test_text(tmp_path):
    _, out = record(tmp_path, NEWEST, "--end")
    text = dnprof("report", "-n", 0, out).expect().out
    assert re.search(r"^transition: [\d,]+ samples, [\d.]+ \S+, ManagedToUnmanagedTransition, UnmanagedToManagedTransition$", text, re.M), text
    assert re.search(r"^  stacks are of calls of 1 ms or longer, and of shorter ones by lot$", text, re.M)
    assert re.search(r"^  [\d,]+ calls that took [\d.]+ \S+ in all, and \d+ without an end$", text, re.M)
    assert re.search(r"^  also recorded: transition-in \(", text, re.M)
    assert re.search(r"^Calls\n   share        time       count     longest   method\n", text, re.M)
    assert re.search(r" 4 +[\d.]+ ms   Truth\.Transitions\.Nap\(long\)$", text, re.M)


@pytest.mark.parametrize("ending", ["html", "txt", "folded"])
def test_exports(tmp_path, ending):
    """As of other events with stacks."""
    _, out = record(tmp_path, NEWEST)
    to = tmp_path / f"out.{ending}"
    dnprof("export", "-o", to, out).expect()
    if ending == "folded":
        assert re.search(r";Truth\.Transitions\.Nap\(long\) \d+$", to.read_text(), re.M)


@pytest.mark.parametrize("event,words", [
    ("transition=5", ("not a time", "1ms")),
    ("transition=100ns", ("out of range", "1us")),
    ("transition=61s", ("out of range", "60s")),
    ("transition=", ("not a time",)),
    ("transition,transition=2ms", ("named twice",)),
    ("transition-in", ("cannot be recorded", "transition")),
])
def test_refused(event, words):
    refused(dnprof("run", "-e", event, "--", *program(NEWEST, "exitcode", 0)), 2, *words)


def test_refused_after_attach(tmp_path):
    with start(program(NEWEST, "sleepers", "--seconds", 600)) as it:
        for command in (("start",), ("record", "-d", 1, "-o", tmp_path / "x.dnp")):
            refused(dnprof(*command, "-e", "cpu,transition", it.process.pid), 2, "program's start only", "dnprof run -e cpu,transition")


def test_refused_beside_another_profiler():
    result = dnprof("run", "-e", "transition", "--", *program(NEWEST, "exitcode", 0), env={
        "CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER_PATH": "/apm/tracer.so"})
    assert result.status == 1 and "unset CORECLR_ENABLE_PROFILING" in result.err, result
