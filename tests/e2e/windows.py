# SPDX-License-Identifier: MIT
"""
The tests of Linux's dnprof as those of dnprof.exe: a module that imports them, and `instead`, runs the same bodies under Wine.
What they take from their harness is then that of Windows.
"""
import sys

import pytest

import harness
from test_windows import APPS, ENVIRONMENT, WINDOWS, on_windows

#: How modules name what is exchanged, and by what.
_linux = {"dnprof": harness.dnprof, "program": harness.program, "DNPROF": harness.DNPROF}


def dnprof(*arguments, **options):
    return on_windows(*arguments[:1], *harness.patience(arguments), *arguments[1:], **options)


def program(_tfm, *arguments, app="truth"):
    """With the newest runtime, which lies beside it."""
    path = APPS / (app if "." in app else f"{app}.exe")
    assert path.exists(), f"{path} is missing: run tests/apps/build --windows"
    return [path, *arguments]


def as_linux_names(path):
    """Z:\\tmp\\x, as the tests name it."""
    return path.removeprefix("Z:").replace("\\", "/")


@pytest.fixture(scope="session")
def script(tmp_path_factory):
    """dnprof.exe as a program of Linux, for tests that start it themselves."""
    path = tmp_path_factory.mktemp("bin") / "dnprof"
    path.write_text("#!/bin/sh\n" + "".join(f"export {name}='{value}'\n" for name, value in ENVIRONMENT.items()) +
                    f"exec wine '{WINDOWS}' \"$@\"\n")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module", autouse=True)
def instead(truth, script):  # noqa: F811
    """Also for fixtures of a module, which come later. All modules of tests that were loaded have theirs back at the end."""
    exchanged = {"dnprof": dnprof, "program": program, "DNPROF": script}
    patch = pytest.MonkeyPatch()
    with patch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name == "harness" or (name.startswith("test_") and not name.startswith("test_windows")):
                for what, other in exchanged.items():
                    if getattr(module, what, None) is _linux[what]:
                        patch.setattr(module, what, other)
        yield
