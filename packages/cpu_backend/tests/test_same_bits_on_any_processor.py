"""Reductions and eliminations have the same bits for every instruction set and number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_cpu.system.extension import AVAILABLE, LIBRARY

if not AVAILABLE:
    pytest.skip("the extension module is not in use", allow_module_level=True)


def results() -> Iterator[Any]:
    for dtype in ("F32", "F64", "C64"):
        for shape, axes in (((300_000,), (None,)), ((7, 5000), (0, 1)), ((40, 50, 60), (0, 1, 2, (0, 2), None))):
            x = tr.normal(shape, seed=3, dtype=dtype)
            for axis in axes:
                yield from (f(x, axis=axis) for f in (tr.sum, tr.mean, tr.var, tr.std, tr.norm))
                if dtype != "C64":
                    yield from (f(x, axis=axis) for f in (tr.prod, tr.max, tr.min))
                    yield from (tr.norm(x, 1, axis=axis), tr.norm(x, float("inf"), axis=axis))
        for side in (2, 3, 4, 7):
            a = tr.normal((side, side, 50), seed=4, dtype=dtype)
            yield from (tl.det(a), tl.inv(a), tl.solve(a, a[:, :1]))


def test_sums_and_eliminations_depend_neither_on_the_instruction_set_nor_on_threads() -> None:
    found = {}
    former, threads = LIBRARY.instruction_set(), LIBRARY.threads()
    try:
        for name in ("plain", "avx2", "avx512"):
            for count in (1, 3):
                try:
                    LIBRARY.set_instruction_set(name)
                except ValueError:
                    continue  # the processor lacks it
                LIBRARY.set_threads(count)
                tr.binding_cache.clear()  # kernels keep the set that they were made for
                found[name, count] = [np.asfortranarray(x.to_numpy()).tobytes("F") for x in results()]
    finally:
        LIBRARY.set_instruction_set(former)
        LIBRARY.set_threads(threads)
        tr.binding_cache.clear()
    first, *others = found.values()
    assert others
    for other in others:
        assert [k for k, (x, y) in enumerate(zip(first, other, strict=True)) if x != y] == []
