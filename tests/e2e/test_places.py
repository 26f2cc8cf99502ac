# SPDX-License-Identifier: MIT
"""Threads that sit where a sampler has the hardest time are sampled there, thousands of times, and come to
no harm. Each program books what it spends where; it is the same with and without the profiler."""
import functools
import re

import pytest

from harness import (LOOSE, NEWEST, NOT_SAMPLED, PLACES, TESTED, THREADS, cases, chance, is_sequence, plain, program, record, run,
                     shares, steady)

#: A library that was loaded this instant is not known yet; stacks that begin in it end there.
LOADING = ("loader", "resolver")

#: How far a share may be off, beside what chance makes of it: what is promised.
POINTS = 0.03
HZ = 4999


def unchanging(truth):
    return {k: v for k, v in steady(truth).items() if k != "runtime"}


@functools.cache
def alone(name):
    """What a program says of itself without the profiler, but for what varies."""
    return unchanging(run(program(NEWEST, name, "--seconds", 0.1)).expect().truth)


def named(pattern):
    return re.compile(pattern)


def at_least(promise):
    """The least share that is expected where this one is promised."""
    return max(1 - LOOSE * (1 - promise), promise / LOOSE)


LIBC, CLR, JIT, LD = (named(rf"^{file}!") for file in
                      (r"libc\.so\.6", r"libcoreclr\.so", r"libclrjit\.so", r"ld-linux-x86-64\.so\.2"))


def helper(function):
    return named(rf"^libtruth_\w+\.so!{function}")


#: program: (method, what is above it, the least share of its samples that has that)
INSIDE = {
    "gc": [("Truth.InGc.Collect", ["System.GC.Collect", CLR], 0.9)],
    "jit": [("Truth.InJit.Compile", [CLR, JIT], 0.5)],
    "loader": [("Truth.InLoader.Load", [CLR, LIBC, LD, helper("truth_slow_(con|de)structor")], 0.5)],
    "malloc": [("Truth.InMalloc.Allocate", [helper("truth_malloc"), LIBC], 0.5)],
    "plt": [("Truth.InPlt.Call", [helper("truth_lazy"), helper(r"\[plt\]")], 0.02)],
    "prologs": [("Truth.InPrologs.Native", [helper("(pushes|probes|leaves_twice)")], 0.5),
                ("Truth.InPrologs.Managed", [named(r"Saves|Zeroes|Probes|Jumps|Same")], 0.5)],
    "funclets": [("Truth.InFunclets.Finally", ["Truth.InFunclets.FinallyInside"], 0.8),
                 ("Truth.InFunclets.Filter", ["Truth.InFunclets.Judge"], 0.6),
                 ("Truth.InFunclets.CatchInFinally", ["Truth.InFunclets.CatchInFinallyInside"], 0.8)],
    "ownstack": [("Truth.OnOwnStack.Raised", [helper("truth_raise_on_stack"), LIBC, helper("on_raise"),
                                              helper("truth_work_in_handler")], 0.8),
                 ("Truth.OnOwnStack.Interrupted", ["Truth.Burn.Steps", helper("on_timer"),
                                                   helper("truth_work_in_handler")], 0.2)],
    "vdso": [("Truth.InVdso.Clocks", [helper("truth_clock"), LIBC, named(r"^\[vdso\]!")], 0.5)],
}


def profile(tmp_path, tfm, name, seconds=0.5, **more):
    result, report = record(tmp_path, program(tfm, name, "--seconds", seconds), hz=HZ, **more)
    assert unchanging(result.truth) == alone(name)
    assert not result.stderr
    assert report.data["complete"] and not report.data["problems"], report.data["problems"]
    report.check_few_lost()
    return result.truth, report


def impossible(report):
    """Samples in a system call of code that makes none, but for those of the signal's own return."""
    def is_one(path):
        kernel = [f.startswith("[k]") for f in path].index(True)
        return (path[kernel].startswith("[k] entry_SYSCALL")
                and re.search(r"^Truth\.Burn\.Steps\(|!truth_spin", path[kernel - 1])
                and not any("sigreturn" in f or "exit_to_user_mode" in f for f in path[kernel:]))
    return sum(n for path, n in report.stacks() if path[-1].startswith("[k]") and is_one(path))


def loading(report, name):
    """Samples of a library that was loaded this instant: see LOADING."""
    return sum(n for path, n in report.stacks()
               if name in LOADING and re.match(r"\[unknown\]|libtruth_(slow|lazy)", path[0]))


def assert_whole(report, name):
    """1 %: the milliseconds after the program's start weigh more in a short run."""
    assert report.incomplete() - loading(report, name) <= report.samples * LOOSE * 0.01
    assert report.cpu["truncated"] == 0
    assert impossible(report) <= report.samples * LOOSE * 0.005


#: The others are the system's, whatever the runtime.
OF_THE_RUNTIME = ("funclets", "gc", "jit", "ownstack", "prologs")


@pytest.mark.measured
@pytest.mark.parametrize("name, tfm", [(name, tfm) for name in PLACES for tfm in TESTED
                                       if tfm == NEWEST or name in OF_THE_RUNTIME])
def test_place(tmp_path, tfm, name):
    truth, report = profile(tmp_path, tfm, name)
    assert_whole(report, name)
    expected = shares(truth["methods"])
    counts = {m: report.total(m) for m in expected}
    seen = shares(counts)
    if name != "resolver":  # whose code is not known in time: see LOADING
        for method, share in expected.items():
            assert abs(seen[method] - share) <= LOOSE * POINTS + chance(share, sum(counts.values())), (method, expected, seen)
    for method, above, least in INSIDE.get(name, ()):
        stacks = report.with_frame(method)
        whole = sum(n for _, n in stacks)
        inside = sum(n for stack, n in stacks if is_sequence(stack, method, *above))
        assert inside >= whole * at_least(least) and inside >= 20 // LOOSE, f"{method}: {inside} of {whole} samples"


@pytest.mark.measured
def test_funclets_belong_to_their_method(tmp_path, tfm):
    """A catch block is its method, at its method's place; a finally block that runs late is, too. In the few
    instructions before a block has its frame it is a call of the runtime."""
    _, report = profile(tmp_path, tfm, "funclets")
    for method in ("Catch", "Finally", "CatchInFinally"):
        name = f"Truth.InFunclets.{method}"
        stacks = report.with_frame(name)
        twice = sum(n for stack, n in stacks if sum(plain(f) == name for f in stack) > 1)
        assert twice <= LOOSE * max(2, 0.02 * sum(n for _, n in stacks)), name
    blocks = [(stack, n) for stack, n in report.with_frame("Truth.InFunclets.Catch")
              if plain(stack[-1]) == "Truth.InFunclets.Catch"]
    placed = sum(n for stack, n in blocks if plain(stack[-2]) == "Truth.Places.Run")
    assert placed >= 50 // LOOSE and placed >= at_least(0.98) * sum(n for _, n in blocks)


def test_return_addresses_that_the_runtime_has_taken_away(tmp_path, tfm):
    """To stop a thread where it returns; until then its stack goes on with what was taken away."""
    _, report = record(tmp_path, program(tfm, "hijacked", "--seconds", 1), hz=HZ)
    stacks = report.with_frame("[dynamic] Straight")
    assert stacks
    cut = [(stack, n) for stack, n in stacks if not is_sequence(
        stack, "Truth.Program.Main", "Truth.Hijacked.Run", "Truth.Hijacked.Call", "[dynamic] Straight")]
    assert not cut, f"{sum(n for _, n in cut)} of {sum(n for _, n in stacks)}: {cut[:3]}"


@pytest.mark.measured
def test_each_call_through_the_resolver(tmp_path):
    """With LD_BIND_NOT the dynamic linker binds each call anew."""
    _, report = profile(tmp_path, NEWEST, "plt", env={"LD_BIND_NOT": "1"})
    assert_whole(report, "plt")
    calls = report.with_frame("Truth.InPlt.Call")
    resolving = sum(n for stack, n in calls
                    if is_sequence(stack, "Truth.InPlt.Call", helper("truth_lazy"),
                                   named(r"^ld-linux\S+!_dl_runtime_resolve")))
    assert resolving >= 1000 // LOOSE and resolving >= sum(n for _, n in calls) * at_least(0.8)


@pytest.mark.measured
def test_half_way_through_exit(tmp_path, tfm):
    """Threads are seen to their very end, also when the runtime has done with them."""
    truth, report = profile(tmp_path, tfm, "atexit")
    interval_ns = report.cpu["interval_ns"]
    seen = {kind: interval_ns * sum(n for stack, n in report.stacks() if is_sequence(
                stack, LIBC, helper(f"truth_{kind}_destructor"))) for kind in truth["methods"]}
    # Half of the threads are native: it takes a moment until they are known, in their first half.
    not_sampled = interval_ns * sum(n for stack, n in report.stacks() if stack[0] == NOT_SAMPLED)
    for kind, ns in truth["methods"].items():
        assert ns * at_least(0.4) < seen[kind] < ns * (1 + LOOSE * 0.2), kind
    assert sum(seen.values()) + not_sampled > sum(truth["methods"].values()) * at_least(0.7)
    assert_whole(report, "atexit")


@pytest.mark.measured
def test_crowd(tmp_path, tfm):
    """500 threads at once, coming and going: each is there, and its share is about the same."""
    truth, report = profile(tmp_path, tfm, "crowd")
    names = [t["name"] for t in report.data["threads"] if t["name"].startswith("crowd-")]
    assert len(set(names)) >= truth["at_once"] * at_least(0.99)
    assert len(names) >= truth["threads_started"] * at_least(0.95)
    assert_whole(report, "crowd")


@pytest.mark.measured
def test_deadlock(tmp_path, tfm):
    truth, report = profile(tmp_path, tfm, "deadlock")
    assert truth["deadlocked"] == 2
    assert {"stuck-left", "stuck-right"} <= set(report.threads())
    assert_whole(report, "deadlock")


@pytest.mark.measured
def test_endless(tmp_path, tfm):
    """The collector waits for a thread that the runtime cannot stop; that thread is sampled."""
    truth, report = profile(tmp_path, tfm, "endless")
    deaf = report.with_frame("Truth.Endless.Deaf")
    burning = sum(n for stack, n in deaf if is_sequence(stack, "Truth.Endless.Deaf", helper("truth_burn")))
    assert burning >= sum(n for _, n in deaf) * at_least(0.95)
    seen_ns = sum(n for _, n in deaf) * report.cpu["interval_ns"]
    assert seen_ns == pytest.approx(truth["threads"]["deaf"], rel=LOOSE * 0.25)
    assert_whole(report, "endless")


@pytest.mark.measured
def test_sleepers(tmp_path, tfm):
    """Two hundred threads asleep in ten ways find that no signal cut them short, and say so."""
    truth, report = profile(tmp_path, tfm, "sleepers")
    seen = report.threads()
    busy = {t: seen.get(t, 0) for t in truth["threads"]}
    for thread, share in shares(busy).items():
        assert abs(share - 0.5) <= LOOSE * POINTS + chance(0.5, sum(busy.values())), (thread, busy)
    assert sum(n for t, n in seen.items() if re.match(r"\w+-\d+$", t) and t not in busy) \
        < report.samples * LOOSE * 0.2
    assert_whole(report, "sleepers")


#: Options of other ways to take stacks.
ENGINES = {"snapshot": ["--engine", "snapshot"], "wall": ["-e", "wall"], "snapshot-wall":
           ["--engine", "snapshot", "-e", "wall"]}

#: Methods that such a way meets as well, though not with the right shares.
MET = {**{name: [method for method, *_ in rows] for name, rows in INSIDE.items()},
       "resolver": ["Truth.InResolver.Bind"], "deadlock": ["Truth.Deadlock.Work"],
       "sleepers": ["Truth.Burn.For"]}

#: And those of threads that wait, where all threads are asked for.
NOT_RUNNING = {"deadlock": ["Truth.Deadlock.TakeSecond"],
               "sleepers": [f"Truth.Sleepers.{way}" for way in
                            ("Sleep", "Wait", "Event", "Task", "Accept", "Natively")]}


#: Where threads cannot be stopped, or wait; code of the runtime, of the kernel, on a stack of its own.
IN_THE_GATE = [("endless", "snapshot"), ("gc", "snapshot"), ("funclets", "snapshot"), ("deadlock", "snapshot-wall"),
               ("endless", "wall"), ("sleepers", "wall"), ("ownstack", "wall"), ("vdso", "wall")]


@pytest.mark.measured
@pytest.mark.slow
@pytest.mark.parametrize("name, engine", cases(
    # With threads that wait as well, snapshots differ in these only.
    [(name, engine) for name in PLACES + THREADS for engine in ENGINES if engine != "snapshot-wall" or name in NOT_RUNNING],
    IN_THE_GATE))
def test_other_engines(tmp_path, name, engine):
    for seconds in (0.5, 2, 8):
        profiled, report = record(tmp_path, program(NEWEST, name, "--seconds", seconds), hz=97, options=ENGINES[engine])
        check_other_engine(name, engine, profiled, report)
        missing = list(not_met(name, engine, report))
        # Of so few samples chance may leave some out; not of sixteen times as many.
        if not missing:
            return
    assert not missing


def check_other_engine(name, engine, profiled, report):
    assert unchanging(profiled.truth) == alone(name)
    assert not profiled.stderr
    assert report.incomplete() - loading(report, name) <= LOOSE * max(3, report.shown["samples"] * 0.02)


def not_met(name, engine, report):
    """Methods, and what is above them, that should be on some stack and are on none; and samples at all."""
    if report.shown["samples"] < 10:
        yield "10 samples"
    if name == "gc" and engine == "snapshot":
        return  # while a collection goes on, the runtime refuses to be suspended
    methods = [*MET.get(name, ()), *(NOT_RUNNING.get(name, ()) if "wall" in engine else ())]
    if name == "endless" and engine == "wall":
        methods.append("Truth.Endless.Deaf")  # the runtime cannot stop it, and does not see it
    yield from (method for method in methods if not report.total(method))
    if engine == "wall" and name not in LOADING:
        yield from ((method, above) for method, above, least in INSIDE.get(name, ())
                    if least >= 0.5 and not any(is_sequence(stack, method, *above) for stack, _ in report.stacks()))
