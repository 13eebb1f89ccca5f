"""Which routine decomposes which matrices: rules by operation, type, extent and count, a table for each kind of device.

Every published rule of thumb is wrong on some device, so a table may be measured (``tensor_gpu.sweep``) and handed to
the backend. Nothing is measured or read behind a caller's back: without one, the tables shipped with this package hold.
The digest tells which rules were in force. A rule never changes what is accepted, only what computes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from tensor_core.dtypes import DType, as_dtype
from tensor_core.errors import FormatError, TensorError, shortened
from tensor_runtime.io.measurements import (
    MeasuredFormat,
    digest_of,
    measured_from_json,
    measured_to_json,
    read_measured,
)

FORMAT: Final = MeasuredFormat("tensor_gpu.tables.drivers/1", "drivers", "a table", "rules", "sweep again")
DRIVERS: Final[Mapping[str, tuple[str, ...]]] = {
    "svd": ("rotations", "gesvd", "gesvdj", "gesvdjBatched", "gesvda"),
    "eigh": ("syevd", "syevj", "syevjBatched"),
    "qr": ("reflectors", "geqrf"),
    "cholesky": ("warps", "potrf"),
    "lu": ("warps", "getrf"),
}
"""By operations, of which "lu" stands for all that LU factors are made for. The first one, with those that take
anything, comes where no rule does."""
PROGRAMS: Final = ("rotations", "reflectors", "warps")
"""Programs of our own, one launch for all matrices; the other drivers are routines of the library."""
ANYTHING: Final = ("gesvd", "syevd", "geqrf", "potrf", "getrf")
"""Routines that take every matrix."""
Bounds = tuple[int, int | None]


class Rule(NamedTuple):
    """What computes matrices within bounds, both ends included; None is no bound."""

    operation: str
    driver: str
    dtypes: tuple[str, ...] = ()  # their names, which a table turns into ours; none for all
    extents: Bounds = (0, None)  # of the longer side
    counts: Bounds = (1, None)  # matrices of a stack

    def holds(self, operation: str, dtype: DType, extent: int, count: int, /) -> bool:
        """Whether it is about these matrices.

        >>> from tensor_core import F32, F64
        >>> rule = Rule("svd", "gesvdj", ("F64",), (0, 256))
        >>> rule.holds("svd", F64, 256, 9), rule.holds("svd", F64, 257, 9), rule.holds("svd", F32, 3, 9)
        (True, False, False)
        """
        return (
            operation == self.operation
            and (not self.dtypes or dtype.name in self.dtypes)
            and _within(extent, self.extents)
            and _within(count, self.counts)
        )


def _within(number: int, bounds: Bounds) -> bool:
    least, most = bounds
    return least <= number and (most is None or number <= most)


class DriverTable:
    """Rules, of which the first that holds decides. Immutable; equal when the rules are.

    >>> table = DriverTable([Rule("qr", "geqrf", counts=(1, 1)), Rule("qr", "reflectors")], "one card")
    >>> DriverTable.from_json(table.to_json()) == table
    True
    """

    __slots__ = ("digest", "machine", "rules")

    digest: str
    """Sixteen characters that stand for the rules."""
    machine: str
    rules: tuple[Rule, ...]

    def __init__(self, rules: Iterable[Rule], machine: str = "") -> None:
        """Of rules, and a line that says where they were measured.

        Raises:
            FormatError: something that is no rule, a rule of no operation, driver or type, or bounds that are none.
        """
        kept = tuple(map(_checked, rules))
        object.__setattr__(self, "rules", kept)
        object.__setattr__(self, "machine", machine)
        object.__setattr__(self, "digest", digest_of([tuple(rule) for rule in kept]))

    def driver(self, operation: str, dtype: DType, extent: int, count: int, takes: Callable[[str], bool], /) -> str:
        """What computes matrices: of the first rule that holds, and whose driver takes them.

        Args:
            operation: of :data:`DRIVERS`.
            dtype: of the matrices.
            extent: of their longer side.
            count: of them.
            takes: whether a driver takes them.

        >>> from tensor_core import F64
        >>> table = DriverTable([Rule("svd", "gesvdjBatched", counts=(2, None))])
        >>> table.driver("svd", F64, 9, 5, lambda driver: True), table.driver("svd", F64, 9, 1, lambda driver: True)
        ('gesvdjBatched', 'gesvd')
        """
        for rule in self.rules:
            if rule.holds(operation, dtype, extent, count) and takes(rule.driver):
                return rule.driver
        return next(one for one in DRIVERS[operation] if one in ANYTHING)

    def to_json(self) -> str:
        """The table as JSON text."""
        return measured_to_json(FORMAT, self.machine, self.digest, [rule._asdict() for rule in self.rules])

    @classmethod
    def from_json(cls, text: str | bytes, /) -> DriverTable:
        """The table that :meth:`to_json` wrote.

        Raises:
            FormatError: not such a text, or rules that its digest is not of.
        """
        return measured_from_json(FORMAT, text, cls._from_found)

    @classmethod
    def _from_found(cls, found: Any, machine: str) -> DriverTable:
        rules = [
            Rule(one["operation"], one["driver"], *(tuple(one[name]) for name in Rule._fields[2:])) for one in found
        ]
        return cls(rules, machine)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a table of drivers is immutable; make another one instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a table of drivers is immutable; {name!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return self.rules == other.rules if isinstance(other, DriverTable) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.rules)

    def __repr__(self) -> str:
        return f"<DriverTable {self.digest} of {len(self.rules)} rules>"

    def __reduce__(self) -> tuple[object, ...]:
        return DriverTable.from_json, (self.to_json(),)


def _checked(rule: Rule) -> Rule:
    """The rule, its types by our names."""
    if not isinstance(rule, Rule):
        raise FormatError(f"drivers: found {shortened(rule)} among the rules; accepted: instances of Rule")
    if not isinstance(rule.dtypes, tuple):
        raise FormatError(f"drivers: dtypes are {shortened(rule.dtypes)}; accepted: a tuple of names of dtypes")
    if type(rule.operation) is not str or rule.driver not in DRIVERS.get(rule.operation, ()):
        accepted = "; ".join(f"{name}: {', '.join(drivers)}" for name, drivers in DRIVERS.items())
        what = f"{shortened(rule.operation)} by {shortened(rule.driver)}"
        raise FormatError(f"drivers: a rule of {what}; accepted: {accepted}")
    try:
        names = tuple(as_dtype(name).name for name in rule.dtypes)
    except TensorError as error:
        raise FormatError(f"drivers: {error}") from error
    return rule._replace(
        dtypes=names, extents=_checked_bounds("extents", rule.extents), counts=_checked_bounds("counts", rule.counts)
    )


def _checked_bounds(name: str, given: Any) -> Bounds:
    if (
        not isinstance(given, tuple)
        or len(given) != 2
        or type(given[0]) is not int
        or type(given[1]) not in (int, type(None))
        or given[0] < 0
        or (given[1] is not None and given[1] < given[0])
    ):
        raise FormatError(
            f"drivers: {name} are {shortened(given)}; accepted: an int, and an int or None: the first 0 or more, the "
            "second no smaller"
        )
    return given


def read_drivers(path: str | os.PathLike[str], /) -> DriverTable:
    """The table in a file.

    Raises:
        LoadError: the file cannot be read.
        FormatError: it holds no table.

    >>> read_drivers("missing.json")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.LoadError: drivers: missing.json: No such file ...; `python -m tensor_gpu.sweep` writes one
    """
    return read_measured("drivers", path, "python -m tensor_gpu.sweep", DriverTable.from_json)


_SMALL: Final = 256  # rows and columns of matrices of which a stack is worth a routine or program of its own
_USUAL: Final = (
    Rule("svd", "rotations", extents=(1, _SMALL), counts=(2, None)),
    Rule("svd", "gesvd"),
    Rule("eigh", "syevjBatched", extents=(1, _SMALL), counts=(2, None)),
    Rule("eigh", "syevd"),
    Rule("qr", "reflectors", extents=(1, _SMALL), counts=(2, None)),
    Rule("qr", "geqrf"),
    Rule("cholesky", "warps", counts=(2, None)),
    Rule("cholesky", "potrf"),
    Rule("lu", "warps", counts=(2, None)),
    Rule("lu", "getrf"),
)
_TABLES: Final[Mapping[tuple[int, int], DriverTable]] = {
    (0, 0): DriverTable(_USUAL, "shipped"),
    # One matrix of F64, 256 by 256, on an A100: 12.2 ms by gesvdj, 23.3 by gesvd, as others published; of C64, 400 by
    # 400, 207 and 47.6, and on cards without fast F64 gesvdj takes three times as long as gesvd.
    (8, 0): DriverTable([Rule("svd", "gesvdj", ("F64",), (1, _SMALL), (1, 1)), *_USUAL], "shipped for 8.0"),
    # Single small matrices, by sweeps of an H100. From 17 to 32 rows gesvdjBatched was faster than rotations, which
    # keep the digits of small singular values.
    (9, 0): DriverTable(
        [
            Rule("svd", "rotations", extents=(1, 16)),
            Rule("eigh", "syevd", ("C32", "C64"), (17, 32), (1, 5)),
            Rule("eigh", "syevjBatched", extents=(1, 32)),
            Rule("qr", "reflectors", extents=(1, 32)),
            Rule("cholesky", "warps", extents=(1, 32)),
            Rule("lu", "warps", extents=(1, 32)),
            *_USUAL,
        ],
        "shipped for 9.0",
    ),
}


def shipped(capability: tuple[int, int], /) -> DriverTable:
    """The table that comes with this package for devices of a compute capability.

    >>> shipped((8, 0)) == shipped((8, 6)), shipped((9, 0)).machine
    (False, 'shipped for 9.0')
    """
    return _TABLES.get(capability, _TABLES[0, 0])
