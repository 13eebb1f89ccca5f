from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tensor_runtime as tr
from tensor_core.errors import ArgumentError, PluginConflictError, PluginLoadError
from tensor_runtime.backends.plugins.kernels import KernelTable
from tensor_runtime.backends.plugins.table import Offer
from tensor_runtime.backends.registry import Registry, registry
from tensor_runtime.form import form_of

CPU = tr.backend("cpu")
FORM = form_of(tr.F64, (2,), tr.CPU)


def table_of(*offers: tuple[str, str, Callable[[], object]]) -> KernelTable:
    return KernelTable(lambda: [Offer(*name.rsplit(".", 1), origin, load) for name, origin, load in offers])  # type: ignore[call-arg]


def binder(operands: Any, result: Any, params: Any) -> Callable[..., Any]:
    return lambda *arrays: arrays[0]


def failing() -> object:
    raise ImportError("libpythag.so")


def test_kernels_are_listed_without_being_loaded_and_loaded_once() -> None:
    loads = []

    def load() -> object:
        loads.append(1)
        return binder

    table = table_of(("cpu.pythag", "family 1.0", load), ("npu.pythag", "family 1.0", failing))

    assert table.operations("cpu") == {"pythag"}
    assert loads == []
    assert table.binder(CPU, "pythag") is binder
    assert table.binder(CPU, "pythag") is binder
    assert loads == [1]
    assert table.binder(CPU, "other") is None


def test_two_packages_with_one_kernel_are_a_conflict_at_use() -> None:
    table = table_of(("cpu.pythag", "one 1.0", failing), ("cpu.pythag", "two 2.0", failing))

    with pytest.raises(PluginConflictError, match=r"pythag: the kernel for cpu is brought by one 1\.0 and two 2\.0"):
        table.binder(CPU, "pythag")


def test_a_kernel_that_the_backend_has_itself_is_a_conflict_at_use() -> None:
    table = table_of(("cpu.add", "rival 1.0", failing))

    with pytest.raises(PluginConflictError, match=r"brought by rival 1\.0 and the backend 'cpu' itself"):
        table.binder(CPU, "add")
    assert table.binder(CPU, "subtract") is None


def test_a_kernel_that_does_not_load_is_reported_by_name() -> None:
    with pytest.raises(PluginLoadError, match=r"pythag: the kernel for cpu of bad 1\.0 did not load: ImportError"):
        table_of(("cpu.pythag", "bad 1.0", failing)).binder(CPU, "pythag")
    with pytest.raises(PluginLoadError, match=r"bad 1\.0 is of type int; accepted: a function"):
        table_of(("cpu.pythag", "bad 1.0", lambda: 3)).binder(CPU, "pythag")


def test_what_is_no_binder_is_refused() -> None:
    with pytest.raises(ArgumentError, match="register_kernel: found a int; accepted: a function of"):
        tr.register_kernel("cpu", "pythag", 3)  # type: ignore[arg-type]


def test_registering_beside_an_entry_point_is_refused() -> None:
    words = r"already, from family 1\.0; an entry point needs no register_kernel\(\): remove this call"
    with pytest.raises(PluginConflictError, match=words):
        table_of(("cpu.pythag", "family 1.0", failing)).register("cpu", "pythag", binder)


def test_entry_points_are_read_again_after_a_refresh() -> None:
    offers: list[Offer] = []
    table = KernelTable(lambda: list(offers))
    assert table.binder(CPU, "pythag") is None
    offers.append(Offer("cpu", "pythag", "late 1.0", lambda: binder))
    table.refresh()

    assert table.binder(CPU, "pythag") is binder


@pytest.fixture
def rival() -> Iterator[None]:
    tr.register_kernel("cpu", "add", binder)
    yield
    registry.unregister_kernel("cpu", "add")


def test_a_rival_of_the_backends_own_kernel_is_never_used_silently(rival: None) -> None:
    x = tr.ones(2)

    with pytest.raises(PluginConflictError, match="add: the kernel for cpu is brought by this process and the backend"):
        tr.add(x, x)
    assert tr.subtract(x, x).shape == (2,)


def test_the_registry_binds_the_backends_kernel_or_the_familys() -> None:
    from tensor_runtime.backends.discovery import Candidate

    own = Registry(lambda: [Candidate("cpu", "cpu 1.0", lambda: CPU, {"device_kinds": ("cpu",)})])
    own.register_kernel("cpu", "first", binder)

    assert own.bind("first", (FORM, FORM), FORM, None)(1, 2) == 1
    assert own.bind("add", (FORM, FORM), FORM, None)(1, 2) == 3
    assert own.bind("first", (), (FORM,), None)(5) == 5
