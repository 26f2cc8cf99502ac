# SPDX-License-Identifier: MIT
"""dnprof timeline --others and --wakeups: who ran instead, and who woke whom; where that may be seen."""
import collections
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import records
from harness import DNPROF, LOOSE, NOBODY, dnprof, needs_other_user, refused, run, start
from test_doctor import refuse_perf_events
from test_exports import arrays_of
from test_timeline import record_all

OTHERS = 8  # DNP_THREAD_OTHERS
#: Else they are a container's own, which is said before a right that is missing.
needs_system_ids = pytest.mark.skipif(os.stat("/proc/self/ns/pid").st_ino != 0xeffffffc,
                                      reason="process ids are a container's own here")


def allowed(tmp_path_factory, option, words):
    result = dnprof("timeline", option, "-o", tmp_path_factory.mktemp("may") / "t.dnp", "--", "true")
    return words not in result.err and result.status == 0


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    if not allowed(tmp_path_factory, "--others", "those of others are not told"):
        pytest.skip("other processes' switches may not be seen here: needs root or CAP_PERFMON")


@pytest.fixture(scope="module")
def wakeups(tmp_path_factory):
    if not allowed(tmp_path_factory, "--wakeups", "cannot record wake-ups"):
        pytest.skip("the kernel's trace points may not be read here: needs root")


@pytest.fixture(scope="module")
def pingpong(tmp_path_factory):
    path = tmp_path_factory.mktemp("pingpong") / "pingpong"
    run(["gcc", "-O1", "-Wall", "-Wextra", "-pthread", "-D_GNU_SOURCE", "-o", path,
         Path(__file__).with_name("pingpong.c")]).expect()
    return path


def lanes(path):
    """{(flags, thread): slices} and the records of threads."""
    threads, slices = {}, collections.defaultdict(list)
    for name, it in records.read(path, "thread", "slices"):
        if name == "thread":
            threads[it.index] = it
        else:
            slices[it.thread] += records.slices(it)
    return threads, slices


@pytest.mark.measured
def test_others_have_a_row_for_each_processor(others, pingpong, tmp_path):
    """A busy process is there; no processor does two things at once, nor a thread of ours when others run."""
    cpu = min(os.sched_getaffinity(0))
    with subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]) as busy:
        try:
            record_all(tmp_path / "t.dnp", pingpong, 20000, options=["--others", "-d", 1])
        finally:
            busy.kill()
    threads, slices = lanes(tmp_path / "t.dnp")
    rows = {slices[i][0][2]: i for i, it in threads.items() if it.flags & OTHERS and slices[i]}
    assert cpu in rows and threads[rows[cpu]].name == b"others, CPU %d" % cpu and threads[rows[cpu]].tid == 0
    assert sum(end - begin for begin, end, _, _ in slices[rows[cpu]]) > 0
    for cpu, row in rows.items():
        assert {c for _, _, c, _ in slices[row]} == {cpu}
        assert all(a[1] <= b[0] for a, b in zip(slices[row], slices[row][1:]))
        # Slices of others are one where nothing of 5 µs comes in between.
        mixed = sorted(slices[row] + [s for i in threads if i != row for s in slices[i] if s[2] == cpu])
        late = [(a, b) for a, b in zip(mixed, mixed[1:]) if a[1] > b[0] + 5000 and b[1] - b[0] > 5000]
        assert len(late) <= LOOSE * 0.001 * len(mixed), late[:5]
    data = json.loads(dnprof("report", "--json", tmp_path / "t.dnp").expect().stdout)
    # Their switches are not the process's.
    own = [t for t in data["threads"] if t["tid"]]
    assert data["events"]["switch"]["voluntary"] == sum(t["voluntary"] for t in own)
    assert {t["name"] for t in data["threads"] if not t["tid"]} == {f"others, CPU {c}" for c in rows}


@needs_system_ids
@needs_other_user
def test_others_without_the_right(pingpong, tmp_path):
    """A line says so, and the process is recorded all the same."""
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 1:
        pytest.skip("here everybody may see other processes' switches")
    result = run([*NOBODY, "sh", "-c", 'cd "$(mktemp -d)" && exec "$0" timeline --others -o t.dnp -- true', DNPROF])
    assert "those of others are not told: perf events of all processes are not allowed" in result.expect().err
    with start([pingpong, 100000000]) as app:
        assert app.process.poll() is None
        result = dnprof("timeline", "--others", "-d", 0.2, "-o", tmp_path / "t.dnp", app.process.pid,
                        preexec_fn=refuse_perf_events).expect()
        assert "sampled, by looks at the threads' clocks" in result.err
        app.process.kill()
    threads, _ = lanes(tmp_path / "t.dnp")
    assert not any(it.flags & OTHERS for it in threads.values())


@pytest.mark.measured
def test_who_woke_whom(wakeups, pingpong, tmp_path):
    """Each of two threads is woken by the other one, and runs after that, at the edge of a slice."""
    record_all(tmp_path / "t.dnp", pingpong, 5000, options=["--wakeups"])
    data = json.loads(dnprof("report", "--json", tmp_path / "t.dnp").expect().stdout)
    threads = {t["name"]: t for t in data["threads"]}
    for name, other in (("ping", "pong"), ("pong", "ping")):
        by = {w["by"]: w for w in threads[name]["wakeups"]}
        right = by[threads[other]["tid"]]
        # Who finds its turn has come already does not sleep.
        waits = threads[name]["voluntary"]
        few = LOOSE * 0.1
        assert abs(sum(w["count"] for w in by.values()) - waits) <= few * waits + 5, (by, waits)
        assert right["count"] >= (1 - few) * sum(w["count"] for w in by.values()), by
        assert right["run_count"] >= (1 - few) * right["count"] and 0 < right["longest_ns"] <= right["run_ns"]
    index = {}
    begins = collections.defaultdict(set)
    found = 0
    for kind, it in records.read(tmp_path / "t.dnp", "thread", "slices", "wakeup"):
        if kind == "thread":
            index[it.index] = it.tid
        elif kind == "slices":
            begins[it.thread] |= {begin for begin, _, _, _ in records.slices(it)}
    for _, it in records.read(tmp_path / "t.dnp", "wakeup"):
        assert it.thread in index
        if it.run_ns:
            found += it.run_ns in begins[it.thread] and it.time_ns <= it.run_ns
    assert found > 0
    # The page has each of them.
    dnprof("export", "-o", tmp_path / "t.html", tmp_path / "t.dnp").expect()
    meta, arrays = arrays_of(tmp_path / "t.html")
    count = sum(w["count"] for t in data["threads"] for w in t["wakeups"])
    assert meta["events"][0]["wakes"] == count == len(arrays["switch.wakes.by"]) // 4
    text = dnprof("report", tmp_path / "t.dnp").expect().out
    assert "Who woke whom" in text and re.search(r"^ +[\d,]+ .* ping +by pong$", text, re.M), text


@needs_system_ids
@needs_other_user
def test_wakeups_without_the_right(tmp_path):
    result = run([*NOBODY, "sh", "-c", 'cd "$(mktemp -d)" && exec "$0" timeline --wakeups -o t.dnp -- true', DNPROF])
    refused(result, 1, "cannot record wake-ups, so nothing is recorded: the kernel's trace points:", "leave --wakeups away")


@pytest.fixture
def own_ids():
    command = ["unshare", "--pid", "--fork", "--mount-proc"]
    if run([*command, "true"]).status:
        pytest.skip("process ids of its own may not be had here: needs root")
    return command


def test_wakeups_in_a_container_with_ids_of_its_own(own_ids, tmp_path):
    """The trace point tells the system's ids of threads, which are those of others there."""
    result = run([*own_ids, DNPROF, "timeline", "--wakeups", "-o", tmp_path / "t.dnp", "--", "true"])
    refused(result, 1, "cannot record wake-ups, so nothing is recorded: the kernel tells of threads by ids that they do not have "
            "in this container", "leave --wakeups away")
    assert not os.listdir(tmp_path)


def test_others_in_a_container_with_ids_of_its_own(others, own_ids, tmp_path):
    """Who runs outside of it has none there, as if the processor stood still."""
    result = run([*own_ids, DNPROF, "timeline", "--others", "-o", tmp_path / "t.dnp", "--", "true"])
    assert "those of others are not told: process ids are this container's own" in result.expect().err
    threads, _ = lanes(tmp_path / "t.dnp")
    assert not [t for t in threads.values() if t.flags & OTHERS]
