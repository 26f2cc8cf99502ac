# SPDX-License-Identifier: MIT
"""dnprof doctor: each answer on a machine, or of a process, that has been made so.

How the facts are judged has unit tests; here it is about how they are found.
"""
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import struct
import tempfile
from pathlib import Path

import pytest

import harness
from harness import DNPROF, NEWEST, NOBODY, dnprof, needs_other_user, program, record, start, stop_all, thread_names, wait_for
from test_other_profiler import CLSID, library  # noqa: F401  (a fixture)
from test_status import WAITS, waiting

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
#: Some containers have a /tmp of their own.
needs_unshare = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare")
                                   or Path("/tmp") in harness.ROOT.parents,
                                   reason="needs root, unshare, and a project that does not lie below /tmp")


class Findings:
    def __init__(self, result):
        self.result = result
        self.data = json.loads(result.stdout)
        self.all = {c["name"]: c for c in self.data["capabilities"]}

    def __getitem__(self, name):
        return self.all[name]

    def check(self, name, answer, why, remedy=None):
        found = self.all[name]
        assert found["answer"] == answer, found
        assert re.search(why, found["why"]), found
        assert re.search(remedy, found["remedy"]) if remedy else "remedy" not in found, found


def doctor(*words, status=0, prefix=(), env=None, preexec_fn=None):
    argv = [*prefix, DNPROF, "doctor", "--json", *harness.patience(("doctor", *words)), *words]
    result = harness.run(argv, env=env, preexec_fn=preexec_fn)
    return Findings(result.expect(status))


def setting(name):
    return Path("/proc/sys/kernel", name).read_text().strip()


# ---- Programs that would be started

def test_machine():
    found = doctor()
    assert found.data["version"] == 1
    assert found.data["settings"]["perf_event_paranoid"] == int(setting("perf_event_paranoid"))
    assert found.data["settings"]["kptr_restrict"] == int(setting("kptr_restrict"))
    assert found.data["kernel"] == os.uname().release
    assert found.data["uid"] == os.geteuid()
    found.check("agent", "yes", "loads")
    found.check("libc", "yes", re.escape(" ".join(os.confstr("CS_GNU_LIBC_VERSION").split())))
    found.check("trace", "yes", "from a program's start")
    assert not {"runtime", "library", "answer"} & found.all.keys()


def test_text_says_the_same():
    found = doctor()
    text = dnprof("doctor").expect().out
    for c in found.data["capabilities"]:
        assert re.search(rf"^{c['answer']} +{c['name']} +{re.escape(c['title'][:20])}", text, re.M)
    assert max(map(len, text.splitlines()[2:])) <= 100


@needs_root
def test_perf_events_that_work(tmp_path):
    found = doctor()
    found.check("cpu", "yes", "exact rates")
    # What it names is what a program that is started is sampled by.
    _, recorded = record(tmp_path, program(NEWEST, "cpu", "--seconds", 0.2))
    assert ("one perf event for all threads" in found["cpu"]["why"]) == \
        (recorded.data["events"]["cpu"]["source"] == "perf cpu-clock of all threads")
    assert found["kernel"]["answer"] in ("yes", "partly")


@needs_other_user
def test_perf_events_without_rights():
    if not 2 <= int(setting("perf_event_paranoid")):
        pytest.skip("this kernel lets everybody count")
    found = doctor(prefix=NOBODY)
    found.check("cpu", "partly", r"perf_event_paranoid is \d.*a timer samples instead, \d+ times a second",
                "sysctl -w kernel.perf_event_paranoid=1")
    found.check("kernel", "no", r"perf_event_paranoid is \d", "sysctl -w kernel.perf_event_paranoid=1")
    found.check("rights", "yes", "your own processes")
    assert found.data["uid"] == 65534


def refuse_perf_events():
    """In the child: a seccomp filter as container runtimes have, that refuses this one call."""
    libc = ctypes.CDLL(None, use_errno=True)
    call = 298  # perf_event_open, x86-64
    code = [(0x20, 0, 0, 0),  # ld [nr]
            (0x15, 0, 1, call), (0x06, 0, 0, 0x00050001),  # ret ERRNO(EPERM)
            (0x06, 0, 0, 0x7fff0000)]  # ret ALLOW
    raw = b"".join(struct.pack("HBBI", *c) for c in code)
    buffer = ctypes.create_string_buffer(raw, len(raw))
    fprog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, fprog, 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


@needs_root
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the filter is for x86-64")
def test_seccomp():
    found = doctor(preexec_fn=refuse_perf_events)
    assert found.data["seccomp"] == "filter"
    found.check("cpu", "partly", "a seccomp filter is on and refuses", "--cap-add PERFMON")
    found.check("kernel", "no", "a seccomp filter", "--cap-add PERFMON")
    found.check("timeline", "partly", "a seccomp filter.*a thousand times a second instead", "--cap-add PERFMON")


@needs_root
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the filter is for x86-64")
def test_what_is_said_of_seccomp_is_so(tmp_path):
    """Without perf events time lines are made by looking."""
    out = tmp_path / "t.txt"
    harness.run([DNPROF, "timeline", "-q", "-o", out, "--", "sleep", "0.2"], preexec_fn=refuse_perf_events).expect()
    assert "sleep" in out.read_text()


@needs_unshare
def test_hidden_kernel_names(tmp_path):
    """What the kernel would show with kptr_restrict=2, by a file in its place."""
    names = tmp_path / "kallsyms"
    names.write_text("0000000000000000 T startup_64\n" * 200)
    found = doctor(prefix=["unshare", "-m", "/bin/sh", "-c", f'mount --bind {names} /proc/kallsyms; exec "$@"', "sh"])
    found.check("kernel", "partly", "without names", "sysctl -w kernel.kptr_restrict=0")


@pytest.mark.parametrize("name", ["DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_Profiler"])
def test_diagnostics_forbidden_here(name):
    found = doctor(env={name: "0"}, status=3)
    found.check("diagnostics", "no", f"{name} is 0", f"unset {name}")
    assert found.result.complaints() == ["dnprof: nothing can be recorded: diagnostics; see there what to do"]


def test_other_profiler_here():
    found = doctor(env={"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER_PATH": "/opt/apm/libapm.so"})
    found.check("profiler", "partly", "/opt/apm/libapm.so", "unset CORECLR_ENABLE_PROFILING")
    found.check("trace", "no", "hooks", "unset CORECLR_ENABLE_PROFILING")


def test_folder_of_sockets():
    doctor(env={"TMPDIR": "/nowhere"}).check("tmpdir", "partly", "/nowhere", "TMPDIR")


@needs_other_user
def test_folder_of_sockets_not_writable(tmp_path):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o555)
        doctor(env={"TMPDIR": folder}, prefix=NOBODY).check("tmpdir", "partly", "cannot be written to", "TMPDIR")


def test_agent_is_missing(tmp_path):
    alone = tmp_path / "dnprof"
    shutil.copy(DNPROF, alone)
    found = Findings(harness.run([alone, "doctor", "--json"]).expect(3))
    found.check("agent", "no", "no libdnprof.so", "build or install")


# ---- Processes

def test_process(tfm):
    with waiting(tfm) as pid:
        found = doctor(pid)
        assert found.data["pid"] == pid
        found.check("runtime", "yes", rf"CoreCLR {tfm.removeprefix('net')}\.\d+$")
        found.check("libc", "yes", "^glibc 2")
        found.check("diagnostics", "yes", "/")
        found.check("library", "yes", "sees the file")
        found.check("profiler", "yes", "there is none")
        found.check("stacks", "yes", "by signals")
        found.check("trace", "no", "start only", "dnprof run -e trace")
        assert "answer" not in found.all
        assert {c["answer"] for c in found.data["capabilities"] if c["needed"]} == {"yes"}


def test_process_leaves_nothing(tmp_path):
    """Looking whether the library can be put there copies it for a moment."""
    with waiting(NEWEST, {"TMPDIR": str(tmp_path)}) as pid:
        before = sorted(p.name for p in tmp_path.iterdir())
        doctor(pid)
        assert sorted(p.name for p in tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_IPC"])
def test_diagnostics_of_a_process(tfm, name):
    with waiting(tfm, {name: "0"}) as pid:
        found = doctor(pid, status=3)
        found.check("diagnostics", "no", f"{name}=0", "without that variable")


def test_socket_was_removed(tmp_path):
    with waiting(NEWEST, {"TMPDIR": str(tmp_path)}) as pid:
        for path in tmp_path.glob("dotnet-diagnostic-*"):
            path.unlink()
        doctor(pid, status=3).check("diagnostics", "no", f"not in {tmp_path}", "start the program again")


def test_other_profiler_of_a_process(tmp_path, library):  # noqa: F811
    env = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": CLSID, "CORECLR_PROFILER_PATH": str(library),
           "MARK_FOLDER": str(tmp_path)}
    with waiting(NEWEST, env) as pid:
        doctor(pid).check("profiler", "partly", re.escape(str(library)), "without it")


def test_agent_of_a_process(tmp_path):
    with start([DNPROF, "run", "-q", "-e", "trace", "-o", tmp_path / "out.dnp", "--", *program(NEWEST, *WAITS)]) as run:
        pid = run.child("truth")
        found = wait_for(lambda: (d := doctor_once(pid)) and "answer" in d.all and d["answer"]["answer"] == "partly" and d,
                         "the agent's answer, once there are hooks")
        found.check("answer", "partly", "recording, and cannot be detached")
        found.check("trace", "yes", "being recorded")
        assert not {"library", "diagnostics"} & found.all.keys()


def doctor_once(pid):
    result = dnprof("doctor", "--json", pid)
    return Findings(result) if result.status in (0, 3) else None


def test_stopped_process():
    with waiting(NEWEST) as pid:
        stop_all(pid)
        try:
            wait_for(lambda: doctor(pid)["rights"]["answer"] == "partly", "its stop")
            doctor(pid).check("rights", "partly", "it is stopped", f"kill -CONT {pid}")
        finally:
            os.kill(pid, signal.SIGCONT)


def test_few_descriptors():
    with waiting(NEWEST) as pid:
        wait_for(lambda: "stuck-right" in thread_names(pid), "its last thread")
        limit = len(os.listdir(f"/proc/{pid}/fd")) + 5  # fewer than threads, some for the runtime itself
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))
        if doctor()["cpu"]["answer"] != "yes":
            pytest.skip("no perf events, no descriptors")
        doctor(pid).check("cpu", "partly", r"threads, but with --source perf descriptors for \d of", rf"prlimit --pid {pid} --nofile=\d+")


@needs_other_user
def test_other_users_process():
    with waiting(NEWEST) as pid:
        found = doctor(pid, prefix=NOBODY, status=3)
        found.check("rights", "no", "it belongs to uid 0, you are uid 65534", f"sudo dnprof doctor {pid}")
        assert "cpu" not in found.all


@needs_root
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the filter is for x86-64")
def test_seccomp_of_a_process():
    with start([str(a) for a in program(NEWEST, *WAITS)], preexec_fn=refuse_perf_events) as started:
        pid = started.process.pid
        found = wait_for(lambda: (d := doctor_once(pid)) and "stacks" in d.all and d["stacks"]["answer"] == "yes" and d,
                         "the runtime")
        assert found.data["seccomp"] == "filter"
        found.check("cpu", "partly", "may refuse perf events", "--cap-add PERFMON")


@needs_unshare
def test_process_in_a_container(tmp_path):
    """Its own /tmp and process ids; and a /tmp that nothing can be loaded from."""
    script = 'mount -t tmpfs -o mode=1777,"$1" none /tmp; shift; exec "$@"'
    for options, where in (("size=50m", "yes"), ("noexec", "yes")):
        argv = ["unshare", "-mpf", "--mount-proc", "/bin/sh", "-c", script, "sh", options, *program(NEWEST, *WAITS)]
        with start([str(a) for a in argv], env={"TMPDIR": "/tmp"}) as outer:
            pid = wait_for(lambda: next((p for p in harness.descendants(outer.process.pid)
                                         if re.match(r"\S+/truth ", harness.command_line(p))), None), "the program")
            found = wait_for(lambda: (d := doctor_once(pid)) and "diagnostics" in d.all
                             and d["diagnostics"]["answer"] == "yes" and d, "the runtime")
            found.check("diagnostics", "yes", "/tmp")
            assert found["library"]["answer"] == where


def test_no_runtime():
    with start(["sleep", "600"]) as sleep:
        found = doctor(sleep.process.pid, status=3)
        found.check("runtime", "no", "it is a native program", "'dnprof status' lists them")
        assert "cpu" not in found.all


def test_usage():
    assert "there is no such process" in harness.refused(dnprof("doctor", 2 ** 22 + 1), 1)
    for words in (["1", "2"], ["x"], ["0"], ["--timeout", "x"]):
        dnprof("doctor", *words).expect(2)
