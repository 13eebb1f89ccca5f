"""Tensors in einops: the class by which it reshapes, reduces and joins them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensor_core.errors import BackendUnavailableError
from tensor_runtime.tensors.tensor import Tensor


def use_with_einops() -> None:
    """Make einops take tensors: rearrange, reduce, repeat, pack, unpack and einsum, with row-major order of elements.

    A second call changes nothing.

    Raises:
        BackendUnavailableError: einops is not installed.

    Source: A. Rogozhnikov, einops, its class ``AbstractBackend``, which libraries of arrays derive from.

    >>> from importlib.util import find_spec
    >>> if find_spec("einops"):  # nobody requires it
    ...     use_with_einops()
    """
    try:
        from einops import _backends
    except ImportError:
        raise BackendUnavailableError("use_with_einops: needs einops; pip install einops") from None
    if hasattr(_backends, "TensorRuntimeBackend"):
        return

    import tensor_runtime as tr

    class TensorRuntimeBackend(_backends.AbstractBackend):  # type: ignore[misc]
        """What einops asks of a library of arrays."""

        framework_name = "tensor_runtime"

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: Any) -> Tensor:
            return tr.asarray(x)

        def to_numpy(self, x: Tensor) -> Any:
            return x.to_numpy()

        def arange(self, start: int, stop: int) -> Tensor:
            return tr.arange(start, stop)

        def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
            return x.reshape(tuple(shape), order="C")

        def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
            return tr.transpose(x, axes)

        def reduce(self, x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
            reduced: Tensor = getattr(tr, operation)(x, tuple(axes))
            return reduced

        def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
            return tr.stack(tensors)

        def add_axis(self, x: Tensor, new_position: int) -> Tensor:
            return tr.expand_dims(x, new_position)

        def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
            return tr.tile(x, repeats)

        def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
            return tr.concatenate(tensors, axis)

        def is_float_type(self, x: Tensor) -> bool:
            kind: str = x.dtype.kind
            return kind in ("float", "complex")

        def einsum(self, pattern: str, *x: Tensor) -> Tensor:
            result: Tensor = tr.einsum(pattern, *x)
            return result

    _backends.TensorRuntimeBackend = TensorRuntimeBackend  # einops finds subclasses, as long as somebody holds them
