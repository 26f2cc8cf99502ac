# SPDX-License-Identifier: MIT
"""Input that is none, on Windows: dnprof.exe says in one line what, why and what to do. What is the same on Linux has its test
in test_windows_first.py."""
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import refused, run, take_all_names, told
from test_windows import ENVIRONMENT, WINDOWS, on_windows, pytestmark, report, seen, truth, windows_path, wine  # noqa: F401


def run_with(tmp_path, *command, **options):
    return on_windows("run", "-q", "-o", tmp_path / "out.dnp", *options.pop("options", ()), "--", *command, **options)


def batch(tmp_path, truth):  # noqa: F811
    """A batch file that starts a .NET program and leaves a mark if it was ever started; and that mark."""
    mark, path = tmp_path / "started", tmp_path / "batch.cmd"
    path.write_text(f"@echo x>{windows_path(mark)}\r\n@{windows_path(truth)} exitcode 5\r\n")
    return path, mark


def nothing_left(tmp_path):
    assert not (tmp_path / "out.dnp").exists(), "no recording of a program that was not started"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".dnprof")]


# The command

@pytest.mark.parametrize("content, what", [("hello\n", "no program"), ("", "an empty file"), ("MZ", "no program"),
                                           ("MZ" + 100 * "\0", "no program")])
@pytest.mark.parametrize("name", ["text", "text.exe"])
def test_not_executable(tmp_path, name, content, what):
    (tmp_path / name).write_text(content)
    refused(run_with(tmp_path, tmp_path / name), 1, f"{tmp_path}/{name}: it is {what}", "name a program")
    nothing_left(tmp_path)


def test_library(tmp_path):
    refused(run_with(tmp_path, WINDOWS.parent / "dnprof.dll"), 1, "it is a library", "name a program")
    nothing_left(tmp_path)


@pytest.mark.parametrize("command", [["cmd"], ["cmd.exe", "/c", "exit 3"], [r"C:\windows\system32\cmd.exe"]])
def test_not_dotnet(tmp_path, command):
    refused(run_with(tmp_path, *command), 1, r"cmd\.exe: it is a native program, not .NET", "dnprof timeline", "--children")
    nothing_left(tmp_path)


def test_not_dotnet_is_not_started(tmp_path, truth):  # noqa: F811
    path, mark = batch(tmp_path, truth)
    refused(run_with(tmp_path, path), 1, "it is a batch file, not .NET", "--children")
    nothing_left(tmp_path)
    assert not mark.exists()
    run_with(tmp_path, path, options=("--children",)).expect(5)
    assert mark.exists() and report(tmp_path / "out.dnp")["command"][1:] == ["exitcode", "5"]


def test_host_that_starts_no_runtime(tmp_path, truth):  # noqa: F811
    """Its assembly is not there."""
    shutil.copy(truth, tmp_path / "alone.exe")
    ended = run_with(tmp_path, tmp_path / "alone.exe")
    assert ended.status and "truth.dll" in ended.err, ended
    told(ended, ended.status, "nothing was recorded: no .NET runtime was seen in",
         r"alone\.exe, which ended with status 0x8000\w{4};", "look at what it printed")
    nothing_left(tmp_path)


def test_name_from_path(tmp_path, truth):  # noqa: F811
    """A command without a slash is looked up in PATH, and need not end in .exe."""
    ended = run_with(tmp_path, "truth", "exitcode", 5, env={"WINEPATH": windows_path(truth.parent)})
    assert ended.status == 5 and not ended.err, ended
    assert report(tmp_path / "out.dnp")["complete"]


def test_name_of_a_file_that_is_here(tmp_path, truth):  # noqa: F811
    """One beside a folder of its name."""
    (tmp_path / "truth").mkdir()
    ended = on_windows("run", "-q", "-o", "out.dnp", "--", "truth", "exitcode", 5, cwd=tmp_path,
                       env={"WINEPATH": windows_path(truth.parent)})
    assert ended.status == 5 and not ended.err, ended
    refused(on_windows("run", "-o", "x.dnp", "--", ".\\truth", cwd=tmp_path), 1, "it is a folder")


# The output

def made_folder(path):
    path.mkdir()
    return path


@pytest.mark.parametrize("make,words", [
    (lambda d: d / "no" / "such" / "out.dnp", ["no such file|does not exist"]),
    (lambda d: made_folder(d / "out.dnp"), ["folder|directory"]),
    (lambda d: "/proc/out.dnp", ["/proc", "-o"]),
    (lambda d: "Q:\\out.dnp", ["Q:", "-o"]),
    (lambda d: d / "out.unknown", [r"out\.unknown", r"\.dnp"]),
])
def test_output_not_writable(tmp_path, truth, make, words):  # noqa: F811
    """Refused before the program starts."""
    path, mark = batch(tmp_path, truth)
    result = on_windows("run", "-q", "--children", "-o", make(tmp_path), "--", path)
    assert result.status in (1, 2)
    refused(result, result.status, *words)
    assert not mark.exists()


@pytest.mark.parametrize("children", [(), pytest.param(("--children",), marks=pytest.mark.slow)])
def test_recording_without_a_place(tmp_path, truth, children):  # noqa: F811
    """What cannot be put where it belongs is not lost."""
    take_all_names(tmp_path / "out.html")
    result = on_windows("run", "-q", *children, "-F", 997, "-o", tmp_path / "out.html", "--", truth, "cpu", "--work", 200).expect(1)
    shown = re.search(r"what was recorded is kept in (\S+);", result.err).group(1)
    folder = Path(shown.removeprefix("Z:").replace("\\", "/"))
    assert seen(report(folder / "recording.dnp"), "Truth.Cpu.Run") > 0
    assert not (tmp_path / "out.html").exists()
    if not children:
        assert [path.name for path in folder.iterdir()] == ["recording.dnp"]


# The agent

@pytest.fixture
def other_place(tmp_path):
    """A copy of dnprof.exe whose agent a test may spoil."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in ("dnprof.exe", "dnprof.dll"):
        shutil.copy(WINDOWS.parent / name, place / name)
    return place


#: Has no class for the runtime (CLASS_E_CLASSNOTAVAILABLE).
REFUSES = b"""#define OUT __declspec(dllexport)
OUT int DllGetClassObject(void *clsid, void *iid, void **object) { return (int)0x80040111; }
OUT int DllCanUnloadNow(void) { return 1; }"""


def made_library(path, source):
    run(["x86_64-w64-mingw32-gcc", "-shared", "-x", "c", "-o", path, "-"], stdin=source).expect()


@pytest.mark.parametrize("spoil, words", [
    ("missing", "no dnprof.dll"), ("text", "is no library"), ("empty", "is an empty file"), ("cut", "is cut short"),
    ("half", "is cut short"), ("program", "is a program, no library"), ("other", "is no profiler"),
    ("machine", "is a library for another processor"), ("32", "is a 32-bit library")])
def test_agent_does_not_load(tmp_path, truth, other_place, spoil, words):  # noqa: F811
    """Said before the program starts: a recording that does not come about is told afterwards, else, and not why."""
    agent = other_place / "dnprof.dll"
    data = bytearray(agent.read_bytes())
    machine = int.from_bytes(data[0x3c:0x40], "little") + 4
    if spoil == "missing":
        agent.unlink()
    elif spoil == "other":
        made_library(agent, b"int x;")
    elif spoil == "program":
        shutil.copy(WINDOWS, agent)
    else:
        if spoil in ("machine", "32"):
            data[machine:machine + 2] = {"machine": b"\x64\xaa", "32": b"\x4c\x01"}[spoil]
        agent.write_bytes({"text": b"not a library\n", "empty": b"", "cut": data[:5000],
                           "half": data[:len(data) // 4]}.get(spoil, data))
    result = run(["wine", other_place / "dnprof.exe", "run", "-q", "-o", tmp_path / "out.dnp", "--", truth, "exitcode", 5],
                 env=ENVIRONMENT)
    refused(result, 1, "agent", words, "build or install dnprof again")
    nothing_left(tmp_path)


def test_agent_that_the_runtime_does_not_take(tmp_path, truth, other_place):  # noqa: F811
    made_library(other_place / "dnprof.dll", REFUSES)
    result = run(["wine", other_place / "dnprof.exe", "run", "-q", "-o", tmp_path / "out.dnp", "--", truth, "cpu", "--seconds", 2],
                 env=ENVIRONMENT)
    assert result.truth["program"] == "cpu"
    told(result, 1, "nothing was recorded: the runtime did not load the agent", "EnableDiagnostics")
    nothing_left(tmp_path)
