"""Every pair of dtypes, bit for bit against the scalar definition of ``cast`` and ``convert``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core.dtypes import C32, C64, DTYPES, F32, F64, I32, I64, INTEGER, Bool, DType
from tensor_core.errors import CastRangeError
from tensor_core.promotion import can_convert
from tensor_core.scalar_conversion import cast_scalar, convert_scalar
from tensor_cpu.kernels.conversion.numpy import BLOCK, bind_cast, bind_convert
from tensor_cpu.storage import NUMPY_DTYPES, Array
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

POLICIES = ("error", "saturate", "wrap")
EDGES = [2.0**n + d for n in (23, 24, 31, 32, 52, 53, 62, 63, 64, 65, 100) for d in (-1.0, -0.5, 0.0, 0.5, 1.0)]
NEIGHBOURS = [math.nextafter(2.0**n, side) for n in (31, 32, 63, 64) for side in (0.0, math.inf)]
REALS = [0.0, 0.5, 0.99, 1.0, 1.5, 2.5, 5e-324, 1e-45, 1e-40, 2.2e-308, 1e300, 1.7e308, 3.4028235e38, 3.5e38, 1e39]
FLOATS = [sign * value for value in (*REALS, *EDGES, *NEIGHBOURS, math.inf) for sign in (1.0, -1.0)] + [math.nan]
TWICE_ROUNDED = [2**60 + 2**36 + 1, -(2**60) - 2**36 - 1]  # wrong in F32 when rounded to F64 first
INTEGERS = [s * 2**n + d for n in (0, 24, 25, 31, 32, 53, 62) for s in (1, -1) for d in (-1, 0, 1)]
INTEGERS += [2**63 - 1, -(2**63), *TWICE_ROUNDED]
SPECIALS: dict[str, list[Any]] = {
    "bool": [False, True],
    "int": [0, *INTEGERS],
    "float": FLOATS,
    "complex": [complex(a, b) for a in FLOATS[::3] for b in (0.0, -0.0, 1.0, -3e9, math.inf, math.nan)]
    + [complex(a, 0.0) for a in FLOATS],
}


def specials(dtype: DType) -> Array:
    """The awkward values that a dtype holds, as a transposed array of rank 1."""
    values = SPECIALS[dtype.kind]
    if dtype is I32:
        values = [value for value in values if -(2**31) <= value < 2**31]
    with np.errstate(all="ignore"):
        return np.array(values, NUMPY_DTYPES[F64 if dtype is F32 else C64 if dtype is C32 else dtype]).astype(
            NUMPY_DTYPES[dtype]
        )


def kernel(bind: Callable[..., Any], source: DType, target: DType, shape: tuple[int, ...], params: str) -> Any:
    return bind(form_of(source, shape, CPU), form_of(target, shape, CPU), params)


def bits(array: Array) -> bytes:
    return array.tobytes()


def expected(array: Array, source: DType, target: DType, overflow: str) -> Array:
    """The oracle, element by element."""
    values = [cast_scalar(value, source, target, overflow) for value in array.ravel().tolist()]  # type: ignore[arg-type]
    return np.array(values, NUMPY_DTYPES[target]).reshape(array.shape)


@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_cast_gives_the_bits_of_the_scalar_definition(source: DType, target: DType, overflow: str) -> None:
    x = specials(source)

    found = kernel(bind_cast, source, target, x.shape, overflow)(x)

    assert found.dtype == NUMPY_DTYPES[target]
    assert bits(found) == bits(expected(x, source, target, overflow))


@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_cast_with_errors_accepts_and_refuses_as_the_scalar_definition(source: DType, target: DType) -> None:
    for one in specials(source).reshape(-1, 1):
        run = kernel(bind_cast, source, target, (1,), "error")
        try:
            wanted = expected(one, source, target, "error")
        except CastRangeError as error:
            with pytest.raises(CastRangeError) as caught:
                run(one)
            assert caught.value.index == (0,)
            assert repr(caught.value.value) == repr(error.value)
        else:
            assert bits(run(one)) == bits(wanted)


@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_convert_gives_the_bits_of_the_scalar_definition(source: DType, target: DType) -> None:
    if not can_convert(source, target):
        return
    x = specials(source)
    found = kernel(bind_convert, source, target, x.shape, "error")(x)
    values = [convert_scalar(value, source, target) for value in x.tolist()]
    assert bits(found) == bits(np.array(values, NUMPY_DTYPES[target]))


@pytest.mark.parametrize("overflow", POLICIES)
@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_cast_never_warns_whatever_numpy_is_told(source: DType, target: DType, overflow: str) -> None:
    x = specials(source)
    run = kernel(bind_cast, source, target, x.shape, overflow)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        try:
            run(x)
        except CastRangeError:
            assert overflow == "error"
            assert target in INTEGER


def views_of(flat: Array) -> list[Array]:
    """Transposed arrays of rank 2 and 3 over the same values: compact, transposed, reversed, strided, broadcast."""
    square = np.resize(flat, (6, 8))
    return [
        square,
        square.T,
        square[::-1, ::-2],
        square[1::2, ::3],
        np.broadcast_to(square[:, :1], (6, 5)),
        square.reshape(2, 3, 8).transpose(1, 2, 0)[..., ::-1],
        square[:0],
        square[2:3, 4:5],
    ]


@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_views_are_cast_into_compact_owned_results(source: DType, target: DType) -> None:
    for x in views_of(specials(source)):
        strides = tuple(step // x.itemsize for step in reversed(x.strides))
        view = form_of(source, x.shape[::-1], CPU, strides)
        for overflow in ("saturate", "wrap"):
            found = bind_cast(view, form_of(target, x.shape[::-1], CPU), overflow)(x)
            assert found.flags.c_contiguous
            assert found.flags.owndata
            assert not np.shares_memory(found, x)
            assert bits(found) == bits(expected(x, source, target, overflow))


@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_rank_0_stays_an_array(source: DType, target: DType) -> None:
    x = np.array(1, NUMPY_DTYPES[source])
    found = kernel(bind_cast, source, target, (), "error")(x)
    assert type(found) is np.ndarray
    assert found.shape == ()
    assert found.item() == cast_scalar(x.item(), source, target)


def test_the_first_offender_is_named_in_column_major_order() -> None:
    x = np.zeros((4, 3))  # the transposed array of a tensor of shape (3, 4)
    x[2, 1] = 3e9
    x[3, 0] = math.nan
    run = kernel(bind_cast, F64, I32, (3, 4), "error")
    message = r"cast: element \(1, 2\) is 3000000000.0, out of range for I32; accepted: -2147483648 to 2147483647"
    with pytest.raises(CastRangeError, match=message) as caught:
        run(x)
    assert caught.value.index == (1, 2)
    assert caught.value.value == 3e9


def test_the_first_offender_of_a_view_is_named_by_its_index_in_the_view() -> None:
    memory = np.zeros((3, 4))
    memory[0, 3] = 1e10
    memory[2, 1] = -1e10
    x = memory.T[::-1]  # the transposed array of a view of shape (3, 4)
    run = bind_cast(form_of(F64, (3, 4), CPU, (4, -1)), form_of(I32, (3, 4), CPU), "error")
    with pytest.raises(CastRangeError) as caught:
        run(x)
    assert caught.value.index == (0, 0)
    assert caught.value.value == 1e10


@pytest.mark.parametrize("position", [0, BLOCK - 1, BLOCK, 2 * BLOCK + 7])
def test_an_offender_is_found_in_any_block(position: int) -> None:
    size = 2 * BLOCK + 8
    x = np.arange(size, dtype=np.int64)
    x[position] = 2**40
    with pytest.raises(CastRangeError) as caught:
        kernel(bind_cast, I64, I32, (size,), "error")(x)
    assert caught.value.index == (position,)
    found = kernel(bind_cast, I64, I32, (size,), "saturate")(x)
    assert found[position] == 2**31 - 1
    assert (np.delete(found, position) == np.delete(x, position)).all()


def test_complex_keeps_the_real_part_in_blocks_of_views() -> None:
    x = (np.arange(6.0 * BLOCK) + 1j).reshape(2, 3, BLOCK)[:, ::-1, ::2]
    view = form_of(C64, x.shape[::-1], CPU, tuple(step // 16 for step in reversed(x.strides)))
    found = bind_cast(view, form_of(I64, x.shape[::-1], CPU), "error")(x)
    assert (found == x.real).all()


def test_any_nonzero_part_makes_a_complex_number_true() -> None:
    x = np.array([0, 1j, complex(0, math.nan), complex(-0.0, -0.0)])
    assert kernel(bind_cast, C64, Bool, (4,), "error")(x).tolist() == [False, True, True, False]


@given(value=st.floats(width=64), target=st.sampled_from(sorted(INTEGER, key=str)), overflow=st.sampled_from(POLICIES))
def test_any_float_is_cast_as_the_scalar_definition_says(value: float, target: DType, overflow: str) -> None:
    run = kernel(bind_cast, F64, target, (1,), overflow)
    try:
        wanted = cast_scalar(value, F64, target, overflow)  # type: ignore[arg-type]
    except CastRangeError:
        with pytest.raises(CastRangeError):
            run(np.array([value]))
    else:
        assert run(np.array([value])).item() == wanted
