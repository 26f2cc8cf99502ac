# SPDX-License-Identifier: MIT
"""What script/test makes of tests that fail once, always, hang, or die."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

from net.hangs import read

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests/net/samples/sample_tests.py"

#: A runner of its own in a process of its own, with its log elsewhere.
RUN = """
import sys
from pathlib import Path
from net import runner, surroundings
surroundings.settle()
runner.LOG = Path(sys.argv[1])
runner.ROOT = Path(sys.argv[2])
runner.WORKERS = runner.MEASURING = 1
suites = {"sample": %s}
sys.exit(runner.run_suites(suites))
"""


def ran(tmp_path, suite, env=None, wrapper=(), **more):
    """(exit status, lines) of a runner."""
    argv = [*wrapper, sys.executable, "-c", RUN % suite, tmp_path / "log", more.pop("root", ROOT)]
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False, cwd=ROOT, timeout=300,
                          env={**{k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}, "PYTHONPATH": str(ROOT / "tests"), "DNPROF_TEST_MARKS": str(tmp_path / "marks"),
                               **(env or {})}, **more)
    return done.returncode, done.stdout.splitlines()


def sample(name, limit=60, passes="EXACT"):
    return f'runner.pytest("{SAMPLES.relative_to(ROOT)}", "{name}", limit={limit}, passes=runner.{passes})'


def named(lines, word):
    return [line for line in lines if line.startswith(word)]


@pytest.mark.parametrize("short, passed", [("", 2), ("1", 1)])
def test_slow_ones_are_left_out_where_all_suites_run(tmp_path, short, passed):
    status, lines = ran(tmp_path, sample("good or long"), {"DNPROF_TEST_SHORT": short})
    assert (status, lines[-1]) == (0, f"{passed} passed, 0 failed, 0 skipped")


def test_good_one_is_passed_and_not_named(tmp_path):
    status, lines = ran(tmp_path, sample("good", passes="PASSES"))
    assert (status, lines[-1]) == (0, "1 passed, 0 failed, 0 skipped")
    assert not named(lines, "AGAIN") and not named(lines, "FAILED")


def test_one_that_fails_once_is_passed_and_named(tmp_path):
    status, lines = ran(tmp_path, sample("fails_once"))
    assert (status, lines[-1]) == (0, "1 passed, 0 failed, 0 skipped")
    again, = named(lines, "AGAIN")
    assert "sample_tests.py::test_fails_once: " in again and "once is chance" in again
    kept, = (tmp_path / "log").iterdir()
    assert "assert 0 > 0" in kept.read_text()


def test_one_that_measures_is_tried_again_with_the_machine_to_itself(tmp_path):
    status, lines = ran(tmp_path, sample("figure_is_off_twice", passes="PASSES"))
    assert (status, lines[-1]) == (0, "1 passed, 0 failed, 0 skipped")
    assert "test_figure_is_off_twice: " in named(lines, "AGAIN")[0]
    assert len(list((tmp_path / "marks").iterdir())) == 3


def test_one_that_always_fails_is_red(tmp_path):
    status, lines = ran(tmp_path, sample("fails_always or good"))
    assert (status, lines[-1]) == (1, "1 passed, 1 failed, 0 skipped")
    assert not named(lines, "AGAIN") and "test_fails_always" in named(lines, "FAILED")[-1]
    assert "never is not" in next((tmp_path / "log").iterdir()).read_text()


def test_one_that_cannot_bear_company_is_passed_and_named(tmp_path):
    status, lines = ran(tmp_path, sample("passes_alone_only"))
    assert (status, lines[-1]) == (0, "1 passed, 0 failed, 0 skipped")
    assert "not beside others" in named(lines, "AGAIN")[0]


def test_one_that_hangs_is_ended_named_and_red(tmp_path):
    status, lines = ran(tmp_path, sample("hangs", 1))
    assert (status, lines[-1]) == (1, "0 passed, 1 failed, 0 skipped")
    assert "test_hangs" in named(lines, "FAILED")[-1]
    kept = next((tmp_path / "log").iterdir()).read_text()
    assert "Hung: no end of test_hangs after 1 s" in kept
    assert ": sleep 600" in kept and "clock_nanosleep" in kept and "SigBlk: " in kept, "where its processes were"


def test_one_that_kills_its_worker_is_red(tmp_path):
    status, lines = ran(tmp_path, sample("kills_its_worker or good"))
    assert status == 1 and int(lines[-1].split(", ")[1].split()[0]) >= 1, lines


def test_nothing_outlives_its_suite(tmp_path):
    assert ran(tmp_path, sample("leaves_processes"))[0] == 0
    left = (tmp_path / "marks").read_text().split()
    assert len(left) == 3
    assert not [pid for pid in left if "sleep" in read(Path(f"/proc/{pid}/cmdline"))]


@pytest.mark.parametrize("suite, words", [
    ('lambda _: (3, runner.Count(passed=5))', "with status 3"),
    ('lambda _: 1 / 0', "ZeroDivisionError"),
    ('lambda _: (runner.command(["sleep", "600"], limit=0.5), runner.Count())', "with status 124"),
    ('runner.pytest("tests/net/nowhere")', "with status 4"),
    ('runner.meson(build="nowhere")', "with status"),
    ('runner.node("nowhere.mjs")', "nowhere.mjs"),
])
def test_a_suite_that_dies_has_failed(tmp_path, suite, words):
    status, lines = ran(tmp_path, suite)
    assert status == 1 and " 1 failed" in lines[-1], lines
    assert words in named(lines, "FAILED")[-1]


def test_each_suite_has_a_place_of_its_own(tmp_path):
    say = 'lambda _: (print(runner.tempfile.gettempdir(), runner.tempfile.TemporaryFile() and ""), (0, runner.Count(passed=1)))[1]'
    status, lines = ran(tmp_path, f'{say}, "next": {say}')
    places = [line.strip() for line in lines if line.startswith("/tmp/d")]
    assert status == 0 and len(set(places)) == 2 and not any(Path(place).exists() for place in places), lines


def test_what_a_suite_needs_is_made_beside_others(tmp_path):
    """In order; one that fails makes its suite red, and no other."""
    say = f'["sh", "-c", "echo %s >>{tmp_path}/made"]'
    suite = f"""(beside := runner.Beside(), [beside.add(*it) for it in (
        ("a", [{say % 1}, {say % 2}]), ("b", [["sh", "-c", "exit 7"], {say % 3}]), ("c", [{say % 4}]))],
        lambda _: (beside.status("a"), runner.Count(passed=1)))[2],
        "b": lambda _: (beside.status("b"), runner.Count()), "c": lambda _: (beside.status("c"), runner.Count(passed=1))"""
    status, lines = ran(tmp_path, suite)
    assert (status, lines[-1]) == (1, "2 passed, 1 failed, 0 skipped"), lines
    assert "suite b itself, with status 7" in named(lines, "FAILED")[-1]
    assert (tmp_path / "made").read_text().split() == ["1", "2", "4"]


PROGRAM = """
project('sample', 'c')
test('good', find_program('true'))
test('once', find_program('sh'), args: ['-c', 'echo first words; test -e "$0" || { touch "$0"; exit 1; }', meson.current_build_dir() / 'mark'])
test('always', find_program('sh'), args: ['-c', 'echo "1..2"; echo "ok 1 a"; echo "not ok 2 b"'], protocol: 'tap', suite: 'some')
"""


def test_programs(tmp_path):
    """One that fails once is tried alone; of one that counts its tests each counts."""
    (tmp_path / "meson.build").write_text(PROGRAM)
    subprocess.run(["meson", "setup", tmp_path / "build", tmp_path], check=True, capture_output=True)
    status, lines = ran(tmp_path, 'runner.meson()', root=tmp_path)
    assert (status, lines[-1]) == (1, "3 passed, 1 failed, 0 skipped"), lines
    again, = named(lines, "AGAIN")
    assert again == "AGAIN build once: first words"
    assert "always 2 b" in named(lines, "FAILED")[-1]


WRAPPERS = [
    ("setsid",), ("prlimit", "--nofile=500:20000"), ("nohup",), ("env", "--ignore-signal=HUP,INT,QUIT,TTIN"),
    ("env", "--block-signal=HUP,INT,QUIT"), ("env", "DOTNET_gcServer=1", "LD_LIBRARY_PATH=/tmp", "LANG=de_DE"),
    ("sh", "-c", 'umask 077; exec "$@" <&-', "sh"),
]


@pytest.mark.parametrize("wrapper", [
    (), sum(WRAPPERS, ()), *(pytest.param(wrapper, marks=pytest.mark.slow) for wrapper in WRAPPERS),
])
def test_surroundings_are_made(tmp_path, wrapper):
    status, lines = ran(tmp_path, sample("surroundings"), wrapper=wrapper)
    assert (status, lines[-1]) == (0, "1 passed, 0 failed, 0 skipped"), lines


def test_begins_where_nothing_is_installed():
    """script/bootstrap installs what is missing, so what script/test needs before is Python's own."""
    said = subprocess.run(["/usr/bin/python3", "-S", "script/test", "nonsense"], capture_output=True, text=True, check=False,
                          cwd=ROOT, timeout=60)
    assert said.returncode == 1 and said.stderr.startswith("test: no suite is called nonsense"), said
