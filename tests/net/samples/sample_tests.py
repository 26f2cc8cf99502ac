# SPDX-License-Identifier: MIT
"""What test_runner.py has the runner run: never collected by itself, as its name says."""
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest


def tried():
    """How often this was called: tries of a test are in processes of their own, or the same."""
    marks = Path(os.environ["DNPROF_TEST_MARKS"])
    marks.mkdir(exist_ok=True)
    n = len(list(marks.iterdir()))
    (marks / str(n)).touch()
    return n


def test_good():
    pass


@pytest.mark.slow
def test_takes_long():
    pass


def test_fails_once():
    assert tried() > 0, "once is chance"


@pytest.mark.measured
def test_figure_is_off_twice():
    assert tried() > 1 and not os.environ.get("PYTEST_XDIST_WORKER"), "twice is chance"


def test_fails_always():
    assert False, "never is not"


def test_passes_alone_only():
    assert not os.environ.get("PYTEST_XDIST_WORKER"), "not beside others"


def test_hangs():
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as child:
        try:
            time.sleep(600)
        finally:
            child.kill()


def test_kills_its_worker():
    os.kill(os.getpid(), signal.SIGKILL)


def test_leaves_processes(tmp_path):
    """With a temporary folder of the runner's, of the test's own, and of somebody else's."""
    left = [subprocess.Popen(["sleep", "601"], start_new_session=True, env={**os.environ, **own})
            for own in ({}, {"TMPDIR": str(tmp_path)}, {"TMPDIR": "/tmp"})]
    Path(os.environ["DNPROF_TEST_MARKS"]).write_text(" ".join(str(child.pid) for child in left))


def test_surroundings():
    for name in ("SIGHUP", "SIGQUIT", "SIGTERM", "SIGTTIN", "SIGTTOU"):
        assert signal.getsignal(getattr(signal, name)) == signal.SIG_DFL, name
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert os.umask(0o022) == 0o022
    assert "DOTNET_gcServer" not in os.environ and "LD_LIBRARY_PATH" not in os.environ and os.environ["LANG"] == "C.UTF-8"
    # A child begins with nothing ignored, nothing blocked, and something behind each of its three descriptors.
    status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
    masks = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Sig"))
    assert int(masks["SigIgn"], 16) == 0 and int(masks["SigBlk"], 16) == 0, masks
    assert Path(os.environ["TMPDIR"]).is_dir() and os.environ["TMPDIR"] != "/tmp" and os.environ["HOME"] != "/root"
    for fd in range(3):
        os.fstat(fd)
