# SPDX-License-Identifier: MIT
"""Which methods are compiled, against what the runtime counts itself; and what is loaded."""
import collections
import re

import attached
import records
from harness import NEWEST, check_whole, dnprof, plain, program, report

#: Nothing is compiled in the background, so that counts of one moment are exact.
ONE_TIER = {"DOTNET_TieredCompilation": "0"}


def check_compiled(out, truth, before=1):
    shown = report(out, options=("-e", "jit", "-n", 0))
    event = shown.data["events"]["jit"]
    assert event["unit"] == "ns"
    check_whole(event)
    inside = [s.weight for at, s in records.samples(out) if truth["from"] <= at <= truth["to"]]
    assert len(inside) == truth["methods"]
    # Each takes longer than what the runtime counts of it: that is only the compiler itself.
    assert sum(inside) >= truth["ns"] * 0.9
    counts = collections.Counter()
    for t in shown.data["types"]:
        counts[re.sub(r" \[.*", "", t["name"])] += t["count"]
    assert counts["Truth.Compiled.Generic"] == before + truth["generics"]
    emitted = sum(n for name, n in counts.items() if re.fullmatch(r"dynamicClass\.Emitted\d+", name))
    assert emitted == truth["dynamics"]
    # As everywhere else, not with the runtime's signs.
    assert counts["Odd.Na,me[x]*.Answer"] == 1 + before
    assert counts["Truth.Compiled+Outer<System.Int64>+Inner<System.Byte>.Sizes"] == before
    assert all(re.search(r" \[(optimized|minimal optimization|tier [01])(, .*)?\]$", t["name"]) for t in shown.data["types"])
    return shown


def test_each_is_counted(tmp_path, tfm):
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "jit", "-o", out, "--", *program(tfm, "compiled"), env=ONE_TIER).expect()
    shown = check_compiled(out, result.truth)
    # Who needed it is below: the method that asked for it.
    places = collections.Counter()
    for path, _ in shown.stacks():
        if path[-1].startswith("Truth.Compiled.Generic ["):
            places[any(plain(frame) == "Truth.Compiled.Prepare" for frame in path)] += 1
    assert set(places) == {True}


def attach_to(tmp_path, argv, events):
    """(What the program left behind, the recording): it works while both are there."""
    out, when = tmp_path / "out.dnp", tmp_path / "when"
    with attached.Running([*argv, "--when", when], 0.05) as it:
        return it.record_when_told(events, out, when, "the end of the work"), out


def test_compiled_after_attach(tmp_path, tfm):
    one_tier = [f"{name}={value}" for name, value in ONE_TIER.items()]
    result, out = attach_to(tmp_path, ["env", *one_tier, *program(tfm, "compiled")], "jit")
    check_compiled(out, result.truth, before=0)


def test_tiers(tmp_path, tfm):
    """A loop without end is replaced by a better one while it runs."""
    out = tmp_path / "out.dnp"
    dnprof("run", "-q", "-e", "jit", "-o", out, "--", *program(tfm, "osr", "--seconds", 2)).expect()
    names = [t["name"] for t in report(out, options=("-n", 0)).data["types"]]
    assert any(re.fullmatch(r"Truth\.Osr\..* \[tier 0.*\]", name) for name in names), names
    assert any(re.fullmatch(r"Truth\.Osr\..* \[tier 1, on-stack replacement\]", name) for name in names), names


def check_loaded(out, truth):
    shown = report(out, options=("-e", "load", "-n", 0))
    event = shown.data["events"]["load"]
    assert event["unit"] == "loads"
    check_whole(event)
    counts = {t["name"]: t["count"] for t in shown.data["types"]}
    assert counts["assembly plugin"] == truth["plugins"]
    modules = [n for name, n in counts.items() if re.fullmatch(r"module .*[/\\]plugin\.dll", name)]
    assert modules == [truth["plugins"]]
    # As the runtime says it: once each, where somebody asked for it.
    classes = collections.Counter()
    for path, n in shown.stacks():
        if path[-1].startswith("Truth.Loaded+Holder<Truth.Types+Pair<"):
            classes[path[-1]] += n
            assert any(plain(frame) == "Truth.Loaded.LoadClass" for frame in path)
    assert len(classes) == truth["known"] + truth["classes"] and set(classes.values()) == {1}


def test_what_is_loaded(tmp_path, tfm):
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "load", "-o", out, "--", *program(tfm, "loaded")).expect()
    check_loaded(out, result.truth | {"known": 1})


def test_loaded_after_attach(tmp_path, tfm):
    result, out = attach_to(tmp_path, program(tfm, "loaded"), "load")
    check_loaded(out, result.truth | {"known": 0})


def test_together(tmp_path, tfm):
    """With all else that happens, at once."""
    out = tmp_path / "out.dnp"
    result = dnprof("run", "-q", "-e", "cpu,exception,jit,load,alloc", "-o", out, "--", *program(tfm, "loaded")).expect()
    check_loaded(out, result.truth | {"known": 1})


def test_text(tmp_path):
    dnprof("run", "-q", "-e", "jit", "-o", tmp_path / "out.dnp", "--", *program(NEWEST, "compiled")).expect()
    text = dnprof("report", "-n", 0, tmp_path / "out.dnp").expect().out
    assert re.search(r"^jit: [\d,]+ samples, [\d.]+ \S+, MethodJittingStarted, MethodLoadVerbose$", text, re.M), text
    assert re.search(r"^Types\n   share        time       count .* type\n", text, re.M)
    assert re.search(r"   Truth\.Program\.Main \[tier 0\]$", text, re.M)
