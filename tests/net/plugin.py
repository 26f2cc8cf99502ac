# SPDX-License-Identifier: MIT
"""What holds for every whole-program test: made surroundings, an end in any case, and a first failure that is kept even
where a second try goes well. A conftest.py takes this in by `from net.plugin import *`."""
import contextlib
import json
import os
import re
import signal
from pathlib import Path

import pytest

from net import surroundings
from net.hangs import TEST_S, Hung, all_stacks
from net.runner import name_of

__all__ = ["pytest_addoption", "pytest_configure", "pytest_collection_modifyitems", "pytest_runtest_setup",
           "pytest_runtest_teardown", "pytest_runtest_logreport"]

#: Whether the promises themselves are judged, under every runtime, as often as it takes: script/soak.
SOAK = bool(os.environ.get("DNPROF_TEST_SOAK"))
#: Whether all suites run, which has to stay under 20 minutes: script/test without a name of one.
SHORT = bool(os.environ.get("DNPROF_TEST_SHORT"))
#: The gate looks for what is broken, so a tolerance is three times what is promised there.
LOOSE = 1 if SOAK else 3

#: Where first failures go, a file each; script/test names it.
LOG = os.environ.get("DNPROF_TEST_LOG")
#: Where each end is told, if it is to be counted: see rates.py.
TALLY = os.environ.get("DNPROF_TEST_TALLY")


def pytest_addoption(parser):
    parser.addoption("--limit", type=float, default=TEST_S, help="seconds after which a test has hung")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: not where all suites run; where its own is named, and in script/soak")
    config.addinivalue_line("markers", "measured: compares with a tolerance or needs so many of something: see README.md")
    config.addinivalue_line("markers", "soak: for script/soak only, which says how often it holds")
    surroundings.settle()


def pytest_collection_modifyitems(config, items):
    def is_left_out(item):
        return not SOAK and item.get_closest_marker("soak") or SHORT and item.get_closest_marker("slow")

    left_out = [item for item in items if is_left_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not is_left_out(item)]


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


def keep_first(test, text):
    """What a test said when it failed for the first time, for script/test to name it."""
    if LOG:
        with contextlib.suppress(FileExistsError), open(Path(LOG) / name_of(test), "x", encoding="utf-8") as file:
            file.write(f"{test}\n{text}\n")


def tried_again(why):
    """For what the running test does once more by itself, instead of failing: it is named as those that needed another try."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if test:
        keep_first(test, f"E  made again: {why}")


def pytest_runtest_logreport(report):
    """The first failure of each test, whatever becomes of it: its name, then all that it said."""
    if os.environ.get("PYTEST_XDIST_WORKER"):
        return  # the one that started it hears of it, too
    if TALLY:
        tally(report)
    if report.outcome in ("failed", "rerun"):
        said = "\n".join(f"--- {title}\n{text}" for title, text in report.sections)
        keep_first(report.nodeid, f"{report.longreprtext}\n{said}")
