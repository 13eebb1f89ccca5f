"""More elements than 32 bits count: each row makes something that stands at the far end, and looks whether it is found.

On a GPU the tensors of Bool have 2³¹ elements and a few, which is 2 GiB each; on a simulated device some thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import tensor_runtime as tr
from gpu_reporting.subject import Subject, require
from gpu_reporting.verdicts import Item, Told, told
from tensor_einsum import einsum
from tensor_runtime.placement import as_placement

WHOLE: Final = (1 << 31) + 8
SMALL: Final = (1 << 12) + 8
SIDE: Final = 1 << 16
"""Of a matrix with as many columns as it takes."""


def _marked(subject: Subject) -> tr.Tensor:
    """A line of False, and True at its end."""
    size = subject.size(WHOLE, SMALL)
    zeros = tr.full((size - 1,), False, placement=subject.place)
    return tr.concatenate([zeros, tr.full((1,), True, placement=subject.place)])


def _matrix(subject: Subject) -> tr.Tensor:
    """A matrix of False whose last element is True."""
    rows, columns = subject.size(SIDE, 64), subject.size((1 << 15) + 1, 65)
    line = tr.full((rows * columns - 1,), False, placement=subject.place)
    return tr.concatenate([line, tr.full((1,), True, placement=subject.place)]).reshape((rows, columns))


def _end(x: tr.Tensor) -> Any:
    """The element whose every index is the largest."""
    return tr.to(x[(-1,) * x.rank], "cpu").item()


def _position(subject: Subject, at: int) -> tr.Tensor:
    return tr.to(tr.tensor([at], dtype="I64"), subject.place)


LINES: Final[Mapping[str, Callable[[Subject, tr.Tensor], tuple[Any, Any]]]] = {
    "concatenate": lambda s, x: (_end(x), True),
    "sum": lambda s, x: (tr.to(tr.sum(x), "cpu").item(), 1),
    "any": lambda s, x: (tr.to(tr.any(x), "cpu").item(), True),
    "all": lambda s, x: (tr.to(tr.all(tr.logical_not(x)), "cpu").item(), False),
    "max": lambda s, x: (tr.to(tr.max(tr.cast(x, "I32")), "cpu").item(), 1),
    "argmax": lambda s, x: (tr.to(tr.argmax(x), "cpu").item(), x.size - 1),
    "copy": lambda s, x: (_end(tr.copy(x)), True),
    "logical_not": lambda s, x: (_end(tr.logical_not(x)), False),
    "equal": lambda s, x: (_end(tr.equal(x, x)), True),
    "where": lambda s, x: (_end(tr.where(x, x, tr.logical_not(x))), True),
    "cast": lambda s, x: (_end(tr.cast(x, "I32")), 1),
    "a reversed view": lambda s, x: (tr.to(x[::-1][:1], "cpu").item(), True),
    "copy of a reversed view": lambda s, x: (tr.to(tr.copy(x[::-1])[:1], "cpu").item(), True),
    "every other element": lambda s, x: (_end(tr.copy(x[(x.size - 1) % 2 :: 2])), True),
    "roll": lambda s, x: (tr.to(tr.roll(x, 1)[:1], "cpu").item(), True),
    "take": lambda s, x: (tr.to(tr.take(x, _position(s, x.size - 1)), "cpu").item(), True),
    "nonzero": lambda s, x: (tr.to(tr.nonzero(x)[0], "cpu").to_numpy().tolist(), [x.size - 1]),
    "put_along_axis": lambda s, x: (_end(_written(s, x)), False),
    "copy_into": lambda s, x: (_end(_copied(x)), True),
    "pad": lambda s, x: (tr.to(tr.pad(x, ((0, 1),))[-2:], "cpu").to_numpy().tolist(), [True, False]),
}
MATRICES: Final[Mapping[str, Callable[[Subject, tr.Tensor], tuple[Any, Any]]]] = {
    "permutation": lambda s, x: (_end(tr.copy(x.T)), True),
    "sum along the first axis": lambda s, x: (_end(tr.sum(x, axis=0)), 1),
    "sum along the last axis": lambda s, x: (_end(tr.sum(x, axis=1)), 1),
    "einsum of one operand": lambda s, x: (_end(einsum("ij->ji", x)), True),
    "an outer product": lambda s, x: (_end(einsum("i,j->ij", x[:, -1], x[-1])), True),
    "a product with a vector": lambda s, x: (_end(einsum("ij,j->i", x, x[-1])), True),
}


def _written(subject: Subject, x: tr.Tensor) -> tr.Tensor:
    y = tr.copy(x)
    tr.put_along_axis(tr.mutable_view(y), _position(subject, -1), False, axis=0)
    return y


def _copied(x: tr.Tensor) -> tr.Tensor:
    y = tr.logical_not(x)
    tr.copy_into(tr.mutable_view(y), x)
    return y


def _looked(made: Callable[[Subject], tr.Tensor], call: Callable[..., tuple[Any, Any]], subject: Subject, /) -> str:
    x = made(subject)
    found, expected = call(subject, x)
    require(found == expected, f"{found} is {expected}, of {x.size:,} elements")
    return f"right at the end of {x.size:,} elements"


def _given_back(subject: Subject, /) -> str:
    backend: Any = tr.backend(subject.place)
    backend.pool(as_placement(subject.place)).clear()
    return "the memory that was kept"


ITEMS: Final = (
    *(Item(name, partial(_looked, _marked, call)) for name, call in LINES.items()),
    *(Item(name, partial(_looked, _matrix, call)) for name, call in MATRICES.items()),
    Item("memory given back", _given_back),
)


def large_sizes(subject: Subject, /) -> Told:
    """Each of them, on tensors made for it alone; then the memory that was kept is given back.

    >>> large_sizes(Subject("sim", False)).verdicts
    Counter({'held': 27})
    """
    return told(subject, ITEMS)
