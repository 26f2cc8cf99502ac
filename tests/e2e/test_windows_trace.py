# SPDX-License-Identifier: MIT
"""`dnprof run -e trace` on Windows, under Wine: hooks by the other convention of calls, against the same programs that count
their own calls."""
import collections
import json

import pytest

from harness import LOOSE, PATIENCE_S, cases, check_whole, dnprof, plain, refused, report
from test_args import logged, short
from test_trace import (DEPTHS, UNWINDING, UNWOUND_EXACTLY, Traced, calls_of, check_callers_in_log, check_callers_in_tree,
                        read_log)
from test_windows import on_windows, pytestmark, truth, wine  # noqa: F401

#: Of test_trace.CASES those that the program passes under Wine by itself. Not `hardware` (an overflow is a division by zero
#: there), `frames` and `ends` (they hang, in exceptions that are caught above native code), `native` (a library of Linux),
#: nor `unload` (another program's assembly).
CASES = ("exceptions", "tails", "emitted", "generics", "tasks", "iterators", "dynamic", "members", "statics", "recursion",
         "tiers", "osr", "inlining", "locks", "finalizers")
ALL = [(case, depth) for case in CASES for depth in DEPTHS]


def run_traced(truth, out, *arguments, options=(), events="trace", status=0):
    """Once more where too much was lost: see harness.dnprof_again."""
    for _ in range(5):
        ended = on_windows("run", "-q", "-e", events, *options, "-o", out, "--", truth, *arguments, timeout=3 * PATIENCE_S)
        if ended.status != 3 or "were lost" not in ended.err:
            break
    return ended.expect(status)


def trace(truth, tmp_path, *arguments, depth="tree", options=(), events="trace"):
    out = tmp_path / "out.dnp"
    ended = run_traced(truth, out, *arguments, options=("--depth", depth, *options), events=events)
    assert not ended.err, ended
    return Traced(ended, report(out, options=("-e", "trace")))


def trace_case(truth, tmp_path, case, threads=3, **more):
    return trace(truth, tmp_path, "calls", case, "--threads", threads, "--work", 1, **more)


#: Where all suites run: ways of calling that are the platform's own.
GATE = [("exceptions", "tree"), ("tails", "time"), ("tasks", "events")]
NAMED = [(case, "tree") for case in CASES] + [
    (case, depth) for case in ("exceptions", "tails", "generics", "recursion", "tasks") for depth in DEPTHS]


@pytest.mark.parametrize("case, depth", cases(ALL, NAMED, GATE))
def test_case(truth, tmp_path, case, depth):
    """Each call is counted, on several threads at once, and each that an exception ends, and no other."""
    traced = trace_case(truth, tmp_path, case, depth=depth)
    traced.check_counts()
    traced.check_balance()
    if case in UNWOUND_EXACTLY:
        assert traced.event["unwinds"] == traced.truth["unwound"]


def test_whose_callers(truth, tmp_path):
    """What is called after exceptions of which the runtime tells in odd ways stands below who called it."""
    traced = trace_case(truth, tmp_path, "unwinding", depth="events", options=UNWINDING)
    check_callers_in_log(traced.truth, dnprof("log", "--calls", tmp_path / "out.dnp").expect().out)
    traced = trace_case(truth, tmp_path, "unwinding", depth="tree", options=UNWINDING)
    check_callers_in_tree(traced.truth, traced.report)


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--no-inline",), ("--no-tiering",), ("--framework",)], ids=lambda options: options[0])
def test_options(truth, tmp_path, options):
    traced = trace_case(truth, tmp_path, "inlining", threads=1, options=options)
    traced.check_counts(inlined="--no-inline" not in options)
    traced.check_balance()


def test_transitions(truth, tmp_path):
    """--transitions: calls of native methods are calls, too."""
    traced = trace_case(truth, tmp_path, "exceptions", options=("--framework", "--transitions"))
    traced.check_counts()
    traced.check_balance()
    assert traced.calls()["Interop+Kernel32.WriteFile.__PInvoke"] > 0, "what the framework calls of Windows"


def test_chosen_methods(truth, tmp_path):
    """Those that patterns name, and no other; what is called between them is not in the tree."""
    traced = trace_case(truth, tmp_path, "generics", options=("--include", "Truth.Calls.Generics.*", "--exclude", "*.Round*"))
    calls = traced.calls()
    names = set(calls)
    assert names and all(name.startswith("Truth.Calls.Generics.") and not name.endswith(".Round") for name in names), names
    assert {m: calls[m] for m in traced.truth["calls"] if m in names} == {m: n for m, n in traced.truth["calls"].items() if m in names}
    traced.check_balance()


REGISTERS = [(depth, options) for depth in DEPTHS for options in ((), ("--no-tiering",), ("--no-inline",), ("--framework",))]


@pytest.mark.parametrize("depth, options", cases(REGISTERS, [(depth, ()) for depth in DEPTHS] + [("time", ("--framework",))],
                                                 [("tree", ())]))
def test_registers(truth, tmp_path, depth, options):
    """Arguments and results in all registers come through the hooks: the program checks them."""
    trace(truth, tmp_path, "registers", "--work", 20, "--threads", 2, depth=depth, options=options).check_balance()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("async", "--work", 2), ("shortthreads", "--seconds", 0.5), ("osr", "--work", 2),
                                       ("deep", "--work", 1)], ids=lambda arguments: arguments[0])
def test_other_programs(truth, tmp_path, arguments):
    traced = trace(truth, tmp_path, *arguments)
    assert traced.truth["program"] == arguments[0]
    traced.check_balance()
    assert traced.event["calls"] > 10


@pytest.mark.slow
def test_each_thread(truth, tmp_path):
    """Which thread called what; those of the pool take turns."""
    traced = trace_case(truth, tmp_path, "recursion", threads=4)
    for n in range(4):
        known = traced.truth["by_thread"][f"calls-{n}"]
        calls = calls_of(report(tmp_path / "out.dnp", options=("-e", "trace", "--thread", f"calls-{n}")))
        assert {m: calls[m] for m in known} == known


def test_times(truth, tmp_path):
    """Each call is timed: totals hold those of callees, and none is longer than the recording."""
    traced = trace(truth, tmp_path, "cpu", "--work", 50, depth="time")
    traced.report.check_sums("self_ns", "total_ns")
    spent = {plain(m["name"]): m["total_ns"] for m in traced.report.data["methods"]}
    assert all(spent[m] > 0 for m in traced.truth["methods"])
    assert max(spent.values()) <= traced.report.data["duration_ns"]


@pytest.mark.measured
def test_with_samples(truth, tmp_path):
    """Sampled and traced at once: hooks can be walked through."""
    traced = trace(truth, tmp_path, "calls", "tails", "--threads", 2, "--work", 40, events="cpu,trace", options=("-F", 499))
    traced.check_counts()
    traced.check_balance()
    cpu = traced.report.data["events"]["cpu"]
    check_whole(cpu)
    assert cpu["samples"] > 100 // LOOSE
    assert cpu["failed"] <= LOOSE * 0.05 * cpu["samples"], cpu


# ---- The log

def test_log(truth, tmp_path):
    """The article's two parts: a line for each call, as deep as it is, and how often each method was called."""
    out = tmp_path / "out.dnp"
    known = run_traced(truth, out, "calls", "exceptions", "--threads", 2, "--work", 1, options=("--depth", "events")).truth
    threads, summary = read_log(dnprof("log", out).expect().out)
    assert {m: summary[m] for m in known["calls"]} == known["calls"]
    for name, calls in known["by_thread"].items():
        counted = collections.Counter(method for _, method in threads[name])
        assert {m: counted[m] for m in calls} == calls
        assert [d for d, _ in threads[name]].count(0) == 1, "all is below the thread's first method"
    assert on_windows("log", out).expect().out == dnprof("log", out).expect().out


@pytest.mark.slow
@pytest.mark.parametrize("named", [None, "calls of mine.txt", "größer 日本.txt"])
def test_log_at_the_end_of_a_run(truth, tmp_path, monkeypatch, named):
    if named:
        monkeypatch.setenv("LOG_FILENAME", named)
    ended = on_windows("run", "-q", "-e", "trace", "--log", "-o", "x.dnp", "--", truth, "mix", "--work", 1, cwd=tmp_path)
    assert ended.status == 0 and not ended.err, ended
    name = named or "ICorProfilerCallback Log.log"
    assert (tmp_path / name).read_text() == dnprof("log", tmp_path / "x.dnp").expect().out
    assert (tmp_path / name).read_text().startswith("Truth.Program.Main, id=0x")


# ---- Arguments and results

@pytest.mark.slow
@pytest.mark.parametrize("tiering", [[], ["--no-tiering"]], ids=["tiers", "optimised"])
def test_values(truth, tmp_path, tiering):
    """In registers, on the stack and behind pointers, as this convention passes them."""
    told = run_traced(truth, tmp_path / "out.dnp", "values", options=("--args", "--depth", "events", *tiering)).truth
    want = [[call["method"], call["args"], None if call["result"] in ("void", "") else call["result"]]
            for call in told["calls"]]
    names = {name for name, _, _ in want}
    have = [[short(name), args, value] for name, args, value in logged(tmp_path / "out.dnp")]
    have = [call for call in have if call[0] in names]
    for wanted, found in zip(want, have):
        assert wanted == found
    assert len(want) == len(have) > 20


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
def test_exact_generics(truth, tmp_path, depth):
    """Instances of shared code are methods of their own."""
    traced = trace(truth, tmp_path, "values", "--work", 3, depth=depth, options=("--args",))
    names = {short(m["name"]): m["calls"] for m in traced.report.data["methods"]}
    for name, times in {"Same<string>(string)": 1, "Same<int>(int)": 1, "Shelf<Truth.Order>.Put(Truth.Order)": 1,
                        "Shelf<Truth.Order>..ctor()": 2, "Kinds<string, int>(string, int)": 1}.items():
        assert names.get(name) == 3 * times, sorted(names)
    traced.check_balance()


@pytest.mark.slow
@pytest.mark.parametrize("case", ["exceptions", "generics"])
def test_counts_with_arguments(truth, tmp_path, case):
    traced = trace_case(truth, tmp_path, case, depth="events", options=("--args",))
    traced.check_counts()
    traced.check_balance()
    if case in UNWOUND_EXACTLY:
        assert traced.event["unwinds"] == traced.truth["unwound"]


# ---- Ends

@pytest.mark.parametrize("depth", cases(DEPTHS, DEPTHS, DEPTHS[:1]))
def test_program_that_crashes(truth, tmp_path, depth):
    """What was written until then is there, and the program's end is its own."""
    out = tmp_path / "out.dnp"
    ended = on_windows("run", "-q", "-e", "trace", "--depth", depth, "-o", out, "--", truth, "crash", "--seconds", 1)
    assert ended.status == 0xe0434352 & 0xff and "crash on purpose" in ended.err, ended
    assert json.loads(dnprof("report", "--json", "-e", "trace", out).expect(3).out)["events"]["trace"]["calls"] > 0


@pytest.mark.parametrize("arguments, words", [
    (("-e", "cpu", "--depth", "time"), ("--depth", "add trace")),
    (("-e", "trace", "--depth", "deep"), ("--depth deep",)),
    (("-e", "trace", "--log", "--depth", "tree"), ("--log", "leave")),
    (("-e", "trace", "--engine", "snapshot"), ("--engine",)),
], ids=str)
def test_refusals(tmp_path, arguments, words):
    refused(on_windows("run", *arguments, "-o", "t.dnp", "--", "truth", cwd=tmp_path), 2, *words)
    assert not list(tmp_path.iterdir())
