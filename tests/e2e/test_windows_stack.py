# SPDX-License-Identifier: MIT
"""dnprof.exe stack, under Wine: what all threads of a program do now, whatever they do."""
import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from harness import PATIENCE_S, plain, refused, run, wait_for
from test_stack import Stacks, has, names, waits
from test_windows import ENVIRONMENT, WINDOWS, on_windows, pytestmark, report, truth, wine  # noqa: F401
from test_windows_attach import PATIENT, EndedEarly, Running
from test_windows_rules import processes

pytestmark = [*pytestmark, pytest.mark.slow]

#: Stacks that are taken of one program, of which each may go wrong.
OFTEN = 5


def stack(pid, *options):
    return Stacks(on_windows("stack", "--json", *PATIENT, *options, pid).expect().stdout)


def stacks_when(pid, ready, what):
    """The stacks as soon as they are what the test is about."""
    def look():
        stacks = stack(pid)
        return stacks if ready(stacks) else None
    return wait_for(look, what)


def temporary():
    """Files that who asks makes for the answer: in a folder of all who ask now, also of other tests."""
    return set(Path(ENVIRONMENT["WINEPREFIX"]).glob("drive_c/users/*/Temp/dnprof-*"))


@contextlib.contextmanager
def no_file_stays():
    """Of those that come meanwhile. What is another test's goes when that has its answer."""
    had = temporary()
    yield
    come = temporary() - had
    wait_for(lambda: not any(path.exists() for path in come), "the files to go")


def stack_in(folder, pid, *options):
    """`dnprof stack` of a user whose temporary files are in that folder; Wine takes no such variable from Linux."""
    command = folder.with_suffix(".cmd")
    place = f"Z:{folder}".replace("/", "\\")
    words = " ".join(map(str, ("stack", *PATIENT, *options, pid)))
    command.write_text(f'@set TEMP={place}\r\n@set TMP={place}\r\n@"Z:{WINDOWS}" {words}\r\n')
    return run(["wine", "cmd", "/c", command], env=ENVIRONMENT)


def is_stuck(stacks):
    threads = stacks.named("stuck-(left|right)")
    return len(threads) == 2 and all(waits(t, "Truth.Deadlock.TakeSecond") for t in threads)


@pytest.fixture(scope="module")
def deadlock(truth):  # noqa: F811
    with Running(truth, "deadlock", "--seconds", 3600) as running:
        yield running
        assert running.process.poll() is None, "the program has ended"


# ---- What it shows

def test_deadlock(deadlock):
    def works(stacks):
        return is_stuck(stacks) and any(has(t, "Truth.Program.Main", "Truth.Deadlock.Work") for t in stacks.threads)

    stacks = stacks_when(deadlock.pid, works, "a deadlock, and one who works")
    for thread in stacks.named("stuck-(left|right)"):
        assert not thread["missing"]
        assert thread["frames"][0]["kind"] == thread["frames"][-1]["kind"] == "native"
        frame = next(f for f in thread["frames"] if plain(f["name"]) == "Truth.Deadlock.TakeSecond")
        assert (frame["kind"], frame["module"]) == ("managed", "truth.dll")
    assert stacks.data["pid"] == deadlock.pid and stacks.data["runtime"].startswith("10.0.")
    assert deadlock.word in stacks.data["command"]
    assert not [t for t in stacks.threads if "dnprof" in t["name"]], "the profiler is shown"


def test_text(deadlock):
    stacks_when(deadlock.pid, is_stuck, "a deadlock")
    text = on_windows("stack", *PATIENT, "--native", "none", "--threads", deadlock.pid).expect().out
    assert re.search(rf"pid {deadlock.pid}, \.NET 10\.0\.\d+, \d+ threads: \d+ running, \d+ waiting", text), text
    assert re.search(r'Thread \d+ "stuck-left", waiting\n(?:  .*\n)*?  Truth\.Deadlock\.TakeSecond\(object\)  truth\.dll\n',
                     text), text
    assert "coreclr.dll" not in text
    grouped = on_windows("stack", *PATIENT, deadlock.pid).expect().out
    assert re.search(r'^×2 threads, waiting: \d+ "stuck-(left|right)", \d+ "stuck-(left|right)"$', grouped, re.M), grouped


def test_threads_as_wanted(deadlock):
    stacks_when(deadlock.pid, is_stuck, "a deadlock")
    assert [t["name"] for t in stack(deadlock.pid, "--thread", "stuck-left").threads] == ["stuck-left"]


def test_mixed_stacks(deadlock):
    """From the thread's start to a managed frame, and the runtime between two runs of these."""
    stacks = stacks_when(deadlock.pid, is_stuck, "a deadlock")
    for name in ("stuck-left", "stuck-right"):
        thread = stacks.one(name)
        assert has(thread, re.compile("^ntdll.dll!RtlUserThreadStart"), re.compile("^coreclr.dll!"),
                   "System.Threading.Thread.StartCallback", "Truth.Deadlock.TakeSecond",
                   "System.Threading.Monitor.Enter", re.compile("^coreclr.dll!"), re.compile("^ntdll.dll!Nt")), names(thread)


def test_deep_recursion(truth):  # noqa: F811
    """All 600 frames, from the leaf to the thread's start."""
    def at_the_bottom(stacks):
        return [t for t in stacks.threads if has(t, "Truth.Deep.Bottom")]

    with Running(truth, "deep", "--seconds", 3600) as running:
        thread, = at_the_bottom(stacks_when(running.pid, at_the_bottom, "its depth"))
    assert sum(plain(name) == "Truth.Deep.Down" for name in names(thread)) == 600
    assert has(thread, re.compile("RtlUserThreadStart"), "Truth.Program.Main", "Truth.Deep.Down", "Truth.Deep.Bottom")
    assert not thread["missing"]


def test_hundreds_of_threads(truth):  # noqa: F811
    """Hundreds that come and go, each of which ends at some moment of that. How many there are at once depends on the machine."""
    seen = set()

    def crowd(stacks):
        seen.update(t["tid"] for t in stacks.named(r"crowd-\d+") if has(t, "System.Threading.Thread.StartCallback"))
        return len(seen) > 20

    with Running(truth, "crowd", "--seconds", 3600) as running:
        stacks_when(running.pid, crowd, "a crowd")
        assert running.process.poll() is None


# ---- The program, and what else is done with it

def test_nothing_is_left(truth):  # noqa: F811
    had = []
    with no_file_stays(), Running(truth, "mix", "--seconds", 3600) as running:
        for _ in range(4):
            stacks_when(running.pid, lambda stacks: any(has(t, "Truth.Program.Main") for t in stacks.threads), "its own code")
            wait_for(running.is_clean, "the library to be unloaded")
            had.append(running.threads())
        assert running.process.poll() is None
    # What the first has brought, of the runtime's own, stays.
    assert had[-1] <= had[0], had


def test_no_file_is_left(deadlock, tmp_path):
    """When the command has ended; where it went without an answer, as soon as the agent has seen that."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    for _ in range(3):
        assert is_stuck(Stacks(stack_in(folder, deadlock.pid, "--json").expect().stdout))
        assert not list(folder.iterdir())
    hasty = stack_in(folder, deadlock.pid, "--timeout", 0.001)
    assert hasty.status == 1 and "--timeout" in hasty.err, hasty
    wait_for(lambda: not list(folder.iterdir()), "the file to go")
    wait_for(deadlock.is_clean, "the agent to leave")


def test_agent_that_was_there_stays(deadlock):
    on_windows("attach", *PATIENT, deadlock.pid).expect()
    stacks_when(deadlock.pid, is_stuck, "a deadlock")
    assert deadlock.seen()["agent"]["state"] == "attached"
    on_windows("detach", *PATIENT, deadlock.pid).expect()


def taken_until_its_end(truth, *arguments):  # noqa: F811
    """How many stacks were; and what the program says, which checks what it computes."""
    taken = 0
    with Running(truth, *arguments) as running:
        while running.process.poll() is None:
            asked = on_windows("stack", "--json", *PATIENT, running.pid)
            if asked.status:
                refused(asked, 1, "no such process|ended|ending|no .NET runtime")
            else:
                taken += len(Stacks(asked.stdout).threads) > 0
        return taken, running.end()


@pytest.mark.parametrize("name", ["shortthreads", "async", "locks"])
def test_programs_get_their_results(truth, name):  # noqa: F811
    """Whatever ends meanwhile, a thread or all of it. One that was through before it was seen runs for longer."""
    for seconds in (5, 20, 80):
        with contextlib.suppress(EndedEarly if seconds < 80 else ()), no_file_stays():
            taken, told = taken_until_its_end(truth, name, "--seconds", seconds)
            if taken:
                break
    assert taken and told["program"] == name


def test_beside_a_recording(truth, tmp_path):  # noqa: F811
    """Samples are taken before stacks are asked for, between, and afterwards; and both by the same way."""
    with Running(truth, "cpu", "--seconds", 3600) as running:
        on_windows("attach", *PATIENT, running.pid).expect()
        on_windows("start", *PATIENT, "-F", 997, "-e", "cpu,wall", "-o", tmp_path / "t.dnp", running.pid).expect()
        for _ in range(OFTEN):
            before = running.seen()["agent"]["samples"]
            assert any(has(t, "Truth.Cpu.Run") for t in stack(running.pid).threads)
            wait_for(lambda: running.seen()["agent"]["samples"] > before + 20, "samples")
        on_windows("stop", *PATIENT, running.pid).expect()
        on_windows("detach", *PATIENT, running.pid).expect()
        assert running.process.poll() is None
    read = report(tmp_path / "t.dnp")
    assert read["complete"] and read["events"]["cpu"]["samples"] > 20 * OFTEN


def test_under_run(truth, tmp_path):  # noqa: F811
    """The agent can be asked as long as the program runs, also after the recording."""
    with Running(WINDOWS, "run", "-q", "-d", 0.2, "-o", tmp_path / "t.dnp", "--", truth, "deadlock", "--seconds", 3600,
                 by_id=False) as running:
        def program():
            return next((p["pid"] for p in running.all() if running.word in p["command"] and p.get("agent")), None)

        pid = wait_for(program, "the program")
        wait_for(lambda: running.seen()["agent"]["state"] == "attached", "the recording's end")
        stacks_when(pid, is_stuck, "a deadlock")
        # It would outlive dnprof.exe, with the test's pipes.
        for process in processes(running.word, "deadlock"):
            os.kill(process, signal.SIGKILL)


def test_many_at_once(deadlock):
    """Who comes while another is served waits for his turn; the agent leaves with the last one, or is brought once more."""
    results = []
    stacks_when(deadlock.pid, is_stuck, "a deadlock")
    threads = [threading.Thread(target=lambda: results.append(on_windows("stack", "--json", *PATIENT, deadlock.pid)))
               for _ in range(6)]
    with no_file_stays():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for result in results:
        assert is_stuck(Stacks(result.expect().stdout))
    assert len(results) == 6
    wait_for(deadlock.is_clean, "the agent to leave")


def test_asker_that_is_killed(deadlock):
    """At any moment: no file of his stays, what he brought leaves, and the next one is answered."""
    with no_file_stays():
        for tenths in range(0, 12, 2):
            with subprocess.Popen(["wine", WINDOWS, "stack", *map(str, PATIENT), str(deadlock.pid)], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT}) as p:
                time.sleep(tenths / 10)
                p.kill()
    stacks_when(deadlock.pid, is_stuck, "a deadlock")
    wait_for(deadlock.is_clean, "the agent to leave")


# ---- What cannot be

def test_no_time(deadlock):
    asked = on_windows("stack", "--timeout", 0.001, deadlock.pid)
    assert asked.status == 1 and len(asked.err.splitlines()) == 1 and "--timeout" in asked.err and not asked.out, asked
    stacks_when(deadlock.pid, is_stuck, "a deadlock")
    wait_for(deadlock.is_clean, "the agent to leave")


@pytest.mark.parametrize("arguments, status, words", [
    ((), 2, ("process",)), (("word",), 2, ("word", "not a process id")), ((999999,), 1, ("no such process", "tasklist")),
    (("--native", "some", 8), 2, ("--native",)), (("--timeout", "soon", 8), 2, ("timeout",)),
], ids=str)
def test_refusals(arguments, status, words):
    refused(on_windows("stack", *arguments), status, *words)


def test_no_place_for_the_answer(deadlock, tmp_path):
    (tmp_path / "stack.cmd").write_text(f"set TEMP=C:\\no\\such\r\nset TMP=C:\\no\\such\r\n\"Z:{WINDOWS}\" stack {deadlock.pid}\r\n")
    asked = subprocess.run(["wine", "cmd", "/c", tmp_path / "stack.cmd"], capture_output=True, text=True,
                           env={**os.environ, **ENVIRONMENT}, timeout=PATIENCE_S)
    assert "dnprof: cannot make a temporary file: No such file or directory; set TEMP" in asked.stderr, asked
    wait_for(deadlock.is_clean, "the agent to leave")
