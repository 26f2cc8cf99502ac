# SPDX-License-Identifier: MIT
"""What programs say they are doing, by Dnprof.Mark and dnprof/mark.h, against what they counted and timed themselves."""
import json
import re
import zipfile

import pytest

import attached
from harness import NEWEST, PATIENCE_S, ROOT, SOAK, check_whole, dnprof, program, refused, report, run, without_event_sources
from net import surroundings

SAYING = ("marks", "--work", 3)


def shown_of(out):
    return report(out, options=("-e", "mark", "-n", 0))


def check(truth, shown):
    """Each span and point, and times between what the program saw inside and around its spans."""
    event = shown.data["events"]["mark"]
    check_whole(event)
    assert event["failed"] == 0
    spans = {s["name"]: s for s in shown.data["spans"]}
    assert {name: s["count"] for name, s in spans.items() if name != "open"} == {
        name: known["count"] for name, known in truth["spans"].items()}
    for name, known in truth["spans"].items():
        span = spans[name]
        assert span["ended"] == span["count"]
        assert span["ended_elsewhere"] == known["elsewhere"]
        assert known["inside_ns"] <= span["total_ns"] <= known["outside_ns"]
        assert span["median_ns"] <= span["p99_ns"] <= span["longest_ns"] <= span["total_ns"]
    assert {m["name"]: m["count"] for m in shown.data["marks"]} == truth["points"]


def test_from_the_start(tmp_path, tfm):
    """The first call of native code loads its library: it is recorded as the last is."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "mark", "-o", out, "--", *program(tfm, *SAYING, "--native")).expect()
    shown = shown_of(out)
    check(result.truth, shown)
    assert {t["name"] for t in shown.data["threads"]} >= {"marks-0", "marks-1"}


def test_event_sources_that_are_off(tmp_path):
    """Nothing of managed code comes, and the report says what that may come from; of native code it comes."""
    out = tmp_path / "out.dnp"
    argv = without_event_sources(tmp_path, NEWEST, *SAYING)
    dnprof("run", "-q", "-e", "cpu,mark,request", "-o", out, "--", *argv).expect()
    for event, none in (("mark", "no mark came; "), ("request", "no request came; ")):
        said = report(out, options=("-e", event)).data["events"][event]
        assert said["samples"] == 0 and said["note"].startswith(none) and "EventSource.IsSupported" in said["note"]
    dnprof("run", "-q", "-e", "mark", "-o", out, "--", *argv, "--native").expect()
    shown = shown_of(out)
    assert shown.data["events"]["mark"]["note"] == "" and {m["name"] for m in shown.data["marks"]} == {"native point"}


@pytest.mark.parametrize("events", ("cpu,mark", "mark,exception,alloc=100k", "switch,mark,wall"))
def test_with_others(tmp_path, events):
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", events, "-o", out, "--", *program(NEWEST, *SAYING)).expect()
    check(result.truth, shown_of(out))


def test_attached_with_native(tmp_path, tfm):
    """In a program that runs already, a second time after the agent had left; native code has its say, too."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(program(tfm, *SAYING, "--native", "--recorded", "--when", when), 0.05) as it:
        it.wait_until_ready(when)
        dnprof("record", "-q", "-e", "cpu,mark", "-d", 0.1, "-o", tmp_path / "before.dnp", it.pid).expect()
        result = it.record_when_told("mark", out, when, "the last mark", detach=True)
    assert result.truth["spans"]["native"]["count"] == result.truth["points"]["native point"] == 3 * 2 * 10
    check(result.truth, shown_of(out))


CYCLES = 10 if SOAK else 4


def test_attached_again_and_again(tmp_path):
    """Recordings that begin and end while threads say something all the time: nothing is left of the agent."""
    cycles = attached.Cycles(tmp_path / "out.dnp", program(NEWEST, "marks", "--native", "--seconds", 600), limit=CYCLES,
                             seconds=0.05, options="event=mark")
    assert len(cycles.times) == CYCLES


def test_without_dnprof(tfm):
    """The package and the header do nothing, and harm nothing, where nobody records."""
    truth = run(program(tfm, *SAYING, "--native")).expect().truth
    assert truth["spans"]["native"]["count"] == 60


def test_span_that_does_not_end(tmp_path):
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "mark", "-o", out, "--", *program(NEWEST, *SAYING, "--open")).expect()
    shown = shown_of(out)
    span = next(s for s in shown.data["spans"] if s["name"] == "open")
    assert (span["count"], span["ended"], span["total_ns"]) == (1, 0, 0)
    assert [(s["name"], s["may_have_ended"]) for s in shown.data["open"]] == [("open", False)]
    text = dnprof("report", out).expect().out
    assert re.search(r"^mark: [\d,]+ spans, [\d,]+ marks, Dnprof.Mark and dnprof/mark.h\n  lost 0, not ended 1, ended on", text, re.M)
    assert re.search(r"^Spans\n +count +total +median +p99 +longest   name\n", text, re.M)
    assert re.search(r"^Marks\n +count   text\n +60   größer ✓$", text, re.M)


def test_what_is_lost(tmp_path):
    """More than there is room for: what is lost is told as what it is, and of a span whose end it may have been, too."""
    out, burst = tmp_path / "out.dnp", 300_000
    result = dnprof("run", "-e", "cpu,mark", "-o", out, "--", *program(NEWEST, "marks", "--work", 1, "--burst", burst))
    shown = shown_of(out)
    lost = shown.data["events"]["mark"]["lost"]
    kept = sum(s["count"] + s["ended"] for s in shown.data["spans"]) + sum(m["count"] for m in shown.data["marks"])
    said = 2 * burst + sum(2 * s["count"] for s in result.truth["spans"].values()) + sum(result.truth["points"].values())
    assert kept <= said - lost, (kept, lost, said)
    if lost > 0.01 * (kept + lost):
        assert result.status == 3 and f"{lost} marks of {lost + kept} were lost of mark" in result.err, result
    else:
        assert "marks of" not in result.err, result
    open_ones = sum(s["count"] - s["ended"] for s in shown.data["spans"])
    assert [s["may_have_ended"] for s in shown.data["open"]] == [lost > 0] * open_ones
    if lost and open_ones:
        assert f", no end recorded of {open_ones}" in dnprof("report", "-e", "mark", out).expect().out


def test_text_with_a_nul(tmp_path):
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "mark", "-o", out, "--", *program(NEWEST, *SAYING, "--nul")).expect()
    assert "before\ufffdbehind" in {m["name"] for m in shown_of(out).data["marks"]}


def test_long_texts_are_cut_between_characters(tmp_path):
    """Of 511 letters and a pair of surrogates, and of one byte and as many pairs of bytes as do not find room."""
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "mark", "-o", out, "--", *program(NEWEST, *SAYING, "--native", "--recorded", "--long")).expect()
    assert {m["name"] for m in shown_of(out).data["marks"]} - {"größer ✓", "native point"} == {"m" * 511, "n" + "é" * 511}


@pytest.mark.parametrize("recorded", (True, False))
def test_said_while_the_source_is_made(tmp_path, recorded):
    """By a listener of the program's own, which is called then: nobody hears it, and nothing is thrown."""
    argv = program(NEWEST, *SAYING, "--listener")
    out = tmp_path / "out.dnp"
    result = (dnprof("run", "-q", "-e", "mark", "-o", out, "--", *argv) if recorded else run(argv)).expect()
    assert result.truth["listener"] == {"spoke": True, "failures": []}
    if recorded:
        check(result.truth, shown_of(out))


def test_exports(tmp_path):
    """Beside switches: each span and point is in the formats of time lines, and in the page."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "switch,mark", "-o", out, "--", *program(NEWEST, *SAYING)).expect()
    count = sum(s["count"] for s in result.truth["spans"].values())
    for name in ("t.trace.json", "t.csv", "t.pftrace", "t.html"):
        dnprof("export", "-o", tmp_path / name, out).expect()
    events = json.loads((tmp_path / "t.trace.json").read_text())["traceEvents"]
    begun = {e["id"]: e for e in events if e["ph"] == "b"}
    ended = {e["id"]: e for e in events if e["ph"] == "e"}
    assert len(begun) == count and begun.keys() == ended.keys()
    assert all(ended[i]["ts"] >= begun[i]["ts"] and ended[i]["name"] == begun[i]["name"] for i in begun)
    assert sum(e["ph"] == "i" for e in events) == result.truth["points"]["größer ✓"]
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert sum(line.endswith(",span") for line in lines) == count
    assert (tmp_path / "t.pftrace").read_bytes().count("größer ✓".encode()) == result.truth["points"]["größer ✓"]


@pytest.mark.slow
def test_package(tmp_path):
    """It holds the library and its description, and no more than that."""
    run([ROOT / "script/pack", tmp_path], timeout=3 * PATIENCE_S, env=surroundings.MADE).expect()
    with zipfile.ZipFile(next(tmp_path.glob("Dnprof.Mark.*.nupkg"))) as package:
        names = {n for n in package.namelist() if n.startswith("lib/")}
    assert names == {"lib/netstandard2.0/Dnprof.Mark.dll", "lib/netstandard2.0/Dnprof.Mark.xml"}


def test_no_stacks(tmp_path):
    refused(dnprof("run", "-e", "mark", "-o", tmp_path / "x.collapsed", "true"), 2, "marks have none")
    refused(dnprof("run", "-e", "mark=5", "-o", tmp_path / "x.dnp", "true"), 2, "mark takes no value")
