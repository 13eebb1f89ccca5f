"""Arguments of the wrong kind: every refusal comes from our own tree and says what is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tensor_core import (
    F64,
    I64,
    HostTensor,
    HostTensorView,
    SliceSpec,
    TensorError,
    TensorLayout,
    as_dtype,
    broadcast_shapes,
    can_convert,
    cast_scalar,
    convert_scalar,
    element_offset,
    promote,
    promote_scalar,
    to_element,
)

if TYPE_CHECKING:
    from collections.abc import Callable

X: Any = HostTensor.from_nested([[1, 2], [3, 4]])
WRONG: tuple[Any, ...] = (None, 5.5, "ab", object(), {}, [None], 10**5000, b"x", slice(0, 1), ("a", 1))
CALLS: dict[str, Callable[[Any], object]] = {
    "as_dtype": as_dtype,
    "promote": lambda wrong: promote(wrong, F64),
    "promote_scalar": lambda wrong: promote_scalar(wrong, int),
    "can_convert": lambda wrong: can_convert(wrong, F64),
    "to_element": lambda wrong: to_element(1, wrong),
    "cast_scalar": lambda wrong: cast_scalar(1, I64, wrong),
    "convert_scalar": lambda wrong: convert_scalar(1, wrong, F64),
    "zeros": lambda wrong: HostTensor.zeros(2, wrong),
    "transpose_view": lambda wrong: X.transpose_view((wrong, wrong)),
    "reverse_view": lambda wrong: X.reverse_view((wrong,)),
    "slice_view": X.slice_view,
    "slices": lambda wrong: X.slice_view([wrong, SliceSpec(0)]),
    "diagonal_view": lambda wrong: X.diagonal_view(wrong, 1),
    "window_view": lambda wrong: X.window_view(wrong, 0),
    "window axes": lambda wrong: X.window_view(1, [wrong]),
    "squeeze_view": lambda wrong: X.squeeze_view([wrong]),
    "expand_view": X.expand_view,
    "broadcast_view": X.broadcast_view,
    "reshape_view": X.reshape_view,
    "broadcast_shapes": lambda wrong: broadcast_shapes(wrong, (2, 3, 4)),
    "element_offset": lambda wrong: element_offset(TensorLayout((2,)), wrong),
    "element index": lambda wrong: element_offset(TensorLayout((2,)), (wrong,)),
    "index": lambda wrong: X[wrong, 0, 0],
    "wrap_bytes": lambda wrong: HostTensor.wrap_bytes(wrong, (2,), F64),
    "from_flat": lambda wrong: HostTensor.from_flat(wrong, (7,)),
    "from_nested": lambda wrong: HostTensor.from_nested([[wrong], 1]),
    "layout": lambda wrong: TensorLayout((2,), wrong),
    "offset": lambda wrong: TensorLayout((2,), (1,), wrong),
    "slice": lambda wrong: SliceSpec(wrong).step if wrong != 10**5000 else SliceSpec(-wrong),
    "write": lambda wrong: X.__setitem__((0, slice(None)), [wrong, "x", 1]),
}

# The few of these that mean something: no strides, strides of bytes, a new axis, the empty shape.
MEANINGFUL = {("layout", type(None)), ("layout", bytes), ("index", type(None)), ("broadcast_shapes", dict)}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [(name, wrong) for name in CALLS for wrong in WRONG if (name, type(wrong)) not in MEANINGFUL],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_wrong_argument_is_refused_by_our_own_error(name: str, wrong: Any) -> None:
    with pytest.raises(TensorError) as caught:
        CALLS[name](wrong)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "interface",
    [
        {},
        5,
        {"typestr": 8, "shape": (2,), "data": (8, False)},
        {"typestr": "<f8", "shape": (2,), "data": (0, False)},
        {"typestr": "<f8", "shape": (2,), "data": (8, False), "strides": (8, 8)},
        {"typestr": "<f8", "shape": ("a",), "data": (8, False)},
        {"typestr": "<f8", "shape": (2,), "data": (8,)},
        {"typestr": "<f8", "shape": (2,), "data": "x"},
        {"typestr": "<f8", "shape": (2**62, 2**62), "data": (8, False)},
        {"typestr": "<f8", "shape": (2, 2), "data": (8, False), "strides": (2**63, 8)},
        {"typestr": "<f8", "shape": (2,), "data": bytes(8)},
    ],
    ids=repr,
)
def test_a_malformed_array_interface_is_refused_before_memory_is_touched(interface: object) -> None:
    class Foreign:
        __array_interface__ = interface

    with pytest.raises(TensorError):
        HostTensorView.borrow(Foreign())


def test_names_stand_for_element_types_everywhere() -> None:
    names: Any = ("F32", int, "int64", "float64")
    assert promote(*names[:2]) is F64
    assert can_convert(*names[2:])
    assert to_element(1, names[3]) == cast_scalar(1, *names[2:]) == convert_scalar(1, *names[2:]) == 1.0


def test_equality_with_something_else_is_false() -> None:
    assert not X.equals(5)
    assert "a" not in X
