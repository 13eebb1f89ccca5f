"""What stands behind LAPACK that refuses a matrix of a batch: every matrix alone, whose batches are broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.dtypes import F64
from tensor_cpu.kernel_table import bind
from tensor_cpu.kernels.linalg.lapack import _each_alone
from tensor_cpu.system.extension import AVAILABLE
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="without the extension NumPy computes")

N = 66


def never(*_: Any) -> Any:
    raise AssertionError("asked although everything is finite, or nobody asked for a check")


@pytest.mark.parametrize(
    ("of_a", "of_b", "of_result"),
    [((2,), (2,), (2,)), ((2,), (3, 2), (3, 2)), ((2, 1), (1, 3), (2, 3)), ((2, 3), (3,), (2, 3)), ((3,), (), (3,))],
)
def test_solutions_are_those_of_each_system_alone(
    of_a: tuple[int, ...], of_b: tuple[int, ...], of_result: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(len(of_result))
    a, b = tr.asarray(rng.standard_normal((N, N, *of_a))), tr.asarray(rng.standard_normal((N, 2, *of_b)))
    result = form_of(F64, (N, 2, *of_result), CPU)
    kernel = _each_alone("solve", [a._form, b._form], result, True, never)
    found = kernel(a._array, b._array).T

    missing = [len(of_result) - len(own) for own in (of_a, of_b)]
    full_a = np.broadcast_to(a.to_numpy().reshape(N, N, *(1,) * missing[0], *of_a), (N, N, *of_result))
    full_b = np.broadcast_to(b.to_numpy().reshape(N, 2, *(1,) * missing[1], *of_b), (N, 2, *of_result))
    for place in np.ndindex(*of_result):
        wanted = np.linalg.solve(full_a[(..., *place)], full_b[(..., *place)])
        np.testing.assert_allclose(found[(..., *place)], wanted, rtol=1e-9, atol=1e-9)


def test_without_a_check_the_others_beside_nan_are_what_they_are_alone() -> None:
    one = np.random.default_rng(1).standard_normal((N, N))
    a = tr.asarray(np.stack([one, np.full((N, N), np.nan), 2 * one], axis=-1))
    found = _each_alone("inv", [a._form], a._form, False, never)(a._array).T
    matrix = form_of(F64, (N, N), CPU)
    inverse = bind("inv", (matrix,), matrix, (False,))
    for place in (0, 2):
        alone = inverse(np.ascontiguousarray(a.to_numpy()[..., place].T)).T
        assert np.array_equal(found[..., place], alone)
