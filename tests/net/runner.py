# SPDX-License-Identifier: MIT
"""Runs suites of tests so that red is the code's fault: what fails is tried again, alone; what passes then is named with its
first failure, what never passes makes the run red, what hangs is ended, and a suite that dies has failed. Python alone is enough
for it: script/bootstrap comes after."""
import contextlib
import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from net import surroundings
from net.hangs import PATIENCE_S, TEST_S, all_stacks, descendants

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "build/test-log"

#: At once: most tests wait for something half of their time. Those that measure have less company.
WORKERS = min(2 * (os.cpu_count() or 1), 8)
MEASURING = min((os.cpu_count() or 1) + 1, 8)
#: More tries than the first: of a whole-program test, and of a program of Meson's or Node's.
RERUNS, PROGRAM_RERUNS = 3, 2
#: More tests of a suite that failed beside others are no chance.
AGAIN_MAX = 20
#: After which one command of a suite has hung.
COMMAND_S = 8 * PATIENCE_S

#: pytest's statuses.
SOME_FAILED, NO_TEST = 1, 5


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    names: list = dataclasses.field(default_factory=list)  # of those that failed, as far as they are known
    again: list = dataclasses.field(default_factory=list)  # of those that needed another try

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.names += other.names
        self.again += other.again

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def command(argv, env=None, log=None, limit=None):
    """The exit status of a command; its output goes to the terminal, or to LOG. One that hangs is ended with all that it
    has started, and says where it was."""
    with subprocess.Popen([str(a) for a in argv], cwd=ROOT, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                          stdout=log, stderr=subprocess.STDOUT if log else None) as process:
        try:
            return process.wait(limit or COMMAND_S)
        except subprocess.TimeoutExpired:
            print(f"Hung: no end of {' '.join(map(str, argv))} after {limit or COMMAND_S:.0f} s\n{all_stacks()}", flush=True)
            for pid in descendants(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return 124


def at_once(*commands):
    """Whether one of them failed."""
    started = [subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.DEVNULL) for argv in commands]
    return any([process.wait() for process in started])


class Beside:
    """Commands that go on, one after the other, while suites run that leave a processor idle most of the time."""

    def __init__(self):
        self.env = None
        self.pool = ThreadPoolExecutor(1)
        self.statuses, self.running = {}, None

    def add(self, name, commands):
        """Call it before the first suite, whose place is not theirs: that goes with it."""
        self.env = dict(os.environ)
        self.statuses[name] = self.pool.submit(self.run, commands)

    def run(self, commands):
        for argv in commands:
            with subprocess.Popen(["nice", *argv], cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, start_new_session=True) as process:
                self.running = process
                if process.wait():
                    return process.returncode
        return 0

    def status(self, name):
        """When it is done: what the first one that failed ended with."""
        return self.statuses[name].result()

    def end(self):
        self.pool.shutdown(wait=False, cancel_futures=True)
        if self.running and self.running.poll() is None:
            os.killpg(self.running.pid, signal.SIGKILL)


def end_all_of(place):
    """Ends what was started there: with its home or a folder below it in the environment, whatever a test has put in the place
    of the rest. Until there is none: one may start another meanwhile."""
    of_it = re.compile(re.escape(place).encode() + rb"(/|\0|$)")
    found = True
    while found:
        found = False
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # one that has ended has no environment any more
                if of_it.search((entry / "environ").read_bytes()):
                    os.kill(int(entry.name), signal.SIGKILL)
                    found = True


@contextlib.contextmanager
def a_place():
    """A temporary folder and a home of its own for all that is started; what still runs there in the end is ended."""
    with surroundings.Place() as env:
        before = os.environ.copy()
        os.environ.update(env)
        tempfile.tempdir = env["TMPDIR"]  # it is asked for once, otherwise
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            tempfile.tempdir = None
            end_all_of(env["TMPDIR"])


def name_of(test):
    """Its file's, in LOG."""
    return re.sub(r"[^\w.=,-]+", "_", test)[-180:]


def first_failure(test):
    """The line of it that says most."""
    try:
        lines = (LOG / name_of(test)).read_text(errors="replace").splitlines()[1:]
    except OSError:
        return "nothing was said"
    said = [line[1:].strip() for line in lines if line.startswith("E  ")]
    said += [line for line in lines if re.search(r"not ok|^# |Error|signal|Sanitizer", line)] + [line for line in lines if line]
    return said[0][:160] if said else "nothing was said"


def keep_first(test, text):
    with contextlib.suppress(FileExistsError), open(LOG / name_of(test), "x", encoding="utf-8") as file:
        file.write(f"{test}\n{text}\n")


def suites_of(path):
    try:
        root = xml.parse(path).getroot()
    except (OSError, xml.ParseError):
        return []
    return [root] if root.tag == "testsuite" else root.findall("testsuite")


def count_suite(suite, name=lambda case: f"{case.get('classname')} {case.get('name')}"):
    """Meson and pytest write JUnit's format; both count tests, not programs."""
    n = {k: int(suite.get(k, 0)) for k in ("tests", "errors", "failures", "skipped")}
    failed = n["errors"] + n["failures"]
    names = [name(case) for case in suite.iter("testcase")
             if case.find("failure") is not None or case.find("error") is not None]
    return Count(n["tests"] - failed - n["skipped"], failed, n["skipped"], names)


# Whole programs: pytest

def pytest_once(folder, how, env):
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    status = command(["/usr/bin/python3", "-m", "pytest", "-q", "-rN", "-p", "no:cacheprovider", "--durations=10",
                      "--basetemp", folder / "t", f"--junit-xml={report}", *how], env={**(env or {}), "DNPROF_TEST_LOG": str(LOG)})
    total = Count()
    for suite in suites_of(report):
        total.add(count_suite(suite, lambda case: f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}"))
    return status, total


#: The two passes of a suite, by marker: how many more tries a test has where it is, and with the machine to itself.
PASSES = (("not measured", RERUNS, 0), ("measured", 0, RERUNS - 1))
#: The one pass of a suite that measures nothing.
EXACT = (("", RERUNS, 0),)


def pytest(path, which="", env=None, limit=TEST_S, passes=PASSES):
    """Several at once. One that fails is tried again: beside the others where its verdict is exact, then with the machine to
    itself."""
    def run(folder):
        total, statuses, before = Count(), [], set(os.listdir(LOG))
        for kind, beside, alone in passes:
            workers = MEASURING if kind == "measured" else WORKERS
            status, count = pytest_once(
                folder, [path, "-m", kind, "-n", workers, "-k", which, "--reruns", beside, f"--limit={limit}"], env)
            if status == SOME_FAILED and len(count.names) == count.failed <= AGAIN_MAX:
                print(f"== again, alone: {' '.join(count.names)}", flush=True)
                status, last = pytest_once(folder, [*count.names, "--reruns", alone, f"--limit={limit}"], env)
                if status in (0, SOME_FAILED) and last.passed + last.failed == count.failed:
                    count.passed, count.failed, count.names = count.passed + last.passed, last.failed, last.names
            statuses.append(status)
            total.add(count)
        # None of one kind is no failure, none of both is.
        ran = [status for status in statuses if status != NO_TEST]
        caught = [Path(LOG / name).read_text(errors="replace").splitlines()[0] for name in sorted(set(os.listdir(LOG)) - before)]
        total.again = [name for name in caught if name not in total.names]
        return max(ran, default=NO_TEST), total
    return run


# Programs of Meson's, one by one again

def meson_once(build, arguments, env, log):
    """(status, {program: (whether it went well, its tests)})."""
    logs = ROOT / build / "meson-logs"
    for name in (f"{log}.junit.xml", f"{log}.json"):
        (logs / name).unlink(missing_ok=True)
    # Their time limits are for hangs, but for those that Meson has by itself.
    status = command(["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs", "--logbase", log,
                      "--timeout-multiplier", 2, "--num-processes", WORKERS, *arguments], env=env)
    programs = {}
    try:
        for line in (logs / f"{log}.json").read_text().splitlines():
            it = json.loads(line)
            name = it["name"].split(" / ")[-1]
            good = it["result"] in ("OK", "SKIP", "EXPECTEDFAIL")
            programs[name] = (good, Count(passed=good and it["result"] != "SKIP", failed=not good, skipped=it["result"] == "SKIP",
                                          names=[] if good else [name]), it.get("stdout", "") + it.get("stderr", ""))
    except OSError:
        pass
    for suite in suites_of(logs / f"{log}.junit.xml"):  # a program that counts its own tests has a suite of its own
        name = re.split(r" / |\.", suite.get("name"))[-1]
        if name in programs and int(suite.get("tests", 0)):
            good, count, text = programs[name]
            own = count_suite(suite, lambda case, name=name: f"{name} {case.get('name')}")
            if not good and not own.failed:  # it ended badly beside its tests
                own.failed, own.names = 1, [name]
            programs[name] = (good, own, text)
    return status, programs


def meson(*arguments, build="build", env=None):
    def run(_):
        status, programs = meson_once(build, arguments, env, "testlog")
        if not programs:
            return status or 1, Count()
        total = Count()
        for name, (good, count, text) in programs.items():
            if not good:
                keep_first(f"{build} {name}", text)
                for _ in range(PROGRAM_RERUNS):
                    print(f"== again, alone: {name}", flush=True)
                    _, more = meson_once(build, [name], env, "again")
                    good, last, _ = more.get(name, (False, count, ""))
                    if good:
                        total.again.append(f"{build} {name}")
                        count = last
                        break
                    count = last if last.failed else count
            total.add(count)
        return total.failed > 0, total
    return run


# Scripts of Node's own runner

def node_once(argv):
    """Node's own runner ends with `# pass 12` or `ℹ pass 12`, by its version."""
    with tempfile.TemporaryFile("w+") as log:
        status = command(argv, log=log)
        log.seek(0)
        text = log.read()
    last = {name: int(n) for name, n in re.findall(r"^\S+ (pass|fail|cancelled|skipped|todo) (\d+)$", text, re.M)}
    return status, text, Count(last.get("pass", 0), last.get("fail", 0) + last.get("cancelled", 0),
                               last.get("skipped", 0) + last.get("todo", 0))


def node(script, files=None):
    """Each of the files that a glob gives is run for itself, so that it alone is tried again; without one, the whole."""
    def run(_):
        argvs = [["node", script, *([file.name] if file else [])] for file in (sorted(ROOT.glob(files)) if files else [None])]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            firsts = list(pool.map(node_once, argvs))
        total, failed = Count(), False
        for argv, (status, text, count) in zip(argvs, firsts):
            name = " ".join(argv[1:])
            for n in range(1 + PROGRAM_RERUNS):
                if n:
                    status, text, count = node_once(argv)
                if not status and not count.failed:
                    break
                print(f"{text}\n== failed: {name}", flush=True)
                keep_first(name, text)
                count.failed = max(count.failed, 1)
                count.names = [name, *re.findall(r"^\s*not ok \d+ - (.*)$", text, re.M)]
            else:
                n, failed = 0, True
            if n:
                total.again.append(name)
            total.add(count)
        return failed, total
    return run


def checks(_):
    """Each check is a program that says what it found and exits 1, and can test itself. What it says is the same each time."""
    argvs = [["script/format"], *([p, *a] for p in sorted((ROOT / "tools").glob("check-*")) for a in ([], ["--self-test"]))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        statuses = list(pool.map(command, argvs))
    total = Count(passed=statuses.count(0), names=[" ".join(map(str, argv)) for argv, status in zip(argvs, statuses) if status])
    total.failed = len(total.names)
    return total.failed > 0, total


# All of them

def run_suite(name, suite, total):
    print(f"== {name}", flush=True)
    begin = time.monotonic()
    LOG.mkdir(parents=True, exist_ok=True)
    try:
        with a_place():
            status, count = suite(Path(os.environ["TMPDIR"]))
    except Exception as e:  # whatever it was: the others run, and this one is red
        status, count = f"{type(e).__name__}: {e}", Count()
    if status and not count.failed:
        count.failed = 1  # the suite itself: it broke before or beside its tests
        count.names.append(f"the suite {name} itself, with status {status}")
    for test in count.names:
        print(f"FAILED {test}")
    print(f"== {name}: {count} ({time.monotonic() - begin:.0f} s)", flush=True)
    total.add(count)


def conclude(total):
    """Prints what needed another try, what failed, and the sums; the exit status."""
    for test in total.again:
        print(f"AGAIN {test}: {first_failure(test)}")
    for test in total.names:
        print(f"FAILED {test}")
    if total.again or total.names:
        print(f"first failures, whole: {os.path.relpath(LOG, ROOT)}/")
    print(total)
    return int(total.failed > 0 or total.passed == 0)


def run_suites(suites):
    shutil.rmtree(LOG, ignore_errors=True)
    total = Count()
    for name, suite in suites.items():
        run_suite(name, suite, total)
    return conclude(total)
