# SPDX-License-Identifier: MIT
"""The runtime's own walk of the calling thread, in callbacks, with its native runs filled.

tests/dss/sync.c walks and compares in each callback of the JIT and of module loads.
"""
import json
import re

import pytest

from harness import DNPROF, LOOSE, ROOT, program, run

LIBRARY = DNPROF.parents[1] / "tests/dss/libdnprof-dss.so"
CLSID = re.search(r'DNP_CLSID_AGENT_TEXT\s+"([^"]+)"', (ROOT / "src/clr/guid.h").read_text()).group(1)

#: What has to be 0.
WRONG = ("without_registers", "wrong_registers", "wrong_order", "holes", "other_functions", "other_frames",
         "without_leaf", "leaf_only", "none", "other_seeded", "other_native_seed")
RESULTS = {"S_OK", "E_FAIL", "CORPROF_E_STACKSNAPSHOT_UNSAFE"}


def walk(tmp_path, tfm, *arguments):
    if not LIBRARY.exists():
        pytest.skip(f"{DNPROF} comes without the library of tests/dss")
    out = tmp_path / "counts.json"
    env = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": CLSID, "CORECLR_PROFILER_PATH": str(LIBRARY),
           "DNPROF_OPTIONS": f"dir={tmp_path};event=cpu;verbose=1", "DNPROF_DSS": str(out)}
    run(program(tfm, *arguments, "--seconds", 0.2), env=env).expect()
    return json.loads(out.read_text())


def check(counts):
    assert counts["walks"] > 50
    assert counts["runs"] >= counts["walks"], "each stack has native frames at its root"
    assert set(counts["results"]) <= RESULTS, "E_FAIL: no managed frame on the thread"


@pytest.mark.measured
def test_on_an_exceptions_way(tmp_path, tfm):
    """The runtime's list of frames is its own then, and the stack is the runtime's to change; CoreCLR 8 throws in native code."""
    counts = walk(tmp_path, tfm, "exceptions")
    most = LOOSE * max(1, counts["walks"] * 0.01)
    assert not {what: counts[what] for what in WRONG if what != "other_frames" and counts[what] > most}, counts
    check(counts)


@pytest.mark.parametrize("name", ["native", "unload"])
def test_own_thread(tmp_path, tfm, name):
    counts = walk(tmp_path, tfm, name)
    assert not {what: counts[what] for what in WRONG if counts[what]}, counts
    check(counts)
    if name == "native":
        assert counts["between"], "a library between two managed frames"
