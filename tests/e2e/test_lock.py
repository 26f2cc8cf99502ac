# SPDX-License-Identifier: MIT
"""Who waited for which lock, how long, and where the one was who had it, against what the program and the runtime count."""
import contextlib
import re
import time

import pytest

import attached
from harness import (NEWEST, OTHER_CLSID, SOAK, TFMS, check_whole, dnprof, other_profiler, program, refused, report,
                     without_event_sources)

#: What is locked in each way, by the method that holds it meanwhile.
LOCKED = {"HoldAsleep": "Truth.Locks+Gate", "HoldBusy": "System.Object", "HoldLock": "System.Threading.Lock"}
WAITING = {"HoldAsleep": "WaitHere", "HoldBusy": "WaitHere", "HoldLock": "WaitForLock"}


def record(tmp_path, tfm, *args, events="lock", **more):
    """(What the program left behind, the reports of those that waited, and of those that they waited for.)"""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", events, "-o", out, "--", *program(tfm, "locks", "--work", 1, *args), **more).expect()
    return result, *(report(out, options=("-e", event, "-n", 0)) for event in ("lock", "lock-owner"))


def types(shown):
    return {t["name"]: t for t in shown.data["types"]}  # of no owner, if none could be looked at in time


def through(shown, method, leaf):
    """(Samples, ns) of stacks through a method of the program with that on top."""
    paths = [(path, n) for path, n in shown.with_frame(f"Truth.Locks.{method}") if path[-1] == leaf]
    return len(paths), sum(n for _, n in paths)


def check(result, waited):
    """Each wait, for as long as who waited found it to be, or a bit shorter: he looks at the clock around it."""
    truth = result.truth
    event, seen = waited.data["events"]["lock"], types(waited)
    check_whole(event)
    assert event["note"] == ""
    assert truth["contentions"] <= event["waits"] <= truth["contentions"] + truth["before"]
    assert event["samples"] == event["seen"] <= event["waits"]
    for way, waits in truth["waits"].items():
        assert through(waited, WAITING[way], LOCKED[way])[1] <= waits["ns"]
        if way == "HoldLock":  # it is counted first, then looks at the clock, and may lose its processor in between
            assert seen[LOCKED[way]]["count"] + event["waits"] - event["seen"] >= waits["count"]
            continue
        assert through(waited, WAITING[way], LOCKED[way])[1] >= waits["count"] * truth["hold_ns"]
        assert seen[LOCKED[way]]["count"] >= waits["count"]
        assert seen[LOCKED[way]]["longest_ns"] >= truth["hold_ns"]
    for way, lock in LOCKED.items():
        method = f"Truth.Locks.{WAITING[way]}("
        sites = [site for site in waited.data["sites"] if site["type"] == lock and site["method"].startswith(method)]
        assert sum(site["ns"] for site in sites) == through(waited, WAITING[way], lock)[1]
        assert sum(site["count"] for site in sites) <= (seen[lock]["count"] if way in truth["waits"] else 0)
    assert event["waited_ns"] >= sum(t["ns"] for t in seen.values())
    assert sum(t["count"] for t in seen.values()) == event["seen"]
    # Of the newer kind managed code tells, which is not where the wait was.
    assert not any("EventSource" in path[-2] for path, _ in waited.stacks() if len(path) > 1)


@pytest.mark.parametrize("tfm", TFMS)
def test_while_others_are_unloaded(tmp_path, tfm):
    """What is locked is of assemblies that stay: its type has its name."""
    result, waited, _ = record(tmp_path, tfm, "--unloading")
    names = set(types(waited))
    assert {LOCKED[way] for way in result.truth["waits"]} <= names
    assert "[unknown type]" not in names


def check_owners(result, owners):
    """Whoever was seen to have a lock was where it is held. Each wait has its owner, or is counted as one without."""
    event = owners.data["events"]["lock-owner"]
    assert event["unit"] == "ns"
    check_whole(event)
    assert event["seen"] == event["samples"] and event["samples"] + sum(event["failures"].values()) >= event["waits"]
    for way, waits in result.truth["waits"].items():
        assert through(owners, way, LOCKED[way])[1] <= waits["ns"]
    ours = [path for path, _ in owners.stacks() if path[-1] in LOCKED.values()]
    assert any("Truth.Locks.Hold" in frame for path in ours for frame in path)
    assert not any("libdnprof" in frame or frame.startswith("Truth.Locks.Wait") for path in ours for frame in path)


def test_waits_and_owners(tmp_path, tfm):
    result, waited, owners = record(tmp_path, tfm)
    check(result, waited)
    check_owners(result, owners)


def test_short_waits_are_counted(tmp_path, tfm):
    """They have no stack, and are in the sums all the same."""
    result, waited, _ = record(tmp_path, tfm, "--brief", events="lock=15ms")
    check(result, waited)
    assert waited.data["events"]["lock"]["least_ns"] == 15_000_000


def test_with_others(tmp_path, tfm):
    check(*record(tmp_path, tfm, events="cpu,exception,lock,alloc")[:2])


def test_beside_one_that_listens(tmp_path, tfm):
    """An agent of monitoring that has a session of its own for the same events: each is told once."""
    library = other_profiler(tmp_path)
    (tmp_path / "marks").mkdir()
    check(*record(tmp_path, tfm, events="lock,gc,jit", env={
        "CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": OTHER_CLSID, "CORECLR_PROFILER_PATH": str(library),
        "MARK_FOLDER": str(tmp_path / "marks"), "OTHER_LISTENS": "0xc01d"})[:2])


def test_one_that_is_interrupted(tmp_path, tfm):
    """The runtime tells of no end of that wait: the end of the next one is not taken for it."""
    result, waited, owners = record(tmp_path, tfm, "--interrupted")
    truth, seen = result.truth, types(waited)
    assert truth["hold_ns"] <= seen["Truth.Locks+Gate"]["ns"] <= truth["ns"]
    assert "Truth.Locks+Left" not in seen and "Truth.Locks+Left" not in types(owners)
    assert owners.data["events"]["lock-owner"]["seen"] <= waited.data["events"]["lock"]["seen"]
    assert waited.data["events"]["lock"]["endless"] == 1


@pytest.mark.parametrize("tfm", TFMS[1:])
def test_those_that_give_up_a_lock(tmp_path, tfm):
    """System.Threading.Lock tells of no end of them: they are counted, and the report says so."""
    result, waited, owners = record(tmp_path, tfm, "--given-up")
    event = waited.data["events"]["lock"]
    assert (event["endless"], event["samples"]) == (result.truth["times"], 0)
    assert not owners.data["events"]["lock-owner"]["samples"]
    assert f"  {result.truth['times']} more began and no end was told: " in dnprof("report", tmp_path / "out.dnp").expect().out


def test_event_sources_that_are_off(tmp_path):
    """Of a Monitor native code tells, of a Lock nobody then, and the report says what that may come from."""
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "lock", "-o", out, "--", *without_event_sources(tmp_path, NEWEST, "locks", "--work", 1)).expect()
    shown = report(out, options=("-e", "lock", "-n", 0))
    assert set(LOCKED.values()) - set(types(shown)) == {"System.Threading.Lock"}
    note = shown.data["events"]["lock"]["note"]
    assert note.startswith("no wait for a System.Threading.Lock came; ") and "EventSource.IsSupported" in note


def test_attached(tmp_path, tfm):
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(program(tfm, "locks", "--work", 1, "--when", when), 0.05) as it:
        it.wait_until_ready(when)
        dnprof("record", "-q", "-e", "lock", "-d", 0.1, "-o", tmp_path / "before.dnp", it.pid).expect()
        result = it.record_when_told("lock", out, when, "the last wait")
    check(result, report(out, options=("-e", "lock", "-n", 0)))
    check_owners(result, report(out, options=("-e", "lock-owner", "-n", 0)))


def test_that_began_before(tmp_path, tfm):
    """The runtime does not tell of its end: whoever has waited since then is not in the recording."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(program(tfm, "locks", "--work", 1, "--before", "--when", when), 0.05) as it:
        result = it.record_when_told("lock", out, when, "the end of the wait")
    events = report(out, options=("-e", "lock", "-n", 0)).data["events"]
    assert result.truth["ns"] > 0 and events["lock"]["waits"] == events["lock"]["samples"] == events["lock-owner"]["samples"] == 0


BEGINNINGS, BETWEEN_S = 50 if SOAK else 10, 0.05


def test_begun_while_the_recording_does(tmp_path, tfm):
    """Of a wait is told by begin and end: of which lock is not known of those alone that began in the recording before."""
    with attached.Running(program(tfm, "locks", "--seconds", 600), 0.02) as it:
        for i in range(BEGINNINGS):
            out = tmp_path / f"{i}.dnp"
            dnprof("record", "-q", "-e", "lock=100us", "-d", BETWEEN_S, "-o", out, it.pid).expect()
            time.sleep(BETWEEN_S)
            for one in report(out, options=("-e", "lock", "-n", 0)).data["types"]:
                assert not one["name"].startswith("[") or one["ns"] >= one["count"] * BETWEEN_S * 1e9, one


def test_too_many_listen(tmp_path, tfm):
    """The runtime has 64 sessions of events: with none left nothing is recorded, and nothing looks as if it were."""
    out = tmp_path / "out.dnp"
    with attached.Running(program(tfm, "locks", "--seconds", 600), 0.02) as it, contextlib.ExitStack() as others:
        with pytest.raises(attached.Refused):
            for _ in range(65):
                others.enter_context(attached.listen(it.pid))
        result = dnprof("record", "-q", "-e", "lock", "-d", 0.05, "-o", out, it.pid)
        assert refused(result, 1, "does not deliver its events", "64") and not out.exists()
        dnprof("record", "-q", "-e", "cpu,exception", "-d", 0.05, "-o", out, it.pid).expect()


CYCLES = 10 if SOAK else 4


@pytest.mark.slow
def test_attached_again_and_again(tmp_path, tfm):
    """Recordings that begin and end while threads wait for each other, and give up: nothing is left of the agent."""
    cycles = attached.Cycles(tmp_path / "out.dnp", program(tfm, "locks", "--seconds", 600), limit=CYCLES, seconds=0.05,
                             options="event=cpu,lock;lock_ns=1000000;interval_ns=1000000")
    assert len(cycles.times) == CYCLES


def test_those_that_take_turns(tmp_path, tfm):
    """Four threads that hand a lock on: whoever has it sleeps in the same method."""
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "lock", "-o", out, "--", *program(tfm, "locks", "--seconds", 1)).expect()
    waited, owners = (report(out, options=("-e", e, "-n", 0)) for e in ("lock", "lock-owner"))
    assert waited.with_frame("Truth.Locks.HoldInTurn")
    assert owners.data["events"]["lock-owner"]["waits"] == waited.data["events"]["lock"]["seen"]


def test_text_of_locks(tmp_path):
    record(tmp_path, NEWEST)
    out = tmp_path / "out.dnp"
    text = dnprof("report", out).expect().out
    assert re.search(r"^lock: [\d,]+ samples, [\d.]+ m?s, ContentionStart, ContentionStop$", text, re.M)
    assert re.search(r"^  [\d,]+ waits that took [\d.]+ m?s in all; [\d,]+ of them 1 ms or longer$", text, re.M)
    assert re.search(r"^Locks\n   share        time       count     longest   type\n +[\d.]+ % ", text, re.M)
    text = dnprof("report", "-e", "lock-owner", out).expect().out
    assert re.search(r"^  stacks of [\d,]+ of [\d,]+ waits that took 1 ms or longer and ended", text, re.M)


@pytest.mark.parametrize("value, words", (
    ("lock=5", ("not a time", "1ms")),
    ("lock=100ns", ("out of range", "1us")),
    ("lock=", ("not a time",)),
    ("lock,lock", ("named twice",)),
))
def test_what_is_refused(tmp_path, value, words):
    refused(dnprof("run", "-e", value, "-o", tmp_path / "out.dnp", "--", *program(NEWEST, "idle")), 2, *words)
