# SPDX-License-Identifier: MIT
"""The launcher alone: a host and an agent made for the test stand in for .NET and the real one, so
that what the agent says, and what it fails to say, can be chosen."""
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness import (DNPROF, clean_environment, command_line, descendants, is_pending, on_terminal, report, run, start,
                     wait_for)

TOOLS = DNPROF.parents[1] / "tests/tools"
HOST = TOOLS / "fake-host"


@pytest.fixture(scope="session", autouse=True)
def built():
    """Nothing but the build itself is needed here."""
    assert HOST.exists(), f"{HOST} is missing: build first (script/build)"


@pytest.fixture
def launcher(tmp_path_factory):
    """A copy of dnprof whose agent is the made one."""
    place = tmp_path_factory.mktemp("bin")
    shutil.copy(DNPROF, place / "dnprof")
    shutil.copy(TOOLS / "libfake-agent.so", place / "libdnprof.so")
    return place / "dnprof"


@pytest.fixture
def launch(launcher, tmp_path):
    """launch(steps…, how=…, options=…): runs the host under dnprof, in tmp_path."""
    def launch_(*steps, how="whole", options=("-o", "out.dnp"), **more):
        env = {"FAKE_AGENT": how, **more.pop("env", {})}
        return run([launcher, "run", *options, "--", HOST, *steps], env=env, cwd=tmp_path, **more)
    return launch_


def left(tmp_path):
    return sorted(os.listdir(tmp_path))


def said(result, *words):
    """Exactly one line, with each of WORDS."""
    lines = result.complaints()
    assert len(lines) == 1, result
    for word in words:
        assert re.search(word, lines[0], re.I), f"no {word!r} in {lines[0]}"
    return lines[0]


def test_whole(launch, tmp_path):
    result = launch("exit", 0).expect(0)
    assert (result.out, result.err) == ("", "")
    assert left(tmp_path) == ["out.dnp"]
    data = report(tmp_path / "out.dnp")
    assert data.samples == 100


def test_exit_is_recorded(launch, tmp_path):
    launch("exit", 7).expect(7)
    text = run([DNPROF, "report", tmp_path / "out.dnp"]).expect().out
    assert re.search(r"\b7\b", text), text


def test_default_name_is_said(launch, tmp_path):
    result = launch("exit", 0, options=()).expect(0)
    name, = left(tmp_path)
    assert re.fullmatch(r"dnprof-\d+\.dnp", name)
    said(result, name, "100 samples", "lost 0", "dnprof report")


def test_name_with_pid_time_and_percent(launch, tmp_path):
    launch("exit", 0, options=("-o", "a%%-%p-%t.dnp")).expect(0)
    name, = left(tmp_path)
    assert re.fullmatch(r"a%-\d+-\d{8}-\d{6}\.dnp", name)


@pytest.mark.parametrize("name", ["%x.dnp", "%.dnp", "%p/x.dnp", "a%"])
def test_names_refused(launch, tmp_path, name):
    result = launch("exit", 0, options=("-o", name))
    assert result.status in (1, 2)
    said(result, re.escape(name.split("/")[0]))
    assert left(tmp_path) == []


def test_name_too_long(launch, tmp_path):
    result = launch("exit", 0, options=("-o", "%p" * 3000 + ".dnp")).expect(1)
    said(result, "too long")
    assert left(tmp_path) == []


def test_text_output(launch, tmp_path):
    launch("exit", 0, options=("-o", "out.txt")).expect(0)
    assert left(tmp_path) == ["out.txt"]
    assert "Fake.Main" in (tmp_path / "out.txt").read_text()
    assert (tmp_path / "out.txt").stat().st_mode & 0o777 == 0o600


def test_old_result_is_replaced_not_written(launch, tmp_path):
    out, other = tmp_path / "out.dnp", tmp_path / "other"
    out.write_text("old")
    other.hardlink_to(out)
    launch("exit", 0).expect(0)
    assert other.read_text() == "old"
    assert report(out).samples == 100


@pytest.mark.parametrize("how", ["silent", "loaded", "fail"])
def test_old_result_stays_when_nothing_is_recorded(launch, tmp_path, how):
    (tmp_path / "out.dnp").write_text("old")
    launch("exit", 0, how=how).expect(1)
    assert (tmp_path / "out.dnp").read_text() == "old"
    assert left(tmp_path) == ["out.dnp"]


def test_output_is_checked_before_the_start(launch, tmp_path):
    (tmp_path / "out.dnp").symlink_to("/etc/passwd")
    result = launch("env").expect(1)
    said(result, "symbolic link")
    assert result.out == ""


def test_environment_of_the_program(launch):
    result = launch("env").expect(0)
    assert sorted(result.out.split()) == ["CORECLR_ENABLE_PROFILING", "CORECLR_PROFILER",
                                          "CORECLR_PROFILER_PATH", "DNPROF_OPTIONS"]


def test_settings_of_a_profiler_that_is_off_are_replaced(launch):
    env = {"CORECLR_ENABLE_PROFILING": "0", "CORECLR_PROFILER_PATH_64": "/other.so",
           "CORECLR_PROFILER_PATH_32": "/other.so"}
    result = launch("env", env=env).expect(0)
    assert "_64" not in result.out and "_32" not in result.out


@pytest.mark.parametrize("env,words", [
    ({"DOTNET_EnableDiagnostics": "0"}, ["DOTNET_EnableDiagnostics is 0", "unset"]),
    ({"DOTNET_EnableDiagnostics_Profiler": "0x0"}, ["DOTNET_EnableDiagnostics_Profiler is 0"]),
    ({"COMPlus_EnableDiagnostics": "00"}, ["COMPlus_EnableDiagnostics is 0"]),
])
def test_environment_refused(launch, tmp_path, env, words):
    result = launch("env", env=env).expect(1)
    said(result, *words)
    assert result.out == "" and left(tmp_path) == []


@pytest.mark.parametrize("env", [{"CORECLR_ENABLE_PROFILING": "0"}, {"CORECLR_ENABLE_PROFILING": ""},
                                 {"DOTNET_EnableDiagnostics": "1"}, {"CORECLR_PROFILER": "{x}"}])
def test_environment_that_does_not_matter(launch, env):
    launch("exit", 0, env=env).expect(0)


@pytest.mark.parametrize("env,words", [
    ({"CORECLR_PROFILER_PATH_64": "/apm/tracer.so"}, ["another profiler", "/apm/tracer.so"]),
    ({"CORECLR_PROFILER": "{846F5F1C-F9AE-4B07-969E-05C26BC060D8}"}, ["another profiler", "{846F5F1C"]),
    ({}, ["another profiler", "none named"]),
])
def test_tracing_beside_another_profiler_is_refused(launch, tmp_path, env, words):
    result = launch("env", options=["-e", "trace"], env={"CORECLR_ENABLE_PROFILING": "1", **env}).expect(1)
    said(result, *words, "unset CORECLR_ENABLE_PROFILING", "cannot trace calls")
    assert result.out == "" and left(tmp_path) == []


# What the agent did not do

@pytest.mark.parametrize("how", ["fail", "late"])
def test_agent_failed(launch, tmp_path, how):
    said(launch("exit", 0, how=how).expect(1), "no timers: Resource temporarily unavailable", "ulimit -i")
    assert left(tmp_path) == []


def test_agent_failed_but_the_status_is_the_programs(launch):
    said(launch("exit", 42, how="fail").expect(42), "no timers")


def test_agent_loaded_only(launch):
    said(launch("exit", 0, how="loaded").expect(1), "ended before its recording began")


def test_agent_never_loaded(launch, tmp_path):
    said(launch("no-profiler", "exit", 0).expect(1), r"no \.NET runtime was seen")
    assert left(tmp_path) == []


def test_cut_recording(launch, tmp_path):
    said(launch("exit", 0, how="cut").expect(3), "incomplete")
    assert report_status(tmp_path / "out.dnp") == 3


def report_status(path):
    return run([DNPROF, "report", path]).status


def test_cut_recording_of_a_program_that_failed(launch):
    launch("exit", 9, how="cut").expect(9)


@pytest.mark.parametrize("count", [255, 258])
def test_more_children_than_are_watched(launcher, tmp_path, count):
    """All at once; those for whom there is no place are recorded, too, and told."""
    crowd = f"trap '' USR1; for i in $(seq {count}); do {HOST} signals await exit 0 & done; wait"
    with start([launcher, "run", "--children", "-q", "-o", "out.dnp", "--", "/bin/sh", "-c", crowd], cwd=tmp_path,
               env={"FAKE_AGENT": "stop"}) as run_:
        for _ in range(count):
            assert run_.process.stdout.readline() == b"ready\n"
        for pid in descendants(run_.process.pid):
            if command_line(pid).startswith(str(HOST)):
                os.kill(pid, signal.SIGUSR1)
        result = run_.end().expect(3 if count > 255 else 0)
    assert ("and whether 3 of them ended theirs was not seen" in result.err) == (count > 255), result
    assert len(report(tmp_path / "out.dnp").data["processes"]) == count


@pytest.mark.parametrize("where", ["elsewhere", "/".join(3 * ["x" * 200])], ids=["short", "long"])
def test_socket_of_a_killed_program_goes(launch, tmp_path, where):
    """Its TMPDIR was not the launcher's."""
    folder = tmp_path / where
    folder.mkdir(parents=True)
    launch("kill", 9, how="cut", env={"FAKE_SOCKET": str(folder)}).expect(137)
    assert not left(folder)


def test_killed(launch, tmp_path):
    launch("kill", 9, how="cut").expect(137)
    assert (tmp_path / "out.dnp").stat().st_size > 0
    launch("kill", 15, how="cut").expect(143)


def test_quiet(launch, tmp_path):
    result = launch("exit", 0, options=("-q",)).expect(0)
    assert result.err == ""


def test_verbose(launch):
    result = launch("exit", 0, options=("-v", "-o", "out.dnp")).expect(0)
    assert len(result.complaints()) == 2 and "100 samples" in result.err


# Time and signals

@pytest.mark.measured
def test_duration(launch, tmp_path):
    """The recording ends, the program goes on."""
    begin = time.monotonic()
    launch("sleep", 5000, "exit", 5, how="stop", options=("-d", "0.3", "-o", "out.dnp")).expect(5)
    assert time.monotonic() - begin >= 5
    data = report(tmp_path / "out.dnp").data
    assert data["duration_ns"] < 4.5e9


def test_input_and_output(launch):
    data = os.urandom(1_000_000)
    assert launch("copy", stdin=data).expect(0).stdout == data


def test_arguments_of_run(launcher, tmp_path):
    """Without `--`, options behind the command are the command's."""
    result = run([launcher, "run", "-o", "out.dnp", HOST, "exit", "4"], cwd=tmp_path)
    result.expect(4)


def started(launcher, tmp_path, *steps, how="stop", options=()):
    return start([launcher, "run", "-o", "out.dnp", *options, "--", HOST, *steps], cwd=tmp_path,
                 env={"FAKE_AGENT": how})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT,
                                    signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH])
def test_signals_are_passed_on(launcher, tmp_path, number):
    with started(launcher, tmp_path, "signals", "await", "exit", "3") as run_:
        assert run_.process.stdout.readline() == b"ready\n"
        run_.process.send_signal(number)
        result = run_.end().expect(3)
    assert result.out == f"signal {number:02}\n"


@pytest.mark.measured
def test_interrupt_ends_the_recording(launcher, tmp_path):
    begin = time.monotonic()
    with started(launcher, tmp_path, "signals", "await", "sleep", "5000") as run_:
        run_.process.stdout.readline()
        run_.process.send_signal(signal.SIGINT)
        run_.end().expect(0)
    assert report(tmp_path / "out.dnp").data["duration_ns"] < (time.monotonic() - begin - 1) * 1e9


def test_second_interrupt_skips_the_rest(launcher, tmp_path):
    with started(launcher, tmp_path, "signals", "await", "sleep", "5000", options=("-o", "out.txt")) as run_:
        run_.process.stdout.readline()
        run_.process.send_signal(signal.SIGINT)
        wait_for(lambda: not is_pending(run_.process.pid, signal.SIGINT), "the first one to be seen")
        time.sleep(0.2)
        run_.process.send_signal(signal.SIGINT)
        result = run_.end().expect(3)
    said(result, "interrupted", "out.txt.dnp")
    assert left(tmp_path) == ["out.txt.dnp"]


def interrupted_late(argv, cwd):
    """When it is about to give the recording its place: it does, and ends of that signal before anything else."""
    env = {"FAKE_AGENT": "whole", "LD_PRELOAD": TOOLS / "libinterrupting.so"}
    assert run([*argv, "--", HOST, "exit", "0"], env=env, cwd=cwd).status == -signal.SIGINT
    assert left(cwd) == ["out.txt.dnp"]


def test_interrupted_while_it_finishes(launcher, tmp_path):
    interrupted_late([launcher, "run", "-o", "out.txt"], tmp_path)
    assert report(tmp_path / "out.txt.dnp").cpu["samples"] == 100


def test_time_line_interrupted_while_it_finishes(tmp_path):
    interrupted_late([DNPROF, "timeline", "-q", "-o", "out.txt"], tmp_path)


def test_signals_that_are_ignored(launcher, tmp_path):
    """As in the background of a script: ctrl-C is for others."""
    with start([launcher, "run", "-o", "out.txt", "--", HOST, "signals", "await", "await", "exit", "0"], cwd=tmp_path,
               env={"FAKE_AGENT": "stop"}, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) as run_:
        assert run_.process.stdout.readline() == b"ready\n"
        for _ in range(2):
            run_.process.send_signal(signal.SIGINT)
            assert run_.process.stdout.readline() == b"signal 02\n"
        result = run_.end().expect(0)
    assert "interrupted" not in result.err and left(tmp_path) == ["out.txt"]


def test_stop_and_continue(launcher, tmp_path):
    with started(launcher, tmp_path, "sleep", "5000", "exit", "2") as run_:
        host = program_of(run_)
        wait_for(lambda: state(host) == "S", "the program")
        os.kill(host, signal.SIGSTOP)
        wait_for(lambda: state(host) == "T", "the stop")
        os.kill(run_.process.pid, signal.SIGCONT)
        run_.end().expect(2)


def program_of(run_):
    """The pid of what dnprof started, once it has executed it."""
    def host():
        return next((p for p in descendants(run_.process.pid)[1:] if command_line(p).startswith(str(HOST))), None)
    return wait_for(host, "the program")


def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0]


def test_ignored_child_signal(launcher, tmp_path):
    """A parent that ignores SIGCHLD passes that on; the status must still come through."""
    result = run([launcher, "run", "-o", "out.dnp", "--", HOST, "exit", "6"], cwd=tmp_path,
                 preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    result.expect(6)


def test_launcher_killed(launcher, tmp_path):
    """The program goes on; what was recorded has its name already."""
    with started(launcher, tmp_path, "sleep", "60000", how="cut") as run_:
        wait_for(lambda: (tmp_path / "out.dnp").exists(), "the recording's name")
        host = program_of(run_)
        run_.process.kill()
        run_.process.wait()
        assert state(host) in "SR"
        os.kill(host, signal.SIGKILL)
    assert report_status(tmp_path / "out.dnp") == 3


# Children

def test_children(launch, tmp_path):
    launch("run", HOST, "exit", 0, options=("--children", "-o", "out.dnp")).expect(0)
    data = report(tmp_path / "out.dnp")
    assert data.samples == 200
    assert left(tmp_path) == ["out.dnp"]


def test_without_children_they_are_left_alone(launch, tmp_path):
    """The made agent does not clean the environment, so the child's refuses by the process id."""
    launch("run", HOST, "exit", 0).expect(0)
    assert report(tmp_path / "out.dnp").samples == 100


def test_script_with_children(launcher, tmp_path):
    run([launcher, "run", "--children", "-o", "out.dnp", "--", "sh", "-c", f"{HOST}; {HOST}; exit 3"],
        cwd=tmp_path).expect(3)
    assert report(tmp_path / "out.dnp").samples == 200


@pytest.fixture
def servers(tmp_path):
    """servers(): the pids of processes that programs have left behind; they end with the test."""
    def servers_():
        return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()
                and "fake-host sleep" in command_line(p.name) and os.path.realpath(p / "cwd") == str(tmp_path)]
    yield servers_
    for pid in servers_():
        os.kill(pid, signal.SIGKILL)


def test_server_is_told_to_stop(launch, servers, tmp_path):
    """To record: it lives on when dnprof has ended."""
    launch("server", 600000, "sleep", 300, how="stop", options=("--children", "-o", "out.dnp")).expect(0)
    assert len(servers()) == 1
    assert report(tmp_path / "out.dnp").samples == 200


def test_server_that_does_not_listen(launch, servers, tmp_path):
    begin = time.monotonic()
    result = launch("server", 600000, "sleep", 300, how="deaf", options=("--children", "-o", "out.dnp"))
    assert 3 <= time.monotonic() - begin
    assert len(servers()) == 1
    assert result.expect(3).complaints()
    assert report_status(tmp_path / "out.dnp") == 3


# A terminal

def test_progress_on_a_terminal(launcher, tmp_path):
    status, shown = on_terminal([launcher, "run", "-o", "out.dnp", "--", HOST, "sleep", "5000"],
                                tmp_path, {"FAKE_AGENT": "stop"})
    assert status == 0
    assert re.search(r"dnprof: \d+ s, 100 samples, lost 0, CPU \d\.\d s", shown)
    assert re.search(r"dnprof: \S+out\.dnp: 100 samples", shown)


def test_no_progress_when_quiet(launcher, tmp_path):
    status, shown = on_terminal([launcher, "run", "-q", "-o", "out.dnp", "--", HOST, "sleep", "800"],
                                tmp_path, {"FAKE_AGENT": "stop"})
    assert (status, shown) == (0, "")


@pytest.mark.measured
def test_interrupt_key(launcher, tmp_path):
    """The terminal sends it to both, so it is not sent on: the program sees it once."""
    begin = time.monotonic()
    status, shown = on_terminal(
        [launcher, "run", "-q", "-o", "out.dnp", "--", HOST, "signals", "await", "sleep", "5000", "exit", "0"],
        tmp_path, {"FAKE_AGENT": "stop"}, [(b"ready", b"\x03")])
    assert status == 0
    assert shown.count("signal 02") == 1
    assert report(tmp_path / "out.dnp").data["duration_ns"] < (time.monotonic() - begin - 1) * 1e9


def test_suspend_key(launcher, tmp_path):
    """ctrl-Z stops both, as a shell expects of a job; fg goes on."""
    shell = f"set -m; {launcher} run -q -o out.dnp -- {HOST} signals sleep 5000; echo stopped $?; fg; echo ended $?"
    status, shown = on_terminal(["/bin/bash", "--norc", "-c", shell], tmp_path, {"FAKE_AGENT": "stop"},
                                [(b"ready", b"\x1a")])
    assert "stopped 148" in shown and "ended 0" in shown, shown


def test_nothing_runs_when_the_agent_is_broken(launcher, tmp_path):
    (launcher.parent / "libdnprof.so").write_text("no library")
    result = run([launcher, "run", "-o", "out.dnp", "--", HOST, "env"], cwd=tmp_path).expect(1)
    said(result, "agent cannot load", "libdnprof.so", "invalid ELF header|file too short")
    assert result.out == "" and left(tmp_path) == []


def test_agent_without_entry(launcher, tmp_path):
    library = launcher.parent / "libdnprof.so"
    subprocess.run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", library], check=True)
    said(run([launcher, "run", "--", HOST], cwd=tmp_path).expect(1), "DllGetClassObject")
