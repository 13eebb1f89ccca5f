"""A plan of many slices, for tests of how slices are run."""

from __future__ import annotations

import numpy as np

import tensor_runtime as tr
from tensor_einsum import Plan, plan


def operands_of(found: Plan) -> list[tr.Tensor]:
    generator = np.random.default_rng(7)
    return [tr.tensor(generator.standard_normal(shape)) for shape in found.shapes]


SLICED = plan("ij,jk,kl,lm->im", (6, 40), (40, 30), (30, 20), (20, 5), optimize=[(2, 3), (1, 2), (0, 1)]).with_slices(
    {"j": 3, "i": 4}
)
"""28 slices, with shared intermediates and shorter parts at the ends."""
