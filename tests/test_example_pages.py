"""Pages that are examples from top to bottom are true: what they print is what comes."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

import tensor_einsum  # noqa: F401  # as the next does, errors of its own
import tensor_linalg  # noqa: F401  # brings errors of its own
from tensor_core.errors import MissingAttributeError, TensorError

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("batches.md", 10),
        ("clients.md", 10),
        ("coming-from.md", 3),
        ("exchange.md", 7),
        ("files.md", 28),
        ("first-hour.md", 28),
        ("linear-algebra.md", 45),
        ("semantics.md", 15),
    ],
)
def test_every_example_gives_what_the_page_says(
    page: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some pages write files
    found = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted >= least
    assert found.failed == 0


def test_every_cell_of_what_to_write_here_runs(tmp_path: Path) -> None:
    text = (DOCS / "coming-from.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {"path": tmp_path / "x.npy"}
    for example in doctest.DocTestParser().get_examples(blocks[0]):
        exec(example.source, names)
    rows = [line.split("|")[2] for line in text.splitlines() if line.startswith("|") and "---" not in line]
    cells = [code for row in rows for code in re.findall(r"`(\w[^`]*)`", row)]
    assert len(cells) > 60
    for code in cells:
        try:
            exec(code, names)
        except Exception as error:
            raise AssertionError(f"{code}: {error!r}") from error


def test_the_index_names_every_page() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).as_posix()
        assert name == "index.md" or f"({name})" in index or name.startswith("decisions/0"), name


def test_the_gallery_names_every_example_and_its_picture() -> None:
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    named = set(re.findall(r"examples/[\w/]+\.\w+", text))
    assert all((DOCS.parent / name).is_file() for name in named)
    assert {f"examples/{path.name}" for path in (DOCS.parent / "examples").glob("*.py")} - named == {
        "examples/ising.py",  # writes networks
        "examples/small_networks.py",  # a measurement
    }
    pictures = re.findall(r"\]\(((?:gallery|pictures)/[\w.]+)\)", text)
    assert len(pictures) == 8 and all((DOCS / picture).is_file() for picture in pictures)


def test_the_semantics_name_every_error_of_the_tree() -> None:
    text = (DOCS / "semantics.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "Error`" in line]
    named = {name: row for row in rows for name in re.findall(r"`it\.(\w+Error)`", row.split("|")[2])}
    packages = ("tensor_core", "tensor_runtime", "tensor_einsum", "tensor_linalg")
    errors = {error.__name__: error for error in TensorError.__subclasses__() if error.__module__.startswith(packages)}
    for error in list(errors.values()):
        assert error is MissingAttributeError or f"`it.{error.__name__}`" in text, error
        errors.update((derived.__name__, derived) for derived in error.__subclasses__())
    for name, row in named.items():
        assert any(f"`{base.__name__}`" in row.split("|")[3] for base in errors[name].__mro__), name
