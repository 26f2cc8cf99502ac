# SPDX-License-Identifier: MIT
"""
dnprof.exe timeline --live, under Wine: on its console, which it draws on a terminal of Linux's.
"""
import os
import re
import signal
import subprocess
import tty
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import LOOSE, PATIENCE_S, refused, wait_for
from test_windows import ENVIRONMENT, WINDOWS, on_windows, pytestmark, truth, wine  # noqa: F401
from test_windows_attach import Running
from test_windows_timeline import threads, told_by  # noqa: F401
from windows_console import Console

pytestmark = [*pytestmark, pytest.mark.slow]

def live(*options, **how):
    return Console(WINDOWS, "timeline", "--live", *options, **how)


def row(frame, name):
    return next((line for line in frame if line.startswith(name + " ")), None)


def per_second(line):
    return int(re.search(r"(\d+) ms/s$", line)[1])


@pytest.fixture
def app(threads):  # noqa: F811
    """Threads whose shares are known; what they say of themselves when it is told to end."""
    with subprocess.Popen(["wine", threads, "shares"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT}) as p:
        ready, pid = p.stdout.readline().split()
        assert ready == b"ready"

        def end():
            p.stdin.write(b"\n")
            p.stdin.close()
            return told_by(p.stdout.read().decode())
        yield SimpleNamespace(pid=int(pid), end=end)
        if not p.stdin.closed:
            end()


def computes(frame):
    return row(frame, "three") and row(frame, "one") and frame


def test_shares_are_those_of_the_threads(app):
    """What two threads get that take turns, by their own clocks; with their ids, and the sum of them."""
    shown = {"three": 0, "one": 0}
    with live(app.pid) as console:
        console.until(computes, "rows")
        for _ in range(60):
            before = len(console.bytes)
            frame = console.until(lambda f: len(console.bytes) > before and computes(f), "another picture")
            for name in shown:
                shown[name] += per_second(row(frame, name))
        total = int(re.match(rf"threads\.exe \({app.pid}\)  1 s  total (\d+) ms/s  lost 0$", frame[0])[1])
        console.key("q")
        assert console.end() == 0
    told = app.end()
    truth = told["three"].cpu_ns / (told["three"].cpu_ns + told["one"].cpu_ns)
    assert truth == pytest.approx(0.75, abs=0.05), told
    assert shown["three"] / sum(shown.values()) == pytest.approx(truth, abs=0.05), (shown, told)
    assert total == pytest.approx(sum(per_second(row(frame, name)) for name in shown), abs=2) and total <= 1000 * LOOSE
    for name in shown:
        assert int(row(frame, name).split()[1]) == told[name].tid, frame


def test_rows_and_keys(app):
    """A row for each thread that runs; range, freeze and idle threads by keys; it says that it is sampled."""
    with live(app.pid, columns=150) as console:
        frame = console.until(lambda f: computes(f) and all(re.search("[█▌▐]", row(f, name)) for name in ("three", "one")) and f,
                              "bars")
        assert re.match(r"sampled, by looks at the threads' clocks, which go by steps of [\d.]+ ms: Windows", frame[1])
        assert "switches" not in frame[0], "nobody counts them"
        assert not row(frame, "sleeper") and "2 idle hidden" in frame[-1]
        for key, shown in (("1", "0.5 s"), ("3", "3 s"), ("4", "10 s"), ("2", "1 s")):
            console.key(key)
            console.until(lambda f: f"  {shown}  total" in f[0], shown)
        console.key("i")
        frame = console.until(lambda f: row(f, "sleeper") and row(f, "(no name)") and f, "idle threads")
        assert re.fullmatch(r"sleeper +\d+ +0 ms/s", row(frame, "sleeper"))
        console.key(" ")
        console.until(lambda f: "FROZEN" in f[0], "frozen")
        still, before = console.frame()[2:], len(console.bytes)
        console.until(lambda f: len(console.bytes) > before + 5000, "more pictures")
        console.until(lambda f: f[2:] == still, "the same picture")
        console.key(" ")
        console.until(lambda f: "FROZEN" not in f[0] and computes(f) and f[2:] != still, "running again")
        console.key("q")
        assert console.end() == 0


def test_hundreds_of_threads_of_a_net_program(truth):  # noqa: F811
    """Two that compute, by the names that it gave them, and two hundred that sleep, which are hidden or scrolled through."""
    with Running(truth, "idle", "--seconds", 36000) as running, live(running.pid) as console:
        frame = console.until(lambda f: row(f, "busy-0") and row(f, "busy-1") and f, "rows")
        assert frame[0].startswith(f"truth.exe ({running.pid})  1 s  total ") and not row(frame, "sleeper-0")
        assert int(re.match(r"(\d+) idle hidden", console.until(lambda f: "hidden" in f[-1] and f, "the last line")[-1])[1]) >= 200
        console.key("i")
        console.until(lambda f: any(line.startswith("sleeper-") for line in f) and "hidden" not in f[-1], "idle ones")
        first = console.frame()[2]
        console.key("j" * 40)
        console.until(lambda f: f[2].startswith("sleeper-") and f[2] != first, "other ones")
        console.key("q")
        assert console.end() == 0


def test_fewer_lines_than_threads(app):
    with live(app.pid, lines=4) as console:
        console.key("i")
        console.until(lambda f: f[2].endswith("ms/s"), "a row")
        console.key(" ")  # or the rows may change their order meanwhile
        first = console.until(lambda f: "FROZEN" in f[0] and f[2].endswith("ms/s") and f[2], "a row that stays")
        console.key("j")
        second = console.until(lambda f: f[2].endswith("ms/s") and f[2].split()[0] != first.split()[0] and f[2], "the next one")
        console.key("k")
        console.until(lambda f: f[2].split()[0] == first.split()[0] != second.split()[0], "the first one")
        console.key("q")
        assert console.end() == 0


@pytest.mark.parametrize("columns", [9, 14, 30, 47, 300])
def test_any_width(app, columns):
    """Nothing is wrapped: a line for each thread, and the keys in the last one."""
    with live(app.pid, columns=columns) as console:
        frame = console.until(lambda f: f[2].startswith("t") and f[3].startswith("o") and f, "rows")
        assert frame[0].startswith("threads.exe (32)"[:min(columns, 12)]) and not any(frame[4:-1])
        assert "1-4 range"[:columns - 15 if columns > 15 else 0] in frame[-1]
        console.key("q")
        assert console.end() == 0


def test_plain_terminal(app):
    """No characters and no colours that it may not have."""
    with live(app.pid, env={"LC_ALL": "C", "NO_COLOR": "1"}) as console:
        console.until(lambda f: computes(f) and all("#" in row(f, name) for name in ("three", "one")), "bars")
        console.key("q")
        assert console.end() == 0
        assert console.bytes.isascii() and not re.search(rb"\x1b\[[\d;]*[1-9]m", console.bytes)


def test_ctrl_c(app):
    with live(app.pid) as console:
        console.until(computes, "rows")
        console.key("\x03")
        assert console.end() == 0
        assert not computes(console.frame())


def test_end_of_the_process(app):
    with live(app.pid) as console:
        console.until(computes, "rows")
        assert app.end()
        assert console.end() == 0
        assert f"dnprof: process {app.pid} has ended" in console.frame() and not computes(console.frame())


def test_duration(app):
    with live("-d", 0.5, app.pid) as console:
        assert console.end() == 0


def killed(pid):
    """dnprof.exe, which is not started by this process: that of this prefix, and of that process."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[-2:] == [b"--live", str(pid).encode()] and words[0].endswith(b"dnprof.exe") and \
                f"WINEPREFIX={ENVIRONMENT['WINEPREFIX']}".encode() in environment:
            os.kill(int(folder.name), signal.SIGKILL)
            return True
    return False


@pytest.mark.parametrize("how", ["q", "killed"])
def test_what_was_seen_is_there_again(app, tmp_path, how):
    """In a shell: what it had written, and what it writes then. Of one that is killed Wine's console draws the latter alone."""
    script = tmp_path / "shell.bat"
    script.write_text(f"@echo off\r\necho before\r\n\"Z:{WINDOWS}\" timeline --live {app.pid}\r\necho after\r\n")
    with Console("cmd", "/c", script) as console:
        console.until(computes, "rows")
        if how == "q":
            console.key("q")
        else:
            wait_for(lambda: killed(app.pid), "its end")
        assert console.end() == 0
        shown = [line for line in console.frame() if line]
        assert shown == ["before", "after"] if how == "q" else any(line.startswith("after") for line in shown), shown


def test_refused(app, tmp_path):
    refused(on_windows("timeline", "--live", app.pid), 1, "--live draws on a terminal", "record with -o")
    refused(on_windows("timeline", "--live", "cmd.exe"), 2, "--live watches a process that runs")
    refused(on_windows("timeline", "--live", "-o", "x.dnp", app.pid, cwd=tmp_path), 2, "--live writes nothing")
    for option in ("--others", "--wakeups", "--verbose"):
        refused(on_windows("timeline", "--live", option, app.pid), 2, f"{option} is for what is recorded")
    assert not list(tmp_path.iterdir())
    with live(99999996) as console:
        assert console.end() == 1
        assert any("no process 99999996" in line for line in console.frame())
