"""NumPy's scalars, and subclasses of Python's numbers, are the numbers they equal, with weak dtype."""

from __future__ import annotations

import enum
import operator
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_runtime as tr
from tensor_core.errors import DTypeError, LossyConversionError, TensorError
from tensor_core.foreign import number_of
from tensor_runtime.errors import ForeignOperandError


class Length(float):
    def __float__(self) -> float:
        return -1.0  # not what it equals

    def __mul__(self, other: object) -> Any:
        return NotImplemented


class Phase(complex):
    pass


class Choice(enum.IntEnum):
    SECOND = 2


X = tr.tensor([1.0, 2.0, 3.0], dtype="F32")
INTS = tr.tensor([1, 2, 3], dtype="I32")
TRUTHS = tr.tensor([True, False, True])

SCALARS: dict[str, tuple[Any, bool | int | float | complex]] = {
    "float64": (np.float64(2.5), 2.5),
    "float16": (np.float16(2.5), 2.5),
    "longdouble": (np.longdouble(2.5), 2.5),
    "int8": (np.int8(2), 2),
    "uint64": (np.uint64(2), 2),
    "bool": (np.True_, True),
    "complex128": (np.complex128(2j), 2j),
    "float": (Length(2.5), 2.5),
    "int": (Choice.SECOND, 2),
    "complex": (Phase(2j), 2j),
}
OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.and_, operator.or_,
    operator.xor, operator.lshift, operator.rshift,
)  # fmt: skip


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert isinstance(found, tr.Tensor)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.to_numpy().tobytes() == expected.to_numpy().tobytes()


@pytest.mark.parametrize("name", SCALARS)
def test_a_scalar_beside_a_tensor_is_the_number_it_equals_on_either_side(name: str) -> None:
    scalar, number = SCALARS[name]
    assert type(number_of(scalar)) is type(number)
    for x in (X, INTS, TRUTHS):
        for apply in OPERATORS:
            for turned in (False, True):
                pair = (scalar, x) if turned else (x, scalar)
                try:
                    expected = apply(*((number, x) if turned else (x, number)))
                except (TensorError, TypeError) as error:
                    with pytest.raises(type(error)):
                        apply(*pair)
                else:
                    same(apply(*pair), expected)


CALLS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "full": (lambda n: tr.full((2,), n), np.float32(2.5)),
    "full of ints": (lambda n: tr.full(2, n), np.int16(7)),
    "where": (lambda n: tr.where(TRUTHS, n, X), np.float64(2)),
    "where of two": (lambda n: tr.where(TRUTHS, n, n), np.float64(2)),
    "clip": (lambda n: tr.clip(X, n, 5), np.int64(2)),
    "arange": (lambda n: tr.arange(n), np.int64(3)),
    "arange to": (lambda n: tr.arange(0, 5, n), np.float64(0.5)),
    "linspace": (lambda n: tr.linspace(n, 1.0, 3), np.float64(0)),
    "linspace of so many": (lambda n: tr.linspace(0, 1, n), np.int64(3)),
    "pad": (lambda n: tr.pad(X, 1, constant_values=n), np.float64(2)),
    "einsum": (lambda n: tr.einsum("i,->i", X, n), np.float64(2)),
    "einsum's alpha": (lambda n: tr.einsum("i->", X, alpha=n), np.int32(2)),
    "einsum's beta": (lambda n: tr.einsum("i->i", X, out=tr.ones(3, dtype="F32"), beta=n), np.float64(2)),
    "writing": (lambda n: written(n), np.float64(2.5)),
    "writing at a mask": (lambda n: written(n, X > 1), np.float64(2.5)),
    "copy_into": (lambda n: tr.copy_into(tr.mutable_view(tr.copy(X)), n) or X, np.float64(2.5)),
    "put_along_axis": (lambda n: tr.put_along_axis(tr.mutable_view(tr.copy(X)), tr.tensor([0]), n) or X, np.int64(2)),
    "norm": (lambda n: tr.norm(X, ord=n), np.float64(3)),
    "var": (lambda n: tr.var(X, correction=n), np.int64(1)),
    "fold": (lambda n: tr.fold(tr.add, X, initial=n), np.float64(2)),
    "from_function": (lambda n: tr.from_function((2,), lambda i: n), np.float64(2)),
    "uniform": (lambda n: tr.uniform(2, seed=n), np.int64(2)),
    "integers": (lambda n: tr.integers(4, n, n + n, seed=0), np.int64(2)),
    "fuse": (lambda n: tr.fuse(lambda x, y: x * y + 1)(X, n), np.float64(2)),
    "an axis": (lambda n: tr.sum(X, axis=n), np.int64(0)),
    "a shape": (lambda n: tr.zeros((n, n)), np.int64(2)),
    "roll": (lambda n: tr.roll(X, n), np.int64(2)),
}


def written(value: Any, index: Any = 0) -> tr.Tensor:
    x = tr.copy(X)
    tr.mutable_view(x)[index] = value
    return x


@pytest.mark.parametrize("name", CALLS)
def test_a_scalar_is_taken_wherever_a_number_is(name: str) -> None:
    call, scalar = CALLS[name]
    same(call(scalar), call(number_of(scalar)))


def test_what_is_no_number_is_no_scalar() -> None:
    for other in (np.datetime64("2020-01-01"), np.timedelta64(1), np.str_("2"), np.bytes_(b"2"), np.array(2.0), "2"):
        assert number_of(other) is None
    for call in (
        lambda: X + np.datetime64("2020"),
        lambda: tr.full(2, np.array(2.0)),
        lambda: tr.add(X, np.array(2.0)),
    ):
        with pytest.raises(DTypeError):
            call()


def test_a_scalar_that_no_python_number_equals_is_refused() -> None:
    third = np.longdouble(1) / 3
    if float(third) != third:
        with pytest.raises(DTypeError, match="no Python float equals this longdouble"):
            X * third


def test_the_kind_of_a_scalar_counts_as_that_of_a_number_does() -> None:
    with pytest.raises(LossyConversionError, match="float to I32 can lose values"):
        tr.mutable_view(tr.copy(INTS))[0] = np.float64(2)
    with pytest.raises(ForeignOperandError, match="no operand is a tensor"):
        tr.add(np.float64(1), np.float64(2))


def test_numpy_is_not_imported_for_it() -> None:
    code = (
        "import sys\n"
        "class Half(float): pass\n"
        "from tensor_core.foreign import number_of\n"
        "assert number_of(Half(0.5)) == 0.5 and number_of('x') is None and 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
