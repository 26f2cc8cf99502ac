# SPDX-License-Identifier: MIT
"""`-e trace`: every call counted, against programs that count their own calls."""
import collections
import itertools
import json
import os
import re
import signal
import subprocess
import time

import pytest

import harness
from harness import (DNPROF, LOOSE, NEWEST, SOAK, TESTED, cases, check_whole, dnprof, dnprof_again, plain, program, report,
                     run, shares, start, wait_for)
from net import surroundings

DEPTHS = ("tree", "time", "events")

#: Each calls in ways that the others do not.
CASES = ("exceptions", "hardware", "frames", "tails", "emitted", "generics", "tasks", "iterators", "dynamic",
         "members", "statics", "recursion", "ends", "native", "tiers", "osr", "inlining", "locks", "finalizers",
         "unload", "unwinding")

#: Cases where every call that an exception ends is one that counts.
UNWOUND_EXACTLY = ("exceptions", "hardware", "frames", "dynamic", "recursion", "osr", "locks", "unwinding")


PAIRS = [(tfm, depth) for tfm in TESTED for depth in DEPTHS]
pairs = pytest.mark.parametrize("tfm, depth", PAIRS)
#: For what goes the same way through each depth.
tree_first = pytest.mark.parametrize("tfm, depth", cases(PAIRS, [(NEWEST, "tree")]))


@pytest.fixture(params=DEPTHS)
def depth(request):
    return request.param


class Traced:
    """What a program did, and what was recorded of it."""

    def __init__(self, result, shown):
        self.result, self.truth, self.report = result, result.truth, shown
        self.event = shown.data["events"]["trace"]

    def calls(self):
        """How often each method was called, its overloads and instances together."""
        return calls_of(self.report)

    def check_counts(self, inlined=True):
        calls = self.calls()
        assert {m: calls[m] for m in self.truth["calls"]} == self.truth["calls"]
        for method, times in self.truth["may_inline"].items():
            assert calls[method] <= times if inlined else calls[method] == times, method

    def check_balance(self):
        """Every call that began has ended, or had not when the recording did."""
        e = self.event
        check_whole(e)
        assert e["enters"] == e["leaves"] + e["tailcalls"] + e["unwinds"] + e["open"]
        assert e["enters"] == e["calls"] == sum(self.calls().values())


def calls_of(shown):
    counts = collections.Counter()
    for method in shown.data["methods"]:
        counts[plain(method["name"])] += method["calls"]
    return counts


def trace(tmp_path, argv, depth="tree", options=(), status=0, events="trace", **more):
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", events, "--depth", depth, *options, "-o", out, "--", *argv, **more)
    result.expect(status)
    return Traced(result, report(out, options=("-e", "trace")))


def trace_case(tmp_path, tfm, case, depth="tree", threads=4, options=()):
    return trace(tmp_path, program(tfm, "calls", case, "--threads", threads, "--work", 1), depth, options)


# ---- Counts

@pytest.mark.parametrize("case", cases(CASES, UNWOUND_EXACTLY))
def test_case(tmp_path, case):
    """Each case by itself, so that a failure says where; the others are among all, which are next."""
    traced = trace_case(tmp_path, NEWEST, case)
    traced.check_counts()
    traced.check_balance()
    if case in UNWOUND_EXACTLY:
        assert traced.event["unwinds"] == traced.truth["unwound"]


@pairs
def test_all_cases(tmp_path, tfm, depth):
    traced = trace_case(tmp_path, tfm, "all", depth)
    traced.check_counts()
    traced.check_balance()


@pytest.mark.parametrize("tfm, depth", cases([(tfm, depth) for tfm in TESTED for depth in ("tree", "events")],
                                             [(NEWEST, "events")]))
def test_unwound(tmp_path, tfm, depth):
    """Each call that an exception ends, and no other: as much as the program knows, on each runtime; and when it ends."""
    traced = trace_case(tmp_path, tfm, "exceptions", depth)
    traced.check_balance()
    assert traced.event["unwinds"] == traced.truth["unwound"]
    callers = collections.defaultdict(set)
    for path in traced.report.paths():
        callers[plain(path[-1]["name"])].add(plain(path[-2]["name"]) if len(path) > 1 else "")
    for callee, caller in (("Behind", "Outer"), ("Within", "Inner")):
        assert callers[f"Truth.Calls.Throwing.{callee}"] == {f"Truth.Calls.Throwing.{caller}"}, callee


def paths_of(case, calls):
    """The calls of a case of `unwinding` in their order, each as the methods that lead to it: `Run(A!(B) C)` is four."""
    path, called = [], []
    for token in re.findall(r"\w+|[()]", calls):
        if token == "(":
            path.append(called[-1][-1])
        elif token == ")":
            path.pop()
        else:
            called.append((*path, f"Truth.Calls.Unwinding+{case}.{token}"))
    return called


def check_callers_in_log(truth, text):
    """The calls of each thread, as often as it went through all cases, and how deep each is."""
    threads, _ = read_log(text)
    for name, calls in truth["by_thread"].items():
        lines, times = iter(threads[name]), calls["Truth.Calls.Unwinding+Swallowed.Run"]
        for n in range(times):
            for case in truth["unwinding"]:
                called = [(len(path) - 1, path[-1]) for path in paths_of(*case)]
                assert list(itertools.islice(lines, len(called))) == called, (name, n)
        assert times > 1 and not list(lines)


def rounds(truth):
    return truth["calls"]["Truth.Calls.Unwinding+Swallowed.Run"]


def unwound_in_cases(truth):
    return rounds(truth) * sum(calls.count("!") for _, calls in truth["unwinding"])


def check_callers_in_tree(truth, shown):
    """How often each method was called by which, and by whom those were."""
    counted = collections.Counter()
    for path in shown.paths():
        counted[tuple(plain(node["name"]) for node in path)] += path[-1]["calls"]
    cases = collections.Counter(call for case in truth["unwinding"] for call in paths_of(*case))
    times = rounds(truth)
    assert counted == {call: n * times for call, n in cases.items()}


#: The methods of the cases, and no others: what a dynamic method calls is called by who calls that.
UNWINDING = ("--no-inline", "--include", "Truth.Calls.Unwinding+*", "--exclude", "*..cctor,*.Make,*<>c.*,*Caller<*")


@pytest.mark.parametrize("tiering", [(), ("--no-tiering",)], ids=["tiers", "optimised"])
@pytest.mark.parametrize("tfm", harness.TFMS)
def test_whose_callers(tmp_path, tfm, tiering):
    """What is called after exceptions of which each runtime tells in odd ways of its own stands below who called it."""
    traced = trace_case(tmp_path, tfm, "unwinding", "events", threads=2, options=(*UNWINDING, *tiering))
    assert traced.event["unwinds"] == unwound_in_cases(traced.truth)
    check_callers_in_log(traced.truth, dnprof("log", "--calls", tmp_path / "out.dnp").expect().out)
    traced = trace_case(tmp_path, tfm, "unwinding", "tree", threads=2, options=(*UNWINDING, *tiering))
    assert traced.event["unwinds"] == unwound_in_cases(traced.truth)
    check_callers_in_tree(traced.truth, traced.report)


def test_arguments_of_code_that_was_replaced(tmp_path, tfm):
    """On top of the frame of other code a method's own is not where others have theirs."""
    traced = trace_case(tmp_path, tfm, "osr", "events", threads=1, options=("--args",))
    traced.check_counts()
    traced.check_balance()
    assert traced.event["unwinds"] == traced.truth["unwound"] and not traced.report.data["problems"]


@pytest.mark.parametrize("depth, threads", cases([(depth, n) for depth in DEPTHS for n in (1, 8)], [("tree", 8)]))
def test_threads(tmp_path, depth, threads):
    traced = trace_case(tmp_path, NEWEST, "all", depth, threads)
    traced.check_counts()
    traced.check_balance()


@tree_first
def test_nothing_inlined(tmp_path, tfm, depth):
    """--no-inline: what is written as a call is one."""
    traced = trace_case(tmp_path, tfm, "all", depth, options=("--no-inline",))
    traced.check_counts(inlined=False)
    traced.check_balance()


def test_inlined(tmp_path):
    """Without it small methods are nowhere in optimised code."""
    traced = trace_case(tmp_path, NEWEST, "inlining", options=("--no-tiering",))
    assert traced.calls()["Truth.Calls.Inlining.Small"] == 0


@pytest.mark.parametrize("tfm, options", cases([
    (tfm, options) for tfm in TESTED
    for options in (("--no-tiering",), ("--framework",), ("--framework", "--no-inline"))],
    [(NEWEST, ("--no-tiering",)), (NEWEST, ("--framework", "--no-inline"))], [(NEWEST, ("--no-tiering",))]))
def test_options(tmp_path, tfm, options):
    """The framework calls itself a lot for each thread."""
    traced = trace_case(tmp_path, tfm, "all", threads=4 if SOAK else 1, options=options)
    traced.check_counts(inlined="--no-inline" not in options)
    traced.check_balance()


@tree_first
def test_transitions(tmp_path, tfm, depth):
    """--transitions: calls of native methods are calls, too."""
    traced = trace_case(tmp_path, tfm, "all", depth, options=("--transitions",))
    traced.check_counts()
    traced.check_balance()
    calls = traced.calls()
    assert {m: calls[m] for m in traced.truth["native"]} == traced.truth["native"]


def test_each_thread(tmp_path):
    """Which thread called what; those of the pool take turns."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "trace", "-o", out, "--",
                    *program(NEWEST, "calls", "all", "--threads", 4, "--work", 1)).expect()
    for n in range(4):
        truth = result.truth["by_thread"][f"calls-{n}"]
        calls = calls_of(report(out, options=("-e", "trace", "--thread", f"calls-{n}")))
        assert {m: calls[m] for m in truth} == truth


def test_types_apart(tmp_path):
    """Generic methods of structs are methods of their own; classes share theirs."""
    traced = trace_case(tmp_path, NEWEST, "generics", threads=1)
    rounds = {m["name"]: m["calls"] for m in traced.report.data["methods"]
              if plain(m["name"]) == "Truth.Calls.Generics.Round"}
    each = traced.truth["calls"]["Truth.Calls.Generics.Round"] // 6
    assert sorted(rounds.values()) == [each, each, each, 3 * each], rounds
    assert sum("<int>" in name for name in rounds) == 1
    assert sum("<double>" in name for name in rounds) == 1


def test_results_unchanged(tmp_path, tfm):
    """A traced program calls what it calls alone."""
    argv = program(tfm, "calls", "all", "--threads", 2, "--work", 1)
    alone = run(argv).expect().truth
    traced = trace(tmp_path, argv).truth
    assert traced["calls"] == alone["calls"]
    assert traced["unwound"] == alone["unwound"]


REGISTERS = [(tfm, depth, options) for tfm, depth in PAIRS
             for options in ((), ("--no-tiering",), ("--no-inline",), ("--framework",))]


@pytest.mark.parametrize("tfm, depth, options", cases(REGISTERS, [
    (tfm, depth, options) for tfm, depth, options in REGISTERS if tfm == NEWEST and (not options or depth == "time")]))
def test_registers(tmp_path, tfm, depth, options):
    """Arguments and results in all registers come through the hooks."""
    argv = program(tfm, "registers", "--work", 20, "--threads", 2)
    trace(tmp_path, argv, depth, options).check_balance()


def test_core_library_spared(tmp_path, tfm):
    """.NET's own methods are not compiled anew for hooks that they do not get."""
    argv = program(tfm, "calls", "statics", "--threads", 1, "--work", 1)
    event, everything = trace(tmp_path, argv).event, trace(tmp_path, argv, options=("--framework",)).event
    assert event["left_out"] < (everything["methods"] - event["methods"]) * 0.6


@pytest.mark.measured
def test_deterministic(tmp_path):
    """The same program gives the same counts: ±0.001 %."""
    counts = []
    for _ in range(3 if SOAK else 2):
        traced = trace(tmp_path, program(NEWEST, "serialise", "--work", 5), options=("--no-tiering",))
        counts.append(traced.event["calls"])
    assert max(counts) - min(counts) <= max(counts) * LOOSE * 0.00001, counts


# ---- Times

@pytest.mark.measured
def test_times(tmp_path, depth):
    """Self times add up, no more than there was; totals hold those of callees."""
    for _ in range(5):
        known, seen = times(trace(tmp_path, program(NEWEST, "cpu", "--work", 150), depth))
        # Beside the profiler's own cost, which is where the calls are. It is time that passes: where a busy machine takes
        # the processor away, or lets a full ring wait, is another method each time; an error is not.
        if all(abs(share - seen[m]) < LOOSE * 0.05 for m, share in known.items()):
            return
    assert seen == pytest.approx(known, abs=LOOSE * 0.05)


def times(traced):
    """The shares of methods as the program knows them, and as they are shown."""
    assert traced.report.data["tree"]
    traced.report.check_sums("self_ns", "total_ns")
    methods = traced.truth["methods"]
    spent = {m: sum(x["total_ns"] for x in traced.report.data["methods"] if plain(x["name"]) == m) for m in methods}
    return shares(methods), shares(spent)


def test_time_of_a_finalizer(tmp_path, tfm):
    """Its thread tells of others' ends, which is not its own: what it has open goes on."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    when.touch()
    with start([DNPROF, "run", "-q", "-e", "trace", "--depth", "time", "-o", out, "--",
                *program(tfm, "finalizers", "--when", when)]) as it:
        wait_for((tmp_path / "when.done").exists, "the finalizer's work")
        time.sleep(0.3)
        dnprof("stop", it.child("finalizers")).expect()
        when.unlink()
        truth = it.end().expect().truth
    spent = {plain(m["name"]): m["total_ns"] for m in report(out).data["methods"]}
    # After that it waits, and does so still.
    assert spent["Truth.Finalizers.Last"] > truth["methods"]["Truth.Finalizers.Last"] + 0.3e9


# ---- The log

def read_log(text):
    """({thread: [(depth, method)]}, {method: calls} of the summary)."""
    threads, summary, lines = {}, collections.Counter(), None
    for line in text.splitlines():
        method = plain(line.split(", id=")[0].split(" : call count = ")[0].strip())
        if line.startswith("Thread "):
            _, tid, *name = line.rstrip(":").split(" ", 2)
            lines = threads.setdefault(name[0] if name else tid, [])
        elif ", id=0x" in line:
            lines.append(((len(line) - len(line.lstrip())) // 2, method))
        elif " : call count = " in line:
            summary[method] += int(line.rsplit(" ", 1)[1])
    return threads, summary


def depths_of(lines, wanted):
    return {depth for depth, method in lines if method == wanted}


def test_log(tmp_path, tfm):
    """A line for each call, and after exceptions of all kinds the depth is what it was."""
    out = tmp_path / "out.dnp"
    truth = dnprof_again("run", "-q", "-e", "trace", "--depth", "events", "-o", out, "--",
                          *program(tfm, "calls", "exceptions", "--threads", 2, "--work", 1)).expect().truth
    threads, summary = read_log(dnprof("log", out).expect().out)
    assert {m: summary[m] for m in truth["calls"]} == truth["calls"]
    for name, calls in truth["by_thread"].items():
        counted = collections.Counter(method for _, method in threads[name])
        assert {m: counted[m] for m in calls} == calls
        assert [d for d, _ in threads[name]].count(0) == 1, "all is below the thread's first method"
        own = {"Truth.Calls.Throwing." + m for m in ("Filtered", "Rethrown", "ByItself", "Captured", "Replaced", "AwayFromLoop")}
        assert len({d for d, method in threads[name] if method in own}) == 1
        # What is called when the exception was caught is called by who caught it.
        after = {d for (d, _), (_, method) in zip(threads[name], threads[name][1:]) if method == "Truth.Calls.Throwing.Captured"}
        assert after == {d + 1 for d in depths_of(threads[name], "Truth.Calls.Throwing.ByItself")}
    main = next(lines for lines in threads.values() if ("Truth.Program.Main") in {m for _, m in lines})
    assert [d for d, m in main if m == "Truth.Program.Print"] == [1]


def test_log_of_exceptions_through_the_runtime(tmp_path, tfm):
    """Of those that leave a method by the runtime's own frames it does not tell."""
    traced = trace_case(tmp_path, tfm, "frames", "events", threads=2)
    traced.check_counts()
    traced.check_balance()
    threads, _ = read_log(dnprof("log", tmp_path / "out.dnp").expect().out)
    ran = [name for name, calls in traced.truth["by_thread"].items() if "Truth.Calls.Passing.Reflected" in calls]
    assert ran
    for name in ran:
        caught, = depths_of(threads[name], "Truth.Calls.Passing.Reflected")
        assert depths_of(threads[name], "Truth.Calls.Passing.Afterwards") == {caught + 1}


# ---- Programs

@pytest.mark.slow
@pytest.mark.parametrize("depth, options", [
    ("tree", ()), ("time", ("--framework",)), pytest.param("events", (), marks=pytest.mark.measured)], ids=DEPTHS)
def test_shop(tmp_path, depth, options):
    """The demo's output is the same, its calls balance."""
    argv = program(NEWEST, 0.3 if SOAK else 0.05, app="shop")
    alone = run(argv).expect()
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", "trace", "--depth", depth, *options, "-o", out, "--", *argv,
                          timeout=3 * harness.PATIENCE_S)
    assert result.stdout == alone.stdout
    shown = dnprof("report", "--json", "--top", "1", "--min", "50", out)
    event = json.loads(shown.stdout)["events"]["trace"]
    check_or_lost(event, depth, 1000)
    result.expect(3 if event["lost"] else 0)


def check_or_lost(event, depth, more_than):
    """A writer that gets no processor loses events, and says so."""
    assert event["lost"] <= (LOOSE * 0.01 * event["calls"] if depth == "events" else 0)
    assert event["calls"] > more_than
    if not event["lost"]:
        assert event["enters"] == event["leaves"] + event["tailcalls"] + event["unwinds"] + event["open"]


HELLO = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net10.0</TargetFramework>
  </PropertyGroup>
</Project>
"""


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("depth", ["tree", "events"] if harness.LONG else ["events"])
def test_dotnet_build(tmp_path, depth):
    """The compiler and all it starts, with the framework."""
    project = tmp_path / "hello"
    project.mkdir()
    (project / "hello.csproj").write_text(HELLO)
    (project / "Program.cs").write_text('System.Console.WriteLine("Hello, World!");\n')
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", "trace", "--depth", depth, "--framework", "--children", "-o", out, "--",
                          "dotnet", "build", "-nodeReuse:false", "-p:UseSharedCompilation=false", "--no-incremental", "-v:q",
                          cwd=project, timeout=3 * harness.PATIENCE_S, env=surroundings.MADE)
    assert run(["dotnet", project / "bin/Debug/net10.0/hello.dll"]).expect().out == "Hello, World!\n"
    event = report(out, options=("--top", "1")).data["events"]["trace"]
    check_or_lost(event, depth, 1_000_000)
    result.expect(3 if event["lost"] else 0)


@pytest.mark.measured
@pytest.mark.parametrize("depth", cases(DEPTHS, ["time"]))
def test_with_samples(tmp_path, depth):
    """Sampled and traced at once: each as without the other."""
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", "cpu,trace", "-F", 997, "--depth", depth, "-o", out, "--",
                           *program(NEWEST, "calls", "all", "--threads", 4, "--work", 2)).expect()
    traced = Traced(result, report(out, options=("-e", "trace")))
    traced.check_counts()
    traced.check_balance()
    sampled = report(out, options=("-e", "cpu"))
    assert sampled.samples > 100 // LOOSE
    assert sampled.cpu["failed"] <= LOOSE * 0.02 * sampled.samples, "hooks can be walked through"


@pytest.mark.parametrize("depth", ["time", "events"])
def test_calls_that_never_end(tmp_path, depth):
    """They go on until the recording ends, though nothing is told of them any more."""
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "trace", "--depth", depth, "-o", out, "--", *program(NEWEST, "deadlock", "--seconds", 1)).expect()
    threads = {t["name"]: t["self_ns"] for t in report(out, options=("-e", "trace")).data["threads"]}
    assert all(threads[name] >= 1e9 for name in ("stuck-left", "stuck-right")), threads


def test_killed(tmp_path, depth):
    """What was recorded until then is there."""
    out = tmp_path / "out.dnp"
    argv = [DNPROF, "run", "-q", "-e", "trace", "--depth", depth, "-o", out, "--",
            *program(NEWEST, "calls", "all", "--threads", 2, "--work", 100000)]
    with harness.start(argv) as started:
        pid = started.child("truth")
        wait_for(lambda: out.exists() and out.stat().st_size > 20_000, "a recording")
        time.sleep(1)
        os.kill(pid, signal.SIGKILL)
        assert started.end().status == 128 + signal.SIGKILL
    shown = dnprof("report", "--json", "-e", "trace", out).expect(3)
    data = json.loads(shown.stdout)
    event = data["events"]["trace"]
    assert event["calls"] > 1000 // LOOSE
    # Trees are told one after the other, and the sums behind them.
    if depth == "events":
        ended = event["leaves"] + event["tailcalls"] + event["unwinds"]
        assert event["enters"] == ended + event["open"] and event["open"]
    assert any(plain(m["name"]) == "Truth.Calls.Tally.Hit" for m in data["methods"])


@pytest.mark.parametrize("name, depth", cases([(name, depth) for name in ("crash", "overflow") for depth in DEPTHS],
                                              [("crash", "tree"), ("crash", "events"), ("overflow", "time")],
                                              [("crash", "tree"), ("overflow", "time")]))
def test_ends_badly(tmp_path, name, depth):
    """An exception that nobody catches, a stack without end: the program's own end, and a recording."""
    argv = program(NEWEST, name)
    alone = run(argv)
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "trace", "--depth", depth, "--exclude", "Truth.Nope.*", "-o", out, "--", *argv)
    # What matched nothing may have matched what is missing.
    assert "Nope" not in result.err, result
    assert result.status == (alone.status if alone.status >= 0 else 128 - alone.status), str(result)
    # Who dies at once may leave nothing but that.
    assert "trace" in dnprof("report", "--top", "1", "--min", "50", out).expect(3).out


@pytest.mark.parametrize("depth", cases(DEPTHS, DEPTHS, ["events"]))
def test_server(tmp_path, depth):
    """ASP.NET Core on all the threads of its pool."""
    traced = trace(tmp_path, program(NEWEST, app="server"), depth)
    traced.truth["may_inline"] = {}
    traced.check_counts()
    traced.check_balance()
