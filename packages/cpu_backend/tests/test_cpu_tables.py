"""The tables that say which module binds what agree with the modules."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from tensor_cpu import kernel_table, native_table
from tensor_cpu.system import extension


def test_every_listed_operation_is_bound_by_its_module() -> None:
    for name, module in kernel_table.MODULES.items():
        assert name in import_module(f"tensor_cpu.kernels.{module}").BINDERS, (name, module)


def test_every_binder_of_a_module_is_listed_or_refined_elsewhere() -> None:
    for module in sorted(set(kernel_table.MODULES.values())):
        assert set(import_module(f"tensor_cpu.kernels.{module}").BINDERS) <= set(kernel_table.MODULES), module


@pytest.mark.skipif(not extension.AVAILABLE, reason=extension.WHY_NOT)
def test_every_native_topic_lists_exactly_what_it_binds() -> None:
    for topic, names in native_table.TOPICS.items():
        found = import_module(f"tensor_cpu.kernels.{topic}").BINDERS
        assert sorted(found) == sorted(names.split()), topic
        assert set(found) <= set(kernel_table.MODULES)


def test_importing_the_backend_imports_neither_scipy_nor_its_own_kernels() -> None:
    code = (
        "import sys, tensor_cpu.backend; "
        "print(sorted(n for n in sys.modules if n.split('.')[0] == 'scipy' or n.startswith('tensor_cpu.kernels.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
