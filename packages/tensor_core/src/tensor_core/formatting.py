"""Text of tensors and of sizes. A tensor's is bounded in cost: a few edge elements are read, whatever the size.

A matrix prints as rows; beyond rank 2 each frontal slice follows its index, ``[:, :, k] =``. Axes longer than a screen
show both ends around an ellipsis. Floating point numbers are shown with eight significant digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, log10

from tensor_core.dtypes import DType
from tensor_core.shapes import element_count, unravel_index
from tensor_core.static_types import Any, Final

LONGEST: Final = 10  # an axis up to this extent is shown whole
EDGE: Final = 3  # elements at each end of a longer one
SLICES: Final = 4  # frontal slices shown
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB")
_GAP: Final = -1  # stands for the elements left out


def format_tensor(header: str, dtype: DType, shape: tuple[int, ...], read: Callable[[tuple[int, ...]], Any], /) -> str:
    """Header line and elements.

    Args:
        header: first line.
        dtype: of the elements.
        read: the element at an index; called for shown elements only.

    >>> from tensor_core.dtypes import Bool
    >>> print(format_tensor("identity", Bool, (2, 2), lambda index: index[0] == index[1]))
    identity
      True  False
     False   True
    """
    if 0 in shape:
        return f"{header}\n (no elements)"
    blocks = _frontal_slices(dtype, shape, read)
    width = max(len(cell) for _, block in blocks for row in block for cell in row)
    lines = [header]
    for index, block in blocks:
        lines += [f"{index} ="] if index else []
        lines += [" " + "  ".join(cell.rjust(width) for cell in row) for row in block]
    left = _left_out(shape, len(blocks))
    return "\n".join([*lines, f"... {left} more of these slices"] if left else lines)


def format_tensor_html(
    header: str, dtype: DType, shape: tuple[int, ...], read: Callable[[tuple[int, ...]], Any], /
) -> str:
    """The same elements as tables of a page, one for each frontal slice; everything in them is escaped.

    >>> from tensor_core.dtypes import I64
    >>> format_tensor_html("<two>", I64, (2,), lambda index: index[0]).partition("<table>")[0]
    '<div><code>&lt;two&gt;</code>'
    >>> "<td" in format_tensor_html("none", I64, (0,), lambda index: 0)
    False
    """
    from html import escape  # only notebooks need it

    head = f"<div><code>{escape(header)}</code>"
    if 0 in shape:
        return f"{head}<p>no elements</p></div>"
    blocks = _frontal_slices(dtype, shape, read)
    tables = []
    for index, block in blocks:
        caption = f'<caption style="text-align:left"><code>{escape(index)}</code></caption>' if index else ""
        cells = ("".join(f'<td style="text-align:right">{escape(cell)}</td>' for cell in row) for row in block)
        rows = "".join(f"<tr>{row}</tr>" for row in cells)
        tables.append(f"<table>{caption}<tbody>{rows}</tbody></table>")
    left = _left_out(shape, len(blocks))
    tail = f"<p>{left} more of these slices</p>" if left else ""
    return f"{head}{''.join(tables)}{tail}</div>"


def _frontal_slices(
    dtype: DType, shape: tuple[int, ...], read: Callable[[tuple[int, ...]], Any]
) -> list[tuple[str, list[list[str]]]]:
    """The cells that are shown, under the index of their slice, which is empty up to rank 2."""
    if len(shape) <= 2:
        return [("", _rows(shape, read, dtype))]
    return [
        (
            f"[:, :, {', '.join(map(str, index))}]",
            _rows(shape[:2], lambda ij, k=index: read((*ij, *k)), dtype),  # type: ignore[misc]
        )
        for index in _leading(shape[2:], SLICES)
    ]


def _left_out(shape: tuple[int, ...], shown: int) -> int:
    """How many frontal slices are not shown."""
    return element_count(shape[2:]) - shown


def format_element(element: Any, dtype: DType, /) -> str:
    """One element as text, with eight significant digits.

    >>> from tensor_core.dtypes import C64, F64
    >>> format_element(2.0, F64), format_element(1 / 3, F64), format_element(1 - 2j, C64)
    ('2.0', '0.33333333', '1.0-2.0j')
    """
    if dtype.kind == "float":
        return _real(element)
    if dtype.kind == "complex":
        imaginary = _real(element.imag)
        return f"{_real(element.real)}{'' if imaginary[0] == '-' else '+'}{imaginary}j"
    return str(element)


def readable_bytes(count: int, /) -> str:
    """A number of bytes in the largest fitting unit of 1024, exact below 1 KiB, however large it is.

    >>> readable_bytes(1000), readable_bytes(1536), readable_bytes(1 << 40), readable_bytes(10**400)
    ('1000 B', '1.5 KiB', '1.0 TiB', '1.0e+400 B')
    """
    if count < 1024:
        return f"{count} B"
    power = (count.bit_length() - 1) // 10
    if power >= len(_UNITS):
        logarithm = log10(count)
        exponent = floor(logarithm)
        return f"{min(10 ** (logarithm - exponent), 9.9):.1f}e+{exponent} B"
    # Tenths in ints: a float would round numbers beyond 2**53.
    tenths = (count * 10 + (1 << (10 * power - 1))) >> (10 * power)
    return f"{tenths // 10}.{tenths % 10} {_UNITS[power]}"


def _real(number: float) -> str:
    text = f"{number:.8g}"
    return text if any(letter in text for letter in ".enai") else text + ".0"


def _rows(shape: Sequence[int], read: Callable[[tuple[int, ...]], Any], dtype: DType) -> list[list[str]]:
    """Cells of a number, a vector (one row) or a matrix."""
    if not shape:
        return [[format_element(read(()), dtype)]]
    if len(shape) == 1:
        return [["..." if k == _GAP else format_element(read((k,)), dtype) for k in _shown(shape[0])]]
    columns = _shown(shape[1])
    return [
        ["..." if _GAP in (i, j) else format_element(read((i, j)), dtype) for j in columns] for i in _shown(shape[0])
    ]


def _shown(extent: int) -> list[int]:
    if extent <= LONGEST:
        return list(range(extent))
    return [*range(EDGE), _GAP, *range(extent - EDGE, extent)]


def _leading(shape: Sequence[int], limit: int) -> list[tuple[int, ...]]:
    """The first few indices, the first axis fastest."""
    return [unravel_index(position, shape, order="F") for position in range(min(limit, element_count(shape)))]
