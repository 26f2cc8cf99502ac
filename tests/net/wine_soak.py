# SPDX-License-Identifier: MIT
"""script/soak --windows: programs that check their own results, under dnprof.exe and Wine."""
import json
import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import harness
from net import surroundings

ROOT = Path(__file__).resolve().parents[2]
DNPROF = Path(os.environ.get("DNPROF_WINDOWS", ROOT / "build-windows/bin/dnprof.exe")).resolve()
TRUTH = Path(os.environ.get("DNPROF_WINDOWS_APPS", ROOT / "build-windows/apps")).resolve() / "truth.exe"

#: Those of the referee that need no library of Linux's (exceptions, native: through its C library), and with many threads.
PROGRAMS = ("cpu", "deep", "alloc", "async", "shortthreads", "osr", "mix", "dynamic", "threads8")

#: Options of dnprof run, and samples a second where nothing else is said.
ENGINES = {"alone": None, "suspend": ([], 1999), "snapshot": (["--engine", "snapshot"], 1999), "both": (["-e", "cpu,wall"], 997)}

#: What each thread of Windows begins with.
FIRST = "ntdll.dll!RtlUserThreadStart"

#: A run starts, ends and is looked at in about this time.
OVERHEAD_S, SHORTEST_S = 6, 0.5

#: Threads that live for a moment only have mostly ended before their turn; of a program as a whole most has to be seen.
MOST_UNSEEN = 0.5

HEAD = (f"{'program':12} {'engine':8} {'Hz':>5} {'wall s':>6} {'samples':>8} {'lost':>6} {'whole %':>7} {'unseen %':>8} "
        f"{'walk ms':>7}")


def environment():
    return {"WINEPREFIX": os.environ.get("WINEPREFIX", str(ROOT / "build-windows/wine")), "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "winedbg.exe=d"}


def report(out, *options):
    return harness.report(out, options=options)


class Row:
    """One run and what came of it."""

    def __init__(self, name, engine, hz):
        self.name, self.engine, self.hz = name, engine, hz
        self.wall_s, self.samples, self.lost, self.whole, self.unseen, self.walk_ms = 0.0, 0, 0, "", "", ""
        self.reasons, self.truth, self.wrong, self.known = {}, None, None, ""

    def __str__(self):
        reasons = "".join(f" {k}={v}" for k, v in sorted(self.reasons.items()))
        return (f"{self.name:12} {self.engine:8} {self.hz:5} {self.wall_s:6.1f} {self.samples:8} {self.lost:6} {self.whole:>7} "
                f"{self.unseen:>8} {self.walk_ms:>7}  {self.wrong or 'ok'}{reasons}")

    def count(self, out):
        data = report(out).data
        cut = failed = walks = walk_ns = unseen = 0
        for name, event in data["events"].items():
            stacks = report(out, "-e", name).stacks()
            self.samples += event["samples"]
            unseen += sum(n for path, n in stacks if path[0] == harness.NOT_SAMPLED)
            self.lost += event["lost"]
            failed += event["failed"] + event["truncated"]
            # Where the walk itself does not say so.
            cut += sum(n for path, n in stacks if path[0] not in (FIRST, harness.NOT_SAMPLED, harness.NO_MANAGED))
            walks, walk_ns = max(walks, event["samples"]), max(walk_ns, event["walk_p50_ns"])
            for reason, n in (*event["failures"].items(), *event["lost_by"].items()):
                self.reasons[reason] = self.reasons.get(reason, 0) + n
        if not self.samples:
            return "no samples"
        failed = max(failed, cut)
        self.whole, self.walk_ms = f"{100 - 100 * failed / self.samples:.3f}", f"{walk_ns / 1e6:.2f}"
        if not data["complete"] or data["problems"]:
            return f"incomplete: {data['problems']}"
        self.unseen = f"{100 * unseen / self.samples:.2f}"
        if unseen > MOST_UNSEEN * self.samples:
            return f"{self.unseen} % was not sampled"
        return f"only {self.whole} % of the stacks are whole" if failed > 0.05 * self.samples else None

    def judge(self, ended, out, alone):
        if ended.returncode:
            return f"status {ended.returncode}"
        self.truth = harness.steady(json.loads(ended.stdout.splitlines()[-1]))
        if alone is not self and self.truth != alone.truth:
            return f"another result: {self.truth} and not {alone.truth}"
        return self.count(out) if out else None


def command(row, seconds, out):
    program = [TRUTH, row.name, "--seconds", f"{seconds:.1f}"]
    if row.engine == "alone":
        return ["wine", *program]
    return ["wine", DNPROF, "run", "-q", *ENGINES[row.engine][0], "-F", str(row.hz), "-o", out, "--", *program]


def soak(row, seconds, alone):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "soak.dnp" if row.engine != "alone" else None
        begin = time.monotonic()
        try:
            ended = subprocess.run([str(a) for a in command(row, seconds, out)], env={**os.environ, **environment()}, text=True,
                                   stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds * 30 + 300, errors="replace",
                                   preexec_fn=surroundings.default_signals)
            row.known = f"{ended.stdout}\n{ended.stderr}"
            row.wrong = row.judge(ended, out, alone)
        except subprocess.TimeoutExpired as e:
            row.wrong, row.known = "hung", str(e)
        except (AssertionError, ValueError, KeyError, IndexError) as e:
            row.wrong, row.known = "no result", f"{row.known}\n{e}"
        row.wall_s = time.monotonic() - begin
    return row


class Soaking:
    """All programs, over and over until the time is over."""

    def __init__(self, args):
        self.args = args
        self.end = time.monotonic() + (args.minutes or 10) * 60
        self.rows = []

    def seconds(self, left):
        """Of CPU time for each run of the next program."""
        return max(SHORTEST_S, min(30.0, (self.end - time.monotonic()) * self.args.jobs / left - OVERHEAD_S))

    def program(self, name, left):
        seconds, alone = self.seconds(left), Row(name, "alone", 0)
        for row in (alone, *(Row(name, engine, self.args.rate or kind[1]) for engine, kind in ENGINES.items() if kind)):
            if time.monotonic() > self.end and row is not alone and self.rows:
                return
            soak(row, seconds, alone)
            print(row, flush=True)
            self.rows.append(row)
            if row.wrong:
                self.args.keep.mkdir(parents=True, exist_ok=True)
                (self.args.keep / f"windows-{row.name}-{row.engine}.txt").write_text(f"{row}\n{row.known}")

    def go(self):
        names = [name for name in PROGRAMS if name in self.args.program]
        with ThreadPoolExecutor(self.args.jobs) as pool:
            list(pool.map(self.program, names, [len(ENGINES) * (len(names) - i) for i in range(len(names))]))
        return self.rows


def walks(args):
    """Prints a line for each run, and all together; the number of those that failed."""
    subprocess.run([ROOT / "tests/apps/build", "--windows"], check=True, stdout=subprocess.DEVNULL)
    print(HEAD, flush=True)
    rows = Soaking(args).go()
    profiled = [row for row in rows if row.engine != "alone"]
    samples = sum(row.samples for row in profiled)
    failed = sum(row.wrong is not None for row in rows)
    left_out = len(ENGINES) * len([name for name in PROGRAMS if name in args.program]) - len(rows)
    if left_out:
        print(f"soak: no time for {left_out} runs: give more --minutes, or fewer programs")
    print(f"soak: {len(rows)} runs in {sum(row.wall_s for row in rows) / 60:.1f} min, {samples} samples, "
          f"{sum(row.lost for row in profiled)} lost; {failed} runs failed")
    return failed
