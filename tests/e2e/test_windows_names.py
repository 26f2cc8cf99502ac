# SPDX-License-Identifier: MIT
"""Names of native functions in what dnprof.exe records, against what binutils say of the same files."""
import bisect
import functools
import os
import re
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import pytest

import records
from harness import PATIENCE_S, command_line, dnprof, run, wait_for
from test_windows import ENVIRONMENT, WINDOWS, on_windows, pytestmark, record, truth, wine  # noqa: F401  (fixtures, and the mark)

#: A frame of that kind (docs/format.md).
NATIVE = 1
#: Functions, and what others can see and has no type, as assembler's functions.
SYMBOL = r"\(sec +([1-9]\d*)\)\(fl 0x00\)(?:\(ty +20\)\(scl +[23]\)|\(ty +0\)\(scl +2\)) \(nx \d\) 0x([0-9a-f]+) (\S+)"
OBJDUMP = "x86_64-w64-mingw32-objdump"
pytestmark = [*pytestmark, pytest.mark.slow,
              pytest.mark.skipif(not shutil.which(OBJDUMP), reason=f"{OBJDUMP} is not installed")]


def dumped(path, option):
    return subprocess.run([OBJDUMP, option, path], capture_output=True, text=True, errors="replace", check=True).stdout


class Image:
    """Where functions of a file are, and what they are called there, by objdump."""

    def __init__(self, path):
        headers, names = dumped(path, "-p"), dumped(path, "-t")
        self.names = {}
        base = {}
        for number, vma in re.findall(r"^ +(\d+) \S+ +[0-9a-f]{8} +([0-9a-f]{16})", dumped(path, "-h"), re.M):
            base[int(number) + 1] = int(vma, 16) - int(re.search(r"^ImageBase\s+([0-9a-f]+)", headers, re.M)[1], 16)
        for section, value, name in re.findall(SYMBOL, names):
            self.add(base[int(section)] + int(value, 16), name)
        first = int((re.search(r"Ordinal Base\s+(\d+)", headers) or [0, 0])[1])
        functions = {int(n): int(rva, 16) for n, rva in re.findall(r"^\t\[ *(\d+)\] \+base\[ *\d+\] +([0-9a-f]+) Export RVA", headers, re.M)}
        for which, name in re.findall(r"^\t\[ *(\d+)\] (?:\+base\[ *\d+\] +[0-9a-f]+ )?(\S+)$", headers, re.M):
            if int(which) in functions:
                self.add(functions[int(which)], name)
        for which, rva in functions.items():
            self.add(rva, f"Ordinal{first + which}")
        self.begins = sorted(self.table(Path(path).read_bytes()))

    def add(self, rva, name):
        self.names.setdefault(rva, set()).add(name)

    @staticmethod
    def table(data):
        """Where the functions begin that the file describes (.pdata)."""
        at = struct.unpack_from("<I", data, 0x3c)[0]
        sections = [struct.unpack_from("<IIII", data, at + 24 + struct.unpack_from("<H", data, at + 20)[0] + 40 * i + 8)
                    for i in range(struct.unpack_from("<H", data, at + 6)[0])]
        rva, n = struct.unpack_from("<II", data, at + 24 + 112 + 8 * 3)
        for bytes_, begin, _, where in sections:
            if begin <= rva < begin + bytes_:
                return [struct.unpack_from("<I", data, where + rva - begin + i)[0] for i in range(0, n, 12)]
        return []

    def called(self, rva):
        """Names of what begins there, or last before it in the same function of the table."""
        i = bisect.bisect_right(self.begins, rva)
        low = self.begins[i - 1] if i else 0
        return next((self.names[at] for at in range(rva, low - 1, -1) if at in self.names), set())


@functools.cache
def image(path):
    name = run(["wine", "winepath", "-u", path], env=ENVIRONMENT).expect().out.strip()
    return Image(name)


def native(recording):
    """(path of the file, offset of the function, name or None) of all native functions."""
    modules, frames, names = {}, set(), {}
    for kind, it in records.read(recording, "module", "frame", "symbol"):
        if kind == "module":
            modules[it.index] = it.path.decode()
        elif kind == "frame" and it.kind == NATIVE:
            frames.add((it.module, it.function))
        elif kind == "symbol":
            names[it.module, it.function] = it.name.decode()
    return [(modules[module], function, names.get((module, function))) for module, function in sorted(frames)]


@pytest.fixture(scope="module")
def recorded(truth, tmp_path_factory):  # noqa: F811
    out = tmp_path_factory.mktemp("names") / "t.dnp"
    record(truth, out, "mix", "--seconds", 1, options=("-e", "cpu,wall", "-F", 499))
    return out


def test_names_are_those_of_their_functions(recorded):
    """None of a function that lies elsewhere, and all that the files have."""
    found = native(recorded)
    named = [it for it in found if it[2]]
    assert len(named) > 20, found
    for path, function, name in found:
        assert name in image(path).called(function) if name else not image(path).called(function), (path, hex(function), name)
    assert {"RtlUserThreadStart", "BaseThreadInitThunk", "coreclr_execute_assembly"} <= {name for _, _, name in named}


def test_names_are_in_the_recording(recorded):
    """So they are known where the files are not: on another system."""
    stacks = dnprof("export", "-f", "collapsed", recorded).expect().out.splitlines()
    mains = [stack for stack in stacks if "Truth.Program.Main" in stack]
    assert mains
    for stack in mains:
        assert stack.startswith("ntdll.dll!RtlUserThreadStart;kernel32.dll!BaseThreadInitThunk;"), stack


def launchers(out):
    """Processes of the command that records into OUT: `wine` may start the program as another one."""
    return [int(it.name) for it in Path("/proc").glob("[0-9]*") if str(out) in command_line(it.name) and "dnprof.exe" in command_line(it.name)]


def ended_by_nobody(truth, folder):  # noqa: F811
    """A recording whose dnprof.exe was killed: nobody has looked up names."""
    def recordings():
        return [it for it in folder.rglob("*.dnp") if it.stat().st_size > 20_000]
    with subprocess.Popen(["wine", WINDOWS, "run", "-q", "-o", folder / "t.dnp", "--", truth, "cpu", "--seconds", "3"],
                          env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        wait_for(recordings, "a recording")
        for pid in launchers(folder / "t.dnp"):
            os.kill(pid, signal.SIGKILL)
        p.communicate(timeout=PATIENCE_S)  # the program has these pipes as long as it lives
    kept, = recordings()
    assert kept.name != "t.dnp", "it had ended"
    return kept


def test_report_looks_for_names_that_are_missing(truth, tmp_path):  # noqa: F811
    """On the machine of the recording."""
    kept = ended_by_nobody(truth, tmp_path)
    assert not [name for _, _, name in native(kept) if name]
    assert "!RtlUserThreadStart;" not in dnprof("export", "-f", "collapsed", kept).out
    assert "ntdll.dll!RtlUserThreadStart;" in on_windows("export", "-f", "collapsed", kept).out
