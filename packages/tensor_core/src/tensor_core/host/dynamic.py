"""Host tensors whose element type is known at run time only.

``AnyHostTensor`` is any ``HostTensor`` and ``AnyHostTensorView`` any ``HostTensorView``: at run time the same classes,
with all their constructors; for the type checker, wider than each of the seven. A ``HostTensor[F64]`` is an
``AnyHostTensor``; the way back is ``tensor.typed(F64)``, which checks.
"""

from __future__ import annotations

from tensor_core.dtypes import TensorScalar
from tensor_core.errors import DTypeError, shortened
from tensor_core.host.tensor import HostTensor, HostTensorView
from tensor_core.static_types import TYPE_CHECKING, Any

if TYPE_CHECKING:
    AnyHostTensor = HostTensor[TensorScalar]
    AnyHostTensorView = HostTensorView[TensorScalar]
else:
    AnyHostTensor = HostTensor
    AnyHostTensorView = HostTensorView


class TensorRef(HostTensorView[TensorScalar]):
    """A host tensor lent out: its memory is shared and kept alive, compact, and not to be written by the borrower.

    The owner may still write; the borrower sees it.

    Args:
        tensor: whose elements are lent.

    Raises:
        DTypeError: not a host tensor; a view has ``as_readonly``.

    >>> owner = HostTensor.from_nested([1, 2])
    >>> lent = TensorRef(owner)
    >>> owner[0] = 5
    >>> lent.to_nested(), lent.readonly
    ([5, 2], True)
    """

    __slots__ = ()

    def __init__(self, tensor: HostTensor[Any], /) -> None:
        if not isinstance(tensor, HostTensor):
            raise DTypeError(f"TensorRef: found {shortened(type(tensor).__name__)}; accepted: a HostTensor")
        lent = tensor.as_readonly()
        super().__init__(lent._storage, lent.layout)

    if TYPE_CHECKING:
        __setitem__: None  # type: ignore[assignment]

    @property
    def raw(self) -> memoryview:
        """The bytes of all elements in column-major order, read-only."""
        return self._storage.raw

    def __reduce_ex__(self, protocol: object) -> Any:
        return TensorRef, (self.copy(),)
