"""With ``TENSOR_CPU_CHECK_CALLS=1`` kernels compare what they are called with against what they were bound to."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tensor_cpu.system.extension import AVAILABLE

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the native kernels are not built")


WRONG = {
    "another dtype": ("copy", "np.zeros((3, 4), np.int64)"),
    "another shape": ("copy", "np.zeros((4, 3))"),
    "too few elements": ("copy", "np.zeros(1)"),
    "other strides": ("copy", "np.zeros((4, 3)).T"),
    "an unaligned address": ("copy", "np.zeros(97, np.uint8)[1:].view('f8').reshape(3, 4)"),
    "a target that is read-only": ("copy_into", "np.broadcast_to(np.zeros((3, 4)), (3, 4)).view()"),
}
CHECKED = """
import sys
import numpy as np
from tensor_core import F64
from tensor_core.errors import BackendContractError
from tensor_cpu.backend import CpuBackend
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

form = form_of(F64, (4, 3), CPU)
right = np.ones((3, 4))
name, wrong = sys.argv[1:]
operands = (form,) if name == "copy" else (form, form)
kernel = CpuBackend().bind(name, operands, form, None)
kernel(*[np.ones((3, 4)) for _ in operands])
bad = eval(wrong)
if name == "copy_into":
    bad = np.ones((3, 4)); bad.flags.writeable = False
try:
    kernel(bad, *[right for _ in operands[1:]])
except BackendContractError as error:
    print(error)
"""


CHECKED_PRODUCTS = """
import sys
import numpy as np
from tensor_core import F64
from tensor_core.errors import BackendContractError
from tensor_cpu.backend import CpuBackend
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

shapes, params = {
    "contract": (((70, 80), (80, 90), (70, 90)), ((0, 1), (1, 2), (0, 2))),
    "conv": (((2, 30, 3), (4, 3, 5), (2, 27, 5)), (1, "VALID", 1, 1)),
}[sys.argv[1]]
x, y, result = [form_of(F64, shape, CPU) for shape in shapes]
kernel = CpuBackend().bind(sys.argv[1], (x, y), result, params)
first, second = np.ones(shapes[0][::-1]), np.ones(shapes[1][::-1])
assert kernel(first, second).shape == shapes[2][::-1]
for wrong in ((first, second[:1]), (first.astype("f4"), second)):
    try:
        kernel(*wrong)
    except BackendContractError as error:
        print(error)
"""


def run_checked(code: str, *arguments: str) -> str:
    """What a program prints whose kernels compare arrays with forms."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "TENSOR_CPU_CHECK_CALLS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["contract", "conv"])
def test_kernels_made_of_native_ones_and_numpys_are_checked_too(name: str) -> None:
    shape, operand = run_checked(CHECKED_PRODUCTS, name).splitlines()

    assert shape.startswith(f"{name}: operand 1 is of shape (1, ")
    assert operand == f"{name}: operand 0 is of float32, bound to float64"


@pytest.mark.parametrize("what", WRONG)
def test_checked_kernels_refuse_arrays_of_another_form(what: str) -> None:
    assert run_checked(CHECKED, *WRONG[what]).startswith(f"{WRONG[what][0]}: operand 0 is ")


def test_a_word_that_the_switch_does_not_know_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import tensor_cpu.backend"],
        env={**os.environ, "TENSOR_CPU_CHECK_CALLS": "yes"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert "ArgumentError: TENSOR_CPU_CHECK_CALLS is 'yes'; accepted: 0, 1, or unset" in done.stderr
