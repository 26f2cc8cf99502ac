# SPDX-License-Identifier: MIT
"""Programs with an agent in them that was built with a sanitizer. `script/test` builds it, names it in
DNPROF and the sanitizer's library, which has to be loaded first, in SANITIZER_PRELOAD."""
import os
import re

import pytest

from harness import NEWEST, program, record

PRELOAD = os.environ.get("SANITIZER_PRELOAD")
FINDINGS = re.compile(r"(ERROR|WARNING): \w+Sanitizer|runtime error:")

#: What the thread sanitizer does to a program by itself, without any profiler.
NOT_UNDER_TSAN = {
    "exceptions": "the thread sanitizer does not hand SIGFPE on, so the program dies",
    "signals": "the thread sanitizer runs handlers late and on its own terms, so the program finds them on another stack",
}

pytestmark = pytest.mark.skipif(not PRELOAD, reason="SANITIZER_PRELOAD names no sanitizer's library")


@pytest.mark.parametrize("name", ["threads8", "shortthreads", "exceptions", "native", "unload", "async",
                                  "signals", "fork"])
def test_sanitized(tmp_path, name):
    """Threads that start and end, signals, code that goes away: nothing that the sanitizer would say."""
    if "tsan" in PRELOAD and name in NOT_UNDER_TSAN:
        pytest.skip(NOT_UNDER_TSAN[name])
    result, report = record(tmp_path, program(NEWEST, name, "--seconds", 1), hz=1999, timeout=300,
                            env={"LD_PRELOAD": PRELOAD})
    assert not FINDINGS.search(result.err), result
    assert report.samples > 0
