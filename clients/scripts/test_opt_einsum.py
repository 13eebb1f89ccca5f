"""``opt_einsum.contract`` on tensors: its 70 equations, in seven dtypes and five layouts, against NumPy's einsum."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import opt_einsum
import pytest
from opt_einsum.testing import build_shapes

import tensor_runtime as tr

FILE = Path(os.environ["CLIENTS_SUITES"]) / "opt_einsum" / "opt_einsum" / "tests" / "test_contract.py"
(EQUATIONS,) = (
    ast.literal_eval(node.value)
    for node in ast.parse(FILE.read_text(encoding="utf-8")).body
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "tests"
)
DTYPES = ("float32", "float64", "int32", "int64", "bool", "complex64", "complex128")
LAYOUTS: dict[str, Callable[[Any], tr.Tensor]] = {
    "owned": tr.tensor,
    "row-major": lambda array: tr.tensor(array.T).T,
    "reversed": lambda array: tr.tensor(np.flip(array))[(slice(None, None, -1),) * array.ndim],
    "strided": lambda array: tr.tensor(np.repeat(array, 2, 0) if array.ndim else array)[
        (slice(None, None, 2),) * (array.ndim > 0)
    ],
    "offset": lambda array: tr.tensor(np.stack([np.zeros_like(array), array]))[1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("equation", EQUATIONS)
def test_equation(equation: str, dtype: str, layout: str) -> None:
    rng = np.random.default_rng(5)
    arrays = [np.asarray(rng.integers(-3, 4, size=shape)).astype(dtype) for shape in build_shapes(equation)]
    found = opt_einsum.contract(equation, *map(LAYOUTS[layout], arrays))
    expected = np.einsum(equation, *arrays)
    assert isinstance(found, tr.Tensor)
    assert found.dtype.numpy_name == expected.dtype
    np.testing.assert_array_equal(found.to_numpy(), expected)
