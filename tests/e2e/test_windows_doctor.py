# SPDX-License-Identifier: MIT
"""dnprof.exe doctor, under Wine: each answer on a machine, or of a process, that has been made so.

How the facts are judged has unit tests (test_capabilities_windows.c); here it is about how they are found.
"""
import json
import os
import re
import shutil
import signal

import pytest

from harness import dnprof, patience, refused, run, wait_for
from test_windows import ENVIRONMENT, WINDOWS, on_windows, pytestmark, truth, wine  # noqa: F401
from test_windows_attach import PATIENT, Running
from test_windows_rules import processes

pytestmark = [*pytestmark, pytest.mark.slow]

PROFILER = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{cf0d821e-299b-5307-a3d8-b283c03916dd}",
            "CORECLR_PROFILER_PATH": "C:\\nowhere\\apm.dll"}


class Findings:
    def __init__(self, result):
        self.result = result
        self.data = json.loads(result.stdout)
        self.all = {c["name"]: c for c in self.data["capabilities"]}

    def check(self, name, answer, why, remedy=None):
        found = self.all[name]
        assert found["answer"] == answer, found
        assert re.search(why, found["why"]), found
        assert re.search(remedy, found["remedy"]) if remedy else "remedy" not in found, found


def doctor(*words, status=0, env=None):
    return Findings(on_windows("doctor", "--json", *patience(("doctor", *words)), *words, env=env).expect(status))


@pytest.fixture(scope="module")
def waiting(truth):  # noqa: F811
    with Running(truth, "cpu", "--seconds", 3600) as running:
        yield running


# Programs that would be started

def test_machine():
    found = doctor()
    version = run(["wine", "--version"], env=ENVIRONMENT).expect().out
    assert f"wine-{found.data['wine']}" in version
    assert found.data["version"] == 1 and found.data["machine"] == "x86_64"
    assert re.fullmatch(r"\d+\.\d+\.\d+", found.data["kernel"])
    found.check("agent", "yes", "loads")
    found.check("rights", "yes", re.escape(found.data["user"]))
    found.check("diagnostics", "yes", "no variable")
    found.check("trace", "yes", "from a program's start")
    found.check("timeline", "partly", rf"steps of {found.data['clock_step_ns'] / 1e6:.1f} ms.*administrators only")
    assert not {"runtime", "answer", "events", "libc", "kernel", "library", "tmpdir"} & found.all.keys()


def test_text_says_the_same():
    found, text = doctor(), on_windows("doctor").expect().out.replace("\r", "")
    assert f"Windows {found.data['kernel']}, Wine {found.data['wine']}" in text
    for c in found.data["capabilities"]:
        assert re.search(rf"^{c['answer']} +{c['name']} +{re.escape(c['title'][:20])}", text, re.M)
    assert max(map(len, text.splitlines()[2:])) <= 100


def test_names_and_titles_are_those_of_linux():
    """Of what both have."""
    there = {c["name"]: c["title"] for c in json.loads(dnprof("doctor", "--json").stdout)["capabilities"]}
    here = {name: c["title"] for name, c in doctor().all.items()}
    both = here.keys() & there.keys()
    assert {"agent", "rights", "diagnostics", "stacks", "cpu", "wall", "trace", "timeline"} <= both
    assert {name: here[name] for name in both} == {name: there[name] for name in both}


@pytest.mark.parametrize("name", ["DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_Profiler"])
def test_diagnostics_forbidden_here(name):
    found = doctor(env={name: "0"}, status=3)
    found.check("diagnostics", "no", f"{name} is 0", f"unset {name}")
    assert found.result.complaints() == ["dnprof: nothing can be recorded: diagnostics; see there what to do"]


def test_other_profiler_here(truth, tmp_path):  # noqa: F811
    """What it says is so: `run` refuses."""
    found = doctor(env=PROFILER, status=3)
    found.check("profiler", "no", re.escape("C:\\nowhere\\apm.dll"), "unset CORECLR_ENABLE_PROFILING")
    found.check("trace", "no", "hooks", "unset CORECLR_ENABLE_PROFILING")
    refused(on_windows("run", "-o", tmp_path / "t.dnp", "--", truth, "env", env=PROFILER), 1, "another profiler", "unset")


def test_folder_of_temporary_files(tmp_path):
    """That `stack` is refused there, too, test_windows_stack.py shows. Wine sets these itself where it starts a program."""
    script = tmp_path / "doctor.cmd"
    script.write_text(f"@set TEMP=C:\\no\\such\r\n@set TMP=C:\\no\\such\r\n@\"Z:{WINDOWS}\" doctor --json\r\n")
    found = Findings(run(["wine", "cmd", "/c", script], env=ENVIRONMENT).expect())
    found.check("temp", "no", "cannot make a temporary file: No such file", "set TEMP")
    doctor().check("temp", "yes", r"^\w:\\")


@pytest.mark.parametrize("damage, why, remedy", [
    (lambda library: None, r"no dnprof\.dll in", "build or install"),
    (lambda library: library.write_bytes((WINDOWS.parent / "dnprof.dll").read_bytes()[:5000]), "cut short", "build or install"),
    (lambda library: shutil.copy(WINDOWS.parent / "dnprof-timeline.dll", library), "no profiler", "build or install"),
], ids=["missing", "cut", "other"])
def test_agent(tmp_path, damage, why, remedy):
    shutil.copy(WINDOWS, tmp_path / "dnprof.exe")
    damage(tmp_path / "dnprof.dll")
    ended = run(["wine", tmp_path / "dnprof.exe", "doctor", "--json"], env=ENVIRONMENT)
    Findings(ended.expect(3)).check("agent", "no", why, remedy)


# Processes

def test_process(waiting):
    found = doctor(waiting.pid)
    assert found.data["pid"] == waiting.pid
    found.check("rights", "yes", re.escape(found.data["user"]))
    found.check("runtime", "yes", r"CoreCLR 10\.\d+\.\d+$")
    found.check("diagnostics", "yes", "pipe")
    found.check("trace", "no", "start only", "dnprof run -e trace")
    assert "answer" not in found.all
    assert {c["answer"] for c in found.data["capabilities"] if c["needed"]} == {"yes"}
    assert waiting.process.poll() is None and waiting.is_clean()


@pytest.mark.parametrize("in_place", [False, True], ids=["mapped", "in-place"])
def test_events_that_would_end_the_program(truth, tmp_path, in_place):  # noqa: F811
    """What it says is so: the agent refuses what it says no to, and records the other."""
    with Running(truth, "cpu", "--seconds", 3600, env={"DOTNET_EnableWriteXorExecute": "0"} if in_place else None) as running:
        found = doctor(running.pid)
        ended = on_windows("record", "-q", "-e", "gc", *PATIENT, "-d", 0.2, "-o", tmp_path / "t.dnp", running.pid)
        if in_place:
            found.check("events", "yes", "listened to")
            ended.expect()
        else:
            found.check("events", "no", "would end the program", "DOTNET_EnableWriteXorExecute=0")
            refused(ended, 1, "DOTNET_EnableWriteXorExecute=0")


@pytest.mark.parametrize("name", ["DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_IPC"])
def test_diagnostics_of_a_process(truth, name):  # noqa: F811
    with Running(truth, "cpu", "--seconds", 3600, env={name: "0"}) as running:
        doctor(running.pid, status=3).check("diagnostics", "no", f"{name}=0", "without that variable")


def test_other_profiler_of_a_process(truth):  # noqa: F811
    with Running(truth, "cpu", "--seconds", 3600, env=PROFILER) as running:
        doctor(running.pid).check("profiler", "partly", re.escape("C:\\nowhere\\apm.dll"), "without it")


def test_agent_of_a_process(truth, tmp_path):  # noqa: F811
    """It says itself that it cannot leave, once there are hooks."""
    with Running(WINDOWS, "run", "-q", "-e", "trace", "-o", tmp_path / "t.dnp", "--", truth, "cpu", "--seconds", 3600,
                 by_id=False) as running:
        pid = wait_for(lambda: next((p["pid"] for p in running.all() if running.word in p["command"] and p.get("agent")), None),
                       "the program")
        found = wait_for(lambda: (d := Findings(on_windows("doctor", "--json", *PATIENT, pid))) and
                         d.all.get("answer", {}).get("answer") == "partly" and d, "the agent's answer, once there are hooks")
        found.check("answer", "partly", "recording, and cannot be detached")
        found.check("trace", "yes", "being recorded")
        assert "diagnostics" not in found.all
        # It would outlive dnprof.exe, with the test's pipes.
        for process in processes(running.word, "cpu"):
            os.kill(process, signal.SIGKILL)


def test_no_runtime():
    """One of Wine's own, which are always there, with the first numbers."""
    asked = (on_windows("doctor", "--json", pid) for pid in range(8, 1024, 4))
    found = next(Findings(said) for said in asked if said.status == 3)
    found.check("runtime", "no", "it is a native program", "'dnprof status' lists them")
    assert "cpu" not in found.all


def test_usage():
    refused(on_windows("doctor", 999999996), 1, "there is no such process")
    for words in (["1", "2"], ["x"], ["0"], ["--timeout", "x"]):
        on_windows("doctor", *words).expect(2)
