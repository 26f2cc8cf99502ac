# SPDX-License-Identifier: MIT
"""Who waited for what another thread sets, releases or pulses, and how long, against what the program counts."""
import re

import pytest

import attached
from harness import NEWEST, SOAK, TFMS, check_whole, dnprof, program, refused, report, told, without_event_sources

HANDLES = ("handles", "--work", 1)
#: Those runtimes that tell of them.
TELLING = TFMS[1:]

#: What it is called, by the method that waits.
CALLED = {"ForEvent": "wait handle", "ForOneOfTwo": "wait handle", "ForPulse": "Monitor.Wait", "ForSlim": "Monitor.Wait",
          "InVain": "wait handle"}


def shown_of(out):
    return report(out, options=("-e", "waithandle", "-n", 0))


def check(truth, shown):
    """Each wait, for as long as who waited found it to be, or a bit shorter: he looks at the clock around it."""
    event = shown.data["events"]["waithandle"]
    check_whole(event)
    assert event["unit"] == "ns" and event["note"] == "" and event["failed"] == 0
    assert event["samples"] == event["seen"] <= event["waits"]
    assert sum(t["count"] for t in shown.data["types"]) == event["samples"]
    assert event["waited_ns"] >= sum(t["ns"] for t in shown.data["types"])
    for way, waits in truth["waits"].items():
        paths = [(path, n) for path, n in shown.with_frame(f"Truth.Handles.{way}") if path[-1] == CALLED[way]]
        assert waits["count"] * truth["hold_ns"] * 0.99 <= sum(n for _, n in paths) <= waits["ns"], way
        sites = [s for s in shown.data["sites"] if s["method"].startswith(f"Truth.Handles.{way}(") and s["type"] == CALLED[way]]
        # One that is woken for nothing waits anew.
        assert sum(s["count"] for s in sites) >= waits["count"] and len(paths) > 0, way
    assert not any(path[-2].startswith("System.Diagnostics.Tracing.") for path, _ in shown.stacks() if len(path) > 1)


@pytest.mark.parametrize("tfm", TELLING)
def test_from_the_start(tmp_path, tfm):
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "waithandle", "-o", out, "--", *program(tfm, *HANDLES)).expect()
    check(result.truth, shown_of(out))


@pytest.mark.parametrize("tfm", TELLING)
def test_attached(tmp_path, tfm):
    """A second time after the agent had left."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(program(tfm, *HANDLES, "--when", when), 0.05) as it:
        it.wait_until_ready(when)
        dnprof("record", "-q", "-e", "waithandle", "-d", 0.1, "-o", tmp_path / "before.dnp", it.pid).expect()
        result = it.record_when_told("waithandle", out, when, "the last wait", detach=True)
    check(result.truth, shown_of(out))


@pytest.mark.parametrize("events", ("cpu,wall,waithandle,lock", "waithandle,switch,alloc,exception"))
def test_with_others(tmp_path, events):
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", events, "-o", out, "--", *program(NEWEST, *HANDLES)).expect()
    check(result.truth, shown_of(out))


def test_short_waits_are_counted(tmp_path):
    """They have no stack, and are in the sums all the same."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "waithandle=10s", "-o", out, "--", *program(NEWEST, *HANDLES)).expect()
    event = shown_of(out).data["events"]["waithandle"]
    waits = result.truth["waits"].values()
    assert event["least_ns"] == 10_000_000_000 and event["samples"] == event["seen"] == 0
    assert event["waits"] >= sum(w["count"] for w in waits)
    assert event["waited_ns"] >= sum(w["count"] for w in waits) * result.truth["hold_ns"] * 0.99


def test_text(tmp_path):
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "waithandle", "-o", out, "--", *program(NEWEST, *HANDLES)).expect()
    text = dnprof("report", out).expect().out
    assert re.search(r"^waithandle: [\d,]+ samples, [\d.]+ m?s, WaitHandleWaitStart, WaitHandleWaitStop$", text, re.M)
    assert re.search(r"^  [\d,]+ waits that took [\d.]+ m?s in all; [\d,]+ of them 1 ms or longer$", text, re.M)
    assert re.search(r"^Waits\n   share        time       count     longest   type\n +[\d.]+ % ", text, re.M)


def test_older_runtime(tmp_path):
    """It says nothing of them: that is told, with what to do."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "waithandle", "-o", out, "--", *program(TFMS[0], *HANDLES))
    told(result, 1, "waits for handles cannot be told", ".NET 9", "-e switch")
    assert '"program":"handles"' in result.out and not out.exists()


@pytest.mark.parametrize("tfm", TELLING)
def test_event_sources_that_are_off(tmp_path, tfm):
    """The runtime tells of them all the same."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "waithandle", "-o", out, "--", *without_event_sources(tmp_path, tfm, *HANDLES)).expect()
    check(result.truth, shown_of(out))


CYCLES = 10 if SOAK else 4


@pytest.mark.slow
def test_attached_again_and_again(tmp_path):
    """Recordings that begin and end while threads wait: nothing is left of the agent."""
    cycles = attached.Cycles(tmp_path / "out.dnp", program(NEWEST, "locks", "--seconds", 600), limit=CYCLES, seconds=0.05,
                             options="event=cpu,waithandle,lock;waithandle_ns=1000000;interval_ns=1000000")
    assert len(cycles.times) == CYCLES


@pytest.mark.parametrize("value, words", (
    ("waithandle=5", ("not a time", "1ms")),
    ("waithandle=100ns", ("out of range", "1us")),
))
def test_what_is_refused(tmp_path, value, words):
    refused(dnprof("run", "-e", value, "-o", tmp_path / "out.dnp", "--", *program(NEWEST, "idle")), 2, *words)
