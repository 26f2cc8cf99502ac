# SPDX-License-Identifier: MIT
"""libdnprof-walk in a profiler that is not ours (tests/walker): its stacks are those that the programs are
known to have, its errors those of the contract, and nothing that a host gives it brings a program down.
"""
import json
import os
import re
import shutil

import pytest

from harness import (DNPROF, LOOSE, NEWEST, PATIENCE_S, PROGRAMS, ROOT, cases, dnprof, program, run, start, wait_for,
                     wait_for_samples)

FOLDER = DNPROF.parent.parent / "tests/walker"
PROFILER = FOLDER / "libwalker-profiler.so"
EXAMPLE = FOLDER / "libwalker-example.so"
CLSID = "{1F0C2A5E-6B1D-4C58-9E0B-527D3A11C490}"
SEEDS = int(os.environ.get("WALKER_SEEDS", 17_000))

#: What the runtime does not show of stacks that hold it: throwing in managed code, and code of its own.
HIDDEN = ("System.Runtime.EH.", "System.Runtime.StackFrameIterator", "System.Runtime.ExceptionServices.InternalCalls.",
          "dynamicClass.", "[")


class Walked:
    """What the profiler wrote down of one run."""

    def __init__(self, report):
        self.__dict__.update(report)
        for stack in self.stacks:
            for key in ("own", "runtime"):
                stack[key] = [tuple(frame) for frame in stack[key]]

    def of(self, *places):
        return [s for s in self.stacks if s["place"] in places]

    def whole(self, *places):
        return [s for s in self.of(*places) if s["result"] == "S_OK"]


def run_under(library, argv, **env):
    if not library.exists():
        pytest.skip(f"{DNPROF} comes without the profilers of the tests")
    env = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": CLSID, "CORECLR_PROFILER_PATH": str(library), **env}
    return run(argv, env=env, timeout=3 * PATIENCE_S).expect(0)


#: A collection is due after so many bytes (hexadecimal), and not after as many as the processor's caches hold: these may be
#: hundreds of MiB, which a program whose allocations are walked does not come to.
COLLECTS = {"DOTNET_GCgen0size": "400000"}


def walk(tfm, name, do, tmp_path, seconds=0.7):
    """Runs a program under the profiler; its own checks of the program's results, and ours, must hold."""
    out = tmp_path / "walked.json"
    result = run_under(PROFILER, program(tfm, name, "--seconds", seconds), WALKER_DO=do, WALKER_OUT=str(out), **COLLECTS)
    assert result.truth
    assert out.exists(), f"the profiler was not there: {result}"
    walked = Walked(json.loads(out.read_text()))
    assert not walked.wrong, walked.wrong
    assert walked.checked or "seeds" not in do
    return walked


def total(stacks):
    return sum(s["count"] for s in stacks)


def shown(stack):
    """The frames of our walk that the runtime would show."""
    return [name for name, n in stack["own"] for _ in range(n) if not name.startswith(HIDDEN)]


def runtime(stack):
    return [name for name, n in stack["runtime"] for _ in range(n) if not name.startswith(HIDDEN)]


def holds(stack, part):
    """Whether all of PART is in the stack, in this order."""
    names = iter(shown(stack))
    return all(name in names for name in part)


def behind(frames, name, n=1):
    """The n frames behind the first one of that name, as [(name, how often), …]."""
    at = next(i for i, frame in enumerate(frames) if frame[0].startswith(name))
    return frames[at + 1:at + 1 + n]


@pytest.mark.slow
def test_beside_the_agent(tmp_path):
    """The walker is in the program twice, in that profiler and in dnprof's agent: each stops threads by the same signal, and
    takes none of the other's for its own."""
    if not PROFILER.exists():
        pytest.skip(f"{DNPROF} comes without the profilers of the tests")
    walked, out = tmp_path / "walked.json", tmp_path / "out.dnp"
    env = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": CLSID, "CORECLR_PROFILER_PATH": str(PROFILER),
           "WALKER_DO": "threads", "WALKER_OUT": str(walked), "TMPDIR": str(tmp_path)}
    with start([DNPROF, "run", "-q", "-e", "cpu,wall", "-o", out, "--", *program(NEWEST, "threads8", "--seconds", 15)],
               env=env) as run_:
        pid = run_.child("threads8")
        wait_for_samples(pid)
        wait_for(lambda: re.search(r" [1-9]\d* running,", dnprof("stack", pid).out), "a thread that was stopped as it ran")
        run_.end().expect(0)
    told = json.loads(walked.read_text())
    assert not told["wrong"] and told["other"]["S_OK"] > 0, told["other"]


@pytest.mark.measured
@pytest.mark.parametrize("name, places", [
    ("alloc", ("class", "allocation", "jit", "gc")),
    ("exceptions", ("class", "allocation", "jit", "exception")),
    ("native", ("class", "jit")),
])
def test_in_callbacks_both_walks_tell_the_same(tfm, name, places, tmp_path):
    walked = walk(tfm, name, "callbacks", tmp_path)
    for place in places:
        # Before the runtime has started and on threads without managed code there is nothing to compare.
        both = [s for s in walked.whole(place) if s["runtime_result"] == "S_OK"]
        assert both, f"no walk in {place}"
        only = [s for s in walked.of(place) if s["runtime_result"] == "S_OK" and s not in both]
        # Libraries that have just been loaded are not known until the profiler's thread has looked.
        assert total(only) <= LOOSE * (10 + 0.02 * total(both)), only[:3]
        # Our walk has what lies on the stack; the runtime leaves out who threw what a handler has caught.
        missing = [s for s in both if not holds(s, runtime(s))]
        assert total(missing) <= LOOSE * (2 + 0.002 * total(both)), missing[:3]
        if name != "exceptions":
            different = [s for s in both if shown(s) != runtime(s)]
            assert total(different) <= LOOSE * (0.002 * total(both) + 4), different[:3]


def test_stacks_in_callbacks_are_known(tfm, tmp_path):
    walked = walk(tfm, "exceptions", "callbacks", tmp_path)
    far = [s for s in walked.whole("exception") if any(f[0].startswith("Truth.Exceptions.FarDown(") for f in s["own"])]
    assert far, "nobody threw from far below"
    for stack in far:
        first, second = behind(stack["own"], "Truth.Exceptions.Throw(", 2)
        assert first == ("Truth.Exceptions.FarDown(int, ref int)", 31), stack
        assert second == ("Truth.Exceptions.Far(int)", 1), stack
    native = [s for s in walked.whole("exception") if any(f[0].startswith("Truth.Exceptions.Compare") for f in s["own"])]
    assert native, "nobody threw through native code"
    for stack in native:
        first, second = behind(stack["own"], "Truth.Exceptions.Compare", 2)
        assert first == ("[run]", 1) and second[0].startswith("Truth.Exceptions.ThroughNative"), stack


@pytest.mark.parametrize("do", ["callbacks", "deaf,callbacks", "threads"])
def test_code_that_was_compiled_anew(tfm, do, tmp_path):
    """By ReJIT, more often than is asked for at once: the profiler calls a frame of it wrong that is told as another's or as unknown."""
    walked = walk(tfm, "exceptions", f"anew,{do}", tmp_path)
    if "callbacks" in do:
        assert walked.anew > 0
        # Of a profiler that tells of no module walks end where a thread begins, in code of the runtime's image.
        far = [s for s in walked.of("exception") if any(f[0].startswith("Truth.Exceptions.FarDown(") for f in s["own"])]
        assert far, "nobody threw from far below"
        for stack in far:
            assert behind(stack["own"], "Truth.Exceptions.FarDown(") == [("Truth.Exceptions.Far(int)", 1)], stack


def judge_deep(stacks):
    """Wherever the bottom is on the stack, the recursion above it is exactly as deep as it is."""
    bottom = [s for s in stacks if any(f[0] == "Truth.Deep.Bottom()" for f in s["own"])]
    assert total(bottom) >= 3, [s["own"][:3] for s in stacks[:5]]
    for stack in bottom:
        assert behind(stack["own"], "Truth.Deep.Bottom()", 3) == [
            ("Truth.Deep.Down(int)", 600), ("Truth.Deep.Run(Truth.Options)", 1),
            ("Truth.Program.Main(string[])", 1)], stack["own"]


@pytest.mark.measured
def test_other_threads(tfm, tmp_path):
    walked = walk(tfm, "deep", "threads", tmp_path, seconds=1)
    judge_deep(walked.whole("other"))
    assert set(walked.other) <= {"frames", "S_OK", "S_FALSE", "E_FAIL", "CORPROF_E_STACKSNAPSHOT_UNSAFE",
                                 "CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD"}
    assert walked.other.get("S_FALSE", 0) <= LOOSE * (0.02 * walked.other["S_OK"] + 2)


def test_sleepers_and_workers(tfm, tmp_path):
    walked = walk(tfm, "idle", "threads", tmp_path, seconds=1)
    wait = "System.Threading.ManualResetEventSlim.Wait("
    sleeping = [s for s in walked.whole("other") if any(f[0].startswith(wait) for f in s["own"])]
    assert total(sleeping) >= 20
    for stack in sleeping:
        assert stack["own"][0] == ("[run]", 1), stack
        # Wait() calls Wait(int, CancellationToken), or has become it by a tail call.
        waits = sum(f[0].startswith(wait) for f in stack["own"])
        assert waits in (1, 2) and behind(stack["own"], wait, waits)[-1][0].startswith("Truth.Idle"), stack


def test_all_threads_at_once(tfm, tmp_path):
    walked = walk(tfm, "deep", "snapshot", tmp_path, seconds=1)
    judge_deep(walked.whole("all"))
    assert walked.snapshots["n"] >= 3
    assert walked.snapshots["threads"] >= walked.snapshots["n"]
    assert set(walked.threads) <= {"frames", "S_OK", "S_FALSE", "E_FAIL", "E_NOTIMPL"}, walked.threads


def test_all_threads_while_it_collects(tfm, tmp_path):
    walked = walk(tfm, "alloc", "snapshot,threads", tmp_path, seconds=1)
    assert walked.snapshots["n"] >= 1
    chains = [s for s in walked.whole("all", "other") if any(f[0].startswith("Truth.Alloc.Chain(") for f in s["own"])]
    assert all(behind(s["own"], "Truth.Alloc.Chain(")[0][0].startswith("Truth.Alloc.Round(") for s in chains)


#: What threads begin with; before CoreCLR 10 there is nothing of the library above it.
FIRST = {"Truth.Program.Main(string[])", "Truth.Hijacked.Collect()", "Truth.Crew+<>c__DisplayClass0_1.<Run>b__1()"}


@pytest.mark.parametrize("name", ["alloc", "hijacked"])
def test_threads_whose_return_address_the_runtime_has_taken_away(tfm, name, tmp_path):
    """To stop them: what is whole comes to where its thread began all the same."""
    walked = walk(tfm, name, "snapshot,threads", tmp_path, seconds=1)
    ends = {shown(s)[-1] for s in walked.whole("all", "other") if shown(s)}
    assert "Truth.Program.Main(string[])" in ends
    assert {end for end in ends if not end.startswith("System.")} <= FIRST


def test_what_came_before_the_walker(tfm, tmp_path):
    """The host forwards nothing at first, and catches up then."""
    judge_deep(walk(tfm, "deep", "late,threads", tmp_path, seconds=1).whole("other"))


def test_without_the_flag(tfm, tmp_path):
    walked = walk(tfm, "threads8", "noflag,threads", tmp_path)
    assert walked.checked and walked.other["S_OK"]


@pytest.mark.parametrize("do", cases(["nameless,callbacks,threads", "nameless,deaf,callbacks,threads"],
                                     ["nameless,deaf,callbacks,threads"]))
def test_code_that_goes_away(tfm, do, tmp_path):
    walked = walk(tfm, "unload", f"{do},seeds=3000", tmp_path, seconds=1)
    assert total(walked.of("allocation", "jit", "class")) > 100


def test_stacks_that_go_astray(tfm, tmp_path):
    """Wrong unwind tables lead walks to precompiled methods that were never called, whose names the runtime cannot tell."""
    walked = walk(tfm, "astray", "threads", tmp_path)
    assert total(walked.of("other")) > 0


def test_threads_that_come_and_go(tfm, tmp_path):
    walked = walk(tfm, "shortthreads", "callbacks,threads,snapshot", tmp_path)
    assert total(walked.of("thread")) >= 20


def test_bad_seeds(tfm, tmp_path):
    walked = walk(tfm, "threads8", f"threads,seeds={SEEDS}", tmp_path, seconds=2)
    results = {name: n for name, n in walked.seeds.items() if name != "frames"}
    assert sum(results.values()) == SEEDS
    assert set(results) <= {"S_OK", "S_FALSE", "E_INVALIDARG", "CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX",
                            "CORPROF_E_STACKSNAPSHOT_UNSAFE", "CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD"}, results
    # Some are good enough for frames, and some are refused for each reason.
    assert all(results.get(name) for name in ("S_FALSE", "E_INVALIDARG", "CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX")), results


@pytest.mark.parametrize("compiler", [["gcc", "-std=c99"], ["g++", "-std=c++11"]], ids=["c99", "c++11"])
def test_header_is_for_everybody(compiler, tmp_path):
    if not shutil.which(compiler[0]):
        pytest.skip(f"no {compiler[0]} here")
    source = tmp_path / ("a.c" if compiler[0] == "gcc" else "a.cpp")
    source.write_text("#include <dnprof/walk.h>\nint32_t f(dnprof_walker *w, dnprof_frame_callback *c)\n"
                      "{\n\treturn dnprof_walk_self(w, 0, c, 0);\n}\n")
    run([*compiler, "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include", "-fsyntax-only",
         source]).expect(0)


def test_example(tfm):
    """The one of docs/walk.md: tools/check-docs holds the two together."""
    result = run_under(EXAMPLE, program(tfm, "exceptions", "--work", 1))
    # Two threads throw, so stacks may stand between each other's lines.
    stacks = len(re.findall(r"^thrown:$", result.err, re.M))
    assert stacks >= result.truth["thrown_per_unit"]
    assert len(re.findall(r"^    ip 0x[0-9a-f]+, function 0x[0-9a-f]+$", result.err, re.M)) >= 3 * stacks
    assert re.search(r"^    \d+ native frames$", result.err, re.M)
    assert "no stack" not in result.err
    assert re.search(r"^all threads: S_OK, [1-9]\d* of them, the runtime stood still for \d+ us$", result.err, re.M)


#: The first wants no profiler in its environment, the second counts timer signals, see script/soak.
@pytest.mark.parametrize("name", cases([p for p in PROGRAMS if p not in ("fork", "signals")], ["async", "exceptions", "osr"]))
@pytest.mark.slow
def test_every_program_keeps_its_results(tfm, name, tmp_path):
    walk(tfm, name, "nameless,callbacks,threads,snapshot", tmp_path)
