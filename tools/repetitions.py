"""Count the passages that stand twice in the sources: six lines or more, in Python under ``src`` and in C.

A line counts without its indentation. Blank lines, comments, docstrings, imports and lines of punctuation alone do not
count, and do not interrupt a passage. Two passages are the same when their lines are (``--shape``: when they are alike
but for names, numbers and strings). A passage is as long as it goes; one that stands in three places makes three pairs.

Usage: ``python tools/repetitions.py [--shape] [--lines N] [FOLDER]``; by default the workspace around this folder.
Prints the pairs, longest first, and then their number.
"""

from __future__ import annotations

import argparse
import ast
import keyword
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

SHORTEST: Final = 6
"""Lines of a passage."""
ROOT: Final = Path(__file__).resolve().parent.parent
MOST_PLACES: Final = 8
"""Where an idiom of the language begins: what is alike in more places than these is not counted with ``--shape``."""
_C_KEYWORDS: Final = frozenset({"case", "const", "double", "float", "int", "sizeof", "static", "struct", "void"})
_C_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_TOKEN: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\w+|\S")


class Line(NamedTuple):
    """One line that counts."""

    path: Path
    number: int
    text: str


class Pair(NamedTuple):
    """Two passages that are the same."""

    lines: int
    first: Line
    second: Line

    def __str__(self) -> str:
        places = (f"{line.path}:{line.number}" for line in (self.first, self.second))
        return f"{self.lines} lines: {' ~ '.join(places)}"


def counted_lines(path: Path, text: str, *, shape: bool = False) -> list[Line]:
    r"""The lines of a file that count, without indentation; with ``shape``, without names and values either.

    >>> [line.text for line in counted_lines(Path("a.py"), "import os\n\ndef f(x):\n    return x  # same\n")]
    ['def f(x):', 'return x']
    >>> [line.text for line in counted_lines(Path("a.c"), "/* a\nb */ int x = 12;\n}\n", shape=True)]
    ['int N = N ;']
    """
    left_out: set[int] = set()
    if path.suffix in (".c", ".h"):
        text = _C_COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)
    else:
        left_out = {number for node in ast.walk(ast.parse(text)) for number in _not_code(node)}
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.strip() if path.suffix in (".c", ".h") else re.sub(r"(^|\s\s)#.*$", "", line).strip()
        if number not in left_out and re.search(r"\w", code) and not code.startswith("#include"):
            lines.append(Line(path, number, _shape_of(code) if shape else " ".join(code.split())))
    return lines


def _not_code(node: ast.AST) -> Iterable[int]:
    """The lines of an import and of a string that stands alone."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    if isinstance(node, ast.stmt) and (is_text or isinstance(node, ast.Import | ast.ImportFrom)):
        return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return ()


def _shape_of(code: str) -> str:
    kept = {*keyword.kwlist, *_C_KEYWORDS}
    return " ".join(t if t in kept or not re.match(r"[\w\"']", t) else "N" for t in _TOKEN.findall(code))


def repeated(files: Iterable[Sequence[Line]], shortest: int = SHORTEST, *, shape: bool = False) -> list[Pair]:
    """The pairs of equal passages, longest first; the passages of a pair do not overlap.

    With ``shape``, a passage that stands in many places, or whose lines are mostly alike themselves (a table), does not
    count.

    >>> a = [Line(Path("a"), number, text) for number, text in enumerate("uvwxyz")]
    >>> b = [Line(Path("b"), number, text) for number, text in enumerate("-vwxy-")]
    >>> [str(pair) for pair in repeated([a, b], 3)]
    ['4 lines: a:1 ~ b:1']
    """
    places: dict[tuple[str, ...], list[tuple[Sequence[Line], int]]] = defaultdict(list)
    for lines in files:
        for start in range(len(lines) - shortest + 1):
            places[tuple(line.text for line in lines[start : start + shortest])].append((lines, start))
    pairs = []
    for passage, found in places.items():
        if shape and (len(found) > MOST_PLACES or len(set(passage)) < shortest - 1 or _is_thin(passage)):
            continue
        for (one, i), (two, j) in combinations(found, 2):
            if i and j and one[i - 1].text == two[j - 1].text:
                continue  # it begins earlier
            length = _common(one, i, two, j)
            if length >= shortest:
                pairs.append(Pair(length, one[i], two[j]))
    return sorted(pairs, key=lambda pair: (-pair.lines, pair.first, pair.second))


def _is_thin(passage: Sequence[str]) -> bool:
    return sum(map(len, passage)) < 15 * len(passage)


def _common(one: Sequence[Line], i: int, two: Sequence[Line], j: int) -> int:
    most = min(len(one) - i, len(two) - j, j - i if one is two else len(one))
    return next((k for k in range(most) if one[i + k].text != two[j + k].text), most)


def sources(root: Path) -> Iterator[Path]:
    """The files of a workspace that are looked at: Python under ``packages/*/src``, and C in any folder of a package.

    >>> sum(path.name == "repetitions.py" for path in sources(ROOT))
    0
    """
    for package in sorted((root / "packages").iterdir()):
        yield from sorted((package / "src").rglob("*.py"))
        yield from sorted(
            path for ending in ("*.c", "*.h") for path in package.rglob(ending) if "build" not in path.parts
        )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shape", action="store_true", help="names, numbers and strings may differ")
    parser.add_argument("--lines", type=int, default=SHORTEST, help=f"of the shortest passage; {SHORTEST}")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="a workspace; the one around this tool")
    options = parser.parse_args()
    root = options.folder.resolve()
    files = [
        counted_lines(path.relative_to(root), path.read_text(encoding="utf-8"), shape=options.shape)
        for path in sources(root)
    ]
    pairs = repeated(files, options.lines, shape=options.shape)
    for pair in pairs:
        print(pair)
    endings = [(".py",), (".c", ".h")]
    in_python, in_c = (sum(pair.first.path.suffix in ending for pair in pairs) for ending in endings)
    print(f"{len(pairs)} pairs of passages: {in_python} in Python, {in_c} in C, in {len(files)} files")


if __name__ == "__main__":
    main()
