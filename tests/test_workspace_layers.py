"""What an import brings along, seen from a fresh interpreter: the layers hold at run time, too."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROBE = "import sys; before = set(sys.modules); {}; print(*sorted(set(sys.modules) - before))"


def modules_after(statement: str) -> set[str]:
    """Modules that a fresh interpreter gains; ``-S`` would hide installed packages, ``-I`` hides the user's own."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROBE.format(statement)], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def top_names(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_the_core_brings_only_a_little_of_the_standard_library() -> None:
    gained = modules_after("import tensor_core")
    foreign = {name for name in gained if name.partition(".")[0] not in {"tensor_core", *sys.stdlib_module_names}}
    assert not foreign
    assert len([name for name in gained if not name.startswith("tensor_core")]) <= 40
    assert not gained & {"dataclasses", "json", "ctypes", "importlib.metadata"}


def test_the_runtime_loads_no_array_library_and_reads_no_entry_points() -> None:
    gained = modules_after("import tensor_runtime")
    assert top_names(gained) - sys.stdlib_module_names == {"tensor_core", "tensor_runtime"}
    assert "importlib.metadata" not in gained


@pytest.mark.parametrize("family", ["tensor_einsum", "tensor_linalg"])
def test_a_family_loads_no_backend(family: str) -> None:
    gained = modules_after(f"import {family}")
    assert top_names(gained) - sys.stdlib_module_names == {"tensor_core", "tensor_runtime", family}


def test_listing_the_backends_loads_none() -> None:
    gained = top_names(modules_after("import tensor_runtime; repr(tensor_runtime.backends())"))
    assert not gained & {"numpy", "scipy", "cupy"}


def test_the_program_answers_a_wrong_command_before_anything_heavy_is_loaded() -> None:
    assert not top_names(modules_after("import ironstride.program.main")) & {
        "numpy",
        "scipy",
        "matplotlib",
        "tensor_cpu",
    }
