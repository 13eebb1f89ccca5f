"""The page "Where is ...?" is true: every place is there, and holds what the page says to look for."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "tensor_cpu": "cpu_backend",
    "tensor_einsum": "einsum",
    "tensor_linalg": "linalg",
    "tensor_gpu": "gpu_backend",
}
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in (ROOT / "docs" / "where.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| question")
]


def place_of(text: str) -> Path:
    first = text.partition("/")[0]
    if first == "csrc":
        return ROOT / "packages" / "cpu_backend" / text
    return ROOT / "packages" / FOLDERS.get(first, first) / "src" / text


def test_there_are_thirty_questions_and_none_twice() -> None:
    assert len({question for question, _, _ in ROWS}) == len(ROWS) == 30


@pytest.mark.parametrize(("question", "place", "sign"), ROWS)
def test_the_answer_is_where_the_page_says(question: str, place: str, sign: str) -> None:
    path = place_of(place.strip("`"))
    files = [path] if path.is_file() else sorted(path.glob("*.py"))
    assert files, place
    assert any(sign.strip("`") in file.read_text(encoding="utf-8") for file in files), sign
