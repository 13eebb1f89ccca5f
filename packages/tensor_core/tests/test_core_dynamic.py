"""Dynamic tensors, references, whole-tensor conversion, flat data in both orders, and layouts that are refused."""

from __future__ import annotations

import copy
import errno
import pickle
import re
from itertools import product
from re import escape
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensor_core import (
    DTYPES,
    F32,
    I32,
    I64,
    AnyHostTensor,
    AnyHostTensorView,
    ArgumentError,
    CastRangeError,
    DType,
    DTypeError,
    FormatError,
    HostTensor,
    HostTensorView,
    IndexingError,
    LoadError,
    LossyConversionError,
    OutOfBoundsLayoutError,
    ReadOnlyError,
    SaveError,
    ShapeVec,
    StrideVec,
    TensorLayout,
    TensorRef,
    ViewRequiresCopyError,
    can_convert,
    cast,
    cast_scalar,
    compose_view,
    convert,
    element_offset,
    is_injective,
    ravel_index,
    reachable_range,
    unravel_index,
)
from tensor_core.testing.strategies import apply_step, host_tensors, host_views, layouts, shapes, view_steps


def test_dynamic_names_are_the_same_classes_when_run() -> None:
    assert AnyHostTensor is HostTensor
    assert AnyHostTensorView is HostTensorView
    assert ShapeVec((2, 3)) == StrideVec((2, 3)) == (2, 3)


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_a_dynamic_tensor_is_typed_as_what_it_is_and_as_nothing_else(dtype: DType) -> None:
    x = AnyHostTensor.zeros((2, 1), dtype)
    for other in DTYPES:
        if other is dtype:
            assert x.typed(other) is x
            view = x.view()
            assert view.typed(other) is view
        else:
            with pytest.raises(
                DTypeError, match=f"typed: found {escape(str(dtype))}; accepted: {escape(str(other))}, as asked for"
            ):
                x.typed(other)


@given(host_tensors(integral=True))
def test_a_reference_lends_without_the_right_to_write(x: HostTensor[Any]) -> None:
    lent = TensorRef(x)
    assert (lent.dtype, lent.layout, lent.readonly, x.readonly) == (x.dtype, x.layout, True, False)
    assert lent == x
    assert lent.raw == x.raw
    assert lent.raw.readonly
    for again in (pickle.loads(pickle.dumps(lent)), pickle.loads(pickle.dumps(lent, 2))):
        assert type(again) is TensorRef
        assert again == x
    assert type(copy.copy(lent)) is HostTensor
    if x.size:
        with pytest.raises(ReadOnlyError):
            lent[...] = 0  # type: ignore[misc]
        x.raw[:] = bytes(x.nbytes)
        assert lent == HostTensor.zeros(x.shape, x.dtype)


def test_a_reference_needs_a_tensor() -> None:
    for wrong in (HostTensor.zeros(2).view(), [1.0], None):
        with pytest.raises(DTypeError, match=r"TensorRef: found .*; accepted: a HostTensor"):
            TensorRef(wrong)  # type: ignore[arg-type]


@given(host_views(), st.sampled_from(DTYPES))
def test_converting_a_tensor_converts_its_elements(x: HostTensorView[Any], target: DType) -> None:
    expected = [cast_scalar(element, x.dtype, target) for element in x.to_flat()]
    y = cast(x, target)
    assert type(y) is HostTensor
    assert (y.dtype, y.shape, y.to_flat()) == (target, x.shape, expected)
    if can_convert(x.dtype, target):
        assert convert(x, target) == y
    else:
        with pytest.raises(
            LossyConversionError, match=f"convert: {escape(str(x.dtype))} to {escape(str(target))} could lose values"
        ):
            convert(x, target)


def test_a_conversion_that_changes_nothing_copies_only_where_it_must() -> None:
    x = HostTensor.from_nested([[1, 2], [3, 4]])
    assert convert(x, I64) is x
    assert convert(x.transpose_view(), "int64").to_nested() == [[1, 3], [2, 4]]
    assert cast(x, I64) is not x
    with pytest.raises(DTypeError, match="cast: found list; accepted: a HostTensor"):
        cast([1], I64)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="cast: overflow is 'clip'; accepted: 'error', 'saturate', 'wrap'"):
        cast(x, I64, "clip")  # type: ignore[call-overload]


def test_a_cast_names_the_first_element_that_does_not_fit_in_column_major_order() -> None:
    x = HostTensor.from_nested([[0.0, 1e10], [2e10, 3.0]])
    with pytest.raises(CastRangeError, match=r"cast: element \(1, 0\): 20000000000.0 is out of") as caught:
        cast(x, I32)
    assert (caught.value.index, caught.value.value) == ((1, 0), 2e10)
    assert cast(x, I32, "saturate").to_nested() == [[0, 2**31 - 1], [2**31 - 1, 3]]
    assert cast(x, I32, "wrap").to_nested() == [[0, 1410065408], [-1474836480, 3]]


@given(host_views())
def test_flat_data_leave_in_the_order_that_is_said_and_come_back(x: HostTensorView[Any]) -> None:
    for order in ("F", "C"):
        again = HostTensor.from_flat(x.to_flat(order=order), x.shape, x.dtype, order=order)
        assert again == x
        assert HostTensor.from_buffer(x.tobytes(order=order), x.dtype, x.shape, order=order) == x
    assert x.to_list() == x.to_nested()
    with pytest.raises(ArgumentError, match="order: found 'A'; accepted: 'F'"):
        x.to_flat(order="A")  # type: ignore[arg-type]


@given(shapes())
def test_positions_and_indices_agree_in_both_orders(shape: tuple[int, ...]) -> None:
    for order, layout in (("F", TensorLayout(shape)), ("C", TensorLayout.row_major(shape))):
        for index in product(*map(range, shape)):
            position = ravel_index(index, shape, order=order)
            assert position == element_offset(layout, index)
            assert unravel_index(position, shape, order=order) == index
        for outside in (-1, layout.size, "a", None, 0.0):
            with pytest.raises(IndexingError, match="unravel_index: position"):
                unravel_index(outside, shape, order=order)  # type: ignore[arg-type]
        for wrong in ((*shape, 0), shape, None, ("a",) * len(shape) or 5, (0.0,) * len(shape) or 5):
            if wrong or shape:
                with pytest.raises(IndexingError, match="ravel_index: index"):
                    ravel_index(wrong, shape, order=order)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="order: found 'K'"):
        ravel_index((0,), 2, order="K")


def positions(layout: TensorLayout) -> list[int]:
    return [element_offset(layout, index) for index in product(*map(range, layout.shape))]


def column_major(layout: TensorLayout) -> list[int]:
    return [element_offset(layout, index[::-1]) for index in product(*map(range, layout.shape[::-1]))]


@given(layouts(), st.data())
def test_a_composition_visits_what_the_inner_view_names(drawn: tuple[TensorLayout, int], data: st.DataObject) -> None:
    layout = drawn[0]
    (inner, length), table = data.draw(layouts(shapes(max_rank=2))), column_major(layout)
    if length > layout.size:
        with pytest.raises(OutOfBoundsLayoutError, match="accepted: offsets inside them"):
            compose_view(layout, TensorLayout((layout.size + 1,)))
        return
    expected = [table[position] for position in positions(inner)]
    try:
        composed = compose_view(layout, inner)
    except ViewRequiresCopyError as error:
        assert error.inner == inner
        # Where elements are distinct, the refusal is right: no layout of that shape visits them in that order.
        assert not is_injective(layout) or not affine(inner.shape, expected)
    else:
        assert composed.shape == inner.shape
        assert positions(composed) == expected
        reach = reachable_range(composed)
        assert reach is None or (reach[0] >= 0 and reach[1] < drawn[1])


def affine(shape: tuple[int, ...], offsets: list[int]) -> bool:
    """Whether offsets, listed row-major, are those of a layout."""
    table = dict(zip(product(*map(range, shape)), offsets, strict=True))
    origin = (0,) * len(shape)
    units = [tuple(int(k == axis) for k in range(len(shape))) for axis in range(len(shape))]
    strides = [table[unit] - table[origin] if n > 1 else 0 for unit, n in zip(units, shape, strict=True)]
    return positions(TensorLayout(shape, strides, table[origin])) == offsets


@given(layouts(shapes(min_extent=1, max_rank=3)), st.data())
def test_composing_with_views_of_the_whole_gives_the_chain_of_views(
    drawn: tuple[TensorLayout, int], data: st.DataObject
) -> None:
    layout, inner = drawn[0], TensorLayout(drawn[0].shape)
    for _ in range(data.draw(st.integers(0, 4))):
        if layout.rank > 5 or layout.size > 100:
            break
        names = ("transpose_view", "slice_view", "reverse_view", "diagonal_view", "broadcast_view", "expand_view")
        step = data.draw(view_steps(inner, names))
        layout, inner = apply_step(layout, step), apply_step(inner, step)
    assert positions(compose_view(drawn[0], inner)) == positions(layout)


def test_a_step_across_columns_is_refused_and_names_both_layouts() -> None:
    columns = TensorLayout((2, 3), (1, 4))
    assert compose_view(columns, TensorLayout((3,), (2,), 1)) == TensorLayout((3,), (4,), 1)
    assert compose_view(columns, TensorLayout((2,), (1,), 1)) == TensorLayout((2,), (3,), 1)
    with pytest.raises(ViewRequiresCopyError, match=re.escape(f"within {columns!r}; to_contiguous() first")):
        compose_view(columns, TensorLayout(6))
    x = HostTensor.from_nested([[1, 2, 3], [4, 5, 6]])
    assert x.compose_view(TensorLayout((3,), (2,), 1)).to_nested() == [4, 5, 6]


@pytest.mark.parametrize("kind", [SaveError, LoadError], ids=lambda kind: kind.__name__)
def test_a_file_error_carries_the_number_of_the_system(kind: Any) -> None:
    error = kind("save: no room", errno=errno.ENOSPC, filename="x.its", written=3)
    for other in (error, pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert (other.errno, other.filename, other.written, str(other)) == (28, "x.its", 3, "save: no room")
    assert kind("save: no").errno is None


def test_notebooks_show_the_same_elements() -> None:
    x = HostTensor.from_flat(range(8), (2, 2, 2), F32)
    found = ElementTree.fromstring(x._repr_html_())
    assert found.findtext("code") == "HostTensor F32 (float32) (2, 2, 2)"
    cells = [[[float(cell.text or "") for cell in row] for row in table.iter("tr")] for table in found.iter("table")]
    assert cells == [[[0.0, 2.0], [1.0, 3.0]], [[4.0, 6.0], [5.0, 7.0]]]


@given(host_views())
def test_a_view_pickles_out_of_band(x: HostTensorView[Any]) -> None:
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert [len(buffer.raw()) for buffer in buffers] == [x.nbytes]
    assert pickle.loads(data, buffers=buffers) == x
    memo = [x, x]
    one, two = copy.deepcopy(memo)
    assert one is two
    assert one == x


def test_a_pickle_of_another_version_or_byte_order_is_refused() -> None:
    rebuild, facts = HostTensor.from_nested([1.0])._storage.__reduce_ex__(5)
    version, byteorder, *elements = facts
    assert rebuild(version, byteorder, *elements).elements() == [1.0]
    other = "big" if byteorder == "little" else "little"
    for found in ((version + 1, byteorder), (version, other)):
        with pytest.raises(FormatError, match=f"pickle: found version {found[0]} in {found[1]}-endian .*; accepted"):
            rebuild(*found, *elements)
