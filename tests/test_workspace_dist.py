"""What `make dist` makes: with a compiler it holds the extensions, and without one it works all the same."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import dist

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    tomllib.loads(file.read_text(encoding="utf-8"))["project"]["name"].replace("-", "_"): file.parent
    for file in sorted(ROOT.glob("packages/*/pyproject.toml"))
}
COMPILER = shutil.which(os.environ.get("CC", "cc").split()[0])
# Packages whose wheels hold an extension where there is a compiler, and where it lies.
NATIVE = {"ironstride_tensor_cpu": "tensor_cpu", "ironstride_tensor_einsum": "tensor_einsum"} if COMPILER else {}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """All files, compiled quickly, as they only have to be whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NATIVE_PLAIN", "1")
        patch.setenv("CFLAGS", "-O0")
        return dist.build(tmp_path_factory.mktemp("dist"))


def wheels_of(made: list[Path], name: str) -> dict[bool, Path]:
    """The wheels of a package; whether one is pure is its key."""
    found = [file for file in made if file.suffix == ".whl" and file.name.startswith(f"{name}-")]
    assert len({dist.is_pure(file) for file in found}) == len(found)
    return {dist.is_pure(file): file for file in found}


def test_every_package_has_a_source_distribution_and_a_wheel_for_any_machine(made: list[Path]) -> None:
    assert len(made) == 2 * len(PACKAGES) + len(NATIVE)
    for name, package in PACKAGES.items():
        (archive,) = [file for file in made if re.match(rf"{name}-[\d.]+\.tar\.gz", file.name)]
        with tarfile.open(archive) as opened:
            held = {member.name.partition("/")[2]: member for member in opened.getmembers()}
        assert all(member.isfile() or member.isdir() for member in held.values())  # no link leads out of it
        for file in (path for folder in ("src", "csrc") for path in package.glob(f"{folder}/**/*")):
            if file.suffix in {".py", ".pyi", ".c", ".h", ".typed"}:
                assert str(file.relative_to(package)) in held
        assert {"LICENSE", "README.md", "pyproject.toml"} <= set(held)
        assert set(wheels_of(made, name)) == ({True, False} if name in NATIVE else {True})


def test_wheels_hold_the_package_and_the_licence_and_nothing_else(made: list[Path]) -> None:
    for name, package in PACKAGES.items():
        (import_name,) = [file.parent.name for file in package.glob("src/*/__init__.py")]
        for pure, wheel in wheels_of(made, name).items():
            names = zipfile.ZipFile(wheel).namelist()
            assert {entry.partition("/")[0].partition("-")[0] for entry in names} == {import_name, name}
            assert sum(entry.endswith(".dist-info/licenses/LICENSE") for entry in names) == 1
            built = [entry for entry in names if entry.endswith((".so", ".dylib"))]
            assert len(built) == (0 if pure else 1)
            assert pure or built[0].startswith(f"{NATIVE[name]}/_native.")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no C libraries to choose from")
def test_the_name_of_a_native_wheel_tells_the_oldest_c_library_that_will_do(made: list[Path]) -> None:
    for name in NATIVE:
        wheel = wheels_of(made, name)[False]
        said = re.search(r"-(manylinux|musllinux)_(\d+)_(\d+)_\w+\.whl", wheel.name)
        assert said, wheel.name
        command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert said[0].removeprefix("-").removesuffix(".whl") in shown


USE = (
    "import ironstride as it, tensor_cpu, tensor_einsum.native as search\n"
    "from tensor_cpu.system import extension\n"
    "print(extension.AVAILABLE, search.AVAILABLE, it.matmul(it.ones((2, 3)), it.ones((3, 2)))[1, 1].item())\n"
    "print(it.linalg.svd(it.ones((2, 2, 2))).s.shape, it.einsum('ij,jk,kl->il', *[it.ones((2, 2))] * 3)[0, 0].item())\n"
    "print(it.__file__, tensor_cpu.__file__, search.__file__, sep='\\n')"
)


@pytest.mark.parametrize("native", [True, False] if COMPILER else [False])
def test_installed_packages_work_with_the_extensions_and_without(
    made: list[Path], native: bool, tmp_path: Path
) -> None:
    chosen = [wheels_of(made, name)[not (native and name in NATIVE)] for name in PACKAGES]
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    python = tmp_path / "bin" / "python"
    install = ("-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet", "--no-index")
    subprocess.run([sys.executable, *install, "--no-deps", *chosen], check=True)
    # What they need is lent by this environment, behind what is installed there.
    (packages,) = tmp_path.glob("lib/python*/site-packages")
    import numpy

    (packages / "lent.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n", encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    used, doctor = (
        subprocess.run([python, "-W", "error", *what], capture_output=True, text=True, env=clean, check=False)
        for what in (("-c", USE), ("-m", "ironstride", "doctor"))
    )

    assert used.returncode == 0, used.stderr
    first, second, *places = used.stdout.splitlines()
    assert first == f"{native} {native} 3.0" and second == "(2, 2) 4.0"
    assert all(place.startswith(str(packages)) for place in places)
    assert doctor.returncode == 0, doctor.stderr
    assert ("native kernels  in use" in doctor.stdout) is native
    assert ("native kernels  none" in doctor.stdout) is not native


def test_a_compiler_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = tmp_path / "failing-compiler"
    failing.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    failing.chmod(0o755)
    monkeypatch.setenv("CC", str(failing))
    with pytest.raises(dist.BuildError, match="failing-compiler"):
        dist.build(tmp_path / "dist", [PACKAGES["ironstride_tensor_cpu"]])


def test_the_checkout_is_installed_by_the_paths_of_all_packages() -> None:
    lines = (ROOT / "requirements" / "checkout.txt").read_text(encoding="utf-8").splitlines()
    named = [line.removeprefix("./") for line in lines if not line.startswith("#")]
    assert sorted(named) == sorted(str(package.relative_to(ROOT)) for package in PACKAGES.values())
