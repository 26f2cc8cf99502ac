# SPDX-License-Identifier: MIT
"""`dnprof log` as a command: output, pipes that close, disks that are full, exit statuses."""
import collections
import os
import re
import stat
import subprocess

import pytest

from harness import DNPROF, NEWEST, dnprof, dnprof_again, program

MAKE_RECORDING = DNPROF.parent.parent / "tests/tools/make-recording"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """As --depth events, and as --depth time, record calls."""
    folder = tmp_path_factory.mktemp("log")
    for kind in ("log", "calls", "wall"):
        subprocess.run([MAKE_RECORDING, folder / kind, kind], check=True)
    return folder


def test_two_parts(recordings):
    result = dnprof("log", recordings / "log").expect(3)
    calls, functions = result.out.split("\n\n")
    assert "    App.Calls.Fib, id=0x7f000e, call count = 1" in calls.splitlines()
    assert functions.splitlines()[0] == "App.Calls.Fib : call count = 4"
    assert functions.splitlines().count("App.Calls.Work : call count = 1") == 1, "overloads are apart"
    assert "the log is incomplete: 5 events of calls were lost" in result.err


def test_tree(recordings):
    lines = dnprof("log", "--calls", recordings / "calls").expect(3).out.splitlines()
    assert lines[2] == "    App.Calls.Fib, id=0x7f000e, call count = 3" and len(lines) == 7


def test_options(recordings):
    log = recordings / "log"
    lines = dnprof("log", "--by-time", "--times", "--calls", log).expect(3).out.splitlines()
    assert [line.split()[0] for line in lines] == ["60", "61", "60", "60", "60", "61", "61", "60", "60"]
    times = [float(line.split()[1]) for line in lines]
    assert times == sorted(times) and times[0] == 0.01
    only = dnprof("log", "--thread", "worker", "--include", "*.Work", "--summary", "--signatures", log).expect(3)
    assert only.out == "App.Calls.Work(int) : call count = 1\n"


@pytest.mark.parametrize("name", ["log", "calls"])
def test_names_that_are_not_there(recordings, name):
    for options, words in [(["--thread", "wrker"], "--thread 'wrker' matches none of 2 threads; much like it are: worker"),
                           (["--include", "App.Calls.Fib,Nobody.*"], "--include 'Nobody.*' matches none of")]:
        assert words in dnprof("log", *options, recordings / name).expect(3).err


def test_wrong_usage(recordings):
    assert "no recording named" in dnprof("log").expect(2).err
    assert "--calls and --summary" in dnprof("log", "--calls", "--summary", recordings / "log").expect(2).err
    assert "no calls were recorded" in dnprof("log", recordings / "wall").expect(1).err
    for option in ("--by-time", "--times"):
        assert "there is no log by time" in dnprof("log", option, recordings / "calls").expect(1).err
    both = dnprof("log", recordings / "calls", recordings / "log").expect(1)
    assert "there is no log of all" in both.err and not both.out


def test_output_file(recordings, tmp_path):
    """A file of its owner alone, in the place of a link that stood there."""
    target, link = tmp_path / "target", tmp_path / "log.txt"
    target.write_text("untouched")
    link.symlink_to(target)
    dnprof("log", recordings / "log", "-o", link).expect(3)
    assert target.read_text() == "untouched" and not link.is_symlink()
    assert stat.S_IMODE(link.stat().st_mode) == 0o600
    assert link.read_text() == dnprof("log", recordings / "log").expect(3).out
    refused = dnprof("log", recordings / "log", "-o", tmp_path / "none" / "log.txt").expect(1)
    assert "cannot" in refused.err and not (tmp_path / "none").exists()


def test_full_output(recordings):
    with open("/dev/full", "w") as full:
        result = subprocess.run([DNPROF, "log", recordings / "log"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1 and "cannot write the log: No space left on device" in result.stderr


@pytest.mark.parametrize("command, status", [(["log", "--summary"], 3), (["report"], 0)])
def test_closed_pipe(recordings, command, status):
    """`dnprof log | head` is no error."""
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run([DNPROF, *command, recordings / "log"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert result.returncode == status and "cannot" not in result.stderr


@pytest.mark.parametrize("named", [False, True])
def test_log_at_the_end_of_a_run(tmp_path, named):
    """Calls in their order: each line is at most one level further in than the one before."""
    path = tmp_path / ("named.txt" if named else "ICorProfilerCallback Log.log")
    (tmp_path / "elsewhere").write_text("untouched")
    path.symlink_to("elsewhere")
    env = {"LOG_FILENAME": str(path)} if named else {}
    dnprof_again("run", "-q", "-e", "trace", "--log", "-o", tmp_path / "x.dnp", "--",
                  *program(NEWEST, "mix", "--work", 1), cwd=tmp_path, env=env).expect(0)
    calls, functions = path.read_text().split("\n\n")
    assert (tmp_path / "elsewhere").read_text() == "untouched"
    assert re.match(r"Truth\.Program\.Main, id=0x[0-9a-f]+, call count = 1\n", calls)
    last, counts = -1, collections.Counter()
    for line in calls.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        name, number, count = re.fullmatch(r"(.*), id=(0x[0-9a-f]+), call count = (\d+)", line.strip()).groups()
        counts[name, number] += 1
        assert depth <= last + 1 and int(count) == counts[name, number], line
        last = depth
    summary = sorted(re.fullmatch(r"(.*) : call count = (\d+)", line).groups() for line in functions.splitlines())
    assert summary == sorted((name, str(count)) for (name, _), count in counts.items())
