# SPDX-License-Identifier: MIT
"""`dnprof report` as a command: formats, options, exit statuses, messages, terminals."""
import fcntl
import json
import os
import pty
import re
import stat
import struct
import subprocess
import termios

import pytest

from harness import DNPROF, NEWEST, ROOT, Report, dnprof, program, record, refused

MAKE_RECORDING = DNPROF.parent.parent / "tests/tools/make-recording"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The recording of the unit tests: 12 samples of two threads."""
    path = tmp_path_factory.mktemp("report") / "small.dnp"
    subprocess.run([MAKE_RECORDING, path], check=True)
    return path


@pytest.fixture(scope="module")
def wall(tmp_path_factory):
    """Two events, cpu and wall; 8 threads, six of them alike, that run and wait."""
    path = tmp_path_factory.mktemp("report") / "wall.dnp"
    subprocess.run([MAKE_RECORDING, path, "wall"], check=True)
    return path


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """An event that counts calls: 31 of four methods on two threads."""
    path = tmp_path_factory.mktemp("report") / "calls.dnp"
    subprocess.run([MAKE_RECORDING, path, "calls"], check=True)
    return path


def test_calls(calls):
    text = dnprof("report", calls).expect(0).out
    assert "trace: 31 calls, lost 3" in text and "inlined calls are not seen" in text
    report = json.loads(dnprof("report", "--json", calls).expect(0).stdout)
    assert report["event"] == "trace"
    assert report["events"]["trace"] == report["events"]["trace"] | {
        "calls": 31, "lost": 3, "enters": 31, "leaves": 26, "tailcalls": 2, "unwinds": 2, "open": 1}
    assert sum(m["calls"] for m in report["methods"]) == 31 == sum(t["calls"] for t in report["threads"])
    assert sum(m["self_ns"] for m in report["methods"]) == 83_000_000
    fib = next(m for m in report["methods"] if m["name"] == "App.Calls.Fib(int)")
    assert (fib["total_ns"], fib["min_ns"], fib["max_ns"]) == (23_000_000, 1_000_000, 6_000_000)
    worker = json.loads(dnprof("report", "--json", "--thread", "worker", calls).expect(0).stdout)
    assert sum(m["calls"] for m in worker["methods"]) == 10 == worker["events"]["trace"]["calls"]
    assert not any("min_ns" in m or "max_ns" in m for m in worker["methods"]), "those of all threads are not these"
    assert "--state chooses samples, and these are calls" in dnprof("report", "--state", "waiting", calls).expect(0).out


def test_callers_and_callees(calls, small):
    text = dnprof("report", "-m", "App.Calls.Fib", calls).expect(0).out
    assert "called by" in text and "Methods by self" not in text
    missed = dnprof("report", "--method", "App.Program.Hit", small).expect(3)
    assert "no method matches" in missed.out and "much like it are: App.Program.Hot()" in missed.err
    report = json.loads(dnprof("report", "--json", "-m", "*.Hot", small).expect(0).stdout)
    hot = next(m for m in report["methods"] if m["name"] == "App.Program.Hot()")
    assert [(e["name"], e["total"]) for e in hot["callers"]] == [("App.Program.Main()", 9)]
    assert [(e["name"], e["total"]) for e in hot["callees"]] == [("System.Math.Sin(double)", 6)]
    assert "callers" not in next(m for m in report["methods"] if m["name"] == "App.Program.Rec()")


def test_text(small):
    result = dnprof("report", small).expect(0)
    assert result.err == ""
    for part in ("app.dll: dotnet app.dll", "12 samples", "lost 4", "Methods by self", "Methods by total",
                 "Threads", "Call tree", "System.Math.Sin(double)", "[k] do_syscall"):
        assert part in result.out, result
    assert "\x1b" not in result.out, "no colours into a pipe"


def test_parts(small):
    threads = dnprof("report", "--threads", small).expect(0).out
    tree = dnprof("report", "--tree", small).expect(0).out
    assert "Threads" in threads and "Call tree" not in threads and "Methods" not in threads
    assert "Call tree" in tree and "Threads" not in tree and "Methods" not in tree
    assert dnprof("report", "--top", 1, small).expect(0).out.count("System.Math.Sin") == 2


def test_json(small):
    report = json.loads(dnprof("report", "--json", small).expect(0).stdout)
    assert report["version"] == 2 and report["pid"] == 42 and report["command"] == ["dotnet", "app.dll"]
    assert report["events"]["cpu"] == report["events"]["cpu"] | {
        "samples": 12, "lost": 4, "interval_ns": 10_000_000, "truncated": 1, "unresolved": 3, "failed": 2}
    assert sum(m["self"] for m in report["methods"]) == 12
    assert sum(t["samples"] for t in report["threads"]) == 12
    assert {m["kind"] for m in report["methods"]} == {"managed", "native", "kernel"}
    assert sum(n["self"] for n in report["tree"]) == 12
    Report(report).check_sums()


@pytest.mark.parametrize("options, samples", [
    (["--thread", "worker"], 3), (["--thread", "42,43"], 12), (["--include", "App.*.Hot"], 9),
    (["--exclude", "System.*,*!memcpy"], 5)])
def test_filters(small, options, samples):
    report = json.loads(dnprof("report", "--json", *options, small).expect(0).stdout)
    assert report["events"]["cpu"]["samples"] == samples
    assert sum(m["self"] for m in report["methods"]) == samples
    assert sum(t["samples"] for t in report["threads"]) == samples


@pytest.mark.parametrize("options, words", [
    (["--include", "No.Such"], "--include 'No.Such' matches none of 6 functions; without it you see what they are called"),
    (["--include", "App.*,App.Program.Hat"], "'App.Program.Hat' matches none of 6 functions; much like it are: App.Program.Hot()"),
    (["--thread", "43,nobody"], "--thread 'nobody' matches none of 2 threads; without it you see"),
    (["--thread", "Worker"], "'Worker' matches none of 2 threads; much like it are: worker")])
def test_filter_that_matches_nothing(small, options, words):
    """A slip of the pen, or the truth: it is shown, and told."""
    result = dnprof("report", *options, small).expect(3)
    assert words in result.err and "samples" in result.out
    if options[0] == "--thread":
        assert words in dnprof("export", "-f", "collapsed", *options, small).expect(3).err


@pytest.mark.parametrize("options", [("--exclude", "*"), ("--include", "App.*", "--exclude", "App.*,libc*,kernel*")])
def test_nothing_left(small, tmp_path, options):
    """An empty result does not look whole."""
    for more in ((), ("--json",), ("-o", tmp_path / "x.collapsed")):
        assert "--exclude left out all that was recorded" in dnprof("report", *options, *more, small).expect(3).err


def test_nothing_left_of_what_a_page_shows(tmp_path):
    """A page has every event, whichever comes first."""
    out, told = tmp_path / "out.dnp", "--exclude left out all that was recorded"
    dnprof("run", "-q", "-e", "switch,cpu", "-o", out, "--", *program(NEWEST, "cpu", "--seconds", 0.5)).expect()
    assert told in dnprof("report", "--exclude", "*", "-o", tmp_path / "x.html", out).expect(3).err
    assert not dnprof("report", "-e", "switch", "--exclude", "*", out).expect().complaints()


def test_collections_are_left(tmp_path):
    """They are all shown, whoever brought them about."""
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "gc", "-o", out, "--", *program(NEWEST, "gc", "--seconds", 1)).expect()
    for more in ((), ("--json",), ("-o", tmp_path / "x.html")):
        assert not dnprof("report", "--exclude", "*", *more, out).expect().complaints()
    told = json.loads(dnprof("report", "--json", "--exclude", "*", out).expect().stdout)
    assert told["collections"]
    page = (tmp_path / "x.html").read_text()
    assert '"title":"Generations"' in page and '"title":"Collections"' in page
    assert f'"not_filtered":"{told["filter"]["not_filtered"]}"' in page and "all are shown" in told["filter"]["not_filtered"]


def test_nothing_left_by_all_together(small):
    """Each of them leaves something."""
    for options in (("--thread", "worker"), ("--include", "App.*.Hot")):
        dnprof("report", *options, small).expect()
    result = dnprof("report", "--thread", "worker", "--include", "App.*.Hot", small).expect(3)
    assert "--thread, --include together left out all that was recorded; leave one of them away" in result.err


def test_recording_is_spared(small, calls, tmp_path):
    """What is written does not take the place of what it is made of."""
    for command, made in ((("report", "--json"), small), (("export", "-f", "text"), small), (("log",), calls)):
        recording, other = tmp_path / "kept.dnp", tmp_path / "other.dnp"
        recording.write_bytes(made.read_bytes())
        for place in (recording, tmp_path / "." / "kept.dnp"):
            result = dnprof(*command, "-o", place, made, recording).expect(2)
            assert "that is the recording itself" in result.err, result
        assert recording.read_bytes() == made.read_bytes()
        assert dnprof(*command, "-o", other, recording).status in (0, 3) and other.stat().st_size


def test_events(wall):
    """The first recorded is shown unless another is chosen; its note stands with it everywhere."""
    first = dnprof("report", wall).expect(0).out
    assert "cpu: 4 samples" in first and "also recorded: wall (20 samples)" in first
    assert "safepoint-biased" not in first and "waiting" not in first
    chosen = dnprof("report", "-e", "wall", wall).expect(0).out
    for part in ("wall: 20 samples", "safepoint-biased", "failed 5 (moved 3, norule 2)",
                 "threads ran 50 ms (25.0 %), waited 150 ms (75.0 %)", "×6   .NET TP Worker"):
        assert part in chosen, chosen
    report = json.loads(dnprof("report", "--json", "-e", "wall", wall).expect(0).stdout)
    event = report["events"]["wall"]
    assert report["event"] == "wall" and set(report["events"]) == {"cpu", "wall"}
    assert "safepoint-biased" in event["note"] and event["failures"] == {"moved": 3, "norule": 2}
    assert event["waiting"] == 15 == sum(t["waiting"] for t in report["threads"])
    assert sum(t["running_ns"] for t in report["threads"]) == 50_000_000
    assert "waiting" not in report["events"]["cpu"]


def test_filter_is_told(small):
    """What was chosen, and what that has no say in."""
    report = json.loads(dnprof("report", "--json", "--include", "App.*,*Hot*", "--exclude", "No.*", small).expect(0).stdout)
    assert report["filter"] == {"threads": [], "include": ["App.*", "*Hot*"], "exclude": ["No.*"], "requests": [],
                                "not_filtered": ""}


def test_waits_are_the_whole_process(tmp_path):
    out, told = tmp_path / "out.dnp", "is told of the whole process"
    dnprof("run", "-q", "-e", "lock", "-o", out, "--", *program(NEWEST, "locks", "--work", 1)).expect()
    assert told not in dnprof("report", out).expect().out
    assert told in dnprof("report", "--exclude", "No.Such", out).expect().out
    assert told in json.loads(dnprof("report", "--json", "--exclude", "No.Such", out).expect().stdout)["filter"]["not_filtered"]


def test_state_of_what_has_none(tmp_path):
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "exception", "-o", out, "--", *program(NEWEST, "exceptions", "--work", 1)).expect()
    assert json.loads(dnprof("report", "--json", "--state", "running", out).expect(0).stdout)["types"]
    refused(dnprof("report", "--state", "waiting", out), 1, "cannot show exception for --state waiting", "-e wall")
    dnprof("run", "-q", "-e", "lock", "-o", out, "--", *program(NEWEST, "locks", "--work", 1)).expect()
    refused(dnprof("report", "--state", "running", out), 1, "cannot show lock for --state running", "who ran")


def test_state_of_a_thread_that_never_waited(tmp_path):
    """The others did, so it is known: of that thread there is nothing."""
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "switch", "-o", out, "--", *program(NEWEST, "locks", "--work", 1)).expect()
    threads = json.loads(dnprof("report", "--json", "-e", "wait", out).expect().stdout)["threads"]
    tid = next(thread["tid"] for thread in threads if not thread["samples"])
    shown = json.loads(dnprof("report", "--json", "-e", "wait", "--state", "waiting", "--thread", tid, out).expect().stdout)
    assert shown["events"]["wait"]["samples"] == 0


@pytest.mark.parametrize("state, samples", [("running", 5), ("waiting", 15), ("any", 20)])
def test_states(wall, state, samples):
    report = json.loads(dnprof("report", "--json", "-e", "wall", "--state", state, wall).expect(0).stdout)
    assert report["events"]["wall"]["samples"] == samples == sum(t["samples"] for t in report["threads"])
    assert report["state"] == state


@pytest.mark.parametrize("native, stacks", [
    ("all", ["libc!start;Main();libc!qsort;Compare();libc!memcpy 3", "libc!start;Work();libc!poll 12"]),
    ("leaf", ["Main();Compare();libc!memcpy 3", "libc!start;libc!poll 2"]),
    ("none", ["Main();Compare() 3", "Work() 13", "[native] 2"])])
def test_native(wall, tmp_path, native, stacks):
    out = tmp_path / "x.collapsed"
    dnprof("report", "-e", "wall", "--native", native, wall, "-o", out).expect(0)
    lines = out.read_text().splitlines()
    assert lines[0].startswith("# safepoint-biased") and set(stacks) <= set(lines), lines
    assert sum(int(line.split()[-1]) for line in lines[1:]) == 19, "one has no stack"


def test_page_begins_as_asked(wall, tmp_path):
    """A page holds everything, whatever it shows first."""
    pages = {}
    for options in ([], ["-e", "wall", "--native", "none", "--state", "waiting"]):
        out = tmp_path / "x.html"
        dnprof("report", *options, wall, "-o", out).expect(0)
        text = out.read_text()
        meta = json.loads(re.search(r'id="dnprof-meta"[^>]*>(.*?)</script>', text, re.S)[1])
        pages[len(options)] = (meta["begin"], text[text.index('id="dnprof-data"'):])
    assert pages[0][0] == {"event": "cpu", "native": "all", "state": "any"}
    assert pages[6][0] == {"event": "wall", "native": "none", "state": "waiting"}
    assert pages[0][1] == pages[6][1]


def test_run_writes_as_asked(tmp_path):
    """What `run` writes has the native frames that are wanted; the recording has all."""
    out = tmp_path / "x.collapsed"
    argv = program(NEWEST, "native", "--work", 5)
    dnprof("run", "-q", "--native", "none", "-o", out, "--", *argv).expect(0)
    stacks = [line.rsplit(" ", 1)[0].split(";") for line in out.read_text().splitlines()]
    assert any("Truth.Native.Run(Truth.Options)" in stack for stack in stacks)
    assert not [f for stack in stacks for f in stack if "!" in f or f.startswith("[k]")]
    _, everything = record(tmp_path, argv, options=["--native", "none"])
    assert any("!" in frame for stack, _ in everything.stacks() for frame in stack)
    assert dnprof("run", "--native", "some", "-o", out, "--", *argv).expect(2).out == ""


@pytest.mark.parametrize("name, begins", [
    ("r.txt", "app.dll: "), ("r.collapsed", "App.Program.Main();App.Program.Hot() 3\n"),
    ("r.folded", "App.Program.Main();"), ("r.html", "<!")])
def test_output_files(small, tmp_path, name, begins):
    out = tmp_path / name
    victim = tmp_path / "victim"
    victim.write_text("mine")
    out.symlink_to(victim)
    dnprof("report", small, "-o", out).expect(0)
    assert victim.read_text() == "mine" and not out.is_symlink(), "no link is followed"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert out.read_text().lower().startswith(begins.lower())
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, "victim"]), "nothing is left behind"


def cpu_of(*args):
    child = subprocess.Popen([DNPROF, "report", "--json", *args], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0
    return usage.ru_utime


def test_callers_of_all_methods(tmp_path):
    """Those of five thousand methods are found in one look at the tree, not in one each."""
    many = tmp_path / "many.dnp"
    subprocess.run([MAKE_RECORDING, many, "100000", "10000"], check=True)
    assert cpu_of("-m", "*", many) < 10 * cpu_of(many)


def test_several_files_are_one_report(small, tmp_path):
    other = tmp_path / "other.dnp"
    subprocess.run([MAKE_RECORDING, other, "1000", "10", "2"], check=True)
    report = json.loads(dnprof("report", "--json", small, other).expect(0).stdout)
    # The rates differ: what one sample stands for is not the same.
    assert {name: event["samples"] for name, event in report["events"].items()} == {"cpu": 12, "cpu at 1000 Hz": 1000}
    assert [p["pid"] for p in report["processes"]] == [42, 1]
    for name in ("cpu_ns", "agent_cpu_ns"):
        assert report[name] == sum(p.get(name, 0) for p in report["processes"]) > 0
    out = dnprof("report", small, other).expect(0).out
    assert "generated.dll" in out and "also recorded: cpu at 1000 Hz (1,000 samples)" in out
    assert "cpu at 1000 Hz: 1,000 samples" in dnprof("report", "-e", "cpu at 1000 Hz", small, other).expect(0).out


def test_incomplete_is_status_3(small, tmp_path):
    cut = tmp_path / "cut.dnp"
    cut.write_bytes(small.read_bytes()[:-200])
    result = dnprof("report", cut).expect(3)
    assert len(result.complaints()) == 1 and "incomplete" in result.err
    assert re.search("^! .*(cut off|ends early)", result.out, re.M)


@pytest.mark.parametrize("content, words", [
    (b"", "it is empty"), (b"#!/bin/sh\n", "not a recording"), (b"DNP1" + bytes(10), "cut off or damaged"),
    (struct.pack("<IHHQIIQ", 0x31504E44, 2, 99, 1, 0, 0, 0), "update dnprof")])
def test_refused(tmp_path, content, words):
    path = tmp_path / "x.dnp"
    path.write_bytes(content)
    result = dnprof("report", path).expect(1)
    assert result.out == "" and len(result.complaints()) == 1
    assert words in result.err and str(path) in result.err


@pytest.mark.parametrize("arguments, status", [
    ([], 2), (["--top", "x", "f"], 2), (["--min", "101", "f"], 2), (["--nonsense", "f"], 2),
    (["f", "-o", "x.nonsense"], 2), (["f", "--json", "-o", "x.html"], 2), (["f", "--include", "App.*", "-o", "x.csv"], 2), (["f", "--state", "waiting", "-o", "x.pftrace"], 2), (["--native", "some", "f"], 2), (["--state", "asleep", "f"], 2), (["no-such-file.dnp"], 1), (["/dev/null"], 1), ([ROOT], 1)])
def test_usage(arguments, status):
    result = dnprof("report", *arguments).expect(status)
    assert len(result.complaints()) == 1 and result.out == "", result


def test_unknown_event(small):
    result = dnprof("report", "-e", "alloc", small).expect(1)
    assert "alloc" in result.err and "choose with -e: cpu" in result.err


def test_output_that_cannot_be_written(small, tmp_path):
    for place in ("/nowhere/at/all.txt", "/proc/report.txt", tmp_path / "a" / "b.txt"):
        assert dnprof("report", small, "-o", place).status == 1
    with open("/dev/full", "wb") as full:
        done = subprocess.run([DNPROF, "report", small], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and b"No space left" in done.stderr


def test_terminal_width(small):
    """On a terminal no line is wider than it."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    with subprocess.Popen([DNPROF, "report", small], stdout=side) as process:
        os.close(side)
        text = b""
        try:
            while block := os.read(main, 4096):
                text += block
        except OSError:
            pass  # the other side is closed
        assert process.wait() == 0
    os.close(main)
    lines = text.decode().splitlines()
    assert lines and max(map(len, lines)) <= 70
