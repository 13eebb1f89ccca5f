"""Every property, by name."""

from __future__ import annotations

from typing import Final

from properties import Property, copies, elements, layouts, memory, runtime

PROPERTIES: Final[dict[str, Property]] = {
    each.name: each
    for each in (*layouts.PROPERTIES, *elements.PROPERTIES, *copies.PROPERTIES, *runtime.PROPERTIES, *memory.PROPERTIES)
}
