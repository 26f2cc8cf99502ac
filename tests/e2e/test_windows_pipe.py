# SPDX-License-Identifier: MIT
"""dnprof.exe and the name of an agent's pipe, under Wine: somebody else may have it."""
import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from harness import refused, run, wait_for
from test_windows import ENVIRONMENT, on_windows, pytestmark, report, truth, wine  # noqa: F401
from test_windows_attach import PATIENT, Running

pytestmark = [*pytestmark, pytest.mark.slow]

#: The longest that can be asked for. Who waited so long would hang.
FOR_EVER = ("--timeout", 3600)


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    path = tmp_path_factory.mktemp("pipe") / "pipe.exe"
    run(["x86_64-w64-mingw32-gcc", "-O1", "-Wall", "-Wextra", "-D_WIN32_WINNT=0x0a00", "-o", path,
         Path(__file__).with_name("windows_pipe.c")]).expect()
    return path


@contextlib.contextmanager
def taken(other, pid):
    """The name, by another process."""
    with subprocess.Popen(["wine", other, str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env={**os.environ, **ENVIRONMENT}) as p:
        assert p.stdout.readline().strip() == b"ready"
        yield
        p.communicate(b"\n")
        assert p.returncode == 0


def test_name_that_another_process_has(truth, other, tmp_path):  # noqa: F811
    """It is told who comes first, and no command waits for what cannot be; without it all works as before."""
    with Running(truth, "cpu", "--seconds", 3600) as running:
        with taken(other, running.pid):
            refused(on_windows("stack", *FOR_EVER, running.pid), 1, "was made by another process")
            for command in (("attach",), ("record", "-d", 0.2, "-o", tmp_path / "no.dnp"), ("stack",)):
                refused(on_windows(*command, *FOR_EVER, running.pid), 1, r"DNPROF_E_NO_SOCKET \(0x8bad0002\)")
        assert not list(tmp_path.iterdir())
        wait_for(running.is_clean, "the library to be unloaded")
        on_windows("record", "-q", "-d", 0.5, *PATIENT, "-o", tmp_path / "t.dnp", running.pid).expect()
        assert report(tmp_path / "t.dnp")["complete"]
        on_windows("stack", *PATIENT, running.pid).expect()
        assert running.process.poll() is None
