# SPDX-License-Identifier: MIT
"""How often each whole-program test holds: all of the matrix, with the promises' own tolerances and no second try."""
import collections
import json
import os
import subprocess
import tempfile
from pathlib import Path

from net.plugin import HUNG, KINDS, WRONG

ROOT = Path(__file__).resolve().parents[2]

class Rate:
    """Of one test: its tries, and how those ended that did not go well."""

    def __init__(self):
        self.tries, self.ended = 0, collections.Counter()

    def add(self, outcome, kind):
        self.tries += 1
        if outcome == "failed":
            self.ended[kind] += 1

    def __str__(self):
        return f"{self.tries:5} " + " ".join(f"{self.ended[kind]:6}" for kind in KINDS)


HEAD = f"{'tries':>5} " + " ".join(f"{kind:>6}" for kind in KINDS) + "  test"


def read(tally):
    """Lines of plugin.py."""
    for line in tally.read_text().splitlines():
        yield json.loads(line)


def once(which, tally, log):
    """All tests of the matrix that WHICH chooses; their ends are appended to TALLY."""
    for how in (["-m", "not measured", "-n", "2"], ["-m", "measured"]):
        with tempfile.TemporaryDirectory(prefix="ds-", dir="/tmp") as folder:
            subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "-rN", "--tb=no", "-p", "no:cacheprovider",
                            "--basetemp", f"{folder}/t", "tests/e2e", "-k", which, *how], cwd=ROOT, check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           env={**os.environ, "DNPROF_TEST_SOAK": "1", "DNPROF_TEST_TALLY": str(tally), "DNPROF_TEST_LOG": str(log)})


def table(rates):
    """Those that did not always hold, the worst first."""
    bad = sorted((rate for rate in rates.items() if rate[1].ended), key=lambda it: -sum(it[1].ended.values()) / it[1].tries)
    return "\n".join([HEAD, *(f"{rate}  {name}" for name, rate in bad)])


def soak(which, times, keep):
    """Prints the table after each round; the number of tests whose end was worse than a figure that was off."""
    rates, log = collections.defaultdict(Rate), Path(keep) / "first"
    log.mkdir(parents=True, exist_ok=True)
    for n in range(times):
        tally = Path(keep) / f"tally-{os.getpid()}-{n}"
        tally.touch()
        once(which, tally, log)
        for end in read(tally):
            rates[end["test"]].add(end["outcome"], end["kind"])
        tries = sum(rate.tries for rate in rates.values())
        held = tries - sum(sum(rate.ended.values()) for rate in rates.values())
        print(f"round {n + 1}: {len(rates)} tests, {held} of {tries} tries held; first failures in {log}\n{table(rates)}", flush=True)
    return sum(any(rate.ended[kind] for kind in (HUNG, WRONG)) for rate in rates.values())
