"""Every property, by name."""

from __future__ import annotations

from typing import Final

from properties import (
    Property,
    contractions,
    copies,
    decompositions,
    elements,
    elementwise,
    gpu,
    layouts,
    memory,
    products,
    reductions,
    runtime,
)
from properties.exchange import damaged_files, damaged_libraries, descriptors, round_trips

PROPERTIES: Final[dict[str, Property]] = {
    each.name: each
    for topic in (
        layouts,
        elements,
        runtime,
        copies,
        products,
        reductions,
        elementwise,
        memory,
        contractions,
        decompositions,
        round_trips,
        damaged_files,
        damaged_libraries,
        descriptors,
        gpu,
    )
    for each in topic.PROPERTIES
}
