# SPDX-License-Identifier: MIT
"""dnprof.exe and programs that run already, under Wine: it comes to them, records, and leaves nothing."""
import contextlib
import json
import os
import signal
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest

from harness import PATIENCE_S, check_whole, dnprof, refused, slow, wait_for
from test_windows import (APPS, ENVIRONMENT, WINDOWS, on_windows, pytestmark, report, seen,  # noqa: F401
                          truth, wine)

#: Attaches and detaches in one process, in the test; script/soak --windows --cycles takes more.
CYCLES = 3

#: A busy machine takes long to start to record; whoever waits longer hangs.
PATIENT = ("--timeout", PATIENCE_S)


class EndedEarly(AssertionError):
    """The program, before it was seen."""


class Running:
    """A program of tests/apps/truth that runs under Wine until it is ended, or ends by itself."""

    def __init__(self, truth, *arguments, env=None, by_id=True):
        self.word = uuid.uuid4().hex
        self.argv = ["wine", truth, *map(str, arguments), self.word]
        self.env, self.by_id = env or {}, by_id

    @staticmethod
    def all():
        """What `status` says of all programs."""
        return json.loads(on_windows("status", "--json", *PATIENT).expect().out)["processes"]

    def seen(self):
        """What it says of this one, None: nothing."""
        return next((p for p in self.all() if self.word in p["command"]), None)

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **ENVIRONMENT, **self.env})
        if self.by_id:
            self.pid = wait_for(self.number, "the program to be seen")
        return self

    def number(self):
        """Its process's, as soon as its runtime is there; None: not yet."""
        seen = self.seen() or {}
        if "runtime" not in seen and self.process.poll() is not None:
            raise EndedEarly(self.process.communicate())
        return seen["pid"] if "runtime" in seen else None

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self):
        """Waits for its end; its line of truth."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, err
        return json.loads(out)

    def threads(self):
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def maps(self):
        return Path(f"/proc/{self.process.pid}/maps").read_text()

    def is_clean(self):
        """Whether nothing of ours is in it, as Linux knows it."""
        return "dnprof.dll" not in self.maps()


def cycle(running, output):
    """The agent comes, records for a moment, and leaves."""
    on_windows("record", "-q", *PATIENT, "-d", 0.2, "-o", output, running.pid).expect()
    wait_for(running.is_clean, "the library to be unloaded")
    assert running.process.poll() is None, "the program has ended"


@pytest.fixture(scope="module")
def busy(truth):  # noqa: F811
    with Running(truth, "cpu", "--seconds", 3600) as running:
        # There is a runtime long before it has come to the program.
        wait_for(lambda: "Truth.Cpu.Run" in on_windows("stack", *PATIENT, running.pid).out, "its work")
        wait_for(running.is_clean, "the agent to leave")
        yield running


def test_record(busy, tmp_path):
    ended = on_windows("record", "-v", *PATIENT, "-d", 1, "-o", tmp_path / "t.dnp", busy.pid)
    assert ended.status == 0 and "attached for it" in ended.err and " samples in " in ended.err, ended
    read = report(tmp_path / "t.dnp")
    cpu = read["events"]["cpu"]
    assert read["complete"] and cpu["samples"] > 10, cpu
    check_whole(cpu)
    assert seen(read, "Truth.Cpu.Run") > 0.9 * seen(read, "Truth.Program.Main") > 0
    assert busy.word in read["command"]
    wait_for(busy.is_clean, "the agent to leave")
    assert busy.process.poll() is None


def test_two_copies_come_at_once(busy, tmp_path):
    """The second is not to be loaded beside the first, or the runtime would keep it."""
    copy = shutil.copytree(WINDOWS.parent, tmp_path / "copy", ignore=shutil.ignore_patterns("*.p"))
    for _ in range(5):
        both = [subprocess.Popen(["wine", folder / WINDOWS.name, "stack", *map(str, PATIENT), str(busy.pid)], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **ENVIRONMENT})
                for folder in (WINDOWS.parent, copy)]
        for one in both:
            out, err = one.communicate(timeout=PATIENCE_S)
            assert one.returncode == 0 and b"Truth.Cpu.Run" in out, err
        wait_for(busy.is_clean, "the agents to leave")


def test_record_makes_a_page(busy, tmp_path):
    ended = on_windows("record", "-q", *PATIENT, "-d", 1, "-e", "cpu,wall", "-o", tmp_path / "日本 é.html", busy.pid)
    assert ended.status == 0 and not ended.err, ended
    assert [path.name for path in tmp_path.iterdir()] == ["日本 é.html"]


def test_record_until_ctrl_c(busy, tmp_path):
    with subprocess.Popen(["wine", WINDOWS, "record", "-v", *map(str, PATIENT), "-o", tmp_path / "t.dnp", str(busy.pid)], stderr=subprocess.PIPE,
                          env={**os.environ, **ENVIRONMENT}) as p:
        wait_for(lambda: busy.seen().get("agent", {}).get("samples", 0) > 5, "samples")
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=PATIENCE_S)[1].decode()
    assert p.returncode == 0 and "samples in" in err, err
    assert report(tmp_path / "t.dnp")["complete"]
    wait_for(busy.is_clean, "the agent to leave")


def test_recorder_that_is_killed(busy, tmp_path):
    """What it held ends well, and what it brought leaves."""
    with subprocess.Popen(["wine", WINDOWS, "record", "-q", *map(str, PATIENT), "-o", tmp_path / "t.dnp", str(busy.pid)],
                          env={**os.environ, **ENVIRONMENT}) as p:
        wait_for(lambda: busy.seen().get("agent", {}).get("samples", 0) > 5, "samples")
        p.kill()
    wait_for(lambda: "agent_library" not in busy.seen(), "the agent to leave")
    assert report(tmp_path / "t.dnp")["complete"]


@pytest.mark.slow
def test_program_that_ends_while_it_is_recorded(truth, tmp_path):  # noqa: F811
    with Running(truth, "cpu", "--seconds", 6) as running:
        ended = on_windows("record", *PATIENT, "-o", tmp_path / "t.dnp", running.pid)
        told = running.end()
    assert ended.status == 0 and f"process {running.pid} has ended" in ended.err, ended
    assert told["methods"] and report(tmp_path / "t.dnp")["complete"]


def test_program_that_is_killed_while_it_is_recorded(truth, tmp_path):  # noqa: F811
    with Running(truth, "cpu", "--seconds", 3600) as running, \
            subprocess.Popen(["wine", WINDOWS, "record", *map(str, PATIENT), "-o", tmp_path / "t.dnp", str(running.pid)],
                             stderr=subprocess.PIPE, env={**os.environ, **ENVIRONMENT}) as p:
        wait_for(lambda: running.seen().get("agent", {}).get("samples", 0) > 50, "samples")
        running.process.kill()
        err = p.communicate(timeout=PATIENCE_S)[1].decode()
    assert p.returncode == 3 and "incomplete" in err, err


@pytest.mark.slow
def test_full_disk(busy, small_disk):
    """What is there is kept and can be read; the program has nothing of it open and goes on without the agent."""
    (small_disk / "filler").write_bytes(bytes(196 << 10))
    ended = on_windows("record", "-q", *PATIENT, "-d", PATIENCE_S, "-F", 1999, "-e", "cpu,wall", "-o", small_disk / "t.dnp", busy.pid,
                       timeout=2 * PATIENCE_S)
    assert ended.status == 3 and "writing it failed: No space left on device; make room" in ended.err, ended
    read = dnprof("report", "--json", small_disk / "t.dnp")
    assert read.status == 3 and json.loads(read.out)["events"]["wall"]["samples"], read
    wait_for(busy.is_clean, "the agent to leave")
    assert str(small_disk) not in busy.maps() and busy.process.poll() is None
    free = os.statvfs(small_disk).f_bavail
    (small_disk / "t.dnp").unlink()
    assert os.statvfs(small_disk).f_bavail > free


@pytest.mark.parametrize("kib", [0, slow(4), slow(16)])
def test_disk_without_room(busy, small_disk, kib):
    """Whether it is told before the program is touched or after: it is left as it was, and so is the folder."""
    with open(small_disk / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))
    os.truncate(small_disk / "filler", (small_disk / "filler").stat().st_size - (kib << 10))
    ended = on_windows("record", "-q", *PATIENT, "-d", 1, "-F", 997, "-o", small_disk / "t.dnp", busy.pid)
    assert ended.status in (1, 3) and "make room" in ended.err, ended
    wait_for(busy.is_clean, "the agent to leave")
    assert sorted(it.name for it in small_disk.iterdir()) == ["filler", *["t.dnp"] * (ended.status == 3)]
    assert busy.process.poll() is None


def test_step_by_step(busy, tmp_path):
    """attach, status, start, dump, stop, detach: each says what it did, and what it left."""
    assert busy.seen().get("agent") is None
    assert f"attached to process {busy.pid}" in on_windows("attach", *PATIENT, busy.pid).expect().out
    agent = busy.seen()["agent"]
    assert (agent["state"], agent["how"], agent["detachable"]) == ("attached", "attach", True), agent
    refused(on_windows("attach", *PATIENT, busy.pid), 1, "agent is in it already", "detach")

    started = on_windows("start", *PATIENT, "-F", 499, "-o", tmp_path / "s.dnp", busy.pid).expect()
    assert "dnprof stop" in started.out
    wait_for(lambda: busy.seen()["agent"]["samples"] > 20, "samples")
    refused(on_windows("record", "-d", 1, "-o", tmp_path / "r.dnp", busy.pid), 1, "already recording", "cpu")
    on_windows("dump", "-q", *PATIENT, "-o", tmp_path / "d.dnp", busy.pid).expect()
    on_windows("stop", "-q", *PATIENT, "-o", tmp_path / "e.dnp", busy.pid).expect()
    refused(on_windows("stop", *PATIENT, busy.pid), 1, "not being recorded")
    dumped, stopped = report(tmp_path / "d.dnp"), report(tmp_path / "e.dnp")
    assert 20 < dumped["events"]["cpu"]["samples"] <= stopped["events"]["cpu"]["samples"]
    assert stopped["complete"]

    assert "detached" in on_windows("detach", *PATIENT, busy.pid).expect().out
    assert "agent_library" not in busy.seen() and busy.is_clean()
    refused(on_windows("detach", *PATIENT, busy.pid), 1, "the agent is not in it", "attach")


def test_status_of_one(busy):
    told = on_windows("status", busy.pid).expect().out
    assert "truth.exe" in told and "10.0" in told and "not attached" in told


@pytest.mark.slow
def test_nothing_is_left_after_many_times(truth, tmp_path):  # noqa: F811
    """What the first has brought, of the runtime's own, stays; what comes after leaves as many threads."""
    had = []
    with Running(truth, "mix", "--seconds", 3600) as running:
        for i in range(CYCLES):
            cycle(running, tmp_path / f"{i}.dnp")
            had.append(running.threads())
            assert report(tmp_path / f"{i}.dnp")["complete"]
        assert running.process.poll() is None
    assert had[-1] <= had[0], had


# Whom it cannot come to

@pytest.mark.parametrize("command", [("record", "-d", 1, "-o", "t.dnp"), ("attach",), ("start", "-o", "t.dnp"), ("stop",),
                                     ("dump", "-o", "t.dnp"), ("detach",), ("status",), ("stack",)], ids=lambda words: words[0])
def test_no_such_process(tmp_path, command):
    refused(on_windows(*command, 999999, cwd=tmp_path), 1, "no such process", "tasklist")
    assert not list(tmp_path.iterdir())


def test_process_without_a_runtime(tmp_path):
    """One of Wine's own, which are always there, with the first numbers."""
    asked = ((pid, on_windows("status", pid)) for pid in range(8, 1024, 4))
    pid = next(pid for pid, said in asked if "no .NET runtime" in said.err)
    for command in (("record", "-d", 1, "-o", "t.dnp"), ("attach",), ("detach",), ("status",), ("stack",)):
        refused(on_windows(*command, pid, cwd=tmp_path), 1, "no .NET runtime was seen in it")
    assert not list(tmp_path.iterdir())


def test_diagnostics_that_are_switched_off(truth, tmp_path):  # noqa: F811
    with Running(truth, "cpu", "--seconds", 3600, env={"DOTNET_EnableDiagnostics": "0"}) as running:
        refused(on_windows("record", "-d", 1, "-o", "t.dnp", running.pid, cwd=tmp_path), 1,
                "diagnostics are switched off", "DOTNET_EnableDiagnostics=0")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments, status, words", [
    (("record", "-e", "trace", "-o", "t.dnp", 8), 2, ("a program's start only", "dnprof run -e trace")),
    (("record", "--engine", "signal", "-o", "t.dnp", 8), 2, ("--engine signal",)),
    (("record", "-d", 1, "-o", "t.dnp"), 2, ("no process named",)),
    (("record", "-d", 1, "-o", "no/such/t.dnp", 8), 1, ("no/such", "another place")),
    (("attach", "word"), 2, ("not a process id",)),
], ids=str)
def test_refusals(tmp_path, arguments, status, words):
    refused(on_windows(*arguments, cwd=tmp_path), status, *words)
    assert not list(tmp_path.iterdir())
