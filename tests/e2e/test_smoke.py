# SPDX-License-Identifier: MIT
"""Each runtime, once, in all that dnprof does; the matrix of programs and runtimes is script/soak's."""
from pathlib import Path

import pytest

import attached
import harness
from harness import TFMS, dnprof, dnprof_again, plain, program, record, report, used_s, wait_for
from test_trace import trace_case

HZ = 997
#: Of CPU time, by the thread that computes: some hundred samples, however long it takes to get it.
RECORDED_S = 0.3


@pytest.fixture(params=TFMS)
def tfm(request):
    return request.param


def test_samples(tmp_path, tfm):
    """Of a program that computes, with both engines; its result is its own."""
    for options in ((), ("--engine", "snapshot"), ("-e", "wall")):
        result, shown = record(tmp_path, program(tfm, "native", "--seconds", 0.5), options=options)
        assert result.truth["program"] == "native"
        assert shown.data["runtime"] == result.truth["runtime"] and shown.data["runtime"].startswith(tfm[3:-1])
        assert shown.total("Truth.Native.Run") > 0


def test_every_source(tmp_path, tfm):
    """At once, from the start."""
    out = tmp_path / "out.dnp"
    events = ("cpu", "wall", "switch", "alloc", "exception", "lock", "gc", "jit", "load")
    result = dnprof_again("run", "-q", "-e", ",".join(events), "-F", 199, "-o", out, "--", *program(tfm, "mix", "--seconds", 1))
    assert result.status in (0, 3) and result.truth["program"] == "mix", result
    data = report(out, options=("-e", "cpu")).data
    assert {"cpu", "wall", "alloc", "gc", "jit", "load"} <= set(data["events"]) and data["complete"]


def test_every_call(tmp_path, tfm):
    """Counts are those of the program itself."""
    traced = trace_case(tmp_path, tfm, "all")
    traced.check_counts()
    traced.check_balance()


def test_every_call_with_arguments(tmp_path, tfm):
    """Native code calls a method on a thread that was never in the runtime: before .NET 10 a hook with information crashes there."""
    traced = trace_case(tmp_path, tfm, "ends", options=("--args",))
    traced.check_balance()
    from_native = "Truth.Calls.Ends.OnNative"
    counts = {m: n for m, n in traced.truth["calls"].items() if m != from_native}
    assert {m: traced.calls()[m] for m in counts} == counts
    if tfm == harness.NEWEST:
        assert traced.calls()[from_native] == traced.truth["calls"][from_native] and not traced.report.data["problems"]
    else:
        assert not traced.calls()[from_native]
        assert any("[UnmanagedCallersOnly]" in problem for problem in traced.report.data["problems"])


def check_computed(shown, seconds):
    """The main thread used so much CPU time while it was recorded, all of it below that method: most of it was seen there."""
    seen, whole = shown.total("Truth.Cpu.Run"), seconds * HZ
    others = [(path[-3:], n) for path, n in shown.stacks() if "Truth.Cpu.Run" not in map(plain, path)]
    assert seen + shown.cpu["lost"] >= whole / 2, (seen, whole, shown.threads(), others, shown.cpu)


def test_come_and_gone(tmp_path, tfm):
    """Attached to twice; both recordings show what the program computed meanwhile, and it goes on."""
    with attached.Running(program(tfm, "cpu", "--seconds", 600), 0.5) as it:
        main = Path(f"/proc/{it.pid}/task/{it.pid}")
        for n in range(2):
            out = tmp_path / f"{n}.dnp"
            dnprof("attach", it.pid).expect()
            dnprof("start", "-F", HZ, "-o", out, it.pid).expect()
            began = used_s(main)
            wait_for(lambda: used_s(main) - began >= RECORDED_S, "what its main thread computes")
            computed = used_s(main) - began
            stacks = dnprof("stack", it.pid).expect()
            assert "Truth.Program.Main" in stacks.out
            dnprof("stop", it.pid).expect()
            dnprof("detach", it.pid).expect()
            check_computed(report(out), computed)
        assert it.started.process.poll() is None
