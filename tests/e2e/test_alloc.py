# SPDX-License-Identifier: MIT
"""What was allocated, by type and place, against what the runtime itself counted; and what is refused."""
import os
import re
import signal

import pytest

import attached
from harness import (DNPROF, LOOSE, NEWEST, OTHER_CLSID, SOAK, cases, chance, check_whole, dnprof, dnprof_again, incomplete,
                     other_profiler, plain, program, refused, report, start, wait_for)
from test_record import record_while_it_computes

#: Bytes between two samples.
MEAN = {"100k": 100 << 10, "512k": 512 << 10}
BUSY = ("alloc", "--seconds", 600)


def record(tmp_path, argv, *, events="alloc=100k", **more):
    """(What the program left behind, the report of its allocations.)"""
    out = tmp_path / "out.dnp"
    result = dnprof_again("run", "-q", "-e", events, "-o", out, "--", *argv, **more).expect()
    return result, report(out, options=("-e", "alloc", "-n", 0))


def types(report):
    return {t["name"]: t for t in report.data["types"]}


def sites(report, method):
    """Those of the methods whose names begin so."""
    return [site for site in report.data["sites"] if site["method"].startswith(method)]


def at_random(tfm):
    """Whether the runtime chooses objects at random."""
    return int(tfm[3:].split(".")[0]) >= 10


@pytest.mark.measured
@pytest.mark.parametrize("size", cases(("100k", "512k"), ["512k"]))
def test_estimates_are_within_their_bars(tmp_path, tfm, size):
    """Forty-nine types, each allocated as often: nearly all within what is said of 95 in 100."""
    result, shown = record(tmp_path, program(tfm, "sizes", "--bytes", 40_000_000), events=f"alloc={size}")
    truth = {name: sum(places) for name, places in result.truth["types"].items()}
    seen = types(shown)
    assert set(truth) <= set(seen)
    within = sum(seen[n]["bytes_low"] <= b <= seen[n]["bytes_high"] for n, b in truth.items())
    # Of 49 that are right 95 times in 100 fewer than 37 are once in two million runs.
    assert within >= 37, within
    # The same of what is allocated in one of two places.
    there = {site["type"]: site for site in sites(shown, "Truth.Sizes.There<")}
    assert set(truth) <= set(there)
    within = sum(there[n]["bytes_low"] <= places[1] <= there[n]["bytes_high"] for n, places in result.truth["types"].items())
    assert within >= 37, within
    # All together far closer, for want of bias: five times what chance alone makes of so many samples.
    whole, lost = sum(truth.values()), shown.data["events"]["alloc"]["lost"]
    by_chance = (MEAN[size] / whole) ** 0.5
    assert sum(seen[n]["bytes"] for n in truth) + lost == pytest.approx(whole, rel=5 * by_chance)
    for name in truth:
        assert seen[name]["count"] == pytest.approx(seen[name]["bytes"] / 40, rel=0.01)
        assert 0 < seen[name]["bytes_low"] < seen[name]["bytes"] < seen[name]["bytes_high"]
    # Of 40 objects of 1 MB all are told of but one in 17,000, or one in seven, each of which counts for more then:
    # three of them are missing less than once in a million runs, or five times 6 %.
    large = seen["System.Int64[]"]
    assert large["bytes"] == pytest.approx(result.truth["large"], rel=0.06 if size == "100k" else 0.32)
    assert "System.Int32*[]" in seen
    # And small ones of that type, of which none was seen, would be hidden by them.
    assert large["bytes_high"] > large["bytes"] + MEAN[size]
    shown.check_few_lost("alloc")


@pytest.mark.measured
def test_places_of_allocations(tmp_path, tfm):
    """A quarter is allocated in one method, the rest in another; types are the leaves of their stacks."""
    result, shown = record(tmp_path, program(tfm, "sizes", "--bytes", 10_000_000))
    here, there = (sum(places[i] for places in result.truth["types"].values()) for i in (0, 1))
    got = {name: sum(n for path, n in shown.with_frame(f"Truth.Sizes.{name}")) for name in ("Here", "There")}
    for got_bytes, truth in ((got["Here"], here), (got["There"], there)):
        assert got_bytes == pytest.approx(truth, rel=5 * (MEAN["100k"] / truth) ** 0.5 + LOOSE * 0.01)
    for path, _ in shown.with_frame("Truth.Sizes.Here"):
        assert path[-1].startswith("Truth.Sizes+Cell<") and path[-2].startswith("Truth.Sizes.Here"), path
        assert not any("libdnprof" in frame for frame in path)
    event = shown.data["events"]["alloc"]
    shown.check_few_lost("alloc")
    assert event["failed"] <= LOOSE * (0.01 * event["samples"] + 1)
    assert ("AllocationSampled" if at_random(tfm) else "AllocationTick") in event["source"]


@pytest.mark.measured
def test_with_samples_of_time(tmp_path, tfm):
    """Both at once: no sample of the one is lost for the other, and their shares of threads agree."""
    out = tmp_path / "out.dnp"
    dnprof_again("run", "-q", "-e", "cpu,alloc=100k", "-F", 2999, "-o", out, "--",
                 *program(tfm, "alloc", "--seconds", 2)).expect()
    cpu, alloc = report(out, options=("-e", "cpu")), report(out, options=("-e", "alloc"))
    cpu.check_few_lost("cpu")
    alloc.check_few_lost("alloc")
    # Two do the same, in turn by threads of two names; the collections, which one of them carries out, go by chance. A sample
    # of allocations is one in so many bytes.
    size, clock = alloc.threads(), {"alloc-0": 0, "alloc-1": 0}
    for thread in cpu.data["threads"]:
        if thread["name"] in clock:
            clock[thread["name"]] += thread["cpu_ns"]
    for counts, samples, expected in (
            (cpu.threads(), cpu.threads()["alloc-0"] + cpu.threads()["alloc-1"], clock["alloc-0"] / sum(clock.values())),
            (size, (size["alloc-0"] + size["alloc-1"]) / MEAN["100k"], 0.5)):
        share = counts["alloc-0"] / (counts["alloc-0"] + counts["alloc-1"])
        assert abs(share - expected) <= chance(0.5, samples) + LOOSE * 0.02, (expected, counts)
    assert not any(m["name"].startswith(("System.Byte[]", "Truth.Alloc+Node")) and "Truth.Alloc+Node." not in m["name"]
                   for m in cpu.data["methods"])
    assert {"Truth.Alloc+Node", "System.Byte[]", "System.Int32[]"} <= set(types(alloc))


def test_every_object(tmp_path, tfm):
    """To the object and the byte, by type and by place."""
    units = 60
    result, shown = record(tmp_path, program(tfm, "leaks", "--work", units), events="alloc=exact")
    assert ("few boxed values" in shown.data["events"]["alloc"]["note"]) == (tfm == NEWEST)
    kept = result.truth["live"]["Truth.Leaks.Forget"][0]
    event, item = shown.data["events"]["alloc"], types(shown)["Truth.Leaks+Item"]
    check_whole(event)
    assert item["count"] == result.truth["made"] + kept
    assert item["bytes"] == item["bytes_low"] == item["bytes_high"] == 216 * item["count"]
    turns = [i % 32 for i in range(10_000)]
    made = {"Cache": turns.count(0), "Parse": sum(0 < t < 12 for t in turns), "Render": sum(12 <= t < 22 for t in turns),
            "Route": sum(22 <= t for t in turns)}
    places = {"Fill": 40_000, "Forget": kept, **{name: n * units for name, n in made.items()}}
    for name, count in places.items():
        got = sum(n for path, n in shown.with_frame(f"Truth.Leaks.{name}") if path[-1] == "Truth.Leaks+Item")
        assert got == 216 * count, name
        of_type = [site for site in sites(shown, f"Truth.Leaks.{name}(") if site["type"] == "Truth.Leaks+Item"]
        assert [(site["count"], site["bytes"]) for site in of_type] == [(count, got)], name
    around = dnprof("report", "-e", "alloc", "-m", "Truth.Leaks.Fill", tmp_path / "out.dnp").expect().out
    assert re.search(r"^   total       bytes        self   calls\n.*8\.2[0-9]* MiB .*Truth\.Leaks\+Item$", around, re.M), around
    assert set(event["failures"]) <= {"unknown code"} and event["samples"] >= item["count"]


def test_every_object_of_many_types(tmp_path, tfm):
    """Against what the runtime counts for the thread itself; also with samples of time in between."""
    result, shown = record(tmp_path, program(tfm, "sizes", "--bytes", 800_000), events="cpu,alloc=exact")
    check_whole(shown.data["events"]["alloc"])
    seen = types(shown)
    for name, places in result.truth["types"].items():
        assert seen[name]["bytes"] == sum(places) + 2 * 20_000, name  # which were made before it counts
        assert seen[name]["count"] * 40 == seen[name]["bytes"]


def test_every_object_of_methods_where_others_were(tmp_path, tfm):
    """Dynamic methods that are gone, and others of the same shape: each has what it made itself."""
    result, shown = record(tmp_path, program(tfm, "remade"), events="alloc=exact")
    check_whole(shown.data["events"]["alloc"])
    things = {plain(site["method"]).removeprefix("[dynamic] "): site["count"] for site in shown.data["sites"]
              if site["type"] == "Truth.Unload+Thing"}
    assert things == result.truth["made"]


def test_every_object_of_two_threads(tmp_path, tfm):
    result, shown = record(tmp_path, program(tfm, "alloc", "--work", 2), events="alloc=exact")
    check_whole(shown.data["events"]["alloc"])
    node = types(shown)["Truth.Alloc+Node"]
    assert node["count"] == result.truth["work"] * 2 * 400 * 300
    text = dnprof("report", tmp_path / "out.dnp").expect().out
    assert re.search(r"^alloc: [\d,]+ samples, [\d.]+ MiB, ObjectAllocated, every object$", text, re.M)
    assert re.search(r"^   share       bytes         objects   type\n +[\d.]+ % +[\d.]+ MiB +[\d,]+   ", text, re.M)
    assert re.search(r"^Sites.*\n   share       bytes         objects\n +[\d.]+ % +[\d.]+ MiB +[\d,]+\n", text, re.M), text
    assert re.search(rf" {node['count']:,}\n        Truth\.Alloc\+Node in Truth\.Alloc\.Chain\(int\) ← Truth\.Alloc\.Round\(", text)


def test_every_object_of_a_program_that_is_killed(tmp_path, tfm):
    """What it made is written while it lives."""
    out, when, nodes = tmp_path / "out.dnp", tmp_path / "when", "Truth.Garbage+Node"
    with start([DNPROF, "run", "-q", "-e", "alloc=exact", "-o", out, "--", *program(tfm, "garbage", "--work", 1, "--when", when)]) as it:
        wait_for(when.with_suffix(".ready").exists, "the program to be ready")
        wait_for(lambda: types(incomplete(out)).get(nodes, {"count": 0})["count"] == 200_000, "all objects")
        os.kill(it.child("garbage"), signal.SIGKILL)
        it.end()
    item = types(incomplete(out))[nodes]
    assert item["count"] == 200_000 and item["bytes"] == 32 * 200_000


def test_every_object_is_told_from_the_start_only(tmp_path):
    with attached.Running(program(NEWEST, *BUSY), 0.5) as it:
        for command in (("record", "-d", 1), ("start",)):
            refused(dnprof(*command, "-e", "cpu,alloc=exact", "-o", tmp_path / "out.dnp", it.pid), 2,
                    "from a program's start only", "dnprof run -e cpu,alloc=exact -- COMMAND")
        with pytest.raises(attached.Refused, match="cannot be recorded in a program that runs already"):
            attached.cycle(it.pid, tmp_path / "out.dnp", options="event=alloc;alloc_exact=1")


def test_attached(tmp_path, tfm):
    """In a program that runs already, with other recordings before and after."""
    with attached.Running(program(tfm, *BUSY), 0.5) as it:
        for events in ("alloc=100k", "cpu", "cpu,alloc=1m"):
            record_while_it_computes(it.pid, tmp_path / "out.dnp", 0.5, "-q", "-e", events)
        shown = report(tmp_path / "out.dnp", options=("-e", "alloc"))
    assert {"Truth.Alloc+Node", "System.Byte[]"} <= set(types(shown))
    shown.check_few_lost("alloc")


def test_very_many_are_kept_no_closer_than_their_stacks_are_worth(tmp_path):
    """The report says what each stands for; with a SIZE that is what was asked for, whatever comes."""
    out, seconds = tmp_path / "out.dnp", 1
    with attached.Running(program(NEWEST, "alloc", "--hot", "--seconds", 600), 0.5) as it:
        while True:
            attached.cycle(it.pid, out, seconds, options="event=alloc;alloc_bytes=102400;alloc_stacks=1")
            event = report(out).data["events"]["alloc"]
            if "lot_asked" in event or seconds > 30:
                break
            seconds *= 2  # on a slow machine: it takes 4,000 samples
        record_while_it_computes(it.pid, tmp_path / "all.dnp", 0.5, "-q", "-e", "alloc=100k")
    assert event["lot_asked"] == MEAN["100k"] < event["lot"], event
    assert re.search(r"^alloc: .*, one for 100 KiB to [\d.,]+ [KMGT]iB$", dnprof("report", out).expect().out, re.M)
    assert "lot_asked" not in report(tmp_path / "all.dnp").data["events"]["alloc"]


CYCLES = 15 if SOAK else 4


@pytest.mark.slow
def test_attached_again_and_again(tmp_path, tfm):
    """Sessions that begin and end while four threads allocate: each time nothing is left of the agent."""
    cycles = attached.Cycles(tmp_path / "out.dnp", program(tfm, *BUSY), limit=CYCLES, seconds=0.05,
                             options="event=cpu,alloc;alloc_bytes=102400;interval_ns=1000000")
    assert len(cycles.times) == CYCLES


def test_beside_another_profiler(tmp_path):
    """As one that is only notified: from the start and later."""
    library = other_profiler(tmp_path)
    (tmp_path / "marks").mkdir()
    env = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": OTHER_CLSID, "CORECLR_PROFILER_PATH": str(library),
           "MARK_FOLDER": str(tmp_path / "marks")}
    out = tmp_path / "out.dnp"
    dnprof_again("run", "-q", "-e", "alloc", "-o", out, "--", *program(NEWEST, "alloc", "--seconds", 1), env=env).expect()
    assert "Truth.Alloc+Node" in types(report(out))


@pytest.mark.measured
def test_exact_loses_no_samples(tmp_path):
    """Half of the time a sample falls due while the thread counts an object: it is stored right after that."""
    out = tmp_path / "out.dnp"
    dnprof_again("run", "-q", "-e", "cpu,alloc=exact", "-F", 997, "-o", out, "--", *program(NEWEST, "mix", "--seconds", 1)).expect()
    cpu = report(out, options=("-e", "cpu", "-n", 1)).data["events"]["cpu"]
    assert cpu["samples"] > 100 // LOOSE, cpu
    assert cpu["lost"] <= LOOSE * 0.01 * cpu["samples"], cpu


def test_text_of_types(tmp_path):
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "alloc", "-o", out, "--", *program(NEWEST, "sizes", "--bytes", 5_000_000)).expect()
    text = dnprof("report", out).expect().out
    assert re.search(r"^alloc: [\d,]+ samples, [\d.]+ (MiB|GiB), AllocationSampled, one for 512 KiB$", text, re.M)
    assert re.search(r"^Types, the first 20 of \d+\n", text, re.M)
    assert re.search(r"^ +[\d.]+ % +[\d.]+ MiB +[\d.]+ [KM]iB – [\d.]+ MiB +[\d,]+   Truth\.Sizes\+Cell<", text, re.M)


@pytest.mark.parametrize("value, words", (
    ("alloc=50k", ("100k",)),
    ("alloc=", ("not a size",)),
    ("alloc=12x", ("not a size",)),
    ("alloc=2000g", ("out of range",)),
    *((f"{event}=5", (f"{event} takes no value",)) for event in ("cpu", "jit", "load", "gc")),
    ("alloc=exactly", ("not a size", "nor exact")),
    ("alloc,alloc=1m", ("named twice",)),
    ("allocs", ("cannot be recorded", "alloc")),
))
def test_what_is_refused(tmp_path, value, words):
    refused(dnprof("run", "-e", value, "-o", tmp_path / "out.dnp", "--", *program(NEWEST, "idle")), 2, *words)
