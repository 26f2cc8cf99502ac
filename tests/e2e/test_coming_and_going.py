# SPDX-License-Identifier: MIT
"""The moments in which the agent comes to a process and leaves it: what is asked then, who is killed or interrupted
then, and what is left."""
import contextlib
import os
import re
import shutil
import signal
import socket
import tempfile
import time
from pathlib import Path

import pytest

import attached
import harness

from attached import Refused, ask, is_loaded
from harness import (DNPROF, NEWEST, OTHER_CLSID, PATIENCE_S, SOAK, cases, dnprof, other_profiler, program, refused, report, wait_for,
                     wait_for_samples)

STACK = 1
DETACHING = 0x80131367
BUSY = ("cpu", "--seconds", 600, "--rests")

#: src/launch/attach.c: so long an agent that was brought for a request waits for it.
PASSING_S = 5


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return other_profiler(tmp_path_factory.mktemp("profiler"))


@contextlib.contextmanager
def running(tfm=NEWEST, name=BUSY):
    with attached.Running(program(tfm, *name), 0.5) as it:
        yield it
        assert it.started.process.poll() is None, f"the program has ended: {it.started.process.returncode}"


def gone(pid):
    """The runtime looks 0.3 s after the request, and if it was kept from that after five seconds more."""
    wait_for(lambda: not is_loaded(pid), "the library's end")


def state(pid):
    return re.search(r"^state +(.*)", dnprof("status", pid).out, re.M)[1]


def raises(result, question, *arguments):
    with pytest.raises(Refused) as refusal:
        question(*arguments)
    assert refusal.value.value == result, refusal.value
    return refusal.value.text


# ---- From two folders

PAIRS = 40 if SOAK else 5


@pytest.mark.parametrize("tfm", cases(["net8.0", "net9.0", "net10.0"], NEWEST, "net8.0"))
def test_two_copies_come_at_once(tmp_path, tfm):
    """The runtime keeps a library for ever that it loads beside a profiler: a copy that comes second is not to be loaded."""
    copy = shutil.copytree(DNPROF.parent, tmp_path / "copy", ignore=shutil.ignore_patterns("*.p"))
    with running(tfm) as it:
        for _ in range(PAIRS):
            with harness.start([DNPROF, "stack", it.pid]) as one, harness.start([copy / DNPROF.name, "stack", it.pid]) as other:
                one.end().expect()
                other.end().expect()
            gone(it.pid)
        dnprof("attach", it.pid).expect()
        dnprof("detach", it.pid).expect()
        assert not is_loaded(it.pid)


# ---- While it leaves

def while_it_leaves(it, question):
    """The answer of an agent that leaves, which takes the third of a second, asked anew when that was too short."""
    def ask_anew():
        try:
            attached.attach(it.pid)
            ask(it.pid, attached.DETACH)
            if answer := question():
                return answer
        except (attached.Gone, Refused):
            pass  # what was asked too late may have brought it again
        dnprof("detach", it.pid)
        gone(it.pid)
        return None

    return wait_for(ask_anew, "an answer of an agent that leaves; it had gone each time before it was asked")


def test_asked_while_it_leaves(tmp_path, tfm):
    """It says so to whoever asks, by the runtime's own word; what it says of itself is true to the end."""
    with running(tfm) as it:
        def ask_all():
            for kind in (attached.DETACH, attached.START, STACK):
                assert "CORPROF_E_PROFILER_DETACHING (0x80131367)" in raises(114, ask, it.pid, kind)
            raises(61, ask, it.pid, attached.STOP)
            return True

        def state_then():
            seen = state(it.pid)
            return seen if seen != "not attached" and "the agent is not in it" not in seen else None

        while_it_leaves(it, ask_all)
        gone(it.pid)
        assert while_it_leaves(it, state_then) == "detaching"
        gone(it.pid)
        assert state(it.pid) == "not attached" and not list(it.folder.glob("dnprof-*"))


def test_detach_while_it_leaves(tfm):
    with running(tfm) as it:
        def detach():
            result = dnprof("detach", it.pid)
            return result if "the agent is not in it" not in result.err else None

        result = while_it_leaves(it, detach).expect()
        assert "leaving already (CORPROF_E_PROFILER_DETACHING)" in result.err
        assert f"detached from process {it.pid}" in result.out and not is_loaded(it.pid)


def test_attach_while_it_leaves(tfm):
    """It waits for the end of the old one, as long as it may."""
    with running(tfm) as it:
        def attach():
            result = dnprof("attach", "--timeout", "0.01", it.pid)
            return result if "leaving" in result.err else None

        refused(while_it_leaves(it, attach), 1, r"CORPROF_E_PROFILER_DETACHING \(0x80131367\)", "is leaving", "--timeout")
        dnprof("attach", "--timeout", PATIENCE_S, it.pid).expect()
        assert state(it.pid) == "attached, records nothing"


def test_other_clients_while_it_leaves():
    """The runtime lets them wait, or asks the library that is leaving, which says so."""
    with running() as it:
        attached.attach(it.pid)
        for _ in range(10 if SOAK else 4):
            ask(it.pid, attached.DETACH)
            try:
                attached.attach(it.pid)
            except Refused as refusal:
                assert refusal.value == DETACHING
                gone(it.pid)
                attached.attach(it.pid)
            assert state(it.pid) == "attached, records nothing"


@pytest.mark.parametrize("words", [("record", "-q", "-d", "0.2"), ("stack",)])
def test_used_while_it_leaves(tmp_path, words):
    """What brings an agent waits for the old one to go, and brings the next."""
    with running() as it:
        attached.attach(it.pid)
        ask(it.pid, attached.DETACH)
        out = ["-o", tmp_path / "out.dnp"] if words[0] == "record" else []
        result = dnprof(*words, *out, "--timeout", PATIENCE_S, it.pid).expect()
        assert out or "Truth.Cpu" in result.out
        gone(it.pid)


def test_program_ends_while_it_leaves(tmp_path):
    """Nobody tells the agent then."""
    with attached.Running(program(NEWEST, "cpu", "--seconds", 2 if SOAK else 1), 0.2) as it:
        attached.attach(it.pid)
        while it.started.process.poll() is None:
            with contextlib.suppress(attached.Gone, Refused):
                ask(it.pid, attached.DETACH)
                attached.attach(it.pid)
        it.started.end().expect()
        assert not list(it.folder.glob("dnprof-*"))


def test_record_returns_when_it_has_gone(tmp_path):
    with running() as it:
        def has_gone():
            dnprof("record", "-q", "-d", "0.2", "-o", tmp_path / "out.dnp", it.pid).expect()
            if not is_loaded(it.pid):
                return True
            gone(it.pid)  # the runtime has overslept
            return False

        wait_for(has_gone, "a library that has gone by then")


# ---- Whoever brought it is not there any more

def test_nobody_uses_it(tfm):
    """It leaves by itself; not one that was attached to stay, nor one that is used."""
    with running(tfm) as it, running(tfm) as other:
        attached.attach(it.pid, b"leave_ms=300")
        gone(it.pid)
        dnprof("attach", other.pid).expect()
        attached.attach(it.pid, b"leave_ms=8000")
        fd = os.open(it.folder / "x.dnp", os.O_RDWR | os.O_CREAT)
        ask(it.pid, attached.START, 0, "event=cpu", fd)
        ask(it.pid, attached.STOP)
        time.sleep(max(PASSING_S, 8) + 1)
        for kept in (it, other):
            assert state(kept.pid) == "attached, records nothing"


def test_nobody_uses_it_any_more(tmp_path):
    """Who records with one that another has brought, and could not use, does not make it stay."""
    with running() as it:
        attached.attach(it.pid, b"leave_ms=3000")
        dnprof("record", "-q", "-d", 0.2, "-o", tmp_path / "x.dnp", it.pid).expect()
        gone(it.pid)


@pytest.mark.parametrize("words", [("record",), pytest.param(("stack",), marks=pytest.mark.slow)])
def test_killed_while_it_comes(tmp_path, words):
    """At whichever moment: nothing stays, and what is recorded is whole."""
    with running() as it:
        for n in range(4) if SOAK else (0, 3):
            out = ["-o", tmp_path / f"{n}.dnp"] if words[0] == "record" else []
            with harness.start([DNPROF, *words, *out, it.pid]) as command:
                wait_for(lambda: is_loaded(it.pid), "the agent")
                time.sleep(n * 0.003)
                command.process.kill()
            gone(it.pid)
        assert not list(it.folder.glob("dnprof-*"))


# ---- Ctrl-C

@contextlib.contextmanager
def busy_server(it, library):
    """The runtime is at work on another attach all the while."""
    hold = it.folder / "hold"
    hold.touch()
    with harness.start([DNPROF, "attach", "--timeout", PATIENCE_S, "--profiler-clsid", OTHER_CLSID, "--profiler-path",
                        library, "--client-data", f"hold={hold}", it.pid]) as other:
        wait_for(lambda: library.name in Path(f"/proc/{it.pid}/maps").read_text(), "the first request")
        yield
        hold.unlink()
        other.end().expect()


def takes(pid, number):
    """Whether a process has a handler for a signal, or blocks it to read it later."""
    sets = re.findall(r"^Sig(?:Blk|Cgt):\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    return any(int(found, 16) >> (number - 1) & 1 for found in sets)


def interrupt(argv, number=signal.SIGINT):
    """What came of a command line that is interrupted while it waits, which it does no longer then."""
    with harness.start(argv) as command:
        wait_for(lambda: takes(command.process.pid, number), "its readiness for signals")
        time.sleep(0.5)
        assert command.process.poll() is None
        command.process.send_signal(number)
        return command.end()


@pytest.mark.parametrize("words, number", cases(
    [(words, number) for words in (("attach", "--notification"), ("record",), ("stack",))
     for number in (signal.SIGINT, signal.SIGTERM)],
    [(("attach", "--notification"), signal.SIGINT), (("record",), signal.SIGTERM), (("stack",), signal.SIGINT)],
    [(("attach", "--notification"), signal.SIGINT), (("record",), signal.SIGTERM)]))
def test_interrupted_while_it_comes(tmp_path, library, words, number):
    """At once, by that signal; an agent that comes all the same leaves again, if it was not to stay."""
    with running() as it:
        with busy_server(it, library):
            out = ["-o", tmp_path / "out.dnp"] if words[0] == "record" else []
            result = interrupt([DNPROF, *words, *out, "--timeout", 2 * PATIENCE_S, it.pid], number)
            assert result.status == -number, result
            assert "interrupted; " in result.err and str(it.pid) in result.err
            assert not list(tmp_path.iterdir())
        if words[0] != "attach":
            attached.wait_for_the_runtime(it.pid)  # it may come now
            gone(it.pid)


@pytest.mark.parametrize("word", ["dump", "stop"])
def test_interrupted_while_it_is_asked_for_a_copy(tmp_path, word):
    """Nothing is left of the copy, and the recording is none the worse."""
    copies = tmp_path / "copies"
    copies.mkdir()
    with running() as it:
        dnprof("attach", "-q", it.pid).expect()
        dnprof("start", "-q", "-o", tmp_path / "own.dnp", it.pid).expect()
        os.kill(it.pid, signal.SIGSTOP)
        try:
            with harness.start([DNPROF, word, "--timeout", 2 * PATIENCE_S, "-o", copies / "x.dnp", it.pid]) as command:
                time.sleep(1)
                assert command.process.poll() is None
                command.process.send_signal(signal.SIGINT)
                assert command.end().status == -signal.SIGINT
        finally:
            os.kill(it.pid, signal.SIGCONT)
        assert not list(copies.iterdir())
        dnprof(word, "-q", "-o", copies / "x.dnp", it.pid).expect()
        assert (copies / "x.dnp").stat().st_size and len(list(copies.iterdir())) == 1


def test_interrupted_while_it_starts(tmp_path):
    """Nothing is left of the recording, and it does not begin later."""
    with running() as it:
        dnprof("attach", "-q", it.pid).expect()
        harness.stop_all(it.pid)
        try:
            with harness.start([DNPROF, "start", "--timeout", 2 * PATIENCE_S, "-o", tmp_path / "x.dnp", it.pid]) as command:
                wait_for(lambda: list(tmp_path.iterdir()), "its beginning")
                time.sleep(0.5)  # it asks
                command.process.send_signal(signal.SIGINT)
                assert command.end().status == -signal.SIGINT
        finally:
            os.kill(it.pid, signal.SIGCONT)
        assert not list(tmp_path.iterdir())
        assert state(it.pid).startswith("attached")


#: What an agent does that has begun to record; then `c` has to go, and STOP comes.
BEGUN = f"c.send({attached.HEAD.pack(attached.MAGIC, attached.VERSION, attached.DONE, 0, 0)!r})\n"


def test_its_place_is_taken_when_it_has_begun(tmp_path):
    """The recording is ended again, by a connection of its own: that of the start has served."""
    out = tmp_path / "out"
    out.mkdir()
    answer = (f"os.makedirs({str(out / 'x.dnp/taken')!r})\n{BEGUN}"
              "c.close()\nc, _ = s.accept()\nprint(c.recv(512)[6], flush=True)\n")
    impostor = attached.Impostor(tmp_path, answer)
    with impostor as pid:
        refused(dnprof("start", "-o", out / "x.dnp", pid), 1, "x.dnp")
        wait_for(lambda: impostor.process.poll() is not None, "the recording's end")
        assert int(impostor.process.stdout.readline()) == attached.STOP
    assert [p.name for p in out.iterdir()] == ["x.dnp"]


@pytest.mark.parametrize("name", ["x.dnp", "x.html"])
def test_end_is_not_answered(tmp_path, name):
    """The agent may write on: what is there stays as it is."""
    out = tmp_path / "out"
    out.mkdir()
    with attached.Impostor(tmp_path, BEGUN + "while c.recv(512): pass") as pid:
        result = dnprof("record", "-d", 0.1, "--timeout", 0.5, "-o", out / name, pid)
    assert result.status == 3, result
    assert "no answer within 0.5 s" in result.err and "is kept as it is" in result.err
    assert [p.name for p in out.iterdir()] == [name if name == "x.dnp" else "x.html.dnp"]


def test_interrupted_before_it_is_asked(tmp_path):
    """No runtime begins there: the process is as it was."""
    host = DNPROF.parents[1] / "tests/tools/fake-host"
    with harness.start([host, "run", "/bin/sleep", 600]) as sleeping:
        result = interrupt([DNPROF, "attach", "--timeout", 2 * PATIENCE_S, sleeping.process.pid])
        assert result.status == -signal.SIGINT
        assert f"process {sleeping.process.pid} is as it was" in result.err


def test_interrupted_while_all_wait(tmp_path, library):
    """More than find room at the runtime's socket."""
    with running() as it, busy_server(it, library), contextlib.ExitStack() as crowd:
        with contextlib.suppress(BlockingIOError):
            for _ in range(10000):
                one = crowd.enter_context(socket.socket(socket.AF_UNIX))
                one.setblocking(False)
                one.connect(str(next(it.folder.glob("dotnet-diagnostic-*"))))
        result = interrupt([DNPROF, "attach", "--notification", "--timeout", 2 * PATIENCE_S, it.pid])
        assert result.status == -signal.SIGINT


# ---- A runtime that has lost count

@pytest.mark.parametrize("how", ["detach=100", "hr=80131375"])
def test_profiler_goes_from_beside_it(tmp_path, tfm, library, how):
    """CoreCLR takes the one that stays for gone then: to ask it for a detach would end the program."""
    with running(tfm) as it:
        dnprof("attach", "--notification", it.pid).expect()
        dnprof("attach", "--profiler-clsid", OTHER_CLSID, "--profiler-path", library, "--client-data", how, it.pid)
        wait_for(lambda: library.name not in Path(f"/proc/{it.pid}/maps").read_text(), "the other one's end")
        refused(dnprof("start", "-o", tmp_path / "x.dnp", it.pid), 1, "lost count")
        refused(dnprof("detach", it.pid), 1, "DNPROF_E_LOST", "It is quiet now")
        assert "not possible" in dnprof("status", it.pid).out
        time.sleep(0.5)


# ---- Sockets

def test_sockets_of_the_dead(tmp_path):
    """Who looks removes them; not those of the living, of others, nor what only looks like one."""
    names = []
    with attached.Running(program(NEWEST, *BUSY), 0.5) as it:
        folder = it.folder
        env = {"TMPDIR": str(folder)}
        for clear in (lambda: dnprof("status", env=env), lambda: dnprof("attach", it.pid)):
            with harness.start(program(NEWEST, *BUSY), env=env) as other:
                pid = other.process.pid
                wait_for(lambda: dnprof("attach", pid).status == 0, "the runtime")
                left, = folder.glob(f"dnprof-{pid}-*-socket")
                dnprof("status", env=env).expect()
                assert left.exists()
                other.process.kill()
            spared = [folder / "dnprof-1-2-socket", folder / f"dnprof-{pid}-77-socket.bak"]
            for path in spared:
                path.touch()
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as heard:
                name = folder / f"dnprof-{pid}-78-socket"
                heard.bind(str(name))
                heard.listen(1)
                clear().expect()
                assert name.exists() and all(p.exists() for p in spared) and not left.exists()
                name.unlink()


@pytest.mark.parametrize("length", [80, 90])
def test_long_folder(tfm, length):
    """The runtime cuts the name of its socket: it is found all the same."""
    base = Path(tempfile.mkdtemp(dir="/tmp"))
    folder = base / ("x" * (length - len(str(base)) - 1))
    folder.mkdir()
    try:
        with harness.start(program(tfm, *BUSY), env={"TMPDIR": str(folder)}) as run:
            wait_for(lambda: list(folder.glob("dotnet-*")), "the runtime's socket")
            assert not list(folder.glob("dotnet-*-socket"))
            dnprof("attach", run.process.pid).expect()
            assert dnprof("doctor", run.process.pid).status == 0
            dnprof("detach", run.process.pid).expect()
    finally:
        shutil.rmtree(base)


def test_folder_that_is_too_long():
    base = Path(tempfile.mkdtemp(dir="/tmp"))
    folder = base / ("x" * 110)
    folder.mkdir()
    try:
        with harness.start(program(NEWEST, *BUSY), env={"TMPDIR": str(folder)}) as run:
            wait_for(lambda: "libcoreclr.so" in Path(f"/proc/{run.process.pid}/maps").read_text(), "the runtime")
            refused(dnprof("attach", run.process.pid), 1, "TMPDIR, of 12[0-9] bytes, is too long", "60 at most")
            assert "too long" in dnprof("doctor", run.process.pid).out
    finally:
        shutil.rmtree(base)


# ---- What is told

def test_dump_tells(tmp_path):
    with running() as it:
        dnprof("attach", it.pid).expect()
        dnprof("start", "-o", tmp_path / "all.dnp", it.pid).expect()
        wait_for_samples(it.pid)
        assert re.search(r"now\.txt: [\d,]+ samples in \d", dnprof("dump", "-o", tmp_path / "now.txt", it.pid).expect().err)
        assert not dnprof("dump", "-q", "-o", tmp_path / "now.txt", it.pid).expect().err


def test_dump_spares_the_recording(tmp_path):
    out = tmp_path / "all.dnp"
    with running() as it:
        dnprof("attach", it.pid).expect()
        dnprof("start", "-o", out, it.pid).expect()
        wait_for_samples(it.pid)
        refused(dnprof("dump", "-o", out, it.pid), 1, "it is the recording itself, which goes on; choose another name")
        assert os.listdir(tmp_path) == ["all.dnp"]
        assert "all.dnp" in dnprof("stop", it.pid).expect().err
    assert report(out).data["complete"]


def test_names_of_one_second(tmp_path):
    """What is made with the name that nobody chose replaces nothing that was made a moment before."""
    with running() as it:
        dnprof("attach", it.pid).expect()
        for _ in range(3):
            dnprof("start", it.pid, cwd=tmp_path).expect()
            dnprof("dump", it.pid, cwd=tmp_path).expect()
            dnprof("stop", it.pid, cwd=tmp_path).expect()
            dnprof("record", "-d", 0.01, "-o", "%t.txt", it.pid, cwd=tmp_path).expect()
    made = sorted(os.listdir(tmp_path))
    assert len(made) == 9
    assert all(re.fullmatch(rf"(dnprof-{it.pid}-)?\d{{8}}-\d{{6}}(\.\d)?\.(dnp|txt)", name) for name in made), made
