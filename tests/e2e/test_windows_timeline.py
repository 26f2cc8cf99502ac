# SPDX-License-Identifier: MIT
"""
dnprof.exe timeline and -e switch, under Wine: which threads of any program ran when, by looks at their clocks.
"""
import csv
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import records
from harness import LOOSE, PATIENCE_S, ROOT, dnprof, refused, run, wait_for
from test_windows import ENVIRONMENT, WINDOWS, compare, compare_files, on_windows, pytestmark, truth, wine  # noqa: F401
from test_windows import record as record_program

pytestmark = [*pytestmark, pytest.mark.slow]

#: What a thread's clock moves by at once, at most.
STEP_NS = 15_625_000


LIBRARY = WINDOWS.with_name("dnprof-timeline.dll")


@pytest.fixture(scope="module")
def threads(tmp_path_factory):
    path = tmp_path_factory.mktemp("timeline") / "threads.exe"
    run(["x86_64-w64-mingw32-gcc", "-O1", "-Wall", "-Wextra", "-D_WIN32_WINNT=0x0a00", "-o", path,
         Path(__file__).with_name("windows_threads.c")]).expect()
    return path


def told_by(text):
    """{name: what it says of itself}, of the threads with names that are given once."""
    told = {}
    for line in text.splitlines():
        tid, name, cpu_ns, *turns = line.split()
        told[name] = SimpleNamespace(tid=int(tid), cpu_ns=int(cpu_ns),
                                     turns=[tuple(map(int, turn.split("-"))) for turn in turns])
    return told


def shown(recording, status=0):
    return json.loads(dnprof("report", "--json", "-e", "switch", recording).expect(status).out)


def named(read):
    return {thread["name"]: thread for thread in read["threads"]}


def drawn(recording):
    """{name: when it ran at some time}, by the clock that the program has, too."""
    begin, = (process.start_ns for _, process in records.read(recording, "process"))
    times = {}
    for row in csv.DictReader(dnprof("export", "-f", "csv", recording).expect().out.splitlines()):
        assert row["ended"] == "sampled" and not row["cpu"], row
        times.setdefault(row["name"], []).append((begin + int(row["from_ns"]), begin + int(row["to_ns"])))
    return times


def common(left, right):
    return sum(max(0, min(b, d) - max(a, c)) for a, b in left for c, d in right)


@pytest.fixture(scope="module")
def recorded(threads, tmp_path_factory):
    path = tmp_path_factory.mktemp("turns") / "t.dnp"
    ended = on_windows("timeline", "-o", path, "--", threads, "turns")
    assert ended.status == 0, ended
    return SimpleNamespace(path=path, err=ended.err, told=told_by(ended.out), read=shown(path))


def test_clocks_are_those_of_the_threads(recorded):
    """By its own reading, up to a step at either end: when it began, and what is left when it ends."""
    seen = named(recorded.read)
    for name, truth in recorded.told.items():
        assert seen[name]["tid"] == truth.tid
        assert truth.cpu_ns - 2 * LOOSE * STEP_NS <= seen[name]["cpu_ns"] <= truth.cpu_ns + STEP_NS, (name, truth, seen[name])
    assert recorded.told["ping"].cpu_ns > 800_000_000 and not seen["sleeper"]["cpu_ns"]


def test_it_is_named_as_sampled(recorded):
    """In the line at the start, the recording, the report and the page; nothing of switches is told that is not known."""
    event = recorded.read["events"]["switch"]
    # When a thread ran is known to the step of its clock.
    assert event["sampled"] and 10_000_000 <= event["interval_ns"] <= STEP_NS and event["source"] == "clocks, looked at"
    reason = r"sampled, by looks at the threads' clocks, which go by steps of [\d.]+ ms: Windows tells of switches to"
    assert re.search(reason, recorded.err) and re.search(reason, event["note"])
    assert recorded.read["complete"] and recorded.read["exit_status"] == 0
    assert re.fullmatch(r"Windows [\d.]+", re.search(r"Windows [\d.]+", dnprof("report", recorded.path).out)[0])
    assert "switch: sampled, about every" in dnprof("report", recorded.path).expect().out
    for thread in recorded.read["threads"]:
        assert not any(thread[key] for key in ("on_cpu_ns", "preempted_ns", "blocked_ns", "voluntary", "involuntary", "ready_ns"))


@pytest.mark.measured
def test_who_ran_when(recorded):
    """Those that take turns are drawn in their own, but for the edges; one that sleeps is not drawn at all."""
    times, told = drawn(recorded.path), recorded.told
    assert "sleeper" not in times
    for name, other in ("ping", "pong"), ("pong", "ping"):
        whole, own, others = (sum(b - a for a, b in times[name]), common(times[name], told[name].turns),
                              common(times[name], told[other].turns))
        assert whole >= 0.9 * told[name].cpu_ns, f"{name}: {whole} drawn of {told[name].cpu_ns}"
        assert own > 0.75 * whole and own > 4 * others, f"{name}: {whole} drawn, {own} in its turns, {others} in the other's"
    runner = sum(b - a for a, b in times["runner"])
    assert runner >= 0.9 * told["runner"].cpu_ns


def test_slices_are_in_order(recorded):
    for name, times in drawn(recorded.path).items():
        assert all(a < b for a, b in times), name
        assert all(b <= c for (_, b), (c, _) in zip(times, times[1:])), name


def test_same_on_windows(recorded):
    """Reports, and each form of file, are what Linux's dnprof makes of it."""
    folder, name = recorded.path.parent, recorded.path.name
    for arguments in (("report",), ("report", "--json"), ("export", "-f", "csv"), ("export", "-f", "chrome"),
                      ("export", "-f", "perfetto")):
        assert compare(folder, *arguments, name, status=0).stdout
    assert b"looks at the threads' clocks" in compare_files(folder, "report", name, name="t.html")


def test_page_at_once(threads, tmp_path):
    ended = on_windows("timeline", "-q", "-o", tmp_path / "t.html", "--", threads, "fail", 0)
    assert ended.status == 0 and not ended.err, ended
    assert [path.name for path in tmp_path.iterdir()] == ["t.html"] and (tmp_path / "t.html").stat().st_size > 100000


def test_threads_that_live_shortly(threads, tmp_path):
    """Ended ones whose handles the program keeps are over; ids are of one thread each; those that were seen have an end."""
    told = [line.split() for line in on_windows("timeline", "-q", "-o", tmp_path / "t.dnp", "--", threads, "short", 60)
            .expect().out.splitlines()]
    assert len(told) == 60
    read = shown(tmp_path / "t.dnp")
    tids = [thread["tid"] for thread in read["threads"]]
    assert len(tids) == len(set(tids))
    assert {thread["tid"] for thread in read["threads"] if thread["name"] == "short"} <= {int(tid) for tid, *_ in told}
    threads_of = {thread.index: thread.tid for _, thread in records.read(tmp_path / "t.dnp", "thread")}
    assert sorted(threads_of) == sorted(end.thread for _, end in records.read(tmp_path / "t.dnp", "thread_end"))


@pytest.mark.parametrize("arguments, status", [(("fail", 7), 7), (("crash",), 5)])
def test_exit_status_is_the_programs(threads, tmp_path, arguments, status):
    """A program that crashes has that of its exception, 0xc0000005, of which Linux shows the last byte."""
    ended = on_windows("timeline", "-q", "-o", tmp_path / "t.dnp", "--", threads, *arguments)
    assert ended.status == status, ended
    read = shown(tmp_path / "t.dnp")
    assert read["exit_status"] & 0xff == status and read["complete"]
    assert sum(thread["cpu_ns"] for thread in read["threads"]) >= 100_000_000 - 2 * LOOSE * STEP_NS


@pytest.mark.parametrize("arguments, status, words", [
    (("-o", "no/such/t.dnp", "--", "cmd.exe"), 1, ("no/such", "another place")),
    (("--", "no-such-program"), 1, ("cannot start no-such-program",)),
    (("--wakeups", "--", "cmd.exe", "/c", "exit"), 1, ("wakes whom", "event tracing", "administrators", "leave --wakeups away")),
    (("99999996",), 1, ("no process 99999996",)),
    (("99999997",), 1, ("no process 99999997",)),
    (("-d", "soon", "--", "cmd.exe"), 2, ("-d soon",)),
    ((), 2, ("missing",)),
])
def test_refused(tmp_path, arguments, status, words):
    """In one line; nothing is left."""
    refused(on_windows("timeline", *arguments, cwd=tmp_path), status, *words)
    assert not list(tmp_path.iterdir())


def test_others_are_said_to_be_missing(threads, tmp_path):
    ended = on_windows("timeline", "--others", "-o", tmp_path / "t.dnp", "--", threads, "fail", 0)
    assert ended.status == 0 and "Windows tells of switches to administrators only" in ended.err, ended


# Processes that run already, and ctrl-C

@pytest.fixture
def waiting(threads):
    """One that waits for a line; its id, as Windows has it."""
    with subprocess.Popen(["wine", threads, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env={**os.environ, **ENVIRONMENT}) as p:
        try:
            ready, pid = p.stdout.readline().split()
            assert ready == b"ready"
            yield SimpleNamespace(pid=int(pid), process=p)
        finally:
            p.stdin.close()
            p.wait(PATIENCE_S)


def work(waiting):
    """It computes for 30 ms."""
    waiting.process.stdin.write(b".\n")
    waiting.process.stdin.flush()


def test_process_that_runs(waiting, tmp_path):
    work(waiting)
    ended = on_windows("timeline", "-q", "-d", 1, "-o", tmp_path / "t.dnp", waiting.pid)
    assert ended.status == 0 and not ended.err, ended
    assert waiting.process.poll() is None
    read = shown(tmp_path / "t.dnp")
    assert read["pid"] == waiting.pid and read["command"][-1] == "wait" and read["complete"]
    assert "threads.exe" in read["command"][0] and 1e9 <= read["duration_ns"]
    assert named(read)["waiter"]["cpu_ns"] == 0


def recorder(tmp_path, *arguments):
    return subprocess.Popen(["wine", WINDOWS, "timeline", "-o", tmp_path / "t.dnp", *map(str, arguments)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, **ENVIRONMENT})


def records_now(tmp_path):
    """Its file has a chunk of records behind that of the schema, which is there before the recording begins."""
    return any(path.read_bytes().count(b"DNP1") > 1 for path in tmp_path.glob("**/recording.dnp"))


def test_end_of_a_process_ends_its_recording(waiting, tmp_path):
    with recorder(tmp_path, waiting.pid) as p:
        wait_for(lambda: records_now(tmp_path), "the recording")
        waiting.process.stdin.write(b"\n")
        waiting.process.stdin.flush()
        _, err = p.communicate(timeout=PATIENCE_S)
    assert p.returncode == 0 and f"process {waiting.pid} has ended, after".encode() in err, err
    assert shown(tmp_path / "t.dnp")["complete"]


def test_ctrl_c_ends_the_recording_of_a_process(waiting, tmp_path):
    with recorder(tmp_path, waiting.pid) as p:
        wait_for(lambda: records_now(tmp_path), "the recording")
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=PATIENCE_S)
    assert p.returncode == 0, err
    assert waiting.process.poll() is None
    assert shown(tmp_path / "t.dnp")["complete"] and [path.name for path in tmp_path.iterdir()] == ["t.dnp"]


def test_ctrl_c_ends_the_recording_and_the_program_goes_on(threads, tmp_path):
    """Which here has not got it; its status is passed through at its end."""
    with recorder(tmp_path, "--", threads, "wait") as p:
        assert p.stdout.readline().startswith(b"ready")
        wait_for(lambda: records_now(tmp_path), "the recording")
        p.send_signal(signal.SIGINT)
        p.stdin.write(b".\n" * 100 + b"\n")
        p.stdin.close()
        err = p.stderr.read()
        assert p.wait(PATIENCE_S) == 0, err
    read = shown(tmp_path / "t.dnp")
    assert read["complete"] and read["exit_status"] == 0


# Beside samples, in .NET programs

def test_samples_and_clocks_of_a_program(truth, tmp_path):
    """Of the same threads, on one clock; the profiler's own are not among them."""
    told, _ = record_program(truth, tmp_path / "t.dnp", "threads8", "--seconds", 3, options=("-e", "cpu,switch"))
    read = shown(tmp_path / "t.dnp")
    assert set(read["events"]) == {"cpu", "switch"} and read["events"]["switch"]["sampled"] and read["complete"]
    names, found = [thread["name"] for thread in read["threads"]], named(read)
    # By their names: the system gives the number of a thread that has ended to another one.
    assert [names.count(f"worker-{i}") for i in range(8)] == [1] * 8, names
    assert not [name for name in found if name.startswith("dnprof")]
    cpu = json.loads(dnprof("report", "--json", "-e", "cpu", tmp_path / "t.dnp").expect().out)
    assert {thread["tid"] for thread in cpu["threads"] if thread["name"] == "worker-7"} == {found["worker-7"]["tid"]}
    known = sum(thread["cpu_ns"] for thread in read["threads"])
    used = told["process_cpu_ns"] + STEP_NS * len(names)  # what is used behind its own reading
    assert known <= LOOSE * used + 1e9 and known >= (told["process_cpu_ns"] - read["agent_cpu_ns"]) / LOOSE / 2, (known, told)
    assert drawn(tmp_path / "t.dnp")["worker-7"]


@pytest.mark.parametrize("program", ["shortthreads", "locks", "async"])
def test_clocks_of_a_program_whose_threads_come_and_go(truth, tmp_path, program):
    _, read = record_program(truth, tmp_path / "t.dnp", program, "--seconds", 1, options=("-e", "cpu,wall,switch"))
    assert read["complete"]
    threads = shown(tmp_path / "t.dnp")["threads"]
    assert len({(thread["tid"], thread["name"]) for thread in threads}) == len(threads)
    assert compare(tmp_path, "report", "--json", "-e", "switch", "t.dnp", status=0).stdout


def test_clocks_alone_and_a_page(truth, tmp_path):
    ended = on_windows("run", "-q", "-e", "switch", "-o", tmp_path / "t.html", "--", truth, "cpu", "--work", 20)
    assert ended.status == 0 and not ended.err, ended
    assert (tmp_path / "t.html").stat().st_size > 100000


@pytest.mark.parametrize("options, words", [
    (("-e", "switch", "--wait", "5ms"), ("--wait", "Windows")),
    (("-e", "switch", "-o", "t.collapsed"), ("switches have none",)),
    (("-o", "t.pftrace"), ("add switch to -e",)),
])
def test_refused_of_a_program(tmp_path, options, words):
    refused(on_windows("run", *options, "--", "cmd.exe", cwd=tmp_path), 2, *words)
    assert not list(tmp_path.iterdir())


# The library

def test_library_has_the_names_of_its_header():
    header = (ROOT / "include/dnprof/timeline.h").read_text()
    wanted = set(re.findall(r"^DNPROF_API\b[^;{]*?(\w+)\s*\(", header, re.M))
    listed = run(["x86_64-w64-mingw32-objdump", "-p", LIBRARY]).expect().out
    assert set(re.findall(r"\[ *\d+\] (dnprof_\w+)$", listed, re.M)) == wanted and len(wanted) > 10


def test_example_of_the_library(tmp_path):
    """That of docs/timeline.md, as it stands there: in C99, with the library beside it and nothing of ours else."""
    run(["x86_64-w64-mingw32-gcc", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O1", "-Wall", "-Wextra", "-I", ROOT / "include",
         "-o", tmp_path / "example.exe", ROOT / "tests/timeline/example.c", LIBRARY.with_suffix(".dll.a"), "-static",
         "-lpthread"]).expect()
    shutil.copy(LIBRARY, tmp_path)
    first, *rows, last = run(["wine", tmp_path / "example.exe"], env=ENVIRONMENT, cwd=tmp_path).expect().out.splitlines()
    assert re.match(r"sampled, by looks at the threads' clocks, which go by steps of [\d.]+ ms: Windows", first), first
    drawn = {}
    for row in rows:
        line, name, ms = re.fullmatch(r"([.#]{72}) (.*): ([\d.]+) ms of CPU time, 0 switches", row).groups()
        drawn[name] = line, float(ms)
    assert {"worker", "dnprof-timeline"} <= set(drawn), rows
    assert "#" in drawn["worker"][0] and 10 <= drawn["worker"][1] <= 230, rows
    assert last == "0 switches a second, lost 0"
