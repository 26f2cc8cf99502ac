# SPDX-License-Identifier: MIT
"""Where the CPU time went, against what the programs measured themselves."""
import json
import os
import re

import pytest

from harness import LOOSE, NEWEST, Report, cases, chance, dnprof, is_sequence, plain, program, record, shares, undisturbed

#: What is promised.
POINT = 0.01
ENOUGH = 10_000 // LOOSE


def assert_close(expected, got, promise=POINT):
    """As close as is promised, or as so many samples can be."""
    samples, expected, got = sum(got.values()), shares(expected), shares(got)
    assert expected.keys() == got.keys()
    for k, share in expected.items():
        assert abs(share - got[k]) <= max(LOOSE * promise, chance(share, samples)), \
            f"{k}: took {share:.2%}, shown as {got[k]:.2%} of {samples} samples"


def profile(tmp_path, tfm, name, seconds, hz=9997):
    result, report = record(tmp_path, program(tfm, name, "--seconds", seconds), hz=hz)
    return result.truth, report


@pytest.mark.measured
@undisturbed
def test_methods(tmp_path, tfm):
    """Math.Sin in a loop, straight-line code, generics, lambdas, vectors, tiny virtual methods."""
    truth, report = profile(tmp_path, tfm, "cpu", 2.5)
    assert report.samples >= ENOUGH
    took, seen = dict(truth["methods"]), {m: report.total(m) for m in truth["methods"]}
    # Their shares of all time, not only of what they took together: what else there was has to be right, too.
    took["else"] = sum(t["cpu_ns"] for t in report.data["threads"]) - sum(took.values())
    seen["else"] = report.samples - sum(seen.values())
    assert_close(took, seen)
    straight = report.total("Truth.StraightLine.Mix") / report.total("Truth.Cpu.Straight")
    assert straight > 1 - LOOSE * 0.03, "code without a safepoint is seen where it runs"


@pytest.mark.measured
@pytest.mark.slow
@pytest.mark.parametrize("source", cases(["auto", "perf", "timer"], ["auto", "timer"]))
@undisturbed
def test_threads_shorter_than_a_period(tmp_path, source):
    """What ten thousand of them took is shown, most of it as not sampled. They used some microseconds more, beginning and
    ending, than they saw on their own clocks."""
    result, report = record(tmp_path, program(NEWEST, "brief"), hz=199, options=["--source", source])
    shown_ns = report.threads()["brief"] * report.cpu["interval_ns"]
    assert 1 - LOOSE * 0.02 < shown_ns / result.truth["threads"]["brief"] < 1 + LOOSE * 0.06


#: The threads' clocks count the handler's own time too, which is not sampled: at 9,997 Hz it shows.
#: 200 samples at 99 Hz are good for about 7 %.
AMOUNTS = {99: 0.15, 997: 0.05, 9997: 0.15}


@pytest.mark.measured
@pytest.mark.slow
@pytest.mark.parametrize("hz", cases(AMOUNTS, [997]))
@undisturbed
def test_amount(tmp_path, hz):
    """Samples times interval is the CPU time that the program's threads took by the kernel's clock."""
    _, report = record(tmp_path, program(NEWEST, "cpu", "--work", 1000), hz=hz)
    assert report.cpu["interval_ns"] == pytest.approx(1e9 / hz, rel=0.01)
    report.check_few_lost()
    clock_ns = sum(t["cpu_ns"] for t in report.data["threads"])
    assert report.samples * report.cpu["interval_ns"] == pytest.approx(clock_ns, rel=LOOSE * AMOUNTS[hz])


@pytest.mark.measured
@undisturbed
def test_eight_threads(tmp_path, tfm):
    truth, report = profile(tmp_path, tfm, "threads8", 2)
    threads, seen = truth["threads"], report.threads()
    assert report.samples >= ENOUGH
    assert set(threads) <= set(seen), "every thread is there, with its name"
    # By the kernel's clock of each thread: what they measure themselves leaves out how they begin, which
    # took 20 ms of the first one's 60 on a busy machine.
    clocks = {t["name"]: t["cpu_ns"] for t in report.data["threads"]}
    assert_close({t: clocks[t] for t in threads}, {t: seen[t] for t in threads})
    assert_close(threads, {t: seen[t] for t in threads}, 2 * POINT)


def test_never_more_than_the_clocks(tmp_path):
    """Whatever else the machine does: no thread has more samples than its clock has intervals, nor less than half of them (the
    rest is the handler's, and what came before and after)."""
    truth, report = profile(tmp_path, NEWEST, "threads8", 1, hz=997)
    clocks = {t["name"]: t["cpu_ns"] for t in report.data["threads"]}
    for thread in truth["threads"]:
        taken_ns = report.threads()[thread] * report.cpu["interval_ns"]
        assert clocks[thread] / 2 < taken_ns < clocks[thread] + report.cpu["interval_ns"], thread


@pytest.mark.measured
@undisturbed
def test_sleepers_cost_nothing(tmp_path):
    truth, report = profile(tmp_path, NEWEST, "idle", 1, hz=997)
    seen = report.threads()
    assert_close(truth["threads"], {t: seen.get(t, 0) for t in truth["threads"]}, 0.05)
    asleep = sum(n for name, n in seen.items() if name.startswith("sleeper-"))
    assert asleep < report.samples * LOOSE * 0.1


@pytest.mark.slow
@pytest.mark.measured
@pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/proc/sys/kernel/ns_last_pid"),
                    reason="only root says where numbers go on, and not to every kernel")
def test_number_used_again(tmp_path):
    """A thread with the number of one that ended just before is another one, from its beginning on."""
    truth, report = profile(tmp_path, NEWEST, "reused", 0, hz=997)
    seen = {t: report.threads().get(t, 0) for t in truth["threads"]}
    assert_close(truth["threads"], seen, 0.02)
    assert sum(seen.values()) * report.cpu["interval_ns"] > sum(truth["threads"].values()) * (1 - LOOSE * 0.05)


@pytest.mark.measured
@pytest.mark.slow
@undisturbed
def test_native_shares(tmp_path, tfm):
    """Managed and native code that call each other, and threads of both."""
    truth, report = profile(tmp_path, tfm, "native", 2)
    methods, threads, seen = truth["methods"], truth["threads"], report.threads()
    assert report.samples >= ENOUGH
    # Two points: the threads live a few milliseconds, and what they measure leaves out how they come to
    # be known to the runtime, which is theirs as well.
    assert_close({**methods, **threads},
                 {**{m: report.total(m) for m in methods}, **{t: seen.get(t, 0) for t in threads}},
                 2 * POINT)


def test_native_calls(tmp_path, tfm):
    """Managed, native and managed code again, in this order, whatever the native code was built with."""
    _, report = profile(tmp_path, tfm, "native", 1)
    sorting = report.with_frame("Truth.Native.Compare")
    assert all(is_sequence(s, "Truth.Native.Run", "Truth.Native.Sort", re.compile(r"libc\S*!"),
                           "Truth.Native.Compare") for s, _ in sorting)
    assert sum(n for _, n in sorting) > 20

    fp, no_fp = re.compile(r"libtruth_fp\S*!truth_call"), re.compile(r"libtruth_nofp\S*!truth_call")
    bottom = report.with_frame("Truth.Native.Bottom")
    whole = sum(n for _, n in bottom)
    assert whole > 50
    for stack, _ in bottom:
        assert sum(plain(f) == "Truth.Native.Down" for f in stack) == 11, stack
        assert sum(bool(fp.search(f)) for f in stack) == 3, stack
        assert sum(bool(no_fp.search(f)) for f in stack) == 7, stack


def test_native_threads(tmp_path):
    """Threads that the runtime knows nothing of, and one that it meets when it calls in."""
    _, report = profile(tmp_path, NEWEST, "native", 1)
    for name in ("native-0", "native-1", "native-2", "called"):
        assert report.threads().get(name, 0) > 0, name
    called = [s for s, _ in report.with_frame("Truth.Native.OnNativeThread")]
    assert called and all(is_sequence(s, re.compile("truth_call_in_thread|worker_main"),
                                      "Truth.Native.OnNativeThread") for s in called)


def test_600_frames(tmp_path, tfm):
    """On each stack, all of them."""
    truth, report = profile(tmp_path, tfm, "deep", 1, hz=1999)
    bottom = report.with_frame("Truth.Deep.Bottom")
    assert sum(n for _, n in bottom) > 1000 // LOOSE
    for stack, _ in bottom:
        assert sum(plain(f) == "Truth.Deep.Down" for f in stack) == truth["depth"]


def test_stacks_as_deep_as_is_asked_for(tmp_path):
    """Though each is longer than all that usually waits to be written. Without leave the root is cut off, and that is said.
    (On a busy machine some may be lost, and are told.)"""
    depth, seen = 9000, {}
    for frames in (12_000, 2048):
        dnprof("run", "-q", "-F", 199, "--frames", frames, "-o", tmp_path / "out.dnp", "--",
               *program(NEWEST, "deep", "--depth", depth, "--seconds", 0.5))
        seen[frames] = Report(json.loads(dnprof("report", "--json", tmp_path / "out.dnp").stdout))
        assert seen[frames].with_frame("Truth.Deep.Bottom")
    for stack, _ in seen[12_000].with_frame("Truth.Deep.Bottom"):
        assert sum(plain(f) == "Truth.Deep.Down" for f in stack) == depth
    assert {len(stack) for stack, _ in seen[2048].with_frame("Truth.Deep.Bottom")} == {2048}
    assert seen[12_000].shown["truncated"] == 0 < seen[2048].shown["truncated"]


@pytest.mark.measured
def test_replaced_while_it_runs(tmp_path, tfm):
    """A frame of OSR code keeps its caller and appears once."""
    _, report = profile(tmp_path, tfm, "osr", 1.5)
    loop = report.with_frame("Truth.Osr.Loop")
    assert sum(n for _, n in loop) > report.samples * (1 - LOOSE * 0.2)
    for stack, n in loop:
        assert is_sequence(stack, "Truth.Osr.Run", "Truth.Osr.Outer", "Truth.Osr.Loop"), stack
        assert sum(plain(f) == "Truth.Osr.Loop" for f in stack) == 1, stack


@pytest.mark.measured
@pytest.mark.slow
@undisturbed
def test_ordinary_code(tmp_path):
    truth, report = profile(tmp_path, NEWEST, "mix", 2.5)
    methods = truth["methods"]
    assert_close(methods, {m: report.total(m) for m in methods})


@pytest.mark.measured
@pytest.mark.parametrize("name", cases(["alloc", "async", "cpu", "deep", "exceptions", "mix", "native",
                                        "osr", "shortthreads", "unload"], ["exceptions", "mix", "native"], ["mix"]))
def test_stacks_are_whole(tmp_path, name):
    """99.9 % of stacks reach the thread's start; unresolved frames are rare, and named."""
    # Long enough that the moments after a library was loaded, when nobody knows of it yet, are no more
    # than the share they have in a real program.
    _, report = profile(tmp_path, NEWEST, name, 3, hz=4999)
    assert report.samples >= ENOUGH
    whole = report.samples
    assert report.incomplete() <= whole * LOOSE * 0.001
    assert report.cpu["truncated"] + report.cpu["failed"] <= whole * LOOSE * 0.001
    assert report.cpu["unresolved"] <= report.cpu["frames"] * LOOSE * 0.003
    assert not [path for path, _ in report.stacks() if not all(path)], "every frame has a name"


def test_methods_agree_with_tree(tmp_path):
    """The table of methods and the tree are two views of the same samples."""
    _, report = profile(tmp_path, NEWEST, "mix", 0.5)
    assert sum(m["self"] for m in report.data["methods"]) == report.samples
    assert sum(root["total"] for root in report.roots()) == report.samples
    assert sum(t["samples"] for t in report.data["threads"]) == report.samples
    report.check_sums()
