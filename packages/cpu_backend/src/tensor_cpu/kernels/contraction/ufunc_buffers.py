"""Buffers of NumPy's ufuncs: what a call takes for arrays that it converts or gathers.

A ufunc goes through its arrays chunk by chunk. One that has another dtype than the loop, or more than one stride in a
chunk, passes through a buffer as long as the chunk; so chunks of few axes need fewer buffers, and those of many are
fewer. NumPy takes the axes for which (1 + buffers) / chunk is least; before 2.3 it took all of them.

Source: ``npyiter_find_buffering_setup`` in NumPy 2.3, and its documentation. Here no array is summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tensor_cpu.system.errstate import IGNORING_FP_ERRORS

_LONGEST: Final = IGNORING_FP_ERRORS.copy().run(np.getbufsize)
"""Elements of a buffer, whatever the user's ``np.setbufsize`` says."""
_ALL_AXES: Final = np.lib.NumpyVersion(np.__version__) < "2.3.0"


def buffered_elements(extents: Sequence[int], arrays: Sequence[Sequence[int]], converted: Sequence[bool]) -> int:
    """Elements in all buffers of a call, at most.

    Args:
        extents: of the axes, innermost first; no two neighbours are one axis in all arrays, unless one is 1.
        arrays: strides of each array along them, the result's too; 0 where it is repeated.
        converted: whether each array has another dtype than the loop.

    >>> buffered_elements([20, 30], [(1, 20), (30, 1), (1, 20)], (False, False, False))  # a transposed operand
    600
    >>> buffered_elements([9000, 30], [(1, 9000), (30, 1), (1, 9000)], (False, False, False)) in (0, 8192)  # long rows
    True
    >>> buffered_elements([9000], [(1,), (1,), (1,)], (True, False, False))
    8192
    """
    if len(extents) < 2:
        given = zip(arrays, converted, strict=True)
        return _of_lines([extents[0] if any(strides) else 1 for strides, other in given if other])
    buffered = list(converted)
    reached = chunk = extents[0]
    buffers, core = sum(converted), 1  # chunks are whole multiples of a core, the axes but the outermost
    for outer in range(1, len(extents)):
        if any(buffered) and reached >= _LONGEST and not _ALL_AXES:
            break
        if extents[outer] == 1:
            continue
        for array, strides in enumerate(arrays):
            buffered[array] |= strides[outer - 1] * extents[outer - 1] != strides[outer]
        inner, reached = reached, reached * extents[outer]
        held = min(reached, _LONGEST) if any(buffered) else reached
        if _ALL_AXES:
            chunk, buffers = reached, sum(buffered)
        elif (1 + sum(buffered)) * chunk <= (1 + buffers) * held:
            chunk, buffers, core = reached, sum(buffered), inner
    return buffers * (chunk if chunk <= _LONGEST else core * (_LONGEST // core))


def _of_lines(converted: Sequence[int]) -> int:
    """Elements for arrays of one axis and these lengths: NumPy converts short ones as a whole, up to the first long."""
    short = 0
    while short < len(converted) and converted[short] <= _LONGEST:
        short += 1
    return sum(converted[:short]) + (len(converted) - short) * _LONGEST
