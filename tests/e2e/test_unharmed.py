# SPDX-License-Identifier: MIT
"""Profiled programs do what they do alone. They check their own results; here it is seen that they ran
to the end, and that what they print and how they end is the same with and without."""
import json
import re
import signal

import pytest

from harness import LOOSE, NEWEST, PROGRAMS, SOAK, TFMS, Report, cases, dnprof, is_sequence, program, record, run, slow, steady

HZ = 1999

#: A program without a handler of it has one of dnprof's while it is sampled: os/linux/no_place.h.
SIGIO = 1 << signal.SIGIO - 1


def as_alone(truth):
    """The part of it that dnprof must not change."""
    kept = steady(truth)
    if "caught" in kept:
        kept["caught"] = int(kept["caught"], 16) & ~SIGIO
    return kept


#: The others compute, allocate or sleep; each of them runs, and checks its results, in other tests as well.
@pytest.mark.parametrize("name", cases(PROGRAMS, ["async", "dynamic", "exceptions", "fork", "native", "osr", "shortthreads",
                                                  "signals", "unload"],
                                       ["exceptions", "fork", "shortthreads", "unload"]))
def test_program(tmp_path, tfm, name):
    """A child that is forked from a program with threads may inherit a lock that nobody frees, and hang: so `fork` was seen
    under CoreCLR 8 without dnprof, which is for script/soak."""
    argv = program(tfm, name, "--seconds", 0.6)
    alone = run(argv).expect()
    profiled, report = record(tmp_path, argv, hz=HZ)
    assert as_alone(profiled.truth) == as_alone(alone.truth)
    assert profiled.stderr == alone.stderr
    assert report.samples > 0
    assert report.data["runtime"] == alone.truth["runtime"]


@pytest.mark.parametrize("tfm", cases(TFMS, ["net8.0"]))
def test_code_in_the_place_of_unloaded_code(tmp_path, tfm):
    """What was known of a library's code is forgotten before it is unmapped. (10 does not tell of such a library, 8 and 9 do.)"""
    _, report = record(tmp_path, program(tfm, "in-its-place", "--seconds", 0.5), hz=HZ)
    assert report.total("Truth.Unload.RunInItsPlace") > 0


@pytest.mark.parametrize("events", ["cpu", "wall"])
def test_stack_that_goes_astray(tmp_path, tfm, events):
    """Unwind tables that are wrong lead the walk to precompiled methods that were never called. The runtime, asked whose code
    that is, looks for one that was called beyond the first of the library, which ended the program."""
    _, report = record(tmp_path, program(tfm, "astray", "--seconds", 0.5), hz=HZ, options=("-e", events))
    assert report.total("libtruth_nofp.so!truth_astray") > 0
    assert report.data["events"][events]["unresolved"] > 0


@pytest.mark.parametrize("options", cases(["-e cpu,wall,alloc", "-e cpu,wall --engine snapshot", "-e trace",
                                           "-e cpu,switch --source timer"], ["-e cpu,wall,alloc"]))
def test_sets_the_ids_of_its_user(tmp_path, tfm, options):
    """All threads take part in that, dnprof's as well; else setuid() and its like would wait for ever."""
    record(tmp_path, program(tfm, "identity", "--seconds", 0.5), options=options.split())


def test_exceptions_at_a_high_rate(tmp_path, tfm):
    """Each NullReferenceException begins on a small alternative stack that a sample must not overflow."""
    record(tmp_path, program(tfm, "exceptions", "--seconds", 3 if SOAK else 1), hz=7993)


def test_demo(tmp_path, tfm):
    argv = program(tfm, 0.1 if SOAK else 0.02, app="shop")
    alone = run(argv).expect()
    profiled, report = record(tmp_path, argv, hz=997)
    assert profiled.stdout == alone.stdout
    assert report.total("Shop.Program.NightlyRun") > 0


@pytest.mark.parametrize("arguments", [["overflow"], ["overflow", "--thread"], ["crash", "--seconds", 0.3]])
def test_dies_as_it_would(tmp_path, tfm, arguments):
    """Stack overflow and unhandled exceptions: SIGABRT and the runtime's text, and a recording."""
    argv = program(tfm, *arguments)
    alone = run(argv)
    assert alone.status == -signal.SIGABRT
    out = tmp_path / "out.dnp"
    profiled = dnprof("run", "-q", "-F", HZ, "-o", out, "--", *argv)
    assert profiled.status in (alone.status, 128 + signal.SIGABRT), profiled
    assert first_words(profiled) == first_words(alone)
    assert "Truth.Endings" in profiled.err
    recorded = dnprof("report", "--json", out)
    assert recorded.status in (0, 3), recorded
    assert "Truth.Burn.For" in recorded.out


@pytest.mark.parametrize("arguments", [["crash", "--seconds", 0.05], slow(["overflow"]), slow(["overflow", "--thread"])])
def test_aborts_among_samples(tmp_path, tfm, arguments):
    """CoreCLR 8 takes its signal handlers away before it aborts, and all report a stack overflow at length on a
    small stack of their own; samples still come then. They must neither end the program, by whatever signal,
    nor keep it from going on. They do come: crashing takes hundreds of milliseconds, of which the recording has samples, and so
    it has of the recursion, right up to its end."""
    how, among = (("Unhandled exception.", ("Truth.Endings.Crash", re.compile(r"^libcoreclr\.so!"))) if arguments[0] == "crash"
                  else ("Stack overflow.", ("Truth.Endings.Endless",)))
    tries, seen = 0, 0
    while tries < (12 if SOAK else 2) or not seen:
        out, tries = tmp_path / "out.dnp", tries + 1
        assert tries < 50, "samples among it"
        profiled = dnprof("run", "-q", "-F", 9973, "-o", out, "--", *program(tfm, *arguments))
        assert profiled.status == 128 + signal.SIGABRT, profiled
        assert profiled.err.startswith(how) and "Truth.Endings." in profiled.err, profiled
        report = Report(json.loads(dnprof("report", "--json", out).stdout))
        seen += sum(n for stack, n in report.stacks() if is_sequence(stack, *among))


@pytest.mark.parametrize("options", [["-e", "cpu"], ["-e", "cpu", "--source", "timer"], ["-e", "wall"]])
def test_end_of_the_stack(tmp_path, tfm, options):
    """Where the stack is nearly used up the kernel has no room for a sample's signal and raises SIGSEGV in its
    place. The program goes on, such samples are told as lost, and later ones come."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-F", 1999, *options, "-o", out, "--", *program(tfm, "stackend"))
    assert result.truth["program"] == "stackend", result
    data = json.loads(dnprof("report", "--json", out).stdout)
    event = data["events"][options[1]]
    assert event["lost"] > 0, event
    afterwards = [m for m in data["methods"] if m["name"].startswith("Truth.StackEnd.Afterwards")]
    assert sum(m["total"] for m in afterwards) > 20, afterwards


def test_handler_of_traps(tmp_path):
    """A program that puts a handler of SIGTRAP of its own in place while it is sampled by traps gets all of its own signals. A
    few of ours come to it until that is noticed (README says so); then timers take their place, and samples go on."""
    result, report = record(tmp_path, program(NEWEST, "traps", "--seconds", 1.5), hz=997)
    assert result.truth["strangers"] < 150, result  # of some 500 intervals
    assert report.total("libtruth_nofp.so!truth_traps") > 100
    if any("somebody else wanted SIGTRAP" in problem for problem in report.data["problems"]):
        assert report.cpu["source"] == "timer" and "by timers: no kernel frames" in report.cpu["note"], report.cpu


@pytest.mark.parametrize("source", ["timer", "auto"])
def test_becomes_another_program(tmp_path, tfm, source):
    """A process that executes another program in its place. Signals of perf events outlive that (the kernel
    takes back those of timers only), and end it: then dnprof says what to do. Four threads compute, so that one is under
    way; where there are no perf events timers take their place."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-F", 9973, "--source", source, "-o", out, "--",
                    *program(tfm, "become", "--seconds", 0.3))
    report = Report(json.loads(dnprof("report", "--json", out).stdout))
    assert report.total("Truth.Burn.For") > 0
    if report.cpu["source"].startswith("perf"):
        assert source == "auto"
        brought = signal.SIGTRAP if "of all threads" in report.cpu["source"] else signal.SIGRTMIN
        assert result.status == 128 + brought and not result.out, result
        assert "--source timer" in result.err
    else:
        assert result.status == 3 and result.out == "became another program\n", result
        assert "the program ended amid it" in result.err


def first_words(result):
    """The runtime's first line; counts of repeated frames differ with the depth of the stack."""
    return [line.split(".")[0] for line in result.err.splitlines() if line][:1]


@pytest.mark.measured
@pytest.mark.parametrize("variable", cases(
    ["DOTNET_gcServer=1", "DOTNET_TieredPGO=0", "DOTNET_ReadyToRun=0", "DOTNET_TC_QuickJitForLoops=0",
     "DOTNET_EnableWriteXorExecute=0"], ["DOTNET_gcServer=1", "DOTNET_ReadyToRun=0", "DOTNET_EnableWriteXorExecute=0"]))
def test_runtime_settings(tmp_path, variable):
    name, value = variable.split("=")
    _, report = record(tmp_path, program(NEWEST, "mix", "--seconds", 0.7), hz=HZ, env={name: value})
    # Few samples, and of these many from libraries that are just being loaded.
    assert report.incomplete() <= report.samples * LOOSE * 0.01
