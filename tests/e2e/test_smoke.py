# SPDX-License-Identifier: MIT
"""Each runtime, once, in all that dnprof does; the matrix of programs and runtimes is script/soak's."""
import pytest

import attached
from harness import TFMS, dnprof, dnprof_again, program, record, report, wait_for_samples
from test_trace import trace_case


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


def test_come_and_gone(tmp_path, tfm):
    """Attached to twice; both recordings have samples, and the program ends as it would."""
    with attached.Running(program(tfm, "cpu", "--seconds", 600), 0.5) as it:
        for n in range(2):
            out = tmp_path / f"{n}.dnp"
            dnprof("attach", it.pid).expect()
            dnprof("start", "-F", 997, "-o", out, it.pid).expect()
            wait_for_samples(it.pid)
            stacks = dnprof("stack", it.pid).expect()
            assert "Truth.Program.Main" in stacks.out
            dnprof("stop", it.pid).expect()
            dnprof("detach", it.pid).expect()
            assert report(out).total("Truth.Cpu.Run") > 0
        assert it.started.process.poll() is None
