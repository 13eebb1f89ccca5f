"""The promotion lattice: the written table, its algebra, and weak Python scalars."""

from __future__ import annotations

from itertools import product
from re import escape

import pytest

from tensor_core import (
    C32,
    C64,
    DTYPES,
    F32,
    F64,
    I32,
    I64,
    Bool,
    DType,
    DTypeError,
    LossyConversionError,
    can_convert,
    convert_scalar,
    promote,
    promote_scalar,
)

ORDER: tuple[DType, ...] = (Bool, I32, I64, F32, F64, C32, C64)
TABLE = """
Bool I32 I64 F32 F64 C32 C64
I32  I32 I64 F64 F64 C64 C64
I64  I64 I64 F64 F64 C64 C64
F32  F64 F64 F32 F64 C32 C64
F64  F64 F64 F64 F64 C64 C64
C32  C64 C64 C32 C64 C32 C64
C64  C64 C64 C64 C64 C64 C64
"""
EXPECTED: dict[tuple[DType, DType], str] = {
    (a, b): name
    for a, row in zip(ORDER, TABLE.split("\n")[1:-1], strict=True)
    for b, name in zip(ORDER, row.split(), strict=True)
}


@pytest.mark.parametrize(("a", "b"), list(product(ORDER, ORDER)), ids=repr)
def test_promotion_follows_the_written_table(a: DType, b: DType) -> None:
    assert promote(a, b).name == EXPECTED[a, b]


def test_promotion_is_a_join() -> None:
    for a, b, c in product(DTYPES, repeat=3):
        assert promote(a, b) is promote(b, a)
        assert promote(promote(a, b), c) is promote(a, promote(b, c)) is promote(a, b, c)
        assert promote(a) is promote(a, a) is a


def test_promoting_nothing_is_an_error() -> None:
    with pytest.raises(DTypeError, match="give one or more"):
        promote()


def test_conversion_is_allowed_where_promotion_gives_the_target() -> None:
    allowed = {(a, b) for a, b in product(DTYPES, repeat=2) if can_convert(a, b)}
    assert allowed == {(a, b) for a, b in product(DTYPES, repeat=2) if promote(a, b) is b}
    assert len(allowed) == 23


@pytest.mark.parametrize(("a", "b"), [pair for pair in product(DTYPES, repeat=2) if not can_convert(*pair)], ids=repr)
def test_a_refused_conversion_names_cast(a: DType, b: DType) -> None:
    with pytest.raises(
        LossyConversionError,
        match=rf"convert: {escape(str(a))} to {escape(str(b))} could lose values; accepted: .*cast\(\)",
    ) as caught:
        convert_scalar(True if a is Bool else 1, a, b)
    assert caught.value.source is a
    assert caught.value.target is b


def test_python_scalars_are_weak() -> None:
    table = {dtype: [promote_scalar(dtype, kind) for kind in (bool, int, float, complex)] for dtype in ORDER}
    assert table == {
        Bool: [Bool, I64, F64, C64],
        I32: [I32, I32, F64, C64],
        I64: [I64, I64, F64, C64],
        F32: [F32, F32, F32, C32],
        F64: [F64, F64, F64, C64],
        C32: [C32, C32, C32, C32],
        C64: [C64, C64, C64, C64],
    }


def test_a_weak_scalar_has_one_of_four_types() -> None:
    with pytest.raises(DTypeError, match="accepted: bool, int, float, complex"):
        promote_scalar(F64, str)
