"""Random tensors, a function of their arguments alone: no hidden state, the same bits on every machine and backend.

The words come from Philox4x64-10, a counter-based generator, so any element can be computed without those before it:

* key: (seed, stream); counter of block b: (b, 0, 0, 0), counted from 0;
* block b gives the words 4b, 4b + 1, 4b + 2, 4b + 3, in the order of the generator's output;
* real dtypes: element i in column-major order takes word i; complex: its real part word 2i, its imaginary part
  word 2i + 1;
* F64 parts are ((word >> 12) + 1/2) / 2**52, F32 parts ((word >> 41) + 1/2) / 2**23. Both are exact in their type, so
the
  smallest number is 2**-53 (2**-24), the largest 1 - 2**-53 (1 - 2**-24), and 0 and 1 never occur.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tensor_core.dtypes import F64, FLOATING, as_dtype
from tensor_core.errors import ArgumentError, DTypeError
from tensor_core.shapes import as_shape
from tensor_runtime.bindings import Binding, BindingTable
from tensor_runtime.execute import guarded
from tensor_runtime.form import Form, form_of
from tensor_runtime.placement import CPU, Placement, as_placement
from tensor_runtime.registry import registry
from tensor_runtime.tensors import Tensor, wrap


def _bind_uniform(form: Form) -> Binding:
    return registry.backend_for(form.placement).bind("uniform", (), form, None), form


_UNIFORM: Final = BindingTable(_bind_uniform)


def uniform(
    shape: Sequence[int] | int,
    /,
    *,
    seed: int,
    stream: int = 0,
    dtype: Any = F64,
    placement: Placement | str = CPU,
) -> Tensor:
    """Tensor of independent numbers, uniform on the open interval (0, 1); both parts of a complex number are.

    The same arguments give the same bits everywhere; the module's description fixes them.

    Args:
        shape: extents.
        seed: 0 to 2**64 - 1.
        stream: 0 to 2**64 - 1; other streams of one seed are independent.
        dtype: F32, F64, C32 or C64.
        placement: where it goes; it is computed there.

    Raises:
        ArgumentError: a seed or stream that is no such int.
        DTypeError: another dtype.

    >>> uniform(2, seed=1).to_numpy().tolist() == uniform(2, seed=1).to_numpy().tolist()
    True
    >>> x = uniform((10, 10), seed=7, dtype="F32").to_numpy()
    >>> bool(x.min() > 0 and x.max() < 1)
    True
    """
    wanted = as_dtype(dtype)
    if wanted not in FLOATING:
        raise DTypeError(f"uniform: the dtype is {wanted}; accepted: F32, F64, C32, C64", dtype=wanted)
    for name, value in (("seed", seed), ("stream", stream)):
        if type(value) is not int or not 0 <= value < 2**64:
            raise ArgumentError(f"uniform: the {name} is {_shown(value)}; accepted: an int from 0 to 2**64 - 1")
    kernel, form = _UNIFORM[form_of(wanted, as_shape(shape), as_placement(placement))]
    return wrap(form, guarded("uniform", kernel, seed, stream))


def _shown(value: object) -> str:
    if type(value) is int:
        return str(value) if value.bit_length() < 256 else f"an int of {value.bit_length()} bits"
    return f"a {type(value).__name__}"
