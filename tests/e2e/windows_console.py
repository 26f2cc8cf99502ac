# SPDX-License-Identifier: MIT
"""Programs on Wine's console, which it draws on a terminal of Linux's."""
import codecs
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time

from harness import PATIENCE_S
from test_windows import ENVIRONMENT

SEQUENCE = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])")
TITLE = re.compile("\x1b\\]0;([^\x07]*)\x07")


class Glass:
    """What a terminal shows that got such a stream, as far as Wine's console speaks to it. A column for each character."""

    def __init__(self, lines, columns):
        self.rows = [[" "] * columns for _ in range(lines)]
        self.line = self.column = 0
        self.titles = []

    def feed(self, text):
        """What is left: a sequence whose end has not come yet."""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self.put(text[at])
                at += 1
            elif found := SEQUENCE.match(text, at):
                self.command(*found.groups())
                at = found.end()
            elif found := TITLE.match(text, at):
                self.titles.append(found[1])
                at = found.end()
            elif re.fullmatch(r"\x1b(\[\??[\d;]*|\][^\x07]*)?", text[at:]):
                break
            else:
                raise AssertionError(f"not understood: {text[at:at + 20]!r}")
        return text[at:]

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            if self.line + 1 < len(self.rows):
                self.line += 1
            else:
                self.rows = [*self.rows[1:], [" "] * len(self.rows[0])]
        elif character == "\b":
            self.column = max(0, self.column - 1)
        elif character >= " ":
            if self.column == len(self.rows[0]):
                self.put("\r")
                self.put("\n")
            self.rows[self.line][self.column] = character
            self.column += 1

    def command(self, numbers, name):
        if name in "mhl":
            return
        first, second = [int(number or 1) for number in (numbers + ";;").split(";")[:2]]
        if name == "H":
            self.line, self.column = min(first, len(self.rows)) - 1, min(second, len(self.rows[0])) - 1
        elif name == "K":
            self.rows[self.line][self.column:] = [" "] * (len(self.rows[0]) - self.column)
        elif name == "C":
            self.column = min(self.column + first, len(self.rows[0]) - 1)
        else:
            raise AssertionError(f"not understood: {numbers}{name}")


class Console:
    """A program on Wine's console, on a terminal of its own, whose size it has from its start on."""

    def __init__(self, *command, lines=20, columns=90, env=None):
        self.glass, self.bytes, self.rest = Glass(lines, columns), b"", ""
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")  # a read may end amid a character
        self.terminal, inner = os.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(inner)
        self.process = subprocess.Popen(
            ["wine", *map(str, command)], stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, **ENVIRONMENT, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})})
        os.close(inner)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.terminal)

    def read(self):
        while select.select([self.terminal], [], [], 0.05)[0]:
            try:
                got = os.read(self.terminal, 65536)
            except OSError:
                return False
            self.bytes += got
            self.rest = self.glass.feed(self.rest + self.decoder.decode(got))
        return True

    def frame(self):
        return ["".join(row).rstrip() for row in self.glass.rows]

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not (found := condition(self.frame())):
            assert self.read(), f"ended before: {what}: {self.frame()}"
            assert time.monotonic() < end, f"{what}: {self.frame()}"
        return found

    def key(self, keys):
        os.write(self.terminal, keys.encode())

    def end(self):
        """Its exit status, and that the terminal is as it was."""
        end = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            self.read()
            assert time.monotonic() < end, self.frame()
        self.read()
        return self.process.returncode
