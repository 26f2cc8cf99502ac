# SPDX-License-Identifier: MIT
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from net.plugin import *

import harness


# As on most systems, whatever this machine allows: programs of .NET raise it as far as they may.
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, most), most))


def pytest_itemcollected(item):
    item.obj = harness.again_where_lost(item.obj)


@pytest.fixture(scope="session", autouse=True)
def built():
    """The programs are built when first needed; dnprof has to be there."""
    harness.build_programs(harness.TFMS if harness.SOAK else ())
    if not harness.DNPROF.exists():
        pytest.exit(f"{harness.DNPROF} is missing: build it first (script/build), or set DNPROF", 2)


@pytest.fixture(params=harness.TESTED)
def tfm(request):
    """A test that asks for this runs under the newest runtime, and under each in script/soak."""
    return request.param


@pytest.fixture
def tmp_path(tmp_path_factory, request):
    """As pytest's own, but of a name so short that a socket of the runtime's below it is within the 107 bytes of an address."""
    return tmp_path_factory.mktemp(re.sub(r"\W", "_", request.node.name)[:16])


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
