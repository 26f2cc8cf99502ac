# SPDX-License-Identifier: MIT
"""Runs programs with the referee in them and says of each difference which class it is of.

The agent (referee.c) counts the samples in which both walks name the same functions, and keeps all
others as they are, and those to which a rule of the comparison applies. Here these are compared as
recordings have them, and get their class, by conditions that can fail: what fits none is
`unexplained`.
"""
import collections
import dataclasses
import json
import math
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

LIBRARY = harness.DNPROF.parents[1] / "tests/referee/libdnprof-referee.so"
CLSID = re.search(r'DNP_CLSID_AGENT_TEXT\s+"([^"]+)"',
                  (harness.ROOT / "src/clr/guid.h").read_text()).group(1)

#: What the project promises, by engine: (identical, identical or explained) of the samples, in percent.
_SAME = dict.fromkeys(("cpu", "deep", "alloc", "async", "shortthreads", "osr", "mix"), (99.9, 99.9))
PROMISES = {
    "signal": {**_SAME, "native": (0, 99.9), "exceptions": (0, 97)},
    # A library that is loaded costs a few samples, of fewer here.
    "snapshot": {**_SAME, "mix": (99.8, 99.8), "native": (0, 99.5), "exceptions": (0, 97)},
    # In callbacks, half of which say that something is thrown.
    "sync": {**_SAME, "native": (99.9, 99.9), "async": (0, 99.9), "exceptions": (0, 97)},
}
PROGRAMS = tuple(PROMISES["signal"])

#: What the agent is told, by engine, and how often it samples.
ENGINES = {"signal": ("event=cpu;", 4000), "snapshot": ("event=cpu;engine=snapshot;", 1000), "sync": ("", 1000)}


def environment(engine, folder, hz):
    """What a program has to be given so that the referee is in it; the findings come into FOLDER."""
    return {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": CLSID, "CORECLR_PROFILER_PATH": str(LIBRARY),
            "DNPROF_OPTIONS": f"{ENGINES.get(engine, ('',))[0]}dir={folder};interval_ns={1_000_000_000 // hz};verbose=1",
            "DNPROF_REFEREE": str(Path(folder) / "findings.json"), "DNPROF_REFEREE_ENGINE": engine}


#: Where the runtime's walk cannot be asked in a handler at all, and why.
UNFIT = {
    ("net8.0", "signal", "exceptions"): "CoreCLR 8 throws by C++ exceptions; asked in the middle of one, its walk "
                                        "crashes or hangs",
    ("net9.0", "signal", "exceptions"): "CoreCLR 9 unwinds under a lock when it throws; asked meanwhile, its walk "
                                        "waits for it",
}

#: What both stacks are put through before they are compared, and why. Samples that it made the same
#: count as identical, and are counted by rule as well.
RULES = {
    "dynamic": "Dynamic code (`DynamicMethod`, stubs with IL) is no frame of the comparison: the runtime never "
               "reports it.",
    "hidden": "Nor are the methods with which the runtime handles exceptions (`System.Runtime.EH`, "
              "`System.Runtime.StackFrameIterator`, `System.Runtime.ExceptionServices.InternalCalls`), which it "
              "never reports by design. Recordings have them.",
    "merged": "A `finally` or `fault` block is a function of its own. Where the next frame is the method that it "
              "is a part of, the method called it, and both are one frame: so they stand in recordings, and "
              "so the runtime reports them.",
}

#: The classes of what differs, in the order in which they are tried, and what they mean.
CLASSES = {
    "preemptive": "The thread is on its way between native and managed code, and the runtime still (or "
                  "already) takes it for one that is in native code. It then ignores the registers and "
                  "begins at the place where managed code was last left. We show the managed method at "
                  "the top as well, which is where the processor is.",
    "throw": "An exception is on its way. The frames of the method that threw it, and of those that it "
             "has left already, are on the stack until the handler has run, and we show what is there; "
             "the runtime leaves them out (it shows the stack as the handler will see it).",
    "short": "The same, and the runtime's walk ends in the middle of the stack, without an error. Ours "
             "reaches the thread's start.",
    "error": "The runtime's walk ended with an error. Nothing can be said about these.",
    "cut": "Our walk ended before the thread's start: in a library that was loaded milliseconds before (its "
           "unwind tables were not read yet), in code that one thread compiled and another one runs before "
           "the runtime has told of it, or on a thread that is just being stopped for a collection at its "
           "return from a method. These count against us.",
    "unexplained": "None of the above. These count against us.",
}
EXPLAINED = ("preemptive", "throw", "short", "error")

#: Where threads begin.
STARTS = re.compile(r"(libc\.so\.6|ld-linux-x86-64\.so\.2|truth)\+")

HIDDEN = re.compile(r"System\.Runtime\.(EH|StackFrameIterator|ExceptionServices\.InternalCalls)\b")


@dataclasses.dataclass(frozen=True)
class Frame:
    kind: str
    name: str
    part: bool  #: of a method that calls it: the product's own word

    @property
    def managed(self):
        return self.kind in ("jit", "r2r")

    @property
    def runtime(self):
        return self.kind == "native" and self.name.startswith("libcoreclr.so+")

    @property
    def hidden(self):
        return self.managed and bool(HIDDEN.match(self.name))


class Difference:
    """Two stacks of one sample, leaf first."""

    def __init__(self, data, frames, functions):
        self.result, self.stop, self.preemptive = data["result"], data["stop"], data["preemptive"]
        self.own = tuple(frames[i] for i in data["own"])
        self.theirs = tuple(functions[i] for i in data["snapshot"])
        #: Positions in `own` of the frames that the comparison has.
        self.visible = [i for i, f in enumerate(self.own)
                        if f.managed and not f.hidden and not self.is_merged(i)]

    def is_merged(self, i):
        """As in recordings: a part of a method, called by that very method."""
        return self.own[i].part and i + 1 < len(self.own) \
            and (self.own[i].kind, self.own[i].name) == (self.own[i + 1].kind, self.own[i + 1].name)

    def names(self, positions):
        return tuple(self.own[i].name for i in positions)

    @property
    def identical(self):
        return self.names(self.visible) == self.theirs and self.result == "S_OK"

    @property
    def rules(self):
        """The RULES that had something to do."""
        return {"dynamic": any(f.kind == "dynamic" for f in self.own),
                "hidden": any(f.hidden for f in self.own),
                "merged": any(self.is_merged(i) for i in range(len(self.own)))}


def throw_helpers(differences):
    """The runtime's functions that managed code calls to throw.

    They have no names in its file, but where its exception handling in managed code (System.Runtime.EH)
    is on the stack they are the ones just above the method that threw.
    """
    found = set()
    for d in differences:
        for i, frame in enumerate(d.own):
            if frame.hidden:
                j = i + 1
                while j < len(d.own) and d.own[j].runtime:
                    j += 1
                if j < len(d.own) and j > i + 1 and d.own[j].managed and not d.own[j].hidden:
                    found.add(d.own[j - 1].name)
    return found


def classify(d, helpers):
    """"identical", or one of CLASSES."""
    if d.identical:
        return "identical"
    if d.stop != "end" or not STARTS.match(d.own[-1].name):
        return "cut"
    if d.preemptive and begins_late(d):
        return "preemptive"
    if d.result != "S_OK" and not d.theirs:
        return "error"
    throwing = any(f.hidden or f.name in helpers for f in d.own)
    if throwing and lacks_only_thrown(d, to_the_root=True):
        return "throw"
    if throwing and lacks_only_thrown(d, to_the_root=False):
        return "short"
    return "unexplained"


def lacks_only_thrown(d, to_the_root):
    """Whether what the runtime left out are whole runs of frames just below its own dispatcher.

    Both stacks are gone through from the leaf; `states` holds how many of the runtime's frames may
    be matched by now, and whether the last frame of ours was one that it left out.
    """
    states = {(0, False)}
    for i in d.visible:
        below_runtime = i > 0 and (d.own[i - 1].runtime or d.own[i - 1].hidden)
        states = {(k + 1, False) for k, _ in states
                  if k < len(d.theirs) and d.theirs[k] == d.own[i].name} \
            | {(k, True) for k, missing in states if missing or below_runtime}
        if not to_the_root and (len(d.theirs), False) in states:
            return True
    return any(k == len(d.theirs) for k, _ in states)


def begins_late(d):
    """Whether the runtime's walk lacks only what lies above native code."""
    more = len(d.visible) - len(d.theirs)
    if more <= 0 or d.names(d.visible[more:]) != d.theirs:
        return False
    below = d.own[d.visible[more - 1] + 1:]
    first = next((f for f in below if f.kind not in ("dynamic", "stub")), None)
    return first is not None and first.kind == "native"


#: What the loading of one library costs a run, in samples that come one after the other ("cut").
LIBRARY_SAMPLES = 10


def unlucky(mean, chance):
    """The number that something rare, MEAN times expected, exceeds with less than this chance.

    Chernoff's bound for a Poisson distribution.
    """
    n = math.ceil(mean)
    while mean and n - mean - n * math.log(n / mean) > math.log(chance):
        n += 1
    return n


class Findings:
    """What came of one program under one runtime by one engine, over all its runs."""

    def __init__(self, program, tfm, engine="signal"):
        self.program, self.tfm, self.engine = program, tfm, engine
        self.counts = collections.Counter()
        self.stops = collections.Counter()
        self.classes = collections.Counter()
        self.rules = collections.Counter()
        self.errors = collections.Counter()
        self.failures = collections.Counter()
        self.walkers = collections.defaultdict(list)
        self.runtime = ""
        self.hung = 0
        self.unexplained = []

    def add(self, data):
        frames = [Frame(f["kind"], data["functions"][f["function"]] if "function" in f else "?",
                        f["part"]) for f in data["frames"]]
        differences = [Difference(d, frames, data["functions"]) for d in data["differences"]]
        helpers = throw_helpers(differences)
        for d in differences:
            verdict = classify(d, helpers)
            self.classes[verdict] += 1
            if verdict == "identical":
                self.rules.update(name for name, used in d.rules.items() if used)
            if d.result != "S_OK":
                self.errors[d.result] += 1
            if verdict in ("unexplained", "cut"):
                self.unexplained.append((verdict, d))
        self.classes["identical"] += data["identical"]
        self.rules["dynamic"] += data["with_dynamic"]
        self.classes["unexplained"] += data["lost"]
        self.counts.update({k: v for k, v in data.items() if isinstance(v, int)})
        self.stops.update(data["stops"])
        self.failures.update(data["failures"])
        for name, walker in data["walkers"].items():
            if walker["walks"]:
                self.walkers[name].append(walker)
        self.runtime = data["runtime"]

    @property
    def compared(self):
        return self.counts["compared"]

    def percent(self, n):
        return 100 * n / self.compared if self.compared else 0

    @property
    def identical(self):
        return self.percent(self.classes["identical"])

    @property
    def explained(self):
        return self.percent(sum(self.classes[c] for c in ("identical", *EXPLAINED)))

    @property
    def whole(self):
        walks = sum(self.stops.values())
        return 100 * self.stops["end"] / walks if walks else 0

    def broken_promises(self, chance=None):
        """What was found to be less than was promised.

        In a few hundred samples a rare difference is soon more than its share. With CHANCE a promise
        is broken when so many misses would come by chance in less than one run of 1 / CHANCE.
        """
        for text, found, promised in zip(("identical", "identical or explained"),
                                         (self.identical, self.explained), PROMISES[self.engine][self.program]):
            allowed = self.compared * (100 - promised) / 100
            if chance:
                allowed = unlucky(allowed, chance) + LIBRARY_SAMPLES
            if self.compared * (100 - found) / 100 > allowed + 1e-6:
                yield f"{self.program}, {self.engine}: {found:.3f} % of {self.compared} {text}, promised {promised} %"
        if self.counts["misnamed"]:
            yield f"{self.program}, {self.engine}: our map took {self.counts['misnamed']} frames for another method"

    def dump(self, limit):
        """The commonest stacks that count against us, ours and theirs."""
        groups = collections.defaultdict(list)
        for verdict, d in self.unexplained:
            groups[verdict, d.result, d.stop, d.preemptive, d.names(d.visible)[:4], d.theirs[:4]].append(d)
        for key, group in sorted(groups.items(), key=lambda g: -len(g[1]))[:limit]:
            yield f"{self.program}, {self.engine}: {key[0]}, {len(group)} samples: {key[1]}, ours ended with {key[2]}," \
                  f" {'preemptive' if key[3] else 'cooperative'}"
            yield "  ours:"
            yield from (f"    {f.kind:8}{f.name}{' (part)' if f.part else ''}" for f in group[0].own[:40])
            yield "  the runtime's:"
            yield from (f"    {name}" for name in group[0].theirs[:20])


def failures(recording):
    """What the engine itself says that it could not do, by reason."""
    report = json.loads(harness.run([harness.DNPROF, "report", "--json", recording]).expect().out)
    return sum((collections.Counter(event["failures"]) for event in report["events"].values()),
               collections.Counter())


def run_once(program, tfm, engine, hz, seconds, findings, timeout, env=None):
    """One run of a program; a run that hangs is ended and counted."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            harness.run(harness.program(tfm, program, "--seconds", seconds),
                        env={**environment(engine, folder, hz), **(env or {})}, timeout=timeout).expect()
        except harness.Hung:
            findings.hung += 1
            return
        findings.add(json.loads((Path(folder) / "findings.json").read_text()))
        if engine in ENGINES and ENGINES[engine][0]:
            findings.failures.update(failures(*Path(folder).glob("*.dnp")))


#: So often a program may hang before it is left alone.
HUNG_MAX = 4


def judge(program, tfm=harness.NEWEST, engine="signal", *, samples=10_000, hz=None, seconds=4, most_runs=20):
    """Runs a program until so many samples were compared, or it hung too often."""
    findings = Findings(program, tfm, engine)
    for _ in range(most_runs):
        run_once(program, tfm, engine, hz or ENGINES[engine][1], seconds, findings, timeout=60 + 10 * seconds)
        if findings.compared >= samples or findings.hung == HUNG_MAX:
            break
    return findings
