"""Systems whose matrices and right-hand sides differ in dtype have the bits of those that were converted before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import permutations
from typing import Any, Final

import numpy as np
import pytest

import tensor_linalg as tl
import tensor_runtime as tr
from tensor_core import C64, F32, F64, DType
from tensor_core.errors import TensorError
from tensor_cpu import kernel_table
from tensor_cpu.system.extension import AVAILABLE
from tensor_linalg import LUFactors
from tensor_runtime import errors
from tensor_runtime.backends.workspaces import workspace_of
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

NAMES: Final = ("F32", "F64", "C32", "C64")
PAIRS: Final = list(permutations(NAMES, 2))


def by_factors(a: Any, b: Any, **options: Any) -> Any:
    order = np.arange(a.shape[0]).reshape(-1, *[1] * (a.rank - 2))
    return tl.lu_solve(LUFactors(a, tr.asarray(np.broadcast_to(order, a.shape[1:]).copy())), b, **options)


SOLVERS: Final[Mapping[str, Callable[..., Any]]] = {
    "solve": tl.solve,
    "cho_solve": tl.cho_solve,
    "lu_solve": by_factors,
    "triangular_solve": lambda a, b, **options: tl.triangular_solve(a, b, lower=False, **options),
    "unit_diagonal": lambda a, b, **options: tl.triangular_solve(a, b, lower=True, unit_diagonal=True, **options),
    "solve_banded": lambda a, b, **options: tl.solve_banded((0, a.shape[0] - 1), a[::-1], b, **options),
    "solveh_banded": lambda a, b, **options: tl.solveh_banded(tr.expand_dims(tl.diagonal(a), 0), b, **options),
    "lstsq": lambda a, b, **options: tl.lstsq(a, b, **options).solution,
}


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    drawn = np.random.default_rng(seed).uniform(-0.5, 0.5, (2, *shape))
    return tr.cast(tr.asarray(drawn[0] + 1j * drawn[1] if dtype.startswith("C") else drawn[0]), dtype)


def matrices(dtype: str, size: int, *batch: int) -> Any:
    """Matrices whose diagonals are 9 and more, and all else so small that factors of it stay moderate."""
    small = numbers(dtype, (size, size, *batch), size).to_numpy() / max(size, 1)
    small[range(size), range(size)] += 9
    return tr.asarray(small)


def told(function: Callable[..., Any], *operands: Any, **options: Any) -> tuple[object, ...]:
    """What an error says; how elements were converted is no part of it."""
    with pytest.raises(TensorError) as caught:
        function(*operands, **options)
    error: Any = caught.value
    return type(error), str(error).replace("+0j)", ")").replace("(nan)", "nan"), error.batch_index, error.element_index


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("dtypes", PAIRS, ids="-".join)
def test_systems_of_two_dtypes_have_the_bits_of_converted_ones(name: str, dtypes: tuple[str, str]) -> None:
    solve, (first, second) = SOLVERS[name], dtypes
    for size in (1, 8, 40, 100):
        for sides in ((size,), (size, 0), (size, 7), (size, 3, 2)):
            batch = sides[2:] if size < 100 else ()
            a, b = matrices(first, size, *batch), numbers(second, sides, 7)
            dtype = tr.promote(a.dtype, b.dtype)
            for x, y in ((a, b), (a.mT if a.rank == 2 else a, b[::-1])):
                found, by_hand = solve(x, y), solve(tr.convert(x, dtype), tr.convert(y, dtype))
                assert found.dtype is dtype
                np.testing.assert_array_equal(found.to_numpy(), by_hand.to_numpy(), strict=True)
                if name != "lstsq":
                    out = tr.zeros(found.shape, dtype=dtype)
                    solve(x, y, out=out)
                    np.testing.assert_array_equal(out.to_numpy(), by_hand.to_numpy(), strict=True)


@pytest.mark.parametrize("name", ["solve", "cho_solve", "lu_solve", "triangular_solve", "solve_banded"])
@pytest.mark.parametrize("dtypes", [("F32", "F64"), ("F64", "F32"), ("C64", "F64"), ("F32", "C32")], ids="-".join)
def test_what_is_refused_is_told_as_it_was_given(name: str, dtypes: tuple[str, str]) -> None:
    solve, (first, second) = SOLVERS[name], dtypes
    for size in (4, 70):
        a, b = matrices(first, size, 2), numbers(second, (size, 3, 2), 3)
        spoilt, singular, sides = (x.to_numpy().copy() for x in (a, a, b))
        spoilt[1, 2, 1] = spoilt[2, 1, 1] = sides[2, 1, 1] = np.nan
        singular[1, :, 0] = singular[:, 1, 0] = 0
        dtype = tr.promote(a.dtype, b.dtype)
        for x, y in ((tr.asarray(spoilt), b), (a, tr.asarray(sides)), (tr.asarray(singular), b)):
            given, by_hand = (x, y), (tr.convert(x, dtype), tr.convert(y, dtype))
            assert told(solve, *given) == told(solve, *by_hand)
            found, expected = solve(*given, check="mask"), solve(*by_hand, check="mask")
            np.testing.assert_array_equal(found.status.to_numpy(), expected.status.to_numpy())
            np.testing.assert_array_equal(found.result.to_numpy(), expected.result.to_numpy(), strict=True)
    with pytest.raises(errors.NonFiniteError, match="b holds nan at"):  # not (nan+0j)
        tl.solve(matrices("C64", 70), tr.full((70,), float("nan")))


@pytest.mark.skipif(not AVAILABLE, reason="names native kernels, for which operands are converted")
def test_the_conversion_is_told_and_its_copies_are_counted() -> None:
    def choice(first: DType, second: DType) -> Any:
        (one,) = tr.explain(tl.solve, (first, (100, 100)), (second, (100,)))
        return one.choice

    mixed, alike = choice(F64, C64), choice(C64, C64)
    assert mixed.kernel == alike.kernel
    assert mixed.notes == ("operands are converted to C64 first", *alike.notes)
    assert mixed.workspace_bytes == alike.workspace_bytes + 16 * 100 * 100
    a, b = form_of(F64, (100, 100), CPU), form_of(F32, (100,), CPU)
    kernel = kernel_table.bind("solve", (a, b), form_of(F64, (100,), CPU), (True,))
    assert workspace_of(kernel) == 8 * 100 + choice(F64, F64).workspace_bytes
