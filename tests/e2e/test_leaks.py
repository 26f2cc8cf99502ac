# SPDX-License-Identifier: MIT
"""What is still there of what was allocated, by the places where it was made; against a program that knows what it keeps."""
import re

import pytest

import attached
from harness import NEWEST, SOAK, cases, check_whole, dnprof, dnprof_again, program, refused, report, wait_for

SIZE = 100 << 10
SERVER = {"DOTNET_gcServer": "1"}
KEPT = ("Truth.Leaks.Forget", "Truth.Leaks.Cache", "Truth.Leaks.Fill")


def record(tmp_path, argv, **more):
    """(The truth, the report of what is there)."""
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", "alloc=100k", "--live", "-o", out, "--", *argv, **more)
    # More is allocated each second than any program does that is of use: some samples of alloc may be lost.
    assert result.status == 0 or (result.status == 3 and "of alloc" in result.err), result.err
    truth, it = result.truth, shown(out)
    # All are seen; one in the background may not be over.
    assert truth["collections"] - 1 <= it.data["live"]["collections"]
    return truth, it


def shown(out):
    it = report(out)
    assert it.data["event"] == "live"
    return it


def sites(it, type="Truth.Leaks+Item"):
    return {s["method"].split("(")[0]: s for s in it.data["live"]["sites"] if s["type"] == type}


def check(truth, it):
    """Estimates are as far off as chance makes them; the leak stands on top, though what is no leak is more."""
    there, event = sites(it), it.data["events"]["live"]
    check_whole(event)
    for name in KEPT:
        count, size = truth["live"][name]
        assert there[name]["bytes"] == pytest.approx(size, rel=5 * (SIZE / size) ** 0.5), name
        assert there[name]["count"] == pytest.approx(there[name]["bytes"] / (size / count), rel=0.01)
        assert there[name]["bytes_low"] < there[name]["bytes"] < there[name]["bytes_high"]
    # What dies at once is not there, but for what no collection has seen.
    assert not {"Truth.Leaks.Parse", "Truth.Leaks.Render", "Truth.Leaks.Route"} & set(there)
    first = it.data["live"]["sites"][0]
    assert (first["type"], first["method"]) == ("Truth.Leaks+Item", "Truth.Leaks.Forget(long)")
    assert [plain for frame in first["stack"] if (plain := frame.split("(")[0]).startswith("Truth.Leaks.")] == [
        "Truth.Leaks.Forget", "Truth.Leaks.Work", "Truth.Leaks.Run"]
    leak, cache, table = (there[name] for name in KEPT)
    assert leak["even_percent"] > 60 and cache["even_percent"] < 40 and table["even_percent"] < 10
    assert sum(leak["made"]) == leak["bytes"] and len(leak["made"]) == 8
    assert table["oldest_ns"] >= table["median_ns"] > leak["median_ns"] > cache["median_ns"]
    assert table["median_full"] >= leak["median_full"] >= cache["median_full"] and table["most_full"] <= truth["full"]
    assert it.data["live"]["full"] <= truth["full"] and it.data["live"]["collections"] <= truth["collections"]
    # A stack may go through code that another thread has just compiled and not told of yet.
    assert set(event["failures"]) <= {"unknown code"}, event


@pytest.mark.measured
@pytest.mark.parametrize("collector", cases(("workstation", "server"), ["workstation"]))
def test_a_leak_is_found(tmp_path, tfm, collector):
    """One object in 2,000 is kept by one of six places that make such; two others keep more, but no more and more."""
    argv = program(tfm, "leaks", "--work", 8000, "--one-in", 2000, "--collect", 200)
    check(*record(tmp_path, argv, env=SERVER if collector == "server" else None))


@pytest.mark.measured
@pytest.mark.slow
def test_large_objects(tmp_path, tfm):
    """Only collections of generation 2 look at these."""
    truth, it = record(tmp_path, program(tfm, "leaks", "--work", 3000, "--large"))
    there = sites(it, "System.Byte[]")["Truth.Leaks.Hoard"]
    assert there["bytes"] == pytest.approx(truth["live"]["Truth.Leaks.Hoard"][1], rel=0.5)
    assert there["even_percent"] > 60 and "Truth.Leaks.Large" not in sites(it, "System.Byte[]")


@pytest.mark.slow
@pytest.mark.measured
@pytest.mark.parametrize("collector", cases(("workstation", "server"), ["server"]))
def test_attached(tmp_path, tfm, collector):
    """In a program that runs already, twice; when the agent has gone the runtime has no handle more than without it."""
    work = 6000 if SOAK else 2500

    def run(recorded):
        when = tmp_path / "when"
        argv = program(tfm, "leaks", "--work", work, "--one-in", 200, "--collect", 100, "--when", when, "--handles")
        with attached.Running(argv, 0, env=SERVER if collector == "server" else None) as it:
            it.wait_until_ready(when)
            if recorded:
                dnprof("record", "-q", "-e", "alloc=100k", "--live", "-d", 0.1, "-o", tmp_path / "first.dnp", it.pid).expect()
                dnprof("attach", it.pid).expect()
                dnprof("start", "-e", "alloc=100k", "--live", "-o", tmp_path / "out.dnp", it.pid).expect()
            when.touch()
            wait_for((tmp_path / "when.done").exists, "what is kept")
            if recorded:
                dnprof("stop", it.pid)
                dnprof("detach", it.pid).expect()
            when.unlink()
            for said in ("ready", "done"):
                (tmp_path / f"when.{said}").unlink()
            return it.started.end().expect().truth

    truth, without = run(True), run(False)
    it = shown(tmp_path / "out.dnp")
    check(truth, it)
    assert it.data["events"]["live"]["samples"] > 100
    assert abs(truth["handles"] - without["handles"]) < 50, (truth["handles"], without["handles"])


def test_what_waits_for_its_finalizer(tmp_path, tfm):
    """Nobody has it any more, but it is there: more than 80 of these objects are watched, and collections have come."""
    truth, it = record(tmp_path, program(tfm, "leaks", "--work", 1, "--late"))
    assert truth["live"]["Truth.Leaks.Drop"][1] > 80 * SIZE and truth["full"] >= 2
    assert "Truth.Leaks.Drop" in sites(it, "Truth.Leaks+Late")


@pytest.mark.slow
def test_with_other_events(tmp_path, tfm):
    """Code that is unloaded with its types, threads that end, and samples of time in between: nothing goes wrong."""
    seconds = 2 if SOAK else 1
    for name in ("unload", "shortthreads"):
        out = tmp_path / f"{name}.dnp"
        result = dnprof("run", "-q", "-e", "cpu,alloc=100k,gc", "-F", 997, "--live", "-o", out, "--",
                        *program(tfm, name, "--seconds", seconds))
        assert result.status in (0, 3), result.err
        cpu = report(out)
        assert cpu.data["event"] == "cpu" and {"cpu", "live", "alloc", "gc"} == set(cpu.data["events"])
        there = report(out, options=("-e", "live")).data
        assert there["live"]["watched"] > 0
        check_whole(there["events"]["live"])


def test_program_is_killed(tmp_path):
    """Nobody is left to say what was there: the report says that it ends early, and shows the rest."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "alloc", "--live", "-o", out, "--", *program(NEWEST, "crash", "--seconds", 1))
    assert result.status not in (0, 1, 2)
    told = dnprof("report", "-e", "live", out)
    assert told.status == 3 and "Sites" not in told.out and "of 'live' is nothing here" in told.out


def test_dump(tmp_path):
    """A copy of a recording that goes on has none of it, and says so."""
    dump = tmp_path / "dump.dnp"
    with attached.Running(program(NEWEST, "alloc", "--seconds", 600), 0.2) as it:
        dnprof("attach", it.pid).expect()
        dnprof("start", "-q", "-e", "alloc", "--live", "-o", tmp_path / "out.dnp", it.pid).expect()
        assert "of 'live' is nothing here" in dnprof("dump", "-q", "-o", dump, it.pid).expect(3).err
        dnprof("stop", "-q", it.pid)
    told = dnprof("report", "-e", "live", dump).expect(3)
    assert "Sites" not in told.out and "of 'live' is nothing here" in told.out
    dnprof("report", tmp_path / "out.dnp").expect()


def test_texts(tmp_path):
    out = tmp_path / "out.dnp"
    dnprof_again("run", "-q", "-e", "alloc", "--live", "-o", out, "--",
                 *program(NEWEST, "leaks", "--work", 1500, "--one-in", 200))
    text = dnprof("report", out).out
    assert re.search(r"^live: [\d,]+ samples, [\d.]+ MiB, weak handles on objects of alloc$", text, re.M)
    assert re.search(r"^  [\d,]+ objects watched, one for 512 KiB, [\d,]+ at once at most, [\d,]+ there in the end;", text, re.M)
    # Of a part it is not told how many there are, for the rest is of the whole.
    part = dnprof("report", "--exclude", "*.Forget", out).out
    assert re.search(r"^  [\d,]+ objects watched, one for 512 KiB, [\d,]+ at once at most; [\d,]+ collections came,", part, re.M)
    assert "collections came, is told of the whole process" in " ".join(part.split()) and "is told of" not in text
    at = text.index("\nSites")
    assert re.search(r"^ +[\d.]+ % +[\d.]+ MiB +[\d.]+ MiB – [\d.]+ MiB +[\d,]+ +[\d.]+ m?s +[\d.]+ m?s +\d+ +\d+ %   [·▁▂▃▄▅▆▇█]{8}\n"
                     r" +Truth\.Leaks\+Item in Truth\.Leaks\.Forget\(long\) ← Truth\.Leaks\.Work\(long, int\) ←", text[at:], re.M)
    assert text.index("\nTypes") > at
    stacks = dnprof("export", "-f", "collapsed", out).out.splitlines()
    whole = report(out).data["events"]["live"]
    assert sum(int(line.rpartition(" ")[2]) for line in stacks) == sum(s["bytes"] for s in report(out).data["live"]["sites"])
    assert whole["unit"] == "bytes" and any("Truth.Leaks.Forget" in line for line in stacks)
    page = tmp_path / "out.html"
    dnprof("export", "-o", page, out)
    assert page.stat().st_size > 100_000


@pytest.mark.parametrize("command, options, words", (
    ("run", ("-e", "cpu", "--live"), ("--live is about allocations", "alloc")),
    ("run", ("--live",), ("--live is about allocations",)),
    ("run", ("-e", "alloc=exact", "--live"), ("alloc=exact counts all",)),
    ("run", ("-e", "live"), ("cannot be recorded",)),
    ("run", ("-e", "alloc,live", "--live"), ("cannot be recorded",)),
))
def test_what_is_refused(tmp_path, command, options, words):
    refused(dnprof(command, *options, "-o", tmp_path / "out.dnp", "--", *program(NEWEST, "idle")), 2, *words)
