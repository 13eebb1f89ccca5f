"""Singular values as pictures: one spectrum with the error of truncating it, and the cuts of a matrix product state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import tensor_runtime as tr
from ironstride.pictures.drawing import ALARM, FILL, LINE, numbers_of, picture_file, title_text, write_picture
from tensor_core.errors import ArgumentError, shortened

Values = tr.Tensor | Sequence[float]
_SMALLEST: Final = 1e-17  # of the largest value; what is below lies on the lower edge of a picture


def plot_spectrum(
    values: Values, file: str | Path, /, *, cutoff: float | None = None, title: str | None = None
) -> None:
    """Draw singular values on a logarithmic axis, and below them the error of keeping the first r of them.

    Args:
        values: at least one, finite and not negative, in any order; a tensor of rank 1 in host memory, or a list.
        file: its ending says the format: .svg, .png or .pdf. It appears whole or not at all.
        cutoff: as for ``tensor_linalg.split``, the share of the sum of all squares that may be lost: a line where the
            error is its root, and the rank that is kept.
        title: above the picture; the number of values and their norm if it is None.

    Raises:
        ArgumentError: something else than such values, or an ending of no format.
        PlotError: matplotlib is missing.
        SaveError: the file cannot be written.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot_spectrum([3.0, 1.0, 0.1], os.path.join(folder, "s.svg"), cutoff=0.05)
    ...     os.listdir(folder)
    ['s.svg']
    """
    found = _spectrum("plot_spectrum", "values", values)
    name = picture_file("plot_spectrum", file)
    text = title_text("plot_spectrum", title, f"{len(found)} singular values, norm {math.hypot(*found):.6g}")
    _check_cutoff(cutoff)
    errors = truncation_errors(found)
    ranks = range(1, len(found) + 1)

    def draw(figure: Any) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True)
        upper.plot(ranks, _visible(found), "o-", color=LINE, markersize=4, linewidth=1)
        upper.set(title=text, ylabel="singular value", yscale="log")
        _plain_powers(upper)
        lower.plot(ranks, _visible(errors, 1.0), "o-", color=LINE, markersize=4, linewidth=1)
        lower.set(xlabel="rank that is kept", ylabel="relative error", yscale="log")
        _plain_powers(lower)
        if cutoff:
            rank = rank_for(found, cutoff)
            lower.axhline(math.sqrt(cutoff), color=ALARM, linestyle="--", linewidth=1)
            lower.axvline(rank, color=ALARM, linewidth=1)
            lower.set_title(f"cutoff {cutoff:g}: rank {rank}", fontsize=9, fontweight="normal")

    write_picture(name, draw, (8, 6))


def plot_entanglement(spectra: Sequence[Values], file: str | Path, /, *, title: str | None = None) -> None:
    """Draw the entanglement of a matrix product state along its cuts: entropy, bond dimension and every spectrum.

    Args:
        spectra: the singular values of each cut, from left to right; they need not be normalised.
        file: as for :func:`plot_spectrum`.
        title: above the picture.

    Raises:
        ArgumentError: no cut, or something else than singular values; it says of which cut.
        PlotError: matplotlib is missing.
        SaveError: the file cannot be written.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot_entanglement([[1.0], [0.8, 0.6], [1.0]], os.path.join(folder, "mps.svg"))
    ...     os.listdir(folder)
    ['mps.svg']
    """
    found = [_spectrum("plot_entanglement", f"values of cut {cut}", one) for cut, one in enumerate(_cuts(spectra))]
    name = picture_file("plot_entanglement", file)
    entropies = [entropy(one) for one in found]
    largest = max(map(len, found))
    text = title_text("plot_entanglement", title, f"{len(found)} cuts, largest bond {largest}")
    cuts = range(1, len(found) + 1)

    def draw(figure: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.4))
        upper.bar(cuts, [len(one) for one in found], color=FILL, width=0.7)
        upper.set(title=text, ylabel="bond dimension")
        above = upper.twinx()
        above.plot(cuts, entropies, "o-", color=LINE, markersize=4)
        above.set_ylabel("entropy, nats", color=LINE)
        above.set_ylim(bottom=0)
        points = [(cut, value) for cut, one in zip(cuts, found, strict=True) for value in _visible(_normalised(one))]
        lower.plot(*zip(*points, strict=True), "_", color=LINE, markersize=9)
        lower.set(xlabel="cut", ylabel="Schmidt values", yscale="log")
        _plain_powers(lower)
        lower.xaxis.set_major_locator(MaxNLocator(integer=True))

    write_picture(name, draw, (9, 6))


def truncation_errors(values: Sequence[float]) -> list[float]:
    """For each rank from 1 on, the relative error of keeping so many of the values.

    >>> truncation_errors([4.0, 3.0])
    [0.6, 0.0]
    >>> truncation_errors([1.6e308, 1.2e308])
    [0.6, 0.0]
    """
    errors, tail, scale = [], 0.0, _scale(values)
    for value in reversed(values):
        errors.append(tail)
        value = math.ldexp(value, -scale)
        tail = math.hypot(tail, value)
    return [error / tail if tail else 0.0 for error in reversed(errors)]


def rank_for(values: Sequence[float], cutoff: float) -> int:
    """How many of the values ``tensor_linalg.split`` keeps for this cutoff; they fall.

    >>> rank_for([4.0, 3.0], 0.35), rank_for([4.0, 3.0], 0.37)
    (2, 1)
    """
    from tensor_linalg.networks.truncation import kept, truncation

    return kept(tr.tensor(list(values), dtype="F64"), truncation("svd", cutoff=float(cutoff))).rank


def entropy(values: Sequence[float]) -> float:
    """Von Neumann entropy, in nats, of the squares of the values as probabilities.

    >>> round(entropy([1.0, 1.0]), 6)
    0.693147
    """
    largest = max(values, default=0.0)
    weights = [(value / largest) ** 2 for value in values] if largest else []
    total = sum(weights)
    return -sum(w / total * math.log(w / total) for w in weights if w) + 0.0


def _scale(values: Sequence[float]) -> int:
    """The power of two by which the largest value is divided, so that no square overflows or vanishes."""
    return math.frexp(max(values, default=0.0))[1]


def _plain_powers(axes: Any) -> None:
    """Label a logarithmic axis without mathematical markup, which titles of users must not be read as."""
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(lambda *_: "")


def _check_cutoff(cutoff: object) -> None:
    if cutoff is not None and not (isinstance(cutoff, (int, float)) and 0 <= cutoff < math.inf):
        raise ArgumentError(
            f"plot_spectrum: cutoff is {shortened(cutoff)}; accepted: a number from 0 on, or None",
            operation="plot_spectrum",
        )


def _cuts(spectra: object) -> Sequence[object]:
    if not isinstance(spectra, Sequence) or isinstance(spectra, str) or not spectra:
        raise ArgumentError(
            f"plot_entanglement: spectra are {shortened(spectra)}; accepted: a list with the values of each cut",
            operation="plot_entanglement",
        )
    return spectra


def _spectrum(operation: str, what: str, values: object) -> list[float]:
    """Values in falling order."""
    found = sorted(numbers_of(operation, what, values), reverse=True)
    if found[-1] < 0:
        raise ArgumentError(f"{operation}: {what} have {found[-1]}; accepted: none below 0", operation=operation)
    return found


def _normalised(values: Sequence[float]) -> list[float]:
    scaled = [math.ldexp(value, -_scale(values)) for value in values]
    norm = math.hypot(*scaled)
    return [value / norm for value in scaled] if norm else scaled


def _visible(values: Sequence[float], largest: float = 0.0) -> list[float]:
    """What a logarithmic axis can show: a zero lies on its lower edge."""
    smallest = max(largest, *values, 0.0) * _SMALLEST or _SMALLEST
    return [max(value, smallest) for value in values]
