# SPDX-License-Identifier: MIT
import subprocess

import pytest

import harness


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than half a minute")


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
