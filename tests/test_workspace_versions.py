"""The distributions agree: one version, siblings of the same series, typed, and requirements that name no index."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECTS: dict[str, dict[str, Any]] = {
    path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    for path in sorted(ROOT.glob("packages/*/pyproject.toml"))
}
VERSION = import_module("tensor_core.version").__version__
NAMES = {project["name"] for project in PROJECTS.values()}
IMPORT_NAMES = {
    "tensor_core": "tensor_core",
    "tensor_runtime": "tensor_runtime",
    "cpu_backend": "tensor_cpu",
    "gpu_backend": "tensor_gpu",
    "einsum": "tensor_einsum",
    "linalg": "tensor_linalg",
    "ironstride": "ironstride",
}


def requirements_of(project: dict[str, Any]) -> list[str]:
    extras = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(text for texts in extras.values() for text in texts)]


def test_all_distributions_are_here() -> None:
    assert set(PROJECTS) == set(IMPORT_NAMES)


@pytest.mark.parametrize("folder", PROJECTS)
def test_every_distribution_takes_its_version_from_the_one_file(folder: str) -> None:
    import_name = IMPORT_NAMES[folder]
    settings = tomllib.loads((ROOT / "packages" / folder / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {"attr": f"{import_name}.version.__version__"}
    file = ROOT / "packages" / folder / "src" / import_name / "version.py"
    assert file.resolve() == ROOT / "packages" / "tensor_core" / "src" / "tensor_core" / "version.py"
    assert import_module(f"{import_name}.version").__version__ == VERSION


def test_the_changelog_begins_with_that_version() -> None:
    first = next(line for line in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines() if line[:3] == "## ")
    assert VERSION in first


@pytest.mark.parametrize("folder", PROJECTS)
def test_siblings_are_of_the_same_series(folder: str) -> None:
    series = VERSION.rpartition(".")[0]
    for text in requirements_of(PROJECTS[folder]):
        name, *rest = re.split(r"(?===)", text)
        if text.startswith("ironstride"):
            assert name.partition("[")[0] in NAMES, text
            assert rest == [f"=={series}.*"], text


@pytest.mark.parametrize("folder", PROJECTS)
def test_what_is_installed_is_this_version(folder: str) -> None:
    assert version(PROJECTS[folder]["name"]) == VERSION


@pytest.mark.parametrize(
    "name",
    ["tensor_core", "tensor_runtime", "tensor_einsum", "tensor_linalg", "tensor_cpu", "tensor_gpu", "ironstride"],
)
def test_every_package_tells_its_version(name: str) -> None:
    assert import_module(name).__version__ == VERSION


@pytest.mark.parametrize("folder", PROJECTS)
def test_every_package_is_typed_described_and_tested(folder: str) -> None:
    package = ROOT / "packages" / folder
    assert (package / "src" / IMPORT_NAMES[folder] / "py.typed").is_file()
    assert (package / "README.md").is_file()
    assert list((package / "tests").glob("test_*.py"))


def test_every_run_time_requirement_is_locked() -> None:
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE)
    wanted = {
        re.split(r"[<>=]", text)[0].replace("_", "-")
        for project in PROJECTS.values()
        for text in project["dependencies"]
        if not text.startswith("ironstride")
    }
    assert wanted <= set(locked)


@pytest.mark.parametrize("stem", ["build", "run", "test", "dev", "docs", "dist", "lock", "nvrtc", "plugins"])
def test_a_locked_file_holds_pins_and_hashes_and_nothing_else(stem: str) -> None:
    lines = (ROOT / "requirements" / f"{stem}.txt").read_text(encoding="utf-8").splitlines()
    pin = r"[a-z0-9][a-z0-9_.-]*(\[[a-z0-9, ]+\])?==[\w.!+-]+( ; [\w .'<>=!()]+)? \\"
    assert lines
    for line in lines:
        assert re.fullmatch(pin, line) or re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line), line


def test_locked_files_agree_on_versions() -> None:
    pins = {
        pin
        for path in ROOT.glob("requirements/*.txt")
        for pin in re.findall(r"^([\w.-]+)(?:\[.+\])?==([\w.!+-]+)", path.read_text(), re.MULTILINE)
    }
    assert len(pins) == len({name for name, _ in pins})


def test_no_file_names_a_package_index() -> None:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout")
    # Written in halves, so that this file does not name one either.
    halves = [("index", "-url"), ("find", "-links"), ("trusted", "-host"), ("pypi", ".org"), ("python", "hosted")]
    prefix = "(?<!no-emit-)"  # options of uv, which say that none is written
    ours = "(?! dist)"  # the folder of `make dist`, in a checkout
    words = re.compile("|".join(prefix + re.escape(first + second) + ours for first, second in halves))
    for name in filter(None, listing.stdout.split("\0")):
        path = ROOT / name
        if path.suffix not in {".json", ".npy", ".npz", ".svg", ".png"} and path.is_file():
            found = words.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{name}: {found}"


def test_the_citation_names_this_version() -> None:
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
