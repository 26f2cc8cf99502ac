# SPDX-License-Identifier: MIT
"""All time-outs, and what is said when one strikes. Nothing here has to be installed."""
import os
import re
import subprocess
from pathlib import Path

#: All time-outs come from these two. They are for hangs only: two processors may have ten times as much to do as they can.
SCALE = float(os.environ.get("DNPROF_TEST_PATIENCE", 1))
#: For what has to come.
PATIENCE_S = round(300 * SCALE)
#: For a whole test, which may wait for several such things.
TEST_S = 4 * PATIENCE_S


class Hung(AssertionError):
    """Something that did not end, or did not come."""


def read(path):
    try:
        return path.read_text(errors="replace").replace("\0", " ").strip()
    except OSError as e:
        return e.strerror


def tasks(pid):
    """Folders of a process's threads; none where it has ended."""
    try:
        return [Path(f"/proc/{pid}/task/{tid}") for tid in sorted(os.listdir(f"/proc/{pid}/task"), key=int)]
    except OSError:
        return []


def descendants(pid):
    """Pids of all children of PID and theirs, PID itself first."""
    found = [pid]
    for parent in found:
        for task in tasks(parent):
            found += [int(child) for child in read(task / "children").split() if child.isdigit()]
    return found


def stacks(pid):
    """What each thread of a process is at: the kernel's word, and its native frames where they can be had."""
    folder = Path(f"/proc/{pid}")
    text = f"--- process {pid}: {read(folder / 'cmdline') or read(folder / 'comm')}\n"
    for task in tasks(pid):
        state = read(task / "stat").rpartition(")")[2].split()[:1]
        signals = " ".join(re.findall(r"^(?:Sig(?:Pnd|Blk)|ShdPnd):.*", read(task / "status"), re.M)).replace("\t", " ")
        text += f"  {task.name} {read(task / 'comm')}: {' '.join(state)} in {read(task / 'wchan')}, call {read(task / 'syscall')}, {signals}\n"
    try:
        shown = subprocess.run(["eu-stack", "-n", "64", "-p", str(pid)], capture_output=True, text=True, timeout=60, check=False)
        text += shown.stdout or shown.stderr
    except (OSError, subprocess.TimeoutExpired) as e:
        text += f"no frames: {e}\n"
    return text


def all_stacks():
    """Of every process that this one has started, in whatever session it is now."""
    return "".join(map(stacks, descendants(os.getpid())[1:20])) or "no process of the test is left\n"
