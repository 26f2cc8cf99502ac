# SPDX-License-Identifier: MIT
"""The program of "Monitoring thread execution": what its threads say of when they took turns is in the recording."""
import pytest

from harness import NEWEST, dnprof, program
from test_exports import perfetto
from test_timeline import shown

#: The program goes by its clock, and has to come to each of these.
pytestmark = pytest.mark.measured


@pytest.fixture(scope="module", params=["timeline", "run"])
def turns(request, tmp_path_factory):
    """(moments by the program's own clock, {thread: its slices}), recorded from outside and from inside."""
    out = tmp_path_factory.mktemp("turns") / "t.dnp"
    options = ["-e", "cpu,switch"] if request.param == "run" else []
    for _ in range(10):
        result = dnprof(request.param, "-q", *options, "-o", out, "--", *program(NEWEST, 2, app="turns"))
        if not shown(out)["events"]["switch"]["lost"]:  # what a busy machine loses is told
            break
    result.expect()
    threads = {}
    for s in sorted(perfetto(out)["slices"], key=lambda s: s["from"]):
        threads.setdefault(s["name"], []).append(s)
    return result.truth, threads


def was_waiting(slices, at):
    """Whether the thread had given its processor back before AT, and had none then."""
    before = [s for s in slices if s["from"] <= at]
    return bool(before) and before[-1]["to"] is not None and before[-1]["to"] <= at and before[-1]["state"] == 1


def check_turns(slices, told, seen):
    """Each time that the thread waited when it was told, it was given a processor between then and what it then saw."""
    shown = 0
    for at in told:
        after = [s for s in seen if s > at]
        if not after or not was_waiting(slices, at):
            continue
        assert [s for s in slices if at <= s["from"] <= after[0]], (at, after[0])
        shown += 1
    return shown


def test_the_second_runs_when_the_first_fires(turns):
    moments, threads = turns
    assert check_turns(threads["computes"], moments["fires"], moments["woken"]) >= 1


def test_the_third_runs_when_the_section_is_left(turns):
    moments, threads = turns
    # Only where it wanted the section well before: it had spun, and had gone to sleep by then.
    left = [at for at in moments["leaves"]
            if any(at - 60e6 < wants < at - 1e6 and not any(wants < e < at for e in moments["enters"])
                   for wants in moments["wants"])]
    assert check_turns(threads["fights"], left, moments["enters"]) >= 1


def test_the_others_go_their_way(turns):
    """The one that never stops waits when it begins and ends, at most; what time it gets is the machine's business."""
    _, threads = turns
    busy = {name: sum(s["to"] - s["from"] for s in slices if s["to"]) for name, slices in threads.items()}
    assert busy["never stops"] > busy["high priority"]
    assert [s["state"] for s in threads["never stops"]].count(1) < 10
    assert [s["state"] for s in threads["high priority"]].count(1) >= 2
