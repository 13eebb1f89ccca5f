"""``convert`` and ``cast`` as the user calls them; the bits of each pair are the backend's tests."""

from __future__ import annotations

import math
from re import escape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensor_runtime as tr
from tensor_core import DTYPES, DType
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError, LossyConversionError
from tensor_core.promotion import can_convert, promote
from tensor_core.scalar_conversion import cast_scalar
from tensor_runtime.backends.bindings import binding_cache

PAIRS = [(source, target) for source in DTYPES for target in DTYPES]


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=str)
def test_convert_is_allowed_exactly_where_promotion_gives_the_target(source: DType, target: DType) -> None:
    x = tr.ones((2, 3), dtype=source)
    if promote(source, target) is target:
        y = tr.convert(x, target)
        assert y.dtype is target
        assert y.to_numpy().tolist() == [[1, 1, 1], [1, 1, 1]]
    else:
        with pytest.raises(
            LossyConversionError,
            match=escape(f"convert: {source} to {target} can lose values; cast(x, {target.name}) does it all the same"),
        ):
            tr.convert(x, target)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=str)
def test_cast_is_defined_for_every_pair(source: DType, target: DType) -> None:
    y = tr.cast(tr.ones((2, 3), dtype=source), target)
    assert y.dtype is target
    assert y.is_compact
    assert y.to_numpy().tolist() == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_cast_to_the_same_dtype_is_a_copy_and_convert_is_not(dtype: DType) -> None:
    x = tr.ones((2, 3), dtype=dtype)
    assert tr.convert(x, dtype) is x
    assert not np.shares_memory(tr.cast(x, dtype).to_numpy(), x.to_numpy())
    assert not np.shares_memory(tr.cast(x.T, dtype).to_numpy(), x.to_numpy())


def test_results_are_owned_and_compact_also_for_views() -> None:
    x = tr.from_flat(range(24), (2, 3, 4))
    for view in (x.T, x[::-1, ::2], x[1], tr.broadcast_to(x[:1], (2, 3, 4)), tr.diagonal_view(x[:, :2]), x[:0]):
        for target in (tr.F32, tr.I32, tr.C64):
            y = tr.cast(view, target)
            assert y.is_compact
            assert y.to_numpy().tolist() == view.to_numpy().tolist()


def test_integers_beyond_2_to_53_are_rounded_by_convert() -> None:
    assert tr.convert(tr.tensor(2**53 + 1), "F64").item() == 2.0**53


@given(
    values=st.lists(st.floats(width=64), min_size=1, max_size=8),
    target=st.sampled_from(DTYPES),
    overflow=st.sampled_from(("error", "saturate", "wrap")),
)
def test_cast_follows_the_scalar_definition(values: list[float], target: DType, overflow: str) -> None:
    x = tr.tensor(values)
    wanted = []
    for index, value in enumerate(values):
        try:
            wanted.append(cast_scalar(value, tr.F64, target, overflow))  # type: ignore[arg-type]
        except CastRangeError:
            with pytest.raises(CastRangeError) as caught:
                tr.cast(x, target, overflow=overflow)
            assert caught.value.index == (index,)
            assert repr(caught.value.value) == repr(value)
            return
    assert repr(tr.cast(x, target, overflow).to_numpy().tolist()) == repr(wanted)


def test_the_policies_are_those_of_the_documentation() -> None:
    x = tr.tensor([3e9, -3e9, math.nan, math.inf, -1.9])
    assert tr.cast(x, tr.I32, "saturate").to_numpy().tolist() == [2**31 - 1, -(2**31), 0, 2**31 - 1, -1]
    assert tr.cast(x, tr.I32, overflow="wrap").to_numpy().tolist() == [3 * 10**9 - 2**32, 2**32 - 3 * 10**9, 0, 0, -1]
    with pytest.raises(CastRangeError, match=r"cast: element \(0,\) is 3000000000.0, out of range for I32"):
        tr.cast(x, tr.I32)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ArgumentError, match="overflow is 'clip'; accepted: 'error', 'saturate', 'wrap'"):
        tr.cast(tr.ones(2), tr.I32, "clip")


@pytest.mark.parametrize("name", ["I64", "int64", int, np.int64, np.dtype("int64"), tr.I64])
def test_a_dtype_may_be_named_in_any_way(name: object) -> None:
    assert tr.cast(tr.ones(2), name).dtype is tr.I64
    builds = binding_cache.stats().builds
    assert tr.cast(tr.ones(2), name).dtype is tr.I64
    assert binding_cache.stats().builds == builds  # what was found out once is known


def test_what_is_named_by_what_cannot_be_hashed_is_refused() -> None:
    for change in (tr.cast, tr.convert):
        with pytest.raises(DTypeError, match=r"dtype: \['F64'\] is none of ours"):
            change(tr.ones(2), ["F64"])
    with pytest.raises(ArgumentError, match="overflow is \\[\\]; accepted: 'error', 'saturate', 'wrap'"):
        tr.cast(tr.ones(2), "I32", [])


@pytest.mark.parametrize("name", ["float16", np.uint8, np.dtype(">f8" if np.little_endian else "<f8"), None, 3])
def test_what_names_no_dtype_is_refused_with_both_names_of_all(name: object) -> None:
    for change in (tr.cast, tr.convert):
        with pytest.raises(DTypeError, match=r"F64 \(float64\).*C32 \(complex64\)"):
            change(tr.ones(2), name)


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(DTypeError, match="cast: found list; accepted: a tensor"):
        tr.cast([1.0], tr.I32)  # type: ignore[arg-type]


def test_a_conversion_moves_nothing() -> None:
    with tr.trace_transfers() as log:
        tr.cast(tr.convert(tr.ones(3, dtype="F32"), "F64"), "I32")
    assert log == []


def test_convertible_pairs_are_as_many_as_the_lattice_says() -> None:
    assert sum(can_convert(source, target) for source, target in PAIRS) == sum(
        np.result_type(a.numpy_name, b.numpy_name) == np.dtype(b.numpy_name) for a, b in PAIRS
    )
