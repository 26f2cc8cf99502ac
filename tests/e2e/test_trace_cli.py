# SPDX-License-Identifier: MIT
"""`dnprof run -e trace` as users meet it: its options, what is refused, patterns that match nothing, full
disks."""
import re
import resource

import pytest

from harness import NEWEST, dnprof, dnprof_again, plain, program, refused, report, told


def trace(tmp_path, *options, argv=None, name="out.dnp", **more):
    argv = argv or program(NEWEST, "cpu", "--seconds", 0.3)
    return dnprof_again("run", "-q", "-e", "trace", "-o", tmp_path / name, *options, "--", *argv, **more)


def calls(path, *options):
    """Calls by method, overloads and instances together."""
    found = {}
    for m in report(path, options=["--event", "trace", *options]).data["methods"]:
        found[plain(m["name"])] = found.get(plain(m["name"]), 0) + m["calls"]
    return {name: n for name, n in found.items() if n}


# Options

@pytest.mark.parametrize("options,words", [
    (["-e", "trace", "--depth", "deep"], ["--depth deep", "tree, time, events"]),
    (["-e", "trace", "--depth", "2048"], ["--depth 2048", "tree, time, events"]),
    (["--depth", "time"], ["--depth", "add trace to -e"]),
    (["--framework"], ["--framework", "add trace"]),
    (["--no-inline"], ["--no-inline", "add trace"]),
    (["--no-tiering"], ["--no-tiering", "add trace"]),
    (["--transitions"], ["--transitions", "add trace"]),
    (["-e", "wall", "--log"], ["--log", "add trace"]),
    (["-e", "trace", "-F", "99"], ["-F", "add cpu or wall"]),
    (["-e", "trace", "-i", "10ms"], ["-i", "add cpu or wall"]),
    (["-e", "trace", "--frames", "99"], ["--frames", "add cpu or wall"]),
    (["-e", "cpu,trace", "--engine", "snapshot"], ["--engine snapshot", "one after the other"]),
    (["-e", "wall,trace", "--engine", "snapshot"], ["--engine snapshot", "one after the other"]),
    (["-e", "trace,trace"], ["trace is named twice"]),
    (["-e", "trace", "--log", "--depth", "tree"], ["--log", "--depth tree"]),
    (["-e", "trace", "--log", "--depth", "time"], ["--log", "--depth time"]),
    (["--frames", "0"], ["--frames 0", "1 to 32768"]),
    (["--include", "A.*"], ["--include", "dnprof report"]),
    (["--exclude", "A.*", "-o", "x.dnp"], ["--exclude", "dnprof report"]),
])
def test_refused(options, words):
    refused(dnprof("run", *options, "--", *program(NEWEST, "exitcode", 0)), 2, *words)


@pytest.mark.parametrize("options,words", [
    (["-e", "trace", "--engine", "signal"], ["--engine", "add cpu or wall"]),
    (["-e", "trace", "--source", "perf"], ["--source", "add cpu or wall"]),
])
def test_ways_to_sample_refused(options, words):
    refused(dnprof("run", *options, "--", *program(NEWEST, "exitcode", 0)), 2, *words)


@pytest.mark.parametrize("option", ["--include", "--exclude"])
@pytest.mark.parametrize("pattern,why", [
    ("", "empty"), ("A.*,", "empty"), ("A.*,,B.*", "empty"), ("A.F(int", "not closed"), ("A<*,B", "not closed"),
    ("A.F int)", "not opened"), ("A::B", "joined by a dot"), ("libc.so.6!malloc", "native"), ("A\nB", "character"),
])
def test_wrong_pattern(option, pattern, why):
    result = dnprof("run", "-e", "trace", option, pattern, "--", *program(NEWEST, "exitcode", 0))
    assert result.status == 2 and result.out == "", result
    assert why in result.err and option in result.err, result


def test_patterns_too_long():
    long = "A." + "b" * 1500
    refused(dnprof("run", "-e", "trace", "--include", long, "--include", long, "--",
                   *program(NEWEST, "exitcode", 0)), 2, "--include", "longer than")


def test_too_many_options():
    many = [w for i in range(65) for w in ("--include", f"A{i}")]
    refused(dnprof("run", "-e", "trace", *many, "--", "x"), 2, "too many options")


@pytest.mark.parametrize("depth", ["tree", "time", "events"])
def test_depths(tmp_path, tfm, depth):
    trace(tmp_path, "--depth", depth, argv=program(tfm, "cpu", "--seconds", 0.3)).expect()
    found = calls(tmp_path / "out.dnp")
    assert found["Truth.Program.Main"] == 1 and found["Truth.Cpu.Run"] == 1
    assert not [name for name in found if name.startswith("System.")]


@pytest.mark.parametrize("events", ["cpu,trace", "trace,wall", "cpu,wall,trace"])
def test_beside_samples(tmp_path, events):
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", events, "-o", out, "--", *program(NEWEST, "cpu", "--seconds", 0.5)).expect()
    data = report(out).data
    assert sorted(data["events"]) == sorted(events.split(","))
    assert calls(out)["Truth.Cpu.Run"] == 1
    for event in set(events.split(",")) - {"trace"}:
        assert data["events"][event]["samples"] > 0


def test_frames(tmp_path):
    """What --depth was before."""
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "--frames", 50, "-o", out, "--", *program(NEWEST, "deep", "--seconds", 0.5)).expect()
    assert report(out).shown["truncated"] > 0


def test_framework(tmp_path):
    trace(tmp_path, "--framework").expect()
    found = calls(tmp_path / "out.dnp")
    assert [name for name in found if name.startswith("System.")] and found["Truth.Cpu.Run"] == 1


def test_no_inline(tmp_path):
    """Methods that are inlined are called, then."""
    counts = []
    for options in ([], ["--no-inline"]):
        trace(tmp_path, *options, argv=program(NEWEST, "cpu", "--work", 2)).expect()
        counts.append(calls(tmp_path / "out.dnp"))
    assert len(counts[1]) > len(counts[0]) or sum(counts[1].values()) > sum(counts[0].values())


def test_duration(tmp_path):
    """The recording ends, the program and its hooks go on."""
    result = trace(tmp_path, "-d", "0.5", "--depth", "events",
                   argv=program(NEWEST, "cpu", "--seconds", 2)).expect()
    assert result.truth["program"] == "cpu"
    assert calls(tmp_path / "out.dnp")["Truth.Cpu.Run"] == 1


def test_children(tmp_path):
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "trace", "--children", "-o", out, "--", "/bin/sh", "-c",
           f"{program(NEWEST)[0]} cpu --seconds 0.2; {program(NEWEST)[0]} cpu --seconds 0.2").expect()
    assert calls(out)["Truth.Cpu.Run"] == 2


def test_another_profiler(tmp_path):
    env = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{x}", "CORECLR_PROFILER_PATH": "/opt/apm.so"}
    refused(trace(tmp_path, env=env), 1, "another profiler is configured", "/opt/apm.so", "unset")


def test_old_profilers_variables(tmp_path):
    """Those of the .NET Framework mean nothing to CoreCLR."""
    trace(tmp_path, env={"COR_ENABLE_PROFILING": "1", "COR_PROFILER": "{x}"}).expect()
    assert calls(tmp_path / "out.dnp")["Truth.Cpu.Run"] == 1


def test_summary(tmp_path):
    """Said when the user cannot know the file's name."""
    result = dnprof("run", "-e", "cpu,trace", "--", *program(NEWEST, "cpu", "--seconds", 0.3), cwd=tmp_path)
    told(result, 0, r"dnprof-\d+\.dnp: \d+ calls, \d+ samples in \d+\.\d s, lost 0; to read it")


@pytest.mark.parametrize("name,why", [("no/such/x.log", "No such file"), ("folder", "folder"), ("/dev/full", "regular")])
def test_log_that_cannot_be_written(tmp_path, name, why):
    """Known before anything runs."""
    (tmp_path / "folder").mkdir()
    result = trace(tmp_path, "--log", env={"LOG_FILENAME": name}, cwd=tmp_path)
    refused(result, 1, "cannot write the log to", why, "LOG_FILENAME")


@pytest.mark.parametrize("name,log", [("t.dnp", "t.dnp"), ("t.dnp", "{}/./t.dnp"), ("t.html", "./t.html"), ("a%%b.dnp", "a%b.dnp")])
def test_log_and_result_of_one_name(tmp_path, name, log):
    result = trace(tmp_path, "--log", name=name, env={"LOG_FILENAME": log.format(tmp_path)}, cwd=tmp_path)
    refused(result, 1, "cannot write the log to", "what -o names", "LOG_FILENAME")
    assert not list(tmp_path.iterdir())


def test_log_where_the_recording_of_a_page_would_lie(tmp_path):
    trace(tmp_path, "--log", name="t.html", argv=program(NEWEST, "exitcode", 0), env={"LOG_FILENAME": "t.html.dnp"},
          cwd=tmp_path).expect()
    assert {p.name for p in tmp_path.iterdir()} == {"t.html", "t.html.dnp"}
    assert "Truth.Program.Main : call count = 1" in (tmp_path / "t.html.dnp").read_text()
    assert (tmp_path / "t.html").read_text().startswith("<!")


def test_log_on_a_full_disk(small_disk):
    """The log is the larger by far: what else was asked for is there, and so is the recording."""
    result = trace(small_disk, "--log", name="out.txt", argv=program(NEWEST, "cpu", "--work", 1),
                   env={"LOG_FILENAME": str(small_disk / "x.log")})
    assert result.status == 1 and "space" in result.err, result
    assert not (small_disk / "x.log").exists()


# Filters

def test_include(tmp_path):
    trace(tmp_path, "--include", "Truth.Cpu.*").expect()
    found = calls(tmp_path / "out.dnp")
    assert found["Truth.Cpu.Run"] == 1
    assert all(name.startswith("Truth.Cpu.") for name in found)


def test_includes_add_up(tmp_path):
    trace(tmp_path, "--include", "Truth.Cpu.Run", "--include", "Nothing.At.All,Truth.Program.*").expect(3)
    found = calls(tmp_path / "out.dnp")
    assert found["Truth.Cpu.Run"] == 1 and found["Truth.Program.Main"] == 1
    assert all(name.startswith(("Truth.Cpu.Run", "Truth.Program.")) for name in found)


def test_exclude(tmp_path):
    trace(tmp_path, "--exclude", "Truth.Program.*").expect()
    found = calls(tmp_path / "out.dnp")
    assert found["Truth.Cpu.Run"] == 1
    assert not [name for name in found if name.startswith("Truth.Program.")]


@pytest.mark.parametrize("pattern", ["Truth.Cpp.*", "truth.cpu.*", "Cpu.Run", "Truth.Cpu.Runs"])
def test_include_that_matches_nothing(tmp_path, pattern):
    told(trace(tmp_path, "--include", pattern), 3, re.escape(f"--include '{pattern}'"), "matched no method",
         r"much like it are: .*Truth\.Cpu\.")
    assert not calls(tmp_path / "out.dnp")


def test_include_that_is_taken_out_again(tmp_path):
    told(trace(tmp_path, "--include", "Truth.Cpu.*", "--exclude", "Truth.*"), 3,
         r"--include 'Truth\.Cpu\.\*' left no method: --exclude takes out again")


def test_include_nothing_like_it(tmp_path):
    told(trace(tmp_path, "--include", "Zebra.Xylophone.*"), 3, "matched no method that ran; record without it")


def test_include_that_misses_is_said_of_other_formats(tmp_path):
    told(trace(tmp_path, "--include", "Truth.Cpp.*", name="out.txt"), 3, r"Truth\.Cpu\.")


def test_the_programs_status_goes_first(tmp_path):
    told(trace(tmp_path, "--include", "Zebra.*", argv=program(NEWEST, "exitcode", 5)), 5, "matched no method")


def test_include_framework(tmp_path):
    told(trace(tmp_path, "--include", "System.*"), 3, r"\.NET itself are left out; add --framework")
    trace(tmp_path, "--include", "System.*", "--framework").expect()
    found = calls(tmp_path / "out.dnp")
    assert found and all(name.startswith("System.") for name in found)


def test_exclude_that_matches_nothing(tmp_path):
    """Nothing is missing, so it is only said."""
    result = dnprof("run", "-e", "trace", "-o", tmp_path / "out.dnp", "--exclude", "Truth.Cpp.*,Truth.Program.*", "--",
                    *program(NEWEST, "cpu", "--seconds", 0.3))
    told(result, 0, r"--exclude 'Truth\.Cpp\.\*' matched no method", r"much like it are: .*Truth\.Cpu\.")
    assert calls(tmp_path / "out.dnp")["Truth.Cpu.Run"] == 1


def test_exclude_all(tmp_path):
    told(trace(tmp_path, "--exclude", "*"), 3, r"--exclude '\*' left out every method")


# Of samples the filter is that of the report

def test_samples_included(tmp_path):
    out = tmp_path / "out.collapsed"
    dnprof("run", "-q", "-F", 997, "-o", out, "--include", "Truth.Cpu.Run", "--exclude", "Nothing.*", "--",
           *program(NEWEST, "cpu", "--seconds", 0.5)).expect()
    lines = [line for line in out.read_text().splitlines() if not line.startswith("# ")]
    assert lines and all("Truth.Cpu.Run" in line for line in lines)


def test_samples_none_included(tmp_path):
    result = dnprof("run", "-q", "-F", 997, "-o", tmp_path / "out.txt", "--include", "Truth.Cpp.*", "--",
                    *program(NEWEST, "cpu", "--seconds", 0.5))
    told(result, 3, r"--include 'Truth\.Cpp\.\*'", r"much like it are: .*Truth\.Cpu\.")


# A full output

@pytest.mark.slow
def test_file_size_limit(tmp_path):
    """A recording that may not grow: the program is unharmed, dnprof says what is missing."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 10, 256 << 10))
    result = trace(tmp_path, "--depth", "events", argv=program(NEWEST, "cpu", "--seconds", 2),
                   preexec_fn=limit, env={"DOTNET_EnableWriteXorExecute": "0"})
    assert result.truth["program"] == "cpu"
    assert result.status == 3 and "too large" in result.err, result


@pytest.mark.slow
def test_full_disk(small_disk):
    result = trace(small_disk, "--depth", "events", argv=program(NEWEST, "cpu", "--seconds", 2))
    assert result.truth["program"] == "cpu"
    assert result.status == 3 and "space" in result.err, result
    assert dnprof("report", small_disk / "out.dnp").status == 3


def test_lists_that_are_given_in_parts(tmp_path):
    """All of them count, for whoever reads as for whoever records."""
    out = tmp_path / "out.dnp"
    both = ("Truth.Cpu.Sieve", "Truth.Cpu.Sines")
    dnprof("run", "-q", "-e", "trace", "-e", "gc", *(a for b in both for a in ("--include", b)), "-o", out, "--",
           *program(NEWEST, "cpu", "--seconds", 0.3)).expect()
    assert set(calls(out)) == set(both)
    assert set(report(out, options=["-e", "trace"]).data["events"]) == {"trace", "gc"}
    summary = dnprof("log", "--summary", *(a for b in both for a in ("--include", b)), out).expect().out
    assert all(f"{method} : call count" in summary for method in both)
    refused(dnprof("report", "-e", "trace", "-e", "gc", out), 2, "--event is given twice", "name one")
