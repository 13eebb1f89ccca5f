"""A kernel of another package is found through its entry point, in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tensor_runtime.protocols import PROTOCOL_VERSION

MODULE = """
from tensor_runtime.dispatch.call import execute_unary
from tensor_runtime.dispatch.dtype_rules import same_shape
from tensor_runtime.dispatch.spec import OpSpec

SELF = OpSpec("self", result_shape=same_shape)

def bind_self(operands, result, params):
    return lambda x: x.copy(order="C")

def itself(a):
    return execute_unary(SELF, a)
"""
PROGRAM = """
import sys
import tensor_runtime as tr
x = tr.tensor([[1, 2], [3, 4]])
tr.add(x, x)
assert "selfish" not in sys.modules
import selfish
assert selfish.itself(x.T).to_numpy().tolist() == [[1, 3], [2, 4]]
try:
    tr.subtract(x, x)
except tr.TensorError as error:
    print(error)
"""


def in_a_fresh_interpreter(folder: Path, program: str, **environment: str) -> str:
    """What a program prints beside the plug-ins in a folder; warnings are errors, and nothing goes to stderr."""
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout.strip()


def plug_in(folder: Path, name: str, entry_points: str, **modules: str) -> None:
    """A distribution of that name, version 1.0, as pip would leave it in a folder."""
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


def test_kernels_are_found_by_name_and_a_rival_is_refused(tmp_path: Path) -> None:
    entries = "[tensor_runtime.kernels]\ncpu.self = selfish:bind_self\ncpu.subtract = selfish:bind_self\n"
    plug_in(tmp_path, "selfish", entries, selfish=MODULE)

    printed = in_a_fresh_interpreter(tmp_path, PROGRAM)

    assert printed == (
        "subtract: the kernel for cpu is brought by selfish 1.0 and the backend 'cpu' itself; "
        "uninstall selfish 1.0, or give its operation another name"
    )


BACKEND = """
from tensor_runtime.testing.simulated_device import SimulatedBackend
import tensor_runtime as tr
def backend():
    return SimulatedBackend(tr.backend("cpu"), "npu")
"""


def test_a_broken_entry_string_is_reported_as_one(tmp_path: Path) -> None:
    entries = "[tensor_runtime.backends]\nbad = one thing & another\n[tensor_runtime.kernels]\ncpu.odd = 3 + 4\n"
    plug_in(tmp_path, "broken", entries)
    program = """
import tensor_runtime as tr
from tensor_runtime import doctor
from tensor_runtime.backends.registry import registry
lines, healthy = doctor.report(registry)
assert not healthy
print(*(line for line in lines if line.startswith("problem")), sep="\\n")
print(*(row.status for row in tr.backends() if row.distribution == "broken 1.0"), sep="\\n")
"""

    bad = "PluginLoadError: the entry point 'bad' reads 'one thing & another'; accepted: 'module:attribute'"
    odd = "PluginLoadError: the entry point 'cpu.odd' reads '3 + 4'; accepted: 'module:attribute'"
    assert in_a_fresh_interpreter(tmp_path, program).splitlines() == [
        f"problem: bad of broken 1.0: broken: {bad}",
        f"problem: cpu.odd of broken 1.0: broken: {odd}",
        f"broken: {bad}",
        f"broken: {odd}",
    ]


def test_the_variable_that_leaves_a_backend_out_is_named_where_it_is_missed(tmp_path: Path) -> None:
    entries = "[tensor_runtime.backends]\nnpu = npu:backend\n[tensor_runtime.backend_info]\nnpu = npu:info\n"
    plug_in(tmp_path, "npu-plugin", entries, npu="raise AssertionError('imported')")
    program = """
import tensor_runtime as tr
for place in ("cpu", "npu"):
    try:
        tr.zeros(2, placement=place)
    except tr.TensorError as error:
        print(error)
print(next(row.status for row in tr.backends() if row.name == "npu"))
"""

    printed = in_a_fresh_interpreter(tmp_path, program, TENSOR_RUNTIME_BACKENDS="gpu").splitlines()

    left_out = "TENSOR_RUNTIME_BACKENDS=gpu leaves out cpu, npu: unset it, or add a name"
    assert printed == [
        f"no backend serves device 'cpu'; {left_out}",
        f"no backend serves device 'npu'; {left_out}",
        "left out by TENSOR_RUNTIME_BACKENDS=gpu",
    ]


def test_a_status_of_ready_in_an_info_entry_means_ready(tmp_path: Path) -> None:
    entries = "[tensor_runtime.backends]\nnpu = npu:backend\n[tensor_runtime.backend_info]\nnpu = npu_info:INFO\n"
    info = f"INFO = dict(status='ready', reason='', device_kinds=('npu',), protocol_version={PROTOCOL_VERSION})"
    plug_in(tmp_path, "npu-plugin", entries, npu=BACKEND, npu_info=info)
    program = "import tensor_runtime as tr; print(tr.to(tr.zeros(2, placement='npu') + 1, 'cpu').to_numpy())"

    assert in_a_fresh_interpreter(tmp_path, program) == "[1. 1.]"


def test_devices_that_an_info_entry_names_wrongly_are_reported(tmp_path: Path) -> None:
    entries = "[tensor_runtime.backends]\nnpu = npu:backend\n[tensor_runtime.backend_info]\nnpu = npu_info:INFO\n"
    plug_in(tmp_path, "npu-plugin", entries, npu=BACKEND, npu_info="INFO = dict(device_kinds='npu')")
    program = "import tensor_runtime as tr; print(next(row.status for row in tr.backends() if row.name == 'npu'))"

    assert in_a_fresh_interpreter(tmp_path, program) == (
        "broken: BackendContractError: its info has the device_kinds 'npu'; accepted: a tuple of names, as ('npu',)"
    )


def test_an_operation_of_another_package_that_does_not_load_names_the_package(tmp_path: Path) -> None:
    entries = "[tensor_runtime.operations]\nfold = = fold\nbend = bending:bend\n"
    plug_in(tmp_path, "folding", entries, bending="import not_there")
    program = """
from tensor_core.errors import PluginLoadError
from tensor_runtime.operations import operation
for name in ("fold", "bend"):
    try:
        operation(name, "folding")
    except PluginLoadError as error:
        print(error)
"""
    assert in_a_fresh_interpreter(tmp_path, program).splitlines() == [
        "tensor_runtime.fold: = fold of folding 1.0 did not load: "
        "PluginLoadError: the entry point 'fold' reads '= fold'; accepted: 'module:attribute'; mend or uninstall it",
        "tensor_runtime.bend: bending:bend of folding 1.0 did not load: "
        "ModuleNotFoundError: No module named 'not_there'; mend or uninstall it",
    ]
