# SPDX-License-Identifier: MIT
"""Which exceptions were thrown, and where, against what the program was told of them by the runtime itself."""
import collections
import re

import pytest

import attached
from harness import (NEWEST, OTHER_CLSID, SOAK, TFMS, check_whole, dnprof, dnprof_again, incomplete, other_profiler, plain,
                     program, refused, report)

THROWING = ("exceptions", "--work", 3, "--first-chance")

#: How often each method throws in a unit of work; an exception that is thrown again counts again.
THROWN = {"Throw": 8, "Rethrow": 2, "Null": 2, "InCatch": 1, "Divide": 1}
TIMES = 3 * 2 * 20
OURS = ("Truth.Exceptions+Tagged", "System.NullReferenceException", "System.DivideByZeroException")


def record(tmp_path, tfm, *, events="exception", **more):
    """(What the program left behind, the report of its exceptions.)"""
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", events, "-o", out, "--", *program(tfm, *THROWING), **more).expect()
    return result, report(out, options=("-e", "exception", "-n", 0))


def check(result, shown):
    """Each that the program was told of, and none of them twice; where the recorder got no turn it says how many are lost."""
    told = result.truth["first_chance"]
    assert sum(told.values()) == result.truth["work"] * result.truth["thrown_per_unit"]
    counts = {t["name"]: t["count"] for t in shown.data["types"]}
    event = shown.data["events"]["exception"]
    missing = {name: n - counts.get(name, 0) for name, n in told.items()}
    assert min(missing.values()) >= 0 and sum(missing.values()) == event["lost"], (missing, event)
    assert event["unit"] == "exceptions"
    check_whole(event, most=0.01 * sum(told.values()))
    assert event["samples"] == sum(counts.values())
    # Stacks that go through a library or a method that has just been loaded may end there.
    assert event["failed"] < event["samples"] / 10


def check_places(shown):
    """The type is the leaf, and below it is who threw: nothing of the runtime is in between."""
    places = collections.Counter()
    for path, n in shown.stacks():
        if path[-1] in OURS:
            places[plain(path[-2])] += n
    sites = collections.Counter()
    for site in shown.data["sites"]:
        sites[plain(site["method"])] += site["count"] if site["type"] in OURS else 0
    event = shown.data["events"]["exception"]
    failed = event["failed"] + event["lost"]
    for name, n in THROWN.items():
        assert sites[f"Truth.Exceptions.{name}"] == places[f"Truth.Exceptions.{name}"]
        assert 0 <= n * TIMES - places.pop(f"Truth.Exceptions.{name}") <= failed
    assert places.total() <= failed, places


def test_each_is_counted_where_it_was_thrown(tmp_path, tfm):
    result, shown = record(tmp_path, tfm)
    check(result, shown)
    check_places(shown)
    deep = max((path for path, _ in shown.with_frame("Truth.Exceptions.Far")), key=len)
    assert [plain(frame) for frame in deep].count("Truth.Exceptions.FarDown") == 31


def test_runtime_that_dispatches_as_before(tmp_path):
    """.NET 9 looks for handlers in managed code, but can be asked not to."""
    result, shown = record(tmp_path, "net9.0", env={"DOTNET_LegacyExceptionHandling": "1"})
    check(result, shown)
    check_places(shown)


@pytest.mark.parametrize("events", ("cpu,exception", "alloc=100k,exception,wall", "trace,exception"))
def test_with_others(tmp_path, tfm, events):
    check(*record(tmp_path, tfm, events=events))


def test_attached(tmp_path, tfm):
    """All that were thrown after the recording began, in a program that had run for a while; others come before."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(program(tfm, *THROWING, "--when", when), 0.05) as it:
        it.wait_until_ready(when)
        dnprof("record", "-q", "-e", "cpu,exception", "-d", 0.1, "-o", tmp_path / "before.dnp", it.pid).expect()
        result = it.record_when_told("exception", out, when, "the last exception")
    shown = report(out, options=("-n", 0))
    check(result, shown)
    check_places(shown)


@pytest.mark.parametrize("tfm", TFMS)
def test_attached_below_native_code(tmp_path, tfm):
    """More of them, one behind the other, than a thread's ring holds of stacks that are left to be walked."""
    out, when, each = tmp_path / "out.dnp", tmp_path / "when", 20
    with attached.Running(program(tfm, "inward", "--exceptions", each, "--when", when), 0.05) as it:
        it.record_when_told("exception", out, when, "the last exception")
    shown = report(out, options=("-n", 0))
    event = shown.data["events"]["exception"]
    check_whole(event)
    assert (event["samples"], event["failures"], event["truncated"]) == (3 * each, {}, 0)
    for way in ("Direct", "KeepingError", "ByDelegate"):
        below = [(path, n) for path, n in shown.stacks() if f"Truth.Inward.{way}()" in path]
        assert sum(n for _, n in below) == each, way
        assert all("Truth.Program.Main(string[])" in path for path, _ in below), way


@pytest.mark.parametrize("tfm", TFMS)
def test_what_they_say_while_collections_move_them(tmp_path, tfm):
    """Types that nobody has named before: who asks the runtime for a name may have to wait for a collection."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "exception", "-o", out, "--", *program(tfm, "messages")).expect()
    ours = [t for t in report(out, options=("-n", 0)).data["types"] if t["name"].startswith("Truth.Messages+Of<")]
    assert len(ours) == result.truth["kinds"]
    for kind in ours:
        [said] = kind["messages"]
        assert said["text"].startswith("I am Truth.Messages+Of`1[Truth.Types+Pair`2[") and said["count"] == 1, kind


CYCLES = 10 if SOAK else 4


@pytest.mark.slow
def test_attached_again_and_again(tmp_path, tfm):
    """Recordings that begin and end while two threads throw: each time nothing is left of the agent."""
    cycles = attached.Cycles(tmp_path / "out.dnp", program(tfm, "exceptions", "--seconds", 600), limit=CYCLES, seconds=0.05,
                             options="event=cpu,exception;interval_ns=1000000")
    assert len(cycles.times) == CYCLES


#: Where an exception may be thrown that nobody catches.
UNHANDLED = ("main", "thread", "pool", "async", "native", "native-thread", "reflection", "filter", "another",
             "by-filter", "in-filter", "recursion")


def check_last(way, told, shown):
    """TOLD: the file in which the program notes each that the runtime tells it of. Its last one ended it, caught by none."""
    names = {"L": "Truth.Unhandled+Last", "I": "System.InvalidOperationException"}
    expected = collections.Counter(names[letter] for letter in told.read_text())
    counts = {t["name"]: t["count"] for t in shown.data["types"]}
    assert expected[names["L"]] and counts == expected and shown.data["events"]["exception"]["lost"] == 0
    last = next(t for t in shown.data["types"] if t["name"] == names["L"])
    assert last["known"] == last["count"] == last["caught"] + last["not_caught"] and last["not_caught"], last
    assert last["caught"] == (way in ("async", "by-filter", "in-filter", "recursion"))
    first = [(t["caught"], t["ended_in_filter"]) for t in shown.data["types"] if t["name"] == names["I"]]
    assert first in ([], [(way == "in-filter", way == "by-filter")])
    assert last["messages"] == [{"text": "the last word", "count": last["count"]}]


@pytest.mark.parametrize("tfm", TFMS)
@pytest.mark.parametrize("way", UNHANDLED)
def test_that_ends_the_program(tmp_path, tfm, way):
    """It is there, though the program has no time for anything else."""
    out, told = tmp_path / "out.dnp", tmp_path / "told"
    dnprof("run", "-q", "-e", "exception", "-o", out, "--", *program(tfm, "unhandled", way, told)).expect(134)
    shown = incomplete(out)
    check_last(way, told, shown)
    [problem] = shown.data["problems"]
    assert problem == "the recording ends early: signal 6 ended the program; what was written until then is here"


def test_beside_another_profiler(tmp_path):
    """As one that is only notified."""
    library = other_profiler(tmp_path)
    (tmp_path / "marks").mkdir()
    check(*record(tmp_path, NEWEST, env={
        "CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": OTHER_CLSID, "CORECLR_PROFILER_PATH": str(library),
        "MARK_FOLDER": str(tmp_path / "marks")}))


def test_text_of_types(tmp_path):
    _, shown = record(tmp_path, NEWEST)
    thrown = next(t["count"] for t in shown.data["types"] if t["name"] == "Truth.Exceptions+Tagged")
    text = dnprof("report", tmp_path / "out.dnp").expect().out
    assert re.search(r"^exception: [\d,]+ samples, .*ExceptionThrown$", text, re.M)
    assert re.search(rf"^Types\n   share       count   type\n +[\d.]+ % +{thrown:,}   Truth\.Exceptions\+Tagged$", text, re.M)


def test_what_is_refused(tmp_path):
    refused(dnprof("run", "-e", "exception=5", "-o", tmp_path / "out.dnp", "--", *program(NEWEST, "idle")), 2,
            "exception takes no value")
