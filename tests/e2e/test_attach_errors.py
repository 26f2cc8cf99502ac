# SPDX-License-Identifier: MIT
"""dnprof attach: any profiler into a running process, and each way in which that can fail, with its words."""
import contextlib
import os
import shutil
import socket
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import harness

from harness import (DNPROF, NEWEST, NOBODY, NO_PROFILERS, OTHER_CLSID, OTHER_NOTIFY_CLSID, PATIENCE_S, dnprof,
                     needs_other_user, other_profiler, program, refused, spoiled, start, stop_all, wait_for)

AGENT_CLSID = "{7A88F714-C4C5-43BA-9AE1-C7C008C0DDC7}"
HOST = DNPROF.parents[1] / "tests/tools/fake-host"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return other_profiler(tmp_path_factory.mktemp("profiler"))


def start_ticks(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def ipc_socket(pid, folder):
    return Path(folder, f"dotnet-diagnostic-{pid}-{start_ticks(pid)}-socket")


@contextlib.contextmanager
def running(tmp_path, argv=None, env=None, wait=True):
    """A program without any profiler, with TMPDIR and MARK_FOLDER in `tmp_path`; gives its pid."""
    marks = tmp_path / "marks"
    marks.mkdir(exist_ok=True)
    with start(argv or program(NEWEST, "deadlock", "--seconds", 600, "--rests"),
               env={"TMPDIR": str(tmp_path), "MARK_FOLDER": str(marks), **(env or {})}) as run:
        pid = run.process.pid
        if wait:
            wait_for(lambda: ipc_socket(pid, tmp_path).exists(), "the runtime's socket")
        yield pid


def attach(pid, *options, **more):
    return dnprof("attach", *options, pid, **more)


def attach_other(library, pid, *options, clsid=OTHER_CLSID, **more):
    return attach(pid, "--profiler-clsid", clsid, "--profiler-path", library, *options, **more)


def maps(pid):
    return Path(f"/proc/{pid}/maps").read_text()


def mark(tmp_path, pid):
    return (tmp_path / "marks" / str(pid)).read_bytes().decode()


# ---- What works

def test_attach_any(tmp_path, tfm, library):
    """With all of its client data, and nothing left behind."""
    data = "grün=" + "x" * 50000
    with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests")) as pid:
        result = attach_other(library, pid, "--client-data", data).expect()
        assert f"attached to process {pid}" in result.out and not result.err
        assert mark(tmp_path, pid) == data
        assert library.name in maps(pid)
        assert not list(tmp_path.glob("dnprof*"))


def test_attach_at_once(tmp_path, library):
    """A process that has just begun is asked until its runtime is up."""
    for _ in range(5):
        with running(tmp_path, wait=False) as pid:
            attach_other(library, pid, "--timeout", PATIENCE_S).expect()
            assert mark(tmp_path, pid) == ""


def test_attach_beside(tmp_path, library):
    """One that is only notified stands beside one that was there first."""
    with running(tmp_path) as pid:
        attach_other(library, pid).expect()
        (tmp_path / "marks" / str(pid)).unlink()
        attach_other(library, pid, "--client-data", "two", clsid=OTHER_NOTIFY_CLSID).expect()
        assert mark(tmp_path, pid) == "two"


# ---- The process

def test_no_such_process():
    refused(attach(2**22 + 1), 1, "there is no such process", "pgrep")


def test_ended(tmp_path):
    child = subprocess.Popen(["/bin/true"])
    wait_for(lambda: Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z", "its end")
    refused(attach(child.pid), 1, "it has ended")
    child.wait()


def test_thread(tmp_path):
    with running(tmp_path) as pid:
        wait_for(lambda: len(os.listdir(f"/proc/{pid}/task")) > 1, "threads")
        thread = next(int(t) for t in os.listdir(f"/proc/{pid}/task") if int(t) != pid)
        refused(attach(thread), 1, f"a thread of process {pid}")


def test_not_dotnet(library):
    with start(["/bin/sleep", 600]) as run:
        for result in (attach(run.process.pid), attach_other(library, run.process.pid)):
            refused(result, 1, r"no \.NET runtime was seen in it", "dnprof status")


def test_runtime_not_up(library):
    """A host of .NET, by its file, in which no runtime begins."""
    with start([HOST, "run", "/bin/sleep", 600]) as run:
        began = time.monotonic()
        refused(attach_other(library, run.process.pid, "--timeout", "300ms"), 1, r"not up within 0\.3 s", "--timeout")
        assert time.monotonic() - began >= 0.3


def test_other_c_library(tmp_path):
    """A process that has musl's loader mapped."""
    loader = tmp_path / "ld-musl-x86_64.so.1"
    loader.write_bytes(bytes(4096))
    code = (f"import mmap, time; f = open({str(loader)!r}, 'r+b'); m = mmap.mmap(f.fileno(), 0); print(flush=True); "
            "time.sleep(600)")
    with start(["/usr/bin/python3", "-c", code]) as run:
        run.process.stdout.readline()
        refused(attach(run.process.pid), 1, "C library musl", "glibc")


@needs_other_user
def test_no_rights(tmp_path):
    with running(tmp_path) as pid:
        result = harness.run([*NOBODY, DNPROF, "attach", pid])
        refused(result, 1, "it belongs to another user", "root")


@pytest.mark.parametrize("variable", ["DOTNET_EnableDiagnostics", "DOTNET_EnableDiagnostics_IPC"])
def test_switched_off(tmp_path, tfm, variable):
    with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests"), env={variable: "0"}, wait=False) as pid:
        wait_for(lambda: "libcoreclr.so" in maps(pid), "the runtime")
        refused(attach(pid), 1, "diagnostics are switched off", f"{variable}=0")


# ---- Its socket

def test_socket_gone(tmp_path, library):
    with running(tmp_path) as pid:
        ipc_socket(pid, tmp_path).unlink()
        refused(attach_other(library, pid), 1, f"no socket in {tmp_path}", "start the program again")


def test_socket_of_another(tmp_path, library):
    """Somebody has taken its place."""
    with running(tmp_path) as pid:
        path = ipc_socket(pid, tmp_path)
        path.unlink()
        with socket.socket(socket.AF_UNIX) as impostor:
            impostor.bind(str(path))
            impostor.listen(1)
            refused(attach_other(library, pid), 1, "made by another process")
            impostor.settimeout(PATIENCE_S)
            connection, _ = impostor.accept()
            assert connection.recv(1) == b"", "it is told nothing"


def test_socket_that_nobody_listens_at(tmp_path, library):
    """It will not be another one, however long it may take."""
    with running(tmp_path) as pid:
        path = ipc_socket(pid, tmp_path)
        path.unlink()
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
        refused(attach_other(library, pid, "--timeout", 3600), 1, f"no socket in {tmp_path}", "start the program again")


def test_socket_full(tmp_path, library):
    """The server works on a request for long, and more wait than find room."""
    with running(tmp_path) as pid, contextlib.ExitStack() as crowd, \
            start([DNPROF, "attach", "--timeout", PATIENCE_S, "--profiler-clsid", OTHER_CLSID, "--profiler-path", library,
                   "--client-data", "sleep=300000", pid]):
        wait_for(lambda: (tmp_path / "marks" / str(pid)).exists(), "the first request")
        with contextlib.suppress(BlockingIOError):
            for _ in range(10000):
                one = crowd.enter_context(socket.socket(socket.AF_UNIX))
                one.setblocking(False)
                one.connect(str(ipc_socket(pid, tmp_path)))
        refused(attach_other(library, pid, "--timeout", 1), 1, "server is busy", "try again")


def test_stopped(tmp_path, library):
    with running(tmp_path) as pid:
        stop_all(pid)
        refused(attach_other(library, pid, "--timeout", "0.5"), 1, "it is stopped", "kill -CONT")
        os.kill(pid, signal.SIGCONT)


# ---- The answer

def test_already_active(tmp_path, tfm, library):
    with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests")) as pid:
        attach_other(library, pid).expect()
        refused(attach_other(library, pid), 1, r"CORPROF_E_PROFILER_ALREADY_ACTIVE \(0x8013136a\)", library.name,
                "detach that one")


def test_two_at_once(tmp_path, library):
    with running(tmp_path) as pid:
        argv = [DNPROF, "attach", "--timeout", PATIENCE_S, "--profiler-clsid", OTHER_CLSID, "--profiler-path", library,
                "--client-data", "sleep=300", pid]
        with start(argv) as one, start(argv) as two:
            results = sorted((one.end(), two.end()), key=lambda r: r.status)
        results[0].expect()
        refused(results[1], 1, "ALREADY_ACTIVE")


def test_time_out(tmp_path, library):
    """It is told that it may come about all the same; and so it does."""
    with running(tmp_path) as pid:
        result = attach_other(library, pid, "--timeout", 2, "--client-data", "sleep=5000")
        refused(result, 1, r"no answer within 2\.0 s", "may be loaded all the same", "dnprof status")
        refused(attach_other(library, pid, "--timeout", PATIENCE_S), 1, "ALREADY_ACTIVE")


def test_ends_meanwhile(tmp_path, library):
    with running(tmp_path) as pid:
        refused(attach_other(library, pid, "--client-data", "exit"), 1, "it ended meanwhile")


@pytest.mark.parametrize("result,words", [
    ("8badffff", [r"an HRESULT of the profiler's own \(0x8badffff\)"]),
    ("80004001", [r"CORPROF_E_PROFILER_NOT_ATTACHABLE \(0x80131368\)", "from a program's start only", "dnprof run"]),
    ("80131375", [r"CORPROF_E_PROFILER_CANCEL_ACTIVATION \(0x80131375\)", "the profiler itself chose"]),
    ("8013136f", [r"CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER \(0x8013136f\)", "may not ask for this"]),
    ("80070057", [r"E_INVALIDARG \(0x80070057\)", "client data"]),
])
def test_profiler_refuses(tmp_path, library, result, words):
    """Its own word reaches the user; and the process is ready for the next."""
    with running(tmp_path) as pid:
        refused(attach_other(library, pid, "--client-data", f"hr={result}"), 1, *words)
        attach_other(library, pid).expect()


def test_no_such_class(tmp_path, library):
    with running(tmp_path) as pid:
        result = attach_other(library, pid, clsid="{00000000-0000-0000-0000-00000000000A}")
        refused(result, 1, r"CLASS_E_CLASSNOTAVAILABLE \(0x80040111\)", "--profiler-clsid")


# ---- Our own agent

def test_already_attached(tmp_path, tfm):
    """It is offered for use, and can be used."""
    with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests")) as pid:
        attach(pid).expect()
        for options in ([], ["--notification"]):
            refused(attach(pid, *options), 1, "agent is in it already", f"dnprof start {pid}", f"dnprof detach {pid}")
        dnprof("stack", pid).expect()
        dnprof("detach", pid).expect()
        wait_for(lambda: "libdnprof" not in maps(pid), "the library's end")
        attach(pid).expect()


def test_agent_beside_another_profiler(tmp_path, tfm, library):
    """Without being asked to; its word is that it has fewer rights."""
    with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests")) as pid:
        attach_other(library, pid).expect()
        assert "beside another profiler" in attach(pid).expect().out
        dnprof("stack", pid).expect()
        refused(attach(pid), 1, "agent is in it already")
        refused(dnprof("start", "-e", "trace", pid), 2, "trace")


def test_agent_leaves_room(tmp_path, library):
    """As one that is only notified, another profiler can have all rights later."""
    with running(tmp_path) as pid:
        attach(pid, "--notification").expect()
        attach_other(library, pid).expect()
        dnprof("stack", pid).expect()


def test_two_agents_at_once(tmp_path):
    with running(tmp_path) as pid:
        argv = [DNPROF, "attach", "--timeout", PATIENCE_S, pid]
        with start(argv) as one, start(argv) as two:
            results = sorted((one.end(), two.end()), key=lambda r: r.status)
        results[0].expect()
        refused(results[1], 1, "agent is in it already")
        dnprof("detach", pid).expect()
        wait_for(lambda: "libdnprof" not in maps(pid), "the library's end")


def test_refused_agent_is_let_go(tmp_path, tfm):
    """By other clients, too: the runtime keeps the library of a profiler that it refuses, if it gets that far."""
    with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests")) as pid:
        attach(pid).expect()
        refused(attach_other(harness.AGENT, pid, clsid=AGENT_CLSID), 1, "agent is in it already")
        dnprof("detach", pid).expect()
        assert "libdnprof" not in maps(pid)


def test_kept_library_comes_to_life_again(tmp_path, tfm, library):
    """The runtime has refused it, and keeps it: it can be attached and detached all the same."""
    with running(tmp_path, program(tfm, "cpu", "--seconds", 600, "--rests")) as pid:
        attach_other(library, pid).expect()
        refused(attach_other(harness.AGENT, pid, clsid=AGENT_CLSID), 1, "ALREADY_ACTIVE")
        assert "libdnprof" in maps(pid)
        for _ in range(2):
            out = tmp_path / "out.dnp"
            dnprof("record", "-q", "-d", 1, "-F", 997, "-o", out, pid).expect()
            assert harness.report(out).samples > 0


def test_attach_while_it_detaches(tmp_path):
    """The runtime lets the one go before it takes the next."""
    with running(tmp_path) as pid:
        attach(pid).expect()
        for _ in range(5):
            dnprof("detach", pid).expect()
            attach(pid, "--timeout", PATIENCE_S).expect()
        dnprof("stack", pid).expect()


def test_client_data_of_the_agent(tmp_path):
    """Options of a recording, in a folder of its own."""
    folder = tmp_path / "recordings"
    folder.mkdir(mode=0o700)
    with running(tmp_path, program(NEWEST, "cpu", "--seconds", 600, "--rests")) as pid:
        attach(pid, "--client-data", f"dir={folder};event=cpu").expect()
        harness.wait_for_samples(pid)
        dnprof("detach", pid).expect()
        wait_for(lambda: "libdnprof" not in maps(pid), "the library's end")
    assert harness.report(*folder.iterdir()).samples > 0


@pytest.mark.parametrize("data,words", [
    ("what=ever", [r"E_INVALIDARG \(0x80070057\)", "client data"]),
    ("dir=/nowhere/at/all;event=cpu", [r"DNPROF_E_NO_FILE \(0x8bad0004\)", "cannot make the recording"]),
])
def test_client_data_that_the_agent_refuses(tmp_path, data, words):
    with running(tmp_path) as pid:
        refused(attach(pid, "--client-data", data), 1, *words)
        wait_for(lambda: "libdnprof" not in maps(pid), "the library's end")
        attach(pid).expect()


# ---- The library

@pytest.mark.parametrize("how,words", NO_PROFILERS)
def test_library_that_is_none(tmp_path, library, how, words):
    with running(tmp_path) as pid:
        refused(attach_other(spoiled(tmp_path, library, how), pid), 1, words)
        assert not (tmp_path / "marks" / str(pid)).exists()


def test_library_loads_only_here(tmp_path, library):
    """It needs another one, that the process does not find."""
    build = ["gcc", "-shared", "-fPIC", "-x", "c"]
    harness.run([*build, "-o", tmp_path / "libneeded.so", "-"], stdin=b"int needed;").expect()
    harness.run([*build, "-Wl,--no-as-needed", "-o", tmp_path / "needs.so", harness.ROOT / "tests/e2e/other_profiler.c",
                 f"-L{tmp_path}", "-lneeded"]).expect()
    with running(tmp_path) as pid:
        result = attach_other(tmp_path / "needs.so", pid, env={"LD_LIBRARY_PATH": str(tmp_path)})
        refused(result, 1, "could not load", r"ERROR_MOD_NOT_FOUND \(0x8007007e\)", "libraries that it needs")


@pytest.fixture
def open_folder():
    """One that all users can reach, unlike tmp_path."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


@needs_other_user
def test_library_out_of_reach(open_folder, tmp_path, library):
    """The process's user may not read it where it is: it is copied, and the copy goes at once."""
    tmp_path.chmod(0o700)
    hidden = tmp_path / "hidden.so"
    shutil.copy(library, hidden)
    (open_folder / "marks").mkdir(mode=0o777)
    (open_folder / "marks").chmod(0o777)
    with running(open_folder, [*NOBODY, *program(NEWEST, "deadlock", "--seconds", 600, "--rests")],
                 env={"HOME": str(open_folder)}) as pid:
        result = attach_other(hidden, pid).expect()
        assert "from a copy" in result.out and mark(open_folder, pid) == ""
        assert f"{open_folder}/dnprof-" in maps(pid)
        assert not list(open_folder.glob("dnprof-*"))


# ---- The command line

@pytest.mark.parametrize("argv,words", [
    ([], ["no process named"]),
    (["1", "2"], ["one process"]),
    (["x"], ["not a process id"]),
    (["--timeout", "x", "1"], ["--timeout x"]),
    (["--profiler-clsid", OTHER_CLSID, "1"], ["--profiler-path"]),
    (["--profiler-path", "x.so", "1"], ["--profiler-clsid"]),
    (["--profiler-clsid", "x", "--profiler-path", "x.so", "1"], ["not a GUID"]),
    (["--notification", "--profiler-clsid", OTHER_CLSID, "--profiler-path", "x.so", "1"], ["--notification"]),
    (["--notification", "--port", "p"], ["--notification", "runs already"]),
])
def test_usage(argv, words):
    refused(dnprof("attach", *argv), 2, *words)


def test_client_data_too_long(tmp_path, library):
    with running(tmp_path) as pid:
        refused(attach_other(library, pid, "--client-data", "x" * 66000), 1, "longer than 60000 bytes")
