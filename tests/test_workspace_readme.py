"""What the pages print is true: code runs, commands exist, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in sorted(ROOT.glob("packages/*/README.md")))]
LINKED = [*PAGES, *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/**/*.md")))]


def blocks(page: str, language: str) -> list[str]:
    """Code blocks of one language; those inside a list lose their indentation."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for _, body in re.findall(rf"^( *)```{language}\n(.*?)^\1```", text, re.DOTALL | re.MULTILINE)]


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120)


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_without_a_warning(page: str) -> None:
    for code in blocks(page, "python"):
        if ">>>" in code:
            code = f"text = {code!r}\n{RUN_EXAMPLES}"
        done = run_python(code)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


RUN_EXAMPLES = """
import doctest, sys
examples = doctest.DocTestParser().get_doctest(text, {}, "page", None, 0)
runner = doctest.DocTestRunner()
runner.run(examples)
sys.exit(runner.summarize().failed)
"""


def test_the_readme_shows_the_difference_in_twenty_lines() -> None:
    (code,) = blocks("README.md", "python")
    assert len([line for line in code.splitlines() if line]) <= 20


def cells(row: str) -> list[str]:
    """The cells of a row of a table, without what sets some in bold."""
    return [cell.strip().strip("*") for cell in row.strip().strip("|").split("|")]


def test_the_figures_of_the_readme_are_those_of_the_reports() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tables = re.findall(r"\]\((docs/reports/[\w-]+\.md)\)[^|]*?\n\n((?:\|.*\n)+)", text)
    assert len(tables) == 2
    for report, table in tables:
        written = [cells(line) for line in (ROOT / report).read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
        for label, *figures in map(cells, table.splitlines()[2:]):
            rows = [row[1:] for row in written if row[0] == label]
            assert any(in_order(figures, row) for row in rows), f"{label}: {rows}"


def in_order(figures: list[str], row: list[str]) -> bool:
    """Whether the row has all the figures, others between them."""
    left = iter(row)
    return all(figure in left for figure in figures)


def test_the_error_in_the_readme_is_the_error() -> None:
    (printed,) = blocks("README.md", "text")
    done = run_python("import tensor_runtime as tr; tr.convert(tr.tensor([1.5]), tr.I64)")
    assert done.stderr.splitlines()[-1].endswith(printed.strip())


def test_the_commands_of_the_pages_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        target
        for page in ("README.md", "CONTRIBUTING.md", ".ci/run")
        for target in re.findall(
            r"^\s*make (?:\w+=\S+ )?([a-z]+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert {"run", "test", "check"} <= named <= targets


def test_the_programs_of_the_readme_are_installed() -> None:
    for name in set(re.findall(r"\.venv/bin/([a-z-]+)", (ROOT / "README.md").read_text(encoding="utf-8"))):
        assert (Path(sys.executable).parent / name).exists()


@pytest.mark.parametrize("page", LINKED)
def test_relative_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (ROOT / page).parent.joinpath(target).exists(), target


def test_the_tests_that_pages_name_are_there() -> None:
    folders = [ROOT / "tests", ROOT / "tools", *ROOT.glob("packages/*/tests"), *ROOT.glob("examples/plugins/*")]
    files = {path.stem: path.read_text(encoding="utf-8") for folder in folders for path in folder.glob("test_*.py")}
    functions = {name for text in files.values() for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}
    named = {
        (page, name)
        for page in LINKED
        if page != "docs/reports/clients.md"  # which names tests of others
        for name in re.findall(r"`[\w/]*\b(test_\w+)(?:\.py)?`", (ROOT / page).read_text(encoding="utf-8"))
    }
    assert len(named) > 20
    assert [(page, name) for page, name in sorted(named) if name not in files and name not in functions] == []


def anchors(page: Path) -> set[str]:
    """The names by which headings of a page are linked, as the site makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED)
def test_links_into_pages_name_a_heading(page: str) -> None:
    here = ROOT / page
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", here.read_text(encoding="utf-8")):
        there = here.parent / target if target else here
        if "://" not in target and there.suffix == ".md":
            assert anchor in anchors(there), (target, anchor)


@pytest.mark.parametrize("page", LINKED)
def test_every_block_of_code_ends_and_says_its_language(page: str) -> None:
    fences = re.findall(r"^\s*```(.*)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) % 2 == 0 and all(fences[::2]) and not any(fences[1::2]), fences
