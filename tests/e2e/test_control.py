# SPDX-License-Identifier: MIT
"""What the agent in a process can be asked (format/control.h): recordings that begin and end, what is refused, who
holds one, and what is left when it has gone. Asked here byte by byte, without the command line's help."""
import array
import contextlib
import json
import os
import re
import signal
import socket
import struct
import time
from pathlib import Path
from urllib.parse import unquote

import pytest

import harness

from attached import CLSID
from harness import (LOOSE, NEWEST, PATIENCE_S, allows_events, cases, cpu_seconds, dnprof, program, report, slow, start,
                     thread_names, wait_for, warm_up)

#: docs: format/control.h
MAGIC, VERSION = 0x43504e44, 2
STACK, DONE, ERROR, END, START, STOP, FLUSH, STATUS, DETACH = range(1, 10)
HOLD, HOLD_AND_DETACH = 1, 3  # of START
AWAITED = 2                   # of the answer to STOP: who began it makes of it what it is to be
OWN = 1                       # of DETACH
HEAD = struct.Struct("<IHHII")
LONGEST = 32768

#: docs: format/rec.h, enum dnp_end_reason
EXIT, STOPPED, LAUNCHER, DISK = range(1, 5)

BUSY = ("cpu", "--seconds", 600, "--rests")


class Answer:
    """A packet of the agent's."""

    def __init__(self, packet, descriptors):
        magic, version, self.kind, self.value, n = HEAD.unpack(packet[:HEAD.size])
        assert (magic, version, n) == (MAGIC, VERSION, len(packet) - HEAD.size)
        self.text = packet[HEAD.size:].decode()
        self.descriptors = descriptors

    def __repr__(self):
        return f"kind {self.kind}, value {self.value}: {self.text!r}, descriptors {self.descriptors}"

    def done(self, value=0):
        assert (self.kind, self.value) == (DONE, value), self
        return self

    def refused(self, error, *words):
        assert (self.kind, os.strerror(self.value)) == (ERROR, os.strerror(error)), self
        assert all(re.search(word, self.text) for word in words), self

    def recording(self):
        """The one descriptor that came, as a path to it."""
        assert len(self.descriptors) == 1, self
        return f"/proc/self/fd/{self.descriptors[0]}"

    @property
    def status(self):
        return {key: unquote(value) for key, value in (word.split("=") for word in self.text.split(" "))}


class Connection:
    """One to the agent in a process; None comes where it has gone."""

    def __init__(self, pid, folder):
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(f"{folder}/dnprof-{pid}-{ticks}-socket")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, kind, value=0, text="", fds=(), version=VERSION):
        packet = HEAD.pack(MAGIC, version, kind, value, len(text.encode())) + text.encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([packet], rights)

    def receive(self):
        packet, messages, _, _ = self.socket.recvmsg(LONGEST + 1, socket.CMSG_SPACE(8 * 4))
        descriptors = array.array("i")
        for _, _, data in messages:
            descriptors.frombytes(data)
        return Answer(packet, list(descriptors)) if packet else None

    def ask(self, *arguments, **more):
        self.send(*arguments, **more)
        return self.receive()


def target_of(link):
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return None


class Target:
    """A program whose agent is asked."""

    def __init__(self, pid, folder):
        self.pid, self.folder, self.files = pid, folder, 0

    def connect(self):
        return Connection(self.pid, self.folder)

    def ask(self, *arguments, **more):
        with self.connect() as connection:
            return connection.ask(*arguments, **more)

    def file(self, flags=os.O_RDWR):
        """A new empty file, and its descriptor."""
        self.files += 1
        path = self.folder / f"{self.files}.dnp"
        path.touch()
        return path, os.open(path, flags)

    def begin(self, text="event=cpu;interval_ns=1003009"):
        """Begins a recording that nobody holds; gives its file."""
        path, fd = self.file()
        self.ask(START, text=text, fds=[fd]).done()
        os.close(fd)
        return path

    @property
    def status(self):
        return self.ask(STATUS).done().status

    def wait_for_samples(self, more_than=10):
        wait_for(lambda: int(self.status.get("samples", 0)) > more_than, "samples")

    def attach(self, *options):
        dnprof("attach", "-q", "--timeout", PATIENCE_S, *options, self.pid).expect()

    def has_agent(self):
        return "libdnprof" in Path(f"/proc/{self.pid}/maps").read_text()

    def gone(self):
        wait_for(lambda: not self.has_agent(), "the library's end")

    def traces(self):
        """What an agent has to leave as it was."""
        links = [link for p in Path(f"/proc/{self.pid}/fd").glob("*") if (link := target_of(p))]
        return {
            "recordings": [link for link in links if link.endswith(".dnp")],
            "threads of ours": [name for name in thread_names(self.pid) if name.startswith("dnprof")],
            "sockets": [p.name for p in self.folder.glob("dnprof-*-socket")],
            "timers": Path(f"/proc/{self.pid}/timers").read_text(),
            "perf": [link for link in links if "perf_event" in link],
        }

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def handlers(self):
        return re.findall(r"^(Sig(?:Blk|Cgt|Ign)):\s*(\w+)", Path(f"/proc/{self.pid}/status").read_text(), re.M)


@contextlib.contextmanager
def running(tmp_path, tfm, *arguments):
    with start(program(tfm, *(arguments or BUSY)), env={"TMPDIR": str(tmp_path)}) as run:
        wait_for(lambda: list(tmp_path.glob("dotnet-diagnostic-*")), "the runtime's socket")
        target = Target(run.process.pid, tmp_path)
        target.run = run
        warm_up(target.pid, 0.5)  # it has begun its work
        yield target


@pytest.fixture
def attached(tmp_path):
    """The agent is in a program that ran before, and nothing is recorded."""
    with running(tmp_path, NEWEST) as target:
        target.attach()
        assert target.status["state"] == "attached"
        yield target


@contextlib.contextmanager
def launched(tmp_path, tfm, *options, arguments=BUSY):
    """A program that `dnprof run` records."""
    with start([harness.DNPROF, "run", "-q", *options, "-o", tmp_path / "run.dnp", "--", *program(tfm, *arguments)],
               env={"TMPDIR": str(tmp_path)}) as run:
        pid = run.child("truth")
        wait_for(lambda: list(tmp_path.glob("dnprof-*-socket")), "the agent's socket")
        target = Target(pid, tmp_path)
        target.run = run
        yield target


def has_methods(path):
    """The recording is whole, and shows the program's own methods by their names."""
    recorded = report(path)
    recorded.check_few_lost()
    assert recorded.cpu["samples"] > 0
    assert recorded.total("Truth.Cpu.Run") > 0.5 / LOOSE * recorded.threads()["truth"], path
    # The first stack that meets code which the runtime does not list ends there.
    assert recorded.incomplete() <= LOOSE * (2 + 0.01 * recorded.samples)
    return recorded


# ---- Recordings, one after another

def test_recordings_in_one_life(tmp_path, tfm):
    with running(tmp_path, tfm) as target:
        target.attach()
        status = target.status
        assert (status["state"], status["slot"], status["how"], status["detachable"]) == ("attached", "main", "attach", "yes")
        assert status["runtime"].startswith(tfm[3:].split(".")[0] + ".") and "samples" not in status
        for _ in range(3):
            path = target.begin()
            target.wait_for_samples()
            status = target.status
            assert (status["state"], status["events"], status["held"], status["awaited"]) == ("recording", "cpu", "no", "no")
            assert int(status["client"]) == os.getpid()
            assert abs(int(status["since_unix_ns"]) - time.time_ns()) < PATIENCE_S * 1e9
            assert os.path.samefile(target.ask(FLUSH).done().recording(), path)
            assert "ended" not in dnprof("report", path).err and path.stat().st_size > 0
            answer = target.ask(STOP).done()
            assert answer.text == "" and os.path.samefile(answer.recording(), path)
            has_methods(path)
            assert target.status["state"] == "attached"
        target.ask(DETACH).done()
        target.gone()


def test_all_that_was_seen_is_flushed(attached):
    """What the program has done until the request is in the file when the answer comes."""
    path = attached.begin("event=wall;interval_ns=10000000")
    seen = 0
    for _ in range(3):
        attached.wait_for_samples(seen)
        seen = int(attached.status["samples"])
        attached.ask(FLUSH).done()
        so_far = json.loads(dnprof("report", "--json", path).expect(3).stdout)  # 3: it goes on
        assert so_far["events"]["wall"]["samples"] >= seen
    attached.ask(STOP).done()


def test_methods_of_before_have_their_names(tmp_path, tfm):
    """Compiled at run time, ahead of time, and generated: all long before the agent came."""
    with running(tmp_path, tfm, "mix", "--seconds", 600) as target:
        warm_up(target.pid, 2)
        target.attach()
        path = target.begin()
        target.wait_for_samples(500)
        target.ask(STOP).done()
        target.ask(DETACH).done()
        target.gone()
    recorded = report(path)
    recorded.check_few_lost()
    assert recorded.cpu["samples"] > 100
    assert recorded.cpu["unresolved"] == 0


def test_stacks_while_nothing_is_recorded(attached):
    def text():
        return dnprof("stack", "--timeout", PATIENCE_S, attached.pid).expect().out

    wait_for(lambda: re.search(r"Truth\.Cpu\.Run.*\n(?:.*\n)*?.*Truth\.Program\.Main", text()), "the program's work")
    assert attached.status["state"] == "attached"


def test_program_started_by_dnprof(tmp_path, tfm):
    """Its own recording can be ended from outside, others follow, and the agent can leave."""
    with launched(tmp_path, tfm) as target:
        wait_for(lambda: target.status["state"] == "recording", "its recording")
        assert (target.status["how"], target.status["held"], target.status["awaited"]) == ("startup", "no", "yes")
        warm_up(target.pid, 0.5)
        target.ask(STOP).done(AWAITED)
        path = target.begin()
        target.wait_for_samples()
        target.ask(STOP).done()
        has_methods(path)
        target.ask(DETACH).done()
        target.gone()
    assert not list(tmp_path.glob("dnprof-*-socket"))


# ---- Who holds one

def test_closing_ends_it(attached):
    path, fd = attached.file()
    with attached.connect() as holder:
        holder.ask(START, HOLD, "event=cpu", fds=[fd]).done()
        attached.wait_for_samples()
        assert attached.status["held"] == attached.status["awaited"] == "yes"
        holder.ask(FLUSH).done()
        holder.ask(STATUS).done()
    wait_for(lambda: attached.status["state"] == "attached", "the recording's end")
    has_methods(path)
    assert attached.has_agent()


@pytest.mark.parametrize("stopped", [False, True], ids=["recording", "stopped"])
def test_closing_ends_all(attached, stopped):
    path, fd = attached.file()
    with attached.connect() as holder:
        holder.ask(START, HOLD_AND_DETACH, "event=cpu", fds=[fd]).done()
        attached.wait_for_samples()
        if stopped:
            holder.ask(STOP).done()
            assert attached.status["state"] == "attached"
    attached.gone()
    has_methods(path)


def test_leaving_ends_ones_own_only(attached):
    """Who brought the agent, and has it leave, ends no recording that somebody else has begun meanwhile."""
    path = attached.begin()
    attached.ask(DETACH, OWN).refused(16, "somebody else has begun a recording")
    seen = int(attached.status["samples"])
    attached.wait_for_samples(seen)
    attached.ask(STOP).done()
    has_methods(path)
    _, fd = attached.file()
    with attached.connect() as holder:
        holder.ask(START, HOLD, "event=cpu", fds=[fd]).done()
        attached.ask(DETACH, OWN).refused(16, "somebody else has begun a recording")
        assert holder.ask(DETACH, OWN).kind == END
        holder.receive().done()
    attached.gone()


def test_nobody_waits_for_it_any_more(attached):
    """Who has hung up before his recording began would not know that it did."""
    _, fd = attached.file()
    harness.stop_all(attached.pid)
    with attached.connect() as asker:
        asker.send(START, text="event=cpu", fds=[fd])
    os.kill(attached.pid, signal.SIGCONT)
    assert attached.status["state"] == "attached"
    attached.begin()
    attached.ask(STOP).done()


def test_holder_is_told(attached):
    """Another one ends what it holds: it is told once, and may go on to ask."""
    _, fd = attached.file()
    with attached.connect() as holder:
        holder.ask(START, HOLD, "event=cpu", fds=[fd]).done()
        attached.ask(STOP).done(AWAITED)
        told = holder.receive()
        assert (told.kind, told.value, told.text) == (END, STOPPED, "")
        assert holder.ask(STATUS).done().status["state"] == "attached"
        holder.ask(DETACH).done()
    attached.gone()


def test_holder_is_told_of_the_end(tmp_path):
    with running(tmp_path, NEWEST, "cpu", "--seconds", 4) as target:
        target.attach()
        path, fd = target.file()
        with target.connect() as holder:
            holder.ask(START, HOLD, "event=cpu", fds=[fd]).done()
            told = holder.receive()
            assert (told.kind, told.value) == (END, EXIT)
            assert holder.receive() is None
        target.run.end().expect()
        has_methods(path)


@pytest.mark.slow
def test_holder_is_told_of_a_full_disk(attached, small_disk):
    (small_disk / "filler").write_bytes(bytes(192 << 10))
    path = small_disk / "full.dnp"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    with attached.connect() as holder:
        holder.ask(START, HOLD, "event=cpu,wall;interval_ns=200000", fds=[fd]).done()
        told = holder.receive()
        assert (told.kind, told.value) == (END, DISK) and os.strerror(28) in told.text
        assert holder.ask(STATUS).done().status["state"] == "attached"
    os.close(fd)
    attached.begin()
    attached.ask(STOP).done()


# ---- What is refused

def test_second_recording(attached):
    attached.begin("event=cpu,wall")
    path, fd = attached.file()
    attached.ask(START, text="event=cpu", fds=[fd]).refused(
        16, rf"already recording \(cpu,wall, since \d+ s, by process {os.getpid()}\); 'dnprof stop {attached.pid}' ends it")
    assert path.stat().st_size == 0
    attached.ask(STOP).done()
    attached.ask(START, text="event=cpu", fds=[fd]).done()
    attached.ask(STOP).done()


@pytest.mark.parametrize("text, error, words", [
    ("event=trace", 95, r"CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER \(0x8013136f\); start it with 'dnprof run -e trace'"),
    slow("event=cpu,trace", 95, "CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER"),
    ("event=transition", 95, r"CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER \(0x8013136f\); start it with 'dnprof run -e transition'"),
    ("event=tea", 22, "'tea' cannot be recorded"),
    ("", 22, "says not what to record"),
    slow("event=cpu;rubbish", 22, "not understood: 'rubbish'"),
    ("event=cpu;depth=0", 22, "wrong value: 'depth=0'"),
    ("event=cpu;event=cpu", 22, "given twice"),
    slow("event=cpu;dir=/tmp", 22, "where the recording goes"),
    slow("event=cpu;session=/tmp/x", 22, "where the recording goes"),
    ("event=cpu;fd=1", 22, "where the recording goes"),
])
def test_options(attached, text, error, words):
    _, fd = attached.file()
    before = attached.traces()
    attached.ask(START, text=text, fds=[fd]).refused(error, words)
    assert attached.status["state"] == "attached" and attached.status["detachable"] == "yes"
    wait_for(lambda: attached.traces() == before, f"{before}")
    attached.begin()
    attached.ask(STOP).done()


def test_files(attached):
    read, write = os.pipe()
    _, only_read = attached.file(os.O_RDONLY)
    _, only_write = attached.file(os.O_WRONLY)
    _, good = attached.file()
    null = os.open("/dev/null", os.O_RDWR)
    before = attached.traces()
    for fds in ([], [read], [write], [only_read], [only_write], [null], [good, good]):
        attached.ask(START, text="event=cpu", fds=fds).refused(22, "no regular file")
    assert attached.status["state"] == "attached"
    wait_for(lambda: attached.traces() == before, f"{before}")


def test_nothing_to_end(attached):
    for kind in (STOP, FLUSH):
        attached.ask(kind).refused(61, "nothing is recorded")


def test_answers_are_no_requests(attached):
    for kind in (DONE, ERROR, END):
        attached.ask(kind).refused(74, "not understood")
    attached.ask(STATUS, version=VERSION + 1).refused(93, "use the dnprof of that version")


# ---- What it leaves

#: All that it may have made for a recording.
MADE = ["event=cpu,wall", "event=cpu,wall;engine=snapshot", "event=cpu;source=perf"]


@pytest.mark.parametrize("text", cases(["event=cpu", *MADE], MADE, MADE[1:]))
def test_nothing_is_left(tmp_path, tfm, text):
    with running(tmp_path, tfm) as target:
        if "source=perf" in text and not allows_events(target.pid):
            pytest.skip("perf events are not allowed here")
        warm_up(target.pid, 1)
        before, descriptors = target.traces(), target.descriptors()
        # The C library blocks signals for a moment while it makes a thread.
        wait_for(lambda: ("SigBlk", "0" * 16) in target.handlers(), "a moment without blocked signals")
        handlers = target.handlers()
        for _ in range(2):
            target.attach()
            target.begin(text)
            time.sleep(0.3)
            target.ask(DETACH).done()
            target.gone()
            assert target.traces() == before
            wait_for(lambda: target.handlers() == handlers, f"{handlers}, not {target.handlers()}")
            wait_for(lambda: target.descriptors() <= descriptors, "as many descriptors as there were")
        assert target.run.process.poll() is None


def test_hooks_stay_and_are_quiet(tmp_path, tfm):
    """What the runtime cannot take back is named by it, and does nothing any more."""
    with launched(tmp_path, tfm, "-e", "trace", arguments=("calls", "--seconds", 600)) as target:
        wait_for(lambda: target.status["state"] == "recording", "its recording")
        # The first module of the program's own brings the hooks.
        wait_for(lambda: target.status["detachable"] == "no", "the hooks")
        assert "cannot be taken back" in target.status["reason"]
        target.ask(DETACH).refused(95, r"CORPROF_E_IRREVERSIBLE_INSTRUMENTATION_PRESENT \(0x80131370\)", "quiet now")
        assert target.status["state"] == "attached" and target.has_agent()
        path = target.begin("event=cpu")
        target.wait_for_samples()
        target.ask(STOP).done()
        assert report(path).cpu["samples"] > 0


def test_attached_with_a_recording(tmp_path, tfm):
    """The client data asks for one: it goes to a file of its own in that folder."""
    out = tmp_path / "out"
    out.mkdir()
    with running(tmp_path, tfm) as target:
        target.attach("--client-data", f"dir={out};event=cpu")
        wait_for(lambda: target.status["state"] == "recording", "the recording")
        target.wait_for_samples()
        target.ask(STOP).done()
        target.ask(DETACH).done()
        target.gone()
    path, = out.iterdir()
    assert re.fullmatch(rf"{target.pid}-\d+\.dnp", path.name)
    has_methods(path)


def listens(target):
    """It has its name a moment before it does."""
    try:
        with target.connect():
            return True
    except (FileNotFoundError, ConnectionRefusedError):
        return False


def test_started_without_a_launcher(tmp_path, tfm):
    """The environment alone brought the agent: no command line waits for the recording, `stop` finishes it."""
    out = tmp_path / "out"
    out.mkdir()
    env = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{%s}" % CLSID, "CORECLR_PROFILER_PATH": str(harness.AGENT),
           "DNPROF_OPTIONS": f"dir={out};event=cpu", "TMPDIR": str(tmp_path)}
    with start(program(tfm, *BUSY), env=env) as run:
        target = Target(run.process.pid, tmp_path)
        wait_for(lambda: listens(target), "the agent")
        target.wait_for_samples()
        status = target.status
        assert (status["how"], status["client"], status["awaited"]) == ("startup", "0", "no")
        stopped = dnprof("stop", target.pid).expect()
        path, = out.iterdir()
        assert str(path) in stopped.err and "has it now" not in stopped.err
    has_methods(path)


def test_beside_the_profiler(tmp_path, tfm):
    with running(tmp_path, tfm) as target:
        target.attach("--notification")
        assert target.status["slot"] == "notification"
        path = target.begin("event=cpu,wall")
        warm_up(target.pid, cpu_seconds(target.pid) + 0.5)
        target.ask(STOP).done()
        has_methods(path)
        target.ask(DETACH).done()
        target.gone()


def test_beside_a_profiler_after_one_has_gone(tmp_path, tfm):
    """CoreCLR has lost count of its profilers then: the agent does not have itself unloaded, which ends the program."""
    with running(tmp_path, tfm) as target:
        target.attach()
        target.ask(DETACH).done()
        target.gone()
        target.attach("--notification")
        _, fd = target.file()
        target.ask(START, text="event=cpu", fds=[fd]).refused(95, "lost count")
        target.ask(DETACH).refused(95, "DNPROF_E_LOST")
        assert target.status["detachable"] == "no"
        time.sleep(0.5)
        assert target.run.process.poll() is None
