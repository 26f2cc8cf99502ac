# SPDX-License-Identifier: MIT
"""dnprof record, start, dump, stop, detach: recordings in running processes, whoever ends first, and in which way."""
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import stat
import sys
import time
from pathlib import Path

import pytest

import attached
import harness

from harness import (DNPROF, LOOSE, NEWEST, NOBODY, PATIENCE_S, agent_in, allows_events, as_nobody_else, cases, cpu_seconds,
                     dnprof, is_pending, let_others_in, needs_other_user, on_terminal, program, refused, report, run, samples_of,
                     slow, start, stop_all, told, wait_for, wait_for_samples, warm_up)

from test_stack import Impostor, request


BUSY = ("cpu", "--seconds", 600, "--rests")


def is_recording(pid):
    agent = agent_in(pid)
    return agent and agent["state"] == "recording"


def has_agent(pid):
    return "libdnprof.so" in Path(f"/proc/{pid}/maps").read_text()


@contextlib.contextmanager
def alone(tmp_path, argv, env=None):
    """A program without the agent; gives its pid once it can be attached."""
    with start(argv, env={"TMPDIR": str(tmp_path), **(env or {})}) as run:
        wait_for(lambda: list(tmp_path.glob("dotnet-diagnostic-*")), "the runtime's socket")
        warm_up(run.process.pid, 0.5)  # it has begun its work
        yield run.process.pid


@contextlib.contextmanager
def launched(tmp_path, argv, env=None):
    """The same with an agent that `dnprof run` has brought, and that has ended its own recording."""
    out = tmp_path / "run.dnp"
    with start([DNPROF, "run", "-q", "-d", "0.1", "-o", out, "--", *argv],
               env={"TMPDIR": str(tmp_path), **(env or {})}) as run:
        pid = run.child(Path(argv[0]).name)
        wait_for(lambda: (agent_in(pid) or {}).get("state") == "attached", "the end of its recording")
        warm_up(pid, 0.5)
        yield pid


@pytest.fixture(params=cases([alone, launched], [alone, launched], [alone]), ids=["alone", "launched"])
def target(request, tmp_path):
    """How to start a program, with the agent in it or without."""
    with contextlib.ExitStack() as stack:
        yield lambda *argv, **more: stack.enter_context(request.param(tmp_path, argv or program(NEWEST, *BUSY), **more))


#: For what does not depend on whether the agent was there before.
one_target = pytest.mark.parametrize("target", cases([alone, launched], [alone]), indirect=True)


@pytest.fixture
def begun(tmp_path):
    """A program in which nothing is recorded, and that has the agent: for the steps."""
    with launched(tmp_path, program(NEWEST, *BUSY)) as pid:
        yield pid


def names(folder):
    """The files there that are not the target's own; hidden ones, too."""
    return sorted(p.name for p in folder.iterdir() if not re.match(r"dotnet-diagnostic|dnprof-\d+-\d+-socket|clr-debug|run\.dnp|\.dotnet|lttng", p.name))


@pytest.mark.parametrize("options, source", [
    ((), "timer"), slow(("-F", 997), "timer"), (("--source", "perf"), "perf cpu-clock"), slow(("-e", "wall"), None)],
    ids=["default", "fast", "perf", "wall"])
@one_target
def test_source(target, tmp_path, options, source):
    """Threads that are there already are sampled by timers, which cost nothing where they hand work to each other; and what those
    cannot do is said. By an event for each where somebody asks for it."""
    pid = target()
    if "perf" in options and not allows_events(pid):
        pytest.skip("perf events are not allowed here")
    out = tmp_path / "out.dnp"
    record_while_it_computes(pid, out, 0.2, "-q", *options)
    events = report(out).data["events"]
    (event,) = events.values()
    assert event["samples"] > 0
    assert event["source"] == (source or "turns of all threads, and timer")
    assert ("no kernel frames" in event["note"]) == (source == "timer")


def status_of(pid, name):
    return int(re.search(rf"^{name}:\t(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M).group(1))


@needs_other_user
def test_more_threads_than_timers(tmp_path):
    """A timer is one of the signals that the user may have pending: where these run out, some are left to the program, and
    threads are sampled by events."""
    let_others_in(tmp_path)
    with alone(tmp_path, [*as_nobody_else("perfmon"), *program(NEWEST, "sleepers", "--seconds", 600)]) as pid:
        if not allows_events(pid):
            pytest.skip("perf events are not allowed here")
        wait_for(lambda: status_of(pid, "Threads") > 200, "its threads")
        run([*as_nobody_else(), "prlimit", f"--pid={pid}", "--sigpending=100"]).expect()
        out = tmp_path / "out.dnp"
        dnprof("record", "-q", "-d", 0.5, "-o", out, pid).expect()
        recorded = report(out)
        assert recorded.data["problems"] == []
        assert {"busy-0", "busy-1"} <= recorded.threads().keys()


USES_UP_SIGNALS = """
import ctypes, os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMAX})
queue = ctypes.CDLL(None).sigqueue
while True:
    while queue(os.getpid(), signal.SIGRTMAX, None) == 0:
        pass
    time.sleep(0.001)
"""


@needs_other_user
def test_signals_used_up_by_another(tmp_path):
    """Where another program of the user's takes all the signals that may be pending, events of each thread have no place for
    theirs: the program lives, and it is said what was lost and why."""
    let_others_in(tmp_path)
    limited = ["prlimit", "--sigpending=1000", *as_nobody_else("perfmon")]
    with alone(tmp_path, [*limited, *program(NEWEST, *BUSY)]) as pid:
        if not allows_events(pid):
            pytest.skip("perf events are not allowed here")
        out = tmp_path / "out.dnp"
        with recording_of(pid, out, "-q", "-d", "600", "--source", "perf") as recorder, \
                start([*limited, sys.executable, "-c", USES_UP_SIGNALS]):
            wait_for(lambda: status_of(pid, "SigQ") >= 1000, "no place for further signals")
            warm_up(pid, cpu_seconds(pid) + 0.5)
            recorder.process.send_signal(signal.SIGINT)
            said = recorder.end()
        assert said.status == 3, said
        assert "too many signals were pending" in said.err and "ulimit -i" in said.err
        assert "too many signals pending" in dnprof("report", out).expect().out
        warm_up(pid, cpu_seconds(pid) + 0.1)


def left_over(folder):
    return [p.name for p in folder.glob(".dnprof-*") if not any(p.glob("session"))]


def check(recording, at_least=3):
    """A whole recording with samples of the program's own methods."""
    result = dnprof("report", "--json", recording).expect()
    data = harness.Report(json.loads(result.stdout))
    assert data.samples >= at_least
    assert any(name.startswith("Truth.") for path, _ in data.stacks() for name in path)
    return data


def recording_of(pid, out, *options, how=(), **more):
    """Starts `dnprof record` and waits until it records."""
    run = start([*how, DNPROF, "record", *options, "-o", out, pid], **more)
    try:
        wait_for(lambda: is_recording(pid) or run.process.poll() is not None, "a recording")
        assert run.process.poll() is None, run.end()
    except BaseException:
        run.__exit__()
        raise
    return run


def record_while_it_computes(pid, out, cpu_s, *options, **more):
    """A recording of so much CPU time of the program's, which has some samples then: within a time it may have no turn."""
    with recording_of(pid, out, "-d", 2 * PATIENCE_S, *options, **more) as recorder:
        warm_up(pid, cpu_seconds(pid) + cpu_s)
        wait_for_samples(pid)
        recorder.process.send_signal(signal.SIGINT)
        return recorder.end().expect()


# ---- What it makes

def test_record(target, tmp_path):
    pid, out = target(), tmp_path / "app.dnp"
    had = has_agent(pid)
    result = dnprof("record", "-d", 1, "-F", 997, "-o", out, pid).expect()
    assert result.err == "" and result.out == ""
    data = report(out)
    assert data.data["complete"] and 0.9e9 < data.data["duration_ns"] < PATIENCE_S * 1e9 and data.data["pid"] == pid
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert not left_over(tmp_path)
    wait_for(lambda: has_agent(pid) == had, "the agent to leave, if it came for this")


def test_every_runtime(tmp_path, tfm):
    with alone(tmp_path, program(tfm, *BUSY)) as pid:
        record_while_it_computes(pid, tmp_path / "app.dnp", 0.3, "-F", 997)
        check(tmp_path / "app.dnp")


@pytest.mark.parametrize("name, begins", [
    ("x.html", b"<!doctype html>"), slow("x.txt", b"truth: "), slow("x.collapsed", None)])
def test_formats(begun, tmp_path, name, begins):
    out = tmp_path / "out" / name
    out.parent.mkdir()
    record_while_it_computes(begun, out, 0.2, "-F", 997)
    assert begins is None or out.read_bytes().lower().startswith(begins)
    assert out.stat().st_size > 100 and names(out.parent) == [name]


def test_names(begun, tmp_path):
    for words in (("record", "-d", 0.2), ("start",), ("dump",)):
        folder = tmp_path / words[0]
        folder.mkdir()
        dnprof(*words, begun, cwd=folder).expect()
        assert re.fullmatch(rf"dnprof-{begun}-\d{{8}}-\d{{6}}\.dnp", *names(folder))
    dnprof("stop", "-o", tmp_path / "%p-%t.txt", begun).expect()
    assert len(list(tmp_path.glob(f"{begun}-2*.txt"))) == 1


def test_summary_where_the_name_is_not_known(begun, tmp_path):
    err = dnprof("record", "-d", 0.2, begun, cwd=tmp_path).expect().err
    assert re.fullmatch(r"dnprof: \S+\.dnp: \d+ samples in \d+\.\d s, lost \d+; to read it: dnprof report \S+\n", err)


@pytest.mark.parametrize("event,what", [
    ("lock", ("locks", "--work", 1)), ("mark", ("marks", "--work", 1)), ("jit", ("dynamic",)), ("gc", ("gc", "--seconds", 1))])
def test_summary_counts_each_event(tmp_path, event, what):
    """Those whose samples are of some time, and those that the program says, too."""
    out = tmp_path / "out.dnp"
    told = dnprof("run", "-v", "-e", event, "-o", out, "--", *program(NEWEST, *what)).expect().err
    samples, lost = re.search(r"out\.dnp: (\d+) samples in \d+\.\d s, lost (.+);", told).groups()
    of_event = report(out).data["events"][event]
    assert 0 < int(samples) == of_event["samples"]
    assert lost == "0" or of_event["lost"], told



@one_target
def test_events(target, tmp_path):
    pid, out = target(), tmp_path / "app.dnp"
    record_while_it_computes(pid, out, 0.2, "-e", "cpu,wall", "-F", 997)
    data = report(out).data["events"]
    assert data["cpu"]["samples"] > 0 and data["wall"]["samples"] > 0
    assert data["cpu"]["interval_ns"] == data["wall"]["interval_ns"] == 1003009


@one_target
def test_snapshot_engine(target, tmp_path):
    pid, out = target(), tmp_path / "app.dnp"
    record_while_it_computes(pid, out, 0.2, "--engine", "snapshot")
    check(out)


def test_patterns(begun, tmp_path):
    out = tmp_path / "app.txt"
    record_while_it_computes(begun, out, 0.2, "-F", 997, "--include", "Truth.*")
    assert "Truth." in out.read_text()
    result = dnprof("record", "-d", 0.3, "--include", "NoSuchThing.*", "-o", out, begun).expect(3)
    assert "NoSuchThing" in result.err
    dnprof("record", "--include", "Truth.*", "-o", tmp_path / "app.dnp", begun).expect(2)


@pytest.mark.slow
@one_target
def test_again_and_again(target, tmp_path):
    pid, out = target(), tmp_path / "app.dnp"
    for _ in range(4):
        record_while_it_computes(pid, out, 0.1, "-F", 997)
        check(out)


def test_progress_on_a_terminal(begun, tmp_path):
    status, shown = on_terminal([DNPROF, "record", "-d", 3, "-o", "out.dnp", begun], tmp_path, {})
    assert status == 0
    assert re.search(r"dnprof: \d+ s, \d+ samples, lost \d+, CPU \d\.\d s", shown)
    assert re.search(r"dnprof: \S+out\.dnp: \d+ samples in \d+\.\d s", shown)


# ---- Who ends it

ENDINGS = [(how, number) for how in (alone, launched) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


@pytest.mark.parametrize("target, number", cases(ENDINGS, [
    (alone, signal.SIGINT), (launched, signal.SIGTERM), (alone, signal.SIGHUP)]), indirect=["target"])
def test_signals(target, tmp_path, number):
    pid, out = target(), tmp_path / "app.dnp"
    had = has_agent(pid)
    with recording_of(pid, out) as run:
        wait_for_samples(pid)
        run.process.send_signal(number)
        assert run.end().expect().err == ""
    check(out)
    wait_for(lambda: has_agent(pid) == had, "the agent to leave, if it came for this")


def test_signals_that_are_ignored(begun, tmp_path):
    """As after nohup: the recording goes on, and another one ends it."""
    with recording_of(begun, tmp_path / "app.dnp", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as run:
        wait_for_samples(begun)
        run.process.send_signal(signal.SIGHUP)
        wait_for_samples(begun, samples_of(begun) + 10)
        run.process.send_signal(signal.SIGTERM)
        run.end().expect()
    check(tmp_path / "app.dnp")


def test_interrupt_key(begun, tmp_path):
    status, shown = on_terminal([DNPROF, "record", "-q", "-o", "out.dnp", begun], tmp_path, {},
                                [(lambda: samples_of(begun) > 10, b"\x03")])
    assert (status, shown.replace("^C", "")) == (0, "")
    check(tmp_path / "out.dnp")


def test_two_signals(begun, tmp_path):
    """Nothing that can take long: not even the process has to answer."""
    out = tmp_path / "app.txt"
    with recording_of(begun, out) as run:
        wait_for_samples(begun)
        stop_all(begun)
        try:
            run.process.send_signal(signal.SIGINT)
            wait_for(lambda: not is_pending(run.process.pid, signal.SIGINT), "the first one to be seen")
            time.sleep(0.3)
            assert run.process.poll() is None
            run.process.send_signal(signal.SIGINT)
            assert "the recording is kept as it is" in run.end().expect(3).err
        finally:
            os.kill(begun, signal.SIGCONT)
    wait_for(lambda: not is_recording(begun), "its end")
    check(f"{out}.dnp")


KILLED = [(how, name) for how in (alone, launched) for name in ("app.dnp", "app.html")]


@pytest.mark.parametrize("target, name", cases(KILLED, [(alone, "app.dnp"), (launched, "app.html")]), indirect=["target"])
def test_killed(target, tmp_path, name):
    """The agent ends it well and leaves, if it came for it."""
    pid, out = target(), tmp_path / name
    had = has_agent(pid)
    with recording_of(pid, out) as run:
        wait_for_samples(pid)
        run.process.kill()
        run.end()
    if had:
        wait_for(lambda: not is_recording(pid), "the end of the recording")
    wait_for(lambda: has_agent(pid) == had, "the agent to leave, if it came for this")
    check(out if name == "app.dnp" else f"{out}.dnp")
    assert not left_over(tmp_path)


def test_program_ends(target, tmp_path):
    pid, out = target(*program(NEWEST, "cpu", "--seconds", 2)), tmp_path / "app.dnp"
    result = dnprof("record", "-d", 2 * PATIENCE_S, "-o", out, pid).expect()
    assert re.fullmatch(rf"dnprof: process {pid} has ended, after \d+\.\d s\n", result.err)
    check(out)
    assert not left_over(tmp_path)


def written(recording):
    """The samples that a recording has which still grows."""
    result = dnprof("report", "--json", recording)
    return json.loads(result.stdout)["events"].get("cpu", {}).get("samples", 0) if result.status in (0, 3) else 0


def test_program_is_killed(target, tmp_path):
    pid, out = target(), tmp_path / "app.dnp"
    with recording_of(pid, out) as run:
        wait_for_samples(pid)
        wait_for(lambda: written(out) >= 3, "samples in the file")
        os.kill(pid, signal.SIGKILL)
        told(run.end(), 3, "incomplete", "killed")
    data = json.loads(dnprof("report", "--json", out).expect(3).stdout)
    assert data["events"]["cpu"]["samples"] >= 3


def test_ended_by_another(begun, tmp_path):
    out = tmp_path / "app.txt"
    with recording_of(begun, out) as run:
        wait_for_samples(begun)
        told(dnprof("stop", begun), 0, "has ended", "has it now")
        assert "was ended by another 'dnprof stop'" in run.end().expect().err
    assert "truth:" in out.read_text()


def test_process_stands_still(begun, tmp_path):
    out = tmp_path / "app.dnp"
    with recording_of(begun, out, "--timeout", 5) as run:
        wait_for_samples(begun)
        stop_all(begun)
        try:
            run.process.send_signal(signal.SIGINT)
            why, what = run.end().expect(3).complaints()
            assert "it is stopped, by a signal or a debugger" in why and "is kept as it is" in what
        finally:
            os.kill(begun, signal.SIGCONT)
    wait_for(lambda: not is_recording(begun), "the end of the recording")
    check(out)


# ---- In steps

def few_files(soft, hard=None):
    """For what runs then: no more descriptors than most systems allow, or fewer."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard or resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


@pytest.mark.parametrize("files", cases([20, 256, 1024, 1025], [20, 1024], [1024]))
def test_few_descriptors_of_dnprof(target, tmp_path, files):
    pid, limited = target(), few_files(files)
    dnprof("record", "-q", "-d", 0.3, "-o", tmp_path / "1.dnp", pid, preexec_fn=limited).expect()
    dnprof("timeline", "-q", "-d", 0.1, "-o", tmp_path / "2.dnp", pid, preexec_fn=limited).expect()
    if not has_agent(pid):
        dnprof("attach", "-q", pid, preexec_fn=limited).expect()
    dnprof("start", "-q", "-o", tmp_path / "3.dnp", pid, preexec_fn=limited).expect()
    wait_for_samples(pid)
    dnprof("stop", "-q", pid, preexec_fn=limited).expect()
    dnprof("run", "-q", "-o", tmp_path / "4.dnp", "--", *program(NEWEST, "cpu", "--work", 20), preexec_fn=limited).expect()
    for name in ("1.dnp", "3.dnp", "4.dnp"):
        assert check(tmp_path / name).samples > 0, name


@pytest.mark.parametrize("files", cases([64, 100, 1024, 1025], [64, 1024], [1024]))
def test_few_descriptors_of_a_program(tmp_path, files):
    """The runtime raises the soft limit: the hard one counts."""
    limit = [sys.executable, "-c", "import os, resource, sys; n = int(sys.argv[1]); "
             "resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)); os.execv(sys.argv[2], sys.argv[2:])", str(files)]
    with alone(tmp_path, [*limit, *map(str, program(NEWEST, *BUSY))]) as pid:
        dnprof("record", "-q", "-d", 0.3, "-o", tmp_path / "1.dnp", pid).expect()
        dnprof("attach", "-q", pid).expect()
        dnprof("start", "-q", "-o", tmp_path / "2.dnp", pid).expect()
        wait_for_samples(pid)
        dnprof("stop", "-q", pid).expect()
        dnprof("detach", "-q", pid).expect()
        assert min(check(tmp_path / name).samples for name in ("1.dnp", "2.dnp")) > 0


def test_streams_that_are_closed(target, tmp_path):
    """As those who start it without any may have it; a program finds them as they were."""
    def close():
        os.closerange(0, 3)

    pid = target()
    dnprof("record", "-q", "-d", 0.3, "-o", tmp_path / "1.dnp", pid, preexec_fn=close).expect()
    seen = tmp_path / "seen"
    dnprof("timeline", "-q", "-o", tmp_path / "2.dnp", "--", sys.executable, "-S", "-c",
           f"import os; open({str(seen)!r}, 'w').write(' '.join(str(os.path.exists(f'/proc/self/fd/{{n}}')) for n in (1, 2)))",
           preexec_fn=close).expect()
    dnprof("run", "-q", "-o", tmp_path / "3.dnp", "--", *program(NEWEST, "cpu", "--work", 20), preexec_fn=close).expect()
    assert min(check(tmp_path / name).samples for name in ("1.dnp", "3.dnp")) > 0
    # Its own file takes 0.
    assert seen.read_text() == "False False"
    assert dnprof("report", tmp_path / "1.dnp", preexec_fn=close).status == 1


def test_steps(begun, tmp_path):
    out, first, second, page = (tmp_path / name for name in ("app.dnp", "1.txt", "2.dnp", "app.html"))
    result = dnprof("start", "-F", 499, "-o", out, begun).expect()
    assert result.out == f"recording process {begun} into {out}; to end it: dnprof stop {begun}\n"
    wait_for_samples(begun)
    dnprof("dump", "-o", first, begun).expect()
    wait_for_samples(begun, 20 + samples_of(begun))
    dnprof("dump", "-o", second, begun).expect()
    some = check(second).samples
    assert "truth:" in first.read_text() and not (tmp_path / "1.txt.dnp").exists()
    assert is_recording(begun)
    assert dnprof("stop", "-o", page, begun).expect().err == ""
    assert check(out).samples > some and page.read_bytes().startswith(b"<!doctype html>")
    assert not left_over(tmp_path) and not (tmp_path / "app.html.dnp").exists()
    told(dnprof("stop", begun), 1, "not being recorded", "dnprof start")
    told(dnprof("dump", "-o", first, begun), 1, "cannot ask process", "record")


def test_steps_with_attach(tmp_path, tfm):
    with alone(tmp_path, program(tfm, *BUSY)) as pid:
        for _ in range(2):
            dnprof("attach", pid).expect()
            dnprof("start", "-o", tmp_path / "app.dnp", pid).expect()
            wait_for_samples(pid)
            assert dnprof("detach", pid).expect().out == f"detached from process {pid}\n"
            check(tmp_path / "app.dnp")
            assert not has_agent(pid) and not list(tmp_path.glob("dnprof-*-socket"))
        told(dnprof("detach", pid), 1, "the agent is not in it")
        told(dnprof("start", pid), 1, "the agent is not in it", "dnprof attach")


def test_detach_while_another_records(tmp_path):
    with alone(tmp_path, program(NEWEST, *BUSY)) as pid, recording_of(pid, tmp_path / "app.dnp") as run:
        wait_for_samples(pid)
        dnprof("detach", pid).expect()
        assert not has_agent(pid)
        assert "was ended by another" in run.end().expect().err
        check(tmp_path / "app.dnp")


def test_recording_of_run(tmp_path):
    """What `dnprof run` records can be looked at and ended; it then writes what it was asked for."""
    out = tmp_path / "app.txt"
    with start([DNPROF, "run", "-q", "-o", out, "--", *program(NEWEST, *BUSY)],
               env={"TMPDIR": str(tmp_path)}) as run:
        pid = run.child("truth")
        wait_for(lambda: is_recording(pid), "a recording")

        def has_begun():
            dnprof("dump", "-o", tmp_path / "now.dnp", pid).expect()
            return any("Truth." in name for path, _ in report(tmp_path / "now.dnp").stacks() for name in path)

        wait_for(has_begun, "samples of the program's own")
        check(tmp_path / "now.dnp")
        told(dnprof("stop", pid), 0, "has ended", "has it now")
        os.kill(pid, signal.SIGTERM)
        run.end().expect(128 + signal.SIGTERM)
    assert "truth:" in out.read_text()


def test_beside_hooks(tmp_path):
    """A program whose calls were traced can be recorded; the agent cannot leave it, and says why."""
    with start([DNPROF, "run", "-q", "-e", "trace", "-d", "2", "-o", tmp_path / "run.dnp", "--",
                *program(NEWEST, *BUSY)], env={"TMPDIR": str(tmp_path)}) as run:
        pid = run.child("truth")
        wait_for(lambda: (agent_in(pid) or {}).get("state") == "attached", "the end of its recording")
        for _ in range(2):
            record_while_it_computes(pid, tmp_path / "app.dnp", 0.2, "-F", 997)
            check(tmp_path / "app.dnp")
            told(dnprof("detach", pid), 1, "the agent cannot leave", r"CORPROF_E_\w+ \(0x[0-9a-f]{8}\)")


def test_copy_of_a_recording_that_is_gone(begun, tmp_path):
    """Its file was removed, or lies where nobody here sees it."""
    out, here = tmp_path / "app.dnp", tmp_path / "here"
    here.mkdir()
    dnprof("start", "-o", out, begun).expect()
    wait_for_samples(begun)
    out.unlink()
    dnprof("stop", begun, cwd=here).expect()
    check(here / names(here)[0])


def test_copy_of_a_recording_that_is_gone_where_nothing_may_be_written(begun, tmp_path):
    """It goes to the temporary files then, wherever they are."""
    out, there = tmp_path / "app.dnp", tmp_path / "%t%"
    there.mkdir()
    dnprof("start", "-o", out, begun).expect()
    wait_for_samples(begun)
    out.unlink()
    result = dnprof("stop", "-q", begun, cwd="/proc/self", env={"TMPDIR": str(there)}).expect(1)
    [name] = names(there)
    first, second = result.err.splitlines()
    assert first.startswith("dnprof: cannot write to ") and second == f"dnprof: the recording is kept: {there / name}"
    check(there / name)


def test_own_threads_are_not_among_the_programs(begun, tmp_path):
    """Nor are those that had ended before their switches were read."""
    dnprof("record", "-q", "-e", "switch,mark,lock", "-d", 0.2, "-o", tmp_path / "app.dnp", begun).expect()
    threads = report(tmp_path / "app.dnp", options=("-e", "switch", "-n", 0)).data["threads"]
    assert threads and not [t["name"] for t in threads if t["name"].startswith("dnprof")]


def test_stop_writes_a_copy(begun, tmp_path):
    dnprof("start", "-o", tmp_path / "app.dnp", begun).expect()
    wait_for_samples(begun)
    dnprof("stop", "-o", tmp_path / "copy.dnp", begun).expect()
    assert check(tmp_path / "app.dnp").samples == check(tmp_path / "copy.dnp").samples


def test_stop_before_its_file_is_in_place(begun, tmp_path):
    """'start' gives a recording its name when it has begun; who ends it in that moment waits for that."""
    hidden, out = tmp_path / ".dnprof-abcdef", tmp_path / "app.dnp"
    hidden.mkdir()
    with open(hidden / "recording.dnp", "xb+") as file:
        attached.ask(begun, attached.START, 0, "event=cpu;interval_ns=1000000", file.fileno())
    wait_for_samples(begun)
    with start([DNPROF, "stop", begun]) as stop:
        wait_for(lambda: not is_recording(begun), "the recording's end")
        (hidden / "recording.dnp").rename(out)
        hidden.rmdir()
        result = stop.end().expect()
    assert str(out) in result.out + result.err and not left_over(tmp_path)
    check(out)


# ---- What an agent may answer

#: docs: format/control.h
DONE, ERROR, END = 2, 3, 4
ANSWERS = [
    (f"c.send({request(ERROR, 16, b'for a reason; do that')!r})", "for a reason; do that"),
    ("c.send(b'garbage')", "the agent in it is of another version"),
    ("c.close(); time.sleep(600)", "its agent ended the connection"),
    # It records, and then:
    (f"c.send({request(DONE, 0)!r}); c.close(); time.sleep(600)", "its agent ended the connection"),
    (f"c.send({request(DONE, 0)!r}); c.send(b'garbage'); time.sleep(600)", "the agent in it is of another version"),
    (f"c.send({request(DONE, 0)!r}); c.send({request(END, 4, b'the disk is full')!r}); time.sleep(600)",
     "the recording ended early: the disk is full"),
    (f"c.send({request(DONE, 0)!r})", "ended before anything was written|its agent ended the connection"),
    # Asked to stop:
    (f"c.send({request(DONE, 0)!r}); c.recv(512); c.send({request(DONE, 0)!r}); time.sleep(600)",
     "the agent in it is of another version"),  # it brings no file
    (f"c.send({request(DONE, 0)!r}); c.recv(512); c.send({request(ERROR, 5, b'it went wrong; do this')!r}); "
     "time.sleep(600)", "it went wrong; do this"),
]


@pytest.mark.parametrize("answer, words", ANSWERS)
def test_what_may_be_answered(tmp_path, answer, words):
    with Impostor(tmp_path, f"import time; {answer}") as pid:
        result = dnprof("record", "-d", 0.3, "--timeout", PATIENCE_S, "-o", tmp_path / "app.dnp", pid)
        lines = [line for line in result.expect(1).complaints() if "has ended" not in line]
        assert len(lines) == 1 and re.search(words, lines[0]), result
        assert not (tmp_path / "app.dnp").exists() and not left_over(tmp_path)


# ---- Why it cannot

def test_usage(begun, tmp_path):
    for verb in ("record", "start", "dump", "stop", "detach"):
        for words in ([], [1, 2], ["x"], ["--timeout", "x", 1], ["--nonsense", 1]):
            dnprof(verb, *words).expect(2)
    for words in (["-e", "nonsense"], ["-F", 0], ["-d", "x"], ["-o", "x.nonsense"], ["-o", "-"], ["--engine", "x"]):
        dnprof("record", *words, begun, cwd=tmp_path).expect(2)
    refused(dnprof("start", "-o", "x.html", begun), 2, "dnprof stop -o")
    assert not is_recording(begun)


def test_calls_are_traced_from_the_start_only():
    for verb in ("record", "start"):
        refused(dnprof(verb, "-e", "cpu,trace", 1), 2, "from a program's start only", "dnprof run -e cpu,trace")


@pytest.mark.parametrize("place", ["nowhere/x.dnp", "/proc/x.dnp", "folder.dnp", "link.dnp"])
def test_place_that_cannot_be_written(tmp_path, place):
    """Told before the process is touched."""
    (tmp_path / "folder.dnp").mkdir()
    (tmp_path / "link.dnp").symlink_to("elsewhere")
    with alone(tmp_path, program(NEWEST, *BUSY)) as pid:
        refused(dnprof("record", "-o", tmp_path / place, pid), 1, "cannot write to", "-o")
        assert not has_agent(pid) and not left_over(tmp_path)


def test_place_that_cannot_be_written_in_steps(begun, tmp_path):
    refused(dnprof("start", "-o", tmp_path / "nowhere/x.dnp", begun), 1, "cannot write to")
    dnprof("start", "-o", tmp_path / "app.dnp", begun).expect()
    for verb in ("dump", "stop"):
        refused(dnprof(verb, "-o", tmp_path / "nowhere/x.html", begun), 1, "cannot write to")
    assert is_recording(begun)


def open_files(pid, folder):
    found = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(fd))
    return [path for path in found if path.startswith(str(folder))]


@one_target
def test_full_disk(target, small_disk):
    """What is there is kept and can be read, and the program has nothing of it open: what is deleted makes room."""
    (small_disk / "filler").write_bytes(bytes(128 << 10))
    pid, out = target(), small_disk / "app.dnp"
    result = dnprof("record", "-d", PATIENCE_S, "--source", "perf", "-F", 9973, "-o", out, pid, timeout=2 * PATIENCE_S).expect(3)
    assert any("No space left" in line for line in result.complaints()), result
    assert json.loads(dnprof("report", "--json", out).stdout)["events"]["cpu"]["samples"] > 100 // LOOSE
    wait_for(lambda: not open_files(pid, small_disk), "the program to close the recording")
    free = os.statvfs(small_disk).f_bavail
    kept = os.stat(out).st_blocks * 512 // os.statvfs(small_disk).f_frsize
    out.unlink()
    assert kept and os.statvfs(small_disk).f_bavail == free + kept


@one_target
def test_full_disk_while_nobody_waits(target, small_disk, tmp_path):
    """Who comes later is told why there is no recording, until another one begins."""
    (small_disk / "filler").write_bytes(bytes(192 << 10))
    pid = target()
    dnprof("attach", pid).expect()
    dnprof("start", "--source", "perf", "-F", 9973, "-o", small_disk / "app.dnp", pid).expect()
    wait_for(lambda: "records nothing; the recording ended early" in dnprof("status", pid).out, "the disk to be full")
    assert "No space left" in json.loads(dnprof("status", "--json", pid).out)["processes"][0]["agent"]["failure"]
    refused(dnprof("stop", pid), 1, "is not being recorded any more: ", "No space left")
    dnprof("start", "-o", tmp_path / "app.dnp", pid).expect()
    dnprof("stop", pid).expect()
    refused(dnprof("stop", pid), 1, "is not being recorded; ")
    dnprof("detach", pid).expect()


@pytest.mark.parametrize("free", [0, 1, 10])
def test_disk_that_is_full_from_the_start(tmp_path, small_disk, free):
    """Whether it is told before the process is touched or after: it is left as it was."""
    with open(small_disk / "filler", "wb", buffering=0) as filler:
        with contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))
    os.truncate(small_disk / "filler", (small_disk / "filler").stat().st_size - free * 4096)
    with alone(tmp_path, program(NEWEST, *BUSY)) as pid:
        result = dnprof("record", "-d", 0.5, "-F", 997, "-o", small_disk / "app.dnp", pid)
        assert result.status in ((1, 3) if free < 10 else (0, 3)), result
        wait_for(lambda: not has_agent(pid), "the agent to leave")
        assert result.status != 1 or not (small_disk / "app.dnp").exists()
        assert not left_over(small_disk)


def test_no_such_process(tmp_path):
    for verb in ("record", "start", "dump", "stop", "detach"):
        assert "there is no such process" in dnprof(verb, 2 ** 22 + 1, cwd=tmp_path).expect(1).err
    assert names(tmp_path) == []


def test_not_dotnet(tmp_path):
    with start(["sleep", "600"]) as sleep:
        assert "no .NET runtime" in dnprof("record", sleep.process.pid, cwd=tmp_path).expect(1).err
    assert names(tmp_path) == []


def test_two_at_once(begun, tmp_path):
    with recording_of(begun, tmp_path / "app.dnp") as run:
        for verb in ("record", "start"):
            told(dnprof(verb, "-o", tmp_path / "other.dnp", begun), 1, "already recording", "cpu",
                 str(run.process.pid), f"dnprof stop {begun}")
        assert not (tmp_path / "other.dnp").exists() and not left_over(tmp_path)
        assert run.process.poll() is None


@needs_other_user
def test_of_another_user(tmp_path):
    let_others_in(tmp_path)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    with alone(tmp_path, program(NEWEST, *BUSY)) as pid:
        result = harness.run([*NOBODY, DNPROF, "record", "-d", 1, "-o", theirs / "app.dnp", pid])
        told(result, 1, "another user")
        assert not has_agent(pid) and not list(theirs.iterdir())
    for left in tmp_path.glob("dotnet-diagnostic-*"):
        left.unlink()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    os.chown(temporary, 65534, 65534)
    with start([*NOBODY, *program(NEWEST, *BUSY)], env={"TMPDIR": str(temporary)}) as run:
        pid = run.process.pid
        wait_for(lambda: list(temporary.glob("dotnet-diagnostic-*")), "the runtime's socket")
        record_while_it_computes(pid, tmp_path / "app.dnp", 0.3, "-F", 997)
        check(tmp_path / "app.dnp")
        assert (tmp_path / "app.dnp").stat().st_uid == 0
        record_while_it_computes(pid, theirs / "app.dnp", 0.3, "-F", 997, how=NOBODY)
        check(theirs / "app.dnp")


@needs_other_user
def test_root_has_the_users_rights_in_their_folders(tmp_path):
    """They could lead its path elsewhere at any moment: what only root may do there, 'stop' does not do."""
    let_others_in(tmp_path)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    with start([*NOBODY, *program(NEWEST, *BUSY)], env={"TMPDIR": str(theirs)}) as run:
        wait_for(lambda: list(theirs.glob("dotnet-diagnostic-*")), "the runtime's socket")
        for command in ("attach",), ("start", "-o", theirs / "app.dnp"):
            harness.run([*NOBODY, DNPROF, *command, run.process.pid]).expect()
        wait_for_samples(run.process.pid)
        before = (theirs / "app.dnp").stat()
        os.chown(theirs, 0, 0)
        result = dnprof("stop", run.process.pid).expect()
        assert "cannot write" in result.err and "Permission denied" in result.err
        after = (theirs / "app.dnp").stat()
        assert (after.st_ino, after.st_uid) == (before.st_ino, 65534)
        assert not list(theirs.glob("app.dnp?*"))
        check(theirs / "app.dnp")


def truth_in(outer):
    return next((pid for pid in harness.descendants(outer.process.pid)
                 if re.match(r"\S+/truth ", harness.command_line(pid))), None)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare")
def test_container_that_cannot_write(tmp_path):
    """All it sees is read-only but its own /tmp: the recording comes here all the same."""
    script = tmp_path / "inside"
    script.write_text("#!/bin/sh\nset -e\nmount -t tmpfs none /tmp\ncd /\nmount -o remount,bind,ro / 2>/dev/null || "
                      "{ mount --bind / / && mount -o remount,bind,ro /; }\nexec \"$@\"\n")
    script.chmod(0o755)
    if Path("/tmp") in DNPROF.parents:
        pytest.skip("this dnprof lies in /tmp, which is hidden inside")
    with start(["unshare", "--pid", "--mount", "--fork", "--mount-proc", script, *program(NEWEST, *BUSY)],
               env={"TMPDIR": "/tmp"}) as outer:
        wait_for(lambda: truth_in(outer) or outer.process.poll() is not None, "the program")
        if outer.process.poll() is not None:
            pytest.skip("no namespaces can be made here")
        pid = truth_in(outer)
        wait_for(lambda: list(Path(f"/proc/{pid}/root/tmp").glob("dotnet-diagnostic-*")), "the runtime's socket")
        record_while_it_computes(pid, tmp_path / "app.dnp", 0.3, "-F", 997)
        data = check(tmp_path / "app.dnp")
        assert any(name.startswith("libc.so.6!") and "+0x" not in name for path, _ in data.stacks() for name in path)
        dnprof("attach", pid).expect()
        dnprof("start", "-o", tmp_path / "steps.dnp", pid).expect()
        wait_for_samples(pid)
        dnprof("stop", pid).expect()
        check(tmp_path / "steps.dnp")
        dnprof("detach", pid).expect()
        assert not list(Path(f"/proc/{pid}/root/tmp").glob("dnprof*"))
