# SPDX-License-Identifier: MIT
"""`dnprof run` stands aside: arguments, descriptors, signals, the exit status go through untouched."""
import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from harness import (DNPROF, LOOSE, NEWEST, NOBODY, dnprof, let_others_in, needs_other_user, on_terminal, program, record, report,
                     run, start, wait_for, wait_for_samples)


@pytest.mark.parametrize("code", [0, 1, 2, 3, 42, 255])
def test_exit_status(tmp_path, code):
    result, _ = record(tmp_path, program(NEWEST, "exitcode", code), status=code)
    assert result.out.splitlines() == [f"leaving with {code}"]
    assert result.err == ""


def test_stdin_to_stdout(tmp_path):
    data = os.urandom(3_000_000)
    result, _ = record(tmp_path, program(NEWEST, "stdin"), stdin=data)
    assert result.stdout == data
    assert result.err.splitlines() == ["3000000 bytes"]


def test_quiet_leaves_streams_alone(tmp_path):
    """Even without -q, stdout is the program's, and nothing animated goes into a pipe."""
    argv = program(NEWEST, "exitcode", 0)
    result = dnprof("run", "-o", tmp_path / "out.dnp", "--", *argv).expect()
    assert result.out.splitlines() == ["leaving with 0"]
    assert "\r" not in result.err and "\x1b" not in result.err


def test_arguments(tmp_path):
    """Blanks, quotes, options that look like dnprof's, an empty one."""
    out = tmp_path / "out.dnp"
    arguments = ["usage", "-o", "x", "a b", 'c"d', "", "--", "$HOME", "é"]
    result = dnprof("run", "-q", "-o", out, "--", *program(NEWEST, *arguments)).expect(2)
    assert "usage: truth" in result.err
    assert report(out).data["command"][1:] == arguments


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT,
                                    signal.SIGUSR1, signal.SIGUSR2])
def test_signal_to_dnprof_reaches_the_program(tmp_path, number):
    """As with any wrapper: a supervisor that ends dnprof ends the program, in the program's own way."""
    out = tmp_path / "out.dnp"
    with start([DNPROF, "run", "-q", "-F", 997, "-o", out, "--", *program(NEWEST, "onsignal")]) as run_:
        assert run_.process.stdout.readline() == b"ready\n"
        run_.process.send_signal(number)
        assert run_.end().status == 100 + number
    assert report(out).samples > 0


def test_signal_to_the_program(tmp_path):
    with start([DNPROF, "run", "-q", "-o", tmp_path / "out.dnp", "--",
                *program(NEWEST, "onsignal")]) as run_:
        assert run_.process.stdout.readline() == b"ready\n"
        os.kill(run_.child("onsignal"), signal.SIGUSR1)
        assert run_.end().status == 100 + signal.SIGUSR1


def test_ctrl_c_of_a_terminal(tmp_path):
    """The terminal sends it to both; the program decides, once."""
    out = tmp_path / "out.dnp"
    status, screen = on_terminal([DNPROF, "run", "-q", "-F", 997, "-o", out, "--", *program(NEWEST, "onsignal")], tmp_path, {},
                                 keys=[(b"ready", b"\x03")])
    assert status == 100 + signal.SIGINT, screen
    assert report(out).samples > 0


def test_killed_by_a_signal(tmp_path):
    """A program that a signal kills gives dnprof the status a shell would give it, or the same end."""
    with start([DNPROF, "run", "-q", "-o", tmp_path / "out.dnp", "--",
                *program(NEWEST, "cpu", "--seconds", 600)]) as run_:
        pid = run_.child("cpu --seconds")
        os.kill(pid, signal.SIGTERM)
        status = run_.end().status
    alone = start(program(NEWEST, "cpu", "--seconds", 600))
    with alone:
        os.kill(alone.process.pid, signal.SIGTERM)
        expected = alone.end().status
    assert status in (expected, 128 - expected if expected < 0 else expected)


def test_working_directory_and_relative_names(tmp_path):
    where = tmp_path / "elsewhere"
    where.mkdir()
    dnprof("run", "-q", "-o", "here.dnp", "--", *program(NEWEST, "exitcode", 0), cwd=where).expect()
    assert [p.name for p in where.iterdir()] == ["here.dnp"]


def test_name_from_path(tmp_path):
    """A command without a slash is looked up in PATH."""
    argv = program(NEWEST, "exitcode", 5)
    path = f"{argv[0].parent}:{os.environ['PATH']}"
    dnprof("run", "-q", "-o", tmp_path / "x.dnp", "--", "truth", "exitcode", 5, env={"PATH": path}).expect(5)


def test_recording_is_the_users_alone(tmp_path):
    out = tmp_path / "out.dnp"
    old = os.umask(0)
    try:
        dnprof("run", "-q", "-o", out, "--", *program(NEWEST, "exitcode", 0)).expect()
    finally:
        os.umask(old)
    assert out.stat().st_mode & 0o777 == 0o600


def test_output_follows_no_link(tmp_path):
    victim, link = tmp_path / "victim", tmp_path / "out.dnp"
    victim.write_text("precious")
    link.symlink_to(victim)
    dnprof("run", "-q", "-o", link, "--", *program(NEWEST, "exitcode", 0))
    assert victim.read_text() == "precious"


def test_names_with_pid_and_time(tmp_path):
    dnprof("run", "-q", "-o", tmp_path / "p-%p.dnp", "--", *program(NEWEST, "exitcode", 0)).expect()
    name, = (p.name for p in tmp_path.iterdir())
    assert name[2:-4].isdigit()


@pytest.mark.parametrize("suffix,words", [
    (".html", ["<!doctype html>", "Content-Security-Policy"]), (".txt", ["Truth.Cpu.Run", "samples"]),
    (".collapsed", ["Truth.Cpu.Run", ";"]),
])
def test_output_by_extension(tmp_path, suffix, words):
    out = tmp_path / ("out" + suffix)
    dnprof("run", "-q", "-F", 997, "-o", out, "--", *program(NEWEST, "cpu", "--seconds", 0.5)).expect()
    text = out.read_text()
    assert not [word for word in words if word not in text], text
    assert [p.name for p in tmp_path.iterdir()] == [out.name], "the recording behind it is gone"


def test_every_event_is_in_a_text(tmp_path):
    """The recording behind it goes; what has room for one event only says what went."""
    def recorded(name):
        told = dnprof("run", "-e", "cpu,lock,gc", "-o", tmp_path / name, "--", *program(NEWEST, "locks", "--work", 1)).expect().err
        return told, (tmp_path / name).read_text()

    told, text = recorded("out.txt")
    heads = re.findall(r"^([a-z-]+): [\d,]+ samples", text, re.M)
    assert heads == ["cpu", "lock", "lock-owner", "gc"] and text.count("exit status 0") == 1
    assert "choose with -e" not in text and "alone" not in told
    lock = text[text.index("\nlock: "):text.index("\nlock-owner: ")]
    assert "Truth.Locks+Gate" in lock and "Methods by self" in lock
    assert re.search(r"has the stacks of cpu alone, nothing of lock", recorded("out.collapsed")[0])


@pytest.mark.parametrize("events,name,said", [
    ("cpu,switch", "out.pftrace", "has the switches alone, nothing of cpu;"),
    ("cpu,switch", "out.csv", "has the switches alone, nothing of cpu;"),
    ("switch", "out.trace.json", None),
    ("cpu,trace", "out.collapsed", "has the stacks of cpu alone, nothing of trace;"),
    ("cpu,switch", "out.collapsed", "has the stacks of cpu alone, nothing of switch"),
    ("cpu,mark", "out.collapsed", "has the stacks of cpu alone, nothing of mark;"),
])
def test_what_a_format_cannot_hold_is_told(tmp_path, events, name, said):
    """The recording behind it goes: each event that is in no file any more is named."""
    what = ("marks", "--work", 1) if "mark" in events else ("cpu", "--seconds", 0.5)
    told = dnprof("run", "-e", events, "-o", tmp_path / name, "--", *program(NEWEST, *what)).expect().err
    assert said in told if said else "alone" not in told, told
    quiet = dnprof("run", "-q", "-e", events, "-o", tmp_path / f"quiet-{name}", "--", *program(NEWEST, *what)).expect().err
    assert "alone" not in quiet


@needs_other_user
def test_as_ordinary_user(tmp_path):
    """No privilege is needed, and no file of anybody else."""
    let_others_in(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    out = home / "out.dnp"
    run([*NOBODY, "--inh-caps=-all", DNPROF, "run", "-q", "-F", 997, "-o", out, "--",
         *program(NEWEST, "cpu", "--seconds", 1)], env={"HOME": str(home)}).expect()
    assert out.stat().st_uid == 65534
    assert report(out).samples > 500 // LOOSE


def started_with(folder):
    """Processes that have that folder for their temporary files."""
    of_it = f"TMPDIR={folder}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if of_it in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)


def test_nothing_stays_behind(tmp_path):
    """No process, no file beside the recording, no socket or memory object with a name."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    with start([DNPROF, "run", "-q", "-o", tmp_path / "out.dnp", "--", *program(NEWEST, "cpu", "--seconds", 600, "--meter")],
               env={"TMPDIR": str(folder)}, stdin=subprocess.PIPE) as run_:
        pid = run_.child("cpu --seconds")
        wait_for_samples(pid)
        assert {run_.process.pid, pid} <= set(started_with(folder))
        run_.process.stdin.close()  # with --meter it ends then
        run_.process.stdin = None
        run_.end().expect()
        assert not list(started_with(folder))
    assert not list(folder.iterdir())
    # Others may run a dnprof meanwhile: names have the id of their process.
    sockets = [line.split(maxsplit=7)[7:] for line in Path("/proc/net/unix").read_text().splitlines()]
    names = [*os.listdir("/tmp"), *os.listdir("/dev/shm"), *(name for named in sockets for name in named)]
    pids = {str(run_.process.pid), str(pid)}
    assert not [n for n in names if "dnprof" in n.lower() and pids & set(re.findall(r"\d+", n))]
    assert {p.name for p in tmp_path.iterdir()} == {"out.dnp", folder.name}


def test_child_that_stays(tmp_path):
    """dnprof ends with the program, not with a child that the program left behind."""
    with start([DNPROF, "run", "-q", "--children", "-o", tmp_path / "out.dnp", "--", "sh", "-c",
                f"sleep 600 & {program(NEWEST)[0]} exitcode 6"]) as run_:
        wait_for(lambda: run_.process.poll() is not None, "the end of dnprof")
        assert run_.process.returncode == 6
