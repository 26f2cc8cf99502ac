# SPDX-License-Identifier: MIT
"""dnprof stack: what all threads of a process do now, whatever state it is in; and its socket, which serves its
own user and root, takes no harm from anybody, and leaves no trace."""
import array
import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

import attached
import harness

from attached import Impostor
from harness import (DNPROF, NEWEST, NOBODY, PATIENCE_S, SCALE, dnprof, is_sequence, needs_other_user, plain, program, report, samples_of, start, stop_all, wait_for,
                     wait_for_samples)

#: docs: format/control.h
MAGIC, VERSION, STACK, DONE, ERROR = 0x43504e44, 2, 1, 2, 3
HEAD = struct.Struct("<IHHII")



def start_ticks(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def socket_path(pid, folder="/tmp"):
    return Path(folder, f"dnprof-{pid}-{start_ticks(pid)}-socket")


class Stacks:
    """`dnprof stack --json` with the questions that tests ask."""

    def __init__(self, text):
        self.data = json.loads(text)
        self.threads = self.data["threads"]

    def named(self, name):
        """The threads whose name matches all of this expression."""
        return [t for t in self.threads if re.fullmatch(name, t["name"])]

    def one(self, name):
        threads = self.named(name)
        assert len(threads) == 1, (name, [t["name"] for t in self.threads])
        return threads[0]


def names(thread):
    """Names of a thread's frames, the outermost first."""
    return [f["name"] for f in reversed(thread["frames"])]


def has(thread, *methods):
    return is_sequence(names(thread), *methods)


def stack(pid, *options):
    return Stacks(dnprof("stack", "--json", "--timeout", PATIENCE_S, *options, pid).expect().stdout)


class Ended(AssertionError):
    """The program, before it could be asked."""


def wait_for_answer(pid):
    """Until the process can be asked; says what kept it from that where it never could, or has ended."""
    end = time.monotonic() + PATIENCE_S
    while (asked := dnprof("stack", "--timeout", 60, pid)).status:
        program = harness.command_line(pid)
        if not program:
            raise Ended(f"the program has ended before it could be asked: {asked}")
        assert time.monotonic() < end, f"waited {PATIENCE_S} s in vain for {program!r}: {asked}"
        time.sleep(0.02)


@contextlib.contextmanager
def running(tmp_path, argv, *options, env=None):
    """Runs a program under dnprof; gives (dnprof, pid of the program) once it can be asked."""
    temporary = {"TMPDIR": str(tmp_path), **(env or {})}
    with start([DNPROF, "run", "-q", *options, "-o", tmp_path / "out.dnp", "--", *argv], env=temporary) as run:
        pid = run.child(Path(argv[0]).name)
        wait_for_answer(pid)
        yield run, pid


def stacks_when(pid, ready, what):
    """The stacks as soon as they are what the test is about."""
    def look():
        stacks = stack(pid)
        return stacks if ready(stacks) else None
    return wait_for(look, what)


def while_they_sleep(tmp_path, tfm, look, *options):
    """What LOOK(pid) gives of the program `sleepers` while its threads sleep; then it ends by itself, and says whether one of
    them was cut short. Where it had ended before, busy as the machine was, it runs for longer."""
    for seconds in (6, 24, 96):
        seen = None
        with contextlib.suppress(Ended), running(tmp_path, program(tfm, "sleepers", "--seconds", seconds), *options) as (run, pid):
            try:
                seen = look(pid)
            except AssertionError:
                if seconds == 96 or harness.command_line(pid):
                    raise
            run.end().expect()
        if seen:
            return seen
    raise Ended("the sleepers, each time before they could be asked")


def waits(thread, *methods):
    return thread["state"] == "waiting" and has(thread, *methods)


# ---- What it shows

def test_deadlock(tmp_path, tfm):
    def stuck(stacks):
        threads = stacks.named("stuck-(left|right)")
        return len(threads) == 2 and all(waits(t, "Truth.Deadlock.TakeSecond") for t in threads)

    with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests")) as (_, pid):
        stacks = stacks_when(pid, stuck, "a deadlock")
        for thread in stacks.named("stuck-(left|right)"):
            assert thread["call"] == "futex" and not thread["missing"]
            assert thread["frames"][0]["kind"] == "native"
            frame = next(f for f in thread["frames"] if plain(f["name"]) == "Truth.Deadlock.TakeSecond")
            assert (frame["kind"], frame["module"]) == ("managed", "truth.dll")
        assert stacks.data["pid"] == pid and stacks.data["runtime"].startswith(tfm[3:].split(".")[0])
        text = dnprof("stack", "--native", "none", "--threads", pid).expect().out
        assert re.search(r'Thread \d+ "stuck-left", waiting in futex\n(?:  .*\n)*?'
                         r'  Truth\.Deadlock\.TakeSecond\(object\)  truth\.dll\n', text), text
        assert not re.search(r"^  lib", text, re.M), text


def is_suspended(stacks):
    """Of the program `endless`: its collection has begun, and waits."""
    return all(any(has(t, method) for t in stacks.named(name)) for name, method in
               [("deaf", "Truth.Endless.Deaf"), ("collector", "System.GC.Collect")])


def test_runtime_suspended(tmp_path, tfm):
    """A collection waits for a loop that cannot be stopped; all others stand still, or cannot even begin."""
    with running(tmp_path, program(tfm, "endless", "--seconds", 600)) as (_, pid):
        stacks = stacks_when(pid, is_suspended, "a collection that waits")
        assert has(stacks.one("deaf"), "Truth.Endless.Deaf", re.compile("libtruth_.*!truth_burn"))
        assert stacks.one("deaf")["state"] == "running"
        time.sleep(1)
        stacks_when(pid, is_suspended, "the same a second later")


def test_suspended_runtime_is_recorded(tmp_path):
    """It lists no threads then: only sources that know threads by their ThreadID would wait for that."""
    with attached.Running(program(NEWEST, "endless", "--seconds", 600), 0) as it:
        # It stays: no agent can be unloaded once the collection has begun.
        dnprof("attach", it.pid).expect()
        stacks_when(it.pid, is_suspended, "a collection that waits")
        for event in ("cpu", "wall"):
            out = tmp_path / f"{event}.dnp"
            dnprof("record", "-q", "-e", event, "-d", 1, "--timeout", 60 * SCALE, "-o", out, it.pid).expect()
            assert report(out).total("Truth.Endless.Deaf") > 0
            assert is_suspended(stack(it.pid))


def test_sleepers(tmp_path, tfm):
    """Two hundred threads asleep in ten ways; each that is cut short by EINTR ends the program with status 1."""
    asleep = {"sleep": "Truth.Sleepers.Sleep", "wait": "Truth.Sleepers.Wait", "event": "Truth.Sleepers.Event",
              "task": "Truth.Sleepers.Task", "accept": "Truth.Sleepers.Accept",
              **dict.fromkeys(["nanosleep", "poll", "epoll", "select", "sem"], "Truth.Sleepers.Natively")}

    def all_asleep(stacks):
        # A nap is over now and then; the others sleep until the end.
        return all(len([t for t in stacks.named(rf"{kind}-\d+") if has(t, method)
                        and (t["state"] == "waiting" or kind not in ("wait", "event", "task", "accept"))]) == 20
                   for kind, method in asleep.items())

    def look(pid):
        return (stacks_when(pid, all_asleep, "200 sleepers"), dnprof("stack", pid).expect().out,
                dnprof("stack", "--threads", pid).expect().out)

    stacks, text, each = while_they_sleep(tmp_path, tfm, look)
    assert not any(t["missing"] for t in stacks.named(r"(wait|event|task|accept)-\d+"))
    group = re.search(r"^×(\d+) threads, waiting in \w+: (.*(?:\n    .*)*)", text, re.M)
    assert group and group[2].count('"') == 2 * int(group[1]), text
    assert len(re.findall(r"^Thread \d+", each, re.M)) >= 200


def test_recording_goes_on(tmp_path, tfm):
    """Samples are taken before stacks are asked for, between, and afterwards."""
    methods = harness.run(program(tfm, "cpu", "--seconds", 0.2)).expect().truth["methods"]
    with running(tmp_path, program(tfm, "cpu", "--seconds", 600), "-F", 997) as (run, pid):
        for _ in range(10):
            wait_for_samples(pid, samples_of(pid) + 100)
            stack(pid)
        wait_for_samples(pid, samples_of(pid) + 100)
        dnprof("stop", pid).expect()
        os.kill(pid, signal.SIGTERM)
        run.end().expect(128 + signal.SIGTERM)
    recorded = report(tmp_path / "out.dnp")
    recorded.check_few_lost()
    assert methods
    for method in methods:
        assert recorded.total(method) > 0


def test_names_of_threads_are_whole(tmp_path):
    """The system keeps fifteen bytes of a thread's name, the runtime all of it."""
    with running(tmp_path, program(NEWEST, "sleepers", "--seconds", 600)) as (_, pid):
        stacks_when(pid, lambda s: len(s.named(r"nanosleep-\d+")) == 20, "names")


def test_after_the_recording(tmp_path):
    """The agent can be asked as long as the program runs."""
    with running(tmp_path, program(NEWEST, "deadlock", "--seconds", 600, "--rests"), "-d", 0.2) as (run, pid):
        wait_for(lambda: dnprof("report", tmp_path / "out.dnp").status == 0, "the recording's end")
        stacks_when(pid, lambda s: any(has(t, "Truth.Deadlock.TakeSecond") for t in s.named("stuck-left")),
                    "a deadlock")
        os.kill(pid, signal.SIGTERM)
        run.end().expect(128 + signal.SIGTERM)
    assert not list(tmp_path.glob("dnprof-*"))


def test_profiler_is_not_shown(tmp_path):
    with running(tmp_path, program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as (_, pid):
        assert not [t for t in stack(pid).threads if "dnprof" in t["name"]]


def test_native_frames_as_wanted(tmp_path):
    with running(tmp_path, program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as (_, pid):
        stacks_when(pid, lambda s: any(waits(t, "Truth.Deadlock.TakeSecond") for t in s.named("stuck-left")),
                    "a deadlock")
        kinds = {which: [f["kind"] for f in stack(pid, "--native", which).one("stuck-left")["frames"]]
                 for which in ("all", "leaf", "none")}
        assert kinds["all"][0] == kinds["all"][-1] == "native"
        assert kinds["leaf"][0] == "native" and kinds["leaf"][-1] == "managed"
        assert set(kinds["none"]) == {"managed"}


# ---- Its socket

def test_socket_is_private_and_goes(tmp_path, tfm):
    with running(tmp_path, program(tfm, "deadlock", "--seconds", 600, "--rests")) as (run, pid):
        status = socket_path(pid, tmp_path).lstat()
        assert stat.S_ISSOCK(status.st_mode)
        assert stat.S_IMODE(status.st_mode) == 0o600
        os.kill(pid, signal.SIGTERM)
        run.end().expect(128 + signal.SIGTERM)
    assert not list(tmp_path.glob("dnprof-*"))


def test_socket_of_a_killed_program_goes(tmp_path):
    with running(tmp_path, program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as (run, pid):
        os.kill(pid, signal.SIGKILL)
        run.end()
    assert not list(tmp_path.glob("dnprof-*"))


def test_socket_of_a_killed_child_goes(tmp_path):
    """It lay where the child's TMPDIR led, which the program had set."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    argv = program(NEWEST, "deadlock", "--seconds", 600, "--rests")
    with start([DNPROF, "run", "-q", "--children", "-o", tmp_path / "out.dnp", "--",
                "/usr/bin/env", f"TMPDIR={tmp_path / 'link'}", *argv], env={"TMPDIR": str(tmp_path)}) as run:
        wait_for(lambda: list(tmp_path.glob("elsewhere/dnprof-*-socket")), "a socket")
        pid = int(next(tmp_path.glob("elsewhere/dnprof-*-socket")).name.split("-")[1])
        wait_for_answer(pid)
        os.kill(pid, signal.SIGKILL)
        run.end().expect(128 + signal.SIGKILL)
    assert not list(tmp_path.glob("elsewhere/dnprof-*-socket"))


def test_stale_socket_is_replaced(tmp_path):
    """One of the same name, of a process that has died: here the program's own id, before it became what it is."""
    script = tmp_path / "stale.py"
    script.write_text("import os, socket, sys\n"
                      "ticks = open('/proc/self/stat').read().rpartition(')')[2].split()[19]\n"
                      "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                      "s.bind(f\"{os.environ['TMPDIR']}/dnprof-{os.getpid()}-{ticks}-socket\")\n"
                      "s.close()\n"
                      "os.execv(sys.argv[1], sys.argv[1:])\n")
    argv = program(NEWEST, "deadlock", "--seconds", 600, "--rests")
    with start([DNPROF, "run", "-q", "--children", "-o", tmp_path / "out.dnp", "--", "/usr/bin/python3", script, *argv],
               env={"TMPDIR": str(tmp_path)}) as run:
        wait_for(lambda: list(tmp_path.glob("dnprof-*-socket")), "a socket")
        pid = int(next(tmp_path.glob("dnprof-*-socket")).name.split("-")[1])
        wait_for_answer(pid)
        os.kill(pid, signal.SIGTERM)
        run.end().expect(128 + signal.SIGTERM)
    assert not list(tmp_path.glob("dnprof-*-socket"))


@pytest.mark.parametrize("ended", [signal.SIGTERM, signal.SIGKILL])
def test_long_folder(tmp_path, ended):
    """An address of a socket holds 107 bytes of path, TMPDIR may have more."""
    folder = tmp_path / ("x" * 200) / ("y" * 200)
    folder.mkdir(parents=True)
    with running(tmp_path, program(NEWEST, "deadlock", "--seconds", 600, "--rests"), env={"TMPDIR": str(folder)}) as (run, pid):
        assert socket_path(pid, folder).is_socket()
        os.kill(pid, ended)
        run.end().expect(128 + ended)
    assert not list(folder.glob("dnprof-*"))


@needs_other_user
def test_other_users_are_refused(tmp_path):
    with running(tmp_path, program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as (_, pid):
        as_nobody = harness.run([*NOBODY, DNPROF, "stack", pid])
        assert as_nobody.expect(1).complaints() == [
            f"dnprof: cannot ask process {pid}: it belongs to another user; ask as the user that it runs as, "
            "or as root"]


@pytest.fixture
def open_folder():
    """One that all users can reach, unlike tmp_path."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


@needs_other_user
def test_peer_is_checked(open_folder):
    """Also where the file would let him in."""
    with running(open_folder, program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as (_, pid):
        path = socket_path(pid, open_folder)
        path.chmod(0o666)
        code = ("import socket\n"
                "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(60)\n"
                f"s.connect({str(path)!r})\n"
                "print(s.recv(512)[16:].decode())\n")
        answer = harness.run([*NOBODY, "/usr/bin/python3", "-c", code]).expect().out
        assert answer.startswith("it belongs to another user")
        stack(pid)


@needs_other_user
def test_root_may_ask(open_folder):
    argv = [*NOBODY, DNPROF, "run", "-q", "-o", open_folder / "out.dnp", "--",
            *program(NEWEST, "deadlock", "--seconds", 600, "--rests")]
    with start(argv, env={"TMPDIR": str(open_folder), "HOME": str(open_folder)}) as run:
        wait_for(lambda: list(open_folder.glob("dnprof-*-socket")), "a socket")
        pid = int(next(open_folder.glob("dnprof-*-socket")).name.split("-")[1])
        assert os.stat(f"/proc/{pid}").st_uid == 65534
        wait_for_answer(pid)


def connect(pid, folder):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = str(socket_path(pid, folder))
    connection.connect(path)  # waits, where many come at once
    connection.settimeout(PATIENCE_S)
    return connection


def request(kind=STACK, value=60000, text=b"", magic=MAGIC, version=VERSION, length=None):
    return HEAD.pack(magic, version, kind, value, len(text) if length is None else length) + text


def pass_file(connection, packet, *files):
    connection.sendmsg([packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])


def refusal(connection):
    """What is answered; and that is the end of it."""
    magic, _, kind, value, n = HEAD.unpack_from(packet := connection.recv(1024))
    assert (magic, kind) == (MAGIC, ERROR) and len(packet) == HEAD.size + n
    with contextlib.suppress(ConnectionResetError):  # where more was sent than was read
        assert connection.recv(1) == b""
    return value, packet[HEAD.size:].decode()


def descriptors(pid):
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(os.readlink(link))
    return found


def test_garbage(tmp_path):
    """Whatever comes, the next one is answered, and no descriptor stays."""
    with running(tmp_path, program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as (_, pid), \
            open(tmp_path / "file", "wb") as plain_file, open("/dev/full", "wb") as device:
        stack(pid)
        for packet in (b"x", bytes(600), os.urandom(512), request(kind=99), request(kind=DONE),
                       request(length=1 << 31), request(magic=1), request(text=b"\n")):
            with connect(pid, tmp_path) as connection:
                connection.send(packet)
                assert "not understood" in refusal(connection)[1]
        with connect(pid, tmp_path) as connection:
            connection.send(request(version=VERSION + 1))
            value, text = refusal(connection)
            assert value == 93 and "the agent in it is dnprof" in text  # EPROTONOSUPPORT
        reader, writer = os.pipe()
        given = {os.readlink(f"/proc/self/fd/{fd}") for fd in (plain_file.fileno(), device.fileno(), writer)}
        # No descriptor, one to a file on a disk, to a device, to a pipe that nobody reads; too many.
        for files in ([], [plain_file.fileno()], [device.fileno()], [writer], [writer] * 5, [writer] * 100):
            with connect(pid, tmp_path) as connection:
                pass_file(connection, request(), *files) if files else connection.send(request())
                assert "no file in memory" in refusal(connection)[1]
        sealed = os.memfd_create("sealed", os.MFD_ALLOW_SEALING)
        given.add(os.readlink(f"/proc/self/fd/{sealed}"))
        fcntl.fcntl(sealed, 1033, 0x8)  # F_ADD_SEALS, F_SEAL_WRITE
        with connect(pid, tmp_path) as connection:
            pass_file(connection, request(), sealed)
            assert refusal(connection)[0] == 1  # EPERM
        os.close(sealed), os.close(reader), os.close(writer)
        stack(pid)
        wait_for(lambda: not given & set(descriptors(pid)), "descriptors to be closed")
        assert plain_file.tell() == 0


def test_clients_that_die_or_are_silent(tmp_path):
    with running(tmp_path, program(NEWEST, "sleepers", "--seconds", 600)) as (_, pid):
        silent = [connect(pid, tmp_path) for _ in range(20)]
        for _ in range(20):
            with connect(pid, tmp_path) as connection:
                memory = os.memfd_create("dump")
                pass_file(connection, request(), memory)
                os.close(memory)
        stack(pid)
        # Who says nothing does not stay connected for ever.
        for connection in silent:
            assert connection.recv(512) == b""
            connection.close()


def test_no_time_left(tmp_path):
    with running(tmp_path, program(NEWEST, "sleepers", "--seconds", 600)) as (_, pid), \
            connect(pid, tmp_path) as connection:
        memory = os.memfd_create("dump")
        pass_file(connection, request(value=0), memory)
        os.close(memory)
        assert refusal(connection)[0] == 125  # ECANCELED


def test_many_at_once(tmp_path):
    """Some are told that it took too long for them where the machine is slow, but not here."""
    results = []
    with running(tmp_path, program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as (_, pid):
        wait_for(lambda: stack(pid).named("stuck-left"), "its threads")
        threads = [threading.Thread(target=lambda: results.append(dnprof("stack", "--json", "--timeout", PATIENCE_S, pid)))
                   for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for result in results:
        assert Stacks(result.expect().stdout).one("stuck-left")
    assert len(results) == 6


# ---- Why it cannot

def complaint(pid, *options):
    lines = dnprof("stack", *options, pid).expect(1).complaints()
    assert len(lines) == 1
    return lines[0]


def test_no_such_process():
    assert "there is no such process" in complaint(2 ** 22 + 1)


def test_usage():
    for words in ([], ["1", "2"], ["x"], ["0"], ["-1"], ["--timeout", "x", "1"], ["--native", "x", "1"]):
        dnprof("stack", *words).expect(2)


def test_ended_process():
    with subprocess.Popen(["true"]) as ended:
        wait_for(lambda: Path(f"/proc/{ended.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z", "its end")
        assert "it has ended" in complaint(ended.pid)


def test_thread_is_no_process():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert f"that is a thread of process {os.getpid()}" in complaint(thread.native_id)
    finally:
        done.set()
        thread.join()


def test_not_dotnet():
    with start(["sleep", "600"]) as sleep:
        assert "no .NET runtime was seen in it" in complaint(sleep.process.pid)


def test_no_agent(tmp_path, tfm):
    """It is brought there for the moment."""
    with start(program(tfm, "deadlock", "--seconds", 600, "--rests"), env={"TMPDIR": str(tmp_path)}) as alone:
        pid = alone.process.pid
        wait_for(lambda: are_stuck(pid), "the threads")
        assert are_stuck(pid)
        wait_for(lambda: "libdnprof.so" not in Path(f"/proc/{pid}/maps").read_text(), "the agent to leave")
        assert not list(tmp_path.glob("dnprof-*"))


WAYS_BELOW = {"dynamic": "Dynamic", "compiled": "Compiled", "multicast": "Multicast", "inward": "Inward"}


def test_below_generated_code(tmp_path, tfm):
    """Dynamic methods and stubs that were compiled before the agent came."""
    when = tmp_path / "when"
    with attached.Running(program(tfm, "below", "--when", when), 0) as it:
        it.wait_until_ready(when)
        stacks = stack(it.pid)
        when.touch()
        it.started.end().expect()
    for way, method in WAYS_BELOW.items():
        thread = stacks.one(f"below-{way}")
        assert not thread["missing"] and has(thread, f"Truth.Below.{method}", "Truth.Below.Park"), (thread["missing"], names(thread))


def are_stuck(pid):
    """Both, that is: one is there before the other, and neither waits at once."""
    stacks = stack(pid).named("stuck-(left|right)")
    return len(stacks) == 2 and all(waits(t, "Truth.Deadlock.TakeSecond") for t in stacks)


def test_socket_was_removed(tmp_path):
    """And something else has its name, so that the agent cannot make another."""
    with running(tmp_path, program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as (_, pid):
        (tmp_path / "else").touch()
        (tmp_path / "else").replace(socket_path(pid, tmp_path))
        assert "has no socket in its TMPDIR" in complaint(pid)


def test_socket_of_another(tmp_path):
    """Somebody sits where the process's own socket should be."""
    with start(["sleep", "600"], env={"TMPDIR": str(tmp_path)}) as victim, \
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as trap:
        wait_for(lambda: harness.command_line(victim.process.pid).startswith("sleep"), "sleep")
        trap.bind(str(socket_path(victim.process.pid, tmp_path)))
        trap.listen()
        assert "its socket was made by another process" in complaint(victim.process.pid)


@pytest.mark.parametrize("answer, words", [
    (f"c.send({request(DONE, version=VERSION + 1)!r})", "the agent in it is of another version"),
    ("c.send(b'garbage')", "the agent in it is of another version"),
    (f"c.send({request(ERROR, 5, b'for a reason; do that')!r})", "for a reason; do that"),
    (f"c.send({request(DONE, 0)!r})", "nothing was recorded"),
    ("c.close(); import time; time.sleep(600)", "its agent ended the connection"),
    ("pass", r"it ended meanwhile|its agent ended the connection"),
    ("import time; time.sleep(600)", "no answer within 0.5 s"),
])
def test_what_may_be_answered(tmp_path, answer, words):
    with Impostor(tmp_path, answer) as pid:
        assert re.search(words, complaint(pid, "--timeout", 0.5 if "0.5" in words else 60))


@pytest.fixture
def library(tmp_path):
    """Something that is called as the agent is."""
    path = tmp_path / "libdnprof.so"
    path.write_bytes(bytes(4096))
    return path


def looks(pid):
    """How often a process has slept so far: dnprof does so between two looks, 10 ms each."""
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1])


def test_agent_that_comes_is_waited_for(tmp_path, library):
    """Its library is there, its socket not yet: dnprof goes on with the first look that finds it, 2 s of them are not made."""
    answer = ("while True:\n"
              f"    c.send({request(ERROR, 5, b'for a reason; do that')!r} if packet[6] == {STACK} else {request(DONE, 0)!r})\n"
              "    c, _ = s.accept()\n"
              "    packet = c.recv(512)\n")
    impostor = Impostor(tmp_path, answer, library)
    with impostor as pid, start([DNPROF, "stack", "--timeout", PATIENCE_S, pid], env={"TMPDIR": str(tmp_path)}) as asking:
        mine = asking.process.pid
        wait_for(lambda: looks(mine) > 5, "some looks")
        os.kill(mine, signal.SIGSTOP)
        wait_for(lambda: Path(f"/proc/{mine}/stat").read_text().rpartition(")")[2].split()[0] == "T", "its stop")
        before = looks(mine)
        impostor.show_up()
        os.kill(mine, signal.SIGCONT)
        _, status, usage = os.wait4(mine, 0)
        asking.process.returncode = os.waitstatus_to_exitcode(status)
        assert "for a reason; do that" in asking.end().expect(1).err
    assert usage.ru_nvcsw - before < 30


def test_agent_without_socket_is_waited_for_as_told(tmp_path, library):
    """Not the 2 s that it may take to come or to leave."""
    with Impostor(tmp_path, "", library) as pid, \
            start([DNPROF, "stack", "--timeout", 0.2, pid], env={"TMPDIR": str(tmp_path)}) as asking:
        _, status, usage = os.wait4(asking.process.pid, 0)
        asking.process.returncode = os.waitstatus_to_exitcode(status)
        assert "no .NET runtime was seen in it" in asking.end().expect(1).err
    assert usage.ru_nvcsw < 60


def test_library_that_is_kept_is_told_of(tmp_path, library):
    """The agent leaves, and has its library stay; dnprof says so, and does not wait for what does not come."""
    answer = ("while packet[6] != 9:\n"
              f"    c.send({request(DONE, 0)!r} if packet[6] == 8 else {request(ERROR, errno.ENODATA)!r})\n"
              "    c, _ = s.accept()\n"
              "    packet = c.recv(512)\n"
              "s.close()\n"
              f"c.send({request(DONE, 0)!r})\n"
              "sys.stdin.readline()")
    impostor = Impostor(tmp_path, answer, library)
    with impostor as pid:
        impostor.show_up()
        begin = time.monotonic()
        detached = dnprof("detach", "--timeout", PATIENCE_S, pid, env={"TMPDIR": str(tmp_path)})
        harness.refused(detached, 1, "stays mapped and does nothing")
        assert time.monotonic() - begin < PATIENCE_S, "it has waited until the end"


def test_stopped_and_killed(tmp_path):
    with running(tmp_path, program(NEWEST, "deadlock", "--seconds", 600, "--rests")) as (_, pid):
        stop_all(pid)
        try:
            assert "it is stopped, by a signal or a debugger" in complaint(pid, "--timeout", 0.5)
            with start([DNPROF, "stack", "--timeout", PATIENCE_S, pid]) as asking:
                wait_for(lambda: "socket:" in " ".join(descriptors(asking.process.pid)), "the question, to one that was found")
                os.kill(pid, signal.SIGKILL)
                assert "it ended meanwhile" in asking.end().expect(1).err
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def truth_in(outer):
    return next((pid for pid in harness.descendants(outer.process.pid)
                 if re.match(r"\S+/truth ", harness.command_line(pid))), None)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare")
def test_container(tmp_path):
    """Process ids, files and /tmp of its own: asked from outside."""
    script = tmp_path / "inside"
    script.write_text("#!/bin/sh\nset -e\nmount -t tmpfs none /tmp\ncd /\n"
                      f"exec '{DNPROF}' run -q -o /tmp/out.dnp -- \"$@\"\n")
    script.chmod(0o755)
    argv = ["unshare", "--pid", "--mount", "--fork", "--mount-proc", script,
            *program(NEWEST, "deadlock", "--seconds", 600, "--rests")]
    if Path("/tmp") in DNPROF.parents:
        pytest.skip("this dnprof lies in /tmp, which is hidden inside")
    with start(argv, env={"TMPDIR": "/tmp"}) as outer:
        wait_for(lambda: truth_in(outer) or outer.process.poll() is not None, "the program")
        if outer.process.poll() is not None:
            pytest.skip("no namespaces can be made here")
        pid = truth_in(outer)
        wait_for_answer(pid)
        stacks = stack(pid)
        assert stacks.data["pid"] != pid
        assert any(f["name"].startswith("libc.so.6!") and "+0x" not in f["name"]
                   for t in stacks.threads for f in t["frames"])
