"""Options of ``einsum``, of calls and sweeps of plans, for type checkers: what each is, the docstrings say."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypedDict

from tensor_einsum.execution.progress import Progress
from tensor_einsum.search.options import SearchKeywords
from tensor_runtime.algebras import Semiring

if TYPE_CHECKING:
    from tensor_runtime import Tensor

Report = bool | Callable[[Progress], object]


class RunOptions(TypedDict, total=False):
    """What may be given with every call of a plan."""

    progress: Report
    force: bool
    checkpoint: str | PathLike[str] | None
    checkpoint_seconds: float


class EnvironmentOptions(TypedDict, total=False):
    """What may be given for the environments of a plan."""

    which: int | Sequence[int] | None
    cotangent: Tensor | None
    memory_limit: int | str | None
    progress: Report


class MarginalOptions(TypedDict, total=False):
    """What may be given for the marginals of a plan."""

    labels: Hashable | Iterable[Hashable] | None
    memory_limit: int | str | None
    progress: Report


class PlanOptions(SearchKeywords, total=False):
    """What decides a plan."""

    algebra: Semiring
    conj: int | Sequence[int]


class EinsumOptions(PlanOptions, RunOptions, total=False):
    """What may be given with every einsum."""
