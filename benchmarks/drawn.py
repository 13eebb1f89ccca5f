"""Networks that nobody tuned anything on, drawn by seed, along one path that all contenders follow. No targets.

The path is what the search finds in a second; networks that take too long along it are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks import networks
from benchmarks.einsum import CONTENDERS, REFERENCE, colmajor, network_row
from benchmarks.rows import Row

__all__ = ["CONTENDERS", "REFERENCE", "rows"]

SEED: Final = 20261122
MOST_FLOPS, LARGEST = 3e9, 1 << 24


def rows(_: Path | None) -> Iterator[Row]:
    """One row a network."""
    from tensor_einsum import plan

    for network in networks.drawn(SEED):
        found = plan(network.notation, *network.shapes, objective="flops", seconds=1.0)
        if found.flops <= MOST_FLOPS and found.largest_intermediate <= LARGEST:
            yield network_row(network.name, network.notation, colmajor(network.notation), network.shapes, found.path)
