"""The page on extending: its family is built as printed, installed as a wheel, and works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tensor_runtime.protocols import PROTOCOL_VERSION

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "extending.md").read_text(encoding="utf-8")
_FILE = re.compile(r"^`([\w./]+)`[^\n]*\n\n```(?:python|toml)\n(.*?)```", re.DOTALL | re.MULTILINE)
FILES = dict(_FILE.findall(PAGE))
BACKEND = {name: text for name, text in FILES.items() if "npu" in name}
FAMILY = {name: text for name, text in FILES.items() if name not in BACKEND}
EXAMPLES = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if ">>>" in block]


def run(*command: object, cwd: Path, **environment: str) -> str:
    """Standard output of a command that must succeed; nothing may go to stderr."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package that the page prints, as a wheel."""
    folder = tmp_path_factory.mktemp("hypotenuse")
    for name, text in FAMILY.items():
        file = folder / "source" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    build = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder)
    run(*pip, *build, folder / "source", cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The folder into which pip installed the wheel, without an index."""
    target = wheel.parent / "installed"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--no-index")
    run(*pip, "--target", target, wheel, cwd=wheel.parent)
    return target


def in_python(installed: Path, program: str) -> str:
    """What a fresh interpreter prints in which the package is installed."""
    paths = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    return run(sys.executable, "-W", "error", "-c", program, cwd=installed, PYTHONPATH=paths)


def test_the_page_prints_a_whole_package(wheel: Path) -> None:
    modules = {f"hypotenuse/{name}.py" for name in ("__init__", "cpu", "rules", "family", "cases")}
    assert set(FAMILY) == {"pyproject.toml", *(f"src/{module}" for module in modules)}
    assert modules <= set(zipfile.ZipFile(wheel).namelist())


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
from hypotenuse import hypot
x = tr.tensor([[3.0, 5.0], [8.0, 7.0]])
y = tr.tensor([[4.0, 12.0], [15.0, 24.0]])
assert hypot(x.T, y.T).to_numpy().tolist() == [[5.0, 17.0], [13.0, 25.0]]
assert hypot(x.T, y.T).is_compact
assert hypot(x[0], y).to_numpy().tolist() == [[5.0, 13.0], [math.hypot(3, 15), math.hypot(5, 24)]]
assert hypot(x[0], tr.tensor(4.0)).shape == (2,)
whole = tr.tensor([[3.0, 7.5], [0.0, 9.0]])
root = {3.0: 5.0, 7.5: 8.5, 0.0: 4.0, 9.0: math.hypot(9, 4)}
for number in (4, 4.0):
    for tensor in (whole, whole.T, whole[:, 0], whole[::-1, 1], tr.broadcast_to(whole[0, 0], (2, 3)), whole[:0]):
        for found in (hypot(tensor, number), hypot(number, tensor)):
            assert (found.dtype, found.shape, found.is_compact) == (tr.F64, tensor.shape, True), found
            roots = tr.to_numpy(found).ravel(order="F").tolist()
            assert roots == [root[one] for one in tr.to_numpy(tensor).ravel(order="F").tolist()]
assert hypot(tr.tensor([3], dtype="I32"), 4).item() == 5.0
assert hypot(tr.tensor([3.0], dtype="F32"), 4).dtype is tr.F32
assert hypot(3.0, tr.tensor(4)).item() == 5.0
wrong = {
    "DTypeError: hypot: operands are C64, F64": lambda: hypot(tr.tensor(1j), x),
    "DTypeError: hypot: operand": lambda: hypot(x, 1j),
    "ShapeError: hypot: shapes": lambda: hypot(x, tr.ones(3)),
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

    assert "kernels brought by others\n  cpu.hypot  hypotenuse 0.1\n" in printed
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
ours = [case for case in CASES if case.operation == "geometry.hypot"]
for case in ours:
    check_case(case, tr.CPU)
    check_case(case, device.placement())
from hypotenuse import hypot
x = tr.tensor([3e200, 5.0, 0.0, float("inf")])
for y in (4e200, tr.tensor([4e200, 12.0, 0.0, 1.0])):
    own = hypot(x, y).to_numpy()
    other = y if isinstance(y, float) else tr.to(y, "other")
    found = tr.to(hypot(tr.to(x, "other"), other), "cpu").to_numpy()
    assert (abs(found[:2] / own[:2] - 1) < 1e-15).all() and found[3] == own[3] == float("inf"), found
print(len(ours), "hypot" in device.operations(), "hypot" in next(r.status for r in tr.backends() if r.name == "other"))
"""
    assert in_python(installed, program).strip() == "2 False True"


def test_registering_the_installed_kernel_once_more_says_what_to_remove(installed: Path) -> None:
    program = """
import tensor_runtime as tr
from hypotenuse.cpu import bind_hypot
try:
    tr.register_kernel("cpu", "hypot", bind_hypot)
except tr.TensorError as error:
    print(error)
"""
    assert in_python(installed, program).strip() == (
        "register_kernel: cpu has a kernel 'hypot' already, from hypotenuse 0.1; "
        "an entry point needs no register_kernel(): remove this call, or uninstall hypotenuse 0.1"
    )


def test_a_notebook_registers_the_kernel_instead(wheel: Path, tmp_path: Path) -> None:
    shutil.copytree(wheel.parent / "source" / "src" / "hypotenuse", tmp_path / "hypotenuse")  # no entry points
    program = """
import tensor_runtime as tr
from hypotenuse import hypot
x = tr.tensor([3.0])
try:
    hypot(x, 4)
except tr.TensorError as error:
    print(error)
from hypotenuse.cpu import bind_hypot
tr.register_kernel("cpu", "hypot", bind_hypot)
print(hypot(x, 4).item())
"""
    assert in_python(tmp_path, program).splitlines() == ["hypot: the cpu backend has no such operation", "5.0"]


def test_the_page_names_the_version_that_the_runtime_speaks() -> None:
    assert f"`PROTOCOL_VERSION` is {PROTOCOL_VERSION}." in PAGE


def test_the_backend_of_the_page_is_found_and_computes(tmp_path: Path) -> None:
    install_backend(tmp_path)
    program = """
import sys
import tensor_runtime as tr
tr.zeros(2)
assert "npu_backend.device" not in sys.modules
x = tr.to(tr.tensor([[1.0, 5.0], [7.0, 3.0]]), "npu")
print(tr.to(tr.maximum(x, tr.negative(x.T[::-1])), "cpu").to_numpy().tolist())
for call in (lambda: tr.sin(x), lambda: tr.zeros(2, placement="npu:1")):
    try:
        call()
    except tr.TensorError as error:
        print(error)
"""
    assert in_python(tmp_path, program).splitlines() == [
        "[[1.0, 5.0], [7.0, 3.0]]",
        "sin: the npu has no such unit",
        "placement npu:1: the npu backend has no such device or memory; it has npu:0",
    ]


@pytest.mark.slow
def test_the_backend_of_the_page_passes_the_conformance_suite(tmp_path: Path) -> None:
    install_backend(tmp_path)
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tmp_path, "-W", "error")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    printed = run(sys.executable, "-m", "pytest", *options, "test_npu.py", cwd=tmp_path, PYTHONPATH=paths)

    passed = re.search(r"^(\d+) passed in", printed, re.MULTILINE)
    assert passed is not None and int(passed[1]) > 5000


def install_backend(folder: Path) -> None:
    """The backend of the page, as pip would leave it in a folder."""
    for name, text in BACKEND.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (block,) = (
        block for block in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) if "tensor_runtime.backends" in block
    )
    groups = tomllib.loads(block)["project"]["entry-points"]
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in groups[group].items()) for group in groups
    ]
    info = folder / "npu_backend-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: npu-backend\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("".join(lines))
