# SPDX-License-Identifier: MIT
"""dnprof timeline and -e switch: the kernel's own counts and clocks are the truth."""
import csv
import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

import attached
from harness import (DNPROF, LOOSE, NEWEST, NOBODY, SOAK, cases, dnprof, dnprof_again, let_others_in, needs_other_user, program,
                     refused, run, start, tasks, thread_names, told, wait_for)
from net.plugin import tried_again
from test_doctor import refuse_perf_events


@pytest.fixture(scope="module")
def threads(tmp_path_factory):
    path = tmp_path_factory.mktemp("timeline") / "threads"
    run(["gcc", "-O1", "-Wall", "-Wextra", "-pthread", "-o", path, Path(__file__).with_name("threads.c")]).expect()
    return path


def check_few_lost(lost, seen):
    """How many are lost is the machine's doing, so that they are few is for script/soak."""
    assert not SOAK or lost <= 0.01 * seen, (lost, seen)


def shown(path, *options):
    return json.loads(dnprof("report", "--json", "-e", "switch", *options, path).expect().stdout)


def record_all(out, *argv, options=()):
    """A recording in which nothing is missing: what a busy machine loses is told, and then it is recorded again."""
    for _ in range(10):
        result = dnprof("timeline", "-q", *options, "-o", out, "--", *argv)
        if not shown(out)["events"]["switch"]["lost"]:
            return result.expect()
        assert result.status in (0, 3), result  # 3: many were
        tried_again("some switches were lost")
    raise AssertionError(f"some were lost each time: {result}")


def truth_in(text):
    """{tid: (name, switches, CPU time)} as the program was told by the kernel."""
    return {int(tid): (name, int(switches), int(cpu)) for tid, name, switches, cpu in
            re.findall(r"^(\d+) (w\d+) (\d+) (\d+)$", text, re.M)}


def truth_when_standing(app, count):
    """The same of one that has its input from us: its threads stand still until that ends."""
    truth = truth_in("".join(app.process.stdout.readline().decode() for _ in range(count)))
    assert len(truth) == count
    return truth


def records(recorder):
    return "dnprof-timeline" in thread_names(recorder.process.pid)


def end_of_recording(recorder):
    """By ctrl-C, and as its program goes on."""
    wait_for(lambda: records(recorder), "the recorder")
    recorder.process.send_signal(signal.SIGINT)
    wait_for(lambda: not records(recorder), "the recording's end")


def not_known(data):
    """The threads of which not all time is known, and of each how much is not."""
    return {t["tid"]: unknown for t in data["threads"]
            if (unknown := t["seen_ns"] - t["on_cpu_ns"] - t["preempted_ns"] - t["blocked_ns"])}


def check_sums(data):
    """What a thread did adds up to its life, and nothing of that is not known."""
    assert not_known(data) == {}, json.dumps(data)[:3000]
    for thread in data["threads"]:
        assert thread["seen_ns"] <= data["duration_ns"] + 1_000_000, thread


@pytest.mark.measured
@pytest.mark.parametrize("count", cases([2, 50, 500], [50]))
def test_switches_are_those_of_the_kernel(threads, tmp_path, count):
    """Each thread's, from its beginning until all stand still: to the switch, but for those that are told as lost."""
    out = tmp_path / "t.dnp"
    for _ in range(5):
        with start([DNPROF, "timeline", "-q", "-o", out, "--", threads, count, 3], stdin=subprocess.PIPE) as run_:
            truth = truth_when_standing(run_, count)
            end_of_recording(run_)
            result = run_.end()
        data = shown(out)
        # On a machine busy beyond measure more than few are lost, and a thread is met after it has run.
        if result.status != 3 and not not_known(data):
            break
    found = {t["tid"]: t for t in data["threads"]}
    check_sums(data)
    assert {tid: found[tid]["name"] for tid in truth} == {tid: name for tid, (name, _, _) in truth.items()}
    missing = {tid: switches - found[tid]["voluntary"] - found[tid]["involuntary"]
               for tid, (_, switches, _) in truth.items()}
    event = data["events"]["switch"]
    seen = event["voluntary"] + event["involuntary"]
    assert min(missing.values()) >= 0 and sum(missing.values()) <= event["lost"], missing
    check_few_lost(event["lost"], seen)
    assert result.status in ((0, 3) if event["lost"] > 0.01 * seen else (0,)), result
    assert out.stat().st_size <= 8 * seen + 200 * count + 20000


def states(pid):
    return {(task / "stat").read_text().rpartition(")")[2].split()[0] for task in tasks(pid)}


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: states(pid) == {"T"}, "all threads to stand still")


@pytest.mark.measured
def test_switches_while_threads_stand(threads, tmp_path):
    """Recorded from outside until all stand still: to the switch."""
    out = tmp_path / "t.dnp"
    with start([threads, 50, 600]) as app:
        wait_for(lambda: len(tasks(app.process.pid)) == 51, "threads")

        def switches():
            counts = {}
            for task in tasks(app.process.pid):
                text = (task / "status").read_text()
                counts[int(task.name)] = sum(map(int, re.findall(r"ctxt_switches:\s*(\d+)", text)))
            return counts
        # As near to the recording's edges as can be asked: at each a switch or two may come between.
        stop(app.process.pid)
        with start([DNPROF, "timeline", "-q", "-o", out, app.process.pid]) as recorder:
            wait_for(lambda: records(recorder), "the recorder")
            before = switches()
            os.kill(app.process.pid, signal.SIGCONT)
            wait_for(lambda: sum(switches().values()) - sum(before.values()) > 20000, "switches")
            stop(app.process.pid)
            after = switches()
            recorder.process.send_signal(signal.SIGINT)
            result = recorder.end()
        data = shown(out)
    found = {t["tid"]: t["voluntary"] + t["involuntary"] for t in data["threads"]}
    lost = data["events"]["switch"]["lost"]
    missing = {tid: after[tid] - before[tid] - found[tid] for tid in before}
    assert min(missing.values()) >= -1
    assert sum(n for n in missing.values() if n > 1) <= lost, missing
    check_few_lost(lost, sum(found.values()))
    assert result.status in ((0, 3) if lost > 0.01 * sum(found.values()) else (0,)), result


def test_cpu_time_is_the_kernels(threads, tmp_path):
    """From outside, of threads that stand: their clocks are read again after the program has asked."""
    out = tmp_path / "t.dnp"
    with start([threads, 20, 2], stdin=subprocess.PIPE) as app:
        wait_for(lambda: len(tasks(app.process.pid)) == 21, "threads")
        stop(app.process.pid)
        with start([DNPROF, "timeline", "-q", "-o", out, app.process.pid]) as recorder:
            wait_for(lambda: records(recorder), "the recorder")
            # What they had used before it began is not in it.
            before = {tid: int(Path(f"/proc/{app.process.pid}/task/{tid}/schedstat").read_text().split()[0])
                      for tid in map(int, os.listdir(f"/proc/{app.process.pid}/task"))}
            os.kill(app.process.pid, signal.SIGCONT)
            truth = truth_when_standing(app, 20)
            recorder.process.send_signal(signal.SIGINT)
            assert recorder.end().status in (0, 3)  # 3: many switches were lost
    data = shown(out)
    found = {t["tid"]: t for t in data["threads"]}
    assert {tid: found[tid]["cpu_ns"] - cpu_ns + before[tid] for tid, (_, _, cpu_ns) in truth.items()
            if abs(found[tid]["cpu_ns"] - cpu_ns + before[tid]) > 10_000} == {}


def test_threads_from_their_beginning(threads, tmp_path):
    """A thread that began while it was recorded has all its CPU time, to the microsecond."""
    out = tmp_path / "t.dnp"
    with start([DNPROF, "timeline", "-q", "-o", out, "--", threads, 20, 1], stdin=subprocess.PIPE) as run_:
        truth = truth_when_standing(run_, 20)
        end_of_recording(run_)  # the last of the looks at all clocks
        assert run_.end().status in (0, 3)  # 3: some switches were lost
    found = {t["tid"]: t for t in shown(out)["threads"]}
    assert {tid: found[tid]["cpu_ns"] - cpu for tid, (_, _, cpu) in truth.items()
            if abs(found[tid]["cpu_ns"] - cpu) > 1000} == {}


def test_status_and_signals_are_passed_through(tmp_path):
    assert dnprof("timeline", "-q", "-o", tmp_path / "t.dnp", "--", "sh", "-c", "exit 7").status == 7
    assert dnprof("timeline", "-q", "-o", tmp_path / "t.dnp", "--", "sh", "-c", "kill -9 $$").status == 128 + 9
    data = shown(tmp_path / "t.dnp")
    assert data["exit_signal"] == 9 and data["command"] == ["sh", "-c", "kill -9 $$"]
    result = dnprof("timeline", "-q", "-o", tmp_path / "t.txt", "--", "cat", stdin=b"through")
    assert result.expect().stdout == b"through"
    assert "by the kernel's clock" in (tmp_path / "t.txt").read_text()
    assert not (tmp_path / "t.txt.dnp").exists()


def test_duration_ends_the_recording_not_the_program(tmp_path):
    begin = time.monotonic()
    dnprof("timeline", "-q", "-d", 0.5, "-o", tmp_path / "t.dnp", "--", "sleep", 6).expect()
    assert time.monotonic() - begin > 5.9
    assert 0.4e9 < shown(tmp_path / "t.dnp")["duration_ns"] < 5.7e9


def test_the_end_of_a_process_ends_it(tmp_path):
    """Also of one that nobody has waited for."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as app:
        with start([DNPROF, "timeline", "-o", tmp_path / "t.dnp", app.pid]) as recorder:
            wait_for(lambda: records(recorder), "the recorder")
            app.stdin.close()
            result = recorder.end()
        assert Path(f"/proc/{app.pid}/stat").read_text().split()[2] == "Z"
    assert "has ended, after" in result.expect().err
    assert shown(tmp_path / "t.dnp")["complete"]


def test_ctrl_c_ends_it_well(tmp_path):
    out = tmp_path / "t.dnp"
    with start(["sleep", "600"]) as sleeper, \
            start([DNPROF, "timeline", "-q", "-o", out, sleeper.process.pid]) as recorder:
        wait_for(lambda: records(recorder), "the recorder")
        recorder.process.send_signal(signal.SIGINT)
        recorder.end().expect()
    assert shown(out)["complete"]


def test_no_process(tmp_path):
    refused(dnprof("timeline", "-o", tmp_path / "t.dnp", 4194304), 1, "there is no process 4194304")
    with subprocess.Popen(["true"]) as dead:
        wait_for(lambda: Path(f"/proc/{dead.pid}/stat").read_text().split()[2] == "Z", "its end")
        refused(dnprof("timeline", "-o", tmp_path / "t.dnp", dead.pid), 1, f"process {dead.pid} has ended")
    assert list(tmp_path.iterdir()) == []


def test_no_program(tmp_path):
    refused(dnprof("timeline", "-o", tmp_path / "t.dnp", "--", "/none"), 1, "cannot start /none")
    refused(dnprof("timeline"), 2, "is missing")
    refused(dnprof("timeline", "-o", tmp_path / "t.collapsed", "--", "true"), 2, "shows stacks, and switches have none")
    refused(dnprof("timeline", "-d", "x", "--", "true"), 2, "not a time")
    refused(dnprof("timeline", 1, "-d", "1"), 2, "-d: options come before the process id")
    refused(dnprof("timeline", 1, 2), 2, "one process at a time")
    assert list(tmp_path.iterdir()) == []


@needs_other_user
def test_no_rights(tmp_path):
    """Another user's process: the kernel's word is not to be had, which a line says; clocks are."""
    let_others_in(tmp_path)
    with start(["sleep", "600"]) as sleeper:
        result = run([*NOBODY, DNPROF, "timeline", "-d", 0.5, "-o", tmp_path / "t.dnp", sleeper.process.pid])
    assert re.search(r"^dnprof: sampled, .*perf events of process \d+ are not allowed", result.expect().err, re.M)
    assert shown(tmp_path / "t.dnp")["events"]["switch"]["sampled"]


@pytest.mark.measured
def test_perf_events_forbidden(threads, tmp_path):
    """As in containers: the clocks are looked at, and one line says so."""
    out = tmp_path / "t.dnp"
    with start([DNPROF, "timeline", "-o", out, "--", threads, 3, 1], stdin=subprocess.PIPE,
               preexec_fn=refuse_perf_events) as run_:
        truth = truth_when_standing(run_, 3)
        end_of_recording(run_)  # with a last look at all clocks
        result = run_.end()
    told(result, 0, r"sampled, by looks at the threads' clocks: perf events are forbidden here")
    data = shown(out)
    event, found = data["events"]["switch"], {t["name"]: t for t in data["threads"]}
    assert event["sampled"] and "perf events are forbidden" in event["note"]
    for tid, (name, _, cpu) in truth.items():
        assert abs(found[name]["cpu_ns"] - cpu) < LOOSE * (0.2 * cpu + 1e6), (tid, found[name], cpu)
        assert found[name]["on_cpu_ns"] == found[name]["voluntary"] == 0
    text = dnprof("report", out).expect().out
    assert "switch: sampled, about every" in text and "perf events are forbidden" in text


def run_switch(tmp_path, tfm, *options, argv=("threads8", "--seconds", 1), **more):
    out = tmp_path / "app.dnp"
    result = dnprof_again("run", "-q", *options, "-o", out, "--", *program(tfm, *argv), **more).expect()
    return result.truth, out


def run_switch_whole(tmp_path, tfm, *options, **more):
    """The same with nothing missing: with the word that a thread begins its clock's beginning is lost."""
    for _ in range(10):
        truth, out = run_switch(tmp_path, tfm, *options, **more)
        data = shown(out)
        if not data["events"]["switch"]["lost"]:
            return truth, out, data
        tried_again("some switches were lost")
    raise AssertionError(f"some were lost each time: {data['events']}")


def test_samples_and_switches_of_a_program(tfm, tmp_path):
    """On the same threads, with the kernel's CPU time of each as the program read it itself."""
    truth, out, data = run_switch_whole(tmp_path, tfm, "-e", "cpu,switch")
    check_sums(data)
    found = {t["name"]: t for t in data["threads"]}
    for name, cpu_ns in truth["threads"].items():
        assert found[name]["cpu_ns"] >= cpu_ns
        assert found[name]["cpu_ns"] - cpu_ns < LOOSE * (0.1 * cpu_ns + 50e6)  # its end
    assert len(found) == len({t["name"] for t in data["threads"]})
    assert not [t for t in data["threads"] if t["name"].startswith("dnprof")]
    cpu = json.loads(dnprof("report", "--json", "-e", "cpu", out).expect().stdout)
    assert {t["tid"] for t in cpu["threads"] if t["samples"]} <= {t["tid"] for t in data["threads"]}
    tids = [t["tid"] for t in data["threads"]]
    assert len(tids) == len(set(tids))


def test_each_of_many_short_threads_is_one(tmp_path):
    """Of thousands some are met just when they begin; what each did and what its clock says stand together."""
    truth, _, data = run_switch_whole(tmp_path, NEWEST, "-e", "cpu,switch", argv=("shortthreads", "--seconds", 1))
    check_sums(data)
    short = [t for t in data["threads"] if t["name"].startswith("short-")]
    assert [tid for tid, n in Counter(t["tid"] for t in data["threads"]).items() if n > 1] == []
    assert len(short) == truth["threads_started"]
    assert [t for t in short if not t["cpu_ns"]] == []
    # One that was not put off the processor until it ended has no switch, and has not waited; hardly any is so lucky.
    unbroken = [t for t in short if not t["voluntary"] + t["involuntary"]]
    assert [t for t in unbroken if t["blocked_ns"]] == [] and len(unbroken) <= 0.01 * len(short)


@pytest.mark.measured
def test_samples_and_switches_of_a_running_program(tmp_path):
    """Of all its threads, those too that begin meanwhile."""
    out = tmp_path / "t.dnp"
    with start(program(NEWEST, "crowd", "--seconds", 600)) as app:
        wait_for(lambda: any(name.startswith("crowd-") for name in thread_names(app.process.pid)), "its threads")
        dnprof("record", "-q", "-e", "cpu,switch", "-d", 1, "-o", out, app.process.pid).expect()
    data = shown(out)
    assert set(data["events"]) == {"cpu", "switch", "wait"}
    assert len({t["tid"] for t in data["threads"] if t["name"].startswith("crowd-")}) > 100 // LOOSE
    assert data["events"]["switch"]["voluntary"] + data["events"]["switch"]["involuntary"] > 20 // LOOSE


def test_switches_alone_of_a_program(tmp_path):
    truth, out = run_switch(tmp_path, NEWEST, "-e", "switch")
    data = shown(out)
    event = data["events"]["switch"]
    assert list(data["events"]) == ["switch", "wait"]
    check_few_lost(event["lost"], event["voluntary"] + event["involuntary"])
    assert set(truth["threads"]) <= {t["name"] for t in data["threads"]}
    assert "choose stacks" not in dnprof("report", out).expect().out
    assert "choose stacks, and switches have none" in dnprof("report", "--include", "Truth.*", out).expect().out
    # Those of dnprof itself are not shown, and so not counted.
    n_shown = len({t["tid"] for t in data["threads"]})
    assert f"matches none of {n_shown} threads" in dnprof("report", "-e", "switch", "--thread", "nobody", out).expect(3).err
    for option in (("--tree",), ("-m", "Truth.*")):
        refused(dnprof("report", *option, "-e", "switch", out), 1, "cannot show switch for", "it has no stacks")
        assert dnprof("report", *option, out).expect().out.count("\nwait: ") == 1


@pytest.mark.measured
def test_forbidden_in_a_program(tmp_path):
    truth, out = run_switch(tmp_path, NEWEST, "-e", "switch", argv=("threads8",), preexec_fn=refuse_perf_events)
    data = shown(out)
    event, found = data["events"]["switch"], {t["name"]: t for t in data["threads"]}
    assert event["sampled"] and "perf events are forbidden" in event["note"]
    for name, cpu_ns in truth["threads"].items():
        # What it used between the last look and its end nobody knows of: how much that is has no bound on a busy machine.
        assert 0.5 * cpu_ns - 50e6 < found[name]["cpu_ns"] < 1.1 * cpu_ns + 50e6, (name, found[name], cpu_ns)


def test_pages_show_the_samples(tmp_path):
    _, out = run_switch(tmp_path, NEWEST, "-e", "cpu,switch")
    dnprof("report", "-o", tmp_path / "app.html", out).expect()
    refused(dnprof("report", "-e", "switch", "-o", tmp_path / "none.collapsed", out), 1, "switches have none")
    refused(dnprof("run", "-e", "switch", "--wait", 0, "-o", tmp_path / "none.collapsed", "--",
                   *program(NEWEST, "threads8")), 2, "switches have none")
    assert (tmp_path / "app.html").exists() and not (tmp_path / "none.collapsed").exists()


# ---- -e switch: names, and what a dump has

def without_loss(out, *command):
    """What the report shows of a recording that COMMAND makes, in which no switch is missing: a busy machine loses some."""
    for _ in range(10):
        dnprof(*command)
        found = shown(out)
        if not found["events"]["switch"]["lost"]:
            return found
        tried_again("some switches were lost")
    raise AssertionError("some were lost each time")


def test_names_of_native_threads(tmp_path, tfm):
    """They give themselves names, and have ended before anybody looks."""
    out = tmp_path / "out.dnp"
    found = without_loss(out, "run", "-q", "-e", "switch", "-o", out, "--", *program(tfm, "native", "--work", 20))
    names = Counter(t["name"] for t in found["threads"])
    assert {n: names[n] for n in ("native-0", "native-1", "native-2", "called")} == \
        {"native-0": 20, "native-1": 20, "native-2": 20, "called": 20}, names


def test_last_names_of_native_threads(tmp_path, tfm):
    """They rename themselves late, one of them as the last thing it does; each has the name it had last."""
    out = tmp_path / "out.dnp"
    found = without_loss(out, "run", "-q", "-e", "switch", "-o", out, "--", *program(tfm, "native", "--renamed", "--work", 20))
    names = Counter(t["name"] for t in found["threads"])
    assert {n: names[n] for n in names if n.startswith(("early", "late"))} == {"late-0": 20, "late-1": 20, "late-2": 20}, names


@pytest.mark.measured
def test_names_of_threads_that_were_there(tmp_path, tfm):
    """They end soon; of those that end in the first moment nobody knows what they were called."""
    names = []
    with attached.Running(program(tfm, "crowd", "--seconds", 600), 0.2) as it:
        dnprof("attach", it.pid).expect()
        for i in range(3):
            dnprof("start", "-e", "cpu,switch", "-o", tmp_path / f"{i}.dnp", it.pid).expect()
            time.sleep(0.1)
            dnprof("stop", it.pid)  # 3: some were lost
    for i in range(3):
        names += [t["name"] for t in shown(tmp_path / f"{i}.dnp")["threads"] if t["seen_ns"] > 2_000_000]
    assert len(names) > 300 and names.count("") <= 0.01 * len(names), names.count("")


def slices_of(path, until_ns):
    """[(tid, begin)] of those that have ended by then."""
    text = dnprof("export", "-e", "switch", "-o", path.with_suffix(".csv"), path).expect()
    with open(path.with_suffix(".csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows, text
    return [(row["tid"], int(row["from_ns"])) for row in rows if int(row["to_ns"]) < until_ns]


@pytest.mark.measured
def test_what_a_killed_program_lacks(tmp_path, tfm):
    """Of its switches no more than a fifth of a second."""
    out = tmp_path / "out.dnp"
    with attached.Running(program(tfm, "threads8", "--seconds", 600), 0.2) as it:
        dnprof("attach", it.pid).expect()
        dnprof("start", "-e", "switch", "-o", out, it.pid).expect()
        began = time.monotonic_ns()
        time.sleep(1.5)
        took_ns = time.monotonic_ns() - began
        os.kill(it.pid, signal.SIGKILL)
    told(dnprof("export", "-e", "switch", "-o", tmp_path / "out.csv", out), 3, "incomplete")
    with open(tmp_path / "out.csv", newline="") as file:
        last_ns = max(int(row["to_ns"]) for row in csv.DictReader(file))
    assert last_ns >= took_ns - LOOSE * 0.2e9, (last_ns, took_ns)


def test_dump_has_all_switches(tmp_path, tfm):
    """Threads that seldom have a processor, and one that has it all the time.

    What one did before it first had one is not known if nobody had looked at it by then."""
    out, dump = tmp_path / "out.dnp", tmp_path / "dump.dnp"
    with attached.Running(program(tfm, "threads8", "--seconds", 600), 0.2) as it:
        dnprof("attach", it.pid).expect()
        dnprof("start", "-e", "switch", "-o", out, it.pid).expect()
        time.sleep(0.7)
        dnprof("dump", "-q", "-o", dump, it.pid).expect()
        dnprof("stop", it.pid)
    seen = shown(dump)
    # The last milliseconds are on their way.
    until_ns = seen["duration_ns"] - 20_000_000
    slices = slices_of(dump, until_ns)
    assert slices == slices_of(out, until_ns)
    first = {int(tid): begin for tid, begin in reversed(slices)}
    for tid, unknown in not_known(seen).items():
        assert unknown <= first.get(tid, until_ns) + seen["duration_ns"] * 0.01, (tid, seen["threads"])


def test_what_cannot_be_placed_is_kept(tmp_path):
    """Its place is taken meanwhile by what cannot be replaced: what was recorded is not lost."""
    out = tmp_path / "out.dnp"
    result = dnprof("timeline", "-o", out, "--", "sh", "-c", f"sleep 0.2; mkdir {out}").expect(1)
    kept = Path(re.search(r"what was recorded is kept in (\S+);", result.err).group(1))
    [recording] = kept.iterdir()
    assert f"cannot write to {out}" in result.err and shown(recording)["events"]["switch"]
    for path in (recording, kept, out):
        path.unlink() if path.is_file() else path.rmdir()


def test_names_of_one_second(tmp_path):
    """Those who choose a name with the time in it at once do not write over each other."""
    many = [subprocess.Popen([DNPROF, "timeline", "-q", "-o", tmp_path / "%t.dnp", "--", "sleep", "0.5"]) for _ in range(5)]
    assert [one.wait(60) for one in many] == [0] * 5
    assert len(list(tmp_path.iterdir())) == 5
