"""Every property, by name."""

from __future__ import annotations

from typing import Final

from properties import Property, copies, elements, elementwise, layouts, memory, products, runtime

PROPERTIES: Final[dict[str, Property]] = {
    each.name: each
    for topic in (layouts, elements, runtime, copies, products, elementwise, memory)
    for each in topic.PROPERTIES
}
