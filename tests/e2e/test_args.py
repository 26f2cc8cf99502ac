# SPDX-License-Identifier: MIT
"""`dnprof run -e trace --args`: exact instances of generic methods, and the values of calls, as the program
passed them."""
import re
from collections import Counter

import pytest

import records

from harness import NEWEST, PATIENCE_S, TESTED, check_whole, dnprof, dnprof_again, program, refused, report

LINE = re.compile(r"(?P<indent> *)(?:= (?P<result>.*)|(?P<name>[^(]+)\((?P<args>.*)\), id=0x[0-9a-f]+, "
                  r"call count = (?P<count>\d+))$")


def trace(tmp_path, tfm, *options, argv):
    return dnprof_again("run", "-q", "-e", "trace", "--args", "-o", tmp_path / "out.dnp", *options, "--",
                         *program(tfm, *argv), timeout=3 * PATIENCE_S)


def logged(path):
    """Each call of the log in its order: name, arguments, result (None: there is none)."""
    calls, open_calls = [], {}
    for line in dnprof("log", "--calls", path).expect().out.splitlines():
        if line.startswith("Thread "):
            continue
        m = LINE.match(line)
        assert m, line
        level = len(m["indent"])
        if m["result"] is not None:
            assert open_calls[level][2] is None, line
            open_calls[level][2] = m["result"]
        else:
            open_calls[level] = [m["name"], m["args"], None]
            calls.append(open_calls[level])
    return calls


def counters(path):
    return report(path, options=["--event", "trace"]).data["calls"]


def short(name):
    return name.removeprefix("Truth.").removeprefix("CallsValues.")


@pytest.mark.parametrize("tfm", TESTED)
@pytest.mark.parametrize("tiering", [[], ["--no-tiering"]], ids=["tiers", "optimised"])
def test_values(tmp_path, tfm, tiering):
    result = trace(tmp_path, tfm, "--depth", "events", *tiering, argv=["values"]).expect()
    want = [[call["method"], call["args"], None if call["result"] in ("void", "") else call["result"]]
            for call in result.truth["calls"]]
    names = {name for name, _, _ in want}
    have = [[short(name), args, value] for name, args, value in logged(tmp_path / "out.dnp")]
    have = [call for call in have if call[0] in names]
    for wanted, found in zip(want, have):
        assert wanted == found
    assert len(want) == len(have)


@pytest.mark.parametrize("tfm", TESTED)
@pytest.mark.parametrize("depth", ["tree", "time", "events"])
def test_exact_generics(tmp_path, tfm, depth):
    trace(tmp_path, tfm, "--depth", depth, argv=["values", "--work", 3]).expect()
    names = {short(m["name"]): m["calls"] for m in report(tmp_path / "out.dnp", options=["--event", "trace"]).data[
        "methods"]}
    for name, times in {"Same<string>(string)": 1, "Same<int>(int)": 1, "Same<Truth.Order>(Truth.Order)": 1,
                        "Shelf<string>.Put(string)": 1, "Shelf<Truth.Order>.Put(Truth.Order)": 1,
                        "Shelf<Truth.Order>..ctor()": 2, "Shelf<int>.Put(int)": 1,
                        "Kinds<string, int>(string, int)": 1}.items():
        assert names.get(name) == 3 * times, sorted(names)
    assert not [name for name in names if re.search(r"<(T|A)\b", name)]


@pytest.mark.parametrize("argv", [["exceptions", "--work", 20], ["unload", "--work", 3], ["async", "--work", 2],
                                  ["threads8", "--seconds", 0.2]], ids=lambda argv: argv[0])
@pytest.mark.parametrize("tfm", TESTED)
def test_unharmed(tmp_path, tfm, argv):
    """Its own results are right, and each begin has an end."""
    out = tmp_path / "out.dnp"
    result = trace(tmp_path, tfm, "--depth", "events", argv=argv).expect()
    assert result.truth["program"] == argv[0]
    event = report(out, options=["--event", "trace"]).data["events"]["trace"]
    check_whole(event)
    assert event["enters"] == event["leaves"] + event["tailcalls"] + event["unwinds"] + event["open"]
    counted = re.findall(r" : call count = (\d+)$", dnprof("log", "--summary", out).expect().out, re.M)
    assert sum(map(int, counted)) == event["enters"] > 0


@pytest.mark.slow
def test_types_when_code_is_unloaded(tmp_path):
    """Those that stay have the number that they had; those that go, whose places others may have, are never taken for them."""
    result = trace(tmp_path, NEWEST, "--depth", "events", argv=["unload", "--work", 5]).expect()
    told = Counter(record.name.decode() for _, record in records.read(tmp_path / "out.dnp", "call_type"))
    assert told["Plugin.Held"] == result.truth["unloaded"] == 5
    assert {"System.WeakReference", "System.Threading.Thread", "System.Func<int, long>"} <= set(told)
    assert {name for name, times in told.items() if times > 1} == {"Plugin.Held"}, told
    looks = [args for name, args, _ in logged(tmp_path / "out.dnp") if name == "Plugin.Held.Look"]
    assert len(looks) == 5 and len(set(looks)) == 1, looks


def test_framework(tmp_path):
    """Methods of every kind that .NET itself has."""
    trace(tmp_path, NEWEST, "--depth", "events", "--framework", argv=["exitcode", 0]).expect()
    assert any(args.startswith('"') for _, args, _ in logged(tmp_path / "out.dnp"))


def test_refused():
    refused(dnprof("run", "--args", "--", *program(NEWEST, "exitcode", 0)), 2, "--args", "add trace")
