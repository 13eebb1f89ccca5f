"""A kernel of another package is found through its entry point, in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MODULE = """
from tensor_runtime.execute import execute_unary
from tensor_runtime.rules import same_shape
from tensor_runtime.spec import OpSpec

SELF = OpSpec("self", result_shape=same_shape)

def bind_self(operands, result, detail):
    return lambda x: x.copy(order="C")

def itself(a):
    return execute_unary(SELF, a)
"""
PROGRAM = """
import sys
import tensor_runtime as tr
x = tr.tensor([[1, 2], [3, 4]])
tr.add(x, x)
assert "selfish" not in sys.modules
import selfish
assert selfish.itself(x.T).to_numpy().tolist() == [[1, 3], [2, 4]]
try:
    tr.subtract(x, x)
except tr.TensorError as error:
    print(error)
"""


def test_kernels_are_found_by_name_and_a_rival_is_refused(tmp_path: Path) -> None:
    (tmp_path / "selfish.py").write_text(MODULE)
    info = tmp_path / "selfish-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: selfish\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[tensor_runtime.kernels]\ncpu.self = selfish:bind_self\ncpu.subtract = selfish:bind_self\n"
    )
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == (
        "subtract: the kernel for cpu is brought by selfish 1.0 and the backend 'cpu' itself; uninstall one"
    )
