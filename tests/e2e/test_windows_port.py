# SPDX-License-Identifier: MIT
"""dnprof.exe attach to programs that wait for a word before they begin, under Wine: at a port that is made for them, or at their own."""
import contextlib
import os
import re
import signal
import subprocess
import uuid

import pytest

from harness import PATIENCE_S, refused, wait_for
from test_windows import ENVIRONMENT, WINDOWS, on_windows, pytestmark, report, seen, truth, wine  # noqa: F401
from test_windows_attach import PATIENT, Running

pytestmark = [*pytestmark, pytest.mark.slow]

CPU = ("cpu", "--seconds", 3600)


@pytest.fixture
def port():
    return f"port-{uuid.uuid4().hex}"


@contextlib.contextmanager
def waiting(port, *options):
    """dnprof.exe at the port."""
    argv = ["wine", WINDOWS, "attach", "--port", port, *(options or PATIENT)]
    with subprocess.Popen(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **ENVIRONMENT}) as p:
        try:
            yield p
        finally:
            p.kill()


def begun(process):
    """The process that it says has begun."""
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    return int(re.fullmatch(r"process (\d+) has begun, with the profiler\s*", out).group(1))


def comes_to(truth, port, *arguments, options="", **more):  # noqa: F811
    return Running(truth, *(arguments or CPU), env={"DOTNET_DiagnosticPorts": port + options}, by_id=False, **more)


def test_port(truth, tmp_path, port):  # noqa: F811
    """The program waits for it, and begins with the agent; what is recorded then is all of it."""
    with waiting(port) as attach, comes_to(truth, port) as running:
        pid = begun(attach)
        here = running.seen()
        assert here["pid"] == pid and here["agent"]["state"] == "attached", here
        on_windows("start", "-o", tmp_path / "t.dnp", *PATIENT, pid).expect()
        wait_for(lambda: running.seen()["agent"].get("samples", 0) > 5, "samples")
        on_windows("stop", *PATIENT, pid).expect()
    read = report(tmp_path / "t.dnp")
    assert read["complete"] and seen(read, "Truth.Cpu.Run") > 0


def test_first_line(truth, tmp_path, port):  # noqa: F811
    """With the options of a recording, nothing is missed: calls are counted from the first on."""
    def main():
        """The method, as soon as a copy of the recording has it."""
        on_windows("dump", "-q", *PATIENT, "-o", tmp_path / "t.dnp", pid).expect()
        return [m for m in report(tmp_path / "t.dnp")["methods"] if m["name"].startswith("Truth.Program.Main(")]

    with waiting(port, *PATIENT, "--client-data", f"dir=Z:{tmp_path};event=trace") as attach, comes_to(truth, port):
        pid = begun(attach)
        found, = wait_for(main, "the program's first method")
        assert found["calls"] == 1


def test_results_and_environment_are_those_without(truth, port):  # noqa: F811
    """`env` prints what it finds of ours, but for what tests have. It may have ended before dnprof.exe has looked."""
    with waiting(port) as attach, comes_to(truth, port, "env") as running:
        _, err = attach.communicate(timeout=PATIENCE_S)
        assert attach.returncode == 0 or "it ended meanwhile" in err, err
        out, err = running.process.communicate(timeout=PATIENCE_S)
        assert running.process.returncode == 0 and set(out.split()) <= {b"DNPROF_TEST_LOG"}, (out, err)


def test_port_comes_late(truth, port):  # noqa: F811
    """The program was there first; whoever asks it meanwhile is told what it waits for."""
    with comes_to(truth, port) as running:
        pid = wait_for(running.number, "the program to be seen")
        refused(on_windows("attach", "--timeout", 3, pid), 1, "waits at its diagnostic port", port, "--port")
        with waiting(port) as attach:
            assert begun(attach) == pid


def test_many_at_one_port(truth, port):  # noqa: F811
    """Each is served once, whoever comes first."""
    with comes_to(truth, port), comes_to(truth, port), comes_to(truth, port):
        pids = set()
        for _ in range(3):
            with waiting(port) as attach:
                pids.add(begun(attach))
        assert len(pids) == 3


def test_own_pipe(truth):  # noqa: F811
    """It waits at its own pipe; being asked to attach is the word to begin."""
    with Running(truth, *CPU, env={"DOTNET_DefaultDiagnosticPortSuspend": "1"}) as running:
        assert f"process {running.pid} has begun, with the profiler" in on_windows("attach", *PATIENT, running.pid).expect().out
        assert running.seen()["agent"]["state"] == "attached"
        refused(on_windows("attach", *PATIENT, running.pid), 1, "there already|is in it")


def test_without_waiting(truth, port):  # noqa: F811
    with comes_to(truth, port, options=",nosuspend") as running:
        refused(on_windows("attach", "--port", port, *PATIENT), 1, "has begun without waiting", "by its id")
        pid = wait_for(running.number, "the program to be seen")
        assert f"attached to process {pid}" in on_windows("attach", *PATIENT, pid).expect().out


def test_profiler_that_fails(truth, port):  # noqa: F811
    """The runtime loads it and says nothing; that it is not there is seen all the same. The program goes on."""
    with comes_to(truth, port) as running:
        pid = wait_for(running.number, "the program to be seen")
        other = on_windows("attach", "--port", port, "--profiler-clsid", "{AF9EDC4B-25C1-4925-A3FB-6AB8D3E1F0C5}", "--profiler-path",
                           WINDOWS.parent / "dnprof-timeline.dll", "--timeout", 30)
        refused(other, 1, f"cannot attach to process {pid}", "not seen in it")
        assert running.process.poll() is None


def test_nobody_comes(truth, port):  # noqa: F811
    """Nothing is left of the port: it can be made again."""
    for _ in range(2):
        refused(on_windows("attach", "--port", port, "--timeout", 0.5), 1, "no program came", "DOTNET_DiagnosticPorts")
    with waiting(port) as attach, comes_to(truth, port):
        begun(attach)


def is_taken(port):
    """Which takes it for a moment, where it is not."""
    return "another program waits there" in on_windows("attach", "--port", port, "--timeout", 0.1).err


@contextlib.contextmanager
def there(port):
    """dnprof.exe, when it waits. Who asks whether it does may have been in its way."""
    for _ in range(20):
        with waiting(port) as attach:
            wait_for(lambda attach=attach: attach.poll() is not None or is_taken(port), "the port")
            if attach.poll() is None:
                yield attach
                return
    raise AssertionError("it does not wait")


def test_waiting_is_given_up(port):
    """By ctrl-C; nothing is left of the port."""
    with there(port) as attach:
        attach.send_signal(signal.SIGINT)
        err = attach.communicate(timeout=PATIENCE_S)[1]
        assert attach.returncode and "waiting at the port was interrupted" in err, err
    assert not is_taken(port)


def test_who_waits_is_killed(truth, port):  # noqa: F811
    """The program that comes then waits for the next one."""
    with there(port) as attach:
        attach.kill()
    with comes_to(truth, port), waiting(port) as attach:
        begun(attach)


@pytest.mark.parametrize("name, words", [
    (r"\\.\pipe\port", "without"), (r"C:\port", "no backslash"), ("a,nosuspend", "comma"), ("a;b", "semicolon"),
    ("a b", "blank"), ("日本", "ASCII"), ("", "1 to 246"), ("x" * 247, "1 to 246"),
])
def test_names_that_cannot_be(name, words):
    refused(on_windows("attach", "--port", name, *PATIENT), 1, "cannot wait at the port", words)


def test_longest_name(truth):  # noqa: F811
    name = (uuid.uuid4().hex * 8)[:246]
    with waiting(name) as attach, comes_to(truth, name):
        begun(attach)


def test_port_and_process():
    refused(on_windows("attach", "--port", "x", "1"), 2, "name no process")
    refused(on_windows("attach", "--port", "x", "--notification"), 2, "--notification")
