# SPDX-License-Identifier: MIT
"""script/soak is for hours, but that it can be started is seen here."""
import subprocess
from pathlib import Path

import pytest

SOAK = Path(__file__).resolve().parents[2] / "script/soak"


@pytest.mark.parametrize("words, status, said", [(["--help"], 0, "--cycles"), (["--windows", "--nonsense"], 2, "--nonsense")])
def test_soak_knows_its_options(words, status, said):
    ended = subprocess.run([SOAK, *words], capture_output=True, text=True, timeout=300)
    assert ended.returncode == status and said in ended.stdout + ended.stderr, ended
