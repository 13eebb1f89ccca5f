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

    printed = in_a_fresh_interpreter(tmp_path, program, TENSOR_RUNTIME_BACKENDS="none").splitlines()

    left_out = "TENSOR_RUNTIME_BACKENDS=none leaves out cpu, cuda, npu, sim: unset it, or add a name"
    assert printed == [
        f"no backend serves device 'cpu'; {left_out}",
        f"no backend serves device 'npu'; {left_out}",
        "left out by TENSOR_RUNTIME_BACKENDS=none",
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


FAMILY = """
FAMILY = {"id": "folding/1", "operations": {"fold": "folding.work:fold", "bend": "folding.work:bend", "odd": "here"}}
"""


def family(folder: Path, text: str = FAMILY, name: str = "folding") -> None:
    """A package that must not be imported, with a family in it."""
    plug_in(folder, name, f"[tensor_runtime.families]\n{name} = {name}.family:FAMILY\n")
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text("import not_there")
    (package / "family.py").write_text(text)


def test_families_are_listed_with_their_operations_and_not_imported(tmp_path: Path) -> None:
    family(tmp_path)
    program = """
import sys
import tensor_runtime as tr
print(next(one.id for one in tr.families() if one.name == "folding"))
print(sorted(name for name in sys.modules if name.startswith(("folding", "tensor_linalg", "tensor_einsum"))))
from tensor_runtime import doctor
from tensor_runtime.backends.registry import registry
lines, healthy = doctor.report(registry)
print(healthy, *(line.strip() for line in lines if "folding 1.0" in line))
print(sorted(name for name in sys.modules if name.startswith("folding")))  # rules of others are loaded by the doctor
"""
    assert in_a_fresh_interpreter(tmp_path, program).splitlines() == [
        "folding/1",
        "[]",
        "True folding  bend, fold, odd, from folding 1.0",
        "[]",
    ]


def test_an_operation_of_a_family_that_does_not_load_names_the_package(tmp_path: Path) -> None:
    family(tmp_path)
    program = """
from tensor_core.errors import TensorError
from tensor_runtime.operations import operation
for name in ("fold", "odd", "twist"):
    try:
        operation(name, "ironstride-folding")
    except TensorError as error:
        print(type(error).__name__, error)
"""
    assert in_a_fresh_interpreter(tmp_path, program).splitlines() == [
        "PluginLoadError fold: folding.work:fold of folding 1.0 did not load: "
        "ModuleNotFoundError: No module named 'not_there'; mend or uninstall it",
        "PluginLoadError odd: here of folding 1.0 did not load: "
        "PluginLoadError: the place reads 'here'; accepted: 'module:name'; mend or uninstall it",
        "BackendUnavailableError tensor_runtime.twist: comes with ironstride-folding; pip install ironstride-folding",
    ]


def test_families_in_trouble_are_problems_that_break_nothing_else(tmp_path: Path) -> None:
    family(tmp_path)
    family(tmp_path, FAMILY, "rival")
    family(tmp_path, "FAMILY = {'id': 3, 'operations': {}}", "wrong")
    family(tmp_path, "raise ValueError('half installed')", "raising")
    plug_in(tmp_path, "text", "[tensor_runtime.families]\ntext = 3 + 4\n")
    program = """
import tensor_runtime as tr
from tensor_runtime import doctor
from tensor_runtime.backends.registry import registry
lines, healthy = doctor.report(registry)
print(*(line for line in lines if line.startswith("problem")), sep="\\n")
assert not healthy and tr.einsum("i,i->", tr.ones(3), tr.ones(3)).item() == 3.0
try:
    tr.operations.operation("fold", "folding")
except tr.TensorError as error:
    print(error)
"""
    accepted = (
        "accepted: a mapping with 'id', 'operations' ({name: 'module:function'}), and 'kernels', 'specs', 'cases', "
        "'autoray'"
    )
    assert in_a_fresh_interpreter(tmp_path, program).splitlines() == [
        "problem: family folding and family rival: conflict: 'bend' is an operation of folding 1.0 and rival 1.0; "
        "uninstall one",
        "problem: family raising of raising 1.0: broken: ValueError: half installed",
        "problem: family text of text 1.0: broken: "
        "PluginLoadError: the entry point 'text' reads '3 + 4'; accepted: 'module:attribute'",
        "problem: family wrong of wrong 1.0: broken: "
        f"BackendContractError: the family 'wrong' says {{'id': 3, 'operations': {{}}}}; {accepted}",
        "fold: folding: conflict: 'bend' is an operation of folding 1.0 and rival 1.0; uninstall one",
    ]


def test_a_rule_of_another_package_is_found_by_name_and_a_rival_is_refused(tmp_path: Path) -> None:
    module = "import tensor_runtime as tr\ndef root(x, params):\n    return tr.pow(x, 0.5)\n"
    entries = "[tensor_runtime.rules]\nlower.sqrt = roots:root\nlower.mean = roots:root\nlower.rsqrt = roots:gone\n"
    plug_in(tmp_path, "roots", entries, roots=module)
    program = """
import sys
import tensor_runtime as tr
from tensor_runtime import doctor
from tensor_runtime.backends.registry import registry
from tensor_runtime.testing.simulated_device import SimulatedBackend
lacking = dict.fromkeys(("sqrt", "mean", "rsqrt"), "no such unit")
tr.register_backend("poor", SimulatedBackend(tr.backend("cpu"), "poor", lacking))
x = tr.full((1,), 16.0, placement="poor")
assert "roots" not in sys.modules
print(tr.sqrt(x).item())
for call in (tr.mean, tr.rsqrt):
    try:
        call(x)
    except tr.TensorError as error:
        print(error)
print(*(line for line in doctor.report(registry)[0] if line.startswith("problem")), sep="\\n")
"""
    broken = "AttributeError: module 'roots' has no attribute 'gone'"
    both = "ironstride-tensor-runtime 0.1.0 and roots 1.0"
    assert in_a_fresh_interpreter(tmp_path, program).splitlines() == [
        "4.0",
        f"mean: the rule 'lower' is brought by {both}; uninstall one",
        f"rsqrt: the rule 'lower' of roots 1.0 did not load: {broken}",
        f"problem: lower.mean: conflict: brought by {both}; uninstall one",
        f"problem: lower.rsqrt of roots 1.0: broken: {broken}",
    ]
