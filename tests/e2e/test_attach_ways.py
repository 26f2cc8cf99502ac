# SPDX-License-Identifier: MIT
"""The ways to a process: into a container, from any client, where it waits at a diagnostic port, beside another
profiler from its start on."""
import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import stat
import tempfile
from pathlib import Path

import pytest

import harness

from harness import (DNPROF, LOOSE, NEWEST, NOBODY, OTHER_CLSID, PATIENCE_S, SOAK, cases, dnprof, needs_other_user,
                     other_profiler, program, refused, run, shares, start, wait_for)
from net import surroundings
from test_attach_errors import AGENT_CLSID, attach_other, maps, mark, running

CLIENT = harness.ROOT / "tests/client"
BUILT_CLIENT = harness.ROOT / "build/client/client"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return other_profiler(tmp_path_factory.mktemp("profiler"))


# ---- Containers

def can_unshare():
    return os.geteuid() == 0 and shutil.which("unshare") and \
        run(["unshare", "-pfm", "--mount-proc", "/bin/true"]).status == 0


#: Programs in a container have a /tmp of their own.
needs_unshare = pytest.mark.skipif(not can_unshare() or Path("/tmp") in harness.ROOT.parents,
                                   reason="needs root, unshare, and a project that does not lie below /tmp")


def dotnet_in(run_):
    """The program in a container, by its id outside."""
    return wait_for(lambda: next((pid for pid in harness.descendants(run_.process.pid)
                                  if Path(harness.command_line(pid).split(" ")[0]).name == "truth"), None),
                    "the program")


@contextlib.contextmanager
def copied(library, folder):
    """The library in another place, under a name that no other test has."""
    path = Path(folder, f"dnprof-test-{os.getpid()}.so")
    shutil.copy(library, path)
    try:
        yield path
    finally:
        path.unlink()


@contextlib.contextmanager
def contained(script="", temporary="/tmp"):
    """A program in its own ids, mounts and network, with a /tmp of its own; gives its id outside."""
    truth = " ".join(map(str, program(NEWEST, "deadlock", "--seconds", 600, "--rests")))
    script = f"mount -t tmpfs none /tmp; mkdir /tmp/marks; {script}\nMARK_FOLDER=/tmp/marks exec {truth}"
    with start(["unshare", "-pfmn", "--mount-proc", "/bin/sh", "-c", script], env={"TMPDIR": "/tmp"}) as outer:
        pid = dotnet_in(outer)
        wait_for(lambda: any(n.startswith("dotnet-diagnostic-1-") for n in os.listdir(f"/proc/{pid}/root{temporary}")),
                 "the runtime's socket")
        yield pid


@needs_unshare
def test_container(library):
    """The library is not to be seen there: it is copied, and the copy goes at once."""
    # Hidden by the container's own /tmp.
    with copied(library, "/tmp") as path, contained() as pid:
        result = attach_other(path, pid, "--client-data", "inside").expect()
        assert "from a copy in its file system" in result.out
        assert Path(f"/proc/{pid}/root/tmp/marks/1").read_text() == "inside"
        assert not [n for n in os.listdir(f"/proc/{pid}/root/tmp") if n.startswith("dnprof-")]
        assert "/tmp/dnprof-" in maps(pid)


@needs_unshare
def test_container_sees_the_library(library, tmp_path):
    with copied(library, "/var/tmp") as path, contained() as pid:
        result = attach_other(path, pid).expect()
        assert "copy" not in result.out


@needs_unshare
def test_container_where_nothing_can_be_put(library):
    script = ("for d in /dev/shm /var/tmp /run; do mount -t tmpfs -o ro none $d; done; "
              "(until ls /tmp/dotnet-diagnostic-1-*; do sleep 0.1; done; mount -o remount,noexec /tmp) >/dev/null 2>&1 &")
    with copied(library, "/tmp") as path, contained(script) as pid:
        wait_for(lambda: "noexec" in next(l for l in Path(f"/proc/{pid}/mounts").read_text().splitlines()
                                          if " /tmp tmpfs " in l and "none" in l), "the remount")
        refused(attach_other(path, pid), 1, "it cannot see", "/dev/shm", "writable")


@needs_unshare
def test_container_with_links(library):
    """A link of its own leads to its own places, also where it looks like one of ours."""
    script = "mkdir /tmp/real; ln -s /tmp/real /tmp/link; export TMPDIR=/tmp/link"
    with copied(library, "/tmp") as path, contained(script, "/tmp/real") as pid:
        attach_other(path, pid).expect()
        assert Path(f"/proc/{pid}/root/tmp/marks/1").read_text() == ""
        assert "/tmp/real/dnprof-" in maps(pid)
        assert not [n for n in os.listdir(f"/proc/{pid}/root/tmp/real") if n.startswith("dnprof-")]


@pytest.fixture
def hidden_dnprof():
    """A dnprof that containers with a /tmp of their own do not see, with its agent."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        for file in (DNPROF, harness.AGENT):
            shutil.copy(file, name)
        yield Path(name) / DNPROF.name


@needs_unshare
@pytest.mark.parametrize("script", ["", "mount -o remount,ro /"])
def test_agent_in_a_container(tmp_path, hidden_dnprof, script):
    """All of it from outside: attach, look, record to where the user stands, detach; also where it may write nothing."""
    if script:
        script = "mount --make-rprivate / && mount --bind / / && mount -o remount,ro,bind /; true"
    with contained(script) as pid:
        def ask(verb, *options):
            return run([hidden_dnprof, verb, "--timeout", PATIENCE_S, *options, pid], cwd=tmp_path).expect()

        assert "from a copy" in ask("attach").out
        wait_for(lambda: "Truth.Deadlock" in ask("stack").out, "its own methods")
        ask("record", "-q", "-d", 1, "-o", tmp_path / "out.txt")
        assert "recorded" in (tmp_path / "out.txt").read_text()
        ask("detach")
        assert "libdnprof" not in maps(pid)
        assert not [n for n in os.listdir(f"/proc/{pid}/root/tmp") if n.startswith("dnprof-")]


@needs_other_user
def test_agent_in_a_process_of_another_user(tmp_path):
    """Root may; its recordings are root's."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        with running(folder, [*NOBODY, *program(NEWEST, "deadlock", "--seconds", 600, "--rests")], env={"HOME": name}) as pid:
            dnprof("record", "-q", "-d", 1, "-o", tmp_path / "out.dnp", pid).expect()
            assert (tmp_path / "out.dnp").stat().st_uid == 0
            wait_for(lambda: "libdnprof" not in maps(pid), "the library's end")
            assert not list(folder.glob("dnprof-*"))


# ---- Diagnostic ports

def at_port(library, port, *options):
    return [DNPROF, "attach", "--profiler-clsid", OTHER_CLSID, "--profiler-path", library, "--port", port, *options]


def marked(tmp_path, pid):
    """What the profiler wrote down; None: nothing yet."""
    return mark(tmp_path, pid) if (tmp_path / "marks" / str(pid)).exists() else None


def test_port(tmp_path, tfm, library):
    """The program waits for it, and begins with the profiler; the port goes."""
    port = tmp_path / "port"
    with start(at_port(library, port, "--timeout", PATIENCE_S)) as waiting:
        wait_for(port.is_socket, "the port")
        assert stat.S_IMODE(port.stat().st_mode) == 0o600
        with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests"),
                     env={"DOTNET_DiagnosticPorts": str(port), "MARK_TEXT": "begun"}) as pid:
            result = waiting.end().expect()
            assert f"process {pid} has begun" in result.out
            wait_for(lambda: marked(tmp_path, pid) == "begun", "the profiler")
            assert not port.exists()


def test_port_comes_late(tmp_path, library):
    """The program was there first; whoever asks it meanwhile is told what it waits for."""
    port = tmp_path / "port"
    with running(tmp_path, env={"DOTNET_DiagnosticPorts": str(port)}) as pid:
        refused(attach_other(library, pid, "--timeout", 3), 1, "waits at its diagnostic port", str(port), "--port")
        run(at_port(library, port, "--timeout", PATIENCE_S)).expect()
        wait_for(lambda: marked(tmp_path, pid) == "", "the profiler")


def test_default_port(tmp_path, tfm, library):
    """It waits at its own socket; being asked to attach is the word to begin."""
    with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests"),
                 env={"DOTNET_DefaultDiagnosticPortSuspend": "1", "MARK_TEXT": "begun"}) as pid:
        assert f"process {pid} has begun" in attach_other(library, pid, "--timeout", PATIENCE_S).expect().out
        wait_for(lambda: marked(tmp_path, pid) == "begun", "the profiler")
        refused(attach_other(library, pid), 1, "ALREADY_ACTIVE")


def test_default_port_and_client_data(tmp_path, library):
    with running(tmp_path, env={"DOTNET_DefaultDiagnosticPortSuspend": "1"}) as pid:
        refused(attach_other(library, pid, "--client-data", "x"), 1, "is given none", "--client-data")


@pytest.mark.slow
def test_port_profiler_fails(tmp_path, library):
    """The runtime loads it later and says nothing; that it is not there is seen all the same."""
    port = tmp_path / "port"
    clsid = OTHER_CLSID.replace("DF9E", "AF9E")
    with running(tmp_path, env={"DOTNET_DiagnosticPorts": str(port)}) as pid:
        argv = [a if a != OTHER_CLSID else clsid for a in at_port(library, port, "--timeout", 20 if SOAK else 8)]
        refused(run(argv), 1, f"cannot attach to process {pid}", "not seen in it")


def test_port_without_waiting(tmp_path, library):
    port = tmp_path / "port"
    with running(tmp_path, env={"DOTNET_DiagnosticPorts": f"{port},nosuspend"}) as pid:
        refused(run(at_port(library, port)), 1, "has begun without waiting", "by its id")
        attach_other(library, pid).expect()


def test_nobody_comes(tmp_path, library):
    refused(run(at_port(library, tmp_path / "port", "--timeout", "0.2")), 1, "no program came", "DOTNET_DiagnosticPorts")
    assert not (tmp_path / "port").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_waiting_is_given_up(tmp_path, library, number):
    """Nothing is left of the port."""
    port = tmp_path / "port"
    with start(at_port(library, port, "--timeout", PATIENCE_S)) as waiting:
        wait_for(port.is_socket, "the port")
        waiting.process.send_signal(number)
        assert waiting.end().status == -number
        assert not port.exists()


def test_strangers_at_the_port(tmp_path, library):
    """Whoever does not speak as a runtime does is sent away; the next is served."""
    port = tmp_path / "port"
    with start(at_port(library, port, "--timeout", PATIENCE_S)) as waiting:
        wait_for(port.is_socket, "the port")
        for words in (b"", b"x" * 34, b"ADVR_V1\0"):
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(str(port))
                stranger.sendall(words)
        with running(tmp_path, env={"DOTNET_DiagnosticPorts": str(port)}):
            waiting.end().expect()


@pytest.mark.parametrize("make,words", [
    (lambda path: path.write_text(""), "Address already in use"),
    (lambda path: path.mkdir(), "Address already in use"),
    (lambda path: None, "cannot wait at the port .*: No such file"),
])
def test_port_that_cannot_be(tmp_path, library, make, words):
    port = tmp_path / "port"
    make(port)
    refused(run(at_port(library, port if port.exists() else tmp_path / "no" / "port")), 1, words)


def test_port_of_a_long_name(tmp_path, library):
    refused(run(at_port(library, tmp_path / ("x" * 120))), 1, "too long")


def test_port_and_process(library):
    refused(run([*at_port(library, "/tmp/x"), "1"]), 2, "name no process")


def test_agent_at_the_port(tmp_path, tfm):
    """It waits to be asked, as if attached: for a recording, and to leave. The program sees none of its variables."""
    port = tmp_path / "port"
    with start([DNPROF, "attach", "--port", port, "--timeout", PATIENCE_S]) as waiting:
        with running(tmp_path, program(tfm, "cpu", "--seconds", 600, "--rests"), env={"DOTNET_DiagnosticPorts": str(port)}) as pid:
            waiting.end().expect()
            dnprof("start", "-q", "-o", tmp_path / "t.dnp", pid).expect()
            dnprof("stop", "-q", pid).expect()
            dnprof("detach", "-q", pid).expect()
            wait_for(lambda: "libdnprof" not in maps(pid), "the library's end")
    with start([DNPROF, "attach", "--port", port, "--timeout", PATIENCE_S]) as waiting:
        told = run([str(a) for a in program(tfm, "env")], env={"DOTNET_DiagnosticPorts": str(port)}).expect()
        assert not told.out.strip(), told


def test_agent_leaves_a_runtime_that_is_starting(tmp_path, tfm, library):
    """The runtime lets nobody go before it has begun: the agent asks it until it does."""
    port, gate = tmp_path / "port", tmp_path / "gate"
    os.mkfifo(gate)
    env = {"DOTNET_DiagnosticPorts": str(port), "MARK_TEXT": "here", "OTHER_WAITS": str(gate),
           "CORECLR_ENABLE_NOTIFICATION_PROFILERS": "1",
           "CORECLR_NOTIFICATION_PROFILERS": f"{library}={harness.OTHER_NOTIFY_CLSID};"}
    with start([DNPROF, "attach", "--port", port, "--timeout", PATIENCE_S]) as waiting:
        with running(tmp_path, program(tfm, "cpu", "--seconds", 600, "--rests"), env=env) as pid:
            waiting.end().expect()
            wait_for(lambda: marked(tmp_path, pid) == "here", "the profiler that keeps the runtime from starting")
            refused(dnprof("detach", "--timeout", 1, pid), 1, "still has the agent")
            # The same at the end of a recording.
            dnprof("start", "-q", "-o", tmp_path / "t.dnp", pid).expect()
            with start([DNPROF, "detach", "-q", "--timeout", PATIENCE_S, pid]) as leaving:
                wait_for(lambda: "records nothing" in dnprof("status", pid).expect().out, "the end of the recording")
                gate.write_bytes(b"")
                leaving.end().expect()
            assert "libdnprof" not in maps(pid)
            dnprof("record", "-q", "-d", 1, "-o", tmp_path / "more.txt", pid).expect()


# ---- Microsoft's client

@pytest.fixture(scope="module")
def client():
    BUILT_CLIENT.parent.mkdir(parents=True, exist_ok=True)
    with open(BUILT_CLIENT.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # others may be about to build it, too
        return build_client()


def build_client():
    sources = [p for p in CLIENT.iterdir() if p.is_file()]
    if not BUILT_CLIENT.exists() or any(p.stat().st_mtime > BUILT_CLIENT.stat().st_mtime for p in sources):
        result = run(["dotnet", "publish", CLIENT / "client.csproj", "-c", "Release", "-o", BUILT_CLIENT.parent,
                      "-nodeReuse:false"], timeout=3 * PATIENCE_S, env=surroundings.MADE)
        if "NU1101" in result.out or "NU1301" in result.out:
            pytest.skip("its package cannot be fetched: Microsoft.Diagnostics.NETCore.Client")
        result.expect()
        BUILT_CLIENT.touch()
    return BUILT_CLIENT


def attached_by(client, *arguments, env):
    """We try again when the runtime is still starting, CORPROF_E_NOT_YET_AVAILABLE; it leaves that to its users."""
    def answer():
        result = run([client, *arguments], env=env)
        return None if "0x8013135B" in result.out else result
    assert wait_for(answer, "the runtime's start").expect().out == "attached\n"


@pytest.mark.slow
def test_microsofts_client(tmp_path, tfm, library, client):
    """It attaches what we attach, with the same client data, and meets what we have attached."""
    with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests")) as pid:
        env = {"TMPDIR": str(tmp_path)}
        attached_by(client, pid, OTHER_CLSID, library, "wie gehabt", env=env)
        assert mark(tmp_path, pid) == "wie gehabt"
        result = run([client, pid, OTHER_CLSID, library], env=env).expect(1)
        assert "ProfilerAlreadyActive" in result.out
        refused(attach_other(library, pid), 1, "ALREADY_ACTIVE")


def test_microsofts_client_and_the_agent(tmp_path, tfm, client):
    """It attaches our library as well, and gives it the options of a recording."""
    folder = tmp_path / "recordings"
    folder.mkdir(mode=0o700)
    with running(tmp_path, program(tfm, "cpu", "--seconds", 600, "--rests")) as pid:
        options = f"dir={folder};event=cpu"
        env = {"TMPDIR": str(tmp_path)}
        attached_by(client, pid, AGENT_CLSID, harness.AGENT, options, env=env)
        assert "0x8BAD0001" in run([client, pid, AGENT_CLSID, harness.AGENT], env=env).expect(1).out
        wait_for(lambda: any(p.stat().st_size > 20000 for p in folder.iterdir()), "samples")
        dnprof("detach", pid).expect()
        result = run([client, pid, AGENT_CLSID, harness.AGENT, "no=sense"], env=env).expect(1)
        assert "Invalid command argument" in result.out
    assert harness.report(*folder.iterdir()).samples > 0


# ---- Beside another profiler from the start on

def configured(library, tmp_path):
    return {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": OTHER_CLSID, "CORECLR_PROFILER_PATH": str(library),
            "MARK_FOLDER": str(tmp_path / "marks"), "MARK_TEXT": "first"}


@pytest.mark.measured
@pytest.mark.parametrize("options", cases([[], ["-e", "wall"], ["--engine", "snapshot"]], [[], ["--engine", "snapshot"]]))
def test_run_beside_another_profiler(tmp_path, tfm, library, options):
    """Both are loaded; samples are taken as ever."""
    (tmp_path / "marks").mkdir()
    out = tmp_path / "out.dnp"
    result = dnprof("run", *options, "-o", out, "--", *program(tfm, "cpu", "--seconds", 2),
                    env=configured(library, tmp_path)).expect()
    assert re.search(f"another profiler is configured, {library}: the agent stands beside it", result.err)
    assert [p.read_text() for p in (tmp_path / "marks").iterdir()] == ["first"]
    found = harness.report(out)
    found.check_few_lost()
    assert found.shown["samples"] > 20 // LOOSE
    # Those of which there should be thirty; the runtime's own walk sees code with safe points only.
    often = [m for m, share in shares(result.truth["methods"]).items() if share * found.shown["samples"] > 30]
    seen = [method for method in often if found.total(method) > 0]
    assert len(seen) >= len(often) - (2 if "snapshot" in options else 0), (seen, often)


@pytest.mark.parametrize("others", [False, True])
def test_environment_beside_another_profiler(tmp_path, library, others):
    """The program's children inherit what there was, and nothing of ours."""
    (tmp_path / "marks").mkdir()
    env = configured(library, tmp_path)
    if others:
        env |= {"CORECLR_ENABLE_NOTIFICATION_PROFILERS": "1",
                "CORECLR_NOTIFICATION_PROFILERS": f"{library}={harness.OTHER_NOTIFY_CLSID}"}
    result = dnprof("run", "-q", "-o", tmp_path / "out.dnp", "--", *program(NEWEST, "env"), env=env).expect()
    assert sorted(result.out.split()) == sorted(name for name in env if name.startswith("CORECLR"))
