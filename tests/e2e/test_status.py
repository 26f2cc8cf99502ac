# SPDX-License-Identifier: MIT
"""dnprof status: the .NET processes, the profilers in them, and what ours records."""
import contextlib
import json
import os
import re
import signal
import subprocess
import time

import harness
from harness import APPS, DNPROF, NEWEST, NOBODY, dnprof, needs_other_user, program, start, stop_all, thread_names, wait_for
from test_other_profiler import CLSID, library  # noqa: F401  (a fixture)

WAITS = ("deadlock", "--seconds", 600, "--rests")


def status(*options, prefix=(), env=None):
    """All processes by their ids."""
    argv = [*prefix, DNPROF, "status", "--json", *harness.patience(("status", *options)), *options]
    found = json.loads(harness.run(argv, env=env).expect().stdout)
    assert found["version"] == 1
    return {p["pid"]: p for p in found["processes"]}


@contextlib.contextmanager
def waiting(tfm, env=None, prefix=()):
    """A program under that runtime, once the runtime is up."""
    with start([*prefix, *program(tfm, *WAITS)], env=env) as started:
        pid = started.process.pid
        wait_for(lambda: any("Finalizer" in name for name in thread_names(pid)), "the runtime")
        yield pid


@contextlib.contextmanager
def recorded(tmp_path, *options):
    with start([DNPROF, "run", "-q", *options, "-o", tmp_path / "out.dnp", "--", *program(NEWEST, *WAITS)],
               env={"TMPDIR": str(tmp_path)}) as run:
        pid = run.child("truth")
        wait_for(lambda: status().get(pid, {}).get("agent"), "an answer")
        yield pid


def test_process_without_profiler(tfm):
    with waiting(tfm) as pid:
        seen = status()[pid]
        assert seen["name"] == "truth"
        assert seen["command"] == [str(w) for w in program(tfm, *WAITS)]
        assert re.fullmatch(rf"{tfm.removeprefix('net')}\.\d+", seen["runtime"])
        assert seen["libc"].startswith("glibc 2.")
        assert (seen["uid"], seen["readable"]) == (os.geteuid(), True)
        assert not {"agent", "agent_library", "other_profiler", "why"} & seen.keys()
        assert status(pid) == {pid: seen}
        lines = dnprof("status").expect().out.splitlines()
        assert lines[0].split() == ["PID", "USER", "RUNTIME", "PROFILER", "NAME", "STATE"]
        line = next(line for line in lines if line.split()[0] == str(pid))
        assert line.split()[2:] == [seen["runtime"], "-", "truth", "not", "attached"]


def test_name_of_an_assembly():
    """`dotnet truth.dll` is called by its assembly."""
    argv = ["dotnet", APPS / NEWEST / "truth.dll", *WAITS]
    with start([str(a) for a in argv]) as started:
        pid = started.process.pid
        assert wait_for(lambda: status().get(pid), "the runtime")["name"] == "truth.dll"


def test_recording(tmp_path):
    begun = time.time()
    with recorded(tmp_path, "-e", "cpu,wall") as pid:
        first = status(pid)[pid]
        agent = first["agent"]
        assert (agent["state"], agent["slot"], agent["how"]) == ("recording", "main", "startup")
        assert agent["events"] == ["cpu", "wall"]
        assert first["agent_library"] == str(harness.AGENT)
        assert begun <= agent["since_unix_ns"] / 1e9 <= time.time()
        assert agent["lost"] <= 0.01 * agent["samples"] + 2
        wait_for(lambda: status(pid)[pid]["agent"]["samples"] > agent["samples"], "samples")
        line = next(line for line in dnprof("status").expect().out.splitlines() if line.split()[0] == str(pid))
        assert re.search(r" dnprof +truth +records cpu,wall since \d+ s: \d+ samples, \d+ lost$", line)
        shown = dnprof("status", pid).expect().out
        assert re.search(r"^agent +\S+, in the main slot, came by dnprof run$", shown, re.M)


def test_after_the_recording(tmp_path):
    with recorded(tmp_path, "-d", 0.3) as pid:
        agent = wait_for(lambda: (a := status(pid)[pid]["agent"])["state"] == "attached" and a, "the end")
        assert "events" not in agent
        assert re.search(r"^state +attached, records nothing$", dnprof("status", pid).expect().out, re.M)


def test_trace_cannot_be_detached(tmp_path):
    with recorded(tmp_path, "-e", "trace") as pid:
        agent = wait_for(lambda: not (a := status(pid)[pid]["agent"])["detachable"] and a, "the hooks")
        assert agent["events"] == ["trace"]
        assert agent["detachable"] is False and agent["reason"]
        assert re.search(r"^detach +not possible: \w+", dnprof("status", pid).expect().out, re.M)


def test_other_profiler(tmp_path, tfm, library):  # noqa: F811
    env = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": CLSID, "CORECLR_PROFILER_PATH": str(library),
           "MARK_FOLDER": str(tmp_path)}
    with waiting(tfm, env) as pid:
        seen = wait_for(lambda: (s := status(pid)[pid]).get("other_profiler") and s, "the profiler")
        assert seen["other_profiler"] == str(library)
        assert "agent" not in seen
        assert f" {library.name} " in dnprof("status").expect().out


def test_stopped(tmp_path):
    """It says so, and the others are listed all the same."""
    with recorded(tmp_path) as pid, waiting(NEWEST) as other:
        stop_all(pid)
        try:
            seen = status("--timeout", 0.3)
            assert "it is stopped" in seen[pid]["why"] and "agent" not in seen[pid]
            assert other in seen
        finally:
            os.kill(pid, signal.SIGCONT)


@needs_other_user
def test_other_users_process():
    with waiting(NEWEST) as pid:
        seen = status(prefix=NOBODY)[pid]
        assert not seen["readable"] and "it belongs to another user" in seen["why"]
        assert not {"runtime", "agent"} & seen.keys()
        line = next(line for line in harness.run([*NOBODY, DNPROF, "status"]).out.splitlines()
                    if line.split()[0] == str(pid))
        assert line.split()[2:4] == ["?", "?"] and "it belongs to another user; ask as root" in line


@needs_other_user
def test_process_of_another_user_for_root():
    with waiting(NEWEST, prefix=NOBODY) as pid:
        seen = status(pid)[pid]
        assert (seen["uid"], seen["readable"]) == (65534, True)
        assert seen["runtime"].startswith("10.")


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    link = tmp_path / "\033[31mred"
    link.symlink_to(program(NEWEST)[0])
    argv = ["\033[31mred", *map(str, WAITS)]
    with start(argv, executable=str(link)) as started:
        wait_for(lambda: started.process.pid in status(), "the runtime")
        assert "\033" not in dnprof("status").expect().out
        assert "\033" not in dnprof("status", started.process.pid).expect().out


def test_what_is_no_process():
    assert "there is no such process" in harness.refused(dnprof("status", 2 ** 22 + 1), 1)
    with start(["sleep", "600"]) as sleep:
        assert "no .NET runtime was seen in it" in harness.refused(dnprof("status", sleep.process.pid), 1)
        assert sleep.process.pid not in status()
    for words in (["1", "2"], ["x"], ["0"], ["--timeout", "x"]):
        dnprof("status", *words).expect(2)


def test_processes_come_and_go():
    """While they are listed, without a complaint."""
    with subprocess.Popen(["/bin/sh", "-c", "while :; do true & wait; sleep 0; done & exec sleep 600"],
                          start_new_session=True) as churn:
        try:
            for _ in range(20):
                assert dnprof("status").expect().err == ""
        finally:
            os.killpg(churn.pid, signal.SIGKILL)
