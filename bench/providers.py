# SPDX-License-Identifier: MIT
"""What the benchmarks of events have the runtime tell, by event; and the profiler that does nothing with it."""
import os
from pathlib import Path

BUILD = Path(os.environ.get("DNPROF_BUILD", Path(__file__).resolve().parents[1] / "build"))
SESSION = BUILD / "bench/libbench-session.so"
CLSID = "{1F0C2A5E-6B1D-4C58-9E0B-527D3A11C490}"  #: of SESSION

RUNTIME = "Microsoft-Windows-DotNETRuntime"
LOCK, EXCEPTION, GC, ALLOCATION_SAMPLED = 0x4000, 0x8000, 0x1, 0x80000000000
INFORMATIONAL, VERBOSE = 4, 5


def provider(event, tfm):
    """NAME:KEYWORDS:LEVEL, as the agent asks for it under that runtime. Raises KeyError for others than these events."""
    at_random = int(tfm.removeprefix("net").split(".")[0]) >= 10
    keyword, level = {"lock": (LOCK, INFORMATIONAL), "exception": (EXCEPTION, INFORMATIONAL),
                      "alloc": (ALLOCATION_SAMPLED, INFORMATIONAL) if at_random else (GC, VERBOSE)}[event]
    return f"{RUNTIME}:{keyword:#x}:{level}"
