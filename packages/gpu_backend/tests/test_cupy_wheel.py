"""What is asked of CuPy is what its wheel has: names, arguments, constants; and layouts on its arrays. No GPU is used.

Libraries of CUDA that are not installed are replaced by empty ones, whose functions nobody calls: CuPy's modules then
import, and tell the arguments of their functions.
"""

from __future__ import annotations

import ctypes
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import pytest

from fake_cupy import driver
from fake_cupy.driver import Machine
from fake_cupy.libraries import modules
from fake_cupy.tensors import Cutensor
from tensor_core.dtypes import C32, C64, F32, F64
from tensor_core.errors import BackendError, BackendUnavailableError
from tensor_core.layout import TensorLayout
from tensor_core.slices import SliceSpec
from tensor_core.views import reverse_view, slice_view, transpose_view
from tensor_gpu.cuda import backend as entry
from tensor_gpu.cuda import cutensor
from tensor_gpu.cuda.compiler import compiled
from tensor_gpu.cuda.cupy_api import LentStream
from tensor_gpu.cuda.probe import PROBE, CupyProbe
from tensor_gpu.cuda.report import ACCELERATORS

cupy: Any = pytest.importorskip("cupy", reason="CuPy is not installed: `make test-cupy` installs it")

STAND_INS: Final = {
    "cublas": "libcublas.so.12",
    "cusolver": "libcusolver.so.11",
    "nvJitLink": "libnvJitLink.so.12",
    "cusparse": "libcusparse.so.12",
    "cublasLt": "libcublasLt.so.12",
    "cutensor": "libcutensor.so.2",
    "cutensorMg": "libcutensorMg.so.2",
}
"""Libraries that CuPy's modules are linked to, or that its finder of libraries wants beside them."""


@pytest.fixture(scope="module")
def libs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """CuPy's modules of libraries, imported on stand-ins where the libraries are missing."""
    from cupy_backends.cuda import libs

    try:
        _ = libs.cublas, libs.cusolver, libs.cutensor
    except ImportError:
        folder = tmp_path_factory.mktemp("libraries")
        for name, file in STAND_INS.items():
            ctypes.CDLL(str(stand_in(folder, Path(libs.__file__).parent, name, file)), ctypes.RTLD_GLOBAL)
    return libs


def stand_in(folder: Path, bound: Path, name: str, file: str) -> Path:
    """A library with the functions and numbers that CuPy's modules want of it, of the versions that they want."""
    wanted: dict[str, set[str]] = {}
    for module in bound.glob("*.so"):
        listed = subprocess.run(["nm", "-D", "--undefined-only", module], capture_output=True, text=True, check=True)
        for symbol, version in re.findall(rf"\b(\w+)@(lib{name}\.\S+)", listed.stdout):
            wanted.setdefault(version, set()).add(symbol)
    kinds = {True: "long {}[4];\n", False: "void {}(void) {{}}\n"}  # numbers have names in capitals
    symbols = sorted(set().union(*wanted.values()))
    (folder / f"{name}.c").write_text("".join(kinds[one.isupper() or "_DESC_" in one].format(one) for one in symbols))
    parts = [f"{version} {{ global: {'; '.join(sorted(found))}; }};\n" for version, found in sorted(wanted.items())]
    (folder / f"{name}.map").write_text("".join(parts) or f"{file} {{ global: *; }};\n")
    made = folder / file
    options = ["-shared", "-fPIC", "-fno-builtin", "-w", f"-Wl,-soname,{file}", f"-Wl,--version-script,{name}.map"]
    subprocess.run(["cc", *options, "-o", made, f"{name}.c"], cwd=folder, check=True)
    return made


def told(function: Any) -> list[str]:
    """The arguments' names that the first line of a docstring tells."""
    (found,) = re.findall(r"\w+\((.*)\)", function.__doc__.partition("\n")[0])
    return [one.partition("=")[0].split()[-1] for one in found.split(", ") if one and one != "self"]


def taken(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def public(thing: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(thing):
        if not name.startswith("_"):
            yield name, getattr(thing, name)


@pytest.mark.parametrize("name", ["cublas", "cusolver", "cutensor", "nvrtc", "runtime"])
def test_functions_have_the_arguments_and_constants_the_values_that_we_count_on(name: str, libs: Any) -> None:
    from cupy_backends.cuda.api import runtime

    fakes = modules(Machine())
    fake, true = (fakes.runtime, runtime) if name == "runtime" else (getattr(fakes.libs, name), getattr(libs, name))
    compared = 0
    for asked, stands_for in public(fake):
        found = getattr(true, asked)
        if isinstance(stands_for, type):
            assert issubclass(found, RuntimeError)
        elif isinstance(stands_for, int):
            assert found == stands_for, asked
        else:
            assert told(found) == taken(stands_for), asked
        compared += 1
    assert compared > 5


def test_nvmath_binds_cutensor_as_we_call_it() -> None:
    """Where nvmath-python is installed; the library is not opened."""
    library = pytest.importorskip("nvmath.bindings.cutensor", reason="nvmath-python is not installed")
    ours = inspect.signature(Cutensor.contract).parameters
    others = {
        "create": [], "get_version": [], "contract": [*map(str.lower, ours)][1:],
        "create_tensor_descriptor": ["handle", "num_modes", "extent", "stride", "data_type", "alignment_requirement"],
        "create_plan_preference": ["handle", "algo", "jit_mode"],
        "estimate_workspace_size": ["handle", "desc", "plan_pref", "workspace_pref"],
        "create_plan": ["handle", "desc", "pref", "workspace_size_limit"],
        "destroy_tensor_descriptor": ["desc"], "destroy_operation_descriptor": ["desc"],
        "destroy_plan_preference": ["pref"], "destroy_plan": ["plan"],
    }  # fmt: skip
    others["contract"] = [*others["contract"][:-1], "workspace_size", "stream"]
    contraction = told(library.create_contraction)
    assert contraction == [
        "handle",
        *(f"{what}_{one}" for one in "abc" for what in ("desc", "mode", "op")),
        *("desc_d", "mode_d", "desc_compute"),
    ]
    for name, expected in others.items():
        assert told(getattr(library, name)) == expected, name
    numbers = library.Operator.OP_IDENTITY, library.Operator.OP_CONJ, library.Algo.DEFAULT, library.JitMode.NONE
    assert numbers == (cutensor.AS_IT_IS, cutensor.CONJUGATED, cutensor.ANY_ALGORITHM, cutensor.NO_JIT)
    assert library.WorksizePreference.WORKSPACE_DEFAULT == cutensor.USUAL_WORKSPACE
    assert callable(library.ComputeDesc.COMPUTE_32F)
    assert callable(library.ComputeDesc.COMPUTE_64F)


def test_numbers_of_cutensor_are_those_of_cupys_module(libs: Any) -> None:
    library = libs.cutensor
    assert (library.OP_IDENTITY, library.OP_CONJ) == (cutensor.AS_IT_IS, cutensor.CONJUGATED)
    assert (library.ALGO_DEFAULT, library.JIT_MODE_NONE) == (cutensor.ANY_ALGORITHM, cutensor.NO_JIT)
    assert library.WORKSPACE_RECOMMENDED == cutensor.USUAL_WORKSPACE
    types = library.R_32F, library.R_64F, library.C_32F, library.C_64F
    assert types == tuple(cutensor.TYPES[dtype] for dtype in (F32, F64, C32, C64))


CLASSES: Final = {"Stream": driver.Stream, "Event": driver.Event, "MemoryPool": driver.Pool, "Module": driver.Module}


@pytest.mark.parametrize("name", CLASSES)
def test_classes_have_the_methods_that_we_count_on(name: str) -> None:
    true = getattr(cupy.cuda, name)
    for asked, stands_for in public(CLASSES[name]):
        if asked in ("native", "ptr"):
            continue
        found = getattr(true, asked)
        if isinstance(stands_for, property):
            assert not callable(found), asked
        else:
            names = taken(found) if inspect.isfunction(found) or "cyfunction" in repr(found) else told(found)
            assert names == taken(stands_for), asked


def test_streams_events_and_staging_memory_are_made_as_we_make_them() -> None:
    fakes = Machine().cuda
    for name in ("Stream", "Event"):
        ours = taken(getattr(fakes, name).__init__)
        assert taken(getattr(cupy.cuda, name).__init__)[: len(ours)] == ours
    assert told(cupy.cuda.alloc_pinned_memory) == ["size"]
    assert told(cupy.cuda.malloc_managed) == ["size"]
    assert told(cupy.cuda.MemoryPool) == ["allocator"]
    assert cupy.cuda.Device(3).id == 3
    assert issubclass(cupy.cuda.memory.OutOfMemoryError, MemoryError)


def test_queries_answer_with_a_number_and_raise_nothing() -> None:
    from cupy_backends.cuda.api import runtime

    assert type(runtime.streamQuery(0)) is int
    for number, name in driver.ERRORS.items():
        assert str(runtime.CUDARuntimeError(number)).startswith(f"{name}: ")


@pytest.mark.filterwarnings("error")
def test_streams_of_other_libraries_are_taken_by_their_handles_and_not_destroyed() -> None:
    theirs = cupy.cuda.Stream.from_external(LentStream(4660))
    assert theirs.ptr == 4660
    del theirs  # what is destroyed fails, and is told as a warning


def test_a_launch_takes_our_arguments_and_fails_for_want_of_a_driver_only() -> None:
    function = cupy.cuda.Function.__new__(cupy.cuda.Function)
    with pytest.raises(TypeError, match="Unsupported type"):
        function((1,), (1,), (object(),), 0, cupy.cuda.Stream.null)
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError):
        function((1,), (1,), (np.int64(1 << 40), np.float64(2.0)), 0, cupy.cuda.Stream.null)


def test_this_machine_is_told_what_it_lacks() -> None:
    if CupyProbe().installed() and cupy.cuda.is_available():
        assert entry.backend().placements()
        return
    with pytest.raises(BackendUnavailableError, match=r"; .*(nvidia-smi|driver|pip install|unset)"):
        entry.backend()


def test_a_misspelt_accelerator_stops_the_import_and_is_named() -> None:
    program = "from tensor_gpu.cuda.backend import backend; backend()"
    environment = {**os.environ, ACCELERATORS: "cutensr"}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.stderr.endswith("; unset CUPY_ACCELERATORS, which is 'cutensr'\n")


def test_the_compiler_makes_device_code_as_we_ask_for_it(libs: Any) -> None:
    """Where NVRTC is installed; nothing else of CUDA is needed."""
    try:
        libs.nvrtc.getVersion()
    except Exception as error:
        pytest.skip(f"NVRTC cannot be opened: {error}")
    assert compiled(libs.nvrtc, PROBE, (9, 0)).startswith(b"\x7fELF")
    newest = max(libs.nvrtc.getSupportedArchs())
    assert f".target sm_{newest}\n".encode() in compiled(libs.nvrtc, PROBE, (newest // 10 + 1, 0))
    with pytest.raises(BackendError, match="does not compile for sm_90"):
        compiled(libs.nvrtc, type(PROBE)("bad", "nonsense", PROBE.meaning), (9, 0))


def array_of(address: int, nbytes: int, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    memory = cupy.cuda.UnownedMemory(address, nbytes, None, 0)
    pointer = cupy.cuda.MemoryPointer(memory, offset * 8)
    return cupy.ndarray(shape, np.float64, pointer, strides=tuple(8 * one for one in strides))


def test_views_of_cupys_arrays_lie_where_ours_do() -> None:
    random, address = Random(0), 1 << 44
    for _ in range(300):
        layout = TensorLayout(tuple(random.randint(1, 5) for _ in range(random.randint(1, 4))))
        theirs = array_of(address, layout.size * 8, layout.shape, layout.strides, 0)
        assert theirs.flags.f_contiguous
        for _ in range(4):
            axes = random.sample(range(layout.rank), layout.rank)
            layout, theirs = transpose_view(layout, axes), theirs.transpose(axes)
            if random.random() < 0.5:
                layout, theirs = reverse_view(layout, 0), theirs[::-1]
            elif layout.shape[0] > 1:
                rest = [SliceSpec(0, extent) for extent in layout.shape[1:]]
                layout, theirs = slice_view(layout, [SliceSpec(1, layout.shape[0], 2), *rest]), theirs[1::2]
            assert theirs.shape == layout.shape
            moving = [axis for axis, extent in enumerate(layout.shape) if extent > 1]
            assert [theirs.strides[axis] for axis in moving] == [8 * layout.strides[axis] for axis in moving]
            assert theirs.data.ptr == address + 8 * layout.offset
