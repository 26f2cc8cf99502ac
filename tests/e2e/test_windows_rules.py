# SPDX-License-Identifier: MIT
"""What dnprof.exe promises whoever runs a program under it: nothing of the program changes, whatever happens is told, and what
was written opens."""
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness import LOOSE, PATIENCE_S, cases, command_line, dnprof, run, steady, wait_for
from test_windows import ENGINES, ENVIRONMENT, WINDOWS, on_windows, pytestmark, record, truth, wine  # noqa: F401  (fixtures, and the mark)


# The program is unharmed

RESULTS = ["async", "dynamic", "osr", "shortthreads", "threads8"]


@pytest.mark.parametrize("name", cases(RESULTS, RESULTS, ["shortthreads"]))
def test_results_are_those_without(truth, tmp_path, name):  # noqa: F811
    """They check themselves, too."""
    alone = run(["wine", truth, name, "--seconds", 0.3], env=ENVIRONMENT).expect()
    for engine in ((), ("--engine", "snapshot"), ("-e", "cpu,wall")):
        told, read = record(truth, tmp_path / "t.dnp", name, "--seconds", 0.3, options=("-F", 997, *engine))
        assert steady(told) == steady(json.loads(alone.out.splitlines()[-1])), engine
        assert read["complete"] and not read["problems"], engine


@pytest.mark.parametrize("engine", [*ENGINES, pytest.param(("-e", "cpu,wall"), marks=pytest.mark.slow)], ids=["own", "runtime", "both"])
def test_stack_that_goes_astray(truth, tmp_path, engine):  # noqa: F811
    """To precompiled methods that were never called, of which the runtime can tell nothing: asked for them, it crashed."""
    _, read = record(truth, tmp_path / "t.dnp", "astray", "--seconds", 0.5, options=("-F", 1999, *engine))
    assert read["complete"] and any("truth_astray" in m["name"] for m in read["methods"])


@pytest.mark.slow
def test_demo(truth, tmp_path):  # noqa: F811
    """It ends where it wants zlib of Linux, with an exception that nobody catches: so it does with dnprof.exe."""
    shop = truth.parent / "shop.exe"
    alone = run(["wine", shop, 0.02], env=ENVIRONMENT)
    profiled = on_windows("run", "-q", "-F", 997, "-o", tmp_path / "t.dnp", "--", shop, 0.02)
    assert b"forecast" in alone.stdout and profiled.stdout == alone.stdout
    assert alone.status == profiled.status and "libz.so.1" in alone.err and "libz.so.1" in profiled.err
    methods = {m["name"].split("(")[0]: m for m in json.loads(dnprof("report", "--json", tmp_path / "t.dnp").out)["methods"]}
    assert methods["Shop.Program.NightlyRun"]["total"] > 0


# The rules of stack walking

def test_profiler_runs_no_managed_code(truth, tmp_path):  # noqa: F811
    """Whom the runtime knows as a thread is in the report by its name; ours have names, too."""
    _, read = record(truth, tmp_path / "t.dnp", "cpu", "--work", 100, options=("-e", "cpu,wall"))
    assert read["threads"] and not [t for t in read["threads"] if t["name"].startswith("dnprof")], read["threads"]


def test_report_says_who_is_not_seen(truth, tmp_path):  # noqa: F811
    record(truth, tmp_path / "t.dnp", "cpu", "--work", 100)
    assert "threads that never ran managed code are not seen" in dnprof("report", tmp_path / "t.dnp").expect().out


@pytest.mark.parametrize("engine", ENGINES, ids=["own", "runtime"])
def test_deep_stacks_are_cut(truth, tmp_path, engine):  # noqa: F811
    _, read = record(truth, tmp_path / "t.dnp", "deep", "--seconds", 1, options=("-F", 499, "--frames", 32, *engine))
    cpu = read["events"]["cpu"]
    assert cpu["truncated"] > 20 // LOOSE
    # Nobody can see more of these: that is no failure.
    assert "CORPROF_E_STACKSNAPSHOT_UNSAFE" not in cpu["failures"], cpu
    assert cpu["failed"] <= LOOSE * 0.05 * cpu["samples"], cpu


# Whatever ends it

def processes(*words):
    """Those whose command line has all of these."""
    return [int(it.name) for it in Path("/proc").glob("[0-9]*") if all(str(word) in command_line(it.name) for word in words)]


@pytest.mark.parametrize("bytes_", cases([1, 20_000, 40_000], [1, 20_000, 40_000], [1, 20_000]))
@pytest.mark.parametrize("who", ["program", "dnprof.exe", "both"])
def test_killed_at_any_moment(truth, tmp_path, who, bytes_):  # noqa: F811
    """All whole chunks open."""
    tag = f"tag-{tmp_path.name}-{os.getpid()}"

    def recordings():
        return [it for it in tmp_path.rglob("*.dnp") if it.stat().st_size >= bytes_]
    with subprocess.Popen(["wine", WINDOWS, "run", "-q", "-F", "997", "-o", tmp_path / "t.dnp", "--", truth, "mix", "--seconds", "60", tag],
                          env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        wait_for(recordings, "a recording")
        launcher = processes("dnprof.exe", tag)
        program = [pid for pid in processes(tag) if pid not in launcher]
        assert launcher and program
        for pid in (program if who == "program" else launcher if who == "dnprof.exe" else program + launcher):
            os.kill(pid, signal.SIGKILL)
        if who == "dnprof.exe":
            for pid in program:
                os.kill(pid, signal.SIGKILL)
        _, err = p.communicate(timeout=PATIENCE_S)
    kept = list(tmp_path.rglob("*.dnp"))
    if who == "program" and not kept:
        assert bytes_ == 1 and b"nothing was recorded" in err, err
        return
    read = dnprof("report", "--json", kept[0])
    if read.status == 1:  # before anything was recorded
        assert bytes_ == 1 and "nothing to report" in read.err, read
        return
    assert read.status == 3, read
    told = json.loads(read.out)
    assert not told["complete"] and not [it for it in told["problems"] if "damage" in str(it).lower()], told["problems"]


@pytest.mark.slow
def test_full_disk(truth, small_disk):  # noqa: F811
    """The program goes on to its end; what was written until then opens."""
    (small_disk / "filler").write_bytes(bytes(84 << 10))
    ended = on_windows("run", "-q", "-F", 1999, "-e", "cpu,wall", "-o", small_disk / "t.dnp", "--", truth, "mix", "--seconds", 4)
    assert '"program":"mix"' in ended.out, ended
    assert ended.status == 3 and "the recording ended early: writing it failed: No space left on device; make room" in ended.err, ended
    read = dnprof("report", "--json", small_disk / "t.dnp")
    assert read.status == 3 and json.loads(read.out)["events"]["wall"]["samples"], read


def test_disk_without_room_for_anything(truth, small_disk):  # noqa: F811
    """The program is not started."""
    (small_disk / "filler").write_bytes(bytes(240 << 10))
    ended = on_windows("run", "-q", "-o", small_disk / "t.dnp", "--", truth, "mix", "--seconds", 1)
    assert ended.status == 1 and not ended.out and "make room" in ended.err, ended
    assert [it.name for it in small_disk.iterdir()] == ["filler"]


def test_output_that_cannot_be_written(truth, tmp_path):  # noqa: F811
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "t.dnp").mkdir()
    ended = on_windows("run", "-o", closed / "t.dnp", "--", truth, "cpu", "--work", 20)
    assert ended.status == 1 and not ended.out and "folder" in ended.err, ended
    assert not list((closed / "t.dnp").iterdir())
