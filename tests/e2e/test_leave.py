# SPDX-License-Identifier: MIT
"""What a recording leaves in a process that it was made in: nothing, as the system tells it."""
import contextlib
import os
import signal
from pathlib import Path

import pytest

import harness

from harness import SOAK, cases, dnprof, program, start, thread_names, wait_for, warm_up

#: The first times make the runtime start a thread of its own and the C library keep memory for threads.
FIRST, MORE = 2, 4 if SOAK else 1


@contextlib.contextmanager
def running(tmp_path, argv):
    """A program that can be attached; gives its pid."""
    with start(argv, env={"TMPDIR": str(tmp_path)}) as run:
        wait_for(lambda: list(tmp_path.glob("dotnet-diagnostic-*")), "the runtime's socket")
        warm_up(run.process.pid, 1)  # until it has begun, and no thread of its first ones is just being made
        yield run.process.pid
        assert run.process.poll() is None, f"the program has ended: {run.process.returncode}"


def status(pid, *keys):
    lines = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                 if ":\t" in line)
    return tuple(lines[key].strip() for key in keys)


def signals(pid):
    """What the process does about signals, once its first thread blocks none: the C library does for a moment while it
    makes a thread, or opens a program."""
    def look():
        found = status(pid, "SigCgt", "SigIgn", "SigBlk")
        return int(found[-1], 16) == 0 and found
    return wait_for(look, "a moment without blocked signals")


def files(pid):
    """What its descriptors are, but for numbers of sockets and the like."""
    names = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(fd).partition(":[")[0])
    return sorted(names)


def mappings(pid):
    """Kinds of mappings, with their sizes; of heaps, stacks and what the JIT writes to, which the program makes,
    only that they are there."""
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        where, rights, _, _, _, *name = line.split(maxsplit=5)
        low, high = (int(x, 16) for x in where.split("-"))
        if name and "doublemapper" not in name[0] and name[0] != "[heap]":
            found.append((name[0], rights, high - low))
    return sorted(found)


def trace(pid):
    # The thread that compiles methods once more comes and goes.
    threads = [name for name in sorted(thread_names(pid)) if not name.startswith(".NET Tiered")]
    return {"signals": signals(pid), "threads": threads,
            "files": files(pid), "mappings": mappings(pid), "environment": Path(f"/proc/{pid}/environ").read_bytes()}


def nothing_of_ours(pid, tmp_path):
    assert "libdnprof" not in Path(f"/proc/{pid}/maps").read_text()
    assert not [name for name in sorted(thread_names(pid)) if "dnprof" in name]
    assert not [name for name in files(pid) if "dnprof" in Path(name).name or "perf_event" in name]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("dnprof")]
    for task in Path(f"/proc/{pid}").glob("task/*/timers"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            assert not task.read_text()


def record(tmp_path, pid, *options):
    out = tmp_path / "out" / "x.dnp"
    out.parent.mkdir(exist_ok=True)
    dnprof("record", "-q", "-d", "0.2", "-F", "1999", "-o", out, *options, pid).expect()
    assert out.stat().st_size > 2000
    out.unlink()
    # A runtime that is kept from looking when it wanted to looks again after five seconds.
    wait_for(lambda: "libdnprof" not in Path(f"/proc/{pid}/maps").read_text(), "the library's end")


@pytest.mark.parametrize("engine", cases(["signal", "snapshot"], ["signal", "snapshot"], ["signal"]))
def test_idle(tmp_path, tfm, engine):
    """All of it is told, and all of it is the same: threads, descriptors, mappings, signals, environment."""
    with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests")) as pid:
        handlers = signals(pid)
        for _ in range(FIRST):
            record(tmp_path, pid, "-e", "cpu,wall", "--engine", engine)
        before = trace(pid)
        assert before["signals"] == handlers
        for _ in range(MORE):
            record(tmp_path, pid, "-e", "cpu,wall", "--engine", engine)
        after = trace(pid)
        for what, was in before.items():
            assert after[what] == was, what
        nothing_of_ours(pid, tmp_path)


@pytest.mark.parametrize("name", cases(["exceptions", "unload", "shortthreads", "registers"],
                                       ["unload", "shortthreads", "registers"], ["unload"]))
def test_busy(tmp_path, tfm, name):
    """What a program does itself is not told apart; but of ours there is nothing, and the program lives."""
    options = ("--threads", 50) if name == "registers" else ()
    with running(tmp_path, program(tfm, name, *options, "--seconds", 600)) as pid:
        handlers = signals(pid)
        for _ in range(FIRST + MORE):
            record(tmp_path, pid, "-e", "cpu,wall")
        assert signals(pid) == handlers
        nothing_of_ours(pid, tmp_path)


def test_agent_of_the_start(tmp_path, tfm):
    """The one that the program was started with goes in the same way."""
    out = tmp_path / "run.dnp"
    argv = program(tfm, "deadlock", "--seconds", 600, "--rests")
    with start([harness.DNPROF, "run", "-q", "-d", "0.2", "-o", out, "--", *argv], env={"TMPDIR": str(tmp_path)}) as run:
        pid = run.child(Path(argv[0]).name)
        wait_for(lambda: out.exists() and dnprof("detach", pid, env={"TMPDIR": str(tmp_path)}).status == 0, "its end")
        wait_for(lambda: "libdnprof" not in Path(f"/proc/{pid}/maps").read_text(), "the library's end")
        nothing_of_ours(pid, tmp_path)
        record(tmp_path, pid)
        nothing_of_ours(pid, tmp_path)


#: A program that may write no file, and is not ended for trying; then it is told how it ended.
NO_FILE = ["sh", "-c", "trap '' XFSZ; ulimit -f 0; \"$@\"; echo ended by $?; sleep 600", "sh"]
#: The runtime itself needs a large memory file, unless told otherwise.
ONE_MAPPING = {"DOTNET_EnableWriteXorExecute": "0"}


def test_start_that_fails(tmp_path):
    """The runtime unloads a profiler that cannot begin. What that had put in place by then has gone as well: a signal that comes
    later (a SIGTRAP, to a thread that waits) finds what it finds in a program that was never to be profiled."""
    def seen(*launcher):
        with start([*launcher, *NO_FILE, *program(harness.NEWEST, "idle", "--seconds", 600)],
                   env={"TMPDIR": str(tmp_path), **ONE_MAPPING}) as run:
            pid = wait_for(lambda: next((pid for pid in harness.descendants(run.process.pid)
                                         if harness.command_line(pid).startswith(str(harness.APPS))), None), "the program")
            wait_for(lambda: "busy-1" in thread_names(pid), "its threads")
            warm_up(pid, harness.cpu_seconds(pid) + 0.3)  # until the first one waits for the others
            nothing_of_ours(pid, tmp_path)
            found = signals(pid), files(pid), "/session" in Path(f"/proc/{pid}/maps").read_text()
            os.kill(pid, signal.SIGTRAP)
            return *found, run.process.stdout.readline()

    launcher = [harness.DNPROF, "run", "-q", "-e", "cpu", "--children", "-o", tmp_path / "out.dnp", "--"]
    assert seen(*launcher) == seen()
