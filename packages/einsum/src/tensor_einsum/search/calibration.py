"""Calibrations: the rates of the cost model as they were measured on one machine, kept in a file.

A calibration is used only where it is given as ``objective=``, and its digest is part of the plan's key: no plan
depends on a file that happens to lie somewhere. The same rates have the same digest on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from sys import float_info
from typing import Any, Final

from tensor_core.dtypes import DType, as_dtype
from tensor_core.errors import FormatError, LoadError, TensorError, shortened
from tensor_core.files.source import open_regular
from tensor_einsum.search.cost_model import CostModel, Rates
from tensor_runtime.dispatch.arguments import file_name

FORMAT: Final = "tensor_einsum.search.calibration/1"
MOST_BYTES: Final = 1 << 20


class Calibration:
    """Rates by dtype, and a line that says where they were measured. Immutable; equal when the rates are.

    >>> from tensor_core import F64
    >>> found = Calibration({F64: Rates(5e10, 1e9, 4e-6)}, "two cores")
    >>> Calibration.from_json(found.to_json()) == found
    True
    """

    __slots__ = ("cost_model", "machine")

    cost_model: CostModel
    machine: str

    def __init__(self, rates: Mapping[DType, Rates], machine: str = "") -> None:
        from hashlib import sha256

        ordered = tuple(sorted((dtype.name, rate) for dtype, rate in rates.items()))
        digest = sha256(repr([(name, *map(float.hex, rate)) for name, rate in ordered]).encode()).hexdigest()[:16]
        super().__setattr__("cost_model", CostModel(digest, ordered))
        super().__setattr__("machine", machine)

    @property
    def digest(self) -> str:
        """Sixteen characters that stand for the rates; part of the key of every plan made with them."""
        return self.cost_model.digest

    def to_json(self) -> str:
        """The calibration as JSON text."""
        import json

        rates = {name: rate._asdict() for name, rate in self.cost_model.rates}
        content = {"format": FORMAT, "machine": self.machine, "digest": self.digest, "rates": rates}
        return json.dumps(content, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, /) -> Calibration:
        """The calibration that :meth:`to_json` wrote.

        Raises:
            FormatError: not such a text, or rates that its digest is not of.
        """
        import json

        try:
            content = json.loads(text)
            if not isinstance(content, dict) or content.get("format") != FORMAT:
                found = content.get("format") if isinstance(content, dict) else type(content).__name__
                raise FormatError(f"calibration: no text of format {FORMAT!r}; found {shortened(found)}")
            rates = {as_dtype(name): _rates(name, rate) for name, rate in content["rates"].items()}
            read = cls(rates, str(content.get("machine", "")))
        except FormatError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, TensorError) as error:
            raise FormatError(f"calibration: not one: {type(error).__name__}: {error}") from error
        if not rates:
            raise FormatError("calibration: it has no rates")
        if content.get("digest") not in (None, read.digest):
            raise FormatError(
                f"calibration: the digest is {shortened(content['digest'])}, but that of its rates is {read.digest!r}; "
                "calibrate again, or leave the digest out"
            )
        return read

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a calibration is immutable; make another one instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a calibration is immutable; {name!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return self.cost_model == other.cost_model if isinstance(other, Calibration) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.cost_model)

    def __repr__(self) -> str:
        return f"<Calibration {self.digest} of {', '.join(name for name, _ in self.cost_model.rates)}>"

    def __reduce__(self) -> tuple[object, ...]:
        return Calibration.from_json, (self.to_json(),)


def _rates(name: str, given: Any) -> Rates:
    rates = Rates(*(given[field] for field in Rates._fields))
    if not all(type(rate) in (int, float) and 0 < rate <= float_info.max for rate in rates):
        raise FormatError(f"calibration: rates of {name} are {shortened(tuple(rates))}; accepted: numbers above 0")
    return Rates(*map(float, rates))


def default_path() -> str:
    """Where ``ironstride calibrate`` writes when it is not told: in the user's folder for settings.

    That is ``$XDG_CONFIG_HOME``, or ``~/.config``, and below ``ironstride/calibration.json``. Nothing reads it unasked.

    >>> default_path().endswith("calibration.json")
    True
    """
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):  # as its specification says, a relative one is passed over
        folder = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(folder, "ironstride", "calibration.json")


def read_calibration(path: str | os.PathLike[str] | None = None, /) -> Calibration:
    """The calibration in a file, to be given as ``objective=``.

    Args:
        path: the file; None for :func:`default_path`, where ``ironstride calibrate`` writes.

    Raises:
        LoadError: the file cannot be read.
        FormatError: it holds no calibration.
        ArgumentError: ``path`` is no name of a file.

    >>> read_calibration("missing.json")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tensor_core.errors.LoadError: read_calibration: missing.json: No such file ...; `ironstride calibrate` writes one
    """
    file = default_path() if path is None else file_name("read_calibration", "path", path)
    try:
        with open_regular(file) as stream:
            text = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise LoadError(
            f"read_calibration: {file}: {error.strerror or error}; `ironstride calibrate` writes one",
            errno=error.errno,
            path=file,
        ) from error
    if len(text) > MOST_BYTES:
        raise FormatError(f"read_calibration: {file} has more than {MOST_BYTES:,} bytes")
    try:
        return Calibration.from_json(text)
    except FormatError as error:
        raise FormatError(f"read_calibration: {file}: {error}") from None


def fit(measured: Iterable[tuple[float, float, float, float]], /) -> Rates:
    """The rates by which the cost model comes nearest to measured times, by least squares of relative errors.

    Args:
        measured: (flops, elements moved, steps, seconds) of contractions that differ in kind.

    >>> exact = Rates(2e10, 1e9, 4e-6)
    >>> cases = [(1e9, 1e6, 1), (1e6, 3e6, 1), (2e3, 1e3, 50), (5e8, 1e8, 3)]
    >>> found = fit((f, e, s, f / exact[0] + e / exact[1] + s * exact[2]) for f, e, s in cases)
    >>> [f"{rate:.2g}" for rate in found]
    ['2e+10', '1e+09', '4e-06']
    """
    rows = [[flops / seconds, elements / seconds, steps / seconds] for flops, elements, steps, seconds in measured]
    best: tuple[float, list[float]] | None = None
    for taken in range(1, 8):  # which of the three are above 0: with so few, trying all is the plainest way
        columns = [column for column in range(3) if taken >> column & 1]
        solved = _least_squares([[row[column] for column in columns] for row in rows])
        if solved is None or min(solved) <= 0:
            continue
        costs = [0.0, 0.0, 0.0]
        for column, cost in zip(columns, solved, strict=True):
            costs[column] = cost
        error = sum((sum(x * c for x, c in zip(row, costs, strict=True)) - 1) ** 2 for row in rows)
        if best is None or error < best[0]:
            best = error, costs
    flop, element, step = best[1] if best else (0.0, 0.0, 0.0)
    # Nothing is free: what the fit leaves out counts for next to nothing.
    return Rates(1 / max(flop, 1e-15), 1 / max(element, 1e-14), max(step, 1e-9))


def _least_squares(rows: list[list[float]]) -> list[float] | None:
    """x with the least sum of (row · x - 1)², by the normal equations, columns scaled; None where they are singular."""
    size = len(rows[0])
    scales = [sum(row[k] ** 2 for row in rows) ** 0.5 or 1.0 for k in range(size)]
    scaled = [[row[k] / scales[k] for k in range(size)] for row in rows]
    matrix = [[sum(row[i] * row[j] for row in scaled) for j in range(size)] for i in range(size)]
    right = [sum(row[i] for row in scaled) for i in range(size)]
    for i in range(size):  # Gauss-Jordan; the matrix is symmetric and not negative, so its diagonal gives the pivots
        if matrix[i][i] < 1e-12:
            return None
        for j in range(size):
            if j != i:
                factor = matrix[j][i] / matrix[i][i]
                matrix[j] = [a - factor * b for a, b in zip(matrix[j], matrix[i], strict=True)]
                right[j] -= factor * right[i]
    return [right[i] / matrix[i][i] / scales[i] for i in range(size)]
