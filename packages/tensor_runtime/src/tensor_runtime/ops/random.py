"""Random tensors, a function of their arguments alone: no hidden state, and no order of calls.

The words come from Philox4x64-10 (``tensor_runtime.ops.philox``), a counter-based generator, so any element can be
computed without those before it:

* key: (seed, stream); counter of block b: (b, 0, d, 0), counted from 0, with d = 0 for ``uniform``, 1 for ``integers``
  and 2 for ``normal``, so that the three draw different words from one seed;
* block b gives the words 4b, 4b + 1, 4b + 2, 4b + 3, in the order of the generator's output;
* a part is a real element, or the real or the imaginary part of a complex one: elements count in column-major order,
  element i of a real dtype is part i; of a complex dtype, parts 2i and 2i + 1.

``uniform``: part i takes word i. F64 parts are ((word >> 12) + 1/2) / 2**52, F32 parts ((word >> 41) + 1/2) / 2**23.
Both are exact in their type, so the smallest number is 2**-53 (2**-24), the largest 1 - 2**-53 (1 - 2**-24), and 0 and
1 never occur. The same bits on every machine and backend.

``integers``: element i is low + (word i * (high - low)) // 2**64, the product taken exactly. Each value is taken by
floor or ceil(2**64 / (high - low)) of the 2**64 words, so its probability is off by less than 2**-64, which is the
price of one word per element: rejection would make it exact, and an element's place in the stream unpredictable. The
same bits on every machine and backend, and the same integers in I32 and in I64.

``normal``: parts 2j and 2j + 1 take words v = 2j and w = 2j + 1, by the method of Box and Muller, in F64:

* r = sqrt(-2 * log(((v >> 12) + 1/2) / 2**52)), at most 8.58;
* the angle lies in an eighth of the circle, where sine and cosine lose nothing: a = f * (pi / 4), with pi / 4 rounded
  to F64 and f = ((w >> 9) % 2**52 + 1/2) / 2**52; (c, s) = (cos(a), sin(a));
* bit 61 of w exchanges c and s, then bit 62 changes the sign of c, and bit 63 that of s;
* the parts are r * c and r * s; for F32 and C32 they are rounded to F32 at the end.

Only log, sin and cos are not rounded alike everywhere; a part is within 4 rounding units of the exact value of these
formulas, on every machine and backend.

``fold_in(seed, n)``, a new seed: the first word of the block with key (seed, 0) and counter (n, 0, 0, 1), which no
tensor takes words from.

Sources: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011;
G. E. P. Box, M. E. Muller, A note on the generation of random normal deviates, Ann. Math. Statist. 29 (1958), 610;
D. Lemire, Fast random integer generation in an interval, ACM Trans. Model. Comput. Simul. 29 (2019), 3 (the product).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, SupportsIndex

from tensor_core.dtypes import DTYPES, F64, FLOATING, I32, I64, INTEGER, DType, DTypeLike
from tensor_core.errors import ArgumentError, CastRangeError, DTypeError
from tensor_core.shapes import as_shape
from tensor_runtime.backends.bindings import Binding, BindingTable
from tensor_runtime.backends.error_translation import call_translated
from tensor_runtime.backends.kernel_facts import state
from tensor_runtime.backends.registry import registry
from tensor_runtime.dispatch.conversion import as_dtype_or, plain_number
from tensor_runtime.form import Form, form_of
from tensor_runtime.ops.native_calls import place
from tensor_runtime.ops.philox import philox
from tensor_runtime.placement import CPU, Placement, as_placement
from tensor_runtime.static_types.creation import typed_integers, typed_uniform
from tensor_runtime.tensors.tensor import Tensor, wrap


def _table(operation: str) -> BindingTable:
    state(operation)

    def bind(form: Form) -> Binding:
        return registry.bind(operation, (), form, None), form

    return BindingTable(bind)


_UNIFORM: Final = _table("uniform")
_INTEGERS: Final = _table("integers")
_NORMAL: Final = _table("normal")
_RANGES: Final[dict[DType, tuple[int, int]]] = {
    dtype: (-(2 ** (8 * dtype.itemsize - 1)), 2 ** (8 * dtype.itemsize - 1)) for dtype in (I32, I64)
}


@typed_uniform
def uniform(
    shape: SupportsIndex | Sequence[SupportsIndex],
    /,
    *,
    seed: int,
    stream: int = 0,
    dtype: DTypeLike = F64,
    placement: Placement | str = CPU,
) -> Tensor:
    """Tensor of independent numbers, uniform on the open interval (0, 1); both parts of a complex number are.

    The same arguments give the same bits everywhere; the module's description fixes them.

    Args:
        shape: extents.
        seed: 0 to 2**64 - 1.
        stream: 0 to 2**64 - 1; other streams of one seed, and other distributions, are independent.
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
    return _uniform_call(shape, seed, stream, dtype, placement)


def _uniform(shape: Any, seed: Any, stream: Any, dtype: Any, placement: Any) -> Tensor:
    return _floats("uniform", _UNIFORM, shape, seed, stream, dtype, placement)


def _floats(
    operation: str, table: BindingTable, shape: Any, seed: Any, stream: Any, dtype: Any, placement: Any
) -> Tensor:
    wanted = _accepted(operation, dtype, FLOATING)
    seed, stream = _words(operation, seed, stream)
    kernel, form = table[form_of(wanted, as_shape(shape), as_placement(placement))]
    return wrap(form, call_translated(operation, form, kernel, seed, stream))


@typed_integers
def integers(
    shape: SupportsIndex | Sequence[SupportsIndex],
    low: int,
    high: int,
    /,
    *,
    seed: int,
    stream: int = 0,
    dtype: DTypeLike = I64,
    placement: Placement | str = CPU,
) -> Tensor:
    """Tensor of independent integers, uniform on low, low + 1, ..., high - 1.

    The same arguments give the same integers everywhere; the module's description fixes them. The probability of each
    is off from 1 / (high - low) by less than 2**-64.

    Args:
        shape: extents.
        low: the smallest.
        high: one more than the largest.
        seed: 0 to 2**64 - 1.
        stream: 0 to 2**64 - 1; other streams of one seed, and other distributions, are independent.
        dtype: I32 or I64.
        placement: where it goes; it is computed there.

    Raises:
        ArgumentError: ``low`` is not below ``high``, or one is no int; a seed or stream that is no such int.
        CastRangeError: the dtype does not hold ``low`` or ``high - 1``.
        DTypeError: another dtype.

    >>> dice = integers(1000, 1, 7, seed=3).to_numpy()
    >>> int(dice.min()), int(dice.max())
    (1, 6)
    """
    return _integers_call(shape, low, high, seed, stream, dtype, placement)


def _integers(shape: Any, low: Any, high: Any, seed: Any, stream: Any, dtype: Any, placement: Any) -> Tensor:
    wanted = _accepted("integers", dtype, INTEGER)
    seed, stream = _words("integers", seed, stream)
    low, high = plain_number("integers", low), plain_number("integers", high)
    if type(low) is not int or type(high) is not int or low >= high:
        raise ArgumentError(
            f"integers: low is {_shown(low)} and high is {_shown(high)}; accepted: ints with low < high",
            operation="integers",
        )
    lowest, end = _RANGES[wanted]
    for name, value, fits in (("low", low, low >= lowest), ("high - 1", high - 1, high <= end)):
        if not fits:
            raise CastRangeError(
                f"integers: {name} is {_shown(value)}, outside {wanted.name}; accepted: {lowest} to {end - 1}",
                operation="integers",
                value=value,
            )
    kernel, form = _INTEGERS[form_of(wanted, as_shape(shape), as_placement(placement))]
    return wrap(form, call_translated("integers", form, kernel, seed, stream, low, high - low))


@typed_uniform
def normal(
    shape: SupportsIndex | Sequence[SupportsIndex],
    /,
    *,
    seed: int,
    stream: int = 0,
    dtype: DTypeLike = F64,
    placement: Placement | str = CPU,
) -> Tensor:
    """Tensor of independent numbers from the normal distribution with mean 0 and variance 1.

    Both parts of a complex number have variance 1, so the mean of abs(z)**2 is 2. The same arguments give the same
    numbers everywhere, up to 4 rounding units; the module's description fixes them.

    Args:
        shape: extents.
        seed: 0 to 2**64 - 1.
        stream: 0 to 2**64 - 1; other streams of one seed, and other distributions, are independent.
        dtype: F32, F64, C32 or C64.
        placement: where it goes; it is computed there.

    Raises:
        ArgumentError: a seed or stream that is no such int.
        DTypeError: another dtype.

    >>> x = normal(10_000, seed=1).to_numpy()
    >>> bool(abs(x.mean()) < 0.04 and abs(x.std() - 1) < 0.03)
    True
    """
    return _normal_call(shape, seed, stream, dtype, placement)


def _normal(shape: Any, seed: Any, stream: Any, dtype: Any, placement: Any) -> Tensor:
    return _floats("normal", _NORMAL, shape, seed, stream, dtype, placement)


def fold_in(seed: int, number: int, /) -> int:
    """A new seed made of a seed and a number: one for each layer, step or worker, and for each of those again.

    The streams of one seed are a flat list; seeds made so are a tree, in which no branch needs to know of the others.
    Two different paths give one seed with probability 2**-64.

    Args:
        seed: 0 to 2**64 - 1.
        number: 0 to 2**64 - 1.

    Raises:
        ArgumentError: a seed or number that is no such int.

    >>> layers = [fold_in(42, layer) for layer in range(3)]
    >>> steps = [fold_in(layers[0], step) for step in range(3)]
    >>> len({42, *layers, *steps})
    7
    """
    seed, number = _word("fold_in", "seed", seed), _word("fold_in", "number", number)
    return philox((number, 0, 0, 1), (seed, 0))[0]


def _accepted(operation: str, dtype: Any, accepted: frozenset[DType]) -> DType:
    wanted = as_dtype_or(dtype, I64 if accepted is INTEGER else F64)
    if wanted not in accepted:
        names = ", ".join(one.name for one in DTYPES if one in accepted)
        raise DTypeError(f"{operation}: the dtype is {wanted}; accepted: {names}", dtype=wanted)
    return wanted


def _words(operation: str, seed: object, stream: object) -> tuple[int, int]:
    return _word(operation, "seed", seed), _word(operation, "stream", stream)


def _word(operation: str, name: str, value: object) -> int:
    number = value if type(value) is int else plain_number(operation, value)
    if type(number) is not int or not 0 <= number < 2**64:
        raise ArgumentError(f"{operation}: the {name} is {_shown(value)}; accepted: an int from 0 to 2**64 - 1")
    return number


def _shown(value: object) -> str:
    if type(value) is int:
        return str(value) if value.bit_length() < 256 else f"an int of {value.bit_length()} bits"
    return f"a {type(value).__name__}"


# What the functions above call: the ones in Python, or native ones that stand for them (``ops.native_calls``).
_uniform_call: Callable[[Any, Any, Any, Any, Any], Tensor] = _uniform
_normal_call: Callable[[Any, Any, Any, Any, Any], Tensor] = _normal
_integers_call: Callable[[Any, Any, Any, Any, Any, Any, Any], Tensor] = _integers
_CALLS: Final[tuple[tuple[str, Callable[..., Any]], ...]] = (
    ("uniform", _uniform),
    ("normal", _normal),
    ("integers", _integers),
)
for _name, _function in _CALLS:
    place(_name, _function, partial(globals().__setitem__, f"_{_name}_call"))
