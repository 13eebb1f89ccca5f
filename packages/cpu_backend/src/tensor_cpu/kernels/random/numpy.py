"""The kernels "uniform", "integers" and "normal": words of Philox4x64-10 from NumPy, made into numbers here.

NumPy promises the words of its bit generator but not the bits of its distributions, so every map from words to numbers
is ours, as ``tensor_runtime.ops.random`` fixes it. NumPy's generator adds one to its counter, a number of 256 bits,
before each block of four words, so it starts one before block 0 of a distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import pi
from typing import Any, Final

import numpy as np

from tensor_core.dtypes import COMPLEX
from tensor_cpu.kernel_table import Binder
from tensor_cpu.storage import NUMPY_DTYPES, Array, empty
from tensor_cpu.system.errstate import ignoring_fp_errors
from tensor_runtime.form import Form
from tensor_runtime.protocols import Kernel

CHUNK: Final = 1 << 15  # words drawn at once, an even number; bounds the temporaries
_FULL: Final = 2**64 - 1
_BEFORE_BLOCK_0: Final = {
    "uniform": np.array([_FULL, _FULL, _FULL, _FULL], np.uint64),
    "integers": np.array([_FULL, _FULL, 0, 0], np.uint64),
    "normal": np.array([_FULL, _FULL, 1, 0], np.uint64),
}
"""The counter's words, the lowest first; the third one tells the distributions apart."""
_HALF_WORD: Final = np.uint64(2**32 - 1)
_32: Final = np.uint64(32)


def _words(name: str, seed: int, stream: int, number: int) -> Iterator[tuple[int, Array]]:
    """The words of a stream for a distribution, chunk by chunk, each with the number of its first."""
    source = np.random.Philox(key=np.array([seed, stream], np.uint64), counter=_BEFORE_BLOCK_0[name])
    for start in range(0, number, CHUNK):
        yield start, source.random_raw(min(CHUNK, number - start))


def _parts(array: Array, form: Form) -> Array:
    """The elements as a flat array of real numbers, in which a complex one counts twice."""
    return array.reshape(-1).view(NUMPY_DTYPES[form.dtype.component])


def _number_of_parts(form: Form) -> int:
    return form.size * (2 if form.dtype in COMPLEX else 1)


def bind_uniform(result: Form, /) -> Kernel:
    """From seed and stream to numbers on the open interval (0, 1).

    >>> from tensor_core.dtypes import F32
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_uniform(form_of(F32, (2, 3), CPU))(1, 0).shape
    (3, 2)
    """
    single = result.dtype.component.itemsize == 4
    shift, step = (41, 2.0**-23) if single else (12, 2.0**-52)
    number = _number_of_parts(result)

    def drawn(seed: int, stream: int) -> Array:
        array = empty(result)
        parts = _parts(array, result)
        for start, words in _words("uniform", seed, stream, number):
            part = parts[start : start + words.size]
            # The shifted word has one bit less than the significand, so adding a half and scaling are exact.
            part[...] = words >> np.uint64(shift)
            np.add(part, 0.5, out=part)
            np.multiply(part, step, out=part)
        return array

    return drawn


def bind_integers(result: Form, /) -> Kernel:
    """From seed, stream, low and how many integers there are, 1 to 2**64, to integers from low on.

    >>> from tensor_core.dtypes import I32
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_integers(form_of(I32, (3,), CPU))(1, 0, -5, 1).tolist()
    [-5, -5, -5]
    """

    def drawn(seed: int, stream: int, low: int, number: int) -> Array:
        array = empty(result)
        flat, first = array.reshape(-1), np.uint64(low % 2**64)
        for start, words in _words("integers", seed, stream, result.size):
            values = words if number == 2**64 else _high_words(words, number)
            values += first  # modulo 2**64, which is what two's complement wants
            flat[start : start + words.size] = values.view(np.int64)
        return array

    return drawn


def _high_words(words: Array, number: int) -> Array:
    """The upper 64 bits of ``words * number``, for a number below 2**64; by halves, since NumPy has no wider product.

    >>> _high_words(np.array([2**64 - 1, 2**63], np.uint64), 10).tolist()
    [9, 5]
    """
    upper, lower = np.uint64(number >> 32), np.uint64(number & (2**32 - 1))
    high, low = words >> _32, words & _HALF_WORD
    middle = high * lower + (low * lower >> _32)  # below 2**64
    if not upper:
        return middle >> _32
    other = low * upper + (middle & _HALF_WORD)  # below 2**64
    product: Array = high * upper + (middle >> _32) + (other >> _32)
    return product


def bind_normal(result: Form, /) -> Kernel:
    """From seed and stream to numbers of the standard normal distribution.

    >>> from tensor_core.dtypes import C64
    >>> from tensor_runtime.form import form_of
    >>> from tensor_runtime.placement import CPU
    >>> bind_normal(form_of(C64, (2, 3), CPU))(1, 0).shape
    (3, 2)
    """
    number = _number_of_parts(result)

    def drawn(seed: int, stream: int) -> Array:
        array = empty(result)
        parts = _parts(array, result)
        for start, words in _words("normal", seed, stream, number + number % 2):
            pairs = _normal_pairs(words[0::2], words[1::2]).reshape(-1)
            parts[start : start + words.size] = pairs[: number - start]
        return array

    return ignoring_fp_errors(drawn)


def _normal_pairs(radial: Array, angular: Array) -> Array:
    """One pair of numbers for each pair of words, as an array of pairs."""
    radius = _unit(radial >> np.uint64(12))
    np.log(radius, out=radius)
    np.multiply(radius, -2.0, out=radius)
    np.sqrt(radius, out=radius)
    angle = _unit(angular >> np.uint64(9) & np.uint64(2**52 - 1))
    np.multiply(angle, pi / 4, out=angle)
    cosine, sine = np.cos(angle), np.sin(angle)
    exchanged = (angular >> np.uint64(61) & np.uint64(1)).astype(np.bool_)
    pairs = np.empty((radius.size, 2))
    for place, (plain, other, bit) in enumerate(((cosine, sine, 62), (sine, cosine, 63))):
        sign = 1.0 - 2.0 * (angular >> np.uint64(bit) & np.uint64(1))
        np.multiply(np.where(exchanged, other, plain) * sign, radius, out=pairs[:, place])
    return pairs


def _unit(digits: Array) -> Array:
    """(digits + 1/2) / 2**52 for digits below 2**52; exact."""
    number = digits.astype(np.float64)
    np.add(number, 0.5, out=number)
    np.multiply(number, 2.0**-52, out=number)
    return number


def _none(bind: Callable[[Form], Kernel]) -> Callable[[tuple[Any, ...], Any, Any], Kernel]:
    return lambda operands, result, params: bind(result)


BINDERS: Final[Mapping[str, Binder]] = {
    "uniform": _none(bind_uniform),
    "integers": _none(bind_integers),
    "normal": _none(bind_normal),
}
