"""Every operation of every family: what it makes may be given as ``out``, what shares an operand's memory may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_linalg as linalg
from tensor_core.errors import ReadOnlyError
from tensor_runtime import Tensor, normal, upload
from tensor_runtime.dispatch.out import as_target
from tensor_runtime.placement import CPU
from tensor_runtime.testing.cases import all_cases, family_cases


def _tensors(found: Any) -> Iterator[Tensor]:
    if type(found) is Tensor:
        yield found
    elif isinstance(found, (tuple, list)):
        for one in found:
            yield from _tensors(one)


def _is_taken(x: Tensor) -> bool:
    try:
        as_target("out", x)
    except ReadOnlyError:
        return False
    return True


def test_outputs_are_what_operations_made_and_no_views() -> None:
    wrong: Counter[tuple[str, str]] = Counter()
    for case in (*all_cases(), *family_cases()):
        if case.error is not None:
            continue
        operands: list[Any] = [upload(one, CPU) for one in case.operands] or [CPU]
        for found in _tensors(case.call(*operands)):
            if any(found is one for one in operands) or not found.size:
                continue
            of_operand = any(
                isinstance(one, Tensor) and np.shares_memory(found.to_numpy(), one.to_numpy()) for one in operands
            )
            if of_operand and _is_taken(found):
                wrong[case.operation, "shares memory, but is taken"] += 1
            if not case.shares and found.is_compact and not _is_taken(found):
                wrong[case.operation, "was made, but is not taken"] += 1
    assert not wrong


@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_what_a_mask_leaves_is_owned(batch: tuple[int, ...]) -> None:
    a, b = normal((3, 3, *batch), seed=1), normal((3, 1, *batch), seed=2)
    for found in (
        linalg.svd(a, check="mask"),
        linalg.inv(a, check="mask"),
        linalg.solve(a, b, check="mask"),
        linalg.qr(a, check="mask"),
    ):
        assert all(map(_is_taken, _tensors(found)))


def test_solutions_of_one_vector_are_owned() -> None:
    a, b, one = normal((3, 3), seed=1), normal((3,), seed=2), normal((3, 1), seed=3)
    spd = linalg.matmul(a, linalg.mT(a))
    for found in (
        linalg.solve(a, b),
        linalg.lu_solve(linalg.lu_factor(a), b),
        linalg.cho_solve(linalg.cholesky(spd), b),
        linalg.triangular_solve(a, b),
        *(linalg.lstsq(a, b, driver=driver) for driver in ("svd", "qr")),
        linalg.lstsq(a, b, check="mask"),
        *(linalg.multi_dot(chain) for chain in ([b, a, a], [a, a, b], [b, a, b])),
        linalg.split(one, 0, 1, method="eigh"),
    ):
        assert all(map(_is_taken, _tensors(found))), found
