"""The example of a backend on somebody else's arrays: installed as a wheel, and held to its own tests.

PyTorch is taken from the environment; where it is missing, what computes is skipped, and ``make test-plugins`` installs
it.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from plugin_wheels import install, python

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is missing; make test-plugins installs it")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("plugins"), "torch_backend")


def test_the_wheel_is_listed_without_being_loaded_and_a_missing_pytorch_is_told(installed: Path) -> None:
    program = """
import importlib.util, sys
import tensor_runtime as tr
found = {one.name: one for one in tr.backends()}
assert {"torch-cpu", "torch-cuda"} <= set(found), found
assert not {"torch", "torch_backend.device"} & set(sys.modules)
print(importlib.util.find_spec("torch_backend").origin)
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else find_spec(name, *rest)
sys.modules.pop("torch_backend.info", None)
tr.refresh_backends()
try:
    tr.ones(2, placement="torch-cpu")
except tr.TensorError as error:
    print("PyTorch is missing: pip install torch" in str(error))
"""
    origin, told = python(installed, "-c", program)
    assert Path(origin).is_relative_to(installed)
    assert told == "True"


@needs_torch
@pytest.mark.slow
def test_the_backend_passes_the_conformance_suite_and_its_own_tests(installed: Path) -> None:
    tests = installed.parent / "torch_backend" / "test_torch.py"
    plugin = ("-p", "tensor_runtime.testing.pytest_plugin", "-p", "no:cacheprovider", "-c", os.devnull)
    lines = python(installed, "-m", "pytest", "-q", "--import-mode=importlib", *plugin, tests)
    counted = [line for line in lines if line.startswith("conformance of torch-cpu:0: ")]
    assert len(counted) == 1
    print(*lines[lines.index(counted[0]) :], sep="\n")  # make test-plugins shows it
    assert "failed" not in counted[0]
    assert int(counted[0].split()[3].replace(",", "")) > 4000
