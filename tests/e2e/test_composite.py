# SPDX-License-Identifier: MIT
"""Programs whose framework is one composite image, as in the container images of that name."""
import pytest

from harness import PATIENCE_S, ROOT, record, run
from net import surroundings


@pytest.fixture
def composite(tmp_path, tfm):
    """Built by the SDK: it takes minutes, and a package that nothing else here needs."""
    run(["dotnet", "publish", ROOT / "tests/apps/composite", "-c", "Release", "-r", "linux-x64", "-f", tfm,
         "-p:Tfms=" + tfm, f"-p:ArtifactsPath={tmp_path / 'artifacts'}", "-o", tmp_path / "out", "-nodeReuse:false"],
        env=surroundings.MADE, timeout=3 * PATIENCE_S).expect()
    return tmp_path / "out/composite"


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("env", [{"DOTNET_TieredCompilation": "0"}, {}], ids=["as compiled", "tiers"])
def test_stacks_are_whole(tmp_path, composite, env):
    """From the framework's own sort, and its callbacks, down to Main."""
    _, report = record(tmp_path, [composite, "4"], hz=997, env=env)
    failed = report.cpu["failed"]
    assert report.samples > 1000 and failed <= report.samples // 200, report.cpu
    for method in ("Composite.Program.Sorting", "Composite.Program.Counting"):
        assert report.total(method) > report.samples // 50, method
    assert report.total("Composite.Program.Compared") > 0  # called by the framework; the least of the time
    assert report.total("Composite.Program.Main") > report.samples * 0.8
