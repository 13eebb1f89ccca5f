"""Text of SVG files: tooltips in it, and coordinates as short as a picture needs them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from xml.sax.saxutils import escape

_LONG: Final = 20_000  # characters of a path


def with_tips(svg: str, tips: Sequence[str]) -> str:
    """The SVG text with a tooltip in each marked node, coordinates to a tenth of a point; long paths to a whole one.

    >>> with_tips('<g id="nodes"><use x="1.234"/></g>', ["a < b"])
    '<g id="nodes"><use x="1.2"><title>a &lt; b</title></use></g>'
    """
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d)\d+", r"\1", tag[0]), svg)
    svg = re.sub(rf'd="[^"]{{{_LONG},}}"', lambda path: re.sub(r"\.\d", "", path[0]), svg)
    svg = re.sub(r'd="(M[-\d.ML\s]{500,})"', lambda path: f'd="{short_path(path[1])}"', svg)
    start = svg.find('<g id="nodes">')
    if start < 0:
        return svg
    waiting: Iterator[str] = iter(tips)

    def tipped(match: re.Match[str]) -> str:
        tip = next(waiting, None)
        return match[0] if tip is None else f"<use {match[1]}><title>{escape(tip)}</title></use>"

    return svg[:start] + re.sub(r"<use ([^>]*?)/>", tipped, svg[start:])


def short_path(path: str) -> str:
    r"""The same lines, those along an axis with one coordinate.

    >>> short_path("M 1 2 \nL 3 2 \nL 3 5.5 \n")
    'M1 2H3V5.5'
    """
    found, x, y = [], "", ""
    for command, across, up in re.findall(r"([ML])\s*(\S+)\s+(\S+)", path):
        if command == "L" and up == y:
            found.append(f"H{across}")
        elif command == "L" and across == x:
            found.append(f"V{up}")
        else:
            found.append(f"{command}{across} {up}")
        x, y = across, up
    return "".join(found)
