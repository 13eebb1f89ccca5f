"""Properties of the native copies: kernels against index arithmetic written down element by element."""

from __future__ import annotations

from random import Random
from typing import Final

import numpy as np

from properties import Property
from properties.native import extents_of, layout_of, memory_of, places_of, some_processor, view_of
from tensor_core import DTYPES
from tensor_cpu.system.extension import AVAILABLE, LIBRARY


def a_native_copy_reads_every_element_from_its_place(rng: Random) -> None:
    """Any layout, in every dtype."""
    if not AVAILABLE:
        return
    dtype, extents = rng.choice(DTYPES), extents_of(rng)
    strides, first, size = layout_of(rng, extents, True)
    memory = memory_of(rng, dtype.numpy_name, size)
    with some_processor(rng):
        copied = LIBRARY.bind_copy(extents, strides, dtype.name)(view_of(memory, extents, strides, first))
    bits = memory.view(np.uint8).reshape(size, -1)
    assert copied.tobytes() == bits[places_of(extents, strides, first)].tobytes(), (dtype, extents, strides)


def a_native_write_touches_its_elements_alone(rng: Random) -> None:
    """Any layouts; in one memory too, as if the source had been copied first."""
    if not AVAILABLE:
        return
    dtype, extents = rng.choice(DTYPES), extents_of(rng)
    target, start, target_size = layout_of(rng, extents, False)
    source, first, source_size = layout_of(rng, extents, True)
    memory = memory_of(rng, dtype.numpy_name, max(source_size, target_size))
    read = memory if rng.random() < 0.5 else memory_of(rng, dtype.numpy_name, source_size)
    expected = memory.copy()
    places = places_of(extents, target, start), places_of(extents, source, first)
    expected.view(np.uint8).reshape(memory.size, -1)[places[0]] = read.view(np.uint8).reshape(read.size, -1)[places[1]]
    with some_processor(rng):
        write = LIBRARY.bind_copy_into(extents, target, source, dtype.name)
    write(view_of(memory, extents, target, start), view_of(read, extents, source, first))
    assert memory.tobytes() == expected.tobytes(), (dtype, extents, target, source)


PROPERTIES: Final = (
    Property(
        "native-copies", "a native copy is exact", a_native_copy_reads_every_element_from_its_place, 2000, 1_000_000
    ),
    Property("native-writes", "a native write is exact", a_native_write_touches_its_elements_alone, 2000, 1_000_000),
)
