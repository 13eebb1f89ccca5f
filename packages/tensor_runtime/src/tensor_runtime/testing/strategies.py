"""Hypothesis strategies for runtime tensors (extra ``testing``), on top of those of ``tensor_core.testing``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

from tensor_core.dtypes import DType
from tensor_core.errors import ViewRequiresCopyError
from tensor_core.host.tensor import HostTensor, HostTensorView
from tensor_core.slices import SliceSpec, resolve
from tensor_core.testing.strategies import ViewStep, apply_step, host_tensors, view_steps
from tensor_runtime.ops import views
from tensor_runtime.placement import CPU, Placement
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.tensors.transfer import upload

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

_STEPS = (
    "transpose_view",
    "slice_view",
    "index_view",
    "expand_view",
    "squeeze_view",
    "reshape_view",
    "broadcast_view",
    "reverse_view",
    "diagonal_view",
)


class ViewedTensor(NamedTuple):
    """A tensor, and a host view of the same elements made by the same steps."""

    tensor: Tensor
    host: HostTensorView[Any]
    steps: tuple[ViewStep, ...]


@st.composite
def tensors(
    draw: DrawFn,
    placement: Placement = CPU,
    dtype: SearchStrategy[DType] | None = None,
    shape: SearchStrategy[tuple[int, ...]] | None = None,
    *,
    integral: bool = True,
    max_steps: int = 3,
) -> Tensor:
    """Tensors of any layout that a chain of views reaches.

    Args:
        placement: where they are.
        dtype: element types; all of them if None.
        shape: shapes before the views; any if None.
        integral: small whole numbers only, so that sums are exact.
        max_steps: views on top of each other, at most; 0 gives owned tensors.
    """
    owned = host_tensors(dtype, shape, integral=integral)
    return draw(viewed_tensors(placement, owned, max_steps=max_steps)).tensor


@st.composite
def viewed_tensors(
    draw: DrawFn,
    placement: Placement = CPU,
    owned: SearchStrategy[HostTensor[Any]] | None = None,
    *,
    max_steps: int = 3,
) -> ViewedTensor:
    """Tensors as :func:`tensors` draws them, each with its host view as the oracle.

    Args:
        placement: where they are.
        owned: what is uploaded; any host tensors of small whole numbers if None.
        max_steps: views on top of each other, at most.
    """
    base = draw(host_tensors(integral=True) if owned is None else owned)
    host: HostTensorView[Any] = base
    tensor = upload(base, placement)
    steps: list[ViewStep] = []
    for _ in range(draw(st.integers(0, max_steps))):
        step = draw(view_steps(host.layout, _STEPS))
        try:
            layout = apply_step(host.layout, step)
        except ViewRequiresCopyError:
            continue
        host = HostTensorView(base._storage, layout)
        tensor = apply_to_tensor(tensor, step)
        steps.append(step)
    return ViewedTensor(tensor, host, tuple(steps))


def apply_to_tensor(x: Tensor, step: ViewStep, /) -> Tensor:
    """The view that a step names, by the runtime's functions.

    >>> apply_to_tensor(zeros((2, 3)), ("transpose_view", ((1, 0),))).shape
    (3, 2)
    """
    name, arguments = step
    if name == "slice_view":
        return x[tuple(_as_python(spec, extent) for spec, extent in zip(arguments[0], x.shape, strict=True))]
    if name == "index_view":
        return x[arguments[0]]
    if name == "expand_view":
        return views.expand_dims(x, *arguments)
    if name == "squeeze_view":
        return views.squeeze(x, *arguments)
    if name == "broadcast_view":
        return views.broadcast_to(x, *arguments)
    result: Tensor = getattr(views, name)(x, *arguments)
    return result


def _as_python(spec: SliceSpec, extent: int) -> slice:
    """Python's slice of a strict one that lies inside the axis."""
    first, count, step = resolve(spec, extent)
    end = first + count * step
    return slice(first, end, step) if count and end >= 0 else slice(first, None, step) if count else slice(0, 0)
