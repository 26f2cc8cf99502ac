# SPDX-License-Identifier: MIT
"""Switches in formats of others, read by readers that are not ours: Perfetto's own schema, speedscope, Python's csv."""
import base64
import csv
import io
import json
import os
import re
import subprocess
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness import DNPROF, ROOT, dnprof, refused, run, told
from test_doctor import refuse_perf_events
from test_timeline import record_all, shown, threads  # noqa: F401  (a fixture)

MAKE_RECORDING = DNPROF.parent.parent / "tests/tools/make-recording"
READERS = ROOT / "tests/readers"
#: How threads leave their processor, as the kernel numbers it for Perfetto.
STATES = {"waits": 1, "unknown": 1, "preempted": 0x100, "ended": 0x10}


def export(recording, ending, *options):
    out = recording.with_suffix(ending)
    dnprof("export", *options, "-o", out, recording).expect()
    return out


def rows_of(recording, *options):
    """The lines, as Python's csv reads them, by what they are of: slices, losses, marks and spans."""
    text = export(recording, ".csv", *options).read_bytes().decode()
    rows = {"slice": [], "lost": [], "mark": [], "span": []}
    for row in csv.DictReader(io.StringIO(text, newline=""), strict=True):
        rows[row["ended"] if row["ended"] in rows else "slice"].append(row)
    return rows


def slices_of(recording, *options):
    rows = rows_of(recording, *options)
    return rows["slice"], rows["lost"]


def perfetto(recording):
    trace = export(recording, ".pftrace")
    return json.loads(run(["node", READERS / "perfetto/read.mjs", trace]).expect().stdout)


@pytest.fixture(scope="module")
def recorded(threads, tmp_path_factory):  # noqa: F811
    out = tmp_path_factory.mktemp("exports") / "t.dnp"
    record_all(out, threads, 8, 1)
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What is in it: tests/unit/recording.h."""
    out = tmp_path_factory.mktemp("exports") / "made.dnp"
    subprocess.run([MAKE_RECORDING, out, "switches"], check=True)
    return out


def test_csv_has_what_the_report_counts(recorded):
    slices, losses = slices_of(recorded)
    data = shown(recorded)
    assert not losses and len({t["tid"] for t in data["threads"]}) == len(data["threads"])
    for thread in data["threads"]:
        mine = [s for s in slices if int(s["tid"]) == thread["tid"]]
        ended = Counter(s["ended"] for s in mine)
        assert {s["name"] for s in mine} == {thread["name"]}
        assert (ended["waits"], ended["preempted"]) == (thread["voluntary"], thread["involuntary"])
        assert sum(int(s["to_ns"]) - int(s["from_ns"]) for s in mine) == thread["on_cpu_ns"]
    begins = [int(s["from_ns"]) for s in slices]
    assert begins == sorted(begins)


def compare_perfetto(found, slices):
    """All slices, exactly; how each ended is in the switch away from it."""
    start = found["clocks"]["3"]
    wanted = sorted((int(s["cpu"]), int(s["tid"]), s["name"], int(s["from_ns"]) + start,
                     None if s["ended"] == "runs" else int(s["to_ns"]) + start, STATES.get(s["ended"]))
                    for s in slices)
    assert sorted((s["cpu"], s["tid"], s["name"], s["from"], s["to"], s["state"]) for s in found["slices"]) == wanted
    assert found["discarded"] == 0


def test_perfetto_has_all_slices(recorded):
    slices, _ = slices_of(recorded)
    found, data = perfetto(recorded), shown(recorded)
    compare_perfetto(found, slices)
    assert found["bundles"] < len(slices) / 100 + 8 and found["lostBefore"] == []
    assert found["processes"] == [{"pid": data["pid"], "cmdline": data["command"]}]
    assert {t["tid"]: t["name"] for t in found["threads"]} == {t["tid"]: t["name"] for t in data["threads"]}
    assert {t["pid"] for t in found["threads"]} == {data["pid"]}
    assert found["clocks"]["3"] == found["clocks"]["6"]
    assert abs(found["clocks"]["1"] - data["start_unix_ns"]) < 1000  # read as a number of 53 bits
    assert os.uname().release == found["utsname"]["release"]
    assert recorded.with_suffix(".pftrace").stat().st_size < 25 * len(slices) + 4000


def test_perfetto_of_two_that_ran_at_once(threads, tmp_path):  # noqa: F811
    """On the same processors, by turns: each slice where it was, also of the one that is written last."""
    one, other, both = (tmp_path / f"{name}.dnp" for name in ("one", "other", "both"))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda out: record_all(out, threads, 2, 1), (one, other)))
    both.write_bytes(one.read_bytes() + other.read_bytes())
    # In their order, and as long as they were: when the two began is not known to the nanosecond.
    wanted = sorted((int(s["cpu"]), int(s["tid"]), int(s["from_ns"]), int(s["to_ns"])) for s in slices_of(both)[0])
    found = sorted((s["cpu"], s["tid"], s["from"], s["to"]) for s in perfetto(both)["slices"])
    assert [(cpu, tid, end - begin) for cpu, tid, begin, end in found] == [
        (cpu, tid, end - begin) for cpu, tid, begin, end in wanted]


def test_perfetto_tells_threads_and_losses_apart(made):
    slices, _ = slices_of(made)
    found = perfetto(made)
    compare_perfetto(found, slices)
    start = found["clocks"]["3"]
    assert found["utsname"] == {"sysname": "Linux", "release": "6.18.1"}
    # Two threads with one id: each begins, the first one ends before the other does.
    assert [(b["tid"], b["name"], b["at"] - start) for b in found["began"]] == [
        (71, 'first, "1"', 12000), (71, "again", 40000)]
    assert [(e["tid"], e["at"] - start) for e in found["ended"]] == [(71, 30000)]
    # Processor 1 lost three between two of its switches.
    assert [(b["cpu"], b["at"] - start) for b in found["lostBefore"]] == [(1, 95000)]
    lost = next(t["uuid"] for t in found["tracks"] if t["name"] == "Switches lost, CPU 1")
    assert [(m["at"] - start, m["type"], m["name"]) for m in found["marks"] if m["track"] == lost] == [
        (88000, 1, "3 lost"), (92000, 2, "")]


def test_perfetto_has_what_stands_beside_slices(made):
    found = perfetto(made)
    start = found["clocks"]["3"]
    main = next(t["uuid"] for t in found["tracks"] if t["tid"] == 70)
    assert [(m["at"] - start, m["type"], m["name"]) for m in found["marks"] if m["track"] == main] == [
        (20000, 1, "waits: lock"), (50000, 2, ""), (70000, 1, "waits: sleep"), (100000, 2, ""), (65000, 3, "half")]
    assert [(int(m["tid"]), m["name"], int(m["from_ns"])) for m in rows_of(made)["mark"]] == [(70, "half", 65000)]
    # A span that had not ended begins, and does not end; none comes after it on its track.
    spans = {t["name"]: t["uuid"] for t in found["tracks"] if t["name"].startswith("Spans")}
    assert {name: [(m["at"] - start, m["type"], m["name"]) for m in found["marks"] if m["track"] == track]
            for name, track in spans.items()} == {
        "Spans 1": [(66000, 1, "order")], "Spans 2": [(67000, 1, "GET / → 200"), (69000, 2, "")]}
    assert [(w["at"] - start, w["tid"], w["by"]) for w in found["woken"]] == [(49000, 70, 71), (61000, 70, 81)]
    assert {(t["tid"], t["pid"], t["name"]) for t in found["threads"]} == {
        (70, 70, "main"), (71, 70, 'first, "1"'), (71, 70, "again"), (81, 80, "another")}


def arrays_of(page):
    """What a page holds: its description, and its arrays by name, as src/export/arrays.h has them."""
    text = page.read_text()
    blocks = [re.search(f'id="dnprof-{name}"[^>]*>([^<]*)<', text)[1] for name in ("meta", "data")]
    meta, data = json.loads(blocks[0]), zlib.decompress(base64.b64decode(blocks[1]), -15)
    arrays, at = {}, 0
    for it in meta["sections"]:
        size = it.get("bytes", it.get("count", 0) * (1 if it["type"] == "u8" else 4))
        arrays[it["name"]] = data[at:at + size]
        at += -(-size // 8) * 8
    assert at == len(data)
    return meta, arrays


def varints(data):
    """LEB128."""
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def test_a_page_has_what_stands_beside_slices(made):
    meta, arrays = arrays_of(export(made, ".html"))
    assert [(e["marks"], e["wakes"]) for e in meta["events"]] == [(3, 2)]
    column = {name: [int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4)]
              for name, data in arrays.items() if name.split(".")[1:2] in (["marks"], ["wakers"], ["wakes"])}
    texts = arrays["switch.strings"].decode().split("\0")
    tids = [t["tid"] for t in meta["threads"]]
    names = [t["name"] for t in meta["threads"]]
    assert [tids[t] for t in column["switch.marks.thread"]] == [70, 70, 70]
    assert [texts[t] for t in column["switch.marks.text"]] == ["half", "order", "GET / → 200"]
    # A point; 34 us that had not ended; 2 us.
    assert varints(arrays["switch.marks.lengths"]) == [0, 2 * 34000 + 1, 2 * 2000]
    assert [tids[t] for t in column["switch.wakes.thread"]] == [70, 70]
    wakers = list(zip(*(column[f"switch.wakers.{c}"] for c in ("thread", "pid", "tid", "name"))))
    by = [wakers[b] for b in column["switch.wakes.by"]]
    assert (names[by[0][0] - 1], by[0][1:3], texts[by[0][3]]) == ("again", (70, 71), "")
    assert (by[1][:3], texts[by[1][3]]) == ((0, 80, 81), "another")


def test_who_woke_a_chosen_thread_is_told(made):
    """Also where the other one is not chosen."""
    def wakers(*options):
        threads = json.loads(dnprof("report", "--json", *options, made).expect().stdout)["threads"]
        return [(w["by"], w["by_pid"], w["by_name"], w["count"]) for t in threads for w in t["wakeups"] if t["tid"] == 70]

    assert wakers("--thread", 70) == wakers() == [(71, 70, "again", 1), (0, 80, "another", 1)]
    text = dnprof("report", "--thread", 70, made).expect().out
    assert text[text.index("Who woke whom"):].count(" by ") == 2, text


def test_chrome_has_all_slices(recorded):
    slices, _ = slices_of(recorded)
    events = json.loads(export(recorded, ".trace.json").read_text())["traceEvents"]
    found = sorted((e["tid"], round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000), e["name"], e["args"]["ended"])
                   for e in events if e["ph"] == "X")
    assert found == sorted((int(s["tid"]), int(s["from_ns"]), int(s["to_ns"]), f"CPU {s['cpu']}", s["ended"])
                           for s in slices)


@pytest.mark.skipif(not Path(os.environ.get("CHROMIUM", "/usr/bin/chromium")).exists(), reason="speedscope needs a browser")
def test_speedscope_reads_chrome(recorded):
    """Its own importer: as many slices of each thread, and as long, as went in."""
    trace = export(recorded, ".trace.json")
    found = json.loads(run(["node", READERS / "speedscope/read.mjs", trace]).expect().stdout)
    slices, _ = slices_of(recorded)
    expected = Counter(s["tid"] for s in slices)
    assert len(found["profiles"]) == len(expected)
    for profile in found["profiles"]:
        tid = profile["name"].rsplit("tid ", 1)[1].rstrip(")")
        opened = [e["at"] for e in profile["events"] if e["type"] == "O"]
        closed = [e["at"] for e in profile["events"] if e["type"] == "C"]
        assert len(opened) == len(closed) == expected[tid]
        on_cpu = sum(int(s["to_ns"]) - int(s["from_ns"]) for s in slices if s["tid"] == tid)
        assert abs((sum(closed) - sum(opened)) * 1000 - on_cpu) < 10 * len(opened)


def test_looks_are_no_switches(threads, tmp_path):  # noqa: F811
    """Where clocks were looked at nobody knows of processors: threads have tracks, not switches."""
    out = tmp_path / "t.dnp"
    result = dnprof("timeline", "-o", out, "--", threads, 3, 1, preexec_fn=refuse_perf_events)
    told(result, 0, "sampled")
    slices, _ = slices_of(out)
    assert slices and {(s["ended"], s["cpu"]) for s in slices} == {("sampled", "")}
    found = perfetto(out)
    assert found["slices"] == [] and found["bundles"] == 0
    tids = {t["uuid"]: t["tid"] for t in found["tracks"]}
    start = found["clocks"]["3"]
    began = sorted((tids[m["track"]], m["at"] - start) for m in found["marks"] if m["type"] == 1)
    assert began == sorted((int(s["tid"]), int(s["from_ns"])) for s in slices)
    assert {m["name"] for m in found["marks"] if m["type"] == 1} == {"ran at some time"}


def test_formats_at_once(threads, tmp_path):  # noqa: F811
    """Straight from the recording, by report, and into a pipe."""
    out = tmp_path / "t.pftrace"
    assert dnprof("timeline", "-q", "-o", out, "--", threads, 2, 1).status in (0, 3)  # 3: some were lost
    found = json.loads(run(["node", READERS / "perfetto/read.mjs", out]).expect().stdout)
    assert len(found["slices"]) > 10 and list(tmp_path.iterdir()) == [out]


def test_some_threads(recorded):
    slices, _ = slices_of(recorded, "--thread", "w1,w2")
    assert {s["name"] for s in slices} == {"w1", "w2"}
    whole = dnprof("export", "-f", "csv", recorded).expect().stdout
    assert dnprof("report", "-o", recorded.with_suffix(".2.csv"), recorded).expect().out == ""
    assert recorded.with_suffix(".2.csv").read_bytes() == whole


def test_refused(made, tmp_path):
    samples = tmp_path / "samples.dnp"
    subprocess.run([MAKE_RECORDING, samples], check=True)
    out = tmp_path / "none.pftrace"
    refused(dnprof("export", "-o", out, samples), 1, "shows switches of threads, and none were recorded", "-e switch")
    refused(dnprof("export", "-o", tmp_path / "x.collapsed", made), 1, "switches have none")
    refused(dnprof("export", "-e", "cpu", "-o", out, made), 1, "not cpu")
    refused(dnprof("run", "-e", "cpu,switch", "--include", "App.*", "-o", out, "--", "true"), 2, "--include chooses stacks, and perfetto")
    refused(dnprof("export", "-o", tmp_path / "x.xyz", made), 2, "no format is known by that ending")
    refused(dnprof("export", "-f", "xyz", made), 2, "no such format; choose: .*perfetto")
    refused(dnprof("export", made), 2, "the format is missing")
    refused(dnprof("export", "-o", out), 2, "no recording named")
    refused(dnprof("export", "-o", out, tmp_path / "missing.dnp"), 1, "cannot read")
    refused(dnprof("run", "-o", out, "--", "true"), 2, "shows switches of threads; add switch to -e")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["samples.dnp"]


def test_cut_off(tmp_path):
    """What is there of a recording is exported; that something is missing is told."""
    cut, out = tmp_path / "cut.dnp", tmp_path / "cut.csv"
    subprocess.run([MAKE_RECORDING, cut, "switches", "700000"], check=True)
    os.truncate(cut, cut.stat().st_size - 100)
    told(dnprof("export", "-o", out, cut), 3, "incomplete: .*is cut off")
    with open(out) as lines:
        assert 100_000 < sum(1 for _ in lines) < 700_000


def test_memory_does_not_grow_with_slices(tmp_path):
    """Two million slices are written in the memory that twenty thousand need, and a little."""
    used = {}
    for count in (20_000, 2_000_000):
        recording = tmp_path / "many.dnp"
        subprocess.run([MAKE_RECORDING, recording, "switches", str(count)], check=True)
        for form in ("perfetto", "csv"):
            child = subprocess.Popen([DNPROF, "export", "-f", form, recording], stdout=subprocess.PIPE)
            lines = sum(chunk.count(b"\n") for chunk in iter(lambda: child.stdout.read(1 << 20), b""))
            _, status, usage = os.wait4(child.pid, 0)
            assert status == 0 and (form != "csv" or lines == count + 1)
            used[form, count] = usage.ru_maxrss * 1024
        size = recording.stat().st_size
    assert size > 12e6
    for form in ("perfetto", "csv"):
        assert used[form, 2_000_000] - used[form, 20_000] < size / 2, used
