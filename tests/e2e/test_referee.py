# SPDX-License-Identifier: MIT
"""Our stacks are those that the runtime's own walk gives at the same instruction (docs/referee.md).

Short: one second of CPU of a program with an engine; `tests/referee/run` is the long version.
"""
import sys

import pytest

from harness import DNPROF, LOOSE, NEWEST, ROOT, cases

sys.path.insert(0, str(ROOT / "tests/referee"))
import verdicts  # noqa: E402
from verdicts import Difference, Frame, classify  # noqa: E402

#: A true promise is taken for a broken one in so many of all runs: of five hundred samples twenty may differ where 0.1 % is
#: promised, which is forty times as much.
CHANCE = 1e-7


@pytest.mark.measured
@pytest.mark.parametrize("engine, program", cases([
    *(("signal", program) for program in ("cpu", "native", "exceptions", "shortthreads", "deep", "async")),
    *(("snapshot", program) for program in ("cpu", "deep", "exceptions", "shortthreads")),
    *(("sync", program) for program in ("mix", "exceptions")),
], [("signal", "native"), ("signal", "exceptions"), ("signal", "async"), ("snapshot", "deep"), ("snapshot", "exceptions"),
    ("sync", "mix")], [("signal", "native"), ("signal", "exceptions"), ("snapshot", "exceptions"), ("sync", "mix")]))
def test_same_frames(engine, program):
    if not verdicts.LIBRARY.exists():
        pytest.skip(f"{DNPROF} comes without the referee's library")
    findings = verdicts.judge(program, NEWEST, engine, samples=500, seconds=1, most_runs=3)
    assert findings.compared >= 500 // LOOSE
    dump = "\n".join(findings.dump(5))
    broken = list(findings.broken_promises(CHANCE))
    assert not broken, "\n".join([*broken, dump])


def frame(name):
    """`clr` is the runtime's own code, `throw` what throws, `*` marks parts, the rest is managed."""
    if name in ("clr", "throw", "libc"):
        library = "libc.so.6" if name == "libc" else "libcoreclr.so"
        return Frame("native", f"{library}+{name}", False)
    if name == "il":
        return Frame("dynamic", "?", False)
    return Frame("jit", name.rstrip("*"), name.endswith("*"))


def difference(own, theirs, *, result="S_OK", stop="end", preemptive=False, root="libc"):
    frames = [frame(name) for name in [*own.split(), root]]
    names = theirs.split()
    return Difference({"result": result, "stop": stop, "preemptive": preemptive, "own": range(len(frames)),
                       "snapshot": range(len(names))}, frames, names)


def verdict(own, theirs, **options):
    return classify(difference(own, theirs, **options), {"libcoreclr.so+throw"})


@pytest.mark.parametrize("expected, own, theirs, options", [
    ("identical", "A B", "A B", {}),
    ("identical", "A il B", "A B", {}),
    ("identical", "clr System.Runtime.EH.Find clr A B", "A B", {}),
    ("unexplained", "clr System.Runtime.EH.Find A", "System.Runtime.EH.Find A", {}),
    ("unexplained", "clr System.Runtime.EH.Find A B", "B A", {}),
    ("preemptive", "clr A libc B", "B", {"preemptive": True}),
    ("preemptive", "A il libc B", "B", {"preemptive": True}),
    ("unexplained", "clr A libc B", "B", {}),
    ("unexplained", "A B", "B", {"preemptive": True}),
    ("unexplained", "A libc B C", "C", {"preemptive": True}),
    ("identical", "A* A B", "A B", {}),
    ("identical", "A* A* A B", "A B", {}),
    ("unexplained", "A* A B", "A A B", {}),
    ("unexplained", "A* clr A B", "A B", {}),
    ("unexplained", "A* B", "B", {}),
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


@pytest.mark.parametrize("expected, own", [
    (set(), "A B"), ({"dynamic"}, "A il B"), ({"hidden"}, "System.Runtime.EH.Find clr A B"), ({"merged"}, "A* A B"),
    (set(), "A* B"), (set(), "A* clr A"), ({"dynamic", "merged"}, "il A* A"),
])
def test_rules_are_counted(expected, own):
    assert {rule for rule, used in difference(own, "").rules.items() if used} == expected


@pytest.mark.parametrize("mean, chance, least, most", [
    (0, 1e-7, 0, 0), (0.5, 1e-7, 8, 11), (3, 1e-7, 16, 19), (10, 1e-7, 30, 34), (5000, 1e-7, 5350, 5450)])
def test_bad_luck(mean, chance, least, most):
    assert least <= verdicts.unlucky(mean, chance) <= most
