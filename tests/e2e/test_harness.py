# SPDX-License-Identifier: MIT
"""What other tests take for granted."""
import pytest

import harness

from harness import DNPROF, start
from net import plugin


def test_child_is_not_dnprofs_own(monkeypatch):
    """`dnprof run` tries its agent in a child first, which has its command line, and none when it has ended."""
    with start(["sleep", "600"]) as run:
        lines = iter([f"{DNPROF} run -- truth cpu"])
        monkeypatch.setattr(harness, "command_line", lambda pid: next(lines, ""))
        with pytest.raises(AssertionError):
            run.child("truth", timeout=0.1)


def test_made_again_where_something_was_lost(tmp_path, monkeypatch):
    """Without what the first try has left, but with what was there; not for ever, and not for anything else."""
    monkeypatch.setattr(plugin, "LOG", None)  # this test itself is not made again
    (tmp_path / "had").touch()
    tries = []

    def told(*lost):
        tries.clear()

        @harness.again_where_lost
        def test(tmp_path):
            assert [p.name for p in tmp_path.iterdir()] == ["had"]
            (tmp_path / "made").mkdir()
            (tmp_path / "made/file").touch()
            tries.append(lost[min(len(tries), len(lost) - 1)])
            harness.check_whole({"lost": tries[-1]}, most=2)
            assert tries[-1] < 2, "some are too many"
        return test

    told(3, 1)(tmp_path=tmp_path)
    assert tries == [3, 1]
    (tmp_path / "made/file").unlink()
    (tmp_path / "made").rmdir()
    with pytest.raises(AssertionError, match="too many"):
        told(2)(tmp_path=tmp_path)
    assert tries == [2]
    (tmp_path / "made/file").unlink()
    (tmp_path / "made").rmdir()
    with pytest.raises(harness.Lost):
        told(3)(tmp_path=tmp_path)
    assert tries == [3] * 5


@pytest.mark.parametrize("repeats", ["the test", "the recording"])
def test_one_that_is_made_again_is_named(tmp_path, monkeypatch, repeats):
    """In the folder of first failures, of which script/test names each."""
    monkeypatch.setattr(plugin, "LOG", str(tmp_path))
    lost = iter([harness.Result(["dnprof"], 3, b"", b"dnprof: the recording is incomplete: 5 samples were lost\n"),
                 harness.Result(["dnprof"], 0, b"", b"")])
    monkeypatch.setattr(harness, "dnprof", lambda: next(lost))
    if repeats == "the test":
        harness.again_where_lost(lambda: harness.dnprof().expect())()
    else:
        assert harness.dnprof_again().status == 0
    kept, = tmp_path.iterdir()
    name, said = kept.read_text().splitlines()[:2]
    assert name.endswith(f"test_harness.py::test_one_that_is_made_again_is_named[{repeats}]") and "again" in said, kept.read_text()


def test_what_dnprof_says_is_lost():
    """Its status for that is no other failure."""
    lost = b"dnprof: the recording is incomplete: 5 samples of 100 were lost; sample less often, with a lower -F\n"
    for status, words, error in ((3, lost, harness.Lost), (1, lost, AssertionError), (3, b"dnprof: no space left\n", AssertionError)):
        with pytest.raises(AssertionError) as raised:
            harness.Result(["dnprof"], status, b"", words).expect()
        assert raised.type is error
    harness.Result(["dnprof"], 3, b"", lost).expect(3)
