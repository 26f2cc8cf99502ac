# SPDX-License-Identifier: MIT
"""Runs dnprof and the programs of known truth, and reads what came of it.

Nothing here knows how dnprof works inside: only its command line, its exit status, `report --json`
and, where a test has to damage a recording, the chunk header of docs/format.md.
"""
import contextlib
import dataclasses
import fcntl
import functools
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from net import surroundings
from net.hangs import PATIENCE_S, SCALE, Hung, all_stacks, descendants, tasks
from net.plugin import LOOSE, SOAK, tried_again

ROOT = Path(__file__).resolve().parents[2]
DNPROF = Path(os.environ.get("DNPROF", ROOT / "build/bin/dnprof")).resolve()
APPS = Path(os.environ.get("DNPROF_APPS", ROOT / "build/apps")).resolve()
AGENT = DNPROF.parent / "libdnprof.so"

TFMS = ("net8.0", "net9.0", "net10.0")
NEWEST = TFMS[-1]
#: Each runtime has its smoke test (test_smoke.py); the matrix is for script/soak.
TESTED = TFMS if SOAK else (NEWEST,)

#: Programs that end with a line of truth, and options that keep a run of them short.
PROGRAMS = ("alloc", "async", "cpu", "deep", "dynamic", "exceptions", "fork", "idle", "mix", "native", "osr",
            "shortthreads", "signals", "threads8", "unload")

#: Programs that go by turns to a place that is hard to sample and to ordinary code.
PLACES = ("funclets", "gc", "jit", "loader", "malloc", "ownstack", "plt", "prologs", "resolver", "vdso")
#: Programs whose threads end all the time, wait for ever, or cannot be stopped.
THREADS = ("atexit", "crowd", "deadlock", "endless", "sleepers")

#: Programs that count their own calls, and that compute in all registers.
TRACED = ("calls", "registers")

#: What depends on time, or on how busy the machine is.
VARIES = {"work", "may_inline", "native", "unwound", "by_thread", "methods", "passed", "threads", "process_cpu_ns", "collections",
          "pause_ms", "threads_started", "unloaded", "sigprof_ticks", "threads_at_most", "calls", "late_ns", "tenths_ms"}

#: Where threads begin: in the program's own file, the C library, or the dynamic linker. Their first
#: functions have no names in stripped files, so the file has to do.
FIRST_FILES = re.compile(r"(truth|shop|dotnet|libc\.so\.6|ld-linux-x86-64\.so\.2|ntdll\.dll)!")
#: CPU time that a thread used before anybody knew of it, or after its last sample: shown, but nobody saw where it went.
NOT_SAMPLED = "[not sampled]"
#: A thread that could run, and has no stack then.
READY = "[waiting for a processor]"
#: A thread that the runtime itself walked (--engine snapshot) while it had no managed frame.
NO_MANAGED = "[native]"


#: Whether there is time to repeat what goes wrong rarely.
LONG = bool(os.environ.get("DNPROF_TEST_LONG"))


def cases(everything, named, gate=None):
    """Parameters of a test that script/test needs some of only: those in GATE where all suites run, those in NAMED where its
    suite is named (the same without GATE); the others are for script/soak."""
    def marked(case):
        mark = pytest.mark.slow if case in named else pytest.mark.soak
        return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
    return [case if case in (gate or named) else marked(case) for case in everything]


def slow(*case):
    """A parameter of a test that runs where its suite is named, since others try the same where all suites run."""
    return pytest.param(*case, marks=pytest.mark.slow)


def steady(truth):
    """The part of a program's truth that is the same in every run."""
    return {k: v for k, v in truth.items() if k not in VARIES}


def shares(counts):
    whole = sum(counts.values())
    return {k: v / whole for k, v in counts.items()}


def clean_environment():
    """The environment without anything that concerns profilers or runtimes, so that tests decide alone."""
    return surroundings.of_programs()


class Lost(AssertionError):
    """Some of what a test needs was lost: the recorder got no turn in time, on a machine busy beyond measure. It says so."""


def check_whole(event, most=0):
    """For a test that needs all that there was of an event of `report --json`, or all but so much."""
    if event["lost"] > most:
        raise Lost(f"{event['lost']} were lost: {event}")


def again_where_lost(test):
    """The test, which is made again without what it has left where something was lost, four times at most; and named then."""
    @functools.wraps(test)
    def run_test(**fixtures):
        __tracebackhide__ = True
        folder = fixtures.get("tmp_path")
        had = set(folder.iterdir()) if folder else set()
        for left in range(4, -1, -1):
            try:
                return test(**fixtures)
            except Lost as lost:
                if not left:
                    raise
                tried_again(str(lost).partition("\n")[0])
            for path in set(folder.iterdir()) - had if folder else ():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
        return None
    return run_test


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
        if self.status == 3 != status and "were lost" in self.err:
            raise Lost(str(self))
        assert self.status == status, str(self)
        return self

    def __str__(self):
        def tail(text):
            return text if len(text) < 3000 else "... " + text[-3000:]
        return (f"status {self.status} of {' '.join(map(str, self.argv))}\n"
                f"--- stdout\n{tail(self.out)}\n--- stderr\n{tail(self.err)}")


def run(argv, timeout=PATIENCE_S, stdin=None, env=None, cwd=None, preexec_fn=None):
    """Runs a command in a process group of its own; nothing of it outlives a time-out."""
    argv = [str(a) for a in argv]
    with subprocess.Popen(argv, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                          env={**clean_environment(), **(env or {})},
                          start_new_session=True, preexec_fn=preexec_fn) as p:
        try:
            out, err = p.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            seen = all_stacks()
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            raise Hung(f"Hung: no end after {timeout} s: {Result(argv, p.returncode, out, err)}\n{seen}") from None
        return Result(argv, p.returncode, out, err)


def take_all_names(result):
    """Folders have all names that dnprof would give a recording beside RESULT."""
    for n in range(1, 1001):
        result.with_name(f"{result.name}.{n}.dnp" if n > 1 else f"{result.name}.dnp").mkdir()


def refused(result, status, *words):
    """One line, `dnprof: what: why; what to do`, with each of WORDS in it; nothing has run."""
    assert result.status == status, result
    lines = result.err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("dnprof: "), result
    for word in words:
        assert re.search(word, lines[0], re.I), f"no {word!r} in: {lines[0]}"
    assert result.out == ""
    return lines[0]


def told(result, status, *words):
    """The program ran; one line of dnprof's has each of WORDS."""
    result.expect(status)
    lines = result.complaints()
    assert len(lines) == 1, result
    for word in words:
        assert re.search(word, lines[0]), f"no {word!r} in: {lines[0]}"


def start(argv, **options):
    """Starts a command for tests that interfere with it; use it in a `with`."""
    return Started([str(a) for a in argv], **options)


class Started:
    """A running command whose process group ends with the `with` that it was started in."""

    def __init__(self, argv, env=None, stdin=subprocess.DEVNULL, **options):
        self.argv = argv
        self.process = subprocess.Popen(
            argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**clean_environment(), **(env or {})}, start_new_session=True, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.communicate()

    def end(self, timeout=PATIENCE_S):
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Hung(f"Hung: no end of {' '.join(map(str, self.argv))} after {timeout} s\n{all_stacks()}") from None
        return Result(self.argv, self.process.returncode, out, err)

    def find_child(self, name):
        """The pid of the descendant whose command line has NAME in it, and is not dnprof's; None: there is none, yet."""
        return next((pid for pid in descendants(self.process.pid) if runs(pid, name)), None)

    def child(self, name, timeout=PATIENCE_S):
        """As find_child, once it is there."""
        return wait_for(lambda: self.find_child(name), f"a process of {name}", timeout)


def wait_for(condition, what, timeout=PATIENCE_S):
    """Polls until CONDITION gives something true, which it returns."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise Hung(f"waited {timeout} s in vain for {what}\n{all_stacks()}")


def stop_all(pid):
    """Until one thread has taken the signal the others run on."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: all((task / "stat").read_text().rpartition(")")[2].split()[0] == "T" for task in tasks(pid)),
             "all threads to stand still")


def is_pending(pid, number):
    """Sent, and not taken yet: a second one would be the same."""
    shared = re.search(r"^ShdPnd:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1]
    return int(shared, 16) >> (number - 1) & 1


def named_tasks(pid):
    """Folder and name of each thread; those that end while we look are left out."""
    for task in tasks(pid):
        with contextlib.suppress(OSError):
            name = (task / "comm").read_text().strip()
            yield task, name


def thread_names(pid):
    return [name for _, name in named_tasks(pid)]


def cpu_seconds(pid):
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def used_s(task):
    """Of CPU time, by a thread."""
    return int((task / "schedstat").read_text().split()[0]) / 1e9


def warm_up(pid, seconds):
    """Waits until a program that computes has done so for a while: on a busy machine that may be later."""
    wait_for(lambda: cpu_seconds(pid) >= seconds, f"{seconds} s of CPU time of process {pid}")


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def runs(pid, name):
    """Looks once: dnprof's own children, which have its command line, may end between two looks."""
    line = command_line(pid)
    return name in line and not line.startswith(str(DNPROF))


def tasks_named(pid, name):
    """Folders of the threads of that name."""
    return [task for task, its_name in named_tasks(pid) if its_name == name]


def build_programs(tfms):
    """All of them for the runtimes that are named; without a name what script/test needs."""
    subprocess.run([ROOT / "tests/apps/build", *tfms], check=True, stdout=subprocess.DEVNULL)


def made_once(tmp_path_factory, name, make):
    """A folder of one's own with what MAKE puts into the one that it is given: by the first worker that needs it, and copied
    by the others."""
    place = tmp_path_factory.getbasetemp()
    own = place / name
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    made = place / f"{name}-made"
    with open(place / f"{name}-lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            part = place / f"{name}-part"
            shutil.rmtree(part, ignore_errors=True)  # of one that failed
            part.mkdir()
            make(part)
            part.rename(made)
    return shutil.copytree(made, own)


def program(tfm, *arguments, app="truth"):
    """How to start one of our programs under the runtime of TFM."""
    path = APPS / tfm / app
    assert path.exists(), f"{path} is missing: run tests/apps/build {tfm}"
    return [path, *arguments]


def without_event_sources(folder, tfm, *arguments):
    """How to start the program with .NET's EventSources switched off, as a trimmed program may have them."""
    app = program(tfm)[0]
    config = json.loads(app.with_suffix(".runtimeconfig.json").read_text())
    config["runtimeOptions"]["configProperties"]["System.Diagnostics.Tracing.EventSource.IsSupported"] = False
    (folder / "off.json").write_text(json.dumps(config))
    return ["dotnet", "exec", "--runtimeconfig", folder / "off.json", app.with_suffix(".dll"), *arguments]


#: What asks a process: its last argument. Machines that test may be slow, users' patience is shorter.
ASKING = ("attach", "record", "start", "dump", "stop", "detach", "stack", "status", "doctor")


def patience(arguments):
    """For commands that ask a process, unless they say themselves how long."""
    asks = arguments and arguments[0] in ASKING and isinstance(arguments[-1], int) and "--timeout" not in arguments
    return ("--timeout", PATIENCE_S) if asks else ()


#: What runs a program as somebody else.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def closed_to_others(path):
    """What other users may not read, or not go through, on the way to PATH; None: they may use it."""
    return next((p for p in (path, *path.parents) if p.exists() and not p.stat().st_mode & (0o001 if p.is_dir() else 0o004)), None)


def why_nobody_else():
    """Why tests can have no other user run what was built; None: they can."""
    if os.geteuid() or not shutil.which("setpriv"):
        return "needs root and setpriv"
    used = DNPROF, AGENT, APPS, Path(shutil.which("dotnet") or "/").resolve()
    closed = next(filter(None, map(closed_to_others, used)), None)
    return closed and f"other users cannot run what is built here: {closed} is closed to them"


needs_other_user = pytest.mark.skipif(bool(why_nobody_else()), reason=str(why_nobody_else()))


def let_others_in(folder):
    """Other users may write into the folder."""
    folder.chmod(0o777)
    for parent in folder.parents:
        if parent.stat().st_uid == os.geteuid() and parent != parent.parent:
            parent.chmod(parent.stat().st_mode | 0o011)


def as_nobody_else(*capabilities):
    """What runs a program as a user whose only process it is: limits and counts of a user are then its own."""
    user = [NOBODY[0], f"--reuid={60000 + os.getpid() % 4000}", *NOBODY[2:]]
    added = ",".join(f"+{name}" for name in capabilities)
    return user + [f"--inh-caps={added}", f"--ambient-caps={added}"] if added else user


def dnprof(*arguments, **options):
    return run([DNPROF, *arguments[:1], *patience(arguments), *arguments[1:]], **options)


def dnprof_again(*arguments, **options):
    """Once more where too much was lost: who writes waits for a processor, too, on a machine busy beyond measure in vain."""
    for _ in range(5):
        result = dnprof(*arguments, **options)
        if result.status != 3 or "were lost" not in result.err:
            break
        tried_again(result.err.strip().rpartition("\n")[2])
    return result


def allows_events(pid):
    """Whether each of its threads can have a perf event that counts in the kernel, too."""
    can = {c["name"]: c for c in json.loads(dnprof("doctor", "--json", pid).stdout)["capabilities"]}
    return can["cpu"]["answer"] == "yes"


def agent_in(pid):
    """What the agent in a process says of itself; None: there is none."""
    processes = json.loads(dnprof("status", "--json", pid).stdout or "{}").get("processes")
    return processes and processes[0].get("agent")


def samples_of(pid):
    """How many there are so far, 0 where nothing is recorded."""
    return (agent_in(pid) or {}).get("samples", 0)


def wait_for_samples(pid, more_than=10):
    wait_for(lambda: samples_of(pid) > more_than, "samples")


def record(tmp_path, argv, *, hz=997, options=(), name="out.dnp", status=0, **more):
    """Profiles ARGV and returns (what it left behind, the report of its recording)."""
    out = tmp_path / name
    result = dnprof_again("run", "-q", "-F", hz, "-o", out, *options, "--", *argv, **more)
    result.expect(status)
    return result, report(out)


def incomplete(out):
    """The report of all events of a recording that ends early, which it says."""
    return Report(json.loads(dnprof("report", "--json", "-n", 0, out).expect(3).stdout))


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


def on_terminal(argv, cwd, env, keys=(), seconds=PATIENCE_S):
    """Runs argv on a terminal of its own: (status, what it showed). KEYS: (what has to have been shown, or a condition
    that has to hold, and the bytes that are typed then)."""
    pid, terminal = pty.fork()
    if not pid:
        surroundings.default_signals()
        os.chdir(cwd)
        os.execve(argv[0], [str(a) for a in argv], {**clean_environment(), "TERM": "xterm", **env})
    shown, begin, keys = b"", time.monotonic(), list(keys)
    while time.monotonic() - begin < seconds:
        if keys and (keys[0][0]() if callable(keys[0][0]) else keys[0][0] in shown):
            os.write(terminal, keys.pop(0)[1])
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                break
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def chance(share, samples):
    """How far a share of so many samples may be off by chance: five standard deviations, once in two million."""
    return 5 * (share * (1 - share) / samples) ** 0.5


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

    def check_few_lost(self, event=None):
        """A busy machine may give the recorder no turn for a while; what that loses is told, and the test is made again."""
        event = event or self.data["event"]
        it, seen = self.data["events"][event], sum(n for _, n in self.stacks()) if event == self.data["event"] else 0
        check_whole(it, LOOSE * 0.01 * max(it["samples"], seen) + 2)

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
        """Every node of the tree, as the list of nodes from its root."""
        depths, path = [], []
        for node in self.data["tree"]:
            depths.append(depths[node["parent"]] + 1 if "parent" in node else 0)
            path = path[:depths[-1]] + [node]
            yield path

    def roots(self):
        return [node for node in self.data["tree"] if "parent" not in node]

    def check_sums(self, self_key="self", total_key="total"):
        """A node's total is its own and that of those below it."""
        below = [0] * len(self.data["tree"])
        for node in self.data["tree"]:
            if "parent" in node:
                below[node["parent"]] += node[total_key]
        for node, rest in zip(self.data["tree"], below):
            assert node[total_key] == node[self_key] + rest, node

    def with_frame(self, name):
        """(stack, samples) of the stacks that hold this method."""
        return [(path, n) for path, n in self.stacks() if name in map(plain, path)]

    def incomplete(self):
        """Samples whose stack does not begin where a thread begins."""
        return sum(n for path, n in self.stacks()
                   if not FIRST_FILES.match(path[0]) and path[0] not in (NOT_SAMPLED, READY, NO_MANAGED))


def is_sequence(stack, *names):
    """Whether NAMES (strings, or compiled expressions for native frames) appear in this order."""
    frames = iter(stack)
    return all(any(n.search(f) if hasattr(n, "search") else plain(f) == n for f in frames)
               for n in names)


#: The class of tests/e2e/other_profiler.c, and its class that is only notified.
OTHER_CLSID = "{DF9EDC4B-25C1-4925-A3FB-6AB8D3E1F0C5}"
OTHER_NOTIFY_CLSID = "{DF9EDC4B-25C1-4925-A3FB-6AB8D3E1F0C6}"


def other_profiler(folder):
    """A profiler that is not ours, built into FOLDER."""
    path = folder / "lib with blank.so"
    run(["gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-pthread", "-o", path, ROOT / "tests/e2e/other_profiler.c"]).expect()
    return path


#: What is no profiler: how `spoiled` makes it, and the words that refuse it.
NO_PROFILERS = [
    ("text", "is no library"), ("empty", "an empty file"), ("assembly", "an assembly"), ("32", "32-bit library"),
    ("machine", "another processor"), ("cut", "cannot load"), ("program", "a program, no library|cannot load"),
    ("folder", "folder|directory"), ("nothing", "No such file"), ("no class", "no DllGetClassObject"),
    ("missing", "libdoes_not_exist"), ("crash", "Segmentation fault"),
]


def spoiled(tmp_path, library, how):
    path = tmp_path / "spoiled.so"
    data = bytearray(library.read_bytes())
    if how == "text":
        data = b"not a library\n"
    elif how == "empty":
        data = b""
    elif how == "assembly":
        data = b"MZ" + bytes(100)
    elif how == "32":
        data[4] = 1
    elif how == "machine":
        data[18] = 243
    elif how == "cut":
        data = data[:5000]
    elif how == "program":
        return "/bin/true"
    elif how == "folder":
        return tmp_path
    elif how == "nothing":
        return path
    elif how in ("no class", "missing", "crash"):
        source = {"no class": "int x;", "missing": "", "crash": "__attribute__((constructor)) static void f(void) "
                  "{ *(volatile int *)0 = 0; }"}[how]
        flags = ["-Wl,--no-as-needed", "-ldoes_not_exist"] if how == "missing" else []
        if how == "missing":
            run(["gcc", "-shared", "-x", "c", "-o", tmp_path / "libdoes_not_exist.so", "-"], stdin=b"").expect()
        run(["gcc", "-shared", "-fPIC", "-x", "c", "-o", path, "-", f"-L{tmp_path}", *flags],
            stdin=source.encode()).expect()
        if how == "missing":
            (tmp_path / "libdoes_not_exist.so").unlink()
        return path
    path.write_bytes(data)
    return path


def stolen():
    """(Time that a host has taken from this machine's processors, all their time), in ticks."""
    ticks = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[7], sum(ticks)


def undisturbed(test):
    """A comparison with the kernel's clocks of threads is made again, four times at most, if it fails while a host takes
    more than 1 % of the processors away: an interrupt that comes late for that counts the time as the program's, the
    clocks do not."""
    @functools.wraps(test)
    def run_test(*args, **more):
        for left in range(4, -1, -1):
            before = stolen()
            try:
                return test(*args, **more)
            except AssertionError:
                taken, whole = (b - a for a, b in zip(before, stolen()))
                if not left or taken <= 0.01 * whole:
                    raise
    return run_test
