# SPDX-License-Identifier: MIT
"""Collections of garbage, against what the runtime itself counts and knows of them."""
import json

import pytest

import attached
from harness import LOOSE, NEWEST, SOAK, TFMS, check_whole, dnprof, dnprof_again, program, report
from test_exports import arrays_of

GARBAGE = ("garbage", "--work", 3)
SERVER = {"DOTNET_gcServer": "1", "DOTNET_GCHeapCount": "2"}

PARTS = ("gen0", "gen1", "gen2", "large", "pinned")


def shown_of(out):
    return report(out, options=("-e", "gc", "-n", 0))


def labels_below(shown, method):
    """What collections are called that came while the method ran."""
    return {path[-1] for path, _ in shown.stacks()
            if path[-1].startswith("gen ") and any(name.startswith(method + "(") for name in path)}


def check(truth, shown):
    """
    As many of each generation as the runtime counts but for those that it skips, and to each the numbers that it has.
    """
    event = shown.data["events"]["gc"]
    check_whole(event)
    # A stack may go through code that another thread has just compiled and not told of yet.
    assert set(event["failures"]) <= {"unknown code"}
    collections = {c["number"]: c for c in shown.data["collections"]}
    assert len(collections) == len(shown.data["collections"])
    assert [truth["none"] + sum(c["generation"] >= g for c in collections.values()) for g in range(3)] == truth["counts"]
    assert 0 < truth["none"] <= truth["work"]
    assert all(0 < c["suspend_ns"] < c["pause_ns"] >= c["longest_pause_ns"] for c in collections.values())
    for known in truth["known"]:
        if known["number"] == 0 or not any(known["after"]):
            continue  # the runtime had not been able to do that one in the background, and knows nothing of it
        found = collections[known["number"]]
        assert found["generation"] == known["generation"]
        assert (found["kind"] == "background") == known["background"]
        assert found["compacting"] == known["compacting"]
        heap = [found["heap"][part] for part in PARTS]
        assert [part["before"] for part in heap] == known["before"]
        assert [part["after"] for part in heap] == known["after"]
        survived = sum(part["survived"] for part in heap)
        # In the background it only looks at the young ones, but the runtime counts them.
        assert survived == known["promoted"] or known["background"] and 0 < survived < known["promoted"]


def check_places(truth, shown):
    """Who asked, and who allocated."""
    for method, reasons in {"Collect0": ("(asked for)",), "Collect1": ("(asked for)",),
                            "Collect2": ("(asked for, compacting)", "(asked for)"),
                            "CollectInBackground": ("(asked for, not forced)",),
                            "Fill": ("(allocation)",), "FillLarge": ("(large allocation)",)}.items():
        below = labels_below(shown, f"Truth.Garbage.{method}")
        assert below and all(name.endswith(reasons) for name in below), (method, below)


@pytest.mark.parametrize("env", ({}, SERVER), ids=("workstation", "server"))
def test_from_the_start(tmp_path, tfm, env):
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "gc", "-o", out, "--", *program(tfm, *GARBAGE), env=env).expect()
    assert result.truth["server"] == bool(env)
    shown = shown_of(out)
    check(result.truth, shown)
    check_places(result.truth, shown)
    text = dnprof("report", out).expect().out
    assert "Collections\n    gen       count  background" in text
    assert "Longest pauses, the first 20 of" in text and "heap after the last one" in text


@pytest.mark.measured
def test_many(tmp_path, tfm):
    """Each has its stack, also those that come amid others in the background, and where the collector changes its heaps."""
    out = tmp_path / "out.dnp"
    dnprof_again("run", "-q", "-e", "gc", "-o", out, "--", *program(tfm, "alloc", "--seconds", 2), env={"DOTNET_gcServer": "1"}).expect()
    shown = shown_of(out)
    assert len(shown.data["collections"]) > 20 // LOOSE and set(shown.data["events"]["gc"]["failures"]) <= {"unknown code"}


@pytest.mark.measured
@pytest.mark.parametrize("env", ({}, pytest.param(SERVER, marks=pytest.mark.soak)), ids=("workstation", "server"))
def test_pauses(tmp_path, tfm, env):
    """
    As long as the runtime says, which looks at its clock a moment before and after it tells of each: a thread that gets
    no processor just then makes either longer, so the best of some runs counts.
    """
    def off():
        out = tmp_path / "out.dnp"
        result = dnprof("run", "-q", "-e", "gc", "-o", out, "--", *program(tfm, *GARBAGE), env=env).expect()
        return sum(c["pause_ns"] for c in shown_of(out).data["collections"]) / result.truth["pause_ns"] - 1

    assert any(LOOSE * -0.02 < off() < LOOSE * 0.1 for _ in range(10))


@pytest.mark.parametrize("events", ("cpu,gc", "gc,alloc=100k,exception", "switch,wall,gc,mark,jit"))
def test_with_others(tmp_path, tfm, events):
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", events, "-o", out, "--", *program(tfm, *GARBAGE)).expect()
    check(result.truth, shown_of(out))


@pytest.mark.measured
def test_beside_who_stops_the_program(tmp_path, tfm):
    """Who samples threads at safepoints, as dotnet-trace does, waits for collections, and they for him: each has its pause."""
    out = tmp_path / "out.dnp"
    env = {"DOTNET_EnableEventPipe": "1", "DOTNET_EventPipeConfig": "Microsoft-DotNETCore-SampleProfiler:0:5",
           "DOTNET_EventPipeOutputPath": str(tmp_path / "out.nettrace")}
    dnprof_again("run", "-q", "-e", "gc", "-o", out, "--", *program(tfm, "alloc", "--seconds", 2), env=env).expect()
    assert (tmp_path / "out.nettrace").exists()
    collections = [c for c in shown_of(out).data["collections"] if c.get("ns")]
    assert len(collections) > 20 // LOOSE
    assert all(0 < c["suspend_ns"] < c["pause_ns"] for c in collections)


@pytest.mark.parametrize("env", ({}, SERVER), ids=("workstation", "server"))
def test_attached(tmp_path, tfm, env):
    """In a program that runs already, a second time after the agent had left."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(program(tfm, *GARBAGE, "--when", when), 0.05, env=env) as it:
        it.wait_until_ready(when)
        dnprof("record", "-q", "-e", "cpu,gc", "-d", 0.1, "-o", tmp_path / "before.dnp", it.pid).expect()
        result = it.record_when_told("gc", out, when, "the last collection", detach=True)
    shown = shown_of(out)
    check(result.truth, shown)
    check_places(result.truth, shown)


@pytest.mark.parametrize("tfm", TFMS)
def test_attached_below_native_code(tmp_path, tfm):
    """Code that the runtime made for calls to and fro before the agent came is not known until somebody asks for it."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running(program(tfm, "inward", "--when", when), 0.05) as it:
        result = it.record_when_told("gc", out, when, "the last collection")
    shown = shown_of(out)
    event = shown.data["events"]["gc"]
    check_whole(event)
    assert (event["samples"], event["failures"], event["truncated"]) == (result.truth["collections"], {}, 0)
    for way in ("Direct", "KeepingError", "ByDelegate"):
        below = [path for path, _ in shown.stacks() if f"Truth.Inward.{way}()" in path]
        assert below and all("Truth.Program.Main(string[])" in path for path in below)


CYCLES = 10 if SOAK else 4


@pytest.mark.slow
def test_attached_again_and_again(tmp_path):
    """Recordings that begin and end amid collections: nothing is left of the agent."""
    cycles = attached.Cycles(tmp_path / "out.dnp", program(NEWEST, "garbage", "--seconds", 600), limit=CYCLES, seconds=0.05,
                             options="event=gc")
    assert len(cycles.times) == CYCLES


def test_none(tmp_path):
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "gc", "-o", out, "--", *program(NEWEST, "deep", "--work", 1)).expect()
    assert shown_of(out).data["collections"] == []
    assert "Collections" not in dnprof("report", out).expect().out


def amid(out):
    """Collections in the background of a program that ended amid one."""
    for _ in range(10):
        dnprof("run", "-q", "-e", "switch,gc", "-o", out, "--", *program(NEWEST, "amid", 1)).expect()
        behind = [c for c in shown_of(out).data["collections"] if c["kind"] == "background"]
        if any("ns" not in c for c in behind):
            return behind
    raise AssertionError("the collection was always over before the program")


def test_program_that_ends_amid_one(tmp_path):
    """It is told, and has its bar to the end of the recording."""
    out = tmp_path / "out.dnp"
    behind = amid(out)
    assert [c["pauses"] for c in behind if "ns" not in c] == [1]
    dnprof("export", "-o", tmp_path / "t.trace.json", out).expect()
    events = [e for e in json.loads((tmp_path / "t.trace.json").read_text())["traceEvents"]
              if e["name"] == "GC of gen 2 in the background"]
    assert sum(e["ph"] == "b" for e in events) == len(behind)
    assert sum(e["ph"] == "e" for e in events) == len(behind) - 1


def test_exports(tmp_path):
    """Each pause is a bar on the time line, and so is each collection in the background, all the while it took."""
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "switch,gc", "-o", out, "--", *program(NEWEST, *GARBAGE)).expect()
    collections = shown_of(out).data["collections"]
    pauses = sum(c["pauses"] for c in collections)
    behind = [c for c in collections if c["kind"] == "background"]
    assert behind and pauses >= len(collections)
    for name in ("t.trace.json", "t.csv", "t.pftrace", "t.html"):
        dnprof("export", "-o", tmp_path / name, out).expect()
    dnprof("export", "-e", "gc", "-o", tmp_path / "t.collapsed", out).expect()
    stacks = (tmp_path / "t.collapsed").read_text().splitlines()
    assert any("Truth.Garbage.Collect2" in line and "gen 2 (asked for, compacting) " in line for line in stacks)
    begun = [e for e in json.loads((tmp_path / "t.trace.json").read_text())["traceEvents"] if e["ph"] == "b"]
    assert sum(e["name"].startswith("GC pause, gen ") for e in begun) == pauses
    assert sum(e["name"] == "GC of gen 2 in the background" for e in begun) == len(behind)
    tables = {t["title"]: t for e in arrays_of(tmp_path / "t.html")[0]["events"] for t in e.get("tables", [])}
    generations = tables["Generations"]
    assert [row[0] for row in generations["rows"]] == ["0", "1", "2", "all"] and generations["rows_in_all"] == 4
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert sum('"GC pause, gen ' in line for line in lines) == pauses
    assert (tmp_path / "t.pftrace").read_bytes().count(b"GC pause, gen ") == pauses
