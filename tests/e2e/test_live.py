# SPDX-License-Identifier: MIT
"""dnprof timeline --live, on terminals of many sizes."""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from pathlib import Path

import pytest

from harness import DNPROF, PATIENCE_S, clean_environment, dnprof, refused, run, start
from net import surroundings
from test_doctor import refuse_perf_events

LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture(scope="module")
def threads(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "threads"
    run(["gcc", "-O1", "-pthread", "-D_GNU_SOURCE", "-o", path, Path(__file__).with_name("threads.c")]).expect()
    return path


@pytest.fixture
def app(threads):
    with start([threads, 6, 600]) as running:
        yield running.process


class Screen:
    """The program on a terminal of its own."""

    def __init__(self, *options, lines=20, columns=90, env=None, before=None):
        self.shown = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")  # a read may end amid a character
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            surroundings.default_signals()
            if before:
                before()
            os.execve(DNPROF, [str(DNPROF), "timeline", "--live", *map(str, options)],
                      {**clean_environment(), "TERM": "xterm", "LANG": "C.UTF-8", **(env or {})})
        self.size(lines, columns)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.terminal)

    def size(self, lines, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.columns = columns

    def read(self):
        while select.select([self.terminal], [], [], 0.05)[0]:
            try:
                self.shown += self.decoder.decode(os.read(self.terminal, 65536))
            except OSError:
                return False
        return True

    def frame(self):
        """The last whole picture, as lines."""
        frames = self.shown.split("\x1b[H")
        return [] if len(frames) < 3 else CODES.sub("", frames[-2]).replace("\r", "").split("\n")

    def until(self, condition, what, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while not (found := condition(self.frame())):
            assert self.read(), f"ended before: {what}: {self.shown[-2000:]!r}"
            assert time.monotonic() < end, f"{what}: {self.shown[-2000:]!r}"
        return found

    def key(self, keys):
        os.write(self.terminal, keys.encode())

    def mode(self):
        return termios.tcgetattr(self.terminal)[3] & (termios.ECHO | termios.ICANON)

    def end(self, seconds=PATIENCE_S):
        """Its exit status, when all is as it was before."""
        end = time.monotonic() + seconds
        while self.read():
            assert time.monotonic() < end
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read()
                break
        else:
            _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)


def row(frame, name):
    return next((line for line in frame if line.startswith(name + " ")), None)


def drawn(frame):
    return all(row(frame, f"w{i}") for i in range(6))


def bars(frame):
    return [row(frame, f"w{i}")[:-10] for i in range(6)]


def test_rows_keys_and_end(app):
    """A row for each thread that runs; range, freeze and idle threads by keys; nothing is left."""
    with Screen(app.pid) as screen:
        screen.until(drawn, "rows")
        frame = screen.until(lambda f: drawn(f) and all("█" in b or "▌" in b or "▐" in b for b in bars(f)) and f, "bars")
        assert f"threads ({app.pid})  1 s  total " in frame[0] and "switches/s" in frame[0]
        assert re.fullmatch(r"w3 +\d+ .* +\d+ ms/s", row(frame, "w3")), frame
        assert screen.mode() == 0
        for key, shown in (("1", "0.5 s"), ("3", "3 s"), ("4", "10 s"), ("2", "1 s")):
            screen.key(key)
            screen.until(lambda f: f and f"  {shown}  total" in f[0], shown)
        screen.until(lambda f: any("1 idle hidden" in line for line in f), "the idle thread's absence")
        screen.key("i")
        screen.until(lambda f: drawn(f) and row(f, "threads"), "the idle thread")
        screen.key(" ")
        screen.until(lambda f: f and "FROZEN" in f[0], "frozen")
        still = bars(screen.frame())
        before = len(screen.shown)
        screen.until(lambda f: len(screen.shown) > before + 5000, "more frames")
        assert bars(screen.frame()) == still
        screen.key(" ")
        screen.until(lambda f: drawn(f) and "FROZEN" not in f[0] and bars(f) != still, "running again")
        screen.key("q")
        assert screen.end() == 0
        assert screen.shown.endswith(LEAVE) and screen.mode()


@pytest.mark.parametrize("columns", [1, 9, 14, 30, 47, 80, 300])
def test_any_width(app, columns):
    with Screen(app.pid, columns=columns) as screen:
        def fits(frame):
            return len(frame) > 5 and all(len(line) <= max(columns, 1) for line in frame)
        # What was drawn before the size was known does not count.
        screen.until(fits, f"lines of {columns} columns")
        screen.key("q")
        assert screen.end() == 0


def test_resized(app):
    """More and less room; with less lines than threads one scrolls."""
    with Screen(app.pid) as screen:
        screen.until(drawn, "rows")
        screen.size(6, 50)
        screen.until(lambda f: f and len([x for x in f if "ms/s" in x and "total" not in x]) == 3 and
                     all(len(line) <= 50 for line in f), "three rows")
        first = [line.split()[0] for line in screen.frame()[2:5]]
        screen.key("j")
        screen.until(lambda f: len(f) > 4 and f[2].split()[:1] == first[1:2], "scrolled")
        screen.size(30, 120)
        screen.until(lambda f: drawn(f) and len(row(f, "w0")) == 120, "wide rows")
        screen.key("q")
        assert screen.end() == 0


@pytest.mark.parametrize("how", ["\x03", signal.SIGTERM, signal.SIGHUP])
def test_other_ends(app, how):
    with Screen(app.pid) as screen:
        screen.until(drawn, "rows")
        if how == "\x03":
            screen.key(how)
        else:
            os.kill(screen.pid, how)
        assert screen.end() == 0
        assert screen.shown.endswith(LEAVE) and screen.mode()


def test_end_of_the_process():
    with start(["sleep", "600"]) as sleeper, Screen(sleeper.process.pid) as screen:
        screen.until(len, "a picture")
        sleeper.process.kill()
        assert screen.end() == 0
        assert screen.shown.rpartition(LEAVE)[2].strip() == f"dnprof: process {sleeper.process.pid} has ended"
        assert screen.mode()


def test_duration(app):
    with Screen("-d", 0.5, app.pid) as screen:
        assert screen.end() == 0
        assert LEAVE in screen.shown


def test_where_perf_events_are_forbidden(app):
    """What is looked at now and then is called so."""
    with Screen(app.pid, before=refuse_perf_events, columns=200) as screen:
        frame = screen.until(lambda f: drawn(f) and f, "rows")
        assert frame[1].startswith("sampled, by looks at the threads' clocks")
        screen.key("q")
        assert screen.end() == 0


def test_plain_terminal(app):
    """No characters and no colours that it may not have."""
    with Screen(app.pid, env={"LANG": "C", "NO_COLOR": "1"}) as screen:
        screen.until(lambda f: drawn(f) and all("#" in b for b in bars(f)), "bars")
        assert screen.shown.isascii() and "\x1b[3" not in screen.shown.replace("\x1b[30;1H", "")
        screen.key("q")
        assert screen.end() == 0


def test_last_column_is_not_erased(app):
    """Where lines are not wrapped the cursor stays on it: erasing to the line's end would take it, too."""
    with Screen(app.pid, columns=80) as screen:
        screen.until(lambda f: drawn(f) and len(row(f, "w0")) == 80, "rows that fill their lines")
        screen.key("q")
        assert screen.end() == 0
        assert "ms/s\r" in screen.shown and "ms/s\x1b[K" not in screen.shown


def test_refused(app):
    refused(dnprof("timeline", "--live", app.pid), 1, "--live draws on a terminal")
    refused(dnprof("timeline", "--live", "true"), 2, "--live watches a process that runs")
    refused(dnprof("timeline", "--live", "-o", "x.dnp", app.pid), 2, "--live writes nothing")
    for option in ("--others", "--wakeups", "--verbose"):
        refused(dnprof("timeline", "--live", option, app.pid), 2, f"{option} is for what is recorded")
    with Screen(2 ** 22 + 1) as screen:
        assert screen.end() == 1
        assert "there is no process 4194305" in screen.shown and LEAVE not in screen.shown
