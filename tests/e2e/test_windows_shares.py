# SPDX-License-Identifier: MIT
"""
Where time went, of programs that measure it themselves, by dnprof.exe under Wine: the tests of Linux's, but for those of clocks of
threads, of which Wine has no good ones.
"""
import pytest

from harness import report, undisturbed
from test_shares import test_methods_agree_with_tree, test_replaced_while_it_runs, test_stacks_as_deep_as_is_asked_for  # noqa: F401
from test_wall import test_each_thread_counts_the_same, test_shares_of_time, test_threads_that_come_and_go  # noqa: F401
from test_windows import check_shares, on_windows, pytestmark as windows_alone, record, truth, wine  # noqa: F401
from test_windows_attach import PATIENT, Running
from windows import instead, script  # noqa: F401

#: Where all suites run, test_windows.py has the shares of known methods.
pytestmark = [*windows_alone, pytest.mark.slow]


@pytest.mark.measured
@undisturbed
def test_shares_of_time_that_passes(truth, tmp_path):  # noqa: F811
    told, _ = record(truth, tmp_path / "t.dnp", "cpu", "--work", 1400, options=("-e", "wall", "-F", 997))
    check_shares(told, report(tmp_path / "t.dnp", options=("-e", "wall")).data, "wall")


@pytest.mark.measured
@pytest.mark.parametrize("event", ["cpu", "wall"])
@undisturbed
def test_shares_of_a_program_that_runs_already(truth, tmp_path, event):  # noqa: F811
    """It does the same all the time, so that the part that is recorded has the shares of all."""
    with Running(truth, "cpu", "--work", 2000) as running:
        ended = on_windows("record", "-q", *PATIENT, "-e", event, "-F", 997, "-o", tmp_path / "t.dnp", running.pid)
        told = running.end()
    assert ended.status == 0, ended
    check_shares(told, report(tmp_path / "t.dnp", options=("-e", event)).data, event)
