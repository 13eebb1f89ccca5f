"""What the type checker knows: host tensors of different element types are different types; so are views."""

from __future__ import annotations

from pathlib import Path

from static_types import check_marked_errors, run_other_lines

SOURCE = """
from tensor_core import (
    C64, DTYPES, F32, F64, I32, AnyHostTensor, AnyHostTensorView, DType, HostTensor, HostTensorView, ShapeVec,
    SliceSpec, StrideVec, TensorLayout, TensorRef, cast, convert, promote,
)

good: HostTensor[F64] = HostTensor.zeros((3, 4), F64)
view: HostTensorView[F64] = good.transpose_view()
back: HostTensor[F64] = view.copy()
named: HostTensor[I32] = HostTensor.from_nested([1], "I32")
wrong: HostTensor[F64] = HostTensor.zeros((3, 4), I32)  # error
other: HostTensor[F64] = HostTensor.from_nested([1], I32)  # error
flat: HostTensor[F64] = HostTensor.from_flat([1], (1,), I32, order="C")  # error
buffer: HostTensor[F64] = HostTensor.from_buffer(b"1234", I32)  # error
memory: HostTensor[F64] = HostTensor.wrap_bytes(b"1234", (1,), I32)  # error
mixed: HostTensor[I32] = good  # error
none: HostTensor[int]  # error

# Views keep the element type; owned tensors are views, views are not owned.
chain: HostTensorView[F64] = good.slice_view([SliceSpec(0), SliceSpec(3, None, -1)]).reverse_view(0).squeeze_view()
lent: HostTensorView[F64] = good
owned: HostTensor[F64] = view  # error
elsewhere: HostTensorView[I32] = view.reshape_view((12,))  # error
diagonal: HostTensorView[I32] = view.diagonal_view(0, 1)  # error
composed: HostTensorView[I32] = view.compose_view(TensorLayout((2,)))  # error
compact: HostTensor[I32] = view.to_contiguous()  # error
frozen: HostTensorView[I32] = good.as_readonly()  # error

# Dynamic tensors take every element type and give none away unasked.
dynamic: AnyHostTensor = good
dynamic = HostTensor.zeros(2, I32)
dynamic = AnyHostTensor.from_nested([1.0])
looking: AnyHostTensorView = view
looking = dynamic
unknown: HostTensor[F64] = dynamic  # error
unseen: HostTensorView[F64] = looking  # error
asked: HostTensor[F64] = dynamic.typed(F64)
seen: HostTensorView[F64] = looking.typed(F64)
asked_wrongly: HostTensor[I32] = dynamic.typed(F64)  # error
any_dtype: DType = promote(*DTYPES)
from_dtype: AnyHostTensor = HostTensor.zeros(2, any_dtype)

# References are dynamic and read-only.
reference = TensorRef(good)
looking = reference
reference_typed: HostTensorView[F64] = reference.typed(F64)
guessed: HostTensorView[F64] = reference  # error
kept: AnyHostTensor = reference  # error
reference[0, 0] = 1.0  # error
good[0, 0] = 1.0
TensorRef(view)  # error

# Conversion gives the type asked for.
converted: HostTensor[C64] = convert(view, C64)
narrowed: HostTensor[F32] = cast(dynamic, F32, overflow="wrap")
converted_wrongly: HostTensor[F64] = convert(view, C64)  # error
cast_wrongly: HostTensor[F64] = cast(view, F32)  # error
policy = cast(view, I32, overflow="clip")  # error

shape: ShapeVec = good.shape
strides: StrideVec = good.layout.strides
axes: ShapeVec = ("a",)  # error
"""


def test_mypy_tells_element_types_apart(tmp_path: Path) -> None:
    check_marked_errors(SOURCE, tmp_path)


def test_the_lines_without_an_error_run() -> None:
    names = run_other_lines(SOURCE)
    assert names["seen"].dtype is names["F64"]
