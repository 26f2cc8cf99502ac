# SPDX-License-Identifier: MIT
"""What bash offers behind the words that are typed, by packaging/dnprof.bash."""
import re

import pytest

from harness import ROOT, dnprof, on_terminal, run

ASKED = f'. {ROOT}/packaging/dnprof.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dnprof; printf "%s\\n" "${{COMPREPLY[@]}}"'


def offered(*words, cwd=None):
    """For the last one of them."""
    return sorted(run(["bash", "-c", ASKED, "bash", "dnprof", *words], cwd=cwd).expect().out.splitlines())


@pytest.mark.parametrize("words", (["report"], ["report", "-o"], ["export", "-o"], ["run", "--", "true"], ["attach", "--port"]),
                         ids=" ".join)
def test_names_with_blanks(tmp_path, words):
    for name in ("two words.dnp", "two  more*.dnp", "other.dnp"):
        (tmp_path / name).touch()
    assert offered(*words, "two", cwd=tmp_path) == ["two  more*.dnp", "two words.dnp"]


def test_all_that_can_be_recorded():
    def told(*words):
        return set(re.search("this version records (.*?);", dnprof(*words).err)[1].split(", "))

    known = told("run", "-e", "?", "true")
    assert set(offered("run", "-e", "")) == known
    assert set(offered("record", "-e", "")) == set(offered("start", "--event", "")) == told("start", "-e", "?", "1") \
        == known - {"trace", "transition"}
    assert set(offered("report", "-e", "")) == known | {"live", "wait", "lock-owner", "transition-in"}


def test_lists_go_on_behind_a_comma():
    assert offered("run", "-e", "cpu,sw") == ["cpu,switch"]
    assert offered("record", "-e", "cpu,gc,") == sorted(f"cpu,gc,{event}" for event in offered("record", "-e", ""))
    assert offered("report", "-e", "cpu,sw") == [""]


def test_formats():
    assert offered("export", "-f", "c") == ["chrome", "collapsed", "csv"]


@pytest.mark.parametrize("typed, shown", [
    ("run --event=exc", "run --event=exception"), ("run --event=cpu,sw", "run --event=cpu,switch"),
    ("export --format=cs", "export --format=csv"), ("report --output=two", r"report --output=two\ words.dnp"), ("record -e exc", "record -e exception")])
@pytest.mark.parametrize("breaks", ["", 'COMP_WORDBREAKS=${COMP_WORDBREAKS//=}; '], ids=["", "no breaks"])
def test_behind_an_equals_sign(tmp_path, typed, shown, breaks):
    """As bash itself takes words apart, which has the equals sign for one."""
    (tmp_path / "two words.dnp").touch()
    _, screen = on_terminal(
        ["/bin/bash", "--norc", "--noprofile", "-i"], tmp_path,
        {"PS1": "first> ", "INPUTRC": "/dev/null", "HISTFILE": "/dev/null", "TERM": "dumb"},
        keys=[(b"first> ", f"{breaks}. {ROOT}/packaging/dnprof.bash; PS1='th''en> '\n".encode()),
              (b"then> ", f"dnprof {typed}\t#typed".encode()), (b"#typed", b"\x15exit\n")])
    assert f"dnprof {shown} #typed" in screen, screen
