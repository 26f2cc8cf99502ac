# SPDX-License-Identifier: MIT
"""What dnprof says when it cannot do what it was asked: one line that says what, why and what to do,
and an exit status of 1 (cannot) or 2 (wrong usage)."""
import os
import re
import shutil
import struct
from pathlib import Path

import pytest

from harness import AGENT, DNPROF, NEWEST, NOBODY, dnprof, program, record, refused, report, run, take_all_names, why_nobody_else


def marked(tmp_path):
    """A .NET program that leaves a trace if it was ever started, and that trace."""
    mark = tmp_path / "started"
    script = tmp_path / "marked"
    script.write_text(f"#!/bin/sh\ntouch {mark}\nexec {program(NEWEST)[0]} \"$@\"\n")
    script.chmod(0o755)
    return script, mark


def run_with(tmp_path, *command, **options):
    return dnprof("run", "-q", "-o", tmp_path / "out.dnp", "--", *command, **options)


def nothing_left(tmp_path):
    assert not (tmp_path / "out.dnp").exists(), "no recording of a program that was not started"


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recording")
    record(folder, program(NEWEST, "cpu", "--seconds", 0.5))
    return (folder / "out.dnp").read_bytes()


def test_recording_without_a_place(tmp_path):
    """What cannot be put where it belongs is not lost."""
    take_all_names(tmp_path / "out.html")
    result = dnprof("run", "-q", "-o", tmp_path / "out.html", "--", *program(NEWEST, "cpu", "--seconds", 0.3)).expect(1)
    folder = Path(re.search(r"what was recorded is kept in (\S+);", result.err).group(1))
    assert report(folder / "recording.dnp").samples > 0
    assert [path.name for path in folder.iterdir()] == ["recording.dnp"] and not (tmp_path / "out.html").exists()


def run_without_a_page(tmp_path):
    """The recording that is kept, since a folder is in the way when the page is to be written."""
    page = tmp_path / "out.html"
    truth = " ".join(map(str, program(NEWEST, "cpu", "--seconds", 0.3)))
    result = dnprof("run", "-q", "--children", "-o", page, "--", "sh", "-c", f"{truth} && mkdir {page}").expect(1)
    page.rmdir()
    return Path(re.search(r"the recording is kept: (\S+)", result.err).group(1))


def test_what_was_kept_is_not_replaced(tmp_path):
    """Neither by a recording of which nothing else is left, nor by one that goes when its page is written."""
    kept = [run_without_a_page(tmp_path) for _ in range(2)]
    assert [path.name for path in kept] == ["out.html.dnp", "out.html.2.dnp"]
    bytes_of = [path.read_bytes() for path in kept]
    dnprof("run", "-q", "-o", tmp_path / "out.html", "--", *program(NEWEST, "cpu", "--seconds", 0.3)).expect()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.html", "out.html.2.dnp", "out.html.dnp"]
    assert [path.read_bytes() for path in kept] == bytes_of
    assert len({report(path).data["pid"] for path in kept}) == 2


# The command

def test_no_such_program(tmp_path):
    refused(run_with(tmp_path, "/no/such/program"), 1, "/no/such/program", "no such file")
    nothing_left(tmp_path)


def test_not_in_path(tmp_path):
    refused(run_with(tmp_path, "no-such-program-anywhere"), 1, "no-such-program-anywhere", "PATH")
    nothing_left(tmp_path)


def test_not_executable(tmp_path):
    text = tmp_path / "text"
    text.write_text("hello\n")
    refused(run_with(tmp_path, text), 1, str(text), "permission|not executable", "chmod|dotnet")
    nothing_left(tmp_path)


def test_dll_without_dotnet(tmp_path):
    dll = program(NEWEST, app="truth.dll")[0]
    refused(run_with(tmp_path, dll), 1, "dotnet")
    nothing_left(tmp_path)


def test_folder(tmp_path):
    refused(run_with(tmp_path, tmp_path), 1, "folder|directory")


@pytest.mark.parametrize("command", [["/bin/true"], ["/bin/sh", "-c", "exit 3"]])
def test_not_dotnet(tmp_path, command):
    refused(run_with(tmp_path, *command), 1, command[0], r"\.NET", "dnprof timeline", "--children")
    nothing_left(tmp_path)


def test_not_dotnet_is_not_started(tmp_path):
    mark = tmp_path / "mark"
    refused(run_with(tmp_path, "/usr/bin/touch", mark), 1)
    assert not mark.exists()


def test_not_dotnet_with_children(tmp_path):
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-F", 997, "--children", "-o", out, "--", "/bin/sh", "-c",
                    f"{program(NEWEST)[0]} cpu --seconds 0.5; exit 3")
    result.expect(3)
    assert report(out).total("Truth.Cpu.Run") > 0


def test_children_that_never_came(tmp_path):
    """Nothing was .NET after all: said, since the recording is empty."""
    result = dnprof("run", "-q", "--children", "-o", tmp_path / "out.dnp", "--", "/bin/true")
    assert result.status in (1, 3)
    assert len(result.complaints()) == 1 and ".NET" in result.err


# The output

def made_folder(path):
    path.mkdir()
    return path


@pytest.mark.parametrize("make,words", [
    (lambda d: d / "no" / "such" / "out.dnp", ["no such file|does not exist"]),
    (lambda d: made_folder(d / "out.dnp"), ["folder|directory"]),
    (lambda d: "/proc/out.dnp", ["/proc", "-o"]),
    (lambda d: d / "out.unknown", [r"out\.unknown", r"\.dnp"]),
])
def test_output_not_writable(tmp_path, make, words):
    script, mark = marked(tmp_path)
    result = dnprof("run", "-q", "--children", "-o", make(tmp_path), "--", script, "exitcode", 0)
    assert result.status in (1, 2)
    refused(result, result.status, *words)
    assert not mark.exists(), "refused before the program starts"


@pytest.mark.skipif(os.geteuid() == 0 and bool(why_nobody_else()), reason=f"root may write anywhere: {why_nobody_else()}")
def test_output_forbidden(tmp_path):
    tmp_path.chmod(0o755)
    result = run([*([] if os.geteuid() else NOBODY), DNPROF, "run", "-q", "-o", "/out.dnp", "--", *program(NEWEST, "exitcode", 0)])
    refused(result, 1, "write to /", "permission denied", "-o")


# The agent, and other profilers

@pytest.fixture
def other_place(tmp_path):
    """A copy of dnprof whose agent a test may spoil."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in os.listdir(DNPROF.parent):
        source = DNPROF.parent / name
        if source.is_file():
            shutil.copy(source, place / name)
    return place


#: Loads, but has no class for the runtime (CLASS_E_CLASSNOTAVAILABLE).
REFUSES = b"""int DllGetClassObject(void *clsid, void *iid, void **object) { return (int)0x80040111; }
int DllCanUnloadNow(void) { return 1; }"""


@pytest.mark.parametrize("spoil", ["missing", "text", "cut", "other", "refuses"])
def test_agent_does_not_load(tmp_path, other_place, spoil):
    agent = other_place / AGENT.name
    if spoil == "missing":
        agent.unlink()
    elif spoil == "text":
        agent.write_text("not a library\n")
    elif spoil == "cut":
        agent.write_bytes(agent.read_bytes()[:5000])
    elif spoil == "other":
        shutil.copy(*program(NEWEST, app="libtruth_fp.so"), agent)
    else:
        run(["gcc", "-shared", "-fPIC", "-x", "c", "-o", agent, "-"], stdin=REFUSES).expect()
    result = run([other_place / DNPROF.name, "run", "-q", "-o", tmp_path / "out.dnp", "--",
                  *program(NEWEST, "exitcode", 5)])
    assert result.status in (1, 3, 5)
    assert len(result.complaints()) == 1, result
    assert "agent" in result.complaints()[0]


@pytest.mark.parametrize("variable", ["CORECLR_ENABLE_PROFILING", "COR_ENABLE_PROFILING"])
def test_another_profiler(tmp_path, variable):
    """What cannot stand beside it is refused; variables of the .NET Framework mean nothing."""
    other = {variable: "1", "CORECLR_PROFILER": "{cf0d821e-299b-5307-a3d8-b283c03916dd}",
             "CORECLR_PROFILER_PATH": "/opt/other/profiler.so"}
    result = dnprof("run", "-q", "-e", "trace", "-o", tmp_path / "out.dnp", "--", *program(NEWEST, "exitcode", 0),
                    env=other)
    if variable.startswith("CORECLR"):
        refused(result, 1, "another profiler", "CORECLR_ENABLE_PROFILING", "unset|env -u")
        nothing_left(tmp_path)
    else:
        result.expect(0)


def test_notification_profiler(tmp_path):
    """Profilers beside the main one are no hindrance; the runtime allows them."""
    run_with(tmp_path, *program(NEWEST, "exitcode", 4), env={"CORECLR_ENABLE_PROFILING": "0"}).expect(4)


# Options

@pytest.mark.parametrize("arguments,word", [
    ([], "command"), (["--"], "command"), (["-F", "0", "--", "x"], "0"), (["-F", "abc", "--", "x"], "abc"),
    (["-F", "-5", "--", "x"], "-5"), (["-F", "1000000000", "--", "x"], "1000000000"),
    (["-e", "nonsense", "--", "x"], "nonsense"), (["--nonsense", "--", "x"], "nonsense"),
    (["-i", "10parsecs", "--", "x"], "parsecs"),
])
def test_wrong_usage(arguments, word):
    refused(dnprof("run", *arguments), 2, re.escape(word))


def test_unknown_command():
    refused(dnprof("frobnicate"), 2, "frobnicate", "--help")


def test_help_is_whole():
    text = " ".join(dnprof("run", "--help").expect().out.split())
    assert "of shorter ones some by lot), or several, as cpu,switch (default: cpu) -F" in text
    assert "which stand for more) (default: 199) -i" in text


# Recordings

def reported(tmp_path, data, name="bad.dnp"):
    path = tmp_path / name
    path.write_bytes(data)
    return dnprof("report", path)


def test_no_recording(tmp_path):
    refused(dnprof("report", tmp_path / "none.dnp"), 1, "none.dnp", "no such file")


def test_report_of_nothing():
    refused(dnprof("report"), 2)


def test_empty(tmp_path):
    refused(reported(tmp_path, b""), 1, "bad.dnp", "empty")


@pytest.mark.parametrize("data", [b"hello world\n" * 100, bytes(10_000), b"\x7fELF" + bytes(100), b"PK\3\4", b"D"])
def test_not_a_recording(tmp_path, data):
    refused(reported(tmp_path, data), 1, "bad.dnp", "not a (dnprof )?recording")


def test_folder_as_recording(tmp_path):
    refused(dnprof("report", tmp_path), 1, "folder|directory")


def test_newer_version(tmp_path, recording):
    """The version is what is read first of a chunk; the words tell which dnprof to take."""
    newer = bytearray(recording)
    offset = 0
    while offset < len(newer):
        struct.pack_into("<H", newer, offset + 6, 99)
        offset += 32 + struct.unpack_from("<I", newer, offset + 20)[0]
    refused(reported(tmp_path, newer), 1, "newer", "version|update")


@pytest.mark.parametrize("part", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_cut(tmp_path, recording, part):
    """Whole chunks are shown; what is missing is said."""
    result = reported(tmp_path, recording[:int(len(recording) * part)])
    assert result.status in (1, 3), result
    assert len(result.complaints()) == 1, result
    if result.status == 3:
        assert re.search(r"cut|missing|incomplete", result.err)
