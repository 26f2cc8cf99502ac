# SPDX-License-Identifier: MIT
"""What holds for every whole-program test: made surroundings, an end in any case, and a first failure that is kept even
where a second try goes well. A conftest.py takes this in by `from net.plugin import *`."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from net import surroundings

__all__ = ["pytest_addoption", "pytest_configure", "pytest_collection_modifyitems", "pytest_runtest_setup",
           "pytest_runtest_teardown", "pytest_runtest_logreport"]

#: Whether the promises themselves are judged, under every runtime, as often as it takes: script/soak.
SOAK = bool(os.environ.get("DNPROF_TEST_SOAK"))
#: The gate looks for what is broken, so a tolerance is three times what is promised there.
LOOSE = 1 if SOAK else 3

#: All time-outs come from these two. They are for hangs only: two processors may have ten times as much to do as they can.
SCALE = float(os.environ.get("DNPROF_TEST_PATIENCE", 1))
#: For what has to come.
PATIENCE_S = round(300 * SCALE)
#: For a whole test, which may wait for several such things.
TEST_S = 4 * PATIENCE_S

#: Where first failures go, a file each; script/test names it.
LOG = os.environ.get("DNPROF_TEST_LOG")
#: Where each end is told, if it is to be counted: see rates.py.
TALLY = os.environ.get("DNPROF_TEST_TALLY")


class Hung(AssertionError):
    """Something that did not end, or did not come."""


def descendants(pid):
    """Pids of all children of PID and theirs, PID itself first."""
    found = [pid]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                pass
    return found


def read(path):
    try:
        return path.read_text(errors="replace").replace("\0", " ").strip()
    except OSError as e:
        return e.strerror


def stacks(pid):
    """What each thread of a process is at: the kernel's word, and its native frames where they can be had."""
    folder = Path(f"/proc/{pid}")
    text = f"--- process {pid}: {read(folder / 'cmdline') or read(folder / 'comm')}\n"
    for task in sorted(folder.glob("task/*"), key=lambda p: int(p.name)):
        state = read(task / "stat").rpartition(")")[2].split()[:1]
        text += f"  {task.name} {read(task / 'comm')}: {' '.join(state)} in {read(task / 'wchan')}, call {read(task / 'syscall')}\n"
    try:
        shown = subprocess.run(["eu-stack", "-n", "64", "-p", str(pid)], capture_output=True, text=True, timeout=60, check=False)
        text += shown.stdout or shown.stderr
    except (OSError, subprocess.TimeoutExpired) as e:
        text += f"no frames: {e}\n"
    return text


def all_stacks():
    """Of every process that this one has started, in whatever session it is now."""
    return "".join(map(stacks, descendants(os.getpid())[1:20])) or "no process of the test is left\n"


def pytest_addoption(parser):
    parser.addoption("--limit", type=float, default=TEST_S, help="seconds after which a test has hung")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than half a minute")
    config.addinivalue_line("markers", "alone: nothing else of the tests should run meanwhile")
    config.addinivalue_line("markers", "measured: compares with a tolerance or needs so many of something: see README.md")
    config.addinivalue_line("markers", "soak: for script/soak only, which says how often it holds")
    surroundings.settle()


def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.get_closest_marker("measured"):
            item.add_marker("alone")
    if SOAK:
        return
    left_out = [item for item in items if item.get_closest_marker("soak")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("soak")]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    """Each try of a test has the same time, setting up and cleaning up included."""
    limit = item.config.getoption("--limit")

    def strike(*_):
        signal.setitimer(signal.ITIMER_REAL, limit)  # for what it does on its way out, too
        raise Hung(f"Hung: no end of {item.name} after {limit:.0f} s\n{all_stacks()}")
    signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, limit)
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown():
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


def name_of(test):
    """A file's."""
    return re.sub(r"[^\w.=,-]+", "_", test)[-180:]


#: What a failure says when somebody's process crashed, or did what a sanitizer saw.
HARM = re.compile(r"Sanitizer|core dumped|\bstatus (-\d+|66|1[2-5]\d)\b|\bSIG[A-Z]{3,}")
#: What a failure is: a process did not end or something did not come, a figure was outside of its tolerance, or all else.
KINDS = HUNG, OFF, WRONG = "hung", "off", "wrong"


def kind_of(report):
    said = report.longreprtext
    if re.search("Hung|in vain", said):
        return HUNG
    return OFF if "measured" in report.keywords and not HARM.search(said) else WRONG


def tally(report):
    """A line for each test: how it ended."""
    if report.when == "call" or report.outcome == "failed":
        with open(TALLY, "a", encoding="utf-8") as file:
            end = {"test": report.nodeid, "outcome": report.outcome, "kind": kind_of(report) if report.failed else ""}
            file.write(json.dumps(end) + "\n")


def pytest_runtest_logreport(report):
    """The first failure of each test, whatever becomes of it: its name, then all that it said."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return  # the one that started it hears of it, too
    if TALLY:
        tally(report)
    if not LOG or report.outcome not in ("failed", "rerun"):
        return
    try:
        with open(Path(LOG) / name_of(report.nodeid), "x", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n{report.longreprtext}\n")
            for title, text in report.sections:
                file.write(f"--- {title}\n{text}\n")
    except FileExistsError:
        pass
