"""Equal tensors in other layouts: what every operation must not notice.

A variant uploads the elements of a host tensor arranged otherwise, and returns a view that names them in their
order again. Elements that the view leaves out are filled with what would show in a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count, product
from math import nan
from operator import mul
from typing import Any, Final

from tensor_core.dtypes import C32, C64, F32, F64, I32, I64, Bool, DType
from tensor_core.host.tensor import HostTensor
from tensor_core.shapes import Shape, compact_strides, element_count
from tensor_runtime.ops.views import reverse_view, transpose_view
from tensor_runtime.placement import Placement
from tensor_runtime.tensors.tensor import Tensor
from tensor_runtime.tensors.transfer import upload
from tensor_runtime.testing.oracle import Host, indices

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
    strides = compact_strides(host.shape)
    places = [sum(map(mul, index, strides)) for index in product(*map(range, host.shape))]
    return transpose_view(upload(_rearranged(host, host.shape[::-1], places), place))


def backwards(host: Host, place: Placement, /) -> Tensor:
    """Negative strides along every axis.

    >>> from tensor_runtime.placement import as_placement
    >>> from tensor_runtime.testing.oracle import whole_numbers
    >>> backwards(whole_numbers((3,), I64), as_placement("cpu")).strides
    (-1,)
    """
    turned = _rearranged(host, host.shape, reversed(range(element_count(host.shape))))
    return reverse_view(upload(turned, place), tuple(range(host.rank)))


def gappy(host: Host, place: Placement, /) -> Tensor:
    """Every second element of a larger allocation, from an offset on.

    >>> from tensor_runtime.placement import as_placement
    >>> from tensor_runtime.testing.oracle import whole_numbers
    >>> gappy(whole_numbers((3,), I64), as_placement("cpu")).layout
    TensorLayout(shape=(3,), strides=(2,), offset=1)
    """
    shape = tuple(2 * n + 1 for n in host.shape)
    inside = count()  # the elements that are kept come in the host's order
    places = [next(inside) if all(i % 2 for i in index) else -1 for index in indices(shape)]
    return upload(_rearranged(host, shape, places), place)[tuple(slice(1, None, 2) for _ in host.shape)]


def _rearranged(host: Host, shape: Shape, places: Iterable[int]) -> Host:
    """Elements of ``host``, by their places in column-major order; -1 is the filler."""
    elements, size = host.tobytes(), host.dtype.itemsize
    filler = HostTensor.from_flat([_FILLER[host.dtype]], (1,), host.dtype).tobytes()
    taken = b"".join(elements[k * size : (k + 1) * size] if k >= 0 else filler for k in places)
    return HostTensor.wrap_bytes(bytearray(taken), shape, host.dtype)


VARIANTS: Final[Mapping[str, Variant]] = {
    "as given": as_given,
    "transposed": transposed,
    "backwards": backwards,
    "gappy": gappy,
}
"""Every way in which the suite lays out an operand, by name."""
