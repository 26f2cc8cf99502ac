# SPDX-License-Identifier: MIT
"""What exceptions say, who catches them and how long that is looked for, where all of it is known."""
import re

import pytest

import attached
from harness import DNPROF, NEWEST, dnprof, plain, program, report, start, tasks_named, wait_for
from stood_still import stands_still

#: What `truth thrown` does once, by type: (how many, where caught or how ended, how often), messages.
ONCE = {
    "Silent": ({"CatchHere": 1}, {}),
    "Overridden": ({"CatchHere": 1}, {"as it was made": 1}),
    "Slow": ({"CatchSlowly": 1}, {"slowly": 1}),
    "Outer": ({"CatchAfterFilter": 1, "CatchAfterFinally": 1}, {"past a filter": 1, "past a finally": 1}),
    "InFilter": ({"ended_in_filter": 1}, {"in a filter": 1}),
    "InFinally": ({"CatchInFinally": 1}, {"in a finally": 1}),
    "Replaced": ({"not_caught": 1}, {"replaced": 1}),
    "Replacement": ({"CatchReplacement": 1}, {"in its place": 1}),
    "Again": ({"CatchAndThrow": 1, "CatchAgain": 1}, {"again": 2}),
    "Plain": ({"CatchHere": 4, "CatchThere": 2}, {"plain": 2, "ünïcödé \U0001f600 €": 1, "x" * 199 + "…": 1}),  # not half of a character
}
#: Different messages that are kept, of a recording.
MESSAGES = 1000


def ends(told):
    """Who caught those of a type, and what became of the others."""
    found = {plain(c["name"]).removeprefix("Truth.Thrown."): c["count"] for c in told["caught_in"]}
    assert sum(found.values()) == told["caught"]
    found |= {how: told[how] for how in ("ended_in_filter", "not_caught") if told[how]}
    return found


def check(truth, shown):
    types = {t["name"].removeprefix("Truth.Thrown+"): t for t in shown.data["types"]}
    times = truth["times"]
    for name, (caught, messages) in ONCE.items():
        told = types[name]
        assert told["known"] == told["count"] == sum(caught.values()) * times, name
        assert ends(told) == {where: n * times for where, n in caught.items()}, name
        assert {m["text"]: m["count"] for m in told["messages"]} == {m: n * times for m, n in messages.items()}, name
        assert told["longest_search_ns"] <= told["search_ns"]
    # The filter sleeps that long, and the search has to wait for it.
    assert types["Slow"]["search_ns"] >= times * truth["filter_ms"] * 1e6
    # Two threads at once, so that one may run what the other has compiled and not told of yet.
    firsts = {c["name"]: c["count"] for c in types["First"]["caught_in"]}
    assert set(firsts.values()) == {2} and 2 * len(firsts) == truth["firsts"] and \
        all(name.startswith("Truth.Thrown.CatchFirst<") for name in firsts), firsts
    assert types["InConstructor"]["not_caught"] == 1  # by the runtime's own code, which throws another
    # It came last, when there was no room for new messages any more.
    assert [m["text"] for m in types["InConstructor"]["messages"]] == ["[other]"]
    check_numbers(truth, types["Numbered"],
                  len({m["text"] for t in types.values() for m in t["messages"]} - {"[other]"}))


def check_numbers(truth, told, kept):
    """More different messages than are kept: all are counted, and those that are kept are right."""
    assert told["known"] == told["count"] == truth["numbers"]
    counts = {m["text"]: m["count"] for m in told["messages"]}
    assert sum(counts.values()) == truth["numbers"]
    others = counts.pop("[other]")
    assert others > 0 and MESSAGES - 20 <= len(counts) <= kept == MESSAGES
    assert all(re.fullmatch(r"number \d+", text) and n <= 2 for text, n in counts.items())


def record(tmp_path, tfm, *, events="exception", **more):
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", events, "-o", out, "--", *program(tfm, "thrown"), **more).expect()
    return result, report(out, options=("-e", "exception", "-n", 0))


def test_what_became_of_each(tmp_path, tfm):
    result, shown = record(tmp_path, tfm)
    check(result.truth, shown)


def test_runtime_that_dispatches_as_before(tmp_path):
    result, shown = record(tmp_path, "net9.0", env={"DOTNET_LegacyExceptionHandling": "1"})
    check(result.truth, shown)


@pytest.mark.parametrize("events", ("trace,exception", "cpu,exception,alloc"))
def test_with_others(tmp_path, tfm, events):
    """The trace hears of the same steps."""
    result, shown = record(tmp_path, tfm, events=events)
    check(result.truth, shown)


def test_attached(tmp_path, tfm):
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(program(tfm, "thrown", "--when", when), 0.05) as it:
        result = it.record_when_told("exception", out, when, "the last exception")
    check(result.truth, report(out, options=("-n", 0)))


def test_all_are_counted_though_the_recorder_gets_no_turn(tmp_path, tfm):
    """It stands still while all of them are thrown: rings are soon full, and what is sampled is lost, but no exception is."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with start([DNPROF, "run", "-q", "-e", "cpu,exception", "-F", 9997, "-o", out, "--", *program(tfm, "thrown", "--when", when)]) as it:
        wait_for(when.with_suffix(".ready").exists, "the program to be ready")
        [recorder] = tasks_named(it.child("thrown"), "dnprof")
        with stands_still(int(recorder.name)):
            when.touch()
            wait_for(when.with_suffix(".done").exists, "the last exception")
        when.unlink()
        result = it.end()
    assert result.status in (0, 3), result
    shown = report(out, options=("-e", "exception", "-n", 0))
    counts = {t["name"].removeprefix("Truth.Thrown+"): t["count"] for t in shown.data["types"]}
    truth = result.truth
    assert {name: counts[name] for name in ONCE} == {name: sum(caught.values()) * truth["times"] for name, (caught, _) in ONCE.items()}
    assert (counts["Numbered"], counts["First"], counts["InConstructor"]) == (truth["numbers"], truth["firsts"], 1)
    lost = {name: event["lost"] for name, event in shown.data["events"].items()}
    assert lost["exception"] == 0 and lost["cpu"] > 0, lost


def test_text(tmp_path):
    record(tmp_path, NEWEST)
    text = dnprof("report", tmp_path / "out.dnp").expect().out
    shown = text[text.index("What became of them"):text.index("Methods by self")]
    assert re.search(r"^  Truth\.Thrown\+Plain: search [\d.]+ \S+ in all, [\d.]+ \S+ the longest\n"
                     r" +80   caught in Truth\.Thrown\.CatchHere\(System\.Func<System\.Exception>\)\n"
                     r" +40   caught in Truth\.Thrown\.CatchThere\(System\.Func<System\.Exception>\)\n"
                     r" +40   “plain”\n", shown, re.M), shown
    assert re.search(r"^  Truth\.Thrown\+Replaced: .*\n +20   not caught\n +20   “replaced”$", shown, re.M)
    assert re.search(r"^  Truth\.Thrown\+InFilter: .*\n +20   ended in a filter\n", shown, re.M)
    assert re.search(r"^ +[\d,]+   messages of [\d,]+ others$", shown, re.M)
