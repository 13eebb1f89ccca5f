"""What the pictures share: figures, colours, and files that appear whole or not at all.

The only module that imports matplotlib, when a picture is drawn. Figures are made without pyplot: no window system is
looked for, and nothing global changes but inside a context.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, shortened
from tensor_core.files.atomic_write import write_atomically
from tensor_einsum.pictures.drawing import FORMATS, STYLE, require_matplotlib

LINE, FILL, ALARM = "#31688e", "#a9c1d3", "#b5283c"
_TITLE: Final = 100  # characters


def picture_file(operation: str, file: object) -> Path:
    """The name of a picture, whose ending is one of the formats.

    >>> picture_file("plot_tensor", "x.jpg")
    Traceback (most recent call last):
    tensor_core.errors.ArgumentError: plot_tensor: the file is 'x.jpg'; accepted: names that end with .svg, .png, .pdf
    """
    if not isinstance(file, (str, Path)) or Path(file).suffix.lower() not in FORMATS:
        raise ArgumentError(
            f"{operation}: the file is {shortened(str(file) if isinstance(file, Path) else file)}; "
            f"accepted: names that end with {', '.join(FORMATS)}",
            operation=operation,
        )
    require_matplotlib()
    return Path(file)


def title_text(operation: str, title: object, default: str) -> str:
    """What stands above a picture, on one line.

    >>> title_text("plot_tensor", None, "F64")
    'F64'
    """
    if title is not None and not isinstance(title, str):
        raise ArgumentError(
            f"{operation}: title is {shortened(title)}; accepted: a string, or None", operation=operation
        )
    text = default if title is None else title
    text = " ".join("".join(c if c.isprintable() else "?" for c in text).split())
    return text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"


def write_picture(file: Path, draw: Callable[[Any], None], size: tuple[float, float]) -> None:
    """Make a figure of so many inches, let it be drawn on, and write it; SVG is the same for the same picture.

    Raises:
        SaveError: the file cannot be written.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "empty.png"
    >>> write_picture(file, lambda figure: None, (2, 1))
    >>> file.read_bytes()[1:4]
    b'PNG'
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    ending = file.suffix.lower()[1:]
    undated: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}[ending]
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # who reads it may have a font that has it
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        picture = BytesIO()
        figure.savefig(picture, format=ending, metadata=undated, dpi=130)
    write_atomically(str(file), [picture.getvalue()])


def numbers_of(operation: str, what: str, values: object) -> list[float]:
    """Real numbers of a tensor of rank 1, a list or any other sequence, all finite.

    Raises:
        ArgumentError: something else.

    >>> numbers_of("plot_spectrum", "values", tr.tensor([2.0, 1.0]))
    [2.0, 1.0]
    """
    try:
        listed: Any = values.tolist() if isinstance(values, tr.Tensor) else values
        found = [float(value) for value in listed]
    except (TypeError, ValueError, OverflowError):
        found = [float("nan")]
    if not found or not all(abs(value) < float("inf") for value in found):
        raise ArgumentError(
            f"{operation}: {what} are {shortened(values)}; accepted: finite real numbers, "
            "in a tensor of rank 1 or a list",
            operation=operation,
        )
    return found
