# SPDX-License-Identifier: MIT
"""Runs dnprof and the programs of known truth, and reads what came of it.

Nothing here knows how dnprof works inside: only its command line, its exit status, `report --json`
and, where a test has to damage a recording, the chunk header of docs/format.md.
"""
import dataclasses
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DNPROF = Path(os.environ.get("DNPROF", ROOT / "build/bin/dnprof")).resolve()
APPS = Path(os.environ.get("DNPROF_APPS", ROOT / "build/apps")).resolve()
AGENT = DNPROF.parent / "libdnprof.so"

TFMS = ("net8.0", "net9.0", "net10.0")
NEWEST = TFMS[-1]

#: Programs that end with a line of truth, and options that keep a run of them short.
PROGRAMS = ("alloc", "async", "cpu", "deep", "exceptions", "fork", "idle", "mix", "native", "osr",
            "shortthreads", "signals", "threads8", "unload")

#: Programs that go by turns to a place that is hard to sample and to ordinary code.
PLACES = ("funclets", "gc", "jit", "loader", "malloc", "ownstack", "plt", "prologs", "resolver", "vdso")
#: Programs whose threads end all the time, wait for ever, or cannot be stopped.
THREADS = ("atexit", "crowd", "deadlock", "endless", "sleepers")

#: What depends on time, or on how busy the machine is.
VARIES = {"work", "methods", "threads", "process_cpu_ns", "collections", "pause_ms", "threads_started",
          "unloaded", "sigprof_ticks", "threads_at_most", "calls", "late_ns"}

#: Where threads begin: in the program's own file, the C library, or the dynamic linker. Their first
#: functions have no names in stripped files, so the file has to do.
FIRST_FILES = re.compile(r"(truth|shop|dotnet|libc\.so\.6|ld-linux-x86-64\.so\.2)!")
#: CPU time that a thread used before anybody knew of it: shown, but nobody saw where it went.
NOT_SAMPLED = "[thread start, not sampled]"
#: A thread that the runtime itself walked (--engine snapshot) while it had no managed frame.
NO_MANAGED = "[native]"


# A call tree is as deep in JSON as the stacks are.
sys.setrecursionlimit(20_000)


def steady(truth):
    """The part of a program's truth that is the same in every run."""
    return {k: v for k, v in truth.items() if k not in VARIES}


def shares(counts):
    whole = sum(counts.values())
    return {k: v / whole for k, v in counts.items()}


def clean_environment():
    """The environment without anything that concerns profilers, so that tests decide alone."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("DNPROF", "CORECLR_"))}


@dataclasses.dataclass
class Result:
    """What a process left behind."""
    argv: list
    status: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self):
        return self.stdout.decode(errors="replace")

    @property
    def err(self):
        return self.stderr.decode(errors="replace")

    @property
    def truth(self):
        """The last line of a program's output, which says what it did."""
        lines = [line for line in self.out.splitlines() if line.startswith("{")]
        assert lines, f"no line of truth from {self}"
        return json.loads(lines[-1])

    def complaints(self):
        """The lines on stderr that are dnprof's."""
        return [line for line in self.err.splitlines() if line.startswith("dnprof: ")]

    def expect(self, status=0):
        assert self.status == status, str(self)
        return self

    def __str__(self):
        def tail(text):
            return text if len(text) < 3000 else "... " + text[-3000:]
        return (f"status {self.status} of {' '.join(map(str, self.argv))}\n"
                f"--- stdout\n{tail(self.out)}\n--- stderr\n{tail(self.err)}")


class Hung(AssertionError):
    """A command that did not end; all that it had started has been killed."""


def run(argv, timeout=120, stdin=None, env=None, cwd=None, preexec_fn=None):
    """Runs a command in a process group of its own; nothing of it outlives a time-out."""
    argv = [str(a) for a in argv]
    with subprocess.Popen(argv, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                          env={**clean_environment(), **(env or {})},
                          start_new_session=True, preexec_fn=preexec_fn) as p:
        try:
            out, err = p.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            raise Hung(f"no end after {timeout} s: "
                       + str(Result(argv, p.returncode, out, err))) from None
        return Result(argv, p.returncode, out, err)


def start(argv, **options):
    """Starts a command for tests that interfere with it; use it in a `with`."""
    return Started([str(a) for a in argv], **options)


class Started:
    """A running command whose process group ends with the `with` that it was started in."""

    def __init__(self, argv, env=None, **options):
        self.argv = argv
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**clean_environment(), **(env or {})}, start_new_session=True, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.communicate()

    def end(self, timeout=60):
        out, err = self.process.communicate(timeout=timeout)
        return Result(self.argv, self.process.returncode, out, err)

    def child(self, name, timeout=20):
        """The pid of the descendant whose command line has NAME in it, and is not dnprof's."""
        return wait_for(lambda: next((pid for pid in descendants(self.process.pid)
                                      if name in command_line(pid)
                                      and not command_line(pid).startswith(str(DNPROF))), None),
                        f"a process of {name}", timeout)


def wait_for(condition, what, timeout=20):
    """Polls until CONDITION gives something true, which it returns."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {timeout} s in vain for {what}")


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def descendants(pid):
    """Pids of all children of PID and theirs, PID itself first."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*"):
            try:
                found += [int(c) for c in (task / "children").read_text().split()]
            except OSError:
                pass
    return found


def program(tfm, *arguments, app="truth"):
    """How to start one of our programs under the runtime of TFM."""
    path = APPS / tfm / app
    assert path.exists(), f"{path} is missing: run tests/apps/build"
    return [path, *arguments]


def dnprof(*arguments, **options):
    return run([DNPROF, *arguments], **options)


def record(tmp_path, argv, *, hz=997, options=(), name="out.dnp", status=0, **more):
    """Profiles ARGV and returns (what it left behind, the report of its recording)."""
    out = tmp_path / name
    result = dnprof("run", "-q", "-F", hz, "-o", out, *options, "--", *argv, **more)
    result.expect(status)
    return result, report(out)


def report(*files, options=()):
    return Report(json.loads(dnprof("report", "--json", *options, *files).expect().stdout))


@functools.cache
def plain(name):
    """`A.B<C>.M<D>(int)` as `A.B.M`; names of native code stay as they are."""
    name = name.split("(")[0]
    while True:
        shorter = re.sub(r"<[^<>]*>", "", name)
        if shorter == name:
            return name
        name = shorter


class Report:
    """`dnprof report --json` with the questions that tests ask."""

    def __init__(self, data):
        self.data = data
        #: A recording that was cut before its first sample has no event yet.
        self.cpu = data["events"].get("cpu", {"samples": 0, "lost": 0})

    @property
    def samples(self):
        return self.cpu["samples"]

    @property
    def shown(self):
        """What was recorded of the event that the tree shows."""
        return self.data["events"][self.data["event"]]

    def total(self, name):
        """Samples with this managed method anywhere on the stack; its overloads and instances together."""
        return sum(count for path, count in self.stacks() if name in map(plain, path))

    def threads(self):
        """Samples by thread name."""
        found = {}
        for t in self.data["threads"]:
            found[t["name"]] = found.get(t["name"], 0) + t["samples"]
        return found

    @functools.cache
    def stacks(self):
        """Every distinct stack, outermost frame first, with the samples that ended there."""
        return [(tuple(n["name"] for n in path), path[-1]["self"]) for path in self.paths()
                if path[-1]["self"]]

    def paths(self):
        """Every node of the tree, as the list of nodes from its root; deep trees are no problem."""
        pending = [[root] for root in reversed(self.data["tree"])]
        while pending:
            path = pending.pop()
            yield path
            pending += [path + [child] for child in reversed(path[-1].get("children", ()))]

    def with_frame(self, name):
        """(stack, samples) of the stacks that hold this method."""
        return [(path, n) for path, n in self.stacks() if name in map(plain, path)]

    def incomplete(self):
        """Samples whose stack does not begin where a thread begins."""
        return sum(n for path, n in self.stacks()
                   if not FIRST_FILES.match(path[0]) and path[0] not in (NOT_SAMPLED, NO_MANAGED))


def is_sequence(stack, *names):
    """Whether NAMES (strings, or compiled expressions for native frames) appear in this order."""
    frames = iter(stack)
    return all(any(n.search(f) if hasattr(n, "search") else plain(f) == n for f in frames)
               for n in names)
