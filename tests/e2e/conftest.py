# SPDX-License-Identifier: MIT
import os
import signal
import subprocess

import pytest

import harness


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than half a minute")
    config.addinivalue_line("markers", "alone: measures shares, times or pauses, so nothing else should run meanwhile")
    # Whoever started the tests may ignore signals (nohup, a shell's &), which programs would inherit.
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def built():
    """The programs are built when first needed; dnprof has to be there."""
    subprocess.run([harness.ROOT / "tests/apps/build"], check=True, stdout=subprocess.DEVNULL)
    if not harness.DNPROF.exists():
        pytest.exit(f"{harness.DNPROF} is missing: build it first (script/build), or set DNPROF", 2)


@pytest.fixture(params=harness.TFMS)
def tfm(request):
    """A test that asks for this runs under each runtime."""
    return request.param


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() or os.system(f"mount -t tmpfs -o size=256k none {place} 2>/dev/null"):
        pytest.skip("a small file system needs the right to mount")
    yield place
    # Also while a program that is about to end still has a file there.
    subprocess.run(["umount", "-l", place], check=True)
