"""The documentation as a site: ``make docs``.

The pages of ``docs/`` are copied, links that leave them lead to the repository, tables of contents are made from the
tables of ``docs/index.md``, and pages of every public function and class from the packages. Then Sphinx runs; a warning
is an error.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT: Final = Path(__file__).resolve().parents[1]
DOCS: Final = ROOT / "docs"
BUILT: Final = ROOT / "out" / "site"
PACKAGES: Final = ("tensor_core", "tensor_runtime", "tensor_einsum", "tensor_linalg")
_DIAGRAM: Final = re.compile(r"```mermaid\n(.*?)\n```", re.DOTALL)
_LINK: Final = re.compile(r"(?<=\]\()(?P<target>[^)#\s:]+)(?P<anchor>#[^)\s]*)?(?=\))")


def repository() -> str:
    """The address under which the files of the repository are shown.

    >>> repository().startswith("https://")
    True
    """
    metadata = tomllib.loads((ROOT / "packages" / "ironstride" / "pyproject.toml").read_text(encoding="utf-8"))
    return f"{metadata['project']['urls']['Homepage']}/blob/main"


def outward(text: str, page: Path, /) -> str:
    """The text of a page, in which links that leave ``docs/`` lead to the repository.

    >>> outward("see [x](../README.md#first) and [y](batches.md)", DOCS / "index.md").split("/")[-1]
    'README.md#first) and [y](batches.md)'
    """

    def replaced(found: re.Match[str]) -> str:
        target = (page.parent / found["target"]).resolve()
        if target.is_relative_to(DOCS) and target.suffix == ".md":
            return found[0]
        if target.is_relative_to(DOCS) and target.is_file():
            return found[0]
        return f"{repository()}/{target.relative_to(ROOT).as_posix()}{found['anchor'] or ''}"

    return _LINK.sub(replaced, text)


def as_page(text: str, /) -> str:
    r"""The text of a page for the site: links say the titles of pages, and no example ends with an empty line.

    >>> as_page("[a.md](a.md): [b](b.md)\n```python\n>>> 1\n1\n\n```")
    '[](a.md): [b](b.md)\n```python\n>>> 1\n1\n```'
    """
    text = re.sub(r"\[([\w/-]+\.md)\]\((?=(?:\.\./)*\1)", "[](", text).replace("\n\n```", "\n```")
    return _DIAGRAM.sub(lambda found: f"```text\n{calls(found[1])}\n```", text)


def calls(diagram: str, /) -> str:
    r"""A sequence of mermaid, which the repository's pages draw, as lines: who asks whom, and who answers.

    >>> print(calls("sequenceDiagram\n    participant T as a table\n    User->>T: look up\n    T-->>User: kernel"))
    User     → a table  look up
    a table  ⇢ User     kernel
    """
    names: dict[str, str] = {}
    rows: list[tuple[str, str, str]] = []
    for line in diagram.splitlines()[1:]:
        if found := re.fullmatch(r"\s*participant (\w+)(?: as (.*))?", line):
            names[found[1]] = found[2] or found[1]
        elif found := re.fullmatch(r"(\s*)(\w+)(--?)>>(\w+): (.*)", line):
            arrow = "→" if found[3] == "-" else "⇢"
            head, tail = (names.get(found[place], found[place]) for place in (2, 4))
            rows.append((head, f"{arrow} {tail}", f"{found[1][4:]}{found[5]}"))
        elif found := re.fullmatch(r"\s*alt (.*)", line):
            rows.append(("", "", f"{found[1]}:"))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(f"{a:{widths[0]}}  {b:{widths[1]}}  {text}" for a, b, text in rows)


def contents(index: str, /) -> Iterator[tuple[str, list[str]]]:
    r"""The sections of the index, and the pages that each names, in order.

    >>> list(contents("## How to\n[a](a.md), [b](b/README.md) and [no](../c.md)\n"))
    [('How to', ['a', 'b/README'])]
    """
    for section in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        named = [found["target"] for found in _LINK.finditer(text)]
        yield title.strip(), [page.removesuffix(".md") for page in named if not page.startswith("..")]


def toctree(caption: str, pages: Iterable[str], /) -> str:
    """A hidden table of contents, which fills the margin of the site.

    >>> print(toctree("How to", ["a"]).strip())
    ```{toctree}
    :hidden:
    :caption: How to
    <BLANKLINE>
    a
    ```
    """
    head = "\n```{toctree}\n:hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return head + "\n" + "\n".join(pages) + "\n```\n"


def as_rst(lines: list[str], /) -> list[str]:
    r"""A docstring for Sphinx: magnitudes such as |a| are no substitutions, N* is no emphasis, tables are tables.

    >>> as_rst(["|a| of ``|b|``, [N, B*]", "", ">>> a | b"])
    ['\\|a\\| of ``|b|``, [N, B\\*]', '', '>>> a | b']
    >>> as_rst(["| a | b |", "|---|---|", "| 1 | 2 |"])[:5]
    ['.. list-table::', '   :header-rows: 1', '', '   * - a', '     - b']
    """
    if lines and lines[0].startswith("Alias for field number"):
        return []  # what a named tuple says of its fields
    written: list[str] = []
    in_table = False
    for line in lines:
        row = line.strip()
        if row.startswith("|") and row.endswith("|") and row.count("|") > 2:
            if not in_table:
                written += [".. list-table::", "   :header-rows: 1", ""]
            if not row.startswith("|--"):
                cells = (cell.strip() for cell in row.strip("|").split(" | "))
                written += [f"   {'*' if first else ' '} - {prose(cell)}" for first, cell in _with_first(cells)]
            in_table = True
            continue
        if in_table and row:
            written.append("")
        in_table = False
        written.append(line if row.startswith((">>>", "...")) else prose(line))
    return written


def prose(line: str, /) -> str:
    r"""A line in which bars and single stars are what they are, but in literals.

    >>> prose("|a| ``|b|`` [*shape, k]")
    '\\|a\\| ``|b|`` [\\*shape, k]'
    """
    bullet = re.match(r"\s*(\* )?", line)[0]  # type: ignore[index]  # it matches everything
    parts = line[len(bullet) :].split("``")
    parts[::2] = [re.sub(r"(?<!\*)\*(?!\*)|\|", r"\\\g<0>", part) for part in parts[::2]]
    return bullet + "``".join(parts)


def _with_first(cells: Iterable[str]) -> Iterator[tuple[bool, str]]:
    return ((number == 0, cell) for number, cell in enumerate(cells))


def families(package: str, /) -> dict[str, list[str]]:
    """The public names of a package, by the module that defines them.

    >>> families("tensor_einsum")["api"]
    ['einsum', 'plan']
    """
    module = importlib.import_module(package)
    found: dict[str, list[str]] = {}
    for name in sorted(module.__all__, key=str.lower):
        described = getattr(module, name)
        if inspect.ismodule(described) or not getattr(described, "__doc__", None):
            continue
        home = getattr(described, "__module__", None)
        if isinstance(home, str) and home.startswith(package):
            family = home.removeprefix(f"{package}.")
            family = family.removeprefix("ops.") if family != package else "others"
            found.setdefault(family, []).append(name)
    return dict(sorted(found.items()))


def described(package: str, name: str, /) -> str:
    """The directive that describes a name.

    >>> described("tensor_core", "TensorLayout").splitlines()[0]
    '.. autoclass:: tensor_core.TensorLayout'
    """
    found = getattr(importlib.import_module(package), name)
    if isinstance(found, type):
        members = "" if issubclass(found, BaseException) else "   :members:\n"
        return f".. autoclass:: {package}.{name}\n{members}"
    if inspect.isroutine(found):
        return f".. autofunction:: {package}.{name}\n"
    return f".. autodata:: {package}.{name}\n   :no-value:\n"


def write_reference(folder: Path, /) -> None:
    """One page for each family of each package, and one that leads to them."""
    folder.mkdir(parents=True)
    for package in PACKAGES:
        pages = []
        for family, names in families(package).items():
            page = f"{package}.{family}"
            pages.append(page)
            title = family.replace("_", " ").replace(".", ": ")
            text = "\n".join([title, "=" * len(title), "", *(described(package, name) for name in names)])
            (folder / f"{page}.rst").write_text(text, encoding="utf-8")
        summary = (inspect.getdoc(importlib.import_module(package)) or "").partition("\n\n")[0]
        lines = [package, "=" * len(package), "", summary, "", ".. toctree::", "", *(f"   {page}" for page in pages)]
        (folder / f"{package}.rst").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_source(folder: Path, /) -> None:
    """Everything that Sphinx reads."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder)
    for page in DOCS.rglob("*.md"):
        text = outward(page.read_text(encoding="utf-8"), page)
        if page == DOCS / "index.md":
            for caption, pages in contents(text):
                text += toctree(caption, pages)
            text += toctree("Functions and classes", (f"api/{package}" for package in PACKAGES))
        if page == DOCS / "decisions" / "README.md":
            text += toctree("", sorted(other.stem for other in page.parent.glob("0*.md")))
        (folder / page.relative_to(DOCS)).write_text(as_page(text), encoding="utf-8")
    write_reference(folder / "api")


def setup(app: Sphinx) -> dict[str, bool]:
    """Take part in the build, as the extension of Sphinx that ``docs/conf.py`` names."""

    def read_docstring(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
        lines[:] = as_rst(lines)

    app.connect("autodoc-process-docstring", read_docstring, priority=900)  # after napoleon
    return {"parallel_read_safe": True}


def main() -> int:
    """Build the site into ``out/site/html``; the exit status of Sphinx."""
    from sphinx.cmd.build import build_main

    source = BUILT / "source"
    write_source(source)
    status: int = build_main(["-W", "--keep-going", "-q", "-j", "2", "-b", "html", str(source), str(BUILT / "html")])
    if not status:
        print(f"{(BUILT / 'html' / 'index.html').relative_to(ROOT)} is the first page")
    return status


if __name__ == "__main__":
    sys.exit(main())
