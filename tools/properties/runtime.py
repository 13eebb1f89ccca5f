"""Properties of runtime operations: what a result is and that it shares nothing with its operands.

The operations are those below that the runtime has, with NumPy's function of the same name as oracle, and every row of
the conformance suite, whose values the suite itself checks.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np

import tensor_runtime as tr
from properties import Property, draw
from tensor_core import DTYPES, DType, DTypeError, TensorLayout, UnsupportedOperationError
from tensor_runtime.testing.case import Case
from tensor_runtime.testing.cases import all_cases

_UNARY: Final = "negative positive abs sign conj real imag sqrt floor ceil trunc isnan isinf isfinite logical_not"
_ROUNDED: Final = "exp expm1 log log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh"
_BINARY: Final = (
    "add subtract multiply divide floor_divide remainder fmod maximum minimum equal not_equal less less_equal greater "
    "greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor"
)
_REDUCTIONS: Final = "sum prod max min any all argmax argmin cumsum cumprod"
_REARRANGED: Final = "copy sort argsort tril triu"
_PAIRS: Final = "matmul outer kron"
_ORACLES: Final[dict[str, Callable[..., Any]]] = {"argsort": partial(np.argsort, kind="stable")}


class Operation(NamedTuple):
    """A call of the runtime and what NumPy makes of the same operands."""

    name: str
    call: Callable[..., Any]
    oracle: Callable[..., Any]
    shapes: Callable[[Random], list[tuple[int, ...]]]
    ulps: int = 0  # that may lie between; 0 means equal


def _one(rng: Random) -> list[tuple[int, ...]]:
    return [draw.shape(rng, 3, 4, rng.randint(0, 1))]


def _broadcasting(rng: Random) -> list[tuple[int, ...]]:
    shape = draw.shape(rng, 3, 4, rng.randint(0, 1))
    other = tuple(1 if rng.random() < 0.2 else extent for extent in shape)
    return rng.sample([shape, other[rng.randint(0, len(other)) :]], 2)


def _matrices(rng: Random) -> list[tuple[int, ...]]:
    m, n, k = (rng.randint(0, 4) for _ in range(3))
    return [(m, k), (k, n)]


def _axis(rng: Random) -> list[tuple[int, ...]]:
    return [(rng.randint(1, 3), *draw.shape(rng, 2, 3, 1))]


def operations() -> list[Operation]:
    """Those of the table that the runtime has.

    >>> "add" in [operation.name for operation in operations()]
    True
    """
    table = [(names, shapes, 0) for names, shapes in ((_UNARY, _one), (_BINARY, _broadcasting))]
    table += [(_ROUNDED, _one, 4), (_REARRANGED, _matrix, 0), (_PAIRS, _matrices, 0)]
    rows = [
        Operation(name, getattr(tr, name), _ORACLES.get(name) or getattr(np, name), shapes, ulps)
        for names, shapes, ulps in table
        for name in names.split()
        if name in tr.__all__
    ]
    for name in _REDUCTIONS.split():
        if name in tr.__all__:
            call, oracle = getattr(tr, name), getattr(np, name)
            rows.append(Operation(name, lambda x, f=call: f(x, axis=0), lambda x, f=oracle: f(x, axis=0), _axis))
    rows.append(
        Operation("tensordot", lambda a, b: tr.tensordot(a, b, 1), lambda a, b: np.tensordot(a, b, 1), _matrices)
    )
    return rows


def _matrix(rng: Random) -> list[tuple[int, ...]]:
    return _matrices(rng)[:1]


_TABLE: Final = operations()
_COUNT: Final = len(_TABLE)
_CASES: list[Case] = []


def _array(rng: Random, dtype: DType, shape: tuple[int, ...]) -> Any:
    """Small whole numbers, so that every sum is exact, under any strides."""
    wide = tuple(extent * rng.choice((1, 1, 2)) for extent in shape)
    numbers = np.random.default_rng(rng.getrandbits(32)).integers(-3, 4, wide)
    array: Any = numbers.astype(dtype.numpy_name, order="C" if rng.random() < 0.5 else "F")
    if rng.random() < 0.3:
        array = array[(*(slice(None, None, -1) for _ in shape), ...)]
    return array[(*(slice(0, extent) for extent in shape), ...)]


def _assert_owned(name: str, result: tr.Tensor, operands: list[Any]) -> Any:
    assert result.layout == TensorLayout(result.shape), f"{name}: {result.layout}"
    array = result.to_numpy()
    assert array.flags.f_contiguous, name
    assert not any(np.shares_memory(array, operand) for operand in operands), f"{name} shares memory with an operand"
    assert tr.mutable_view(result).shape == result.shape, name
    return array


def _call(rng: Random) -> tuple[str, list[Any], Any, Any, int] | None:
    """Name, operands' memory, result, what NumPy gives (None: nobody's business here), ulps; None when refused."""
    if not _CASES:
        _CASES.extend(case for case in all_cases() if case.operands and not (case.error or case.shares))
    if rng.random() < 0.3:
        case = rng.choice(_CASES)
        arrays = [np.array(np.asarray(operand), order="F") for operand in case.operands]
        return case.id, arrays, case.call(*map(tr.asarray, arrays)), None, 0
    row, dtype = rng.choice(_TABLE), rng.choice(DTYPES)
    arrays = [_array(rng, dtype, shape) for shape in row.shapes(rng)]
    try:
        result = row.call(*map(tr.asarray, arrays))
    except (DTypeError, UnsupportedOperationError, ZeroDivisionError):
        return None
    with np.errstate(all="ignore"):
        expected = np.asarray(row.oracle(*arrays))
        if expected.dtype == "float16":  # what NumPy makes of Bool; ours is F64
            expected = np.asarray(row.oracle(*(array.astype("float64") for array in arrays)))
    return f"{row.name} of {dtype}", arrays, result, expected, row.ulps


def results_are_compact_and_owned(rng: Random) -> None:
    """Compact, column-major, owned, writable, and NumPy's elements."""
    called = _call(rng)
    if called is None:
        return
    name, arrays, results, expected, ulps = called
    for result in results if isinstance(results, tuple) else (results,):
        array = _assert_owned(name, result, arrays)
        if expected is None:
            continue
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape), (name, array, expected)
        if ulps:
            tolerance = ulps * np.finfo(array.dtype).eps
            np.testing.assert_allclose(array, expected, rtol=tolerance, atol=0, err_msg=name)
        else:
            np.testing.assert_array_equal(array, expected, err_msg=name)


def results_ignore_their_operands(rng: Random) -> None:
    """Writing to an operand afterwards changes no result; a view outlives its owner with the right elements."""
    called = _call(rng)
    if called is not None:
        name, arrays, results, _, _ = called
        several = results if isinstance(results, tuple) else (results,)
        before = [result.to_numpy().tobytes() for result in several]
        for array in arrays:
            array[...] = 1
        assert before == [result.to_numpy().tobytes() for result in several], name
    length = rng.randint(1, 40)
    owner = tr.from_flat(list(range(length)), (length,))
    view, steps = owner, TensorLayout((length,))
    for _ in range(rng.randint(1, 4)):
        index = draw.index(rng, view.shape)
        view, steps = view[index], draw.apply(steps, ("index_view", (index,)))
        if rng.random() < 0.5 and steps.rank < 5:
            view, steps = tr.expand_dims(view, 0), draw.apply(steps, ("expand_view", (0,)))
    del owner
    gc.collect(0)
    canaries = [tr.full((length,), -77) for _ in range(3)]
    assert view.shape == steps.shape
    assert view.to_numpy().ravel(order="F").tolist() == draw.offsets(steps), steps
    del canaries


PROPERTIES: Final = (
    # All operations x 7 dtypes x 20 in make test, x 200 in make test-long.
    Property(
        "results",
        "results are compact and owned",
        results_are_compact_and_owned,
        len(_TABLE) * 140,
        len(_TABLE) * 1_400,
    ),
    Property("independence", "results ignore what happens to operands", results_ignore_their_operands, 1_000, 20_000),
)
