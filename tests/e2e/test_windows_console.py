# SPDX-License-Identifier: MIT
"""What dnprof.exe says at a console, under Wine, beside what the program writes there."""
import re

import pytest

from harness import run
from test_windows import ENVIRONMENT, WINDOWS, pytestmark, truth, windows_path, wine  # noqa: F401
from test_windows_attach import PATIENT, Running
from windows_console import Console

pytestmark = [*pytestmark, pytest.mark.slow]

#: Wine tells of other processes' CPU time that it is none.
SAMPLES = r"dnprof: \d+ s, [1-9]\d* samples, lost \d+, CPU \d+\.\d s"
CALLS = r"dnprof: \d+ s, calls are recorded, CPU \d+\.\d s"


def in_shell(tmp_path, *command):
    """In one whose window has a name; what stood in its title by the end, and on it."""
    def word(it):
        return str(it).replace("/", "\\") if str(it).startswith("/") else str(it)
    path = tmp_path / "shell.bat"
    path.write_text("@echo off\r\ntitle as before\r\n" + " ".join(f'"{word(it)}"' for it in (f"Z:{WINDOWS}", *command)) + "\r\n")
    with Console("cmd", "/c", path, columns=200, env=ENVIRONMENT) as console:
        assert console.end() == 0, console.frame()
        return console.glass.titles, "".join(console.frame())


@pytest.mark.parametrize("event, pattern", [("cpu", SAMPLES), ("trace", CALLS)])
def test_progress_of_a_program(truth, tmp_path, event, pattern):  # noqa: F811
    """In the title of the window, which is as before then: on the screen is what the program wrote, and how it ended."""
    titles, shown = in_shell(tmp_path, "run", "-e", event, "-o", tmp_path / "t.dnp", "--", truth, "cpu", "--work", 700)
    assert titles[0] == titles[-1] == "as before" and any(re.fullmatch(pattern, title) for title in titles), titles
    assert re.match(r'\{"work":700,.*\}dnprof: Z:\\', shown) and not re.search(r"dnprof: \d+ s, ", shown), shown


def test_progress_of_a_process(truth, tmp_path):  # noqa: F811
    with Running(truth, "cpu", "--seconds", 3600) as running:
        titles, shown = in_shell(tmp_path, "record", *PATIENT, "-d", 3, "-o", tmp_path / "t.dnp", running.pid)
    assert titles[0] == titles[-1] == "as before" and any(re.fullmatch(SAMPLES, title) for title in titles), titles
    assert shown.startswith("dnprof: Z:\\"), shown


def test_no_progress_when_quiet(truth, tmp_path):  # noqa: F811
    titles, shown = in_shell(tmp_path, "run", "-q", "-o", tmp_path / "t.dnp", "--", truth, "cpu", "--work", 300)
    assert titles == ["as before"] and "dnprof" not in shown, (titles, shown)


#: Sets what it is told, if anything, and says what there is.
PAGE = b"""#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
int main(int argc, char **argv) { if (argc > 1) SetConsoleOutputCP(atoi(argv[1])); printf("%u\\n", GetConsoleOutputCP()); return 0; }
"""


def test_code_page_is_the_programs(tmp_path):
    """By it .NET chooses how letters are written, to files, too. One that a program has set stays."""
    script, told, page = tmp_path / "shell.bat", tmp_path / "told.txt", tmp_path / "page.exe"
    run(["x86_64-w64-mingw32-gcc", "-x", "c", "-o", page, "-"], stdin=PAGE).expect()
    page = windows_path(page)
    recorded = f"{windows_path(WINDOWS)} run --children -o {windows_path(tmp_path)}\\t.dnp -- {page}"
    script.write_text("@echo off\r\n" + "".join(f"{command} >>{windows_path(told)}\r\n" for command in (
        f"{page} 850", recorded, page, f"{recorded} 437", page)))
    with Console("cmd", "/c", script, columns=200) as console:
        console.end()
    assert told.read_text().split() == ["850", "850", "850", "437", "437"]
