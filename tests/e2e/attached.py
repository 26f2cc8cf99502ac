# SPDX-License-Identifier: MIT
"""Attaches the agent to a process, records, detaches; and looks at what the process has, before and after.

Speaks to the runtime's diagnostics server and to the agent itself, without the command line: so a cycle takes
no longer than it must, and no other program of ours is in the way.
"""
import array
import dataclasses
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

import harness
from harness import AGENT, PATIENCE_S, ROOT

CLSID = uuid.UUID(re.search(r'DNP_CLSID_AGENT_TEXT\s+"\{([^}]+)\}"', (ROOT / "src/clr/guid.h").read_text())[1])

#: format/control.h
MAGIC, VERSION = 0x43504e44, 2
DONE, ERROR, END, START, STOP, FLUSH, STATUS, DETACH = 2, 3, 4, 5, 6, 7, 8, 9
HOLD, DETACH_TOO = 1, 2  # of START
OWN = 1                   # of DETACH
HEAD = struct.Struct("<IHHII")

#: Signals that profilers of any kind use; for others, as SIGCONT, the runtime installs handlers when it needs them.
SIGNALS = sum(1 << number - 1 for number in (signal.SIGSEGV, signal.SIGIO, signal.SIGPROF, signal.SIGRTMIN))

#: Of CPU time: a program is up, and does what it does.
WARM_S = 2


class Refused(Exception):
    """The process, or the agent in it, answered with an error."""

    def __init__(self, value, text=""):
        super().__init__(f"{value:#x} {text}")
        self.value, self.text = value, text


class Gone(Exception):
    """The process ended, or its socket did."""


def start_ticks(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        raise Gone from None


def folder_of(pid):
    """Where its sockets lie."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        raise Gone from None
    return next((v[7:].decode() for v in variables if v.startswith(b"TMPDIR=")), "/tmp")


def connect(pid, name, kind):
    s = socket.socket(socket.AF_UNIX, kind)
    s.settimeout(PATIENCE_S)
    try:
        s.connect(f"{folder_of(pid)}/{name}-{pid}-{start_ticks(pid)}-socket")
    except (FileNotFoundError, ConnectionError):
        s.close()
        raise Gone from None
    except BaseException:
        s.close()
        raise
    return s


def attach(pid, data=b"", library=AGENT, clsid=CLSID, timeout_ms=PATIENCE_S * 1000):
    """AttachProfiler of the diagnostics server."""
    path = (str(library) + "\0").encode("utf-16-le")
    payload = (struct.pack("<I", timeout_ms) + clsid.bytes_le + struct.pack("<I", len(path) // 2) + path
               + struct.pack("<I", len(data)) + data)
    with connect(pid, "dotnet-diagnostic", socket.SOCK_STREAM) as s:
        try:
            s.sendall(struct.pack("<14sHBBH", b"DOTNET_IPC_V1\0", 20 + len(payload), 3, 1, 0) + payload)
            answer = b""
            while len(answer) < 24 and (more := s.recv(1024)):
                answer += more
        except ConnectionError:
            raise Gone from None
    if len(answer) < 24:
        raise Gone
    result = struct.unpack_from("<I", answer, 20)[0]
    if answer[16] != 0xff or answer[17] or result:
        raise Refused(result)


def listen(pid):
    """A session of events for somebody else (CollectTracing), which goes on until what is returned is closed."""
    provider = "Nobody's\0"
    payload = (struct.pack("<IIIQII", 1, 1, 1, 1, 4, len(provider)) + provider.encode("utf-16-le") + struct.pack("<I", 0))
    s = connect(pid, "dotnet-diagnostic", socket.SOCK_STREAM)
    s.sendall(struct.pack("<14sHBBH", b"DOTNET_IPC_V1\0", 20 + len(payload), 2, 2, 0) + payload)
    answer = s.recv(20, socket.MSG_WAITALL)
    if answer[16:18] == b"\xff\0":
        return s
    with s:
        raise Refused(struct.unpack("<I", s.recv(4))[0])


def wait_for_the_runtime(pid):
    """Until it has seen to all requests that came before: it takes them one by one."""
    with connect(pid, "dotnet-diagnostic", socket.SOCK_STREAM) as s:
        s.sendall(struct.pack("<14sHBBH", b"DOTNET_IPC_V1\0", 20, 4, 0, 0))  # who it is
        if not s.recv(1024):
            raise Gone


class Agent:
    """A connection to the agent in a process; one request, or more while it holds a recording."""

    def __init__(self, pid):
        self.socket = connect(pid, "dnprof", socket.SOCK_SEQPACKET)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, kind, value=0, text="", fd=None):
        """(value, text, descriptor or None)."""
        packet = HEAD.pack(MAGIC, VERSION, kind, value, len(text)) + text.encode()
        rights = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        try:
            self.socket.sendmsg([packet], rights)
            return self.answer()
        except ConnectionError:
            raise Gone from None

    def answer(self):
        packet, rights, _, _ = self.socket.recvmsg(65536, 256, socket.MSG_CMSG_CLOEXEC)
        fds = array.array("i")
        for _, _, data in rights:
            fds.frombytes(data)
        if not packet:
            raise Gone
        _, _, kind, value, n = HEAD.unpack_from(packet)
        text = packet[HEAD.size:HEAD.size + n].decode()
        if kind == ERROR:
            raise Refused(value, text)
        return value, text, fds[0] if fds else None


def ask(pid, kind, value=0, text="", fd=None):
    with Agent(pid) as agent:
        return agent.ask(kind, value, text, fd)


def is_loaded(pid):
    """Whether our library, or a copy of it, is mapped."""
    try:
        return "/libdnprof" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        raise Gone from None


@dataclasses.dataclass
class Times:
    """Of a cycle, in milliseconds."""
    attach: float = 0  # until the runtime has answered
    start: float = 0   # until samples are taken
    stop: float = 0    # until the recording is whole
    detach: float = 0  # until the agent has answered
    unload: float = 0  # from the question until the library is gone


def ms_since(begin):
    return (time.monotonic() - begin) * 1000


def cycle(pid, out, seconds=0.2, options="event=cpu;interval_ns=1000000"):
    """One life of the agent in the process, with a recording into the file OUT; returns its Times."""
    times = Times()
    begin = time.monotonic()
    attach(pid)
    times.attach = ms_since(begin)
    with open(os.open(out, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "rb") as file:
        begin = time.monotonic()
        ask(pid, START, 0, options, file.fileno())
        times.start = ms_since(begin)
    time.sleep(seconds)
    begin = time.monotonic()
    _, _, fd = ask(pid, STOP)
    os.close(fd)
    times.stop = ms_since(begin)
    begin = time.monotonic()
    ask(pid, DETACH)
    times.detach = ms_since(begin)
    while is_loaded(pid):
        if time.monotonic() - begin > PATIENCE_S:
            raise AssertionError(f"the library is still in process {pid}")
        time.sleep(0.005)
    times.unload = ms_since(begin)
    return times


class Impostor:
    """A process that is asked, and answers what a test wants. With a LIBRARY it has that, and no socket until `show_up`."""

    def __init__(self, tmp_path, answer, library=None):
        waits = (f"import mmap; m = mmap.mmap(os.open({str(library)!r}, os.O_RDONLY), 0, prot=mmap.PROT_READ)\n"
                 "print('mapped', flush=True); sys.stdin.readline()\n")
        code = ("import os, socket, sys\n"
                f"{waits if library else ''}"
                "ticks = open('/proc/self/stat').read().rpartition(')')[2].split()[19]\n"
                "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                "s.bind(f\"{os.environ['TMPDIR']}/dnprof-{os.getpid()}-{ticks}-socket\")\n"
                "s.listen()\n"
                "print('ready', flush=True)\n"
                "c, _ = s.accept()\n"
                "packet = c.recv(512)\n"
                f"{answer}\n")
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "TMPDIR": str(tmp_path)})
        self.process.stdout.readline()

    def __enter__(self):
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def show_up(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"ready\n"


#: What the runtime makes by itself, when and as it likes.
RUNTIMES = re.compile(r"\.NET |dotnet-")


@dataclasses.dataclass
class Footprint:
    """What a process has."""
    threads: list
    descriptors: list
    maps: int
    rss_kb: int
    handlers: int
    timers: str
    files: list

    @classmethod
    def of(cls, pid):
        proc = Path(f"/proc/{pid}")
        try:
            status = (proc / "status").read_text()
            threads, descriptors = [], []
            for task in (proc / "task").iterdir():
                try:
                    threads.append((task / "comm").read_text().strip())
                except OSError:
                    pass
            for link in (proc / "fd").iterdir():
                try:
                    descriptors.append(re.sub(r"\d+", "N", os.readlink(link)))
                except OSError:
                    pass
            return cls(sorted(threads), sorted(descriptors), len((proc / "maps").read_text().splitlines()),
                       int(re.search(r"RssAnon:\s+(\d+)", status)[1]), int(re.search(r"SigCgt:\s+(\w+)", status)[1], 16),
                       (proc / "timers").read_text(),
                       sorted(p.name for p in Path(folder_of(pid)).glob(f"dnprof-{pid}-*")))
        except (OSError, TypeError):
            raise Gone from None

    def own(self):
        """What of it is ours, by name: nothing should be."""
        return ([t for t in self.threads if t.startswith("dnprof")]
                + [d for d in self.descriptors if "dnprof" in Path(d).name or "perf_event" in d]
                + self.files + ([self.timers] if self.timers else []))

    def check(self, first):
        """Nothing is left of us since FIRST."""
        assert not self.own(), self.own()
        assert not (self.handlers ^ first.handlers) & SIGNALS, f"signals {self.handlers ^ first.handlers:#x}"


class Running:
    """A program that has been running for a while."""

    def __init__(self, argv, warm=WARM_S, env=None):
        # A folder of its own, so that all sockets in it are its; of a short name, since the runtime cuts long ones.
        self.temporary = tempfile.TemporaryDirectory(dir="/tmp")
        self.folder = Path(self.temporary.name)
        self.started = harness.start(argv, env={"TMPDIR": str(self.folder), **(env or {})})
        self.warm = warm

    def __enter__(self):
        self.started.__enter__()
        self.pid = self.started.process.pid
        try:
            harness.wait_for(lambda: list(self.folder.glob("dotnet-diagnostic-*")), "the runtime")
            harness.warm_up(self.pid, self.warm)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        self.started.__exit__(*error)
        self.temporary.cleanup()

    def wait_until_ready(self, when):
        """For it to stand and wait for the file WHEN."""
        harness.wait_for(when.with_name(when.name + ".ready").exists, "the program")

    def record_when_told(self, events, out, when, what, detach=False):
        """Attaches and records EVENTS of all that the program does from the moment that the file WHEN is there until it
        says that WHAT is over; its result when it has ended."""
        self.wait_until_ready(when)
        harness.dnprof("attach", self.pid).expect()
        harness.dnprof("start", "-e", events, "-o", out, self.pid).expect()
        when.touch()
        harness.wait_for(when.with_name(when.name + ".done").exists, what)
        harness.dnprof("stop", self.pid).expect()
        if detach:
            harness.dnprof("detach", self.pid).expect()
        when.unlink()
        return self.started.end().expect()


class Cycles:
    """Attaches, records, detaches until the program ends by itself, or LIMIT times; judges what it was and had.

    LOOK(pid) tells of a process that is not as it should be, before it is killed.
    """

    def __init__(self, out, argv, options="event=cpu;interval_ns=1000000", seconds=0.2, limit=None,
                 look=lambda pid: ""):
        self.times, self.prints, self.result = [], [], None
        with Running(argv, 1) as running:
            self.pid = running.pid
            try:
                self.first = Footprint.of(self.pid)
                while limit is None or len(self.times) < limit:
                    self.times.append(cycle(self.pid, out, seconds, options))
                    self.prints.append(Footprint.of(self.pid))
                    self.prints[-1].check(self.first)
            except (Gone, Refused):
                # It ends: it must be by itself, with the right result.
                try:
                    self.result = running.started.end().expect()
                except harness.Hung as e:
                    raise harness.Hung(f"it goes on, but does not answer\n{look(self.pid)}\n{e}") from e
            except (AssertionError, TimeoutError) as e:
                raise type(e)(f"{e}, in cycle {len(self.times) + 1}\n{look(self.pid)}") from e
