# SPDX-License-Identifier: MIT
"""
dnprof.exe, under Wine. Against dnprof: what both say of the same recordings is the same, byte for byte. And what it
records: programs whose truth is known.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
from pathlib import Path

import pytest

import harness
from harness import (DNPROF, LOOSE, NEWEST, PATIENCE_S, ROOT, chance, check_whole, dnprof, made_once, program, refused, run,
                     undisturbed)

WINDOWS = Path(os.environ.get("DNPROF_WINDOWS", ROOT / "build-windows/bin/dnprof.exe")).resolve()
MAKE_RECORDING = DNPROF.parent.parent / "tests/tools/make-recording"
#: Wine's own folders. Zones have names here and none there, but for this one. Its debugger, which it starts for a program that
#: crashes, brings a desktop, which lives on and holds the test's pipes.
ENVIRONMENT = {"WINEPREFIX": os.environ.get("WINEPREFIX", str(ROOT / "build-windows/wine")), "WINEDEBUG": "-all", "TZ": "UTC",
               "WINEDLLOVERRIDES": "winedbg.exe=d"}

pytestmark = [
    pytest.mark.skipif(not shutil.which("wine"), reason="wine is not installed; script/bootstrap --windows does that"),
    pytest.mark.skipif(not WINDOWS.exists(), reason=f"{WINDOWS} is missing; script/build --windows makes it"),
]

FORMATS = ("text", "json", "collapsed", "html", "perfetto", "chrome", "csv", "none")

#: How they are recorded; the last are made up, and small (tests/unit/recording.h).
RECORDED = {
    "cpu": ("run", "-F", 997, "--", *program(NEWEST, "cpu", "--seconds", 0.5)),
    "events": ("run", "-e", "cpu,wall,switch,alloc,exception,gc,jit,load,lock,mark,transition", "--",
               *program(NEWEST, "mix", "--seconds", 0.5)),
    "trace": ("run", "-e", "trace", "--", *program(NEWEST, "async", "--work", 1)),
    "log": ("run", "-e", "trace", "--depth", "events", "--", *program(NEWEST, "exceptions", "--work", 1)),
    "timeline": ("timeline", "--", *program(NEWEST, "threads8", "--seconds", 0.5)),
}
MADE = ("wall", "calls", "log", "switches")


@contextlib.contextmanager
def wine_runs():
    """Wine's own processes come with the first program and go with the last: they must not hold a test's pipes."""
    with subprocess.Popen(["wine", "cmd"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env={**os.environ, **ENVIRONMENT}) as p:
        p.stdin.write(b"echo there it is\r\n")
        p.stdin.flush()
        while b"there it is" not in p.stdout.readline():
            assert p.poll() is None, "Wine does not start"
        yield
        p.stdin.close()
        p.wait()


@pytest.fixture(scope="session", autouse=True)
def wine():
    with wine_runs():
        yield


def make_recordings(place):
    for name, (command, *arguments) in RECORDED.items():
        result = dnprof(command, "-q", "-o", place / f"{name}.dnp", *arguments)
        assert result.status in (0, 3), result
    for name in MADE:
        subprocess.run([MAKE_RECORDING, place / f"made-{name}.dnp", name], check=True)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Recordings, which tests name as a user would who is in their folder."""
    return made_once(tmp_path_factory, "windows", make_recordings)


#: Their status is the program's, which may say nothing.
PASSING_ON = ("run", "timeline")


def on_windows(*arguments, env=None, **options):
    ended = run(["wine", WINDOWS, *arguments], env={**ENVIRONMENT, **(env or {})}, **options)
    # All programs of Wine end so when its server does ('wineserver -k').
    assert not ended.status or ended.stderr or arguments[0] in PASSING_ON, f"{ended}: no word; has Wine's server ended?"
    return ended


def compare(folder, *arguments, status=None):
    """What both print, and how they end."""
    here = run([DNPROF, *arguments], cwd=folder, env=ENVIRONMENT)
    there = on_windows(*arguments, cwd=folder)
    assert there.err == here.err, there
    assert there.stdout == here.stdout, f"other output of {' '.join(map(str, arguments))}"
    assert there.status == here.status, there
    assert status is None or there.status == status, there
    return there


def compare_files(folder, *arguments, name):
    """The file that both write."""
    written = []
    for command in ([DNPROF], ["wine", WINDOWS]):
        (folder / name).unlink(missing_ok=True)
        run([*command, *arguments, "-o", name], cwd=folder, env=ENVIRONMENT).expect()
        # Wine grants the user's group what a list of access grants the user.
        assert not stat.S_IMODE((folder / name).stat().st_mode) & 0o007
        written.append((folder / name).read_bytes())
    assert written[0] == written[1], f"another {name}"
    return written[0]


@pytest.mark.parametrize("name", [*RECORDED, *(pytest.param(f"made-{name}", marks=pytest.mark.slow) for name in MADE)])
def test_same_reports_and_exports(folder, name):
    recording = f"{name}.dnp"
    assert compare(folder, "report", recording).stdout
    assert compare(folder, "report", "--json", recording).stdout
    statuses = {form: compare(folder, "export", "-f", form, recording).status for form in FORMATS}
    assert 0 in statuses.values()
    assert statuses["none"] == 2, "there is no such format"


@pytest.mark.parametrize("name", ["trace", "log", "made-calls", "made-log"])
def test_same_logs(folder, name):
    assert compare(folder, "log", f"{name}.dnp").stdout
    compare(folder, "log", "--times", "--by-time", f"{name}.dnp")
    compare(folder, "log", "--summary", f"{name}.dnp")


def test_same_parts_of_reports(folder):
    compare(folder, "report", "--tree", "--min", 2, "--native", "none", "cpu.dnp", status=0)
    compare(folder, "report", "--method", "Truth.Cpu*", "cpu.dnp", status=0)
    compare(folder, "report", "--threads", "--state", "waiting", "-e", "wall", "events.dnp", status=0)
    compare(folder, "report", "cpu.dnp", "events.dnp", status=0)


@pytest.mark.parametrize("name", ["page.html", "out.txt", "out.csv", "日本 é.html"])
def test_same_files(folder, name):
    """Whole, under the name that was given, and for their user alone."""
    assert compare_files(folder, "report", "events.dnp", name=name)
    assert not [path for path in folder.iterdir() if path.name.startswith(name + ".")], "a temporary file stays"


def test_same_log_file(folder):
    assert b"\r" not in compare_files(folder, "log", "log.dnp", name="calls.log")


def test_recording_with_a_name_beyond_old_code_pages(folder):
    (folder / "Größe 日本.dnp").write_bytes((folder / "cpu.dnp").read_bytes())
    compare(folder, "report", "Größe 日本.dnp", status=0)


def test_output_that_exists_is_replaced(folder):
    (folder / "old.html").write_text("old")
    on_windows("report", "-o", "old.html", "cpu.dnp", cwd=folder).expect()
    assert (folder / "old.html").read_text() != "old"


def test_reader_that_has_seen_enough(folder):
    with subprocess.Popen(["wine", WINDOWS, "report", "--json", "trace.dnp"], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, **ENVIRONMENT}) as p:
        assert p.stdout.read(10)
        p.stdout.close()
        assert p.stderr.read() == b""
        assert p.wait() == 0


# What cannot be read, or is asked for wrongly

def newer(data):
    data = bytearray(data)
    offset = 0
    while offset < len(data):
        struct.pack_into("<H", data, offset + 6, 99)
        offset += 32 + struct.unpack_from("<I", data, offset + 20)[0]
    return bytes(data)


@pytest.mark.parametrize("make", [
    lambda data: None, lambda data: b"", lambda data: b"hello world\n" * 100, lambda data: b"PK\3\4", lambda data: b"D",
    newer, lambda data: data[:100], lambda data: data[:len(data) // 2], lambda data: data[:-1],
    lambda data: data[:2000] + bytes(500) + data[2500:],
], ids=["missing", "empty", "text", "zip", "letter", "newer", "cut-first", "cut-half", "cut-last", "damaged"])
def test_same_words_of_bad_recordings(folder, tmp_path, make):
    """Of a made one: names that a cut takes away would be looked up on this machine, and not on Windows."""
    data = make((folder / "made-wall.dnp").read_bytes())
    if data is not None:
        (tmp_path / "bad.dnp").write_bytes(data)
    for command in (["report"], ["report", "--json"], ["export", "-f", "collapsed"], ["log"]):
        result = compare(tmp_path, *command, "bad.dnp")
        assert result.status in (1, 3), result


def test_folder_is_no_recording(folder):
    (folder / "place").mkdir()
    refused(compare(folder, "report", "place"), 1, "folder|directory")


@pytest.mark.parametrize("arguments", [
    ("report", "-o", "no/such/place.html", "cpu.dnp"), ("report", "-o", "x.unknown", "cpu.dnp"),
    ("report", "-o", "folder.html", "cpu.dnp"), ("report",), ("report", "--json=x", "cpu.dnp"), ("report", "--min"),
    ("report", "cpu.dnp", "-e"), ("report", "--nonsense", "cpu.dnp"), ("report", "-zj", "cpu.dnp"), ("report", "--t", "cpu.dnp"),
    ("report", "--state", "asleep", "cpu.dnp"), ("report", "-e", "nothing", "cpu.dnp"), ("export", "cpu.dnp"),
    ("log", "--calls", "--summary", "log.dnp"), ("log", "cpu.dnp"), ("frobnicate",), ("reprot",), (),
])
def test_same_refusals(folder, arguments):
    (folder / "folder.html").mkdir(exist_ok=True)
    assert compare(folder, *arguments).status


@pytest.mark.parametrize("arguments", [
    ("--version",), ("--help",), ("help", "report"), ("export", "--help"), ("report", "cpu.dnp", "--json"),
    ("report", "--", "cpu.dnp"), ("report", "-jethread", "--jso", "cpu.dnp"),
])
def test_same_words(folder, arguments):
    compare(folder, *arguments)


# What is recorded there

#: Where tests/apps/build --windows puts the programs, with a runtime of their own.
APPS = Path(os.environ.get("DNPROF_WINDOWS_APPS", ROOT / "build-windows/apps")).resolve()
#: Those that need nothing of Linux's, and how much of each.
WALKED = (("mix", "--seconds", 1), ("threads8", "--seconds", 1), ("async", "--seconds", 1), ("osr", "--seconds", 1),
          ("locks", "--seconds", 1), ("shortthreads", "--seconds", 1))
#: Our walker, with the runtime where it comes to an end; the runtime, with ours between its frames.
SNAPSHOT = ("--engine", "snapshot")
ENGINES = [(), pytest.param(SNAPSHOT, marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def truth():
    subprocess.run([ROOT / "tests/apps/build", "--windows"], check=True, stdout=subprocess.DEVNULL)
    return APPS / "truth.exe"


def record(truth, output, *arguments, options=(), **more):
    """A program under dnprof.exe; its own line of truth, and what Linux's dnprof reads of the recording."""
    ended = on_windows("run", "-q", *options, "-o", output, "--", truth, *arguments, **more)
    assert ended.status == 0 and not ended.err, ended
    return json.loads(ended.out), report(output)


def report(recording):
    return json.loads(dnprof("report", "--json", recording).expect().out)


def seen(read, name):
    """What was seen in a method of that name, with all that it called."""
    return sum(m["total"] for m in read["methods"] if m["name"].split("(")[0].split("<")[0] == name)


def check_shares(told, read, event):
    """
    Within two points of what the program measured, or as close as so many looks can be: for `wall` of time that passed, else of time
    in which it did not wait, since what passed is no CPU time where it has no processor for itself.
    """
    spent, seen_ = told["passed" if event == "wall" else "methods"], read["events"][event]
    found, looks = {name: seen(read, name) for name in spent}, seen_.get("equal_looks", seen_["samples"])
    assert sum(found.values()) > 2000 // LOOSE
    for name, ns in spent.items():
        share, expected = found[name] / sum(found.values()), ns / sum(spent.values())
        assert abs(share - expected) <= max(LOOSE * 0.02, chance(expected, looks)), \
            f"{name}: {share:.1%} and not {expected:.1%} of {looks} looks; {found}, {told}"


@pytest.mark.measured
@pytest.mark.parametrize("engine", [(), pytest.param(SNAPSHOT, marks=pytest.mark.soak)], ids=["own", "runtime"])
@undisturbed
def test_shares_of_known_methods(truth, tmp_path, engine):
    """By work and not by time: programs and Wine's timers wait for the same server, in step."""
    told, read = record(truth, tmp_path / "cpu.dnp", "cpu", "--work", 1400, options=("-F", 997, *engine))
    check_shares(told, read, "cpu")


@pytest.mark.slow
@pytest.mark.measured
@pytest.mark.parametrize("engine", ENGINES, ids=["own", "runtime"])
def test_walks_give_a_stack(truth, tmp_path, engine):
    """At least 95 of 100, over all programs; what is missing has its reason."""
    samples = failed = 0
    for program, *arguments in WALKED:
        _, read = record(truth, tmp_path / f"{program}.dnp", program, *arguments, options=("-F", 499, *engine))
        cpu = read["events"]["cpu"]
        assert cpu["samples"] > 20 // LOOSE, program
        assert sum(cpu["failures"].values()) == cpu["failed"], cpu
        check_whole(cpu)
        assert read["complete"], program
        samples, failed = samples + cpu["samples"], failed + cpu["failed"]
    assert failed <= LOOSE * 0.05 * samples, f"{failed} of {samples}"


@pytest.mark.slow
def test_nothing_is_lost_while_threads_come_and_go(truth, tmp_path):
    """However many: what the system is asked of each takes its time, and rings are emptied meanwhile. More than one of a hundred
    lost would be said by the command."""
    _, read = record(truth, tmp_path / "t.dnp", "shortthreads", "--seconds", 10, options=("-e", "cpu,wall", "-F", 1999))
    assert read["complete"]
    for name in ("cpu", "wall"):
        event = read["events"][name]
        assert event["samples"] and event["lost"] <= event["samples"] // 100, read["events"]


def test_mixed_stacks(truth, tmp_path):
    """Managed frames between native ones of the runtime, from the thread's start on."""
    record(truth, tmp_path / "t.dnp", "cpu", "--work", 100)
    stacks = dnprof("export", "-f", "collapsed", tmp_path / "t.dnp").expect().out.splitlines()
    mains = [stack for stack in stacks if "Truth.Cpu.Run" in stack]
    assert mains
    for stack in mains:
        frames = stack.rsplit(" ", 1)[0].split(";")
        at = [i for i, frame in enumerate(frames) if frame.startswith("Truth.Program.Main")]
        assert len(at) == 1 and any(frame.startswith("coreclr.dll!") for frame in frames[:at[0]]), stack


@pytest.mark.measured
def test_wall_shows_waiting_threads(truth, tmp_path):
    told, read = record(truth, tmp_path / "t.dnp", "locks", "--seconds", 1, options=("-e", "wall"))
    assert told and read["events"]["wall"]["samples"] > 100 // LOOSE
    assert any("Monitor" in method["name"] for method in read["methods"])


def test_same_report_of_what_was_recorded_there(truth, tmp_path):
    record(truth, tmp_path / "t.dnp", "mix", "--seconds", 1)
    compare(tmp_path, "report", "t.dnp", status=0)
    assert compare_files(tmp_path, "report", "t.dnp", name="t.html")


def test_page_at_once(truth, tmp_path):
    ended = on_windows("run", "-q", "-o", tmp_path / "a page.html", "--", truth, "cpu", "--work", 50)
    assert ended.status == 0 and not ended.err, ended
    assert (tmp_path / "a page.html").stat().st_size > 100000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a page.html"]


def test_words_of_the_command(truth, tmp_path):
    words = ["a b", 'c"d', "e\\", "", "é 日本"]
    _, read = record(truth, tmp_path / "t.dnp", "cpu", "--work", 20, *words)
    assert read["command"][-len(words):] == words


def test_by_a_link(truth, tmp_path):
    """As tools for packages leave commands: the agent lies beside the file itself."""
    link = tmp_path / "profile.exe"
    link.symlink_to(WINDOWS)
    ended = run(["wine", link, "run", "-q", "-o", tmp_path / "t.dnp", "--", truth, "exitcode", 5], env=ENVIRONMENT)
    assert ended.status == 5 and not ended.err, ended
    assert (tmp_path / "t.dnp").exists()


def test_environment_is_the_programs_own(truth, tmp_path):
    ended = on_windows("run", "-q", "-o", tmp_path / "t.dnp", "--", truth, "env")
    assert ended.status == 0 and not ended.out.strip(), ended


@pytest.mark.measured
@pytest.mark.slow
def test_duration(truth, tmp_path):
    """The recording is whole long before the program ends."""
    told, read = record(truth, tmp_path / "t.dnp", "cpu", "--seconds", 3, options=("-d", 1))
    assert told["process_cpu_ns"] > 2.5e9
    assert read["complete"] and read["duration_ns"] < 1e9 + LOOSE * 0.5e9


@pytest.mark.parametrize("status", [0, 5])
def test_exit_status_is_the_programs(truth, tmp_path, status):
    ended = on_windows("run", "-q", "-o", tmp_path / "t.dnp", "--", truth, "exitcode", status)
    assert ended.status == status and ended.out.strip() == f"leaving with {status}", ended


def test_program_that_crashes(truth, tmp_path):
    """What was written until then is there, and the end of it is told."""
    ended = on_windows("run", "-q", "-o", tmp_path / "t.dnp", "--", truth, "crash", "--seconds", 1)
    assert ended.status == 0xe0434352 & 0xff and "crash on purpose" in ended.err, ended
    assert "the recording is incomplete" in ended.err
    read = dnprof("report", "--json", tmp_path / "t.dnp")
    assert read.status == 3 and json.loads(read.out)["events"]["cpu"]["samples"] > 50 // LOOSE


def by_shell(truth, *commands):
    """Windows' shell, which starts programs of that line, one after the other."""
    return ["cmd.exe", "/c", " & ".join(f"{windows_path(truth)} {command}" for command in commands)]


def windows_path(path):
    return "Z:" + str(path).replace("/", "\\")


def of_group(group):
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getpgid(int(entry.name)) == group:
                yield int(entry.name)


def test_children(truth, tmp_path):
    """Each has a recording of its own; what they print and how the last one ends is as it would be."""
    ended = on_windows("run", "-q", "--children", "-F", 997, "-o", tmp_path / "t.dnp", "--",
                       *by_shell(truth, "cpu --work 300", "mix --work 20", "exitcode 5"))
    assert ended.status == 5 and not ended.err, ended
    assert [json.loads(line)["program"] for line in ended.out.splitlines()[:2]] == ["cpu", "mix"]
    read = report(tmp_path / "t.dnp")
    assert [process["command"][1] for process in read["processes"]] == ["cpu", "mix", "exitcode"]
    assert read["complete"] and seen(read, "Truth.Cpu.Run") and seen(read, "Truth.Mix.Run")
    assert [path.name for path in tmp_path.iterdir()] == ["t.dnp"]


#: Starts what its arguments name. It is taken for a host of .NET's, since it names hostfxr, so that it is started at all.
STARTER = b"""#include <process.h>
#include <stdio.h>
int main(int argc, char **argv) { if (argc < 2) puts("hostfxr"); return _spawnv(_P_WAIT, argv[1], (const char *const *)argv + 1); }
"""


def test_without_children_none_is_touched(truth, tmp_path):
    starter = tmp_path / "starter.exe"
    run(["x86_64-w64-mingw32-gcc", "-x", "c", "-o", starter, "-"], stdin=STARTER).expect()
    ended = on_windows("run", "-o", tmp_path / "t.dnp", "--", starter, truth, "env")
    assert ended.status == 1 and not ended.out.strip(), ended
    assert "nothing was recorded: no .NET runtime was seen in" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == [starter.name]


@pytest.mark.slow
def test_child_that_outlives_the_program(truth, tmp_path):
    """Its recording ends with the program; it goes on."""
    script = tmp_path / "start.cmd"
    script.write_text(f"start /b {windows_path(truth)} cpu --seconds 600\r\n{windows_path(truth)} cpu --work 300\r\n")
    with subprocess.Popen(["wine", WINDOWS, "run", "-q", "--children", "-F", "997", "-o", tmp_path / "t.dnp", "--", "cmd.exe", "/c",
                           windows_path(script)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
                          env={**os.environ, **ENVIRONMENT}) as p:
        try:
            assert p.wait(PATIENCE_S) == 0
            read = report(tmp_path / "t.dnp")
            assert len(read["processes"]) == 2 and read["complete"]
            assert any("600" in harness.command_line(pid) for pid in of_group(p.pid)), "it goes on"
        finally:
            os.killpg(p.pid, signal.SIGKILL)


@pytest.mark.parametrize("command, status", [(("exit", 0), 1), (("exit", 7), 7)])
def test_no_child_of_net(tmp_path, command, status):
    ended = on_windows("run", "--children", "-o", tmp_path / "t.dnp", "--", "cmd.exe", "/c", *command)
    assert ended.status == status and "cmd.exe started no .NET program that loads profilers" in ended.err, ended
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments, status, words", [
    (("--children", "-o", "no/such/t.dnp", "--", "cmd"), 1, ("no/such", "another place")),
    (("-o", ".", "--", "truth"), 2, ("folder",)),
    (("--children", "-o", "a?.html", "--", "cmd", "/c", "echo it has run"), 1, ("a\\?.html", "Invalid argument", "another place")),
    (("--children", "-o", "./a:b.html", "--", "cmd", "/c", "echo it has run"), 1, ("a:b.html", "no plain file", "another name")),
    (("--", "no-such-program"), 1, ("cannot start no-such-program",)),
    (("-e", "switch", "--wait", "5ms", "--", "truth"), 2, ("--wait", "Windows")),
    (("--engine", "signal", "--", "truth"), 2, ("--engine signal",)),
    ((), 2, ("command",)),
], ids=str)
def test_refusals(tmp_path, arguments, status, words):
    refused(on_windows("run", *arguments, cwd=tmp_path), status, *words)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["dnprof.exe", "dnprof.dll", "dnprof-timeline.dll"])
def test_needs_no_library_of_others(name):
    """Those that it names are Windows' own."""
    listed = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", WINDOWS.parent / name], capture_output=True, text=True, check=True).stdout
    names = {line.split(": ")[1].lower() for line in listed.splitlines() if "DLL Name: " in line}
    assert names <= {"kernel32.dll", "msvcrt.dll", "advapi32.dll", "shell32.dll", "ntdll.dll", "api-ms-win-core-synch-l1-2-0.dll"}, names


#: What programs that run on Windows call of the library that they bring, and what is not to be in any.
CALLING, MISSING = ("Astray.cs", "Marks.cs", "Transitions.cs"), {"truth_missing"}
IMPORT = re.compile(r'\[(?:Dll|Library)Import\(Library\b(?:[^)]*?EntryPoint = "(\w+)")?[^)]*\).*?\]\s*[^;(]*?(\w+)\(')


def test_programs_have_the_entry_points_that_they_call(truth):
    """One that is not there ends a program where it calls it, or makes it go another way: that looks like a profiler's fault."""
    listed = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", truth.parent / "libtruth_nofp.so"], capture_output=True, text=True,
                            check=True).stdout
    exported = set(re.findall(r"^\s*\[\s*\d+\] (?:\+base\[\s*\d+\] +[0-9a-f]+ )?(\w+)$", listed, re.M))
    for name in CALLING:
        wanted = {entry or method for entry, method in IMPORT.findall((ROOT / "tests/apps/truth" / name).read_text())}
        assert wanted, f"{name} calls nothing"
        assert wanted - MISSING <= exported, f"{name}: {sorted(wanted - MISSING - exported)} are not exported"
    assert not MISSING & exported


def test_wine_has_its_page(truth):
    """See tests/wine/wine. Where nobody may ask for that it may be found taken, if seldom."""
    if subprocess.run(["setarch", "-R", "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("addresses cannot be had unchanged here (setarch -R)")
    with subprocess.Popen(["wine", truth, "deadlock", "--seconds", "3600", "--rests"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env={**os.environ, **ENVIRONMENT}) as p:
        def begun():
            maps = Path(f"/proc/{p.pid}/maps").read_text()
            return "coreclr.dll" in maps and maps
        maps = harness.wait_for(begun, "the program")
        p.kill()
    assert int(re.search(r"^\w+-(\w+) .*\[heap\]$", maps, re.M)[1], 16) < 0x7E000000, maps
