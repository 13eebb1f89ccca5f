"""Whole networks along one path: the files of a folder, or small networks made here. No targets.

All contenders follow the same path and are prepared beforehand: a plan here, an expression there. Each gets the same
memory: peers read it as ``format_string``, we as ``format_string_colmajor``, which describes it in column-major words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.rows import Limit, Operand, Row
from benchmarks.step_limits import path_works

OPT_EINSUM: Final = "opt_einsum numpy"
CONTENDERS: Final = ("ours", OPT_EINSUM, "cotengra numpy", "opt_einsum torch", "opt_einsum jax")
REFERENCE: Final = OPT_EINSUM
SITES, BOND, PHYSICAL = 50, 32, 2
OWN: Final[tuple[tuple[str, str, tuple[tuple[int, ...], ...]], ...]] = (
    ("matmul 256", "ij,jk->ik", ((256, 256), (256, 256))),
    ("matmul 1024", "ij,jk->ik", ((1024, 1024), (1024, 1024))),
    ("batched matmul 32×64×64", "bij,bjk->bik", ((32, 64, 64), (32, 64, 64))),
    ("batched outer product 64×64×256", "bi,bj->bij", ((64, 64), (64, 256))),
    ("elementwise 2048×2048", "ij,ij->ij", ((2048, 2048), (2048, 2048))),
)


def rows(folder: Path | None, path: str = "opt_flops") -> Iterator[Row]:
    """The networks of a folder, by the path of that name; without a folder, our own."""
    if folder is None:
        for name, subscripts, shapes in OWN:
            yield network_row(name, subscripts, colmajor(subscripts), shapes, [(0, 1)])
        yield _chain()
        return
    for file in sorted(folder.glob("*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        if "format_string_colmajor" in document and path in document.get("paths", {}):
            extents = [tuple(shape) for shape in document["shapes"]]
            steps = [tuple(step) for step in document["paths"][path]["path"]]
            yield network_row(file.stem, document["format_string"], document["format_string_colmajor"], extents, steps)


def colmajor(subscripts: str) -> str:
    """The same memory in column-major words: every operand's labels backwards.

    >>> colmajor("ij,jk->ik")
    'ji,kj->ki'
    """
    inputs, output = subscripts.split("->")
    return f"{','.join(term[::-1] for term in inputs.split(','))}->{output[::-1]}"


def network_row(
    name: str, subscripts: str, colmajor: str, shapes: Sequence[tuple[int, ...]], path: Sequence[tuple[int, ...]]
) -> Row:
    """A network along one path; ``subscripts`` in row-major words, ``colmajor`` in column-major ones."""
    operands = tuple(Operand(shape) for shape in shapes)
    limit = Limit(steps=tuple(path_works(subscripts, shapes, path)))
    arguments: dict[str, Any] = {"subscripts": subscripts, "subscripts_colmajor": colmajor, "path": [*path]}
    return Row(name, "networks", "einsum", operands, arguments, (), limit, tolerance=1e-10, check_also="signed")


def _chain() -> Row:
    """The inner product of two matrix product states, contracted from the left."""
    import opt_einsum

    label = opt_einsum.get_symbol
    terms, shapes = [], []
    for k in range(SITES):
        left, right = (BOND if k else 1), (BOND if k < SITES - 1 else 1)
        for side in (0, 1):
            terms.append(label(3 * k + side) + label(3 * k + 2) + label(3 * k + 3 + side))
            shapes.append((left, PHYSICAL, right))
    subscripts = f"{','.join(terms)}->"
    path, _ = opt_einsum.contract_path(subscripts, *shapes, shapes=True, optimize="greedy")
    return network_row(f"MPS inner product, {SITES} sites", subscripts, colmajor(subscripts), shapes, path)
