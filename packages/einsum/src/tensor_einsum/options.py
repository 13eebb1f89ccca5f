"""Options of ``einsum`` and of a plan's call, for type checkers: what each is, the functions' docstrings say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TypedDict

from tensor_einsum.execution.progress import Progress
from tensor_einsum.search.options import SearchKeywords
from tensor_runtime.algebras import Semiring

Report = bool | Callable[[Progress], object]


class RunOptions(TypedDict, total=False):
    """What may be given with every call of a plan."""

    progress: Report
    force: bool
    checkpoint: str | PathLike[str] | None
    checkpoint_seconds: float


class PlanOptions(SearchKeywords, total=False):
    """What decides a plan."""

    algebra: Semiring
    conj: int | Sequence[int]


class EinsumOptions(PlanOptions, RunOptions, total=False):
    """What may be given with every einsum."""
