# SPDX-License-Identifier: MIT
"""Our stacks are those that the runtime's own walk gives at the same instruction (docs/referee.md).

Short: one second of CPU of each program; `tests/referee/run` is the long version.
"""
import sys

import pytest

from harness import DNPROF, NEWEST, ROOT

sys.path.insert(0, str(ROOT / "tests/referee"))
import verdicts  # noqa: E402
from verdicts import Difference, Frame, classify  # noqa: E402

#: A library that is loaded costs a few samples, whose share is larger in a short run.
SLACK = {"native": 1.2}


@pytest.mark.parametrize("program", ["cpu", "native", "exceptions", "shortthreads", "deep"])
def test_same_frames(program):
    if not verdicts.LIBRARY.exists():
        pytest.skip(f"{DNPROF} comes without the referee's library")
    findings = verdicts.judge(program, NEWEST, samples=500, seconds=1, most_runs=3)
    assert findings.compared >= 500
    identical, explained = verdicts.PROMISES[program]
    slack = SLACK.get(program, 0.3)
    dump = "\n".join(findings.dump(5))
    assert not findings.classes["unexplained"], dump
    assert findings.identical >= identical - slack, dump
    assert findings.explained >= explained - slack, dump
    assert not findings.counts["misnamed"]


def frame(name):
    """`clr` is the runtime's own code, `throw` what throws, `*` marks handlers, the rest is managed."""
    if name in ("clr", "throw", "libc"):
        library = "libc.so.6" if name == "libc" else "libcoreclr.so"
        return Frame("native", f"{library}+{name}", 0, False)
    if name == "il":
        return Frame("dynamic", "?", 0, False)
    return Frame("jit", name.rstrip("*"), 1 if name.endswith("*") else 0, name.endswith("*"))


def verdict(own, theirs, *, result="S_OK", stop="end", preemptive=False, root="libc"):
    frames = [frame(name) for name in [*own.split(), root]]
    names = theirs.split()
    d = Difference({"result": result, "stop": stop, "preemptive": preemptive, "own": range(len(frames)),
                    "snapshot": range(len(names))}, frames, names)
    return classify(d, {"libcoreclr.so+throw"})


@pytest.mark.parametrize("expected, own, theirs, options", [
    ("hidden", "clr System.Runtime.EH.Find clr A B", "A B", {}),
    ("unexplained", "clr System.Runtime.EH.Find A B", "B A", {}),
    ("preemptive", "clr A libc B", "B", {"preemptive": True}),
    ("preemptive", "A il libc B", "B", {"preemptive": True}),
    ("unexplained", "clr A libc B", "B", {}),
    ("unexplained", "A B", "B", {"preemptive": True}),
    ("unexplained", "A libc B C", "C", {"preemptive": True}),
    ("finally", "A* A B", "A B", {}),
    ("unexplained", "A A B", "A B", {}),
    ("throw", "throw A B C", "C", {}),
    ("throw", "F A* throw T A B", "F A B", {}),
    ("unexplained", "clr A B C", "C", {}),
    ("unexplained", "throw A B C", "A C", {}),
    ("unexplained", "throw A B C", "A X B C", {}),
    ("short", "throw A B C", "A", {}),
    ("unexplained", "clr A B C", "A", {}),
    ("error", "A B", "", {"result": "E_FAIL"}),
    ("cut", "A", "A B", {"stop": "bad_stack"}),
    ("cut", "A", "A B", {"root": "clr"}),
    ("unexplained", "A B", "A B C", {}),
    ("unexplained", "A X C", "A B C", {}),
])
def test_classes_can_fail(expected, own, theirs, options):
    assert verdict(own, theirs, **options) == expected
