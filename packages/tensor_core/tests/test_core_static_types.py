"""What the type checker knows: host tensors of different element types are different types."""

from __future__ import annotations

from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")

SOURCE = """
from tensor_core import F64, I32, HostTensor, HostTensorView

good: HostTensor[F64] = HostTensor.zeros((3, 4), F64)
view: HostTensorView[F64] = good.transpose_view()
back: HostTensor[F64] = view.copy()
dynamic: HostTensor[I32] = HostTensor.from_nested([1], "I32")
wrong: HostTensor[F64] = HostTensor.zeros((3, 4), I32)  # error
other: HostTensor[F64] = HostTensor.from_nested([1], I32)  # error
flat: HostTensor[F64] = HostTensor.from_flat([1], (1,), I32, order="C")  # error
buffer: HostTensor[F64] = HostTensor.from_buffer(b"1234", I32)  # error
memory: HostTensor[F64] = HostTensor.wrap_bytes(b"1234", (1,), I32)  # error
mixed: HostTensor[I32] = good  # error
none: HostTensor[int]  # error
"""


def test_mypy_tells_element_types_apart(tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(SOURCE)
    report, _, status = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "probe.py")])
    assert status == 1
    wrong = [k for k, line in enumerate(SOURCE.splitlines(), 1) if line.endswith("# error")]
    assert sorted({int(line.split(":")[1]) for line in report.splitlines() if ": error:" in line}) == wrong, report
