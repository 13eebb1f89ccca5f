"""Equal tensors in other layouts: what every operation must not notice.

A variant uploads the elements of a host tensor arranged otherwise, and returns a view that names them in their
order again. Elements that the view leaves out are filled with what would show in a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from typing import Any, Final

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_runtime.form import Shape
from tensor_runtime.ops.views import reverse_view, transpose_view
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.tensors.transfer import upload
from tensor_runtime.testing.oracle import Host, Index, tabulated

Variant = Callable[[Host, Placement], Tensor]

_FILLER: Final[Mapping[DType, Any]] = {
    Bool: True,
    I32: 0x5A5A5A5A,
    I64: 0x5A5A5A5A5A5A5A5A,
    F32: nan,
    F64: nan,
    C32: complex(nan, nan),
    C64: complex(nan, nan),
}


def as_given(host: Host, place: Placement, /) -> Tensor:
    """Compact and owned."""
    return upload(host, place)


def transposed(host: Host, place: Placement, /) -> Tensor:
    """Row-major strides: the axes are stored in the reverse order.

    >>> from tensor_runtime.placement import as_placement
    >>> from tensor_runtime.testing.oracle import whole_numbers
    >>> transposed(whole_numbers((2, 3), I64), as_placement("cpu")).strides
    (3, 1)
    """
    return transpose_view(upload(_rearranged(host, host.shape[::-1], lambda index: index[::-1]), place))


def backwards(host: Host, place: Placement, /) -> Tensor:
    """Negative strides along every axis.

    >>> from tensor_runtime.placement import as_placement
    >>> from tensor_runtime.testing.oracle import whole_numbers
    >>> backwards(whole_numbers((3,), I64), as_placement("cpu")).strides
    (-1,)
    """
    shape = host.shape
    turned = _rearranged(host, shape, lambda index: tuple(n - 1 - i for i, n in zip(index, shape, strict=True)))
    return reverse_view(upload(turned, place), tuple(range(host.rank)))


def gappy(host: Host, place: Placement, /) -> Tensor:
    """Every second element of a larger allocation, from an offset on.

    >>> from tensor_runtime.placement import as_placement
    >>> from tensor_runtime.testing.oracle import whole_numbers
    >>> gappy(whole_numbers((3,), I64), as_placement("cpu")).layout
    TensorLayout(shape=(3,), strides=(2,), offset=1)
    """
    filler = _FILLER[host.dtype]

    def rule(index: Index) -> Any:
        if any(i % 2 == 0 for i in index):
            return filler
        return host[tuple(i // 2 for i in index)]

    larger = tabulated(tuple(2 * n + 1 for n in host.shape), host.dtype, rule)
    return upload(larger, place)[tuple(slice(1, None, 2) for _ in host.shape)]


def _rearranged(host: Host, shape: Shape, source: Callable[[Index], Index]) -> Host:
    return tabulated(shape, host.dtype, lambda index: host[source(index)])


VARIANTS: Final[Mapping[str, Variant]] = {
    "as given": as_given,
    "transposed": transposed,
    "backwards": backwards,
    "gappy": gappy,
}
"""Every way in which the suite lays out an operand, by name."""
