# SPDX-License-Identifier: MIT
"""Programs with an agent that was built with a sanitizer; script/test calls these with DNPROF naming
such a build, and the sanitizer's library, which has to come first in the process, in SANITIZER_PRELOAD."""
import os
import re

import pytest

from harness import NEWEST, dnprof, program, report

PRELOAD = os.environ.get("SANITIZER_PRELOAD")

pytestmark = pytest.mark.skipif(not PRELOAD, reason="no sanitizer: script/test calls these with one")


@pytest.mark.parametrize("arguments", [["threads8", "--seconds", 2], ["shortthreads", "--seconds", 1],
                                       ["native", "--seconds", 1], ["exceptions", "--seconds", 1],
                                       ["unload", "--seconds", 1], ["deep", "--seconds", 1]])
def test_sanitized(tmp_path, arguments):
    if arguments[0] == "exceptions" and "tsan" in PRELOAD:
        pytest.skip("dies under the thread sanitizer without any profiler: SIGFPE is not handed on")
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-F", 997, "-o", out, "--", *program(NEWEST, *arguments),
                    env={"LD_PRELOAD": PRELOAD}, timeout=300)
    assert not re.search(r"Sanitizer|runtime error:", result.err), result
    result.expect()
    assert report(out).samples > 100
