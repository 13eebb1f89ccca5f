"""The page on extending: its family and the example backend are built, installed as wheels, and work."""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from plugin_wheels import run
from tensor_runtime.protocols import PROTOCOL_VERSION
from tensor_runtime.testing import REQUIRED_KERNELS

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
_FILE = re.compile(r"^`([\w./]+)`[^\n]*\n\n```(?:python|toml)\n(.*?)```", re.DOTALL | re.MULTILINE)
FAMILY = dict(_FILE.findall(PAGE))
BACKEND = ROOT / "examples" / "plugins" / "fortran_backend"
EXAMPLES = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if ">>>" in block]


def installed_from(source: Path) -> Path:
    """The folder into which pip installed the package of a folder, as a wheel and without an index."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    build = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", source.parent)
    run(*pip, *build, source, cwd=source.parent)
    (wheel,) = source.parent.glob("*.whl")
    target = source.parent / "installed"
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", "--target", target, wheel, cwd=source.parent)
    return target


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The family that the page prints, installed."""
    source = tmp_path_factory.mktemp("hypotenuse") / "source"
    for name, text in FAMILY.items():
        file = source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return installed_from(source)


@pytest.fixture(scope="module")
def with_backend(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example backend, installed."""
    source = tmp_path_factory.mktemp("fortran") / "source"
    shutil.copytree(BACKEND, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    return installed_from(source)


def in_python(installed: Path, program: str) -> str:
    """What a fresh interpreter prints in which the package is installed."""
    paths = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    return run(sys.executable, "-W", "error", "-c", program, cwd=installed, PYTHONPATH=paths)


def test_the_page_prints_a_whole_package(installed: Path) -> None:
    modules = {f"{name}.py" for name in ("__init__", "cpu", "rules", "family", "cases")}
    assert set(FAMILY) == {"pyproject.toml", *(f"src/hypotenuse/{module}" for module in modules)}
    assert {path.name for path in (installed / "hypotenuse").glob("*.py")} == modules


def test_the_installed_family_gives_what_the_page_prints(installed: Path) -> None:
    (examples,) = EXAMPLES
    program = f"""
import doctest, sys
test = doctest.DocTestParser().get_doctest({examples!r}, {{}}, "extending", None, 0)
runner = doctest.DocTestRunner(verbose=False)
print(runner.run(test))
"""
    assert in_python(installed, program).strip() == f"TestResults(failed=0, attempted={examples.count('>>>')})"


def test_the_family_takes_python_numbers_every_layout_and_every_dtype(installed: Path) -> None:
    program = """
import math
import tensor_runtime as tr
from hypotenuse import pythag
x = tr.tensor([[3.0, 5.0], [8.0, 7.0]])
y = tr.tensor([[4.0, 12.0], [15.0, 24.0]])
assert pythag(x.T, y.T).to_numpy().tolist() == [[5.0, 17.0], [13.0, 25.0]]
assert pythag(x.T, y.T).is_compact
assert pythag(x[0], y).to_numpy().tolist() == [[5.0, 13.0], [math.hypot(3, 15), math.hypot(5, 24)]]
assert pythag(x[0], tr.tensor(4.0)).shape == (2,)
whole = tr.tensor([[3.0, 7.5], [0.0, 9.0]])
root = {3.0: 5.0, 7.5: 8.5, 0.0: 4.0, 9.0: math.hypot(9, 4)}
for number in (4, 4.0):
    for tensor in (whole, whole.T, whole[:, 0], whole[::-1, 1], tr.broadcast_to(whole[0, 0], (2, 3)), whole[:0]):
        for found in (pythag(tensor, number), pythag(number, tensor)):
            assert (found.dtype, found.shape, found.is_compact) == (tr.F64, tensor.shape, True), found
            roots = tr.to_numpy(found).ravel(order="F").tolist()
            assert roots == [root[one] for one in tr.to_numpy(tensor).ravel(order="F").tolist()]
assert pythag(tr.tensor([3], dtype="I32"), 4).item() == 5.0
assert pythag(tr.tensor([3.0], dtype="F32"), 4).dtype is tr.F32
assert pythag(3.0, tr.tensor(4)).item() == 5.0
wrong = {
    "DTypeError: pythag: operands are C64 (complex128), F64": lambda: pythag(tr.tensor(1j), x),
    "DTypeError: pythag: operand": lambda: pythag(x, 1j),
    "ShapeError: pythag: shapes": lambda: pythag(x, tr.ones(3)),
}
for words, call in wrong.items():
    try:
        call()
    except tr.TensorError as error:
        assert f"{type(error).__name__}: {error}".startswith(words), error
    else:
        raise AssertionError(words)
"""
    in_python(installed, program)


def test_the_doctor_lists_the_family_and_finds_nothing_wrong(installed: Path) -> None:
    paths = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    printed = run(sys.executable, "-m", "tensor_runtime", "doctor", cwd=installed, PYTHONPATH=paths)

    assert "kernels brought by others\n  cpu.pythag  hypotenuse 0.1\n" in printed
    assert printed.endswith("tensors can be used\n")


def test_the_rule_stands_in_on_a_device_without_the_kernel_and_the_cases_run_there(installed: Path) -> None:
    program = """
import sys
import tensor_runtime as tr
from tensor_runtime.testing.simulated_device import SimulatedBackend
assert {one.name: one.id for one in tr.families()}["geometry"] == "hypotenuse.geometry/1"
assert "hypotenuse" not in sys.modules
device = SimulatedBackend(tr.backend("cpu"), "other")
tr.register_backend("other", device)
from tensor_runtime.testing.conformance import CASES, check_case
ours = [case for case in CASES if case.operation == "geometry.pythag"]
for case in ours:
    check_case(case, tr.CPU)
    check_case(case, device.placement())
from hypotenuse import pythag
x = tr.tensor([3e200, 5.0, 0.0, float("inf")])
for y in (4e200, tr.tensor([4e200, 12.0, 0.0, 1.0])):
    own = pythag(x, y).to_numpy()
    other = y if isinstance(y, float) else tr.to(y, "other")
    found = tr.to(pythag(tr.to(x, "other"), other), "cpu").to_numpy()
    assert (abs(found[:2] / own[:2] - 1) < 1e-15).all() and found[3] == own[3] == float("inf"), found
status = next(row.status for row in tr.backends() if row.name == "other")
print(len(ours), "pythag" in device.operations(), "pythag" in status)
"""
    assert in_python(installed, program).strip() == "2 False True"


def test_registering_the_installed_kernel_once_more_says_what_to_remove(installed: Path) -> None:
    program = """
import tensor_runtime as tr
from hypotenuse.cpu import bind_pythag
try:
    tr.register_kernel("cpu", "pythag", bind_pythag)
except tr.TensorError as error:
    print(error)
"""
    assert in_python(installed, program).strip() == (
        "register_kernel: cpu has a kernel 'pythag' already, from hypotenuse 0.1; "
        "an entry point needs no register_kernel(): remove this call"
    )


def test_a_notebook_registers_the_kernel_instead(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(installed / "hypotenuse", tmp_path / "hypotenuse")  # no entry points
    program = """
import tensor_runtime as tr
from hypotenuse import pythag
x = tr.tensor([3.0])
try:
    pythag(x, 4)
except tr.TensorError as error:
    print(error)
from hypotenuse.cpu import bind_pythag
tr.register_kernel("cpu", "pythag", bind_pythag)
print(pythag(x, 4).item())
"""
    assert in_python(tmp_path, program).splitlines() == ["pythag: the cpu backend has no such operation", "5.0"]


def test_the_page_names_the_version_that_the_runtime_speaks() -> None:
    assert f"`PROTOCOL_VERSION` is {PROTOCOL_VERSION}." in PAGE


def test_the_page_prints_the_entry_points_and_the_info_of_the_example() -> None:
    (block,) = (one for one in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) if "tensor_runtime.backends" in one)
    assert block in (BACKEND / "pyproject.toml").read_text(encoding="utf-8")
    info = (BACKEND / "src" / "fortran_backend" / "info.py").read_text(encoding="utf-8")
    (line,) = (line for line in info.splitlines() if line.startswith("INFO"))
    assert f"```python\n{line}\n```" in PAGE


def test_the_example_backend_takes_sixty_lines_besides_docstrings() -> None:
    source = (BACKEND / "src" / "fortran_backend" / "device.py").read_text(encoding="utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [node.body[0] for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    docstrings = {number for text in texts for number in range(text.lineno, (text.end_lineno or 0) + 1)}
    lines = [line for number, line in enumerate(source.splitlines(), 1) if line.strip() and number not in docstrings]

    assert all(ast.get_docstring(node) for node in ast.parse(source).body if isinstance(node, documented))
    assert len(lines) <= 60


def test_the_example_backend_is_found_and_computes(with_backend: Path) -> None:
    program = """
import sys
import tensor_runtime as tr
tr.zeros(2)
assert "fortran_backend.device" not in sys.modules
x = tr.to(tr.tensor([[1.0, 5.0], [7.0, 3.0]]), "fortran")
print(tr.to(tr.add(x, tr.negative(x.T[::-1])), "cpu").to_numpy().tolist())
print(tr.to(tr.sum(x[:, ::-1], axis=0), "cpu").to_numpy().tolist())
for call in (lambda: tr.sin(x), lambda: tr.zeros(2, placement="fortran:1")):
    try:
        call()
    except tr.TensorError as error:
        print(error)
"""
    assert in_python(with_backend, program).splitlines() == [
        "[[-4.0, 2.0], [6.0, -4.0]]",
        "[8.0, 8.0]",
        "sin: the Fortran backend is an example, and has a few operations only",
        "placement fortran:1: the fortran backend has no such device or memory; it has fortran:0",
    ]


def test_the_family_of_the_page_fails_no_test_of_a_backend_that_never_heard_of_it(
    installed: Path, with_backend: Path
) -> None:
    program = f"""
import sys
sys.path.append({str(with_backend)!r})
from tensor_runtime.placement import as_placement
from tensor_runtime.testing.conformance import CASES, check_case
place = as_placement("fortran")
print(*[check_case(case, place) for case in CASES if case.operation == "geometry.pythag"])
"""
    said = {("pythag", "an operation of the family geometry, which no backend has itself")}
    assert in_python(installed, program).strip() == f"{said} {said}"


@pytest.fixture(scope="module")
def without_each_kernel(with_backend: Path) -> dict[str, int]:
    """The exit status of a few tests of the suite, with all required kernels ("") and without each of them."""
    program = f"""
import os, pytest
from tensor_runtime.testing import cases
from hypothesis import settings
settings.register_profile("every view", max_examples=500, derandomize=True)  # of which few are diagonals
settings.load_profile("every view")
chosen = [case for case in cases.all_cases() if case.id == "negative-F64"]
cases.all_cases, cases.family_cases = lambda: chosen, lambda: ()
from fortran_backend import device
options = ["-q", "-x", "-p", "no:cacheprovider", "-c", {os.devnull!r}, "--rootdir", {str(with_backend)!r}]
tests = ["-k", "negative-F64 or chain or overlap", {str(BACKEND / "test_fortran.py")!r}]
for name in ["", *sorted(device.REQUIRED_KERNELS)]:
    child = os.fork()
    if not child:
        device.REQUIRED_KERNELS -= {{name}}
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os._exit(pytest.main([*options, *tests]))
    print(name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
    printed = (line.rpartition(" ") for line in in_python(with_backend, program).splitlines())
    return {name: int(status) for name, _, status in printed}


def test_the_suite_passes_with_the_kernels_that_it_says_it_needs(without_each_kernel: dict[str, int]) -> None:
    assert set(without_each_kernel) == {"", *REQUIRED_KERNELS}
    assert without_each_kernel[""] == 0


@pytest.mark.parametrize("name", sorted(REQUIRED_KERNELS))
def test_the_suite_needs_each_kernel_that_it_says_it_needs(without_each_kernel: dict[str, int], name: str) -> None:
    assert without_each_kernel[name] == 1
