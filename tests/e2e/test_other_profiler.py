# SPDX-License-Identifier: MIT
"""`dnprof run --profiler-clsid`: a program with a profiler that is not ours, in that one process."""
import os
import shutil

import pytest

from harness import DNPROF, NEWEST, NO_PROFILERS, OTHER_CLSID as CLSID, dnprof, other_profiler, program, refused, spoiled, told

HOST = DNPROF.parents[1] / "tests/tools/fake-host"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return other_profiler(tmp_path_factory.mktemp("profiler"))


def with_profiler(tmp_path, library, *options, argv=None, clsid=CLSID, env=None):
    argv = argv or program(NEWEST, "exitcode", 5)
    marks = tmp_path / "marks"
    marks.mkdir(exist_ok=True)
    result = dnprof("run", "--profiler-clsid", clsid, "--profiler-path", library, *options, "--", *argv,
                    env={"MARK_FOLDER": str(marks), **(env or {})}, cwd=tmp_path)
    return result, sorted(os.listdir(marks))


@pytest.mark.parametrize("clsid", [CLSID, CLSID.strip("{}"), CLSID.lower()])
def test_other_profiler(tmp_path, tfm, library, clsid):
    result, marks = with_profiler(tmp_path, library, argv=program(tfm, "exitcode", 5), clsid=clsid)
    result.expect(5)
    assert len(marks) == 1 and not result.complaints()
    assert sorted(os.listdir(tmp_path)) == ["marks"], "nothing is recorded"


def test_other_profiler_variables(tmp_path, library):
    result, marks = with_profiler(tmp_path, library, "--profiler-env", "MARK_TEXT=a=b c", "--profiler-env", "OTHER=")
    result.expect(5)
    assert (tmp_path / "marks" / marks[0]).read_text() == "a=b c"


def test_other_profiler_relative_path(tmp_path, library):
    os.symlink(library, tmp_path / "here.so")
    result, marks = with_profiler(tmp_path, "./here.so")
    result.expect(5)
    assert len(marks) == 1


#: A host that loads the profiler itself, and two real programs after it.
def family():
    app = program(NEWEST)[0]
    return [HOST, "run", "/bin/sh", "-c", f"{app} exitcode 0; {app} exitcode 3"]


def test_other_profiler_is_not_inherited(tmp_path, library):
    result, marks = with_profiler(tmp_path, library, argv=[HOST, "no-profiler", *family()[1:]])
    assert marks == [], result
    assert result.out.count("leaving with") == 2, result
    told(result, 1, "the profiler was not loaded: no .NET runtime")


def test_other_profiler_in_children(tmp_path, library):
    result, marks = with_profiler(tmp_path, library, "--children", argv=family())
    assert len(marks) == 2, result
    assert not result.complaints()


def test_children_hear_nothing(tmp_path, library):
    """A refused request in a child leaves no line, and does no harm."""
    script = f"{program(NEWEST)[0]} exitcode 3"
    result, marks = with_profiler(tmp_path, library, argv=[HOST, "no-profiler", "run", "/bin/sh", "-c", script])
    assert marks == [] and len(result.err.splitlines()) == 1, result


def test_other_profiler_of_another_class(tmp_path, library):
    result, marks = with_profiler(tmp_path, library, clsid="{00000000-0000-0000-0000-00000000000A}",
                                  argv=program(NEWEST, "exitcode", 0))
    told(result, 1, "not loaded", r"CLASS_E_CLASSNOTAVAILABLE \(0x80040111\)", "--profiler-clsid")
    assert marks == []


@pytest.mark.parametrize("copied, words", [(False, "dnprof's own library"), (True, "CLASS_E_CLASSNOTAVAILABLE")])
def test_own_library(tmp_path, copied, words):
    """Which passes the request on to itself: it ends, and the program runs."""
    own = DNPROF.with_name("libdnprof.so")
    if copied:
        own = shutil.copy(own, tmp_path / "copy.so")
    result, _ = with_profiler(tmp_path, own, argv=program(NEWEST, "exitcode", 0))
    told(result, 1, "not loaded", words)


def test_other_profiler_replaces(tmp_path, library):
    env = {"CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": "{x}", "CORECLR_PROFILER_PATH_64": "/opt/apm.so"}
    result, marks = with_profiler(tmp_path, library, env=env)
    told(result, 5, "/opt/apm.so, is not loaded", "a program takes one")
    assert len(marks) == 1


@pytest.mark.parametrize("clsid", ["", "{}", "x", CLSID[:-1], CLSID + "}", "{{" + CLSID[2:],
                                   CLSID.replace("-", "", 1), CLSID.replace("D", "G", 1)])
def test_not_a_guid(tmp_path, library, clsid):
    result, _ = with_profiler(tmp_path, library, clsid=clsid)
    refused(result, 2, "not a GUID", "{DF9EDC4B")


@pytest.mark.parametrize("variable", ["", "=x", "NAME"])
def test_not_a_variable(tmp_path, library, variable):
    result, _ = with_profiler(tmp_path, library, "--profiler-env", variable)
    refused(result, 2, "--profiler-env", "NAME=VALUE")


@pytest.mark.parametrize("how,words", NO_PROFILERS)
def test_library_that_is_none(tmp_path, library, how, words):
    result, marks = with_profiler(tmp_path, spoiled(tmp_path, library, how))
    refused(result, 1, words)
    assert marks == []


@pytest.mark.parametrize("options,words", [
    (["--profiler-clsid", CLSID], ["--profiler-path"]),
    (["--profiler-path", "x.so"], ["--profiler-clsid"]),
    (["--profiler-env", "A=B"], ["--profiler-clsid"]),
    (["--profiler-clsid", CLSID, "--profiler-path", "x.so", "-o", "x.dnp"], ["--output", "records nothing"]),
    (["--profiler-clsid", CLSID, "--profiler-path", "x.so", "-e", "trace"], ["--event", "records nothing"]),
])
def test_other_profiler_refused(options, words):
    refused(dnprof("run", *options, "--", *program(NEWEST, "exitcode", 0)), 2, *words)


def test_other_profiler_only_in_dotnet(tmp_path, library):
    result, _ = with_profiler(tmp_path, library, argv=["/bin/true"])
    refused(result, 1, r"not \.NET")


def test_other_profiler_killed(tmp_path, library):
    result, _ = with_profiler(tmp_path, library, argv=[HOST, "kill", 9])
    assert result.status == 137
