# SPDX-License-Identifier: MIT
"""The fuzz targets of tests/fuzz for so many executions each: by libFuzzer, which clang brings."""
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: With each comparison told to libFuzzer, which finds the values that are asked for, and without, which is twice as fast: what the
#: first reaches is where the second begins.
GUIDED, MANY = ROOT / "build-fuzz", ROOT / "build-fuzz-many"
GUIDED_SHARE = 0.1
CORPUS = GUIDED / "corpus"
TARGETS = sorted(path.name.removesuffix("_fuzz.c") for path in (ROOT / "tests/fuzz").glob("*_fuzz.c"))

#: Bytes of an input: what the decoder's cases fit into. libFuzzer's own limit where nothing is said.
MAX_LEN = {"calls": 1024, "cfi": 512, "code": 256, "export": 1024, "payload": 1024, "read": 1024}

#: Freed memory comes again soon, and is in the cache still; where it was allocated is found when an input is run again.
ASAN_OPTIONS = "quarantine_size_mb=4:malloc_context_size=1"

HEAD = f"{'target':10} {'executions':>12} {'/s':>8} {'minutes':>8}  findings"


def build(targets):
    runtime = subprocess.run(["clang", "-print-runtime-dir"], capture_output=True, text=True, check=True).stdout.strip()
    if not list(Path(runtime).glob("libclang_rt.fuzzer*.a")):
        sys.exit(f"soak: there is no libFuzzer in {runtime}: install libclang-rt-dev, of clang's version "
                 "(Debian 12: libclang-rt-14-dev)")
    for folder, args in ((GUIDED, ""), (MANY, "-fno-sanitize-coverage=trace-cmp")):
        how = ["--reconfigure"] if (folder / "build.ninja").exists() else []
        for command in (["meson", "setup", *how, folder, "-Dpage=disabled", "-Dfuzz=true", f"-Dc_args={args}"],
                        ["ninja", "-C", folder, *(f"tests/fuzz/{name}-libfuzzer" for name in targets)]):
            done = subprocess.run(command, env={**os.environ, "CC": "clang"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False)
            if done.returncode:
                sys.exit(f"{done.stdout}soak: the fuzz targets cannot be built")


class Row:
    """One target. What it finds ends it; inputs that reach something new stay in build-fuzz/corpus for the next time."""

    def __init__(self, name):
        self.name, self.executions, self.seconds, self.wrong = name, 0, 0, None

    def go(self, executions, seconds, keep):
        guided = round(executions * GUIDED_SHARE)
        begin = time.monotonic()
        self.run(GUIDED, guided, seconds and seconds * GUIDED_SHARE, keep / f"{self.name}.log")
        if not self.wrong:
            self.run(MANY, executions - guided, seconds and seconds * (1 - GUIDED_SHARE), keep / f"{self.name}-many.log")
        self.seconds = time.monotonic() - begin

    def run(self, build_folder, executions, seconds, log):
        corpus = CORPUS / self.name
        corpus.mkdir(parents=True, exist_ok=True)
        with log.open("w") as out:
            status = subprocess.run(
                [build_folder / f"tests/fuzz/{self.name}-libfuzzer", f"-runs={executions}", "-print_final_stats=1", "-print_funcs=0",
                 *([f"-max_total_time={max(1, round(seconds))}"] if seconds else []),
                 *([f"-max_len={MAX_LEN[self.name]}"] if self.name in MAX_LEN else []),
                 f"-artifact_prefix={log.parent}/{self.name}-", corpus, ROOT / "tests/fuzz/corpus" / self.name],
                env={"ASAN_OPTIONS": ASAN_OPTIONS, **os.environ}, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                check=False).returncode
        text = log.read_text(errors="replace")
        done = re.search(r"^stat::number_of_executed_units:\s*(\d+)", text, re.M)
        self.executions += int(done[1]) if done else 0
        if status or not done:
            summary = re.search(r"^SUMMARY: (.*)", text, re.M)
            self.wrong = f"{summary[1] if summary else f'status {status}'}; see {log}"

    def __str__(self):
        return (f"{self.name:10} {self.executions:12} {self.executions / max(self.seconds, 1e-9):8.0f} {self.seconds / 60:8.1f}"
                f"  {self.wrong or 'none'}")


def soak(targets, executions, minutes, jobs, keep):
    """Prints a line for each; the number of targets that found something."""
    keep.mkdir(parents=True, exist_ok=True)
    build(targets)
    seconds = minutes and minutes * 60 * jobs / len(targets)

    def one(name):
        row = Row(name)
        row.go(executions, seconds, keep)
        print(row, flush=True)
        return row.wrong is not None

    print(HEAD, flush=True)
    with ThreadPoolExecutor(jobs) as pool:
        return sum(pool.map(one, targets))
