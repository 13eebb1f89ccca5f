"""A tensor as a heat map: its frontal slices, [:, :, k], side by side on one scale of colours."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any, Final

import tensor_runtime as tr
from ironstride.pictures.drawing import picture_file, title_text, write_picture
from tensor_core.dtypes import COMPLEX, F64
from tensor_core.errors import ArgumentError, PlacementError, shortened

SLICES: Final = 12  # drawn at most
EXTENT: Final = 400  # rows and columns of a slice that are drawn; of longer axes every second, third, ...


def plot_tensor(x: tr.Tensor, file: str | Path, /, *, title: str | None = None) -> None:
    """Draw a tensor, row 0 above, one picture for each frontal slice; complex elements by their modulus.

    Real elements of both signs get colours around a white 0. A vector is one column. Of more than 12 slices the
    first 12 are drawn, of axes longer than 400 every second, third, ... element; the picture says so. Elements that
    are not finite are left grey.

    Args:
        x: a tensor in host memory with at least one element.
        file: its ending says the format: .svg, .png or .pdf. It appears whole or not at all.
        title: above the picture; dtype and shape if it is None.

    Raises:
        ArgumentError: no tensor, an empty one, or an ending of no format.
        PlacementError: the tensor is on a device; nothing is moved silently.
        PlotError: matplotlib is missing.
        SaveError: the file cannot be written.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot_tensor(tr.eye(3), os.path.join(folder, "eye.svg"))
    ...     os.listdir(folder)
    ['eye.svg']
    """
    _check(x)
    name = picture_file("plot_tensor", file)
    text = title_text("plot_tensor", title, f"{x.dtype.name} ({x.dtype.numpy_name}), {x.shape}")
    steps = [-(-extent // EXTENT) for extent in x.shape[:2]]
    slices = _slices(x, steps)
    notes = [f"every {step}th {what}" for step, what in zip(steps, ("row", "column"), strict=False) if step > 1]
    total = math.prod(x.shape[2:])
    notes += [f"{len(slices)} of {total} slices"] if total > len(slices) else []
    finite = [value for _, rows in slices for row in rows for value in row if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    signed = low < 0
    reach = max(-low, high) if signed else 0.0
    scale = (
        {"vmin": -reach, "vmax": reach, "cmap": "RdBu_r"} if signed else {"vmin": low, "vmax": high, "cmap": "viridis"}
    )

    def draw(figure: Any) -> None:
        across = min(4, len(slices))
        grid = figure.subplots(-(-len(slices) // across), across, squeeze=False)
        shown = None
        for axes in grid.flat:
            axes.set_axis_off()
        for axes, (index, rows) in zip(grid.flat, slices, strict=False):
            axes.set_axis_on()
            axes.set_facecolor("#d0d0d0")
            shown = axes.imshow(rows, interpolation="nearest", aspect="auto" if x.rank < 2 else "equal", **scale)
            axes.set(xticks=[], yticks=[])
            if index:
                axes.set_title(f"[:, :, {', '.join(map(str, index))}]", fontsize=9, fontweight="normal")
        figure.colorbar(shown, ax=grid, shrink=0.8, label="modulus" if x.dtype in COMPLEX else "")
        figure.suptitle(f"{text}   {', '.join(notes)}".strip(), x=0.01, ha="left", fontsize=11, fontweight="bold")

    height = 1 + 2.4 * -(-len(slices) // 4)
    write_picture(name, draw, (9, max(height, 4)))


def _check(x: object) -> None:
    """Refuse what cannot be drawn."""
    if not isinstance(x, tr.Tensor) or not x.size:
        found = f"empty, {x.shape}" if isinstance(x, tr.Tensor) else shortened(x)
        raise ArgumentError(f"plot_tensor: x is {found}; accepted: a tensor with elements", operation="plot_tensor")
    if str(x.placement) != "cpu":
        raise PlacementError(
            f"plot_tensor: the tensor is on {x.placement}, and nothing is moved silently; use to(x, 'cpu') first",
            operation="plot_tensor",
            placement=x.placement,
        )


def _slices(x: tr.Tensor, steps: list[int]) -> list[tuple[tuple[int, ...], list[list[float]]]]:
    """Indices and rows of the first frontal slices; a vector is one column."""
    found = []
    places = product(*(range(extent) for extent in reversed(x.shape[2:])))
    for place, _ in zip(places, range(SLICES), strict=False):
        index = place[::-1]
        piece = x[(*(slice(None, None, step) for step in steps), *index)]
        real = tr.abs(piece) if piece.dtype in COMPLEX else piece
        listed: Any = tr.cast(real, F64).reshape((*real.shape, *(1,) * (2 - real.rank))).tolist()
        found.append((index, listed))
    return found
