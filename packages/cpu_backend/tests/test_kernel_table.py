"""The kernel table agrees with the modules that it names, and binds the first kernel there is."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import tensor_cpu.kernels
from tensor_core import F64, Bool
from tensor_cpu import kernel_table
from tensor_cpu.kernel_table import FAMILIES, MOST_TINY_TERMS, ROWS, Row, Scope, binders
from tensor_cpu.system import extension
from tensor_runtime.backends.xp_tables import elementwise
from tensor_runtime.form import form_of
from tensor_runtime.placement import CPU

needs_native = pytest.mark.skipif(not extension.AVAILABLE, reason=extension.WHY_NOT)
FORM = form_of(F64, (2,), CPU)
SHARED = {*elementwise.BINARY, *elementwise.UNARY, *elementwise.REDUCTIONS}
"""Names that come from the tables of array namespaces, for which native modules may have nothing."""


def test_every_row_names_a_numpy_module_that_binds_it() -> None:
    assert [name for name, row in ROWS.items() if name not in binders(row.numpy)] == []


@needs_native
def test_every_written_row_names_native_modules_that_bind_it() -> None:
    missing = [
        (name, module)
        for name, row in ROWS.items()
        for module in row.native
        if name not in binders(module) and name not in SHARED
    ]
    assert missing == []


@needs_native
def test_no_native_binder_is_left_out_of_the_table() -> None:
    modules = {module for row in ROWS.values() for module in row.native}
    left_out = [(name, module) for module in modules for name in binders(module) if module not in ROWS[name].native]
    assert left_out == []


def test_no_numpy_binder_is_left_out_of_the_table() -> None:
    assert {name for row in ROWS.values() for name in binders(row.numpy)} <= ROWS.keys()


def test_no_kernel_stands_in_two_families() -> None:
    assert sum(map(len, FAMILIES.values())) == len({name for rows in FAMILIES.values() for name in rows})


def test_binders_of_one_kernel_stand_in_one_folder() -> None:
    folders = {name: {module.partition(".")[0] for module in (row.numpy, *row.native)} for name, row in ROWS.items()}
    assert {name: found for name, found in folders.items() if len(found) > 1} == {}


def test_modules_with_native_binders_name_their_folder_of_c_sources_in_the_first_line() -> None:
    silent = []
    for module in sorted({module for row in ROWS.values() for module in row.native}):
        path = files("tensor_cpu").joinpath("kernels", *module.split("."))
        first = (ast.get_docstring(ast.parse(path.with_name(path.name + ".py").read_text())) or "").partition("\n")[0]
        if "(csrc/" not in first:
            silent.append(module)
    assert silent == []


Bind = Callable[[tuple[Any, ...], Any, Any], Any]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``table(numpy=..., first=..., second=...)`` makes a kernel ``untangle`` that these binders bind."""

    def add(scopes: Mapping[str, Scope] | None = None, **by_module: Bind) -> None:
        row = Row("numpy", tuple(module for module in by_module if module != "numpy"), scopes or {})
        monkeypatch.setattr(kernel_table, "ROWS", {"untangle": row})
        monkeypatch.setattr(kernel_table, "binders", lambda module: {"untangle": by_module[module]})
        monkeypatch.setattr(kernel_table, "AVAILABLE", True)

    return add


def test_native_binders_are_asked_in_order_and_numpys_last(table: Callable[..., None]) -> None:
    asked = []

    def binder(name: str, kernel: Any) -> Bind:
        return lambda operands, result, params: asked.append(name) or kernel  # type: ignore[func-returns-value]

    table(first=binder("first", None), second=binder("second", None), numpy=binder("numpy", abs))
    assert kernel_table.bind("untangle", (FORM,), FORM, None) is abs
    assert asked == ["first", "second", "numpy"]


def test_the_first_native_kernel_is_taken(table: Callable[..., None]) -> None:
    table(first=lambda *_: None, second=lambda *_: max, third=lambda *_: min, numpy=lambda *_: abs)
    assert kernel_table.bind("untangle", (FORM,), FORM, None) is max


def test_a_native_binder_is_not_asked_about_forms_outside_its_scope(table: Callable[..., None]) -> None:
    large, truth = form_of(F64, (9,), CPU), form_of(Bool, (2,), CPU)
    scopes = {"first": Scope(most_elements=2), "second": Scope(dtype=Bool)}
    table(scopes, first=lambda *_: max, second=lambda *_: min, numpy=lambda *_: abs)

    assert kernel_table.bind("untangle", (FORM,), FORM, None) is max
    assert kernel_table.bind("untangle", (FORM, large), FORM, None) is abs
    assert kernel_table.bind("untangle", (FORM,), large, None) is abs
    assert kernel_table.bind("untangle", (large,), truth, None) is min


@needs_native
def test_beyond_the_scope_of_tiny_products_there_are_none() -> None:
    bind = binders("contraction.tiny")["contract"]
    for rows, found in ((MOST_TINY_TERMS // 2, True), (MOST_TINY_TERMS // 2 + 1, False)):
        column, row, result = (form_of(F64, shape, CPU) for shape in ((2, 1), (1, rows), (2, rows)))
        assert (bind((column, row), result, ((0, 1), (1, 2), (0, 2))) is not None) is found


def test_without_the_extension_no_native_binder_is_asked(
    table: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    table(first=lambda *_: max, numpy=lambda *_: abs)
    monkeypatch.setattr(kernel_table, "AVAILABLE", False)
    assert kernel_table.bind("untangle", (FORM,), FORM, None) is abs


def test_a_kernel_of_numpy_alone_needs_one_row(table: Callable[..., None]) -> None:
    table(numpy=lambda *_: abs)
    assert kernel_table.bind("untangle", (FORM,), FORM, None) is abs


def test_importing_the_backend_imports_neither_scipy_nor_its_own_kernels() -> None:
    code = (
        "import sys, tensor_cpu.backend; "
        "print(sorted(n for n in sys.modules if n.split('.')[0] == 'scipy' or n.startswith('tensor_cpu.kernels.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_waits_for_a_module_of_kernels_that_another_thread_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slowly.py").write_text("import time\ntime.sleep(0.5)\nBINDERS = {'untangle': len}\n")
    monkeypatch.setattr(tensor_cpu.kernels, "__path__", [*tensor_cpu.kernels.__path__, str(tmp_path)])
    thread = threading.Thread(target=kernel_table.binders, args=("slowly",))
    thread.start()
    while "tensor_cpu.kernels.slowly" not in sys.modules:
        time.sleep(0.001)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(10)  # instead of waiting for ever
        os._exit(0 if kernel_table.binders("slowly") == {"untangle": len} else 1)

    thread.join()
    kernel_table.binders.cache_clear()
    del sys.modules["tensor_cpu.kernels.slowly"]
    assert os.waitpid(child, 0)[1] == 0
