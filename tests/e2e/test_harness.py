# SPDX-License-Identifier: MIT
"""What other tests take for granted."""
import pytest

import harness

from harness import DNPROF, start


def test_child_is_not_dnprofs_own(monkeypatch):
    """`dnprof run` tries its agent in a child first, which has its command line, and none when it has ended."""
    with start(["sleep", "600"]) as run:
        lines = iter([f"{DNPROF} run -- truth cpu"])
        monkeypatch.setattr(harness, "command_line", lambda pid: next(lines, ""))
        with pytest.raises(AssertionError):
            run.child("truth", timeout=0.1)
