# SPDX-License-Identifier: MIT
"""Programs that start programs: without --children no child is touched, with it each .NET child has a
recording of its own; builds with their servers end when they would; tests give the same results."""
import os
import re
import shutil
import signal
import struct
import uuid
from pathlib import Path

import pytest

from harness import AGENT, LOOSE, NEWEST, PATIENCE_S, ROOT, dnprof, program, record, report, run
from net import surroundings

TAG = "TRUTH_SESSION"


@pytest.fixture
def tagged():
    """An environment by which all processes of a test are known; what is left of them is ended."""
    tag = uuid.uuid4().hex
    yield {TAG: tag}
    for pid in processes(tag):
        os.kill(pid, signal.SIGKILL)


def processes(tag):
    """Pids of the processes whose environment has the tag."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"{TAG}={tag}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


#: For builds that leave servers, which is what the tests are about; `tagged` ends them.
SERVERS = {name: value for name, value in surroundings.MADE.items() if not re.search("SERVER|NODEREUSE|Shared", name)}


@pytest.fixture
def solution(tmp_path, tagged):
    """A copy of the small solution, restored."""
    place = tmp_path / "solution"
    shutil.copytree(ROOT / "tests/apps/solution", place, ignore=shutil.ignore_patterns("bin", "obj"))
    run(["dotnet", "restore", "Small.sln", "-nodeReuse:false"], cwd=place, env=surroundings.MADE | tagged,
        timeout=3 * PATIENCE_S).expect()
    return place


def test_without_children_none_is_touched(tmp_path, tfm):
    """`fork` itself checks the environments; its .NET children must not be in the recording."""
    _, profile = record(tmp_path, program(tfm, "fork", "--seconds", 0.5))
    assert profile.total("Truth.Fork.Run") > 0
    assert profile.total("Truth.Endings.ExitCode") == 0


def test_with_children_each_has_its_own(tmp_path):
    argv = program(NEWEST, "fork", "--children-profiled", "--seconds", 0.5)
    result, profile = record(tmp_path, argv, options=["--children"], hz=4999)
    assert profile.total("Truth.Fork.Run") > 0
    assert profile.total("Truth.Program.Main") > profile.total("Truth.Fork.Run"), \
        "children whose Main does something else are there too"


def environment_of_run(tmp_path):
    """What a program finds in its environment whose parent is recorded with its children, and the folder that goes with that."""
    truth = " ".join(map(str, program(NEWEST, "cpu", "--seconds", 0.2)))
    dnprof("run", "-q", "--children", "-o", tmp_path / "out.dnp", "--",
           "sh", "-c", f"env -0 > {tmp_path / 'environment'} && {truth}").expect()
    variables = dict(v.split("=", 1) for v in (tmp_path / "environment").read_text().split("\0") if "=" in v)
    own = {n: v for n, v in variables.items() if n.startswith(("CORECLR_", "DNPROF_"))}
    folder = Path(re.search(r"session=([^;]+)/session", own["DNPROF_OPTIONS"]).group(1))
    assert not folder.exists()
    return own, folder


def as_ever(environment):
    result = run(program(NEWEST, "cpu", "--seconds", 0.5), env=environment).expect()
    assert result.truth["work"] > 0 and not result.err, result


def test_program_that_starts_when_dnprof_has_gone(tmp_path):
    """Its parent, which dnprof did not wait for, had the environment still: nothing is recorded, and nothing is said."""
    environment, folder = environment_of_run(tmp_path)
    as_ever(environment)
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make files that are another user's")
def test_folder_that_another_user_has_made_is_not_used(tmp_path):
    """Where anybody may make folders (/tmp), anybody may make that one when dnprof has removed it."""
    environment, folder = environment_of_run(tmp_path)
    session = folder / "session"
    (folder / "processes").mkdir(parents=True)
    session.write_bytes(struct.pack("<II", 0x53504E44, 4).ljust(65536, b"\0"))
    for path in (session, folder / "processes", folder):
        path.chmod(0o777)
        os.chown(path, 65534, 65534)
    before = session.read_bytes()
    as_ever(environment)
    assert session.read_bytes() == before, "memory is shared with another user, who can end the program by it"
    assert {path.name for path in folder.rglob("*")} == {"session", "processes"}
    said = run(program(NEWEST, "cpu", "--seconds", 0.2),
               env={**environment, "DNPROF_OPTIONS": environment["DNPROF_OPTIONS"] + ";verbose=1"}).expect().err
    assert re.search(r"^dnprof: the recording in '.*' cannot be made: the folder is not of who started dnprof; run ", said, re.M), said


def test_child_shell_script(tmp_path):
    """A script that starts .NET programs one after the other, some at once."""
    truth = program(NEWEST)[0]
    script = f"{truth} cpu --seconds 0.4 & {truth} mix --seconds 0.4; wait; exit 7"
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-F", 997, "--children", "-o", out, "--", "sh", "-c", script).expect(7)
    profile = report(out)
    assert profile.total("Truth.Cpu.Run") > 100 // LOOSE and profile.total("Truth.Mix.Run") > 100 // LOOSE


def profiled(pid):
    try:
        return AGENT.name in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def outputs(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*.dll") if "bin" in p.parts)


@pytest.mark.slow
@pytest.mark.soak
def test_build(tmp_path, solution, tagged):
    """`dotnet build` makes what it would make; its nodes and servers are left alone."""
    out = tmp_path / "build.dnp"
    result = dnprof("run", "-q", "-o", out, "--", "dotnet", "build", "Small.sln", "--no-restore",
                    cwd=solution, env=SERVERS | tagged, timeout=3 * PATIENCE_S).expect()
    assert "0 Error(s)" in result.out
    assert len([o for o in outputs(solution) if o.endswith("/Library.dll")]) == 3
    left = processes(tagged[TAG])
    assert not [pid for pid in left if profiled(pid)], "no server is profiled"
    assert report(out).samples > 50 // LOOSE


@pytest.mark.slow
def test_build_with_children(tmp_path, solution, tagged):
    """Nodes and servers that outlive the build neither hang it nor go on being recorded."""
    out = tmp_path / "build.dnp"
    dnprof("run", "-q", "--children", "-o", out, "--", "dotnet", "build", "Small.sln", "--no-restore",
           cwd=solution, env=SERVERS | tagged, timeout=3 * PATIENCE_S)
    size = out.stat().st_size
    again = run(["dotnet", "build", "Small.sln", "--no-restore", "--no-incremental"], cwd=solution,
                env=SERVERS | tagged, timeout=3 * PATIENCE_S).expect()
    assert "0 Error(s)" in again.out, "servers that were profiled still work"
    assert out.stat().st_size == size, "nothing is recorded after the end"
    assert report(out, options=()).samples > 200 // LOOSE


def results_of_tests(text):
    """Every test with its result, and how many there were."""
    names = re.findall(r"^\s+(Passed|Failed|Skipped) (\S.*) \[", text, re.M)
    total = re.search(r"^Total tests: (\d+)", text, re.M)
    assert total and len(names) == int(total[1]) > 0, text
    return sorted(names)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("options", [[], ["--children"]])
def test_tests(tmp_path, solution, tagged, options):
    """A real test project: the same tests pass, fail and are skipped."""
    run(["dotnet", "build", "Small.sln", "--no-restore", "-nodeReuse:false", "-p:UseSharedCompilation=false"],
        cwd=solution, env=surroundings.MADE | tagged, timeout=3 * PATIENCE_S).expect()
    # It kills its test host, and with it the end of a recording, where that takes longer than 100 ms to end.
    # And it waits a minute and a half only for the host to begin.
    tagged = surroundings.MADE | tagged | {"VSTEST_TESTHOST_SHUTDOWN_TIMEOUT": str(PATIENCE_S * 1000),
                       "VSTEST_CONNECTION_TIMEOUT": str(PATIENCE_S)}
    argv = ["dotnet", "test", "Small.sln", "--no-build", "-v", "normal"]
    alone = run(argv, cwd=solution, env=tagged, timeout=3 * PATIENCE_S)
    assert alone.status == 1, "one test fails on purpose"
    out = tmp_path / "tests.dnp"
    with_it = dnprof("run", "-q", "-F", 1999, *options, "-o", out, "--", *argv, cwd=solution, env=tagged,
                     timeout=3 * PATIENCE_S)
    assert with_it.status == alone.status, with_it
    assert results_of_tests(with_it.out) == results_of_tests(alone.out)
    seen = report(out).total("Library.Text.Reverse")
    assert (seen > 0) == bool(options), "the test host is a child"
