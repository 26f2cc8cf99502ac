# SPDX-License-Identifier: MIT
"""Programs with an agent in them that was built with a sanitizer. `script/test` builds it, names it in
DNPROF and the sanitizer's library, which has to be loaded first, in SANITIZER_PRELOAD."""
import os
import re
import time

import pytest

from harness import DNPROF, NEWEST, dnprof, program, record, report, start

PRELOAD = os.environ.get("SANITIZER_PRELOAD")
FINDINGS = re.compile(r"(ERROR|WARNING): \w+Sanitizer|runtime error:")

#: What the thread sanitizer does to a program by itself, without any profiler.
NOT_UNDER_TSAN = {
    "exceptions": "the thread sanitizer does not hand SIGFPE on, so the program dies",
    "signals": "the thread sanitizer runs handlers late and on its own terms, so the program finds them on another stack",
}

pytestmark = pytest.mark.skipif(not PRELOAD, reason="SANITIZER_PRELOAD names no sanitizer's library")


@pytest.mark.parametrize("name", ["threads8", "shortthreads", "exceptions", "native", "unload", "async",
                                  "signals", "fork"])
def test_sanitized(tmp_path, name):
    """Threads that start and end, signals, code that goes away: nothing that the sanitizer would say."""
    if "tsan" in PRELOAD and name in NOT_UNDER_TSAN:
        pytest.skip(NOT_UNDER_TSAN[name])
    result, report = record(tmp_path, program(NEWEST, name, "--seconds", 1), hz=1999, timeout=300,
                            env={"LD_PRELOAD": PRELOAD})
    assert not FINDINGS.search(result.err), result
    assert report.samples > 0


@pytest.mark.parametrize("name", ["threads8", "shortthreads", "unload"])
def test_sanitized_stacks(tmp_path, name):
    """The same while somebody asks for the stacks of all threads again and again."""
    asked = 0
    with start([DNPROF, "run", "-q", "-o", tmp_path / "out.dnp", "--", *program(NEWEST, name, "--seconds", 2)],
               env={"LD_PRELOAD": PRELOAD, "TMPDIR": str(tmp_path)}) as run:
        while run.process.poll() is None:
            for socket in tmp_path.glob("dnprof-*-socket"):
                result = dnprof("stack", "--timeout", 60, socket.name.split("-")[1], env={"LD_PRELOAD": PRELOAD})
                assert not FINDINGS.search(result.err), result
                asked += result.status == 0
            time.sleep(0.05)
        result = run.end(300).expect()
    assert not FINDINGS.search(result.err), result
    assert asked > 0


@pytest.mark.parametrize("name", ["threads8", "shortthreads", "unload"])
def test_snapshots_sanitized(tmp_path, name):
    """Threads that end while others look at them."""
    result, report = record(tmp_path, program(NEWEST, name, "--seconds", 1), hz=97, timeout=300,
                            options=("--engine", "snapshot", "-e", "cpu,wall"), env={"LD_PRELOAD": PRELOAD})
    assert not FINDINGS.search(result.err), result
    assert report.samples > 0


@pytest.mark.parametrize("name", ["wall", "crowd", "async"])
@pytest.mark.parametrize("events", ["wall", "cpu,wall"])
def test_wall_sanitized(tmp_path, name, events):
    """A thread of ours that looks at all others, while these come and go."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", events, "-F", 499, "-o", out, "--",
                    *program(NEWEST, name, "--seconds", 1), timeout=300, env={"LD_PRELOAD": PRELOAD}).expect()
    assert not FINDINGS.search(result.err), result
    assert report(out, options=("-e", "wall")).data["events"]["wall"]["samples"] > 0
